"""events_list, agents_active and agents_timeline: what happened in a workspace and who did it, from the event log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from clew.clock import rfc3339
from clew.registry.budget import Budget, Drop, Follow, Trim
from clew.registry.callers import families
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import Bounded, Name, Whole, operation
from clew.store.events import (
    EventFilter,
    busy_agents,
    events_about,
    events_at,
    events_by_slot,
    last_event_seq,
    last_event_until,
)

LOOKED_AT = 5_000
"""Agents are searched in this many of the newest events, so that a long log costs no more than a short one."""
COUNTED = 1_000
"""Events beyond a page are counted up to this number."""
_LEFT = Follow("left_out", lambda whole, result: result["total"] - len(result["events"]))
_EVENTS = Trim("events", drop="last", page="pagination", count="count", follow=_LEFT)
EVENTS_BUDGET = Budget(
    (Drop("events[].payload"), replace(_EVENTS, floor=1), _EVENTS),
    {"core": 8_000, "daily": 16_000, "full": 60_000},
    keep=("workspace", "last_seq"),
)
AGENTS_BUDGET = Budget(
    (Trim("agents", drop="last", floor=1, more="has_more"), Trim("agents", drop="last", more="has_more")),
    16_000,
    keep=("workspace",),
)


MOST_EVENTS = 50_000
"""Maximum events of a timeline, which reports whether older ones were left out."""
TIMELINE_BUDGET = Budget(
    (Trim("rows", drop="last", floor=1, more="has_more"), Trim("rows", drop="last", more="has_more")),
    {"core": 8_000, "daily": 16_000, "full": 120_000},
    keep=("workspace", "from_ms", "to_ms"),
)


class EventsList(Bounded):
    after: Annotated[Whole | None, Field(description="Only what came after this event number.")] = None
    before: Annotated[Whole | None, Field(description="Page on: only what came before this event number.")] = None
    types: Annotated[list[Name] | None, Field(max_length=100, description="Event types to show; default: all.")] = None
    by: Annotated[
        Name | None, Field(description="Only what this author did; a client's name means all of its connections.")
    ] = None
    since_ms: Annotated[Whole | None, Field(description="Only what happened from this time on (Unix, ms).")] = None
    limit: Annotated[int, Field(ge=1, le=500, description="Most events to show.")] = 50


@operation("events_list", budget=EVENTS_BUDGET)
def events_list(ctx: Context, args: EventsList) -> dict[str, Any]:
    """Show what happened in the workspace, newest first; `after` leaves out what you have seen."""
    wanted = EventFilter(tuple(args.types or ()), args.after, args.before, args.by, args.since_ms)
    events = [event.shown() for event in wanted.newest(ctx.tx, ctx.workspace, args.limit)]
    # Counting costs a query, which a page that is not full does not need.
    full = len(events) == args.limit
    total = wanted.count(ctx.tx, ctx.workspace, args.limit + COUNTED) if full else len(events)
    on = events[-1]["seq"] if total > len(events) else None
    return {
        "workspace": ctx.workspace,
        "events": events,
        "count": len(events),
        "total": total,
        "left_out": total - len(events),
        "last_seq": last_event_seq(ctx.tx, ctx.workspace),
        "pagination": page_json(args.before, args.limit, len(events), on),
    }


def history_of(ctx: Context, subject: str, limit: int, path: str | None = None) -> list[dict[str, Any]]:
    """The events about one subject, or about one part of it, newest first."""
    events = events_about(ctx.tx, ctx.workspace, subject, limit, path=path)
    return [
        {
            "event": event.type,
            "ts": rfc3339(event.ts_ms),
            **({"by": event.agent} if event.agent else {}),
            **({"path": event.path} if event.path and path is None else {}),
            **({"why": event.payload["reason"]} if event.payload.get("reason") else {}),
        }
        for event in events
    ]


class AgentsActive(Bounded):
    limit: Annotated[int, Field(ge=1, le=200, description="Most agents to show.")] = 20


@operation("agents_active", budget=AGENTS_BUDGET)
def agents_active(ctx: Context, args: AgentsActive) -> dict[str, Any]:
    """Show which agents wrote lately, each with how much and what it did last; the last one first."""
    newest = last_event_seq(ctx.tx, ctx.workspace)
    rows = busy_agents(ctx.tx, ctx.workspace, newest - LOOKED_AT, args.limit + 1)
    shown = rows[: args.limit]
    last = {event.seq: event for event in events_at(ctx.tx, ctx.workspace, [row["last"] for row in shown])}
    return {
        "workspace": ctx.workspace,
        "agents": [
            {"agent": row["agent"], "events": row["events"], "last": last[row["last"]].shown()} for row in shown
        ],
        "has_more": len(rows) > len(shown),
    }


class AgentsTimeline(Bounded):
    minutes: Annotated[int, Field(ge=1, le=43_200, description="How far back it goes.")] = 60
    slots: Annotated[int, Field(ge=2, le=240, description="Into how many pieces the time is cut.")] = 60
    limit: Annotated[int, Field(ge=1, le=100, description="Most agents to show.")] = 20


@operation("agents_timeline", budget=TIMELINE_BUDGET, example={"minutes": 60})
def agents_timeline(ctx: Context, args: AgentsTimeline) -> dict[str, Any]:
    """Show who did how much when: for each agent the pieces of time in which it wrote, by topic; the last one first."""
    to_ms = ctx.now_ms
    width = max(1, args.minutes * 60_000 // args.slots)
    from_ms = to_ms - width * args.slots
    newest = last_event_seq(ctx.tx, ctx.workspace)
    begin = last_event_until(ctx.tx, ctx.workspace, "ts_ms", from_ms - 1)
    # The later of the two: the requested start time, or the limit on events.
    after = max(begin, newest - MOST_EVENTS)
    rows = _agent_rows(events_by_slot(ctx.tx, ctx.workspace, after, from_ms, width), families(ctx))
    shown = rows[: args.limit]
    last = {event.seq: event for event in events_at(ctx.tx, ctx.workspace, [row["last_seq"] for row in shown])}
    return {
        "workspace": ctx.workspace,
        "from_ms": from_ms,
        "to_ms": to_ms,
        "slot_ms": width,
        "rows": [{**row, "last": last[row["last_seq"]].shown()} for row in shown],
        "agents": len(rows),
        "has_more": len(rows) > len(shown),
        "older_left_out": after > begin,
    }


def _agent_rows(found: list[dict[str, Any]], known: Mapping[str, str]) -> list[dict[str, Any]]:
    """One row for each agent, whatever its connection; events without an agent form a row without a name."""
    rows: dict[str | None, dict[str, Any]] = {}
    for piece in found:
        agent = known.get(piece["agent"] or "", piece["agent"])
        row = rows.setdefault(agent, {"agent": agent, "events": 0, "last_seq": 0, "pieces": []})
        row["events"] += piece["events"]
        row["last_seq"] = max(row["last_seq"], piece["last"])
        row["pieces"].append({name: piece[name] for name in ("slot", "topic", "events", "last")})
    return sorted(rows.values(), key=lambda row: -row["last_seq"])
