"""tasks_macro_start: a task with its plan, steps and first thoughts, and the resume that a macro ends with."""

from __future__ import annotations

from typing import Any

from clew.registry.context import Context
from clew.registry.operation import operation
from clew.tasks.creation import Bootstrapped, Home, NewTask, Think, bootstrap, implicit_home, step_specs, task_home
from clew.tasks.plans import plan_titled, qualified_id, work_by_id
from clew.tasks.steps import step_ref
from clew.tasks.views.portals import Resumes, closing_resume
from clew.tasks.views.state_line import macro_lines

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
    return {**started_json(ctx, done), "resume": closing_resume(ctx, work_by_id(ctx, done.task.id), args)}


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
