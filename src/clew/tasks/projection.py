"""Work as others see it: nodes in the task's graph, and items in the search index."""

from __future__ import annotations

from clew.index.indexing import index_item, unindex_item
from clew.index.items import Item
from clew.reasoning.graph import drop_node, node, put_edge, put_node
from clew.reasoning.scope import scope_of
from clew.registry.context import Context
from clew.tasks.plans import Work
from clew.tasks.steps import Step


def project_work(ctx: Context, work: Work) -> None:
    """The node `task:TASK-001` (or `plan:PLAN-001`), written anew only when it would differ."""
    _put(ctx, work.id, f"{work.kind}:{work.id}", work.kind, work.title, work.status)
    body = "\n".join(text for text in (work.description, work.context, work.contract, *work.checklist) if text)
    item = Item(
        ref=work.id,
        source="task",
        kind=work.kind,
        seq=ctx.ws.seq,
        ts_ms=work.updated_at_ms,
        title=work.title,
        body=body or None,
        tags=work.tags,
        status=work.status,
    )
    index_item(ctx.tx, ctx.workspace, item)


def project_step(ctx: Context, step: Step) -> None:
    _put(ctx, step.task, step_node(step.id), "step", step.title, "done" if step.completed else "open")
    lines = (*step.success_criteria, *step.tests, *step.blockers, step.next_action, step.stop_criteria)
    item = Item(
        ref=step.id,
        source="task",
        kind="step",
        seq=ctx.ws.seq,
        ts_ms=step.updated_at_ms,
        title=step.title,
        body="\n".join(line for line in lines if line) or None,
        tags=(step.task.lower(),),
        status="done" if step.completed else "open",
    )
    index_item(ctx.tx, ctx.workspace, item)


def project_parent(ctx: Context, step: Step) -> None:
    """The edge by which a new step hangs under its task or step."""
    scope = scope_of(ctx, step.task)
    above = step_node(step.parent) if step.parent else f"task:{step.task}"
    put_edge(ctx, scope.branch, scope.graph, above, "contains", step_node(step.id))


def forget_step(ctx: Context, step: Step) -> None:
    _drop(ctx, step.task, step_node(step.id))
    unindex_item(ctx.tx, ctx.workspace, step.id)


def forget_work(ctx: Context, work: Work) -> None:
    _drop(ctx, work.id, f"{work.kind}:{work.id}")
    unindex_item(ctx.tx, ctx.workspace, work.id)


def step_node(step_id: str) -> str:
    return f"step:{step_id}"


def _put(ctx: Context, owner: str, id: str, type: str, title: str, status: str) -> None:
    scope = scope_of(ctx, owner)
    present = node(ctx, scope.branch, scope.graph, id)
    if present is None or (present.title, present.status) != (title, status):
        put_node(ctx, scope.branch, scope.graph, id=id, type=type, title=title, status=status)


def _drop(ctx: Context, owner: str, id: str) -> None:
    scope = scope_of(ctx, owner)
    if node(ctx, scope.branch, scope.graph, id) is not None:
        drop_node(ctx, scope.branch, scope.graph, id)
