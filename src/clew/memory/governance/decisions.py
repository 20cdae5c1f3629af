"""decide: a person's decision on a proposal or a dispute, as one operation with one way to undo it.

The verdict, the edited text and the outcome for the other side are written in one transaction, with one
receipt. approve_apply and reject_proposal keep the contract of Mind-Mem; the page decides with this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import ClewError, Suggestion, invalid, shorten, suggest, unknown_id
from clew.kinds import statuses
from clew.memory import block_lists, blocks
from clew.memory.blocks import Block
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.markdown import clean
from clew.memory.files.sync import sync
from clew.memory.governance import policy, proposals, receipts
from clew.memory.governance.disputes import MOST, find_dispute
from clew.memory.governance.draft_checks import checked
from clew.memory.governance.edits import check_clear, edit_words, read_words_ahead, relate, status_op
from clew.memory.governance.patches import Op, ProposalDraft
from clew.memory.governance.review import check_mode, open_draft, read_ahead
from clew.memory.governance.submission import ending_of
from clew.memory.kinds import kind_of
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Names, Text, Title, operation
from clew.store.workspaces import declare_events

declare_events(
    {"dispute_decided": "A person decided between records that contradict each other, or edited a proposal."}
)

Verdict = Literal["approve", "reject", "replace", "keep", "both", "neither"]
BETWEEN = ("replace", "keep", "both", "neither")
"""Verdicts about two sides."""


class Decide(Input):
    id: Annotated[Name, Field(min_length=1, description="The proposal or contradiction, or a record that is disputed.")]
    verdict: Annotated[
        Verdict,
        Field(
            description="approve or reject a proposal; of a dispute: replace (the newer record takes the place of the"
            " older), keep (the older stays), both (they do not contradict each other) or neither."
        ),
    ]
    others: Annotated[
        Names, Field(description="The older side as it was shown; default: all that it contradicts.")
    ] = []
    statement: Annotated[Text | None, Field(description="What the newer record is to say, if edited.")] = None
    why: Annotated[Text | None, Field(description="Its reason, if edited.")] = None
    reason: Annotated[Title | None, Field(description="Why it was decided so; kept with it.")] = None


@dataclass(frozen=True, slots=True)
class Case:
    """The subject of a decision: a record, those it contradicts, and its open proposal."""

    newer: str
    older: tuple[str, ...]
    proposal: Block | None


@operation("decide", writes=True, mode="own", example={"id": "P-20260213-002", "verdict": "approve"})
def decide(ctx: Context, args: Decide) -> dict[str, Any]:
    """Decide a proposal or a dispute in one step: approve, reject, replace, keep, both or neither, with edited words.

    `undo` takes it back as a whole.
    """
    _read_ahead(ctx, args)
    with governed_transaction(ctx) as bound:
        policy.check_decider(bound, f"deciding {args.id}", f"decide {args.id} {args.verdict}", _look(args.id))
        check_mode(bound)
        case = _case(bound, args)
        _check_verdict(case, args)
        _check_holding(bound, case)
        _decided(bound, case, args)
        return {
            "workspace": bound.workspace,
            "verdict": args.verdict,
            "record": case.newer,
            "others": list(case.older),
            "statuses": {
                id: blocks.get(bound, id).status for id in (case.newer, *case.older) if blocks.find(bound, id)
            },
        }


def _read_ahead(ctx: Context, args: Decide) -> None:
    sync(ctx)
    with ctx.reading() as bound:
        dispute, found = find_dispute(bound, args.id), blocks.find(bound, args.id)
    newer = dispute.newer if dispute else found.get("TargetBlock") if found else ""
    if found is not None and found.kind.name == "proposal":
        read_ahead(ctx, found.id)
    read_words_ahead(ctx, newer or args.id, args.statement)


def _look(id: str) -> Suggestion:
    return suggest("decision_view", "Shows both sides.", "medium", id=id)


def _decided(ctx: Context, case: Case, args: Decide) -> None:
    applied = case.proposal is not None and args.verdict in ("approve", "replace", "both")
    if case.proposal is not None and not applied:
        # Before the draft is made, so that it starts from the state after the rejection.
        proposals.reject(ctx, case.proposal.id, _reason(case, args))
    draft = open_draft(ctx, case.proposal) if applied and case.proposal else ProposalDraft(ctx)
    edit_words(ctx, draft, case.newer, args.statement, args.why)
    for op in _ops(ctx, case, args):
        draft.run(op)
    if args.verdict in ("replace", "both"):
        relate(draft, case.newer, "Supersedes" if args.verdict == "replace" else "HoldsBeside", case.older)
    check_clear(ctx, draft)
    if applied and case.proposal:
        receipts.apply(ctx, case.proposal, checked(ctx, draft))
    elif draft.changes:
        receipts.apply_record(ctx, case.newer, checked(ctx, draft))
    if case.older:
        said = {"verdict": args.verdict, "others": list(case.older), "reason": args.reason}
        ctx.emit("memory", "dispute_decided", case.newer, said)


def _reason(case: Case, args: Decide) -> str:
    return clean(args.reason or "") or (f"{', '.join(case.older)} stays" if case.older else "not wanted")


def _ops(ctx: Context, case: Case, args: Decide) -> list[Op]:
    """The operations on the side that loses."""
    if args.verdict == "replace":
        return [Op("replace_block", target=id, value=case.newer) for id in case.older]
    if args.verdict == "keep" and case.proposal is None:
        return [Op("replace_block", target=case.newer, value=case.older[0])]
    if args.verdict != "neither":
        return []
    ended = case.older if case.proposal is not None else (case.newer, *case.older)
    said = clean(args.reason or "") or "neither side holds"
    return [status_op(ctx, id, ending_of(kind_of(id)), said) for id in ended]


def _case(ctx: Context, args: Decide) -> Case:
    id = args.id.strip()
    dispute = find_dispute(ctx, id)
    others = tuple(dict.fromkeys(other.strip() for other in args.others))
    if dispute is not None and (id in dispute.covers or dispute.newer == id):
        proposal = proposals.get(ctx, dispute.proposal) if dispute.proposal else None
        return Case(dispute.newer, others or dispute.older, proposal)
    waiting = _waiting(ctx, id)
    if waiting is None:
        raise ClewError(
            "CONFLICT",
            f"{shorten(id, 60)} waits for no decision",
            "inbox_list shows what waits.",
            suggestions=[suggest("inbox_list", "Shows what waits.", "high")],
        )
    return Case(waiting.get("TargetBlock"), others, waiting)


def _waiting(ctx: Context, id: str) -> Block | None:
    """The open proposal of this id, or about the record of this id."""
    found = blocks.find(ctx, id)
    if found is None:
        raise unknown_id(
            "proposal", id, "Use an id that inbox_list shows.", [suggest("inbox_list", "Shows what waits.")]
        )
    if found.kind.name == "proposal":
        proposals.check_open(ctx, found)
        return found
    staged = block_lists.oldest(ctx, "P", proposals.OPEN, MOST)
    return next((proposal for proposal in staged if proposal.get("TargetBlock") == found.id), None)


def _check_verdict(case: Case, args: Decide) -> None:
    if args.verdict in BETWEEN and not case.older:
        way = suggest("decide", "Approves it.", "high", id=args.id, verdict="approve")
        raise invalid(
            "verdict", f"{case.newer} contradicts nothing, so there is nothing to {args.verdict}", None, [way]
        )
    if args.verdict not in BETWEEN and (case.older or case.proposal is None):
        against = ", ".join(case.older)
        way = suggest("decide", "Lets the newer record replace the older.", id=args.id, verdict="replace")
        raise invalid("verdict", f"{case.newer} contradicts {against}: say what becomes of it", None, [way])
    if args.verdict in ("reject", "keep", "neither") and (args.statement or args.why):
        raise invalid("statement", f"with {args.verdict} the record does not hold, so its words stay as they are")


def _check_holding(ctx: Context, case: Case) -> None:
    """Refuse if the other side is no longer what was shown: it has been decided meanwhile."""
    for other in case.older:
        block = blocks.get(ctx, other)
        if block.status != statuses.ACTIVE:
            raise ClewError(
                "CONFLICT",
                f"{other} is {block.status or 'not active'} by now",
                "Look at the dispute again; somebody decided about this side meanwhile.",
                suggestions=[suggest("open", "Shows what became of it.", "high", id=other)],
            )
