"""How work ends: the status of a plan or task, closing a task with its last edits, and deletion."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid, suggest
from clew.index.items import unindex_item
from clew.kinds import statuses
from clew.reasoning.scope import forget_scope
from clew.registry.context import Context
from clew.registry.operation import Whole, operation
from clew.store.database import placeholders
from clew.store.rows import delete
from clew.tasks.changes import change_work, forget_step, forget_work, touch
from clew.tasks.edits import PatchOps, PatchPlace, apply_patch, patch_kind, subject_of, with_ops
from clew.tasks.gates import Override, gates_of
from clew.tasks.jobs.queue import cancel_jobs_of
from clew.tasks.journal import Change, forget_undo, log
from clew.tasks.leases import check_lease, drop_lease
from clew.tasks.overview import rows_json
from clew.tasks.plans import Work, tasks_of
from clew.tasks.steps import Step, select_step, step_ref, steps_of, subtree
from clew.tasks.targets import OfStep, OfTask, OfWork, PlanId, Revised, set_focus, target_task, target_work
from clew.tasks.task_nodes import nodes_of

Status = Literal["TODO", "ACTIVE", "DONE", "PARKED", "CANCELED"]


class Complete(OfWork, Revised):
    status: Annotated[Status, Field(description="The new status.")] = statuses.WORK_DONE
    parked_for_s: Annotated[
        int | None, Field(ge=1, le=10 * 366 * 86_400, description="With PARKED: wake after so many seconds.")
    ] = None
    parked_until_ts_ms: Annotated[Whole | None, Field(description="With PARKED: wake at this Unix time.")] = None
    override: Annotated[
        Override | None, Field(description="DONE although a required proof failed or is stale: why, and the risk.")
    ] = None


@operation("tasks_complete", writes=True, example={"task": "TASK-001", "status": "ACTIVE"})
def tasks_complete(ctx: Context, args: Complete) -> Json:
    """Set the status of a plan or task. DONE needs every step closed; PARKED may name a time to wake."""
    work = target_work(ctx, args)
    work, event = set_status(ctx, work, args.status, _wake(ctx, work, args), args.override)
    return {work.kind: rows_json(ctx, [work])[0], "event": event}


def set_status(
    ctx: Context, work: Work, status: str, parked_until: int | None = None, override: Override | None = None
) -> tuple[Work, Json | None]:
    """The work with the requested status; if it is set already, nothing is written and the response says so."""
    # A retry of the same call is a warning and no error: the requested status is set.
    if (work.status, work.parked_until_ts_ms) == (status, parked_until):
        ctx.warn("ALREADY_DONE", f"{work.id} is {status} already", "Nothing to do.")
        return work, None
    new = replace(work, status=status, parked_until_ts_ms=parked_until)
    if not new.is_open and ctx.ws.focus == work.id:
        set_focus(ctx, None)
    payload = {"task": work.id, "status": status, "previous": work.status, "parked_until_ts_ms": parked_until}
    type = "task_completed" if work.is_task else "plan_updated"
    return change_work(ctx, work, new, Change(type, f"{work.kind}_complete", payload), override)


def _wake(ctx: Context, work: Work, args: Complete) -> int | None:
    given = [name for name in ("parked_for_s", "parked_until_ts_ms") if getattr(args, name) is not None]
    if given and (args.status != statuses.WORK_PARKED or not work.is_task):
        raise invalid(given[0], "only a task that is PARKED wakes up", "Leave it out, or park a task.")
    if len(given) > 1:
        message = "parked_for_s and parked_until_ts_ms exclude each other"
        raise invalid("parked_for_s", message, "Keep one of them.", kind="choose_one", fields=given)
    return ctx.now_ms + args.parked_for_s * 1000 if args.parked_for_s is not None else args.parked_until_ts_ms


class ClosingPatch(PatchPlace):
    """A last edit before the task is closed."""

    ops: PatchOps


class CloseTask(OfTask, Revised):
    apply: Annotated[bool, Field(description="false only shows what would change.")] = False
    patches: Annotated[list[ClosingPatch], Field(max_length=50, description="Edits to make before closing.")] = Field(
        default_factory=list
    )


@operation("tasks_close_task", writes=True, example={"task": "TASK-001"})
def tasks_close_task(ctx: Context, args: CloseTask) -> Json:
    """Make last edits and complete the task, all or nothing; without apply=true only show what would change."""
    task = target_task(ctx, args)
    if not args.apply:
        return _preview(ctx, task, args)
    events = []
    for patch in args.patches:
        task, _, event = apply_patch(ctx, task, patch, patch.ops)
        events.append(event)
    task, done = set_status(ctx, task, statuses.WORK_DONE)
    if done is not None:
        events.append(done)
    return {"applied": True, "task": rows_json(ctx, [task])[0], "revision": task.revision, "events": events}


def _preview(ctx: Context, task: Work, args: CloseTask) -> Json:
    diff = [_difference(ctx, task, patch) for patch in args.patches]
    gates = gates_of(ctx, [step for step in steps_of(ctx, task.id) if not step.completed])
    left = {
        id: {"checkpoints": list(gate.missing), "proof": list(gate.missing_proof)} for id, gate in sorted(gates.items())
    }
    if not left:
        call = {"task": task.id, "apply": True, "expected_revision": task.revision}
        if args.patches:
            call["patches"] = [patch.model_dump(exclude_none=True) for patch in args.patches]
        ctx.suggest(suggest("tasks_close_task", "Applies the edits and closes the task.", "high", **call))
    return {
        "applied": False,
        "task": rows_json(ctx, [task])[0],
        "revision": task.revision,
        "diff": diff,
        "status": {"before": task.status, "after": "DONE" if not left else task.status},
        "can_close": not left,
        "open_steps": left,
    }


def _difference(ctx: Context, task: Work, patch: ClosingPatch) -> Json:
    subject, kind = subject_of(ctx, task, patch), patch_kind(patch)
    before, after = subject.content(), with_ops(ctx, subject, kind, patch.ops).content()
    changed = [name for name in sorted(after) if before.get(name) != after[name]]
    return {
        "kind": kind,
        "id": subject.id,
        "before": {name: before.get(name) for name in changed},
        "after": {name: after[name] for name in changed},
    }


class Delete(OfStep, Revised):
    plan: PlanId = None


@operation("tasks_delete", writes=True, destructive=True, example={"task": "TASK-001", "path": "s:0"})
def tasks_delete(ctx: Context, args: Delete) -> Json:
    """Delete a plan, a task with its steps, or a step with everything below it.

    Jobs that wait or run for a deleted task are canceled; their history stays.
    """
    work = target_work(ctx, args)
    if args.path is not None or args.step_id is not None:
        return delete_step(ctx, work, select_step(ctx, work, args.path, args.step_id))
    return delete_work(ctx, work)


def delete_work(ctx: Context, work: Work) -> Json:
    return _delete_task(ctx, work) if work.is_task else _delete_plan(ctx, work)


def delete_step(ctx: Context, task: Work, step: Step) -> Json:
    gone = subtree(ctx, step)
    before = _remove_steps(ctx, task, gone)
    task = touch(ctx, task)
    payload = {"task": task.id, "step_id": step.id, "path": step.path, "steps": [item.id for item in gone]}
    change = Change("step_deleted", "step_delete", payload, False)
    event = log(ctx, task.id, change, step.id, step.path, before)
    return {"task": task.id, "revision": task.revision, "step": step_ref(step), "event": event}


def _delete_task(ctx: Context, task: Work) -> Json:
    before = {**task.content(), **_remove_steps(ctx, task, steps_of(ctx, task.id))}
    return {**_remove_work(ctx, task, before), "jobs_canceled": cancel_jobs_of(ctx, task.id)}


def _delete_plan(ctx: Context, plan: Work) -> Json:
    tasks = tasks_of(ctx, plan.id)
    if tasks:
        raise ClewError(
            "CONFLICT",
            f"{plan.id} still has {len(tasks)} task{'s' if len(tasks) > 1 else ''}, such as {tasks[0].id}",
            "Delete its tasks first.",
            suggestions=[suggest("tasks_context", "Shows the tasks of the plan.", "high", tasks_parent=plan.id)],
        )
    return _remove_work(ctx, plan, plan.content())


def _remove_work(ctx: Context, work: Work, before: Json) -> Json:
    _remove_evidence(ctx, [work.id])
    payload = {"kind": work.kind, "title": work.title, "parent": work.parent}
    forget_work(ctx, work)
    change = Change("task_deleted", f"{work.kind}_delete", payload, False)
    event = log(ctx, work.id, change, before=before)
    forget_undo(ctx, work.id)
    delete(ctx.tx, ctx.workspace, work)
    forget_scope(ctx, work.id)
    if ctx.ws.focus == work.id:
        set_focus(ctx, None)
    return {"id": work.id, "kind": work.kind, "event": event}


def _remove_steps(ctx: Context, task: Work, steps: list[Step]) -> Json:
    """Delete steps with their nodes, leases and evidence; returns the deleted content."""
    for step in steps:
        check_lease(ctx, step)
    ids = [step.id for step in steps]
    nodes = [node for node in nodes_of(ctx, task.id) if node.step in ids]
    evidence = _remove_evidence(ctx, ids)
    for node in nodes:
        forget_undo(ctx, node.id)
        delete(ctx.tx, ctx.workspace, node)
    for step in reversed(steps):
        forget_step(ctx, step)
        forget_undo(ctx, step.id)
        drop_lease(ctx, step.id)
        delete(ctx.tx, ctx.workspace, step)
    return {
        "steps": [step.content() for step in steps],
        "nodes": [node.content() for node in nodes],
        "evidence": evidence,
    }


def _remove_evidence(ctx: Context, entities: list[str]) -> list[Json]:
    if not entities:
        return []
    marks = placeholders(len(entities))
    sql = (
        "SELECT id, entity, kind, text, event FROM evidence"
        f" WHERE workspace = ? AND entity IN ({marks}) ORDER BY number"
    )
    rows = ctx.tx.all(sql, ctx.workspace, *entities)
    for row in rows:
        unindex_item(ctx.tx, ctx.workspace, row["id"])
    for table in ("evidence_checkpoint", "evidence"):
        ctx.tx.run(f"DELETE FROM {table} WHERE workspace = ? AND entity IN ({marks})", ctx.workspace, *entities)
    return rows
