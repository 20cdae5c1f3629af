"""open: one call for every id that is ever printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from clew.clock import rfc3339
from clew.errors import ClewError, shorten, suggest, unknown_id
from clew.ids import ANCHOR, BLOCK, CONFLICT, CONTROL, DOC_ENTRY, EVENT, JOB, JOB_EVENT, PLAN, RUNNER, SESSION, TASK
from clew.reasoning.branches import Branch, branch_by_id, checked_out
from clew.reasoning.documents import GRAPH, branch_name, entry_json
from clew.reasoning.graph import Node, edges_at, locate, node, node_json
from clew.reasoning.graph.conflicts import conflict_json, find
from clew.reasoning.graph.diff import EDGE, NODE
from clew.reasoning.premises import suspects
from clew.reasoning.scope import Scope, scope_of
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation
from clew.store.database import Row
from clew.store.events import event_from, event_id

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
    (SESSION, "clew.ledger.opening:open_session"),
    (EVENT, "clew.reasoning.open:open_event"),
    (CONFLICT, "clew.reasoning.open:open_conflict"),
    (BLOCK, "clew.memory.block_views:open_block"),
    (DOC_ENTRY, "clew.reasoning.open:open_entry"),
)
"""Forms of ids and who opens them. Named by text, because reasoning imports no other domain."""

OUTSIDE: tuple[tuple[re.Pattern[str], str], ...] = ((BLOCK, "clew.memory.files.sync:sync"),)
"""Forms of ids that stand in files too, and who reads those in before one is opened."""

SOURCES = {
    "thought": "clew.ledger.opening:open_thought",
    "pattern": "clew.ledger.opening:open_pattern",
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


def open_card(ctx: Context, id: str, limit: int) -> Opened | None:
    """The card as the focus or the checkout shows it, else its newest version anywhere."""
    for branch, doc in _views(ctx):
        card = node(ctx, branch, doc, id)
        if card is not None:
            return card_json(ctx, branch, doc, card, limit)
    place = locate(ctx, id)
    return card_json(ctx, branch_by_id(ctx, place.branch), place.doc, place.node, limit) if place else None


def _views(ctx: Context) -> list[tuple[Branch, str]]:
    views = []
    if ctx.ws.focus is not None:
        scope = scope_of(ctx, ctx.ws.focus)
        views.append((scope.branch, scope.graph))
    if ctx.ws.checkout is not None:
        views.append((checked_out(ctx), GRAPH))
    return views


def card_json(ctx: Context, branch: Branch, doc: str, card: Node, limit: int) -> Opened:
    held = ctx.tx.value("SELECT branch FROM node WHERE workspace = ? AND seq = ?", ctx.workspace, card.last_seq)
    shown = node_json(card)
    edges = edges_at(ctx, branch, doc, [card.id], "out", ("supports", "blocks"))
    doubt = suspects(ctx, Scope(branch, graph=doc), [card.id]).get(card.id)
    return {
        "kind": "card",
        "id": card.id,
        "summary": summary(card.title, card.text),
        "head": {
            "seq": card.last_seq,
            "ts": rfc3339(card.last_ts_ms),
            "ts_ms": card.last_ts_ms,
            "branch": branch_name(ctx, held),
            "doc": doc,
        },
        "card": {name: shown[name] for name in ("id", "type", "title", "text", "status", "tags", "meta")},
        "edges": {rel: [edge.to_id for edge in edges if edge.rel == rel][:limit] for rel in ("supports", "blocks")},
        **({"suspect": doubt.to_json()} if doubt else {}),
        "truncated": len(edges) > limit,
    }


def open_entry(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened | None:
    """`<doc>@<seq>`; None when no entry has this seq, since a card's id may look like that."""
    match = DOC_ENTRY.fullmatch(id)
    doc, seq = (match.group(1), int(match.group(2))) if match else ("", 0)
    row = ctx.tx.one("SELECT * FROM entry WHERE workspace = ? AND seq = ?", ctx.workspace, seq)
    if row is None or row["doc"] != doc:
        _refuse_misnamed(ctx, id, row)
        return None
    opened = {
        "kind": "doc_entry",
        "ref": id,
        "summary": summary(row["title"], row["content"]) or row["event_type"] or row["kind"],
        "entry": entry_json(ctx, row),
    }
    state = NODE.version(ctx, seq) or EDGE.version(ctx, seq)
    if state is not None:
        opened["state"] = (NODE if isinstance(state, Node) else EDGE).show(state)
    return opened


def _refuse_misnamed(ctx: Context, id: str, row: Row | None) -> None:
    """An entry of another document has this seq: say so, unless the id is a card's."""
    if row is None or locate(ctx, id) is not None:
        return
    ref = f"{row['doc']}@{row['seq']}"
    way = suggest("open", "Opens the entry with this number.", id=ref)
    raise unknown_id("reference", id, f"Entry {row['seq']} belongs to {row['doc']}.", [way])


def open_event(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened | None:
    seq = int(id.removeprefix("evt_"))
    row = ctx.tx.one("SELECT * FROM event WHERE workspace = ? AND seq = ?", ctx.workspace, seq)
    if row is None:
        return None
    event = event_from(row)
    return {
        "kind": "event",
        "id": event_id(event.seq),
        "summary": event.type,
        "event": {
            "event_id": event.id,
            "ts": rfc3339(event.ts_ms),
            "ts_ms": event.ts_ms,
            "topic": event.topic,
            "type": event.type,
            "subject": event.subject,
            "path": event.path,
            "payload": event.payload,
        },
    }


def open_conflict(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened | None:
    row = find(ctx, id)
    if row is None:
        return None
    return {"kind": "conflict", "id": id, "summary": f"{row['kind']} {row['key']}", "conflict": conflict_json(ctx, row)}


def _item(ctx: Context, row: Row) -> Opened:
    """Anything that search finds and that has no opener of its own."""
    item = {name: row[name] for name in ("ref", "source", "kind", "title", "body", "status", "doc", "seq", "ts_ms")}
    item["branch"] = branch_name(ctx, row["branch"]) if row["branch"] is not None else None
    return {"kind": row["source"], "id": row["ref"], "summary": summary(row["title"], row["body"]), "item": item}


def summary(title: str | None, text: str | None) -> str:
    """One line that says what it is about."""
    return shorten(" ".join((title or text or "").split()), 140)


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
