"""open: one call for every id that is ever printed."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from clew.errors import ClewError, suggest, unknown_id
from clew.ids import (
    ANCHOR,
    BLOCK,
    CONFLICT,
    CONTROL,
    DOC_ENTRY,
    EVENT,
    JOB,
    JOB_EVENT,
    PLAN,
    RECEIPT,
    RUNNER,
    SESSION,
    TASK,
)
from clew.reasoning.documents import branch_name
from clew.reasoning.openers import open_card, summary
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation
from clew.registry.record import Opened, opener, refresh
from clew.store.database import Row

FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(ANCHOR.pattern, re.IGNORECASE), "anchor"),
    (PLAN, "plan"),
    (TASK, "task"),
    (JOB, "job"),
    (JOB_EVENT, "job_event"),
    (RUNNER, "runner"),
    (RECEIPT, "receipt"),
    (SESSION, "session"),
    (EVENT, "event"),
    (CONFLICT, "conflict"),
    (BLOCK, "block"),
    (DOC_ENTRY, "entry"),
)
"""Forms of ids and what they stand for, the most particular first."""

SOURCES = {"task": "step"}
"""What search finds is opened as the kind that its source names, these apart."""

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
    kind = kind_of(id)
    catch_up = refresh.find(kind) if kind is not None else None
    if catch_up is not None:
        catch_up(ctx)
    with ctx.reading() as bound:
        return _opened(bound, id, args)


def _opened(ctx: Context, id: str, args: Open) -> Opened:
    opened = _by_form(ctx, id, args) or _by_source(ctx, id, args) or open_card(ctx, id, args.limit)
    if opened is None:
        raise _unknown(id)
    shown = {"workspace": ctx.workspace, "truncated": False, **opened}
    return _compact(shown) if args.verbosity == "compact" else shown


def kind_of(id: str) -> str | None:
    """What an id stands for by its form; None for cards and what only search knows."""
    return next((kind for pattern, kind in FORMS if pattern.fullmatch(id)), None)


def _by_form(ctx: Context, id: str, args: Open) -> Opened | None:
    kind = kind_of(id)
    show = opener.find(kind) if kind is not None else None
    return show(ctx, id, args.limit, args.include_drafts) if show is not None else None


def _by_source(ctx: Context, id: str, args: Open) -> Opened | None:
    """What search knows under this ref, cards apart."""
    row = ctx.tx.one("SELECT * FROM item WHERE workspace = ? AND ref = ? AND source <> 'card'", ctx.workspace, id)
    if row is None:
        return None
    show = opener.find(SOURCES.get(row["source"], str(row["source"])))
    return show(ctx, id, args.limit, args.include_drafts) if show is not None else _item(ctx, row)


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
