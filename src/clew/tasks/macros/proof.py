"""Proof as people hand it to a macro: a line, lines, or an object; or receipts that stand in a note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from clew.registry.context import Context
from clew.tasks.capture import Attachments, CheckpointArg, Checks, Items, capture, checkpoint_names, proofs, warn_weak
from clew.tasks.evidence import MAX_ITEMS
from clew.tasks.plans import Work
from clew.tasks.receipts import receipts, salvaged
from clew.tasks.steps import Step
from clew.tasks.wording import Prose

DEFAULT_CHECKPOINT = "tests"


class ProofObject(BaseModel):
    """The same as tasks_evidence_capture takes, for the step that is closed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    items: Items | None = None
    checks: Checks | None = None
    attachments: Attachments | None = None
    checkpoint: CheckpointArg = None


ProofArg = Annotated[
    Prose | Annotated[list[Prose], Field(max_length=MAX_ITEMS)] | ProofObject,
    Field(
        description="What was run or where it is seen: CMD: make test, or {checks, items, attachments, checkpoint} as"
        " tasks_evidence_capture takes."
    ),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"items": {"type": "string"}, "type": "array"}, {"type": "object"}]}),
]


@dataclass(frozen=True, slots=True)
class Proof:
    checks: list[str]
    items: list[dict[str, Any]]
    attachments: list[str]
    checkpoints: list[str]


def read_proof(given: str | list[str] | ProofObject | None, note: str | None) -> Proof | None:
    """The proof of a call; without one, the receipts that stand on lines of their own in its note."""
    if given is None:
        found = salvaged(note or "")
        return Proof(found, [], [], [DEFAULT_CHECKPOINT]) if found else None
    if isinstance(given, ProofObject):
        names = checkpoint_names(given.checkpoint) or [DEFAULT_CHECKPOINT]
        return Proof(receipts(given.checks or []), given.items or [], given.attachments or [], names)
    return Proof(receipts(given), [], [], [DEFAULT_CHECKPOINT])


def capture_proof(ctx: Context, task: Work, step: Step, proof: Proof) -> tuple[Work, dict[str, Any] | None]:
    """Keep what is real of the proof. A form that nobody filled in is not kept, and the gate then says so."""
    drafts = proofs(proof.items, proof.checks, proof.attachments)
    if not drafts:
        return task, None
    task, event, _ = capture(ctx, task, step, drafts, proof.checkpoints)
    warn_weak(ctx, proof.checks, proof.attachments)
    return task, event
