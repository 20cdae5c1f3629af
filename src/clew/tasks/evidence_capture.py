"""Capturing evidence, as an operation or as the proof for a macro. Empty texts and unfilled templates are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from clew.canonical import Json, canonical
from clew.errors import ClewError, invalid, suggest
from clew.ids import RECEIPT
from clew.ledger.notebooks.books import find_run
from clew.reasoning.documents import append
from clew.reasoning.scope import scope_of
from clew.registry.context import Context
from clew.registry.operation import StrictModel, operation
from clew.tasks.changes import stay_closed, touch
from clew.tasks.evidence import (
    MAX_ARTIFACT_BYTES,
    MAX_ITEMS,
    Evidence,
    EvidenceDraft,
    artifact_drafts,
    attachment_drafts,
    check_drafts,
    store,
)
from clew.tasks.journal import Change, log
from clew.tasks.leases import check_lease
from clew.tasks.plans import Work
from clew.tasks.proof_receipts import MOST_TAIL, Run, command_of, plain_line, receipt_by_id, receipts, salvaged, weak
from clew.tasks.steps import Step, select_step, step_meta, step_ref
from clew.tasks.targets import OfStep, PlanId, Revised, target_work
from clew.tasks.texts import Prose

Checkpoint = Literal["criteria", "tests", "security", "perf", "docs"]
CheckpointArg = Annotated[
    Checkpoint | Annotated[list[Checkpoint], Field(max_length=5)] | None,
    Field(description="Checkpoint, or several, that this is evidence for."),
]
Items = Annotated[
    list[Json],
    Field(
        max_length=MAX_ITEMS,
        description="Objects such as {command, exit_code, output_digest, files: {path: digest}} or {content}.",
    ),
]
Checks = Annotated[list[Prose], Field(max_length=MAX_ITEMS, description="Lines such as CMD: make test or LINK: ...")]
Attachments = Annotated[list[Prose], Field(max_length=MAX_ITEMS, description="Addresses or paths.")]


class EvidenceCapture(OfStep, Revised):
    plan: PlanId = None
    items: Items | None = None
    artifacts: Items | None = None
    checks: Checks | None = None
    attachments: Attachments | None = None
    checkpoint: CheckpointArg = None


@operation(
    "tasks_evidence_capture",
    writes=True,
    example={"task": "TASK-001", "path": "s:0", "checks": ["CMD: make test"], "checkpoint": "tests"},
)
def tasks_evidence_capture(ctx: Context, args: EvidenceCapture) -> Json:
    """Keep evidence for a step, a task or a plan. An optional checkpoint with evidence must be confirmed."""
    work = target_work(ctx, args)
    named = args.path is not None or args.step_id is not None
    step = select_step(ctx, work, args.path, args.step_id) if named else None
    artifacts = [*(args.items or []), *(args.artifacts or [])]
    # The id of a receipt is not new evidence: it is on record already.
    checks = without_cited(ctx, step, args.checks or [])
    drafts = proofs(ctx, artifacts, checks, args.attachments or [])
    if not drafts:
        raise nothing_captured(work)
    work, event, kept = capture(ctx, work, step, drafts, checkpoint_names(args.checkpoint))
    warn_weak(ctx, args.checks or [], args.attachments or [])
    return {
        "task": work.id,
        "revision": work.revision,
        "step": step_ref(step) if step else None,
        "evidence": [item.id for item in kept],
        "event": event,
    }


def proofs(
    ctx: Context, items: Sequence[Mapping[str, Any]], checks: Sequence[str], attachments: Sequence[str]
) -> list[EvidenceDraft]:
    """The items that have content. Runs of notebook cells are looked up: Clew ran them itself."""
    for number, item in enumerate(items):
        # Measured in bytes of the stored text, not in characters of the input.
        if len(canonical(item).encode()) > MAX_ARTIFACT_BYTES:
            message, recovery = f"larger than {MAX_ARTIFACT_BYTES} bytes", "Keep a digest and a link instead."
            raise invalid(f"items[{number}]", message, recovery, kind="length", max_bytes=MAX_ARTIFACT_BYTES)
    drafts = [*artifact_drafts(items), *check_drafts(checks), *attachment_drafts(attachments)]
    return [_with_notebook_run(ctx, draft) for draft in drafts]


_NOTEBOOK_RUN = re.compile(r"\b(?P<notebook>NB-\d+)\b.*?\brun\s+(?P<run>\d+)", re.DOTALL)
_OUTPUT = re.compile(r"\bsha256:(?P<digest>[0-9a-f]{8,64})\b")


def _with_notebook_run(ctx: Context, draft: EvidenceDraft) -> EvidenceDraft:
    """The draft with the run of the cell that it names. An unknown run, or one with another outcome, is refused."""
    match = _NOTEBOOK_RUN.search(draft.text)
    if match is None:
        return draft
    found = find_run(ctx, int(match["run"]))
    digest = _OUTPUT.search(draft.text)
    if found is None or found.notebook != match["notebook"]:
        raise _no_such_run(f"run {match['run']} of {match['notebook']} is not on record")
    # A prefix is enough, because receipts are often shortened when they are pasted.
    if digest is not None and not found.output_digest.startswith(digest["digest"]):
        raise _no_such_run(f"run {match['run']} of {match['notebook']} had another output")
    # A run that was killed has no exit code, and must not count as a success.
    exit_code = found.exit_code if found.exit_code is not None else 1
    run = Run(
        "notebook",
        draft.command or draft.text,
        exit_code,
        found.duration_ms,
        f"sha256:{found.output_digest}",
        (found.stdout + found.stderr)[-MOST_TAIL:],
    )
    return replace(draft, run=run, exit_code=exit_code, output_digest=run.output_digest)


def _no_such_run(problem: str) -> ClewError:
    return invalid("checks", problem, "Paste the receipt line that notebook_run_cell answered.", kind="value")


def without_cited(ctx: Context, step: Step | None, checks: Sequence[str]) -> list[str]:
    """The checks without ids of receipts that this step has already. A receipt of another step proves nothing here."""
    left = []
    for check in checks:
        cited = RECEIPT.fullmatch((command_of(check) or plain_line(check)).strip())
        if cited is None:
            left.append(check)
        elif step is None or receipt_by_id(ctx, cited.group()).entity != step.id:
            raise invalid("checks", f"{cited.group()} is no receipt of this step", "Run the command for this step.")
    return left


def checkpoint_names(given: str | Sequence[str] | None) -> list[str]:
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(dict.fromkeys(given))


def capture(
    ctx: Context, work: Work, step: Step | None, drafts: list[EvidenceDraft], checkpoints: list[str]
) -> tuple[Work, Json, list[Evidence]]:
    """Store evidence with its event and its note; a step that is done must still pass its gates."""
    if step is not None:
        check_lease(ctx, step)
    work = touch(ctx, work)
    entity, path = (step.id, step.path) if step else (work.id, None)
    about = {"task": work.id, "entity_kind": "step" if step else work.kind, "entity_id": entity, "path": path}
    payload = {**about, **_counts(drafts), "checkpoints": checkpoints}
    change = Change("evidence_captured", "evidence_capture", payload, False)
    event = log(ctx, work.id, change, entity, path)
    # After the event, whose id each piece of evidence stores.
    kept = store(ctx, work.id, entity, path, drafts, checkpoints, event["event_id"])
    if step is not None and step.completed:
        # Evidence for an optional checkpoint makes it required; a done step must still meet its requirements.
        stay_closed(ctx, step)
    _note(ctx, work, step, drafts, checkpoints, event)
    return work, event, kept


def warn_weak(ctx: Context, checks: Sequence[str], attachments: Sequence[str]) -> None:
    missing = weak(checks, attachments)
    if missing:
        recovery = "Add " + " and ".join(f"{tag}: ..." for tag in missing) + "."
        ctx.warn("PROOF_WEAK", f"the proof has no {' and no '.join(missing)} receipt", recovery)


def nothing_captured(work: Work) -> Exception:
    return invalid(
        "checks",
        "nothing to keep: what was given is empty or a placeholder",
        "Give what was really run or seen, such as CMD: make test.",
        [suggest("tasks_snapshot", "Shows what the task asks for.", "high", **{work.kind: work.id})],
        kind="non_empty",
    )


def _counts(drafts: list[EvidenceDraft]) -> dict[str, int]:
    kinds = [draft.kind for draft in drafts]
    return {f"{kind}s": kinds.count(kind) for kind in ("artifact", "check", "attachment")}


def _note(
    ctx: Context, work: Work, step: Step | None, drafts: list[EvidenceDraft], checkpoints: list[str], event: Json
) -> None:
    counts = ", ".join(f"{name}={number}" for name, number in _counts(drafts).items())
    where = f" at {step.path}" if step else ""
    about = f" for {', '.join(checkpoints)}" if checkpoints else ""
    meta: Json = {"source": "tasks_evidence_capture", "task_id": work.id, "event_id": event["event_id"]}
    if step is not None:
        meta["step"] = step_meta(step)
    scope = scope_of(ctx, work.id)
    said: Json = {"content": f"{counts}{about}{where}", "title": "Evidence captured", "meta": meta}
    place: Json = {"subject": work.id, "path": step.path if step else None}
    # A count of captured items is not indexed for search: the evidence itself is.
    append(ctx, scope.branch.id, scope.notes, item_source=None, **said, **place)


DEFAULT_CHECKPOINT = "tests"


class ProofObject(StrictModel):
    """The same as tasks_evidence_capture takes, for the step that is closed."""

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
class CapturedProof:
    checks: list[str]
    items: list[Json]
    attachments: list[str]
    checkpoints: list[str]


def read_proof(given: str | list[str] | ProofObject | None, note: str | None) -> CapturedProof | None:
    """The proof of a call; without one, the receipts on separate lines of its note."""
    if given is None:
        found = salvaged(note or "")
        return CapturedProof(found, [], [], [DEFAULT_CHECKPOINT]) if found else None
    if isinstance(given, ProofObject):
        names = checkpoint_names(given.checkpoint) or [DEFAULT_CHECKPOINT]
        return CapturedProof(receipts(given.checks or []), given.items or [], given.attachments or [], names)
    return CapturedProof(receipts(given), [], [], [DEFAULT_CHECKPOINT])


def capture_proof(ctx: Context, task: Work, step: Step, proof: CapturedProof) -> tuple[Work, Json | None]:
    """Store the valid part of the proof. An unfilled template is not stored, and the gate then reports it.

    The caller reports a weak proof, in the words of its own tool.
    """
    drafts = proofs(ctx, proof.items, without_cited(ctx, step, proof.checks), proof.attachments)
    if not drafts:
        return task, None
    task, event, _ = capture(ctx, task, step, drafts, proof.checkpoints)
    return task, event
