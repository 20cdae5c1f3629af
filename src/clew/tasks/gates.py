"""Gates: what a step still lacks before it can be done. For further requirements of strict work see reasoning_gate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, suggest
from clew.registry.context import Context
from clew.registry.operation import StrictModel
from clew.surroundings import clew_command
from clew.tasks.commands import named_commands, same_command
from clew.tasks.evidence import NOTHING, BackedCheckpoints, linked, linked_to
from clew.tasks.plans import Work, find_work
from clew.tasks.proof_receipts import FAILED, OVERRIDDEN
from clew.tasks.proofs import STALE, Proof, proof_state, proof_states, waive
from clew.tasks.steps import CHECKPOINTS, PROVABLE, Step

ALWAYS = ("criteria", "tests")


class Override(StrictModel):
    """The way past the strict gate: why, and what may go wrong."""

    reason: Annotated[str, Field(min_length=1, max_length=4000, pattern=r"\S", description="Why it is right to close.")]
    risk: Annotated[str, Field(min_length=1, max_length=4000, pattern=r"\S", description="What may go wrong.")]

    @property
    def line(self) -> str:
        return f"{self.reason} (risk: {self.risk})"


@dataclass(frozen=True, slots=True)
class Gate:
    required: tuple[str, ...]
    missing: tuple[str, ...]
    """Required checkpoints that are not confirmed."""
    missing_proof: tuple[str, ...]
    """Checkpoints whose proof is required and missing."""
    wanted_proof: tuple[str, ...]
    """Checkpoints whose proof is recommended and missing."""
    present_proof: tuple[str, ...]

    @property
    def closed(self) -> bool:
        return bool(self.missing or self.missing_proof)


def gate(step: Step, given: BackedCheckpoints, asked: Collection[str] = ()) -> Gate:
    """A checkpoint is required if it always is, if evidence was captured for it, if its proof is required, or
    if the caller names it."""
    must = {*ALWAYS, *given.evidence, *asked}
    required = tuple(name for name in CHECKPOINTS if name in must or step.proof_mode(name) == "require")
    # Evidence alone is no proof: an attachment may be anything. So the gate asks for proof, not for evidence.
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
    """The single check on every path that leaves a step done."""
    found = gate_of(ctx, step, asked)
    if found.missing:
        raise checkpoints_missing(ctx, step, found)
    if found.missing_proof:
        raise proof_missing(step, found)
    return found


def confirmations(found: Gate) -> Any:
    """The confirmations of a closing call: the usual two, or these and all others that became required."""
    # `gate` is the seed's short word for the usual two; a caller who copies it must not confirm more than that.
    return "gate" if set(found.required) == set(ALWAYS) else dict.fromkeys(found.required, True)


def warn_of_proof(ctx: Context, step: Step, found: Gate) -> None:
    """Mode `warn`: the step closes, and the response reports the recommended proof."""
    if found.wanted_proof:
        message = f"{step.path} was closed without proof for {', '.join(found.wanted_proof)}"
        ctx.warn("PROOF_MISSING", message, "Capture it with tasks_evidence_capture.")


def checkpoints_missing(ctx: Context, step: Step, found: Gate) -> ClewError:
    flags = " ".join(f"{name}={str(name in found.missing).lower()}" for name in CHECKPOINTS)
    return ClewError(
        "CHECKPOINTS_NOT_CONFIRMED",
        f"missing: {flags}",
        f"Confirm {', '.join(found.missing)} of {step.path} once they hold, then repeat.",
        suggestions=[_confirmation(ctx, step, found)],
        details={"step_id": step.id, "path": step.path, "missing": list(found.missing)},
    )


def _confirmation(ctx: Context, step: Step, found: Gate) -> Json:
    """The call that confirms; for small toolsets, the macro that also closes, if nothing else prevents it."""
    place = {"task": step.task, "step_id": step.id, "checkpoints": dict.fromkeys(found.missing, True)}
    task = find_work(ctx, step.task)
    lenient = not found.missing_proof and task is not None and task.reasoning_mode != "strict"
    # A macro that is refused for another reason would be a suggestion that fails, which no refusal may contain.
    if ctx.connection.toolset != "full" and lenient:
        return suggest("tasks_macro_close_step", "Confirms what is missing and closes; once it is true.", **place)
    return suggest("tasks_verify", "Confirms what is missing; call it once it is true.", **place)


def proof_missing(step: Step, found: Gate) -> ClewError:
    flags = " ".join(f"{name}={str(name in found.missing_proof).lower()}" for name in PROVABLE)
    first = found.missing_proof[0]
    return ClewError(
        "PROOF_REQUIRED",
        f"missing proof: {flags}",
        f"Capture it: tasks_evidence_capture task={step.task} step_id={step.id} checkpoint={first}"
        ' checks=["CMD: what you ran"], with the command in its place.',
        suggestions=[suggest("tasks_snapshot", "Shows the step and what it asks for.", "high", task=step.task)],
        details={"step_id": step.id, "path": step.path, "missing_proof": list(found.missing_proof)},
    )


def check_proof(ctx: Context, task: Work, step: Step, override: Override | None) -> Json:
    """Refuse to close on a failed run, and on insufficient proof if proof is required.

    Returns what the closing event records about the proof. Required proof must be fresh; a strict task requires runs
    that Clew observed of the commands that its steps name, unless a reason is given why a claim is enough.
    """
    proof, required = proof_state(ctx, step), step.requires_proof
    # In a strict task a step that names its test commands requires their runs, whatever its proof mode.
    wanted = task.reasoning_mode == "strict" and (required or bool(named_commands(step.tests)))
    # No override helps here: a failed run means that the work is wrong, not that a check was forgotten.
    if proof.state == FAILED or (required and proof.state == STALE):
        raise proof_refused(step, proof)
    if override is None and wanted and not proof.settled:
        raise proof_refused(step, proof)
    state = proof.state
    # The reason becomes a separate row, so that a reader later sees a waiver and not a proof.
    if override is not None and not proof.settled:
        waive(ctx, step, OVERRIDDEN, override.line)
        state = OVERRIDDEN
    return {"proof": {"state": state, "receipt": proof.receipt.id if proof.receipt else None}}


def check_finished_proofs(ctx: Context, steps: Sequence[Step], override: Override | None) -> None:
    """A task cannot finish on required proofs that failed or are stale, unless a reason is given."""
    required = [step for step in steps if step.requires_proof]
    states = proof_states(ctx, required)
    broken = [(step, states[step.id]) for step in required if states[step.id].state in (FAILED, STALE)]
    for step, proof in broken:
        if override is None:
            raise proof_refused(step, proof)
        waive(ctx, step, OVERRIDDEN, override.line)


def proof_refused(step: Step, proof: Proof) -> ClewError:
    """The proof exists but is not sufficient."""
    run = clew_command(f"prove --step {step.id} -- {_settling(step, proof)}")
    return ClewError(
        "PROOF_REQUIRED",
        f"{step.path} ({step.id}) is not proven: {proof.line()}",
        f"{'Mend what failed, then run' if proof.state == FAILED else 'Run'} it where Clew sees it, in a shell: {run}",
        suggestions=[suggest("open", "Shows what the step asks for and what proves it.", "high", id=step.id)],
        details={"step_id": step.id, "path": step.path, "missing_proof": ["tests"], "proof": proof.to_json()},
    )


def _settling(step: Step, proof: Proof) -> str:
    """The command that would prove it: the one that was run, if the step names it or none; else the one it names."""
    ran = proof.receipt.command if proof.receipt else None
    named = named_commands(step.tests)
    if ran is not None and (not named or any(same_command(ran, name) for name in named)):
        return ran
    return named[0] if named else "COMMAND"
