"""Creating plans and tasks: alone, with their steps, from a template, or with their first thoughts in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from clew.canonical import Json, picked
from clew.errors import ClewError, invalid, suggest
from clew.ids import PLAN, TASK
from clew.reasoning.scope import Target, target_id
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, StrictModel, operation
from clew.tasks.changes import StepSpec, add_steps, create_work
from clew.tasks.edits import ReasoningMode
from clew.tasks.plans import Work, find_work, qualified_id, work_by_id
from clew.tasks.steps import Step, step_ref
from clew.tasks.stepwork import define_step
from clew.tasks.templates import template_by_id
from clew.tasks.texts import Heading, Prose, StepInput, Steps, heading, prose, specs

SHOW_PLANS = suggest("tasks_context", "Shows the plans there are.")


class WorkCreation(Input):
    title: Annotated[Heading, Field(description="What it is about.")]
    kind: Annotated[Literal["plan", "task"] | None, Field(description="Default: task beside parent, else plan.")] = None
    parent: Annotated[Name | None, Field(description="The plan that a task belongs to.")] = None
    description: Prose | None = None
    contract: Annotated[Prose | None, Field(description="Plans only: what is promised.")] = None
    contract_data: Meta | None = None
    steps: Annotated[Steps | None, Field(description="Tasks only: the first steps.")] = None
    agent_id: Name | None = None


@operation("tasks_create", writes=True, example={"title": "Ship the importer"})
def tasks_create(ctx: Context, args: WorkCreation) -> Json:
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
    added = [step_ref(step) for step in steps]
    return {**_made(ctx, task), "event": event, "steps": added, "events": [event, *events]}


def parent_plan(ctx: Context, parent: str | None) -> Work:
    """The parent plan of a new task; it must exist."""
    if parent is None:
        create = suggest("tasks_bootstrap", "Creates a plan and a task.", "medium", **_EXAMPLE)
        recovery, ways = "Name a plan, or let tasks_bootstrap create one.", [SHOW_PLANS, create]
        raise invalid("parent", "a task needs a plan", recovery, ways, kind="missing_required")
    if not PLAN.fullmatch(parent.strip()):
        message, recovery = f"{parent[:60]!r} is not a plan id", "Use an id such as PLAN-001."
        raise invalid("parent", message, recovery, [SHOW_PLANS], kind="prefix", allowed=["PLAN-"])
    return work_by_id(ctx, parent.strip())


def write_steps(ctx: Context, task: Work, wanted: Sequence[StepSpec]) -> tuple[Work, list[Step], list[Json]]:
    """Add steps, then define those that have tests or blockers: one event for each change."""
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


def _create_plan(ctx: Context, args: WorkCreation) -> Json:
    if args.parent is not None:
        raise invalid("parent", "a plan has none", "Leave parent out, or create a task.")
    if args.steps:
        raise invalid("steps", "only tasks have steps", "Create a task, or give a plan its checklist with tasks_plan.")
    contract: Json = {"contract": prose(args.contract), "contract_data": args.contract_data}
    contract["contract_versions"] = int(args.contract is not None or args.contract_data is not None)
    plan, event = create_work(ctx, "plan", heading(args.title), description=prose(args.description), **contract)
    return {**_made(ctx, plan), "event": event}


def _made(ctx: Context, work: Work) -> Json:
    return {**_named(ctx, work), **picked(work, "kind", "revision")}


def _named(ctx: Context, work: Work) -> Json:
    return {"id": work.id, "qualified_id": qualified_id(ctx, work.id)}


_EXAMPLE: Json = {"plan_title": "Inbox", "task_title": "New task", "template": "basic-task"}


Stage = Annotated[Prose, Field(description="The stage as text.")] | Json


class Think(StrictModel):
    """First thoughts, written as cards through think_pipeline."""

    agent_id: Name | None = None
    frame: Stage | None = None
    hypothesis: Stage | None = None
    test: Stage | None = None
    evidence: Stage | None = None
    decision: Stage | None = None
    status: Json | None = None
    note_decision: bool | None = None
    note_title: Name | None = None
    note_format: Name | None = None


class TitledTask(Input):
    """A new task and the plan it belongs to."""

    task_title: Annotated[Heading, Field(description="What the task is about.")]
    description: Prose | None = None
    plan: Annotated[Name | None, Field(description="Plan id, or the title of a new plan.")] = None
    parent: Annotated[Name | None, Field(description="Same as plan.")] = None
    target: Target = None
    plan_title: Annotated[Heading | None, Field(description="Title of a plan to create.")] = None
    plan_template: Annotated[Name | None, Field(description="Checklist for the new plan.")] = None


class NewTask(TitledTask):
    """What a new task is made of; shared by tasks_bootstrap and the macros."""

    template: Annotated[Name | None, Field(description="Task template; not beside steps.")] = None
    steps: Annotated[Steps | None, Field(description="The task's steps; not beside template.")] = None
    think: Annotated[
        Think | None,
        Field(description="First cards: {frame, hypothesis, test, evidence, decision, ...} as think_pipeline takes."),
        WithJsonSchema({"type": "object"}),
    ] = None
    reasoning_mode: ReasoningMode | None = None
    agent_id: Name | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """The plan of a new task: an existing one, or the title of one to create."""

    plan: Work | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Bootstrapped:
    plan: Work
    plan_created: bool
    task: Work
    steps: list[Step]
    events: list[Json]
    think: Json | None


@operation(
    "tasks_bootstrap",
    writes=True,
    example={"plan_title": "Importer", "task_title": "Read files", "template": "basic-task"},
)
def tasks_bootstrap(ctx: Context, args: NewTask) -> Json:
    """Create a task with its steps, and its plan if need be, in one transaction."""
    home = task_home(ctx, args) or implicit_home(ctx)
    if home is None:
        raise no_home()
    return bootstrapped_json(ctx, bootstrap(ctx, args, home, step_specs(args)))


def task_home(ctx: Context, args: NewTask) -> Home | None:
    """The plan that the arguments name, or None if they name none. A value that is not a plan id is a new title."""
    named = _named_plan(args)
    title = heading(args.plan_title, "plan_title") if args.plan_title is not None else None
    if named is None:
        return Home(title=title) if title is not None else None
    plan = work_by_id(ctx, named) if PLAN.fullmatch(named) else None
    known = plan.title if plan is not None else heading(named, "plan")
    if title is not None and title != known:
        message, fields = f"the plan is {known[:80]!r}, not {title[:80]!r}", ["plan", "plan_title"]
        raise invalid("plan_title", message, "Keep plan or plan_title.", [SHOW_PLANS], kind="choose_one", fields=fields)
    return Home(plan=plan) if plan is not None else Home(title=known)


def _named_plan(args: NewTask) -> str | None:
    """The value of plan, parent and target; they must not differ, nor name a task."""
    named = {value.strip() for value in (args.plan, args.parent, target_id(args.target)) if value is not None}
    if len(named) > 1:
        raise invalid("plan", "plan, parent and target name different plans", "Keep one of them.", kind="choose_one")
    for value in named:
        if TASK.fullmatch(value):
            message = f"{value} is a task, and a task belongs to a plan"
            ways = [SHOW_PLANS]
            raise invalid("plan", message, "Name a plan.", ways, kind="prefix", allowed=["PLAN-"])
    return next(iter(named), None)


def implicit_home(ctx: Context) -> Home | None:
    """The plan in focus, or the plan of the task in focus."""
    focused = find_work(ctx, ctx.ws.focus) if ctx.ws.focus else None
    if focused is None:
        return None
    return Home(plan=work_by_id(ctx, focused.parent) if focused.parent else focused)


def step_specs(args: NewTask) -> list[StepSpec]:
    """The steps that the arguments describe, directly or by a template."""
    if args.steps is not None and args.template is not None:
        raise invalid("template", "steps and template exclude each other", "Keep one of them.", kind="choose_one")
    if args.template is not None:
        return list(template_by_id(args.template, "task").steps)
    if args.steps is None:
        raise invalid("steps", "steps or template is required", "Give steps, or template=basic-task.")
    _refuse_empty_tests(args.steps)
    return specs(args.steps)


def bootstrap(ctx: Context, args: NewTask, home: Home, wanted: Sequence[StepSpec]) -> Bootstrapped:
    """Create plan, task, steps and first thoughts in the current transaction."""
    if args.plan_template is not None and home.plan is not None:
        raise invalid("plan_template", "the plan exists already", "Leave plan_template out, or give plan_title.")
    plan, events = _bootstrap_plan(ctx, home, args.plan_template)
    task, created = create_work(
        ctx,
        "task",
        heading(args.task_title, "task_title"),
        plan.id,
        description=prose(args.description),
        reasoning_mode=args.reasoning_mode or "normal",
    )
    task, steps, made = write_steps(ctx, task, wanted)
    thought = _think(ctx, task, args)
    return Bootstrapped(plan, home.plan is None, task, steps, [*events, created, *made], thought)


def bootstrapped_json(ctx: Context, done: Bootstrapped) -> Json:
    plan, task = done.plan, done.task
    return {
        "workspace": ctx.workspace,
        "plan": {**_named(ctx, plan), "created": done.plan_created},
        "task": {**_named(ctx, task), "revision": task.revision},
        "steps": [step_ref(step) for step in done.steps],
        "events": done.events,
        **({"think_pipeline": done.think} if done.think is not None else {}),
    }


def no_home() -> ClewError:
    message = "plan or plan_title is required, and no plan is in focus"
    recovery = "Name a plan, or give the title of a new one."
    ways = [SHOW_PLANS]
    return invalid("plan", message, recovery, ways, kind="missing_required")


def _bootstrap_plan(ctx: Context, home: Home, template: str | None) -> tuple[Work, list[Json]]:
    if home.plan is not None:
        return home.plan, []
    checklist = template_by_id(template, "plan", "plan_template").checklist if template is not None else ()
    plan, event = create_work(ctx, "plan", home.title or "", checklist=checklist)
    return plan, [event]


def _think(ctx: Context, task: Work, args: NewTask) -> Json | None:
    """Seed the reasoning. A thought that cannot be written does not prevent the task."""
    if args.think is None:
        return None
    given = args.think.model_dump(exclude_none=True)
    if args.agent_id is not None:
        given.setdefault("agent_id", args.agent_id)
    try:
        with attempt(ctx):
            return ctx.dispatcher.invoke(ctx, "think_pipeline", {"target": task.id, **given})
    except ClewError as error:
        ctx.warn("THINK_PIPELINE_FAILED", error.message, error.recovery or "Write the cards with think_card.")
        return None


@contextmanager
def attempt(ctx: Context) -> Iterator[None]:
    """A savepoint: writes in the block are rolled back if it fails, and the transaction continues."""
    # A savepoint restores the database only; the workspace's counters and the memo live in this process.
    state, memo = (ctx.ws.seq, ctx.ws.event_seq, ctx.ws.event_digest), dict(ctx.memo)
    try:
        with ctx.tx.savepoint():
            yield
    except BaseException:
        ctx.ws.seq, ctx.ws.event_seq, ctx.ws.event_digest = state
        ctx.memo.clear()
        ctx.memo.update(memo)
        raise


def _refuse_empty_tests(steps: Sequence[StepInput]) -> None:
    """Tests may be omitted; an empty list would mean that there is nothing to check, which is never true."""
    for number, step in enumerate(steps):
        if step.tests is not None and not any(line.strip() for line in step.tests):
            recovery = "Say what checks the step, or leave tests out."
            raise invalid(f"steps[{number}].tests", "must hold a line", recovery, kind="non_empty")
