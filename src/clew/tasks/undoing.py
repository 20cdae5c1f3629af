"""Restores what a write changed in plans, tasks and steps, as `tasks_undo` does; records it created are deleted."""

from __future__ import annotations

from collections.abc import Sequence

from clew.errors import ClewError
from clew.registry.context import Context
from clew.registry.write_log import LoggedWrite, Undone, changed_since, undoer
from clew.store.events import EventRow, event_id, events_about
from clew.store.rows import select
from clew.surroundings import clew_command
from clew.tasks.endings import delete_step, delete_work
from clew.tasks.evidence import disown_claims
from clew.tasks.history import turn
from clew.tasks.journal import UndoEntry
from clew.tasks.plans import find_work, tasks_of
from clew.tasks.proof_receipts import CLAIMED, DISOWNED
from clew.tasks.steps import find_step

CREATED = ("plan_created", "task_created")
CHANGED = frozenset(
    {
        *("plan_edited", "plan_updated", "contract_updated", "task_edited", "task_patched", "task_completed"),
        *("step_defined", "step_verified", "step_done", "step_reopened", "step_blocked", "step_unblocked"),
        *("task_node_defined", "steps_added", *CREATED),
    }
)


@undoer("tasks")
def undo_work(ctx: Context, write: LoggedWrite) -> Undone:
    events = [event for event in write.events(ctx) if event.topic == "tasks"]
    _refuse_disowning(ctx, write)
    claims = _disowned_claims(ctx, write)
    told = [_turned(ctx, entry) for entry in _entries(ctx, write) if entry.undoable and not entry.undone]
    told += claims
    created = [event for event in events if event.type in CREATED]
    for event in events:
        if event.type == "steps_added" and event.subject not in {item.subject for item in created}:
            told += _without_steps(ctx, event)
    for event in reversed(created):
        told += _without_work(ctx, write, event)
    return Undone(tuple(told), CHANGED) if told else Undone()


def _entries(ctx: Context, write: LoggedWrite) -> Sequence[UndoEntry]:
    """Its entries in the undo log, the last first: later ones may depend on earlier ones."""
    ends = event_id(write.first_event), event_id(write.event)
    return select(ctx.tx, ctx.workspace, UndoEntry, "event >= ? AND event <= ? ORDER BY seq DESC", *ends)


def _turned(ctx: Context, entry: UndoEntry) -> str:
    work = find_work(ctx, entry.task)
    if work is None:
        raise ClewError("CONFLICT", f"{entry.task} was deleted since", "Nothing of it is left to put back.")
    turn(ctx, work, entry, undo=True)
    return f"{entry.task}{f' {entry.path}' if entry.path else ''}: {entry.intent.replace('_', ' ')} undone"


def _without_steps(ctx: Context, event: EventRow) -> list[str]:
    found = [find_step(ctx, str(item["step_id"])) for item in event.payload.get("steps", ())]
    steps = [step for step in found if step is not None]
    done = next((step for step in steps if step.completed), None)
    if done is not None:
        raise changed_since(done.id, None)
    task = find_work(ctx, event.subject or "")
    if task is None:
        return []
    for step in reversed(steps):
        delete_step(ctx, task, step)
    return [f"removed {', '.join(step.path for step in steps)} of {task.id}"] if steps else []


def _without_work(ctx: Context, write: LoggedWrite, event: EventRow) -> list[str]:
    work = find_work(ctx, event.subject or "")
    if work is None:
        return []
    later = [item for item in events_about(ctx.tx, ctx.workspace, work.id, 20) if item.seq > write.event]
    others = next((item for item in later if item.agent != write.agent), None)
    if others is not None:
        raise changed_since(work.id, others.agent)
    if not work.is_task and tasks_of(ctx, work.id):
        return [f"{work.id} stays, for it has other tasks"]
    delete_work(ctx, work)
    return [f"removed {work.id} {work.title}"]


def _refuse_disowning(ctx: Context, write: LoggedWrite) -> None:
    sql = "SELECT id FROM proof_receipt WHERE workspace = ? AND seq >= ? AND seq <= ? AND grade = ?"
    row = ctx.tx.one(sql, ctx.workspace, write.first_seq, write.last_seq, DISOWNED)
    if row is not None:
        run = clew_command("prove --again")
        raise ClewError("CONFLICT", "a run that was disowned proves nothing by a word", f"Run it again: {run}.")


def _disowned_claims(ctx: Context, write: LoggedWrite) -> list[str]:
    """Disown the claims of the write; reported failures are kept, and so are runs that Clew observed."""
    sql = "SELECT DISTINCT entity FROM proof_receipt WHERE workspace = ? AND seq >= ? AND seq <= ? AND grade = ?"
    rows = ctx.tx.all(sql, ctx.workspace, write.first_seq, write.last_seq, CLAIMED)
    steps = [step for row in rows if (step := find_step(ctx, row["entity"])) is not None]
    ids = [id for step in steps for id in disown_claims(ctx, step, "undone")]
    return [f"{id} is no longer claimed" for id in ids]
