"""Working on steps: add, define, note, verify, close, reopen, block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from clew.canonical import Json
from clew.errors import ClewError, Suggestion, invalid, suggest
from clew.reasoning.documents import append
from clew.reasoning.scope import scope_of
from clew.registry.context import Context
from clew.registry.operation import Name, StrictModel, Text, operation
from clew.tasks.changes import add_steps, change_step, touch
from clew.tasks.gates import Override, confirmations, gate_of
from clew.tasks.journal import Change, log
from clew.tasks.leases import check_lease
from clew.tasks.plans import Work
from clew.tasks.proof_receipts import salvaged
from clew.tasks.steps import CHECKPOINTS, Step, step_meta, step_ref, step_selector
from clew.tasks.targets import A_STEP, OfStep, OfTask, Revised, target_step, target_task
from clew.tasks.texts import Heading, Lines, Prose, Steps, blockers, heading, lines, prose, specs


class Confirmed(StrictModel):
    confirmed: bool


class CheckpointMap(StrictModel):
    """Which checkpoints hold."""

    criteria: bool | Confirmed | None = None
    tests: bool | Confirmed | None = None
    security: bool | Confirmed | None = None
    perf: bool | Confirmed | None = None
    docs: bool | Confirmed | None = None


Checkpoints = Annotated[
    Literal["gate", "all"] | CheckpointMap,
    Field(description='"gate" (criteria and tests), "all", or {criteria, tests, security, perf, docs: true}.'),
    WithJsonSchema({"anyOf": [{"enum": ["gate", "all"], "type": "string"}, {"type": "object"}]}),
]
OverrideArg = Annotated[Override | None, Field(description="Strict tasks: close although reasoning is missing.")]


class Decompose(OfTask, Revised):
    steps: Annotated[Steps, Field(description="The steps to add.")]
    parent: Annotated[Name | None, Field(description="Path or id of the step to add them below.")] = None


@operation(
    "tasks_decompose",
    writes=True,
    example={"task": "TASK-001", "steps": [{"title": "Read the file", "success_criteria": ["every row is read"]}]},
)
def tasks_decompose(ctx: Context, args: Decompose) -> Json:
    """Add steps to a task, or below one of its steps."""
    task = target_task(ctx, args)
    parent = step_selector(ctx, task, args.parent, "parent") if args.parent is not None else None
    task, steps, event = add_steps(ctx, task, parent, specs(args.steps))
    added = [step_ref(step) for step in steps]
    return {"task": task.id, "revision": task.revision, "steps": added, "event": event}


class Define(OfStep, Revised):
    needs_one_of: ClassVar[tuple[str, ...]] = A_STEP

    title: Heading | None = None
    success_criteria: Lines | None = None
    tests: Lines | None = None
    blockers: Lines | None = None


@operation("tasks_define", writes=True, example={"task": "TASK-001", "path": "s:0", "tests": ["make test"]})
def tasks_define(ctx: Context, args: Define) -> Json:
    """Say what a step is: title, success criteria, tests, blockers. New criteria or tests must be confirmed anew."""
    task, step = target_step(ctx, args)
    names = ("success_criteria", "tests", "blockers")
    given: Json = {name: lines(getattr(args, name)) for name in names if getattr(args, name) is not None}
    if args.title is not None:
        given["title"] = heading(args.title)
    if not given:
        raise invalid("title", "nothing to define", "Give title, success_criteria, tests or blockers.")
    task, step, event = define_step(ctx, task, step, given)
    return _done(task, step, event)


def define_step(ctx: Context, task: Work, step: Step, given: Mapping[str, Any]) -> tuple[Work, Step, Json]:
    new = redefine(step, given)
    payload = {"task": task.id, "step_id": step.id, "path": step.path, "fields": sorted(given)}
    return change_step(ctx, task, step, new, Change("step_defined", "step_define", payload))


def redefine(step: Step, given: Mapping[str, Any]) -> Step:
    """A step with other fields; confirmations of the old criteria or tests do not apply to new ones."""
    reset: Json = {}
    if "blockers" in given:
        reset["blockers"] = blockers(given["blockers"])
    if "success_criteria" in given and given["success_criteria"] != step.success_criteria:
        # The confirmation was for the old ones.
        reset["criteria_confirmed"] = False
    if "tests" in given and given["tests"] != step.tests:
        reset["tests_confirmed"] = False
    return replace(step, **{**given, **reset})


class StepNote(OfStep, Revised):
    needs_one_of: ClassVar[tuple[str, ...]] = A_STEP

    note: Annotated[Text, Field(min_length=1, description="What was seen or done.")]


@operation("tasks_note", writes=True, example={"task": "TASK-001", "path": "s:0", "note": "Parser works."})
def tasks_note(ctx: Context, args: StepNote) -> Json:
    """Write a progress note about a step; it appears in the task's notes too."""
    task, step = target_step(ctx, args)
    task, event = note_step(ctx, task, step, args.note)
    ctx.suggest(_after_note(ctx, task, step, salvaged(args.note)))
    return _done(task, step, event)


def _after_note(ctx: Context, task: Work, step: Step, proof: list[str]) -> Suggestion:
    """Close the step with the receipts in the note, unless something is missing that only a caller can provide."""
    found = gate_of(ctx, step)
    # Receipts in a note prove tests and nothing else.
    unproven = set(found.missing_proof) - ({"tests"} if proof else set())
    if step.completed or unproven or task.reasoning_mode == "strict":
        return suggest("tasks_snapshot", "Shows what is next.", "medium", task=task.id)
    call = {"task": task.id, "step_id": step.id, "checkpoints": confirmations(found), "proof": proof or None}
    return suggest("tasks_macro_close_step", "Closes the step once it holds.", "medium", **call)


def note_step(ctx: Context, task: Work, step: Step, note: str) -> tuple[Work, Json]:
    if not note.strip():
        raise invalid("note", "must not be blank", "Write what was seen or done.", kind="non_empty")
    check_lease(ctx, step)
    task = touch(ctx, task)
    # Notes have their own numbers, as in the seed; the entry of the document has a seq as well.
    number = ctx.ws.count("step_note")
    payload = {**_place(task, step), "note_seq": number}
    event = log(ctx, task.id, Change("step_noted", "step_note", payload, False), step.id, step.path)
    meta: Json = {"source": "tasks_note", **step_meta(step), "note_seq": number, "event_id": event["event_id"]}
    scope = scope_of(ctx, task.id)
    meta |= {"step": step_meta(step)}
    append(ctx, scope.branch.id, scope.notes, content=note, meta=meta, subject=task.id, path=step.path)
    return task, event


class Verify(OfStep, Revised):
    checkpoints: Checkpoints


@operation("tasks_verify", writes=True, example={"task": "TASK-001", "path": "s:0", "checkpoints": "gate"})
def tasks_verify(ctx: Context, args: Verify) -> Json:
    """Confirm checkpoints of a step, or withdraw a confirmation."""
    task, step = target_step(ctx, args)
    task, step, event = verify_step(ctx, task, step, checkpoint_values(args.checkpoints))
    return _done(task, step, event)


def checkpoint_values(given: Literal["gate", "all"] | CheckpointMap) -> dict[str, bool]:
    if given == "gate":
        return {"criteria": True, "tests": True}
    if given == "all":
        return dict.fromkeys(CHECKPOINTS, True)
    assert isinstance(given, CheckpointMap)
    values = {name: getattr(given, name) for name in CHECKPOINTS}
    named = {name: v if isinstance(v, bool) else v.confirmed for name, v in values.items() if v is not None}
    if not named:
        raise invalid("checkpoints", "names no checkpoint", 'Use "gate", "all" or {"criteria": true}.')
    return named


def verify_step(ctx: Context, task: Work, step: Step, values: Mapping[str, bool]) -> tuple[Work, Step, Json]:
    confirmed: Json = {f"{name}_confirmed": value for name, value in values.items()}
    change = Change("step_verified", "step_verify", {**_place(task, step), **confirmed})
    return change_step(ctx, task, step, replace(step, **confirmed), change)


class Done(OfStep, Revised):
    override: OverrideArg = None


@operation("tasks_done", writes=True, example={"task": "TASK-001", "path": "s:0"})
def tasks_done(ctx: Context, args: Done) -> Json:
    """Close a step whose checkpoints are confirmed and whose proofs are there."""
    task, step = target_step(ctx, args)
    task, step, event = finish_step(ctx, task, step, "step_done", (), args.override)
    return _done(task, step, event)


def finish_step(
    ctx: Context, task: Work, step: Step, intent: str, asked: tuple[str, ...], override: Override | None
) -> tuple[Work, Step, Json]:
    """Close an open step through its gates."""
    _check_open(step)
    new = replace(step, completed=True, completed_at_ms=ctx.now_ms)
    change = Change("step_done", intent, _place(task, step))
    return change_step(ctx, task, step, new, change, asked, override)


def _check_open(step: Step) -> None:
    if step.completed:
        message = f"{step.path} ({step.id}) is done already"
        hints = [{"kind": "state", "field": "step_id"}]
        ways = [suggest("tasks_snapshot", "Shows what is next.", "high", task=step.task)]
        raise ClewError("INVALID_INPUT", message, "Go on with the next step.", hints, ways)


class CloseStep(OfStep, Revised):
    checkpoints: Checkpoints
    override: OverrideArg = None


@operation("tasks_close_step", writes=True, example={"task": "TASK-001", "path": "s:0", "checkpoints": "gate"})
def tasks_close_step(ctx: Context, args: CloseStep) -> Json:
    """Confirm checkpoints and close the step, both or neither."""
    task, step = target_step(ctx, args)
    task, step, events = close_step(ctx, task, step, checkpoint_values(args.checkpoints), args.override)
    return {"task": task.id, "revision": task.revision, "step": step_ref(step), "events": events}


def close_step(
    ctx: Context, task: Work, step: Step, values: Mapping[str, bool], override: Override | None = None
) -> tuple[Work, Step, list[Json]]:
    """Verified, then done: two events, one transaction. A checkpoint that the caller denies becomes required."""
    _check_open(step)
    # The confirmation is written before the gate, which reads the stored step. If it refuses, both are
    # rolled back.
    task, step, verified = verify_step(ctx, task, step, values)
    task, step, done = finish_step(ctx, task, step, "step_done", tuple(values), override)
    return task, step, [verified, done]


class StepProgress(OfStep, Revised):
    needs_one_of: ClassVar[tuple[str, ...]] = A_STEP

    completed: Annotated[bool, Field(description="true closes the step, false opens it again.")] = True
    force: Annotated[bool, Field(description="Accepted for older callers; gates are never skipped.")] = False
    override: OverrideArg = None


@operation("tasks_progress", writes=True, example={"task": "TASK-001", "path": "s:0", "completed": False})
def tasks_progress(ctx: Context, args: StepProgress) -> Json:
    """Close a step through its gates, or open a closed one again."""
    task, step = target_step(ctx, args)
    if args.completed:
        task, step, event = finish_step(ctx, task, step, "step_progress", (), args.override)
    else:
        task, step, event = reopen_step(ctx, task, step)
    return {**_done(task, step, event), "completed": step.completed}


def reopen_step(ctx: Context, task: Work, step: Step) -> tuple[Work, Step, Json]:
    new = replace(step, completed=False, completed_at_ms=None)
    return change_step(ctx, task, step, new, Change("step_reopened", "step_progress", _place(task, step)))


class StepBlock(OfStep, Revised):
    needs_one_of: ClassVar[tuple[str, ...]] = A_STEP

    blocked: Annotated[bool, Field(description="false lifts the block.")] = True
    reason: Prose | None = None


@operation("tasks_block", writes=True, example={"task": "TASK-001", "path": "s:0", "reason": "no access"})
def tasks_block(ctx: Context, args: StepBlock) -> Json:
    """Mark a step as blocked with a reason, or lift the block."""
    task, step = target_step(ctx, args)
    task, step, event = block_step(ctx, task, step, args.blocked, prose(args.reason) if args.blocked else None)
    return {**_done(task, step, event), "blocked": step.blocked, "reason": step.block_reason}


def block_step(ctx: Context, task: Work, step: Step, blocked: bool, reason: str | None) -> tuple[Work, Step, Json]:
    payload = {**_place(task, step), "blocked": blocked, "reason": reason}
    change = Change("step_blocked" if blocked else "step_unblocked", "step_block_set", payload)
    return change_step(ctx, task, step, replace(step, blocked=blocked, block_reason=reason), change)


def _place(task: Work, step: Step) -> Json:
    return {"task": task.id, "step_id": step.id, "path": step.path}


def _done(task: Work, step: Step, event: Json) -> Json:
    return {"task": task.id, "revision": task.revision, "step": step_ref(step), "event": event}
