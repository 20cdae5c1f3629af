"""The eight resources by which a client reads memory without calling a tool."""

from __future__ import annotations

from typing import Any

import orjson

from clew.errors import ClewError
from clew.index.item_reads import known_beginnings
from clew.kinds.builtin import RECORDED_DECISIONS
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions.worker import catch_up
from clew.memory.files import hand_edits, places
from clew.memory.files.directory import shown_root
from clew.memory.files.places import BlockPlace
from clew.memory.files.sync import sync
from clew.memory.kinds import KINDS
from clew.memory.scan import health_of
from clew.registry.context import Context
from clew.registry.resource import resource

ENTITIES = ("incidents", "people", "projects", "tools")
JSON = "application/json"


@resource("mind-mem://decisions", name="decisions", title="Active decisions", mime_type=JSON, own=True)
def decisions(ctx: Context) -> str:
    """The active decisions as JSON, those of decisions/DECISIONS.md first: their fields and their Markdown."""
    return _blocks_json(ctx, (KINDS["D"].file, RECORDED_DECISIONS), ["active"])


@resource("mind-mem://tasks", name="tasks", title="Tasks", mime_type=JSON, own=True)
def tasks(ctx: Context) -> str:
    """The blocks of tasks/TASKS.md as JSON, in their order: their fields and their Markdown."""
    return _blocks_json(ctx, (KINDS["T"].file,), None)


@resource(
    "mind-mem://entities/{type}",
    name="entities",
    title="Projects, people, tools, incidents",
    completers={"type": lambda ctx, value: [name for name in ENTITIES if name.startswith(value)]},
    own=True,
)
def entities(ctx: Context, type: str) -> str:
    """The Markdown of one kind of entity."""
    if type not in ENTITIES:
        return _json({"error": f"Unknown entity type: {type}. Use: {', '.join(ENTITIES)}"})
    return _file(ctx, f"entities/{type}.md")


@resource("mind-mem://signals", name="signals", title="Signals that wait for review", own=True)
def signals(ctx: Context) -> str:
    """The Markdown of captured signals."""
    return _file(ctx, KINDS["SIG"].file)


@resource("mind-mem://contradictions", name="contradictions", title="Contradictions", own=True)
def contradictions(ctx: Context) -> str:
    """The Markdown of detected contradictions."""
    catch_up(ctx)
    return _file(ctx, KINDS["C"].file)


@resource("mind-mem://health", name="health", title="Memory health", mime_type=JSON, own=True)
def health(ctx: Context) -> str:
    """Counts of blocks and the figures of the last scan."""
    sync(ctx)
    with ctx.reading() as bound:
        return _json({"workspace": shown_root(bound), **health_of(bound)})


def _questions(ctx: Context, value: str) -> list[str]:
    """Records stored under these first letters: ids and headlines."""
    return known_beginnings(ctx.tx, ctx.workspace, "block", value, 50)


@resource(
    "mind-mem://recall/{query}",
    name="recall",
    title="Ranked recall",
    mime_type=JSON,
    completers={"query": _questions},
    own=True,
    rest=True,
)
def recall(ctx: Context, query: str) -> str:
    """What the recall tool answers, at most 10 results."""
    answer = ctx.dispatcher.call("recall", {"query": query, "workspace": ctx.workspace}, ctx.connection)
    if not answer.ok:
        error = answer.envelope["error"]
        raise ClewError(error["code"], error["message"], error.get("recovery"))
    return answer.text


@resource("mind-mem://ledger", name="ledger", title="Facts shared between agents", own=True)
def ledger(ctx: Context) -> str:
    """The Markdown of the shared fact ledger."""
    return _file(ctx, KINDS["FACT"].file)


def _blocks_json(ctx: Context, files: tuple[str, ...], status: list[str] | None) -> str:
    """The blocks in these files, of any kind: a fact or a conversation turn among the decisions is included."""
    sync(ctx)
    with ctx.reading() as bound:
        return _json([row for file in files for row in _rows(bound, file, status)])


def _rows(ctx: Context, file: str, status: list[str] | None) -> list[dict[str, Any]]:
    found = {block.id: block for block in blocks.current(ctx, file=file, status=status)}
    placed = [(found[place.id], place) for place in places.in_file(ctx, file) if place.id in found]
    return [_block_json(block, place) for block, place in placed]


def _block_json(block: Block, place: BlockPlace) -> dict[str, Any]:
    return {"_id": block.id, "_line": place.line + 1, "_file": place.file, **block.fields, "_raw": block.text}


def _file(ctx: Context, path: str) -> str:
    sync(ctx)
    with ctx.reading() as bound:
        return hand_edits.rendered(bound, path) or f"File not found: {path}"


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
