"""tasks_macro_start: a task with its plan, steps and first thoughts, and the resume that a macro ends with."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.registry.budget import bounded, budget_warnings
from clew.registry.context import Context
from clew.registry.operation import Input, Whole, operation
from clew.tasks.creation import Bootstrapped, Home, NewTask, Think, bootstrap, implicit_home, step_specs, task_home
from clew.tasks.plans import Work, plan_titled, qualified_id, work_by_id
from clew.tasks.steps import step_ref
from clew.tasks.targets import set_focus
from clew.tasks.views.degradation import MACRO_BUDGET
from clew.tasks.views.lines import macro_lines
from clew.tasks.views.resume_super import Options, ViewArg, resume_of
from clew.tasks.views.snapshot import suggest_next


class Resumes(Input):
    """A macro that shows the task afterwards."""

    view: ViewArg = None
    refs: Annotated[bool, Field(description="Name a few ids to open.")] = False
    resume_max_chars: Annotated[Whole | None, Field(description="Most characters of the resume.")] = None


def resumed(ctx: Context, work: Work, args: Resumes) -> dict[str, Any]:
    """Focus the work and show it; the macro's transaction sees what it has just written."""
    set_focus(ctx, work.id)
    limit = args.resume_max_chars
    built = resume_of(ctx, work, None, Options(args.view or "smart", limit))
    if args.refs:
        built.json["refs"] = True
    suggest_next(ctx, built.capsule.actions, work)
    given = [] if limit is None else [limit]
    shown, fitted = bounded(built.json, MACRO_BUDGET, given, MACRO_BUDGET.default_for(ctx.session.toolset))
    if fitted is not None:
        ctx.remarks.warnings.extend(budget_warnings(fitted))
    return shown


INBOX = "Inbox"
BASIC, PRINCIPAL = "basic-task", "principal-task"


class MacroStart(NewTask, Resumes):
    pass


@operation(
    "tasks_macro_start",
    tier="core",
    writes=True,
    portal=True,
    lines=macro_lines,
    example={"task_title": "Read files"},
)
def tasks_macro_start(ctx: Context, args: MacroStart) -> dict[str, Any]:
    """Start a task: create it with its steps, focus it, and show the next command.

    Without a plan it joins the one in focus, else the plan Inbox. Without steps or template it gets three basic steps.
    """
    done = start_task(ctx, args)
    return {**started_json(ctx, done), "resume": resumed(ctx, work_by_id(ctx, done.task.id), args)}


def start_task(ctx: Context, args: NewTask) -> Bootstrapped:
    """Create the task in the plan that is named, implied by the focus, or called Inbox."""
    filled = with_defaults(args)
    home = task_home(ctx, filled) or implicit_home(ctx) or inbox(ctx)
    return bootstrap(ctx, filled, home, step_specs(filled))


def with_defaults(args: NewTask) -> NewTask:
    """Basic steps unless others are given; principal work begins strict and with its frame."""
    given: dict[str, Any] = {}
    if args.steps is None and args.template is None:
        given["template"] = BASIC
    if args.template is not None and args.template.strip().lower() == PRINCIPAL:
        given["reasoning_mode"] = args.reasoning_mode or "strict"
        given["think"] = args.think or Think(frame=_frame(args))
    return args.model_copy(update=given)


def inbox(ctx: Context) -> Home:
    plan = plan_titled(ctx, INBOX)
    return Home(plan=plan) if plan is not None else Home(title=INBOX)


def started_json(ctx: Context, done: Bootstrapped) -> dict[str, Any]:
    answer = {
        "task_id": done.task.id,
        "task_qualified_id": qualified_id(ctx, done.task.id),
        "plan_id": done.plan.id,
        "plan_qualified_id": qualified_id(ctx, done.plan.id),
        "steps": [step_ref(step) for step in done.steps],
    }
    return {**answer, "think_pipeline": done.think} if done.think is not None else answer


def _frame(args: NewTask) -> dict[str, Any]:
    return {"title": args.task_title, "text": args.description or args.task_title}
