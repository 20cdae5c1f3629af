"""Which plan, task or step a call is about: an explicit one always wins, else the workspace focus."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid, suggest
from clew.reasoning.scope import Target, TargetRef, keep_one, target_id
from clew.registry.callers import focus_of_all, own_focus
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Whole, operation
from clew.store.workspaces import declare_events
from clew.tasks.plans import Work, check_revision, find_work, known_work, open_tasks, work_by_id
from clew.tasks.steps import Step, select_step

declare_events({"focus_changed": "The workspace focus was set or cleared."})

TaskId = Annotated[Name | None, Field(description="Task id such as TASK-001, or a plan's; default: the focus.")]
PlanId = Annotated[Name | None, Field(description="Plan id such as PLAN-001; default: the focus.")]
Expected = Annotated[Whole | None, Field(description="Refuse when the revision is another one.")]
AgentId = Annotated[Name | None, Field(description="Who calls; needed to work under a step lease.")]


class OfTask(Input):
    """A call about one task."""

    task: TaskId = None
    target: Target = None


class OfPlan(Input):
    """A call about one plan."""

    plan: PlanId = None
    target: Target = None


class OfWork(Input):
    """A call about a plan or a task."""

    task: TaskId = None
    plan: PlanId = None
    target: Target = None


class Revised(Input):
    """A call that may insist on a revision."""

    synonyms: ClassVar[dict[str, str]] = {"expected_version": "expected_revision"}

    expected_revision: Expected = None
    agent_id: AgentId = None


A_STEP = ("path", "step_id")


class OfStep(OfTask):
    """A call about one step of a task."""

    path: Annotated[Name | None, Field(description="Step path such as s:0 or s:0.s:1.")] = None
    step_id: Annotated[Name | None, Field(description="Step id such as STEP-00000001; safer than path.")] = None


def target_task(ctx: Context, args: Any) -> Work:
    return _of_kind(ctx, target_work(ctx, args), "task")


def target_plan(ctx: Context, args: Any) -> Work:
    return _of_kind(ctx, target_work(ctx, args), "plan")


def target_work(ctx: Context, args: Any) -> Work:
    """The plan or task that the arguments name, else the focus; in the revision that the caller expects."""
    work = _meant(ctx, args)
    check_revision(work, getattr(args, "expected_revision", None))
    return work


def _meant(ctx: Context, args: Any) -> Work:
    named = explicit_target(args)
    if named is not None:
        return work_by_id(ctx, named)
    # The seeds know the focus of the workspace. If there is none, the caller's own work is meant.
    focus = ctx.ws.focus or own_focus(ctx)
    if focus is not None:
        return work_by_id(ctx, focus)
    # A person at a shell sees the selection; an agent over MCP would act on a guess without seeing it.
    meant = _meant_in_a_shell(ctx) if ctx.connection.local else None
    if meant is None:
        raise no_target(ctx)
    return meant


def _meant_in_a_shell(ctx: Context) -> Work | None:
    """The default target at a shell: the only open task, or the one that all active callers work on."""
    left = open_tasks(ctx, 2)
    if len(left) == 1:
        return left[0]
    shared = focus_of_all(ctx)
    found = find_work(ctx, shared) if shared is not None else None
    return found if found is not None and found.is_open else None


def target_step(ctx: Context, args: OfStep) -> tuple[Work, Step]:
    task = target_task(ctx, args)
    return task, select_step(ctx, task, args.path, args.step_id)


def explicit_target(args: Any) -> str | None:
    """The one id in `target`, `task` or `plan`; they must not differ."""
    target: str | TargetRef | None = getattr(args, "target", None)
    given = {"target": target_id(target)}
    # `task` may name a plan as well: the seed edits plans with {workspace, task}. Operations on tasks check it later.
    task, plan = getattr(args, "task", None), getattr(args, "plan", None)
    given["task"] = target_id(task, "task")
    given["plan"] = target_id(TargetRef(id=plan, kind="plan"), "plan") if plan is not None else None
    named = {field: value for field, value in given.items() if value is not None}
    # The same id twice is no contradiction: some clients fill in every field.
    if len(set(named.values())) > 1:
        first, second = list(named)[:2]
        problem = f"name different things: {named[first]} and {named[second]}"
        raise keep_one(first, second, problem, [suggest("tasks_context", "Shows plans and tasks with their ids.")])
    return next(iter(named.values()), None)


def no_target(ctx: Context) -> ClewError:
    message = "no plan or task is named and none is in focus"
    recovery = "Name one, or set the focus with tasks_focus_set."
    hints = [{"kind": "missing_required", "field": "target"}]
    return ClewError("INVALID_INPUT", message, recovery, hints, known_work(ctx))


def _of_kind(ctx: Context, work: Work, kind: str) -> Work:
    if work.kind == kind:
        return work
    ways = known_work(ctx, under=work.id) if kind == "task" else []
    if kind == "plan" and work.parent is not None:
        ways = [suggest("tasks_context", "Shows the plan of this task.", "high", plan=work.parent)]
    raise invalid(kind, f"{work.id} is a {work.kind}, and this needs a {kind}", f"Name a {kind}.", ways, kind="prefix")


def set_focus(ctx: Context, id: str | None) -> str | None:
    """Move the focus; returns the previous one."""
    previous = ctx.ws.focus
    if previous != id:
        ctx.ws.focus = id
        ctx.emit("system", "focus_changed", id, {"previous": previous})
    return previous


@operation("tasks_focus_get")
def tasks_focus_get(ctx: Context, args: Input) -> Json:
    """Show which plan or task is in focus."""
    return {"workspace": ctx.workspace, "focus": ctx.ws.focus}


@operation("tasks_focus_set", writes=True, idempotent=True, example={"task": "TASK-001"})
def tasks_focus_set(ctx: Context, args: OfWork) -> Json:
    """Set the plan or task that later calls mean when they name none."""
    named = explicit_target(args)
    if named is None:
        raise invalid("target", "is required", "Name a plan or a task.", known_work(ctx), kind="missing_required")
    work = work_by_id(ctx, named)
    previous = set_focus(ctx, work.id)
    return {"workspace": ctx.workspace, "focus": work.id, "previous": previous}


@operation("tasks_focus_clear", writes=True, idempotent=True)
def tasks_focus_clear(ctx: Context, args: Input) -> Json:
    """Clear the focus."""
    previous = set_focus(ctx, None)
    return {"workspace": ctx.workspace, "previous": previous, "cleared": previous is not None}
