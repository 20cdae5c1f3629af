"""The journal of work. Each change writes its event, its trace entry and its undo record in one transaction."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field

from clew.canonical import Json, picked
from clew.clock import rfc3339
from clew.errors import invalid, suggest
from clew.reasoning.documents import TRACE, append
from clew.reasoning.scope import scope_of
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import Bounded, Name, operation
from clew.store.events import EventRow, task_events
from clew.store.rows import TableRow, insert
from clew.store.workspaces import declare_events

declare_events(
    {
        "plan_created": "A plan was created.",
        "plan_edited": "The description of a plan was changed.",
        "plan_updated": "A plan's checklist or status was changed.",
        "contract_updated": "A plan's contract was set or cleared.",
        "task_created": "A task was created.",
        "task_edited": "The description of a task was changed.",
        "task_patched": "Single fields of a plan or task were changed.",
        "task_completed": "A task's status was set.",
        "task_deleted": "A plan or task was deleted with its steps.",
        "steps_added": "Steps were added to a task.",
        "step_defined": "A step's title, criteria, tests or blockers were changed.",
        "step_noted": "A note was written about a step.",
        "step_verified": "Checkpoints of a step were confirmed or withdrawn.",
        "step_done": "A step was closed.",
        "step_reopened": "A closed step was opened again.",
        "step_blocked": "A step was marked as blocked.",
        "step_unblocked": "A step is no longer blocked.",
        "step_deleted": "A step was deleted with everything below it.",
        "step_lease_claimed": "An agent took the lease of a step.",
        "step_lease_taken_over": "An agent took the lease of a step from another one.",
        "step_lease_renewed": "An agent extended its lease of a step.",
        "step_lease_released": "An agent gave back its lease of a step.",
        "task_node_added": "A task node was added to a step's plan.",
        "task_node_defined": "A task node was changed.",
        "task_node_deleted": "A task node was deleted.",
        "evidence_captured": "Evidence was captured for a step, task or plan.",
        "undo_applied": "An operation on a task was undone.",
        "redo_applied": "An undone operation was applied again.",
    }
)


@dataclass(frozen=True, slots=True)
class Change:
    """The name and payload of a mutation in the event log and in the undo log."""

    event: str
    intent: str
    payload: Json
    undoable: bool = True


def write_event(ctx: Context, owner: str, type: str, payload: Json, path: str | None = None) -> Json:
    """The event of a mutation, added to the owner's trace; returned as callers see it."""
    event = EventRow(**ctx.emit("tasks", type, owner, payload, path))
    scope = scope_of(ctx, owner)
    # The trace holds only a pointer to the event, so that the content is stored once.
    pointer: Json = {"source": event.id, "event_type": type, "subject": owner, "path": path}
    append(ctx, scope.branch.id, scope.trace, content=None, kind="event", doc_kind=TRACE, item_source=None, **pointer)
    return event_json(event)


def event_json(event: EventRow, id_field: str = "task_id") -> Json:
    return {
        "event_id": event.id,
        "ts": rfc3339(event.ts_ms),
        "ts_ms": event.ts_ms,
        id_field: event.subject,
        **picked(event, "path", "type", "payload"),
    }


@dataclass(frozen=True, slots=True)
class UndoEntry(TableRow):
    """One entry of the undo log. Numbers come from the workspace, so the log is in commit order."""

    TABLE: ClassVar[str] = "task_operation"
    KEY: ClassVar[tuple[str, ...]] = ("seq",)
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"payload", "before", "after"})
    FLAGS: ClassVar[frozenset[str]] = frozenset({"undoable", "undone"})
    COLUMNS: ClassVar[dict[str, str]] = {"before": "before_content", "after": "after_content"}

    seq: int
    task: str
    entity: str
    path: str | None
    intent: str
    payload: Json
    before: Json | None
    after: Json | None
    undoable: bool
    event: str
    agent: str | None
    ts_ms: int
    undone: bool = False


def log(
    ctx: Context,
    owner: str,
    change: Change,
    entity: str = "",
    path: str | None = None,
    before: Json | None = None,
    after: Json | None = None,
) -> Json:
    """The event of a change, and its undo log entry."""
    event = write_event(ctx, owner, change.event, change.payload, path)
    record(ctx, owner, entity or owner, path, change, before, after, event)
    return event


def record(
    ctx: Context,
    owner: str,
    entity: str,
    path: str | None,
    change: Change,
    before: Json | None,
    after: Json | None,
    event: Json,
) -> None:
    # As in an editor: after an undo and another change, redo is no longer possible.
    if change.undoable:
        _end_redo(ctx, owner)
    entry = UndoEntry(
        seq=ctx.ws.count("task_operation"),
        task=owner,
        entity=entity,
        path=path,
        intent=change.intent,
        payload=change.payload,
        before=before,
        after=after,
        undoable=change.undoable,
        event=event["event_id"],
        agent=ctx.agent,
        ts_ms=ctx.now_ms,
    )
    insert(ctx.tx, ctx.workspace, entry)


def _end_redo(ctx: Context, owner: str) -> None:
    """Changes that were undone before a new change can no longer be redone."""
    sql = "UPDATE task_operation SET undoable = 0 WHERE workspace = ? AND task = ? AND undone = 1 AND undoable = 1"
    ctx.tx.run(sql, ctx.workspace, owner)


def forget_undo(ctx: Context, entity: str) -> None:
    """Deleted records cannot be restored field by field; their log entries are kept as history."""
    sql = "UPDATE task_operation SET undoable = 0 WHERE workspace = ? AND entity = ? AND undoable = 1"
    ctx.tx.run(sql, ctx.workspace, entity)


_EVENT = re.compile(r"(?:evt_)?(\d{1,18})")
_EVENTS = Trim("events", drop="last", page="pagination", key="event_id")
DELTA_BUDGET = Budget(
    (
        Drop("events[].payload"),
        replace(_EVENTS, floor=1),
        _EVENTS,
    ),
    12_000,
    keep=("workspace", "pagination"),
)


class Delta(Bounded):
    since: Annotated[Name | None, Field(description="Event id after which to start; default: the beginning.")] = None
    limit: Annotated[int, Field(ge=1, le=500, description="Most events to show.")] = 50


@operation("tasks_delta", budget=DELTA_BUDGET)
def tasks_delta(ctx: Context, args: Delta) -> Json:
    """Read the task events of the workspace in order, on from an event you know."""
    rows = task_events(ctx.tx, ctx.workspace, position(args.since), args.limit + 1)
    shown = rows[: args.limit]
    last = shown[-1].id if shown else args.since
    return {
        "workspace": ctx.workspace,
        "events": [event_json(row, "task") for row in shown],
        # A stream has no end: the cursor is returned even if nothing has happened after it yet.
        "pagination": {**page_json(args.since, args.limit, len(shown), last), "has_more": len(rows) > len(shown)},
    }


def position(since: str | None, field: str = "since") -> int:
    """The seq of an event id."""
    if since is None:
        return 0
    match = _EVENT.fullmatch(since.strip())
    if match is None:
        message = f"{since[:40]!r} is not an event id"
        recovery = "Use an id such as evt_0000000000000012."
        ways = [suggest("tasks_delta", "Reads from the beginning.")]
        raise invalid(field, message, recovery, ways, kind="prefix", allowed=["evt_"])
    return int(match.group(1))
