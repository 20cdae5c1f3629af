"""Gates: what a step still lacks before it may be called done."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from clew.errors import ClewError, suggest
from clew.registry.context import Context
from clew.tasks.evidence import NOTHING, Linked, linked, linked_to
from clew.tasks.plans import find_work
from clew.tasks.steps import CHECKPOINTS, PROVABLE, Step

ALWAYS = ("criteria", "tests")


@dataclass(frozen=True, slots=True)
class Gate:
    required: tuple[str, ...]
    missing: tuple[str, ...]
    """Required checkpoints that nobody has confirmed."""
    missing_proof: tuple[str, ...]
    """Checkpoints whose proof is required and not there."""
    wanted_proof: tuple[str, ...]
    """Checkpoints whose proof is wished for and not there."""
    present_proof: tuple[str, ...]

    @property
    def closed(self) -> bool:
        return bool(self.missing or self.missing_proof)


def gate(step: Step, given: Linked, asked: Collection[str] = ()) -> Gate:
    """A checkpoint is required when it always is, when evidence was captured for it, when its proof is required, or
    when the caller speaks of it."""
    required = tuple(
        name
        for name in CHECKPOINTS
        if name in ALWAYS or name in given.evidence or name in asked or step.proof_mode(name) == "require"
    )
    unproven = [name for name in PROVABLE if name not in given.proof]
    return Gate(
        required=required,
        missing=tuple(name for name in required if not step.confirmed(name)),
        missing_proof=tuple(name for name in unproven if step.proof_mode(name) == "require"),
        wanted_proof=tuple(name for name in unproven if step.proof_mode(name) == "warn"),
        present_proof=tuple(name for name in PROVABLE if name in given.proof),
    )


def gate_of(ctx: Context, step: Step, asked: Collection[str] = ()) -> Gate:
    return gate(step, linked_to(ctx, step.id), asked)


def gates_of(ctx: Context, steps: Iterable[Step]) -> dict[str, Gate]:
    """The gates of many steps, by step id."""
    listed = list(steps)
    given = linked(ctx, [step.id for step in listed])
    return {step.id: gate(step, given.get(step.id, NOTHING)) for step in listed}


def check_gate(ctx: Context, step: Step, asked: Collection[str] = ()) -> Gate:
    """The one check behind every path that leaves a step done."""
    found = gate_of(ctx, step, asked)
    if found.missing:
        raise checkpoints_missing(ctx, step, found)
    if found.missing_proof:
        raise proof_missing(step, found)
    return found


def confirmations(found: Gate) -> Any:
    """What a closing call confirms: the usual two, or these and whatever else has become required."""
    return "gate" if set(found.required) == set(ALWAYS) else dict.fromkeys(found.required, True)


def warn_of_proof(ctx: Context, step: Step, found: Gate) -> None:
    """Mode `warn`: the step closes, and the answer says what would have been welcome."""
    if found.wanted_proof:
        ctx.warn(
            "PROOF_MISSING",
            f"{step.path} was closed without proof for {', '.join(found.wanted_proof)}",
            "Capture it with tasks_evidence_capture.",
        )


def checkpoints_missing(ctx: Context, step: Step, found: Gate) -> ClewError:
    flags = " ".join(f"{name}={str(name in found.missing).lower()}" for name in CHECKPOINTS)
    return ClewError(
        "CHECKPOINTS_NOT_CONFIRMED",
        f"missing: {flags}",
        f"Confirm {', '.join(found.missing)} of {step.path} once they hold, then repeat.",
        suggestions=[_confirmation(ctx, step, found)],
        details={"step_id": step.id, "path": step.path, "missing": list(found.missing)},
    )


def _confirmation(ctx: Context, step: Step, found: Gate) -> dict[str, Any]:
    """The call that confirms; where few tools are listed, the macro that also closes, if nothing else is in its way."""
    place = {"task": step.task, "step_id": step.id, "checkpoints": dict.fromkeys(found.missing, True)}
    task = find_work(ctx, step.task)
    lenient = not found.missing_proof and task is not None and task.reasoning_mode != "strict"
    if ctx.session.toolset != "full" and lenient:
        return suggest("tasks_macro_close_step", "Confirms what is missing and closes; once it is true.", **place)
    return suggest("tasks_verify", "Confirms what is missing; call it once it is true.", **place)


def proof_missing(step: Step, found: Gate) -> ClewError:
    flags = " ".join(f"{name}={str(name in found.missing_proof).lower()}" for name in PROVABLE)
    first = found.missing_proof[0]
    return ClewError(
        "PROOF_REQUIRED",
        f"missing proof: {flags}",
        f"Capture it: tasks_evidence_capture task={step.task} step_id={step.id} checkpoint={first}"
        ' checks=["CMD: <fill: what you ran>"]. A placeholder is never proof.',
        suggestions=[suggest("tasks_snapshot", "Shows the step and what it asks for.", "high", task=step.task)],
        details={"step_id": step.id, "path": step.path, "missing_proof": list(found.missing_proof)},
    )
