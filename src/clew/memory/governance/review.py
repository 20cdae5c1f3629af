"""Operations on proposals: try, apply, roll back, reject, defer, reopen and list them; `governance`."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.canonical import canonical, without_none
from clew.errors import ClewError, Suggestion, shorten, suggest
from clew.kinds import statuses
from clew.memory import blocks, validator
from clew.memory.blocks import Block
from clew.memory.contradictions import detection, resolutions
from clew.memory.contradictions.detection import NewStatement
from clew.memory.files.governed_write import failing, governed_transaction
from clew.memory.files.markdown import clean, parse_block
from clew.memory.files.sync import sync
from clew.memory.governance import policy, proposals, receipts
from clew.memory.governance.draft_checks import drafted, new_faults, refuse
from clew.memory.governance.patches import ProposalDraft, read
from clew.memory.governance.policy import Approval, Count, Mode, Review
from clew.memory.governance.receipts import Receipt
from clew.memory.kinds import KINDS, check_proposal_id, check_receipt_ts
from clew.registry.callers import is_own
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, Whole, operation
from clew.registry.people import check_person
from clew.surroundings import clew_command

# Characters. The log keeps its end, which has the result; the diff keeps its beginning.
MAX_LOG = 2000
MAX_DIFF = 20_000

ProposalId = Annotated[str, Field(max_length=256, description="Proposal id, P-YYYYMMDD-NNN.")]
Reason = Annotated[str, Field(min_length=1, max_length=2000, description="Why; kept with the proposal.")]


class ApproveApply(Input):
    proposal_id: ProposalId
    dry_run: Annotated[bool, Field(description="true (default): try and show the diff; false: apply.")] = True


@operation("approve_apply", writes=True, mode="own", example={"proposal_id": "P-20260213-002"}, view=BARE)
def approve_apply(ctx: Context, args: ApproveApply) -> dict[str, Any]:
    """Apply a staged proposal; a dry run by default, which anybody may make. Applying is for a person."""
    id = check_proposal_id(args.proposal_id)
    # The contract requires these keys in an error response too; `...` marks what the error fills in.
    # `next_step` is for a dry run that passed, and nothing else; what to do about a refusal is its
    # `recovery`.
    texts = {"message": ..., "log": ..., "next_step": None}
    with failing(status=statuses.FAILED, proposal_id=id, dry_run=args.dry_run, success=False, **texts):
        sync(ctx)
        read_ahead(ctx, id)
        # A dry run takes no write lock: it reads hand edits in, and then only reads.
        if args.dry_run:
            with ctx.reading() as bound:
                return _try(bound, proposals.get(bound, id))
        with governed_transaction(ctx) as bound:
            proposal = proposals.get(bound, id)
            policy.check_decider(bound, f"applying {id}", f"approve {id}", _dry_run(id))
            return _apply(bound, proposal)


def _dry_run(id: str) -> Suggestion:
    return suggest("approve_apply", "Shows what it would change.", "medium", proposal_id=id)


def read_ahead(ctx: Context, id: str) -> None:
    """Run the model on what a proposal would bring into force, before the transaction that applies it."""
    statements: list[NewStatement] = []
    with suppress(ClewError), ctx.reading() as bound:  # errors are reported where it is applied
        draft = drafted(bound, proposals.ops_of(proposals.get(bound, id)))
        statements = [change.statement for change in detection.drafted_statements(draft)]
    detection.keep_ahead(ctx, statements)


def _try(ctx: Context, proposal: Block) -> dict[str, Any]:
    draft = _checked_draft(ctx, proposal)
    loaded = policy.load(ctx)
    if loaded.governance.governance_mode == "detect_only":
        why = f" ({loaded.problem})" if loaded.problem else ""
        ctx.warn("DETECT_ONLY", f"Mode detect_only: applying will be refused{why}", "Change it with governance.")
    message = f"Dry run passed. {_summary(draft)}"
    log = [f"proposal {proposal.id}: {proposal.get('Type')}, risk {proposal.get('Risk')}", *_steps(proposal, draft)]
    if ctx.connection.person or policy.approval(ctx) == "client":
        step = "Call again with dry_run=False to apply."
        ctx.suggest(suggest("approve_apply", "Applies it.", "high", proposal_id=proposal.id, dry_run=False))
    else:
        step = f"A person applies it, in the page's Inbox or by: {clew_command(f'approve {proposal.id}')}"
    return _answer("dry_run_passed", proposal, True, message, log, step, draft)


def _apply(ctx: Context, proposal: Block) -> dict[str, Any]:
    check_mode(ctx)
    draft = _checked_draft(ctx, proposal)
    receipt = receipts.apply(ctx, proposal, draft)
    message = f"Applied. Receipt: {receipt.ts}. Snapshot saved for rollback."
    log = [*_steps(proposal, draft), f"receipt {receipt.file}"]
    return {**_answer("applied", proposal, False, message, log, None, draft), "receipt_ts": receipt.ts}


def _checked_draft(ctx: Context, proposal: Block) -> ProposalDraft:
    """The draft of a proposal that is complete, open and can be applied now; objections become warnings."""
    draft = open_draft(ctx, proposal)
    for objection in detection.objections(ctx, draft):
        ctx.warn("OBJECTION", objection, "Apply it if that is meant; list_contradictions shows both sides afterwards.")
    over = resolutions.outlived(ctx, proposal)
    if over:
        ctx.warn("OBJECTION", f"{over}, which it was to resolve, is resolved", "Reject it; the next scan withdraws it.")
    return draft


def open_draft(ctx: Context, proposal: Block) -> ProposalDraft:
    """The draft of a proposal that is complete, open and can be applied now."""
    # A proposal that a person wrote by hand has no fingerprint; `ops_of` checks one only if it is there.
    missing = [name for name in KINDS["P"].required if name not in proposal.fields and name != "Fingerprint"]
    if missing:
        raise ClewError("CONFLICT", f"{proposal.id} lacks {', '.join(missing)}", f"Add them in {proposal.file}.")
    proposals.check_open(ctx, proposal)
    draft = drafted(ctx, proposals.ops_of(proposal))
    refuse(new_faults(ctx, draft, waiting=False))
    return draft


def check_mode(ctx: Context) -> None:
    loaded = policy.load(ctx)
    if loaded.governance.governance_mode != "detect_only":
        return
    why = f": {loaded.problem}" if loaded.problem else ""
    raise ClewError(
        "NOT_ALLOWED",
        f"mode detect_only: nothing is applied{why}",
        "Set another mode with governance, which writes it into memory/intel-state.json and, where that names one,"
        " mind-mem.json. This ends when the mode changes.",
        suggestions=[suggest("governance", "Lets approved proposals be applied.", "high", mode="propose")],
        details={"rule": "detect_only", "ends": None},
    )


def _summary(draft: ProposalDraft) -> str:
    new = [change for change in draft.changes.values() if change.before is None]
    changed = len(draft.changes) - len(new)
    parts = []
    if new:
        files = ", ".join(sorted({change.file for change in new}))
        parts.append(f"{len(new)} block{'s' if len(new) > 1 else ''} to add to {files}")
    if changed:
        parts.append(f"{changed} block{'s' if changed > 1 else ''} to change")
    return f"{'; '.join(parts)}."


def _steps(proposal: Block, draft: ProposalDraft) -> list[str]:
    done = [f"{op.op} {op.target or op.file}: ok" for op in read(proposal.fields.get("Ops"))]
    return [*done, *(f"{'changes' if c.before else 'adds'} {c.id} in {c.file}" for c in draft.changes.values())]


def _answer(
    status: str, proposal: Block, dry_run: bool, message: str, log: list[str], step: str | None, draft: ProposalDraft
) -> dict[str, Any]:
    return {
        "status": status,
        "proposal_id": proposal.id,
        "dry_run": dry_run,
        "success": True,
        "message": message,
        "log": "\n".join(log)[-MAX_LOG:],
        "next_step": step,
        "diff": shorten(draft.diff(), MAX_DIFF),
        "blocks": list(draft.changes),
    }


class RollbackProposal(Input):
    receipt_ts: Annotated[str, Field(max_length=256, description="Receipt timestamp, YYYYMMDD-HHMMSS.")]
    merge: Annotated[bool, Field(description="Keep later changes of other fields instead of refusing.")] = False
    reason: Annotated[str | None, Field(max_length=2000, description="Why; kept in the history.")] = None


@operation(
    "rollback_proposal", writes=True, mode="own", destructive=True, example={"receipt_ts": "20260218-143022"}, view=BARE
)
def rollback_proposal(ctx: Context, args: RollbackProposal) -> dict[str, Any]:
    """Take back exactly what an applied proposal changed. An agent may take back what it applied itself."""
    ts = check_receipt_ts(args.receipt_ts)
    with failing(status="rollback_failed", receipt_ts=ts, success=False, log=...), governed_transaction(ctx) as bound:
        receipt = receipts.find(bound, ts)
        if not is_own(bound, receipt.agent):
            policy.check_decider(bound, f"rolling back {ts}", f"call rollback_proposal receipt_ts={ts}")
        log = receipts.roll_back(bound, receipt, args.merge, args.reason)
        _note_names(bound, receipt)
        return {
            "status": statuses.ROLLED_BACK,
            "receipt_ts": ts,
            "success": True,
            "proposal_id": receipt.proposal,
            "log": "\n".join([f"Receipt intelligence/applied/{ts} of {receipt.proposal}", *log])[-MAX_LOG:],
        }


def _note_names(ctx: Context, receipt: Receipt) -> None:
    """Warn about blocks that still name what is gone. A rollback is not refused for it: undoing must
    always be possible."""
    for id, naming in validator.left_naming(ctx, [change["id"] for change in receipt.changes]).items():
        ctx.warn(
            "STILL_NAMED",
            f"{id} is gone and still named by {shorten(', '.join(naming), 200)};"
            " Mind-Mem applies nothing while that is so",
            "Propose an edit of what names it; scan lists what is left.",
        )


class RejectProposal(Input):
    proposal_id: ProposalId
    reason: Reason


@operation(
    "reject_proposal",
    writes=True,
    mode="own",
    example={"proposal_id": "P-20260213-002", "reason": "Too costly."},
    view=BARE,
)
def reject_proposal(ctx: Context, args: RejectProposal) -> dict[str, Any]:
    """Reject a proposal; its value stays rejected, also in other words. For a person."""
    id = check_proposal_id(args.proposal_id)
    with governed_transaction(ctx) as bound:
        policy.check_decider(bound, f"rejecting {id}", f"reject {id} --reason ...", _dry_run(id))
        done = proposals.reject(bound, id, _reason(args.reason))
        return {"status": statuses.REJECTED, "proposal_id": id, "reason": done.get("Reason")}


class DeferProposal(Input):
    proposal_id: ProposalId
    reason: Reason
    days: Annotated[Whole | None, Field(le=3650, description="For how long; default: defer_cooldown_days.")] = None


@operation(
    "defer_proposal",
    writes=True,
    mode="own",
    example={"proposal_id": "P-20260213-002", "reason": "After the release."},
    view=BARE,
)
def defer_proposal(ctx: Context, args: DeferProposal) -> dict[str, Any]:
    """Put a proposal off; until then it is neither applied nor proposed again. For a person."""
    id = check_proposal_id(args.proposal_id)
    with governed_transaction(ctx) as bound:
        command = f"call defer_proposal proposal_id={id} reason=..."
        policy.check_decider(bound, f"putting {id} off", command, _dry_run(id))
        done = proposals.defer(bound, id, _reason(args.reason), args.days)
        until = done.get("DeferredUntil")
        return {"status": statuses.DEFERRED, "proposal_id": id, "reason": done.get("Reason"), "until": until}


class ReopenProposal(Input):
    proposal_id: ProposalId


@operation("reopen_proposal", writes=True, mode="own", example={"proposal_id": "P-20260213-002"}, view=BARE)
def reopen_proposal(ctx: Context, args: ReopenProposal) -> dict[str, Any]:
    """Take up a proposal again that was put off, rejected or rolled back; it waits as before. For a person."""
    id = check_proposal_id(args.proposal_id)
    with governed_transaction(ctx) as bound:
        policy.check_decider(bound, f"taking up {id} again", f"call reopen_proposal proposal_id={id}")
        done = proposals.reopen(bound, id)
        return {"status": done.status, "proposal_id": id}


def _reason(text: str) -> str:
    return clean(text) or "no reason given"


class ListProposals(Input):
    status: Annotated[
        Literal["staged", "applied", "rejected", "deferred", "expired", "rolled_back", "any"],
        Field(description="Which ones; default: any."),
    ] = "any"
    limit: Annotated[int, Field(ge=1, le=200, description="Most to show, newest first.")] = 50


@operation("list_proposals", mode="own", view=BARE)
def list_proposals(ctx: Context, args: ListProposals) -> dict[str, Any]:
    """List proposals with what they would do, newest first."""
    sync(ctx)
    with ctx.reading() as bound:
        found = blocks.current(bound, prefix="P", status=None if args.status == "any" else args.status)
        newest = sorted(found, key=lambda block: (proposals.made_on(block), block.id), reverse=True)
        return {"proposals": [_row(bound, block) for block in newest[: args.limit]], "total": len(found)}


def _receipt_ts(ctx: Context, proposal: Block) -> str | None:
    """The receipt of an applied proposal. Mind-Mem does not name it in the proposal, so it is looked up."""
    named = proposal.get("Receipt")
    if named or proposal.status not in (statuses.APPLIED, statuses.ROLLED_BACK):
        return named or None
    found = receipts.of_proposal(ctx, proposal.id)
    return found.ts if found else None


def _row(ctx: Context, proposal: Block) -> dict[str, Any]:
    return {
        "proposal_id": proposal.id,
        "type": proposal.get("Type"),
        "status": proposal.status,
        "risk": proposal.get("Risk"),
        "target": proposal.get("TargetBlock"),
        "says": shorten(_statement(proposal), 300),
        "created": proposal.get("Created"),
        "reason": proposal.get("Reason") or None,
        "until": proposal.get("DeferredUntil") or None,
        "receipt_ts": _receipt_ts(ctx, proposal),
    }


def _statement(proposal: Block) -> str:
    try:
        ops = read(proposal.fields.get("Ops"))
    except ClewError as problem:
        return problem.message
    headlines = [blocks.headline(parse_block(op.patch).fields) for op in ops if op.patch]
    return next((text for text in headlines if text), ", ".join(f"{op.op} {op.target or op.file}" for op in ops))


class GovernanceInput(Input):
    mode: Annotated[Mode | None, Field(description="detect_only: nothing is applied; propose; enforce.")] = None
    per_run: Annotated[Count | None, Field(description="Proposals a scan may make.")] = None
    per_day: Annotated[Count | None, Field(description="Automatic proposals and applies in 24 hours.")] = None
    backlog_limit: Annotated[Count | None, Field(description="Waiting proposals above which none is made.")] = None
    defer_cooldown_days: Annotated[Count | None, Field(description="How long a deferral lasts.")] = None
    no_touch_minutes: Annotated[Count | None, Field(description="Pause between automatic applies.")] = None
    auto_apply_low_risk: Annotated[
        bool | None, Field(description="Whether mode enforce applies low-risk proposals by itself.")
    ] = None
    review: Annotated[
        Review | None, Field(description="What remember stages: risk (contradicts, replaces another's) or all.")
    ] = None
    approval: Annotated[
        Approval | None, Field(description="Who decides about proposals: person, or client (nothing waits).")
    ] = None


@operation("governance", writes=True, mode="own", idempotent=True, view=BARE)
def governance(ctx: Context, args: GovernanceInput) -> dict[str, Any]:
    """Show the governance mode, who approves, budgets and waiting times; a person changes them."""
    given = args.model_dump(exclude_none=True, exclude={"workspace"})
    if not given:
        sync(ctx)
        with ctx.reading() as bound:
            return _settings(bound)
    words = " ".join(f"{name}={canonical(value)}" for name, value in given.items())
    check_person(ctx, "changing governance", f"call governance {words}", suggest("governance", "Shows it."))
    with governed_transaction(ctx) as bound:
        step = _change(bound, given)
        return {**_settings(bound), **without_none(next_step=step or None)}


def _change(ctx: Context, given: dict[str, Any]) -> str | None:
    """Write the given settings; returns the next step for the user, if any."""
    chosen = given.pop("approval", None)
    if chosen is not None:
        policy.save_approval(ctx, chosen)
    if not given:
        return None
    ctx.emit("memory", "governance_changed", None, dict(given))
    known = policy.stated(ctx).model_dump()
    budget = {**known["proposal_budget"], **{k: v for k, v in given.items() if k in known["proposal_budget"]}}
    rest = {k: v for k, v in given.items() if k in known}
    mode = {"governance_mode": given["mode"]} if "mode" in given else {}
    policy.save(ctx, policy.Governance.model_validate({**known, **rest, **mode, "proposal_budget": budget}))
    return policy.save_mode(ctx, given["mode"]) if "mode" in given else None


def _settings(ctx: Context) -> dict[str, Any]:
    loaded = policy.load(ctx)
    shown = {**loaded.governance.model_dump(), "approval": policy.approval(ctx)}
    return {**shown, "problem": loaded.problem} if loaded.problem else shown
