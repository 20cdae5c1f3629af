"""Plans and tasks from templates."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import invalid
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation
from clew.tasks.bootstrap import Home, implicit_home, no_home
from clew.tasks.changes import create_work
from clew.tasks.creation import parent_plan, write_steps
from clew.tasks.steps import step_ref
from clew.tasks.templates import TEMPLATES, Template, template_by_id
from clew.tasks.wording import Heading, Prose, heading, prose


class Scaffold(Input):
    template: Annotated[Name, Field(description="Such as basic-task; tasks_templates_list shows them.")]
    title: Heading
    kind: Annotated[Literal["plan", "task"] | None, Field(description="Default: the template's.")] = None
    description: Prose | None = None
    parent: Annotated[Name | None, Field(description="Tasks: the plan.")] = None
    plan_title: Annotated[Heading | None, Field(description="Tasks: create this plan; not beside parent.")] = None
    agent_id: Name | None = None


@operation(
    "tasks_scaffold",
    writes=True,
    intent="tasks_scaffold",
    example={"template": "basic-plan", "title": "Importer"},
)
def tasks_scaffold(ctx: Context, args: Scaffold) -> dict[str, Any]:
    """Create a plan or a task from a template."""
    template = template_by_id(args.template, args.kind or _kind(args.template))
    if template.kind == "plan":
        return _plan(ctx, args, template)
    return _task(ctx, args, template)


def _kind(id: str) -> str:
    return next((item.kind for item in TEMPLATES if item.id == id.strip().lower()), "task")


def _plan(ctx: Context, args: Scaffold, template: Template) -> dict[str, Any]:
    if args.parent is not None or args.plan_title is not None:
        raise invalid("parent", "a plan belongs to no plan", "Leave parent and plan_title out.")
    plan, event = create_work(
        ctx, "plan", heading(args.title), description=prose(args.description), checklist=template.checklist
    )
    return {
        "workspace": ctx.workspace,
        "template": {"id": template.id, "kind": template.kind},
        "plan": {"id": plan.id},
        "events": [event],
    }


def _task(ctx: Context, args: Scaffold, template: Template) -> dict[str, Any]:
    if args.parent is not None and args.plan_title is not None:
        raise invalid("plan_title", "parent and plan_title exclude each other", "Keep one of them.", kind="choose_one")
    home = _home(ctx, args)
    events = []
    plan = home.plan
    if plan is None:
        plan, event = create_work(ctx, "plan", home.title or "")
        events.append(event)
    task, created = create_work(ctx, "task", heading(args.title), plan.id, description=prose(args.description))
    task, steps, made = write_steps(ctx, task, template.steps)
    return {
        "workspace": ctx.workspace,
        "template": {"id": template.id, "kind": template.kind},
        "plan": {"id": plan.id},
        "task": {"id": task.id, "revision": task.revision},
        "steps": [step_ref(step) for step in steps],
        "events": [*events, created, *made],
    }


def _home(ctx: Context, args: Scaffold) -> Home:
    if args.parent is not None:
        return Home(plan=parent_plan(ctx, args.parent))
    if args.plan_title is not None:
        return Home(title=heading(args.plan_title, "plan_title"))
    found = implicit_home(ctx)
    if found is None:
        raise no_home()
    return found
