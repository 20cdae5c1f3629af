"""Deleting plans, tasks and steps. The rows go; what they said stays in the history, and their reasoning stays put."""

from __future__ import annotations

from typing import Any

from clew.errors import ClewError, suggest
from clew.index.indexing import unindex_item
from clew.reasoning.scope import forget_scope
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.store.database import placeholders
from clew.tasks.changes import touch
from clew.tasks.focus import set_focus
from clew.tasks.jobs.reports import cancel_jobs_of
from clew.tasks.journal import Change, forget_undo, record, write_event
from clew.tasks.leases import check_lease
from clew.tasks.nodes import nodes_of
from clew.tasks.plans import Work, check_revision, tasks_of
from clew.tasks.projection import forget_step, forget_work
from clew.tasks.steps import Step, select_step, steps_of, subtree
from clew.tasks.targets import OfStep, PlanId, Revised, target_work


class Delete(OfStep, Revised):
    plan: PlanId = None


@operation("tasks_delete", writes=True, destructive=True, intent="delete", example={"task": "TASK-001", "path": "s:0"})
def tasks_delete(ctx: Context, args: Delete) -> dict[str, Any]:
    """Delete a plan, a task with its steps, or a step with everything below it.

    Jobs that wait or run for a deleted task are canceled; their history stays.
    """
    work = target_work(ctx, args)
    check_revision(work, args.expected_revision)
    if args.path is not None or args.step_id is not None:
        return _delete_step(ctx, work, select_step(ctx, work, args.path, args.step_id))
    return _delete_task(ctx, work) if work.is_task else _delete_plan(ctx, work)


def _delete_step(ctx: Context, task: Work, step: Step) -> dict[str, Any]:
    gone = subtree(ctx, step)
    before = _remove_steps(ctx, task, gone)
    task = touch(ctx, task)
    payload = {"task": task.id, "step_id": step.id, "path": step.path, "steps": [item.id for item in gone]}
    event = write_event(ctx, task.id, "step_deleted", payload, step.path)
    change = Change("step_deleted", "step_delete", payload, False)
    record(ctx, task.id, step.id, step.path, change, before, None, event)
    return {"id": step.id, "kind": "step", "task": task.id, "revision": task.revision, "event": event}


def _delete_task(ctx: Context, task: Work) -> dict[str, Any]:
    before = {**task.content(), **_remove_steps(ctx, task, steps_of(ctx, task.id))}
    return {**_delete_work(ctx, task, before), "jobs_canceled": cancel_jobs_of(ctx, task.id)}


def _delete_plan(ctx: Context, plan: Work) -> dict[str, Any]:
    tasks = tasks_of(ctx, plan.id)
    if tasks:
        raise ClewError(
            "CONFLICT",
            f"{plan.id} still has {len(tasks)} task{'s' if len(tasks) > 1 else ''}, such as {tasks[0].id}",
            "Delete its tasks first.",
            suggestions=[suggest("tasks_context", "Shows the tasks of the plan.", "high", tasks_parent=plan.id)],
        )
    return _delete_work(ctx, plan, plan.content())


def _delete_work(ctx: Context, work: Work, before: dict[str, Any]) -> dict[str, Any]:
    _remove_evidence(ctx, [work.id])
    payload = {"kind": work.kind, "title": work.title, "parent": work.parent}
    forget_work(ctx, work)
    event = write_event(ctx, work.id, "task_deleted", payload)
    change = Change("task_deleted", f"{work.kind}_delete", payload, False)
    record(ctx, work.id, work.id, None, change, before, None, event)
    forget_undo(ctx, work.id)
    ctx.tx.run("DELETE FROM work WHERE workspace = ? AND id = ?", ctx.workspace, work.id)
    ctx.tx.run("DELETE FROM reasoning_ref WHERE workspace = ? AND id = ?", ctx.workspace, work.id)
    forget_scope(ctx, work.id)
    if ctx.ws.focus == work.id:
        set_focus(ctx, None)
    return {"id": work.id, "kind": work.kind, "event": event}


def _remove_steps(ctx: Context, task: Work, steps: list[Step]) -> dict[str, Any]:
    """Take steps with their nodes, leases and evidence away; returns what they were."""
    for step in steps:
        check_lease(ctx, step)
    ids = [step.id for step in steps]
    nodes = [node for node in nodes_of(ctx, task.id) if node.step in ids]
    evidence = _remove_evidence(ctx, ids)
    for node in nodes:
        forget_undo(ctx, node.id)
        ctx.tx.run("DELETE FROM task_node WHERE workspace = ? AND id = ?", ctx.workspace, node.id)
    for step in reversed(steps):
        forget_step(ctx, step)
        forget_undo(ctx, step.id)
        ctx.tx.run("DELETE FROM step_lease WHERE workspace = ? AND step = ?", ctx.workspace, step.id)
        ctx.tx.run("DELETE FROM step WHERE workspace = ? AND id = ?", ctx.workspace, step.id)
    return {
        "steps": [step.content() for step in steps],
        "nodes": [node.content() for node in nodes],
        "evidence": evidence,
    }


def _remove_evidence(ctx: Context, entities: list[str]) -> list[dict[str, Any]]:
    if not entities:
        return []
    marks = placeholders(len(entities))
    rows = ctx.tx.all(
        "SELECT id, entity, kind, text, event FROM evidence"
        f" WHERE workspace = ? AND entity IN ({marks}) ORDER BY number",
        ctx.workspace,
        *entities,
    )
    for row in rows:
        unindex_item(ctx.tx, ctx.workspace, row["id"])
    for table in ("evidence_checkpoint", "evidence"):
        ctx.tx.run(f"DELETE FROM {table} WHERE workspace = ? AND entity IN ({marks})", ctx.workspace, *entities)
    return rows
