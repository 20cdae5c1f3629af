"""Claims of a step: runs that were reported and not seen. What closes with a claim is taken back with it."""

from __future__ import annotations

from clew.registry.context import Context
from clew.store.rows import find_many
from clew.tasks.evidence import Evidence, disown_evidence
from clew.tasks.proof_receipts import CLAIMED, DISOWNED, SAID, ProofReceipt, Run, latest_receipts, write_receipt
from clew.tasks.steps import Step


def disown_claims(ctx: Context, step: Step, why: str) -> list[str]:
    """Let no claim of a step count any more: words must not revive one that was undone. Returns their ids."""
    counting = latest_receipts(ctx, [step.id]).get(step.id, [])
    claims = [receipt for receipt in counting if receipt.grade == CLAIMED and receipt.source == SAID]
    for claim in claims:
        _disown(ctx, claim, why)
    return [claim.id for claim in claims]


def _disown(ctx: Context, claim: ProofReceipt, why: str) -> None:
    run = Run(claim.source, claim.command or "", None, again=claim.id)
    write_receipt(ctx, claim.owner, claim.entity, claim.path, DISOWNED, f"disowned {claim.id}: {why}", run)
    if claim.evidence is not None and find_many(ctx.tx, ctx.workspace, Evidence, [claim.evidence]):
        disown_evidence(ctx, claim.evidence)
