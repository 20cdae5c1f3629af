"""The history of a plan or task, with undo and redo."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from clew.canonical import Json, picked
from clew.clock import rfc3339
from clew.errors import ClewError, suggest
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.store.rows import first, select, update
from clew.tasks.changes import put_step, put_work
from clew.tasks.evidence import disown_claims
from clew.tasks.journal import Change, UndoEntry
from clew.tasks.plans import Work, find_work
from clew.tasks.steps import Step, find_step
from clew.tasks.targets import AgentId, OfWork, explicit_target, target_work
from clew.tasks.task_nodes import TaskNode, find_node, put_node

HISTORY_BUDGET = Budget(
    (
        Drop("operations[].before"),
        Drop("operations[].after"),
        Trim("operations", drop="last", floor=1, more="has_more"),
        Drop("operations[].payload"),
        Trim("operations", drop="last", more="has_more"),
    ),
    16_000,
    keep=("workspace",),
)


class History(OfWork, Bounded):
    limit: Annotated[int, Field(ge=1, le=200, description="Most operations to show.")] = 50


@operation("tasks_history", budget=HISTORY_BUDGET)
def tasks_history(ctx: Context, args: History) -> Json:
    """List what was done to a plan or task, newest first; without a target and a focus, in the whole workspace."""
    owner = explicit_target(args) or ctx.ws.focus
    where, params = ("task = ?", (owner,)) if owner else ("TRUE", ())
    # One more than is shown detects whether there are more, without counting.
    where += " ORDER BY seq DESC LIMIT ?"
    found = select(ctx.tx, ctx.workspace, UndoEntry, where, *params, args.limit + 1)
    return {
        "workspace": ctx.workspace,
        "operations": [operation_json(entry) for entry in found[: args.limit]],
        "has_more": len(found) > args.limit,
    }


_TURNED = "task = ? AND undoable = 1 AND undone"


class Undo(OfWork):
    agent_id: AgentId = None


@operation("tasks_undo", writes=True, example={"task": "TASK-001"})
def tasks_undo(ctx: Context, args: Undo) -> Json:
    """Take back the last change of a plan or task that can be taken back."""
    return _turn_next(ctx, args, "undo", f"{_TURNED} = 0 ORDER BY seq DESC")


@operation("tasks_redo", writes=True, example={"task": "TASK-001"})
def tasks_redo(ctx: Context, args: Undo) -> Json:
    """Apply the change again that was taken back last; a newer change ends that possibility."""
    # The oldest undone one; a newer change has made all before it final.
    return _turn_next(ctx, args, "redo", f"{_TURNED} = 1 ORDER BY seq")


def _turn_next(ctx: Context, args: Undo, what: str, where: str) -> Json:
    work = target_work(ctx, args)
    found = first(ctx.tx, ctx.workspace, UndoEntry, where, work.id)
    if found is None:
        raise _nothing(work, what)
    return turn(ctx, work, found, undo=what == "undo")


def operation_json(done: UndoEntry) -> Json:
    return {
        "seq": done.seq,
        "ts": rfc3339(done.ts_ms),
        **picked(done, "ts_ms", "task", "path", "intent", "payload", "before", "after", "undoable"),
        **picked(done, "undone"),
    }


def turn(ctx: Context, work: Work, done: UndoEntry, undo: bool) -> Json:
    expected, wanted = (done.after, done.before) if undo else (done.before, done.after)
    assert expected is not None and wanted is not None
    payload = {"task": work.id, "path": done.path, "intent": done.intent, "op_seq": done.seq, "undo": undo}
    change = Change("undo_applied" if undo else "redo_applied", "", payload)
    work, event = _restore(ctx, work, done, expected, wanted, change)
    update(ctx.tx, ctx.workspace, replace(done, undone=undo))
    shown = {**operation_json(done), "undone": undo}
    return {"workspace": ctx.workspace, "revision": work.revision, "operation": shown, "event": event}


def _restore(
    ctx: Context, work: Work, done: UndoEntry, expected: Json, wanted: Json, change: Change
) -> tuple[Work, Json]:
    """Restore the content, with the same checks as any other change."""
    subject = _subject(ctx, done.entity)
    # Contents are compared, not revisions: a change of another step raises the task's revision and is no reason to
    # refuse.
    if subject is None or subject.content() != expected:
        raise _moved_on(work, done)
    if isinstance(subject, Step):
        if subject.completed and not wanted["completed"]:
            disown_claims(ctx, subject, "the closing was undone")
        work, _, event = put_step(ctx, work, subject, subject.with_content(wanted), change)
        return work, event
    if isinstance(subject, TaskNode):
        work, _, event = put_node(ctx, work, subject.with_content(wanted), change)
        return work, event
    return put_work(ctx, subject.with_content(wanted), change)


def _subject(ctx: Context, entity: str) -> Work | Step | TaskNode | None:
    if entity.startswith("STEP-"):
        return find_step(ctx, entity)
    return find_node(ctx, entity) if entity.startswith("NODE-") else find_work(ctx, entity)


def _nothing(work: Work, what: str) -> ClewError:
    message = f"{work.id} has nothing to {what}"
    recovery = "The history shows what can be taken back."
    ways = [suggest("tasks_history", "Shows what was done.", "high", **{work.kind: work.id})]
    return ClewError("INVALID_INPUT", message, recovery, [{"kind": "state", "field": "task"}], ways)


def _moved_on(work: Work, done: UndoEntry) -> ClewError:
    message = f"{done.entity} is no longer as operation {done.seq} left it"
    ways = [suggest("tasks_history", "Shows what was done.", "high", **{work.kind: work.id})]
    return ClewError("REVISION_MISMATCH", message, "Change it directly instead.", suggestions=ways)
