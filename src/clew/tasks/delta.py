"""The stream of task events, read on from where a caller stopped."""

from __future__ import annotations

import re
from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.errors import invalid, suggest
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation
from clew.registry.paging import page_json
from clew.store.database import Row
from clew.store.events import event_id
from clew.tasks import journal

_EVENT = re.compile(r"(?:evt_)?(\d{1,18})")
DELTA_BUDGET = Budget(
    (
        Drop("events[].payload"),
        Trim("events", drop="last", floor=1, page="pagination", key="event_id"),
        Trim("events", drop="last", page="pagination", key="event_id"),
    ),
    12_000,
    keep=("workspace", "pagination"),
)


class Delta(Bounded):
    since: Annotated[Name | None, Field(description="Event id after which to start; default: the beginning.")] = None
    limit: Annotated[int, Field(ge=1, le=500, description="Most events to show.")] = 50


@operation("tasks_delta", intent="delta", budget=DELTA_BUDGET)
def tasks_delta(ctx: Context, args: Delta) -> dict[str, Any]:
    """Read the task events of the workspace in order, on from an event you know."""
    rows = task_events(ctx, position(args.since), args.limit + 1)
    shown = rows[: args.limit]
    last = event_id(shown[-1]["seq"]) if shown else args.since
    return {
        "workspace": ctx.workspace,
        "events": [journal.event_json(row, "task") for row in shown],
        # A stream has no end: the place to go on from is told even when nothing has happened after it yet.
        "pagination": {**page_json(args.since, args.limit, len(shown), last), "has_more": len(rows) > len(shown)},
        "truncated": False,
    }


def position(since: str | None, field: str = "since") -> int:
    """The seq that an event id stands for."""
    if since is None:
        return 0
    match = _EVENT.fullmatch(since.strip())
    if match is None:
        raise invalid(
            field,
            f"{since[:40]!r} is not an event id",
            "Use an id such as evt_0000000000000012.",
            [suggest("tasks_delta", "Reads from the beginning.")],
            kind="prefix",
            allowed=["evt_"],
        )
    return int(match.group(1))


def task_events(ctx: Context, after: int, limit: int) -> list[Row]:
    """Events of the whole workspace, oldest first."""
    rows = ctx.tx.all(
        "SELECT * FROM event WHERE workspace = ? AND topic = 'tasks' AND seq > ? ORDER BY seq LIMIT ?",
        ctx.workspace,
        after,
        limit,
    )
    return [_decoded(row) for row in rows]


def last_events(ctx: Context, owner: str, limit: int) -> list[Row]:
    """The newest events of one plan or task, oldest first."""
    rows = ctx.tx.all(
        "SELECT * FROM event WHERE workspace = ? AND subject = ? AND topic = 'tasks' ORDER BY seq DESC LIMIT ?",
        ctx.workspace,
        owner,
        limit,
    )
    return [_decoded(row) for row in reversed(rows)]


def _decoded(row: Row) -> Row:
    return {**row, "payload": orjson.loads(row["payload"])}
