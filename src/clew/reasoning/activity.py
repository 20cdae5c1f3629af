"""What happened in a workspace and who did it, read from the event log."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.clock import rfc3339
from clew.registry.budget import Budget, Drop, Follow, Trim
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import Bounded, Name, Whole, operation
from clew.store.database import placeholders
from clew.store.events import event_from

LOOKED_AT = 5_000
"""Agents are looked for in this many of the newest events, so that a long log costs no more than a short one."""
COUNTED = 1_000
"""What does not fit into a page is counted as far as this."""
_LEFT = Follow("left_out", lambda whole, result: result["total"] - len(result["events"]))
EVENTS_BUDGET = Budget(
    (
        Drop("events[].payload"),
        Trim("events", drop="last", floor=1, page="pagination", count="count", follow=_LEFT),
        Trim("events", drop="last", page="pagination", count="count", follow=_LEFT),
    ),
    {"core": 8_000, "daily": 16_000, "full": 60_000},
    keep=("workspace", "last_seq"),
)
AGENTS_BUDGET = Budget(
    (Trim("agents", drop="last", floor=1, more="has_more"), Trim("agents", drop="last", more="has_more")),
    16_000,
    keep=("workspace",),
)


class EventsList(Bounded):
    after: Annotated[Whole | None, Field(description="Only what came after this event number.")] = None
    before: Annotated[Whole | None, Field(description="Page on: only what came before this event number.")] = None
    types: Annotated[list[Name] | None, Field(max_length=100, description="Event types to show; default: all.")] = None
    limit: Annotated[int, Field(ge=1, le=500, description="Most events to show.")] = 50


@operation("events_list", budget=EVENTS_BUDGET)
def events_list(ctx: Context, args: EventsList) -> dict[str, Any]:
    """Show what happened in the workspace, newest first; `after` leaves out what you have seen."""
    newest, params = _newest(ctx, args, args.limit)
    events = [event_from(row).shown() for row in ctx.tx.all(newest, *params)]
    total = _counted(ctx, args) if len(events) == args.limit else len(events)
    on = events[-1]["seq"] if total > len(events) else None
    return {
        "workspace": ctx.workspace,
        "events": events,
        "count": len(events),
        "total": total,
        "left_out": total - len(events),
        "last_seq": ctx.tx.value("SELECT max(seq) FROM event WHERE workspace = ?", ctx.workspace) or 0,
        "pagination": page_json(args.before, args.limit, len(events), on),
    }


def _counted(ctx: Context, args: EventsList) -> int:
    counted, params = _newest(ctx, args, args.limit + COUNTED)
    return int(ctx.tx.value(f"SELECT count(*) FROM ({counted}) AS counted", *params))


def _newest(ctx: Context, args: EventsList, limit: int) -> tuple[str, list[Any]]:
    """The newest events that are asked for, each type by itself, for the index of types gives the order within one."""
    bounds = (" AND seq > ?" if args.after is not None else "") + (" AND seq < ?" if args.before is not None else "")
    given = [bound for bound in (args.after, args.before) if bound is not None]
    kinds: list[str | None] = [*dict.fromkeys(args.types)] if args.types else [None]
    parts, params = [], []
    for kind in kinds:
        where = "workspace = ?" + (" AND type = ?" if kind is not None else "") + bounds
        parts.append(f"SELECT * FROM (SELECT * FROM event WHERE {where} ORDER BY seq DESC LIMIT ?) AS part")
        params += [ctx.workspace, *([kind] if kind is not None else []), *given, limit]
    return f"{' UNION ALL '.join(parts)} ORDER BY seq DESC LIMIT ?", [*params, limit]


def events_about(ctx: Context, subject: str, limit: int, path: str | None = None) -> list[dict[str, Any]]:
    """What happened to one thing, or to one part of it, newest first."""
    part, params = ("", []) if path is None else (" AND path = ?", [path])
    sql = f"SELECT * FROM event WHERE workspace = ? AND subject = ?{part} ORDER BY seq DESC LIMIT ?"
    events = [event_from(row) for row in ctx.tx.all(sql, ctx.workspace, subject, *params, limit)]
    return [
        {"event": event.type, "ts": rfc3339(event.ts_ms), **({"by": event.agent} if event.agent else {})}
        for event in events
    ]


class AgentsActive(Bounded):
    limit: Annotated[int, Field(ge=1, le=200, description="Most agents to show.")] = 20


@operation("agents_active", budget=AGENTS_BUDGET)
def agents_active(ctx: Context, args: AgentsActive) -> dict[str, Any]:
    """Show which agents wrote lately, each with how much and what it did last; the last one first."""
    newest = int(ctx.tx.value("SELECT max(seq) FROM event WHERE workspace = ?", ctx.workspace) or 0)
    rows = ctx.tx.all(
        "SELECT agent, count(*) AS events, max(seq) AS last FROM event"
        " WHERE workspace = ? AND seq > ? AND agent IS NOT NULL GROUP BY agent ORDER BY last DESC LIMIT ?",
        ctx.workspace,
        newest - LOOKED_AT,
        args.limit + 1,
    )
    shown = rows[: args.limit]
    last = {row["seq"]: event_from(row) for row in _events(ctx, [row["last"] for row in shown])}
    return {
        "workspace": ctx.workspace,
        "agents": [
            {"agent": row["agent"], "events": row["events"], "last": last[row["last"]].shown()} for row in shown
        ],
        "has_more": len(rows) > len(shown),
    }


def _events(ctx: Context, seqs: list[int]) -> list[dict[str, Any]]:
    if not seqs:
        return []
    sql = f"SELECT * FROM event WHERE workspace = ? AND seq IN ({placeholders(len(seqs))}) ORDER BY seq"
    return ctx.tx.all(sql, ctx.workspace, *seqs)
