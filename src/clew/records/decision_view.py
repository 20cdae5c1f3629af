"""decision_view: what a person needs for a decision: each side with its reason, author, age, task and proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, unknown_id
from clew.ids import PROPOSAL
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions import detection
from clew.memory.contradictions.detection import NewStatement
from clew.memory.files.markdown import Value, listed, one_line, parse_block
from clew.memory.files.sync import sync
from clew.memory.governance import proposals
from clew.memory.governance.disputes import Dispute, find_dispute
from clew.memory.governance.patches import BlockChange, ProposalDraft
from clew.memory.governance.review import open_draft, read_ahead
from clew.memory.kinds import kind_of, prefix_of
from clew.records.links import links_of
from clew.records.open import bare_id
from clew.records.record_view import names_of
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation
from clew.store.events import events_about
from clew.tasks.proofs import proof_states
from clew.tasks.steps import steps_of

MOST_RESTING = 20
MOST_EVENTS = 20
UNSAID = ("", "none", "not given")
BOOKKEEPING = frozenset({"History", "SupersededBy", "Proposal"})
"""Fields that follow from another one that is shown."""
BUDGET = Budget(
    (
        Clip("diff", 20_000),
        Trim("cards[].resting.items", drop="last", floor=3),
        Clip("cards[].statement", 4_000),
        Clip("cards[].why", 4_000),
        Clip("diff", 2_000),
        Clip("cards[].statement", 400),
        Clip("cards[].why", 400),
        Clip("diff", 200),
    ),
    {"core": 8_000, "daily": 16_000, "full": 60_000},
    keep=("workspace", "id", "state"),
)


class DecisionView(Bounded):
    id: Annotated[Name, Field(min_length=1, description="What waits, as inbox_list names it, or a record that does.")]


@dataclass(frozen=True, slots=True)
class DecisionSide:
    """A record in its current or proposed state, and its role in the decision."""

    id: str
    role: str
    """`new`: the subject of the decision; `against`: contradicted by it; `replaced`: would be replaced by it."""
    fields: Mapping[str, Value]
    now: Block | None
    """None: the record does not exist yet."""
    reason: str = ""

    def said(self, *names: str) -> str:
        found = (one_line(self.fields.get(name)) for name in names)
        return next((text for text in found if text.lower() not in UNSAID), "")


@operation("decision_view", mode="own", budget=BUDGET, example={"id": "P-20260213-002"})
def decision_view(ctx: Context, args: DecisionView) -> dict[str, Any]:
    """Show what has to be known to decide a proposal or dispute: each side with reason, author, age, task and proof."""
    id = bare_id(ctx, args.id)
    sync(ctx)
    if PROPOSAL.fullmatch(id):
        read_ahead(ctx, id)
    with ctx.reading() as bound:
        found = blocks.find(bound, id)
        if found is None:
            raise unknown_id("id", id, "Use an id that inbox_list shows.")
        dispute = find_dispute(bound, id)
        proposal = _proposal_of(bound, found, dispute)
        if proposal is not None and proposal.status not in proposals.OPEN:
            return {**_decided(bound, proposal), "cards": [], "truncated": False}
        draft, problem = _draft(bound, proposal)
        sides = list(_sides(bound, found, dispute, draft))
        return {
            "workspace": bound.workspace,
            "id": dispute.id if dispute else id,
            "state": "waiting",
            "proposal": proposal.id if proposal else None,
            "cards": [_card(bound, side) for side in sides],
            "changes": list(_changes(draft)) if draft and proposal and proposal.get("Type") == "edit" else [],
            "diff": draft.diff() if draft else "",
            "problem": problem,
            "truncated": False,
        }


def _proposal_of(ctx: Context, found: Block, dispute: Dispute | None) -> Block | None:
    if found.kind.name == "proposal":
        return found
    return blocks.find(ctx, dispute.proposal) if dispute and dispute.proposal else None


def _decided(ctx: Context, proposal: Block) -> dict[str, Any]:
    """The outcome of a proposal that is no longer open."""
    return {
        "workspace": ctx.workspace,
        "id": proposal.id,
        "state": "decided",
        "status": proposal.status,
        "by": proposal.get("ApprovedBy") or proposal.agent,
        "ts_ms": proposal.ts_ms,
        "reason": proposal.get("Reason") or None,
        "event": _last_event(ctx, proposal),
        "record": names_of(ctx, [proposal.get("TargetBlock")])[proposal.get("TargetBlock")].to_json(),
    }


def _last_event(ctx: Context, proposal: Block) -> int | None:
    """The last event of the write that decided it, by which it can be undone."""
    found = events_about(ctx.tx, ctx.workspace, proposal.id, MOST_EVENTS)
    return next((event.seq for event in found if event.type in ("proposal_applied", "proposal_rejected")), None)


def _draft(ctx: Context, proposal: Block | None) -> tuple[ProposalDraft | None, str | None]:
    """What the proposal would do; or why it cannot be applied as it is."""
    if proposal is None or proposal.status == statuses.DEFERRED:
        return None, None
    try:
        return open_draft(ctx, proposal), None
    except ClewError as problem:
        return None, problem.message


def _sides(ctx: Context, found: Block, dispute: Dispute | None, draft: ProposalDraft | None) -> Iterator[DecisionSide]:
    """The subject last; before it what it contradicts and what it would replace."""
    changed = draft.changes if draft else {}
    newer = dispute.newer if dispute else found.get("TargetBlock") or found.id
    if found.kind.name not in ("proposal", "contradiction") and dispute is None:
        newer = found.id
    against = _against(ctx, newer, dispute, changed)
    for id, reason in against.items():
        yield _side(blocks.get(ctx, id), "against", reason)
    for change in changed.values():
        yields = one_line(parse_block(change.text).fields.get("Status")) == statuses.SUPERSEDED
        if change.before is not None and change.id != newer and change.id not in against and yields:
            yield _side(change.before, "replaced")
    now = blocks.find(ctx, newer)
    if newer in changed:
        yield DecisionSide(newer, "new", parse_block(changed[newer].text).fields, now)
    elif now is not None:
        yield _side(now, "new")


def _side(block: Block, role: str, reason: str = "") -> DecisionSide:
    return DecisionSide(block.id, role, block.fields, block, reason)


def _against(ctx: Context, newer: str, dispute: Dispute | None, changed: Mapping[str, BlockChange]) -> dict[str, str]:
    """What the proposed record contradicts, even if that was not known when it was proposed."""
    known = dict(dispute.reasons) if dispute else {}
    if newer not in changed:
        return known
    fields = parse_block(changed[newer].text).fields
    if one_line(fields.get("Status")) != statuses.ACTIVE:
        return known
    left_out = (*changed, *listed(fields.get("HoldsBeside")), *known)
    statement = NewStatement(prefix_of(newer), one_line(fields.get("Statement")))
    found = detection.clashing(ctx, newer, statement, left_out)
    return known | {item.block.id: item.reason for item in found if item.sure}


def _changes(draft: ProposalDraft) -> Iterator[dict[str, Any]]:
    """The changes field by field."""
    for change in draft.changes.values():
        before = change.before.fields if change.before else {}
        after = parse_block(change.text).fields
        for name in [*before, *(name for name in after if name not in before)]:
            old, new = one_line(before.get(name)), one_line(after.get(name))
            if old != new and name not in BOOKKEEPING:
                yield {"id": change.id, "field": name, "before": old, "after": new}


def _card(ctx: Context, side: DecisionSide) -> dict[str, Any]:
    versions = blocks.history(ctx, side.id) if side.now is not None else []
    resting = links_of(ctx, side.id, MOST_RESTING).resting() if side.now is not None else []
    grounds = [id for id in listed(side.fields.get("RestsOn")) if id.lower() not in UNSAID]
    task = side.said("Task")
    names = names_of(ctx, [*resting, *grounds, *filter(None, [task])])
    return {
        "id": side.id,
        "role": side.role,
        "kind": kind_of(side.id).name,
        "status": side.now.status if side.now is not None else None,
        "statement": side.said(*blocks.HEADLINES),
        "why": side.said("Rationale", "Context"),
        "about": side.said("About"),
        "reason": side.reason,
        "author": side.said("Author") or (versions[0].agent if versions else None),
        "created_ms": versions[0].ts_ms if versions else None,
        "changed_ms": versions[-1].ts_ms if len(versions) > 1 else None,
        "review_by": side.said("ReviewBy") or None,
        "task": names[task].to_json() if task else None,
        "rests_on": [names[id].to_json() for id in grounds],
        "resting": {"total": len(resting), "items": [names[id].to_json() for id in resting]},
        "proof": _last_proof(ctx, task, side.said("Step")),
    }


def _last_proof(ctx: Context, task: str, step: str) -> dict[str, Any] | None:
    """The last proof of the work that the record came from."""
    steps = [item for item in steps_of(ctx, task) if item.completed and step in ("", item.path)] if task else []
    proofs = [proof for proof in proof_states(ctx, steps).values() if proof.receipt is not None] if steps else []
    if not proofs:
        return None
    last = max(proofs, key=lambda proof: proof.receipt.ts_ms if proof.receipt else 0)
    shown = last.to_json()
    return {name: shown[name] for name in ("path", "state", "receipt", "command", "exit_code", "ts_ms", "changed")}
