"""open: one call for every id that is ever printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from clew.errors import ClewError, suggest, unknown_id
from clew.ids import ANCHOR, BLOCK, CONFLICT, CONTROL, DOC_ENTRY, EVENT, JOB, JOB_EVENT, PLAN, RUNNER, SESSION, TASK
from clew.reasoning.documents import branch_name
from clew.reasoning.openers import open_card, summary
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation
from clew.store.database import Row

Opened = dict[str, Any]
Opener = Callable[[Context, str, int, bool], Opened]
"""`(ctx, id, limit, include_drafts)` -> the thing, with `kind` and `id` or `ref`. Reads only."""

PROVIDERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(ANCHOR.pattern, re.IGNORECASE), "clew.reasoning.anchors.snapshot:open_anchor"),
    (PLAN, "clew.tasks.openers:open_target"),
    (TASK, "clew.tasks.openers:open_target"),
    (JOB, "clew.tasks.openers:open_job"),
    (JOB_EVENT, "clew.tasks.openers:open_job_event"),
    (RUNNER, "clew.tasks.openers:open_runner"),
    (SESSION, "clew.ledger.openers:open_session"),
    (EVENT, "clew.reasoning.openers:open_event"),
    (CONFLICT, "clew.reasoning.openers:open_conflict"),
    (BLOCK, "clew.memory.block_views:open_block"),
    (DOC_ENTRY, "clew.reasoning.openers:open_entry"),
)
"""Forms of ids and who opens them. Named by text, because reasoning imports no other domain."""

OUTSIDE: tuple[tuple[re.Pattern[str], str], ...] = ((BLOCK, "clew.memory.files.sync:sync"),)
"""Forms of ids that stand in files too, and who reads those in before one is opened."""

SOURCES = {
    "thought": "clew.ledger.openers:open_thought",
    "pattern": "clew.ledger.openers:open_pattern",
    "block": "clew.memory.block_views:open_block",
    "evidence": "clew.tasks.openers:open_evidence",
    "task": "clew.tasks.openers:open_step",
}
"""Who opens what search finds; without an opener the search item itself is shown."""

OPEN_BUDGET = Budget(
    (
        *(Clip(f"{path}.text", 4000) for path in ("card", "state")),
        Clip("entry.content", 4000),
        Clip("block.text", 8000),
        Trim("history", drop="last", floor=3),
        Drop("block.fields"),
        Trim("cards", drop="last", floor=3),
        Trim("events", drop="last", floor=3, count="count", more="has_more_events"),
        *(Drop(f"{name}.meta") for name in ("card", "state", "entry")),
        *(Clip(f"{path}.text", 400) for path in ("card", "state")),
        *(Clip(path, 400) for path in ("entry.content", "block.text", "item.body", "prompt", "cards[].text")),
        Trim("history", drop="last"),
        Drop("links"),
        *(Drop(name) for name in ("state", "context")),
        Trim("events", drop="last", count="count", more="has_more_events"),
        *(Trim(name, drop="last") for name in ("cards", "edges.supports", "edges.blocks")),
        *(Drop(name) for name in ("conflict", "capsule", "edges", "head")),
        *(Drop(name) for name in ("reasoning_ref", "signals", "step_focus", "steps", "radar", "target", "step")),
    ),
    keep=("kind", "id", "ref", "summary"),
)


class Open(Bounded):
    synonyms: ClassVar[dict[str, str]] = {"all_lanes": "include_drafts"}

    id: Annotated[
        Name,
        Field(min_length=1, description="Any id: CARD-1, notes@12, a:core, TASK-001, JOB-001, D-20260213-001, ..."),
    ]
    limit: Annotated[int, Field(ge=1, le=50, description="Most cards, events or edges to show with it.")] = 20
    include_drafts: Annotated[bool, Field(description="Show drafts, a job's prompt, a task's whole lens.")] = False
    verbosity: Annotated[
        Literal["full", "compact"], Field(description="compact shows what it is, not all it says.")
    ] = "full"


@operation("open", tier="daily", mode="own", budget=OPEN_BUDGET, example={"id": "CARD-1"})
def open_id(ctx: Context, args: Open) -> dict[str, Any]:
    """Show what an id stands for: a card, entry, anchor, task, plan, job, runner, session or block."""
    # A qualified id names its workspace; one of another workspace stays unknown here.
    id = args.id.strip().removeprefix(f"{ctx.workspace}:")
    if not id or CONTROL.search(id):
        raise ClewError("INVALID_INPUT", "id: must be one line of text", hints=[{"kind": "value", "field": "id"}])
    for pattern, name in OUTSIDE:
        if pattern.fullmatch(id):
            _function(name)(ctx)
    with ctx.reading() as bound:
        return _opened(bound, id, args)


def _opened(ctx: Context, id: str, args: Open) -> Opened:
    opened = _by_form(ctx, id, args) or _by_source(ctx, id, args) or open_card(ctx, id, args.limit)
    if opened is None:
        raise _unknown(id)
    shown = {"workspace": ctx.workspace, "truncated": False, **opened}
    return _compact(shown) if args.verbosity == "compact" else shown


def _by_form(ctx: Context, id: str, args: Open) -> Opened | None:
    for pattern, name in PROVIDERS:
        if pattern.fullmatch(id):
            opener = provider(name)
            return opener(ctx, id, args.limit, args.include_drafts) if opener else None
    return None


def _by_source(ctx: Context, id: str, args: Open) -> Opened | None:
    """What search knows under this ref, cards apart."""
    row = ctx.tx.one("SELECT * FROM item WHERE workspace = ? AND ref = ? AND source <> 'card'", ctx.workspace, id)
    if row is None:
        return None
    opener = provider(SOURCES[row["source"]]) if row["source"] in SOURCES else None
    return opener(ctx, id, args.limit, args.include_drafts) if opener else _item(ctx, row)


def provider(name: str) -> Opener | None:
    """The function behind `module:function`; None while its module does not exist."""
    try:
        found: Opener = _function(name)
    except ModuleNotFoundError as problem:
        if problem.name is None or not name.startswith(problem.name):
            raise
        return None
    return found


def _function(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def _item(ctx: Context, row: Row) -> Opened:
    """Anything that search finds and that has no opener of its own."""
    item = {name: row[name] for name in ("ref", "source", "kind", "title", "body", "status", "doc", "seq", "ts_ms")}
    item["branch"] = branch_name(ctx, row["branch"]) if row["branch"] is not None else None
    return {"kind": row["source"], "id": row["ref"], "summary": summary(row["title"], row["body"]), "item": item}


def _compact(opened: Opened) -> Opened:
    kept = ("workspace", "kind", "id", "ref", "summary", "head", "edges", "count", "status", "truncated")
    return {name: opened[name] for name in kept if name in opened}


def _unknown(id: str) -> ClewError:
    return unknown_id(
        "id",
        id,
        "Copy the id from a snapshot, a list or a search result.",
        [suggest("status", "Shows where you are.")],
    )
