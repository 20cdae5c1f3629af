"""The radar: now, why, verify, next and blockers on one screen."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import shorten
from clew.reasoning.branches import chain
from clew.reasoning.premises import any_fallen
from clew.reasoning.scope import scope_json
from clew.registry.budget import Budget, Clip, Drop, Step, Trim
from clew.registry.context import Context
from clew.registry.lines import one_line
from clew.registry.operation import Bounded, operation
from clew.tasks.plans import Work, tasks_of
from clew.tasks.proofs import suspect_steps
from clew.tasks.targets import OfWork, explicit_target, target_work
from clew.tasks.views.horizon import horizon_of
from clew.tasks.views.subject import Subject, steps_json, subject_of, target_json

MOST_LINES = 20
MOST_NEXT = 3
LINE = 200

ReadOnly = Annotated[bool, Field(description="Leave the focus where it is.")]


class Radar(OfWork, Bounded):
    read_only: Annotated[bool, Field(description="Accepted for older callers; this view never writes.")] = False


RADAR_STEPS: tuple[Step, ...] = (
    Clip("target.description", 400),
    Trim("radar.verify", drop="last", floor=2),
    Trim("radar.blockers", drop="last", floor=3),
    Drop("target.contract_data"),
    Drop("target.contract"),
    Drop("requested"),
    Drop("reasoning_ref"),
    Drop("steps"),
    Drop("target.description"),
    Trim("radar.verify", drop="last"),
    Clip("radar.why", 80),
    Drop("target"),
    Trim("radar.blockers", drop="last", floor=1),
    Drop("radar.horizon"),
    Drop("radar.why"),
    Trim("radar.suspects", drop="last", floor=1),
    Drop("radar.suspects"),
    Trim("radar.blockers", drop="last"),
    Trim("radar.next", drop="last", floor=1),
)


@operation("tasks_radar", intent="radar", budget=Budget(RADAR_STEPS, 16_000, keep=("workspace", "focus")))
def tasks_radar(ctx: Context, args: Radar) -> dict[str, Any]:
    """Show now, why, verify, next and blockers of a plan or task on one screen."""
    subject = subject_of(ctx, target_work(ctx, args))
    return {
        "workspace": ctx.workspace,
        "requested": requested(args),
        "focus": ctx.ws.focus,
        "target": target_json(ctx, subject.work),
        "reasoning_ref": scope_json(subject.scope),
        "radar": radar_of(ctx, subject),
        "steps": steps_json(subject),
        "truncated": False,
    }


def requested(args: Any) -> dict[str, str | None]:
    """What the caller named, under the name of its kind."""
    named = explicit_target(args)
    return {kind: named if named and named.startswith(kind.upper()) else None for kind in ("plan", "task")}


def radar_of(ctx: Context, subject: Subject) -> dict[str, Any]:
    return _of_task(ctx, subject) if subject.work.is_task else _of_plan(ctx, subject.work)


def _of_task(ctx: Context, subject: Subject) -> dict[str, Any]:
    task, doubts = subject.work, suspects_of(ctx, subject)[:MOST_LINES]
    shown = {
        "now": _now(subject),
        "why": _line(task.description or task.context or task.title),
        "verify": _verify(subject)[:MOST_LINES],
        "next": next_lines(subject)[:MOST_NEXT],
        "blockers": blockers_of(subject)[:MOST_LINES],
    }
    return {**shown, "suspects": doubts} if doubts else shown


def suspects_of(ctx: Context, subject: Subject) -> list[str]:
    """Steps, done or not, that rest on a card which has fallen since."""
    if not subject.steps or not any_fallen(ctx, subject.scope, chain(ctx, subject.scope.branch)):
        return []
    doubts = suspect_steps(ctx, subject.work.id, subject.steps)
    return [
        _line(f"{step.path} {step.title}: {doubts[step.id].because}") for step in subject.steps if step.id in doubts
    ]


def _now(subject: Subject) -> str:
    step = subject.first_open
    if step is not None:
        return _line(f"{step.path} {step.title}")
    if subject.work.status in ("DONE", "CANCELED"):
        return f"{subject.work.id} is {subject.work.status}"
    return "every step is done" if subject.steps else "no steps yet"


def _verify(subject: Subject) -> list[str]:
    """What the first open step still has to show."""
    step = subject.first_open
    if step is None:
        return []
    gate = subject.gates[step.id]
    lines = [f"criteria: {line}" for line in step.success_criteria] if "criteria" in gate.missing else []
    lines += [f"tests: {line}" for line in step.tests] if "tests" in gate.missing else []
    lines += [f"{name}: to be confirmed" for name in gate.missing if name not in ("criteria", "tests")]
    return [_line(line) for line in lines + [f"proof: of {name}" for name in gate.missing_proof]]


def next_lines(subject: Subject) -> list[str]:
    """What to do, the nearest first."""
    if subject.work.status in ("DONE", "CANCELED"):
        return []
    left = subject.open_steps
    if not left:
        return [f"finish {subject.work.id}" if subject.steps else f"add steps to {subject.work.id}"]
    first = left[0]
    return [_line(first.next_action or f"close {first.path} {first.title}")] + [
        _line(f"then {step.path} {step.title}") for step in left[1:]
    ]


def blockers_of(subject: Subject) -> list[str]:
    """What stands in the way of the open steps."""
    found = []
    for step in subject.open_steps:
        if step.blocked:
            found.append(_line(f"{step.path}: {step.block_reason or 'blocked'}"))
        found += [_line(f"{step.path}: {line}") for line in step.blockers]
    return found


def _of_plan(ctx: Context, plan: Work) -> dict[str, Any]:
    return {
        "now": _checklist_now(plan),
        "why": _line(plan.contract or plan.description or plan.title),
        "verify": [],
        "next": plan_next(ctx, plan),
        "blockers": plan_blockers(ctx, plan.id),
        "horizon": horizon_of(ctx, plan.id).to_json(),
    }


def _checklist_now(plan: Work) -> str:
    if plan.checklist_current < len(plan.checklist):
        return _line(f"{plan.checklist_current + 1}/{len(plan.checklist)} {plan.checklist[plan.checklist_current]}")
    return "the checklist is done" if plan.checklist else f"{plan.id} is {plan.status}"


def plan_next(ctx: Context, plan: Work) -> list[str]:
    """Active tasks, then the lines of the checklist that follow."""
    active = [_line(f"{task.id} {task.title}") for task in tasks_of(ctx, plan.id, "ACTIVE")[:MOST_NEXT]]
    left = [_line(line) for line in plan.checklist[plan.checklist_current :]]
    return (active + left)[:MOST_NEXT]


def plan_blockers(ctx: Context, plan: str) -> list[str]:
    """Blocked steps of the plan's tasks that are being worked on."""
    rows = ctx.tx.all(
        "SELECT step.task, step.path, step.block_reason FROM step JOIN work ON work.workspace = step.workspace"
        " AND work.id = step.task WHERE work.workspace = ? AND work.parent = ? AND work.status IN ('ACTIVE', 'TODO')"
        " AND step.completed = 0 AND step.blocked = 1 ORDER BY work.number, step.created_seq, step.id LIMIT ?",
        ctx.workspace,
        plan,
        MOST_LINES,
    )
    return [_line(f"{row['task']} {row['path']}: {row['block_reason'] or 'blocked'}") for row in rows]


def _line(text: str) -> str:
    return shorten(one_line(text), LINE)
