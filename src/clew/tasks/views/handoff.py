"""The shift report: what is done, what remains, what may go wrong, and the radar's core."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import shorten
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.lines import one_line
from clew.registry.operation import Bounded, operation
from clew.tasks.gates import Gate
from clew.tasks.plans import Work, tasks_of
from clew.tasks.steps import Step
from clew.tasks.targets import OfWork, target_work
from clew.tasks.views.horizon import Horizon, horizon_of
from clew.tasks.views.radar import RADAR_STEPS, blockers_of, plan_blockers, radar_of, suspects_of
from clew.tasks.views.subject import Subject, steps_json, subject_of, target_json

MOST = 50
LINE = 200


class Handoff(OfWork, Bounded):
    limit: Annotated[int, Field(ge=1, le=200, description="Most lines of done, remaining and risks each.")] = MOST
    read_only: Annotated[bool, Field(description="Accepted for older callers; this view never writes.")] = False


HANDOFF_BUDGET = Budget(
    (
        Trim("handoff.done", drop="first", floor=3),
        Trim("handoff.remaining", drop="last", floor=3),
        *RADAR_STEPS,
        Trim("handoff.risks", drop="last", floor=1),
        Trim("handoff.done", drop="first"),
        Trim("handoff.remaining", drop="last", floor=1),
        Drop("radar"),
    ),
    16_000,
    keep=("workspace",),
)


@operation("tasks_handoff", intent="handoff", budget=HANDOFF_BUDGET)
def tasks_handoff(ctx: Context, args: Handoff) -> dict[str, Any]:
    """Report for whoever takes over: done, remaining, risks, and the radar."""
    return handoff_json(ctx, target_work(ctx, args), args.limit)


def handoff_json(ctx: Context, work: Work, limit: int = MOST) -> dict[str, Any]:
    subject = subject_of(ctx, work)
    return {
        "workspace": ctx.workspace,
        "target": target_json(ctx, work),
        "handoff": handoff_of(ctx, subject, limit),
        "radar": radar_of(ctx, subject),
        "steps": steps_json(subject),
        "truncated": False,
    }


def handoff_of(ctx: Context, subject: Subject, limit: int) -> dict[str, list[str]]:
    parts = _of_task(ctx, subject) if subject.work.is_task else _of_plan(ctx, subject.work)
    done, remaining, risks = parts
    return {"done": done[-limit:], "remaining": remaining[:limit], "risks": risks[:limit]}


def _of_task(ctx: Context, subject: Subject) -> tuple[list[str], list[str], list[str]]:
    done = [_done_line(step, subject.gates[step.id]) for step in subject.steps if step.completed]
    remaining = [_open_line(step, subject.gates[step.id]) for step in subject.open_steps]
    return done, remaining, _task_risks(ctx, subject)


def _done_line(step: Step, gate: Gate) -> str:
    proof = f" (proof: {', '.join(gate.present_proof)})" if gate.present_proof else ""
    return _line(f"{step.path} {step.title}{proof}")


def _open_line(step: Step, gate: Gate) -> str:
    lacks = [*gate.missing, *(f"proof of {name}" for name in gate.missing_proof)]
    return _line(f"{step.path} {step.title}" + (f" (needs {', '.join(lacks)})" if lacks else ""))


def _task_risks(ctx: Context, subject: Subject) -> list[str]:
    risks = [f"blocked: {line}" for line in blockers_of(subject)]
    risks += [f"suspect: {line}" for line in suspects_of(ctx, subject)]
    for step in subject.open_steps:
        risks += [f"unproven: {step.path} needs proof of {name}" for name in subject.gates[step.id].missing_proof]
    for step in subject.steps:
        if step.completed:
            risks += [f"unproven: {step.path} was closed without proof of {name}" for name in _wished(subject, step)]
    if not subject.steps:
        risks.append("unplanned: the task has no steps")
    return [_line(risk) for risk in risks]


def _wished(subject: Subject, step: Step) -> tuple[str, ...]:
    return subject.gates[step.id].wanted_proof


def _of_plan(ctx: Context, plan: Work) -> tuple[list[str], list[str], list[str]]:
    tasks = tasks_of(ctx, plan.id)
    current = min(plan.checklist_current, len(plan.checklist))
    done = [*plan.checklist[:current], *(_task_line(task) for task in tasks if task.status == "DONE")]
    left = [task for task in tasks if task.status not in ("DONE", "CANCELED")]
    order = {"ACTIVE": 0, "TODO": 1, "PARKED": 2}
    left.sort(key=lambda task: (order[task.status], task.number))
    remaining = [*plan.checklist[current:], *(f"{_task_line(task)} ({task.status})" for task in left)]
    risks = [f"blocked: {line}" for line in plan_blockers(ctx, plan.id)] + _plan_risks(horizon_of(ctx, plan.id))
    return [_line(text) for text in done], [_line(text) for text in remaining], [_line(text) for text in risks]


def _plan_risks(horizon: Horizon) -> list[str]:
    found = horizon.to_json()
    risks = [f"scattered: {horizon.active} tasks are active at once"] if found["over_active_limit"] else []
    return risks + ([f"stale: {horizon.stale} open tasks have not changed for long"] if horizon.stale else [])


def _task_line(task: Work) -> str:
    return f"{task.id} {task.title}"


def _line(text: str) -> str:
    return shorten(one_line(text), LINE)
