"""Macros: several operations in one call and one transaction; all of them succeed, or none.

They start a task with its plan, steps and first thoughts, close a step, record finished work, and
finish a task. Each returns the resume of the work it changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.canonical import Json, picked
from clew.clock import rfc3339
from clew.errors import ClewError, invalid, suggest
from clew.kinds import statuses
from clew.reasoning.documents import append, last_titled
from clew.reasoning.scope import Target, scope_of
from clew.registry.context import Context
from clew.registry.envelope import command
from clew.registry.operation import Input, Name, View, Whole, operation
from clew.registry.suggestions import PartBudget, bounded_part
from clew.tasks.changes import create_work
from clew.tasks.creation import (
    Bootstrapped,
    Home,
    NewTask,
    Think,
    bootstrap,
    bootstrapped_json,
    implicit_home,
    no_home,
    parent_plan,
    step_specs,
    task_home,
    write_steps,
)
from clew.tasks.endings import Status, set_status
from clew.tasks.evidence_capture import ProofArg, capture_proof, read_proof, warn_weak
from clew.tasks.overview import rows_json
from clew.tasks.plans import INBOX, Work, plan_titled, qualified_id, work_by_id
from clew.tasks.steps import Step, first_open, select_step, step_ref
from clew.tasks.stepwork import Checkpoints, OverrideArg, checkpoint_values, close_step, note_step
from clew.tasks.targets import OfStep, OfTask, Revised, target_task
from clew.tasks.templates import Template, template_by_id, templates
from clew.tasks.texts import Heading, Prose, StepInput, heading, prose
from clew.tasks.views.cuts import HANDOFF_BUDGET
from clew.tasks.views.portals import Resumes, closing_resume, handoff_json
from clew.tasks.views.state_line import macro_lines

BASIC, PRINCIPAL = "basic-task", "principal-task"


class MacroStart(NewTask, Resumes):
    pass


@operation(
    "tasks_macro_start", writes=True, example={"task_title": "Read files"}, view=View(in_lines=True, lines=macro_lines)
)
def tasks_macro_start(ctx: Context, args: MacroStart) -> Json:
    """Start a task: create it with its steps, focus it, and show the next command.

    Without a plan it joins the one in focus, else the plan Inbox. Without steps or template it gets three basic steps.
    """
    done = start_task(ctx, args)
    return {**started_json(ctx, done), "resume": closing_resume(ctx, work_by_id(ctx, done.task.id), args)}


def start_task(ctx: Context, args: NewTask) -> Bootstrapped:
    """Create the task in the plan that is named, implied by the focus, or called Inbox."""
    filled = with_defaults(args)
    # From the most explicit to the least: the named plan, the one in focus, and a default that always exists.
    home = task_home(ctx, filled) or implicit_home(ctx) or inbox(ctx)
    return bootstrap(ctx, filled, home, step_specs(filled))


def with_defaults(args: NewTask) -> NewTask:
    """Basic steps unless others are given; principal work begins strict and with its frame."""
    given: Json = {}
    if args.steps is None and args.template is None:
        given["template"] = BASIC
    if args.template is not None and args.template.strip().lower() == PRINCIPAL:
        given["reasoning_mode"] = args.reasoning_mode or "strict"
        frame = {"title": args.task_title, "text": args.description or args.task_title}
        given["think"] = args.think or Think(frame=frame)
    return args.model_copy(update=given)


def inbox(ctx: Context) -> Home:
    plan = plan_titled(ctx, INBOX)
    return Home(plan=plan) if plan is not None else Home(title=INBOX)


def started_json(ctx: Context, done: Bootstrapped) -> Json:
    return {
        "task_id": done.task.id,
        "task_qualified_id": qualified_id(ctx, done.task.id),
        "plan_id": done.plan.id,
        "plan_qualified_id": qualified_id(ctx, done.plan.id),
        "steps": [step_ref(step) for step in done.steps],
        **({"think_pipeline": done.think} if done.think is not None else {}),
    }


PROOF_FORM = ["CMD: <fill: what you ran>", "LINK: <fill: where it can be seen>"]


class MacroCloseStep(OfStep, Revised, Resumes):
    checkpoints: Checkpoints = "gate"
    note: Annotated[Prose | None, Field(description="Progress note, written before the step is closed.")] = None
    proof: ProofArg | None = None
    override: OverrideArg = None


@operation("tasks_macro_close_step", writes=True, view=View(in_lines=True, lines=macro_lines))
def tasks_macro_close_step(ctx: Context, args: MacroCloseStep) -> Json:
    """Close a step with its note and proof; the first open one when none is named. Finishes a task without open steps.

    When the step cannot be closed, nothing of the call is kept: no note, no proof, no confirmation.
    """
    task = target_task(ctx, args)
    named = args.path is not None or args.step_id is not None
    # Without a name it is the step that the snapshot shows as next, so the two agree.
    step = select_step(ctx, task, args.path, args.step_id) if named else first_open(ctx, task.id)
    answer = _finish(ctx, task) if step is None else _close(ctx, task, step, args)
    return {**answer, "resume": closing_resume(ctx, work_by_id(ctx, task.id), args)}


def _close(ctx: Context, task: Work, step: Step, args: MacroCloseStep) -> Json:
    noted = proven = None
    with _ways_out(step, args):
        note = prose(args.note)
        if note is not None:
            task, noted = note_step(ctx, task, step, note)
        proof = read_proof(args.proof, note)
        if proof is not None:
            task, proven = capture_proof(ctx, task, step, proof)
        if proof is not None and proven is not None:
            warn_weak(ctx, proof.checks, proof.attachments)
        task, step, _ = close_step(ctx, task, step, checkpoint_values(args.checkpoints), args.override)
    events = {"note_event": noted, "evidence_event": proven}
    return {"task": task.id, "revision": task.revision, "step": step_ref(step), **events}


def _finish(ctx: Context, task: Work) -> Json:
    """No open step is left: the next action is to finish the task."""
    if task.status != statuses.WORK_DONE:
        task, _ = set_status(ctx, task, statuses.WORK_DONE)
    return {"task": task.id, "revision": task.revision, "step": None, "note_event": None, "evidence_event": None}


@contextmanager
def _ways_out(step: Step, args: MacroCloseStep) -> Iterator[None]:
    """Refusals of the gates suggest this macro, so that one more call is enough."""
    try:
        yield
    except ClewError as error:
        if error.code == "CHECKPOINTS_NOT_CONFIRMED":
            error.suggestions = [_confirming(step, args, error.details["missing"])]
        if error.code == "PROOF_REQUIRED":
            error.recovery = _proving(step, error.details["missing_proof"])
        raise


def _confirming(step: Step, args: MacroCloseStep, missing: list[str]) -> Json:
    values = {**checkpoint_values(args.checkpoints), **dict.fromkeys(missing, True)}
    # Without the revision: it may have changed when the suggestion is sent, and the step is named by its id.
    given = args.model_dump(exclude_none=True, exclude={"workspace", "checkpoints", "expected_revision", "target"})
    call = {**given, "task": step.task, "step_id": step.id, "checkpoints": values}
    for name in ("path", "refs"):
        call.pop(name, None)
    reason = "Confirms what is missing as well; call it once it is true."
    return suggest("tasks_macro_close_step", reason, "high", **call)


def _proving(step: Step, missing: list[str]) -> str:
    """The retry with a template to fill in. It is text and no suggestion: unchanged, it would be refused again."""
    proof: Any = PROOF_FORM if missing == ["tests"] else {"checks": PROOF_FORM, "checkpoint": missing}
    retry = command("tasks_macro_close_step", {"task": step.task, "step_id": step.id, "proof": proof})
    return f"Repeat with real proof; a form is never proof: {retry}"


class MacroCreateDone(Input):
    task_title: Annotated[Heading, Field(description="What was done.")]
    steps: Annotated[list[StepInput], Field(min_length=1, max_length=1, description="The one step that was done.")]
    description: Prose | None = None
    plan: Annotated[Name | None, Field(description="Plan id, or the title of a new plan.")] = None
    parent: Annotated[Name | None, Field(description="Same as plan.")] = None
    target: Target = None
    plan_title: Annotated[Heading | None, Field(description="Title of a plan to create.")] = None
    agent_id: Name | None = None


@operation(
    "tasks_macro_create_done",
    writes=True,
    example={"task_title": "Fix the typo", "steps": [{"title": "Fix it", "success_criteria": ["It reads well"]}]},
)
def tasks_macro_create_done(ctx: Context, args: MacroCreateDone) -> Json:
    """Record work that is done already: create a task with one step, close the step and complete the task."""
    done = start_task(ctx, NewTask(**args.model_dump(exclude={"steps"}, exclude_none=True), steps=args.steps))
    task, step, events = close_step(ctx, done.task, done.steps[0], checkpoint_values("gate"))
    closed = {"task": task.id, "revision": task.revision, "step": step_ref(step), "events": events}
    task, completed = set_status(ctx, task, statuses.WORK_DONE)
    return {
        "workspace": ctx.workspace,
        "bootstrap": bootstrapped_json(ctx, done),
        "close": closed,
        "complete": {"task": rows_json(ctx, [task])[0], "event": completed},
    }


class MacroFinish(OfTask):
    status: Annotated[Status, Field(description="The status that the task ends with.")] = statuses.WORK_DONE
    final_note: Annotated[Prose | None, Field(description="Last words, kept in the task's notes.")] = None
    handoff_max_chars: Annotated[Whole | None, Field(description="Most characters of the handoff.")] = None


@operation("tasks_macro_finish", writes=True, idempotent=True, example={"task": "TASK-001", "status": "CANCELED"})
def tasks_macro_finish(ctx: Context, args: MacroFinish) -> Json:
    """Finish a task: keep a last note, set its status, and give the handoff. A second time changes nothing."""
    task = target_task(ctx, args)
    note = prose(args.final_note)
    finished, event = set_status(ctx, task, args.status)
    # The same call repeated: the status is set, and the note is on record already.
    if event is None and note is not None and _last_words(ctx, task) == note:
        note = None
    answer: Json = {"task": task.id, "status": finished.status}
    if event is not None:
        answer["complete"] = {"task": rows_json(ctx, [finished])[0], "event": event}
    if note is not None:
        answer["final_note"] = _note(ctx, finished, note)
    return {**answer, "handoff": _handoff(ctx, finished, args.handoff_max_chars)}


def _note(ctx: Context, task: Work, note: str) -> Json:
    scope = scope_of(ctx, task.id)
    meta = {"source": "tasks_macro_finish", "task_id": task.id}
    row = append(ctx, scope.branch.id, scope.notes, content=note, title="Final note", meta=meta, subject=task.id)
    ref = f"{scope.notes}@{row['seq']}"
    ctx.emit("reasoning", "note_committed", ref, {"branch": scope.branch.name, "title": "Final note"})
    place = {"branch": scope.branch.name, "doc": scope.notes}
    return {"ref": ref, **place, "seq": row["seq"], "ts": rfc3339(row["ts_ms"])}


def _last_words(ctx: Context, task: Work) -> str | None:
    """The newest final note, so that a repeated call does not write it twice."""
    scope = scope_of(ctx, task.id)
    return last_titled(ctx, scope.branch.id, scope.notes, "Final note")


def _handoff(ctx: Context, task: Work, limit: int | None) -> Json:
    most = PartBudget(HANDOFF_BUDGET, limit, HANDOFF_BUDGET.default_for("full"))
    return bounded_part(ctx, handoff_json(ctx, task), most, "tasks_handoff", {"task": task.id})


class Scaffold(Input):
    template: Annotated[Name, Field(description="Such as basic-task; tasks_templates_list shows them.")]
    title: Heading
    kind: Annotated[Literal["plan", "task"] | None, Field(description="Default: the template's.")] = None
    description: Prose | None = None
    parent: Annotated[Name | None, Field(description="Tasks: the plan.")] = None
    plan_title: Annotated[Heading | None, Field(description="Tasks: create this plan; not beside parent.")] = None
    agent_id: Name | None = None


@operation("tasks_scaffold", writes=True, example={"template": "basic-plan", "title": "Importer"})
def tasks_scaffold(ctx: Context, args: Scaffold) -> Json:
    """Create a plan or a task from a template."""
    own_kind = next((item.kind for item in templates() if item.id == args.template.strip().lower()), "task")
    template = template_by_id(args.template, args.kind or own_kind)
    made = _scaffold_plan(ctx, args, template) if template.kind == "plan" else _scaffold_task(ctx, args, template)
    return {"workspace": ctx.workspace, "template": picked(template, "id", "kind"), **made}


def _scaffold_plan(ctx: Context, args: Scaffold, template: Template) -> Json:
    if args.parent is not None or args.plan_title is not None:
        raise invalid("parent", "a plan belongs to no plan", "Leave parent and plan_title out.")
    fields: Json = {"description": prose(args.description), "checklist": template.checklist}
    plan, event = create_work(ctx, "plan", heading(args.title), **fields)
    return {"plan": {"id": plan.id}, "events": [event]}


def _scaffold_task(ctx: Context, args: Scaffold, template: Template) -> Json:
    if args.parent is not None and args.plan_title is not None:
        raise invalid("plan_title", "parent and plan_title exclude each other", "Keep one of them.", kind="choose_one")
    home = _scaffold_home(ctx, args)
    events = []
    plan = home.plan
    if plan is None:
        plan, event = create_work(ctx, "plan", home.title or "")
        events.append(event)
    task, created = create_work(ctx, "task", heading(args.title), plan.id, description=prose(args.description))
    task, steps, made = write_steps(ctx, task, template.steps)
    named = {"plan": {"id": plan.id}, "task": picked(task, "id", "revision")}
    return {**named, "steps": [step_ref(step) for step in steps], "events": [*events, created, *made]}


def _scaffold_home(ctx: Context, args: Scaffold) -> Home:
    if args.parent is not None:
        return Home(plan=parent_plan(ctx, args.parent))
    if args.plan_title is not None:
        return Home(title=heading(args.plan_title, "plan_title"))
    found = implicit_home(ctx)
    if found is None:
        raise no_home()
    return found
