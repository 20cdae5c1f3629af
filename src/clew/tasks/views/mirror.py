"""The compact slice of a plan or task that other programs copy."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.registry.context import Context
from clew.registry.operation import Name, operation
from clew.tasks.gates import Gate, gates_of
from clew.tasks.plans import Work, tasks_of
from clew.tasks.steps import CHECKPOINTS, Step, select_step, step_ref, steps_of, subtree
from clew.tasks.targets import OfWork, target_work


class Mirror(OfWork):
    path: Annotated[Name | None, Field(description="Only this step and what is below it.")] = None
    limit: Annotated[int, Field(ge=1, le=1000, description="Most steps.")] = 50


@operation("tasks_mirror", intent="mirror")
def tasks_mirror(ctx: Context, args: Mirror) -> dict[str, Any]:
    """Export the steps of a task, or of all tasks of a plan, in a compact form."""
    work = target_work(ctx, args)
    steps = _steps(ctx, work, args.path)
    shown = steps[: args.limit]
    gates = gates_of(ctx, shown)
    return {
        "workspace": ctx.workspace,
        "scope": {"id": work.id, "kind": work.kind, "path": args.path},
        "steps": [_row(step, gates[step.id], work) for step in shown],
        "count": len(shown),
        "total": len(steps),
        "has_more": len(shown) < len(steps),
    }


def _steps(ctx: Context, work: Work, path: str | None) -> list[Step]:
    if path is not None:
        return subtree(ctx, select_step(ctx, work, path, None))
    if work.is_task:
        return steps_of(ctx, work.id)
    return [step for task in tasks_of(ctx, work.id) for step in steps_of(ctx, task.id)]


def _row(step: Step, gate: Gate, work: Work) -> dict[str, Any]:
    return {
        **({} if work.is_task else {"task": step.task}),
        **step_ref(step),
        "title": step.title,
        "completed": step.completed,
        **{f"{name}_confirmed": step.confirmed(name) for name in CHECKPOINTS},
        "missing": list(gate.missing),
        "missing_proof": list(gate.missing_proof),
        "blocked": step.blocked,
        "block_reason": step.block_reason,
    }
