"""Creating plans and tasks, alone or with their steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import invalid, suggest
from clew.ids import PLAN
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, operation
from clew.tasks.changes import StepSpec, add_steps, create_work
from clew.tasks.plans import Work, qualified_id, work_by_id
from clew.tasks.steps import Step, step_ref
from clew.tasks.stepwork import define_step
from clew.tasks.wording import Heading, Prose, Steps, heading, prose, specs


class Create(Input):
    title: Annotated[Heading, Field(description="What it is about.")]
    kind: Annotated[Literal["plan", "task"] | None, Field(description="Default: task beside parent, else plan.")] = None
    parent: Annotated[Name | None, Field(description="The plan that a task belongs to.")] = None
    description: Prose | None = None
    contract: Annotated[Prose | None, Field(description="Plans only: what is promised.")] = None
    contract_data: Meta | None = None
    steps: Annotated[Steps | None, Field(description="Tasks only: the first steps.")] = None
    agent_id: Name | None = None


@operation("tasks_create", writes=True, intent="create", example={"title": "Ship the importer"})
def tasks_create(ctx: Context, args: Create) -> dict[str, Any]:
    """Create a plan, or a task under a plan with its first steps."""
    kind = args.kind or ("task" if args.parent else "plan")
    if kind == "plan":
        return _create_plan(ctx, args)
    if args.contract is not None or args.contract_data is not None:
        raise invalid("contract", "only plans have one", "Leave contract and contract_data out, or create a plan.")
    plan = parent_plan(ctx, args.parent)
    wanted = specs(args.steps or [])
    task, event = create_work(ctx, "task", heading(args.title), plan.id, description=prose(args.description))
    if not wanted:
        return {**_made(ctx, task), "event": event}
    task, steps, events = write_steps(ctx, task, wanted)
    return {
        **_made(ctx, task),
        "event": event,
        "steps": [step_ref(step) for step in steps],
        "events": [event, *events],
    }


def parent_plan(ctx: Context, parent: str | None) -> Work:
    """The plan a task is to hang under; it must exist."""
    if parent is None:
        raise invalid(
            "parent",
            "a task needs a plan",
            "Name a plan, or let tasks_bootstrap create one.",
            [
                suggest("tasks_context", "Shows the plans there are."),
                suggest("tasks_bootstrap", "Creates a plan and a task.", "medium", **_EXAMPLE),
            ],
            kind="missing_required",
        )
    if not PLAN.fullmatch(parent.strip()):
        raise invalid(
            "parent",
            f"{parent[:60]!r} is not a plan id",
            "Use an id such as PLAN-001.",
            [suggest("tasks_context", "Shows the plans there are.")],
            kind="prefix",
            allowed=["PLAN-"],
        )
    return work_by_id(ctx, parent.strip())


def write_steps(ctx: Context, task: Work, wanted: Sequence[StepSpec]) -> tuple[Work, list[Step], list[dict[str, Any]]]:
    """Add steps, then define those that bring tests or blockers: one event for each act."""
    bare = [StepSpec(spec.title, spec.success_criteria, proof_tests_mode=spec.proof_tests_mode) for spec in wanted]
    task, steps, event = add_steps(ctx, task, None, bare)
    events = [event]
    for number, spec in enumerate(wanted):
        if spec.tests or spec.blockers:
            fields = {"tests": spec.tests, "blockers": spec.blockers}
            given = {name: value for name, value in fields.items() if value}
            task, steps[number], event = define_step(ctx, task, steps[number], given)
            events.append(event)
    return task, steps, events


def _create_plan(ctx: Context, args: Create) -> dict[str, Any]:
    if args.parent is not None:
        raise invalid("parent", "a plan has none", "Leave parent out, or create a task.")
    if args.steps:
        raise invalid("steps", "only tasks have steps", "Create a task, or give a plan its checklist with tasks_plan.")
    plan, event = create_work(
        ctx,
        "plan",
        heading(args.title),
        description=prose(args.description),
        contract=prose(args.contract),
        contract_data=args.contract_data,
        contract_versions=1 if args.contract is not None or args.contract_data is not None else 0,
    )
    return {**_made(ctx, plan), "event": event}


def _made(ctx: Context, work: Work) -> dict[str, Any]:
    return {
        "id": work.id,
        "qualified_id": qualified_id(ctx, work.id),
        "kind": work.kind,
        "revision": work.revision,
    }


_EXAMPLE: dict[str, Any] = {"plan_title": "Inbox", "task_title": "New task", "template": "basic-task"}
