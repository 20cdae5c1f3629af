"""tasks_macro_close_step: note, proof, checkpoints and closing in one transaction, then the resume."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, suggest
from clew.registry.context import Context
from clew.registry.lines import command
from clew.registry.operation import operation
from clew.tasks.completion import set_status
from clew.tasks.macros.proof import ProofArg, capture_proof, read_proof
from clew.tasks.macros.resuming import Resumes, resumed
from clew.tasks.plans import Work, check_revision, work_by_id
from clew.tasks.steps import Step, first_open, select_step, step_ref
from clew.tasks.stepwork import Checkpoints, OverrideArg, checkpoint_values, close_step, note_step
from clew.tasks.targets import OfStep, Revised, target_task
from clew.tasks.views.lines import macro_lines
from clew.tasks.wording import Prose, prose

PROOF_FORM = ["CMD: <fill: what you ran>", "LINK: <fill: where it can be seen>"]


class MacroCloseStep(OfStep, Revised, Resumes):
    checkpoints: Checkpoints = "gate"
    note: Annotated[Prose | None, Field(description="Progress note, written before the step is closed.")] = None
    proof: ProofArg | None = None
    override: OverrideArg = None


@operation(
    "tasks_macro_close_step",
    tier="daily",
    writes=True,
    portal=True,
    lines=macro_lines,
)
def tasks_macro_close_step(ctx: Context, args: MacroCloseStep) -> dict[str, Any]:
    """Close a step with its note and proof; the first open one when none is named. Finishes a task without open steps.

    When the step cannot be closed, nothing of the call is kept: no note, no proof, no confirmation.
    """
    task = target_task(ctx, args)
    check_revision(task, args.expected_revision)
    named = args.path is not None or args.step_id is not None
    step = select_step(ctx, task, args.path, args.step_id) if named else first_open(ctx, task.id)
    answer = _finish(ctx, task) if step is None else _close(ctx, task, step, args)
    return {**answer, "resume": resumed(ctx, work_by_id(ctx, task.id), args)}


def _close(ctx: Context, task: Work, step: Step, args: MacroCloseStep) -> dict[str, Any]:
    noted = proven = None
    with _ways_out(step, args):
        note = prose(args.note)
        if note is not None:
            task, noted = note_step(ctx, task, step, note)
        proof = read_proof(args.proof, note)
        if proof is not None:
            task, proven = capture_proof(ctx, task, step, proof)
        task, step, _ = close_step(ctx, task, step, checkpoint_values(args.checkpoints), args.override)
    return {
        "task": task.id,
        "revision": task.revision,
        "step": step_ref(step),
        "note_event": noted,
        "evidence_event": proven,
    }


def _finish(ctx: Context, task: Work) -> dict[str, Any]:
    """No open step is left: the next progress is to finish the task."""
    if task.status != "DONE":
        task, _ = set_status(ctx, task, "DONE")
    return {"task": task.id, "revision": task.revision, "step": None, "note_event": None, "evidence_event": None}


@contextmanager
def _ways_out(step: Step, args: MacroCloseStep) -> Iterator[None]:
    """Refusals of the gates name this macro, so that one more call is enough."""
    try:
        yield
    except ClewError as error:
        if error.code == "CHECKPOINTS_NOT_CONFIRMED":
            error.suggestions = [_confirming(step, args, error.details["missing"])]
        if error.code == "PROOF_REQUIRED":
            error.recovery = _proving(step, error.details["missing_proof"])
        raise


def _confirming(step: Step, args: MacroCloseStep, missing: list[str]) -> dict[str, Any]:
    values = {**checkpoint_values(args.checkpoints), **dict.fromkeys(missing, True)}
    given = args.model_dump(exclude_none=True, exclude={"workspace", "checkpoints", "expected_revision", "target"})
    call = {**given, "task": step.task, "step_id": step.id, "checkpoints": values}
    for name in ("path", "refs"):
        call.pop(name, None)
    reason = "Confirms what is missing as well; call it once it is true."
    return suggest("tasks_macro_close_step", reason, "high", **call)


def _proving(step: Step, missing: list[str]) -> str:
    """The retry with a form to fill in. It is text and no suggestion: as it stands it would be refused again."""
    proof: Any = PROOF_FORM if missing == ["tests"] else {"checks": PROOF_FORM, "checkpoint": missing}
    retry = command("tasks_macro_close_step", {"task": step.task, "step_id": step.id, "proof": proof})
    return f"Repeat with real proof; a form is never proof: {retry}"
