"""propose_update and propose_edit: they record a signal and stage a proposal, but change no decision or task.

Retracting a block is a proposal too: applied at once if the block is the caller's own, otherwise staged
for approval.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import PROPOSAL, kind_by_form, normal_tags
from clew.kinds import statuses
from clew.kinds.kind import Kind
from clew.memory import blocks, signals
from clew.memory.blocks import Block
from clew.memory.contradictions import detection
from clew.memory.contradictions.detection import NewStatement
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.markdown import clean, print_block
from clew.memory.governance import policy, proposals, receipts
from clew.memory.governance.draft_checks import drafted
from clew.memory.governance.ownership import whose
from clew.memory.governance.patches import KINDS as OP_KINDS
from clew.memory.governance.patches import UNTAGGED, Op, digest
from clew.memory.governance.proposals import Staged
from clew.memory.kinds import KINDS, check_block_id, kind_of
from clew.memory.marks import mark
from clew.registry.callers import is_own
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, StrictModel, operation
from clew.registry.record import Retracted, Retraction, retracter, writer
from clew.secrets import screened

SIGNALS_FILE = KINDS["SIG"].file
SAFETY = "This signal is in SIGNALS.md only. It has NOT been written to DECISIONS.md or TASKS.md."
Confidence = Literal["high", "medium", "low"]
Words = Annotated[str, Field(max_length=20_000)]


class ProposeUpdate(Input):
    block_type: Annotated[str, Field(max_length=64, description="decision or task.")]
    statement: Annotated[Words, Field(description="What is decided, or what is to be done.")]
    rationale: Annotated[Words, Field(description="Why.")] = ""
    tags: Annotated[str, Field(max_length=2000, description="Comma-separated tags.")] = ""
    confidence: Annotated[Confidence, Field(description="high, medium or low: priority P1, P2, P3.")] = "medium"
    supersedes: Annotated[str | None, Field(max_length=140, description="Decision that this one replaces.")] = None
    scope: Annotated[str, Field(max_length=200, description="global, project:x or channel:x.")] = "global"
    review_by: Annotated[
        str | None, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="Date by which to look at it again.")
    ] = None


@operation(
    "propose_update",
    writes=True,
    mode="own",
    example={"block_type": "decision", "statement": "Use Redis for session caching"},
    view=BARE,
)
def propose_update(ctx: Context, args: ProposeUpdate) -> dict[str, Any]:
    """Propose a decision or task: records a signal and stages a proposal for approve_apply."""
    if args.block_type not in ("decision", "task"):
        raise ClewError(
            "INVALID_INPUT",
            f"block_type must be 'decision' or 'task', got {shorten(args.block_type, 40)!r}",
            "Use decision or task; propose_edit proposes blocks of other kinds.",
            [{"kind": "choice", "field": "block_type", "expected": "'decision' or 'task'"}],
        )
    if args.block_type == "decision":
        detection.keep_ahead(ctx, [NewStatement("D", clean(args.statement))])
    with governed_transaction(ctx, SIGNALS_FILE) as bound:
        statement, rationale = _screened(bound, args.statement), _screened(bound, args.rationale)
        if not statement:
            raise invalid("statement", "must not be empty", "Say what is decided or to be done.", kind="non_empty")
        return _propose(bound, args, statement, rationale)


def _screened(ctx: Context, text: str) -> str:
    masked, count = screened(clean(text))
    ctx.note_masked(count)
    return masked


def _propose(ctx: Context, args: ProposeUpdate, statement: str, rationale: str) -> dict[str, Any]:
    proposals.check_not_rejected(ctx, statement)
    repeated = _duplicate_answer(ctx, args.block_type, statement)
    if repeated is not None:
        return repeated
    prefix = "D" if args.block_type == "decision" else "T"
    # Both ids are allocated first, because the signal names the proposal and the proposal names the signal.
    block_id, proposal_id = blocks.dated_id(ctx, prefix), blocks.dated_id(ctx, "P")
    tags = _tags(args.tags)
    signal = signals.record(
        ctx,
        kind=args.block_type,
        excerpt=statement,
        source="propose_update",
        confidence=args.confidence,
        tags=tags,
        rationale=rationale,
        proposal=proposal_id,
        action=f"review {proposal_id}: approve_apply, reject_proposal or defer_proposal",
    )
    said = Said(statement, rationale, tags, signal.id, args.confidence, args.review_by, args.scope, args.supersedes)
    text = (task_text if args.block_type == "task" else decision_text)(ctx, block_id, said)
    proposal = proposals.stage(ctx, _staged(ctx, args, block_id, text, signal, rationale), proposal_id)
    _note_backlog(ctx)
    applied = receipts.apply_if_allowed(ctx, proposal, args.confidence)
    return {**_answer(1, signal.id, proposal_id, block_id), "fingerprint": proposal.get("Fingerprint"), **applied}


def _tags(given: str) -> list[str]:
    """The caller's tags, without duplicates. They are written to a file that people read, so order and
    case are kept."""
    written = [tag for part in given.split(",") if (tag := part.strip())]
    normal_tags(written)  # refuses an invalid tag
    first: dict[str, str] = {}
    for tag in written:
        first.setdefault(tag.lower(), tag)
    return list(first.values())


def _staged(ctx: Context, args: ProposeUpdate, block_id: str, text: str, signal: Block, rationale: str) -> Staged:
    evidence = (f"{signal.id} ({args.confidence} confidence)", *((rationale,) if rationale else ()))
    file = kind_of(block_id).file
    if args.supersedes is None:
        op = Op("append_block", file=file, patch=text)
    else:
        old = blocks.get(ctx, check_block_id(args.supersedes, "supersedes"))
        op = Op("supersede_decision", file=old.file, target=old.id, patch=text)
    return Staged(args.block_type, block_id, (op,), evidence, rationale, signal=signal.id)


def _duplicate_answer(ctx: Context, block_type: str, statement: str) -> dict[str, Any] | None:
    """The response if a live block or a pending signal already says this; else None."""
    prefix = "D" if block_type == "decision" else "T"
    live = [b for b in blocks.with_mark(ctx, prefix, mark(statement)) if b.status in b.kind.live]
    if live:
        said = f"{live[0].id} already says this and is {live[0].status}."
        return _duplicate(live[0].id, said, None, None, live[0].id)
    signal = signals.waiting(ctx, statement)
    if signal is None or signal.get("Type") != f"auto-capture-{block_type}":
        return None
    proposal = blocks.find(ctx, signal.get("Proposal"))
    if proposal is None or proposal.status not in proposals.OPEN:
        return None
    if proposal.status == statuses.DEFERRED:
        # A deferral that still runs refuses the repetition and reports its end.
        proposals.check_open(ctx, proposal)
    message = f"{signal.id} already says this; {proposal.id} waits for review."
    return _duplicate(signal.id, message, signal.id, proposal.id, proposal.get("TargetBlock"))


def _duplicate(of: str, message: str, signal: str | None, proposal: str | None, block: str) -> dict[str, Any]:
    safety = {} if proposal else {"safety": "Nothing was written."}
    return {**_answer(0, signal, proposal, block), **safety, "duplicate_of": of, "message": message}


def _answer(written: int, signal: str | None, proposal: str | None, block: str) -> dict[str, Any]:
    return {
        "status": statuses.PROPOSED,
        "written": written,
        "location": SIGNALS_FILE,
        "next_step": proposals.next_step(proposal) if proposal else "Nothing to do.",
        "safety": SAFETY,
        "signal_id": signal,
        "proposal_id": proposal,
        "block_id": block,
    }


def _note_backlog(ctx: Context) -> None:
    limit = policy.load(ctx).governance.proposal_budget.backlog_limit
    waiting = blocks.count(ctx, "P", ["staged"])
    if waiting > limit:
        ctx.warn(
            "BACKLOG",
            f"{waiting} proposals wait for review, more than backlog_limit {limit}; until it is smaller,"
            " nothing is proposed automatically",
            "Review some: list_proposals, then approve_apply, reject_proposal or defer_proposal.",
        )


class OpInput(StrictModel):
    op: Annotated[str, Field(max_length=40, description=f"One of {', '.join(OP_KINDS)}.")]
    file: Annotated[str, Field(max_length=300)] = ""
    target: Annotated[str, Field(max_length=140)] = ""
    field: Annotated[str, Field(max_length=100)] = ""
    value: Words = ""
    list: Annotated[str, Field(max_length=100)] = ""
    item: Words = ""
    status: Annotated[str, Field(max_length=40)] = ""
    history: Words = ""
    start: Annotated[str, Field(max_length=2000)] = ""
    end: Annotated[str, Field(max_length=2000)] = ""
    patch: Annotated[str, Field(max_length=100_000)] = ""


class ProposeEdit(Input):
    ops: Annotated[list[OpInput], Field(min_length=1, max_length=50, description="Changes, done in this order.")]
    rationale: Annotated[Words, Field(min_length=1, description="Why.")]


@operation(
    "propose_edit",
    writes=True,
    mode="own",
    example={
        "ops": [{"op": "append_block", "file": "entities/tools.md", "patch": "[TOOL-redis]\nName: Redis"}],
        "rationale": "We use it.",
    },
    view=BARE,
)
def propose_edit(ctx: Context, args: ProposeEdit) -> dict[str, Any]:
    """Propose a change of existing blocks, or new blocks of any kind, by operations."""
    with governed_transaction(ctx) as bound:
        ops = proposals.completed(bound, [_op(bound, item) for item in args.ops])
        target = next((op.target for op in ops if op.target), "new")
        twin = proposals.twin(bound, digest("edit", target, list(ops)))
        if twin is not None:
            return _same_edit(bound, twin)
        rationale = _screened(bound, args.rationale)
        proposal = proposals.stage(bound, Staged("edit", target, ops, (rationale,), rationale))
        # After staging, because only the staged block has the statement; a refusal rolls the transaction back.
        proposals.check_not_rejected(bound, proposals.statement_of(proposal))
        return _edit_answer(proposal, 1)


def _edit_answer(proposal: Block, written: int) -> dict[str, Any]:
    return {
        "status": statuses.PROPOSED,
        "written": written,
        "proposal_id": proposal.id,
        "risk": proposal.get("Risk"),
        "fingerprint": proposal.get("Fingerprint"),
        "location": proposal.file,
        "next_step": proposals.next_step(proposal.id),
    }


def _same_edit(ctx: Context, twin: Block) -> dict[str, Any]:
    """The response if an open proposal already does exactly this; a deferred one is refused with its end."""
    proposals.check_open(ctx, twin)
    ctx.suggest(suggest("approve_apply", "Shows what it would do.", "high", proposal_id=twin.id))
    return {
        **_edit_answer(twin, 0),
        "duplicate_of": twin.id,
        "message": f"{twin.id} proposes exactly this already.",
    }


def _op(ctx: Context, item: OpInput) -> Op:
    """An operation from the caller's input, with secrets masked in the parts that contain free text."""
    raw = item.model_dump()
    for name in ("value", "item", "history", "patch"):
        raw[name] = _screened(ctx, raw[name])
    return Op(**raw)


class Said(NamedTuple):
    """The content of a new decision or task, and its source."""

    statement: str
    rationale: str
    tags: list[str]
    source: str
    confidence: str
    review_by: str | None = None
    scope: str = "global"
    supersedes: str | None = None


def decision_text(ctx: Context, id: str, said: Said) -> str:
    return print_block(
        id,
        {
            "Date": blocks.day_of(ctx.now_ms),
            "Status": "active",
            "Scope": clean(said.scope) or "global",
            "Statement": said.statement,
            "Rationale": said.rationale or "not given",
            "Supersedes": said.supersedes or "none",
            "Tags": ", ".join(said.tags) or UNTAGGED,
            "Priority": signals.PRIORITIES.get(said.confidence),
            "ReviewBy": said.review_by,
            "Sources": [said.source],
        },
    )


def task_text(ctx: Context, id: str, said: Said) -> str:
    today = blocks.day_of(ctx.now_ms)
    return print_block(
        id,
        {
            "Date": today,
            "Title": said.statement,
            "Status": "todo",
            "Priority": signals.PRIORITIES.get(said.confidence, "P2"),
            "Project": "none",
            "Due": "none",
            "Owner": "bot",
            "Context": said.rationale or "not given",
            "Next": "none",
            "Dependencies": "none",
            "Tags": ", ".join(said.tags),
            "ReviewBy": said.review_by,
            "Sources": [said.source],
            "History": [f"{today}: proposed"],
        },
    )


ENDS = (statuses.RETRACTED, statuses.REVOKED, statuses.CANCELED, statuses.RESOLVED, statuses.REJECTED)
"""Statuses that mean `retracted`. A block gets the first one that its kind allows."""


@writer("block")
@contextmanager
def in_files(ctx: Context) -> Iterator[Context]:
    """A transaction around a retraction of blocks: reads hand edits first, writes the files afterwards."""
    with governed_transaction(ctx) as bound:
        yield bound


@retracter("block")
def retract_block(ctx: Context, id: str, said: Retraction) -> Retracted:
    if PROPOSAL.fullmatch(id):
        return _withdraw_by_id(ctx, id, said)
    block = blocks.get(ctx, id)
    ops = _ops(ctx, block, said)
    status = ops[0].status
    if block.status == status:
        return Retracted(status, note=f"it was {status} already")
    proposal = proposals.stage(ctx, Staged("edit", id, ops, (said.line,), said.line))
    waiting = waits_for(ctx, block)
    if waiting is not None:
        return Retracted("proposed", proposal.id, waiting)
    receipts.apply(ctx, proposal, drafted(ctx, list(ops)))
    _drop_waiting(ctx, id, said)
    return Retracted(status, note=f"restore id={id} takes this back")


def _ops(ctx: Context, block: Block, said: Retraction) -> tuple[Op, ...]:
    known = block.kind.statuses
    status = statuses.SUPERSEDED if said.replaced_by and statuses.SUPERSEDED in known else ending_of(block.kind)
    history = f"{blocks.day_of(ctx.now_ms)} {status}: {said.line}"
    ended = Op("set_status", target=block.id, status=status, history=history)
    if status != statuses.SUPERSEDED or kind_by_form(said.replaced_by or "") != "block":
        return (ended,)
    # The block names its successor, so that recall shows it under that one.
    return (ended, Op("replace_block", target=block.id, value=said.replaced_by or ""))


def ending_of(kind: Kind) -> str:
    """The status of a withdrawn block of this kind."""
    return next((status for status in ENDS if status in kind.statuses), ENDS[0])


def waits_for(ctx: Context, block: Block) -> str | None:
    """Why withdrawing or restoring a block needs approval; None if it may be applied now."""
    if policy.load(ctx).governance.governance_mode == "detect_only":
        return "mode detect_only: nothing is applied"
    if "enforcement: invariant" in block.text:
        return f"{block.id} is an invariant"
    owner = whose(ctx, block)
    return f"{block.id} is {owner}" if owner else None


def _drop_waiting(ctx: Context, id: str, said: Retraction) -> None:
    """Withdraw the open proposals for a retracted block, so that approving one cannot restore it."""
    for waiting in blocks.current(ctx, prefix="P", status=statuses.STAGED):
        if waiting.get("TargetBlock") == id:
            _withdraw(ctx, waiting, said)


def _withdraw(ctx: Context, proposal: Block, said: Retraction) -> None:
    proposals.mark_status(ctx, proposal, statuses.EXPIRED, Reason=f"withdrawn: {said.line}")
    signals.set_status(ctx, proposal.get("Signal"), statuses.RESOLVED, proposal.id)


def _withdraw_by_id(ctx: Context, id: str, said: Retraction) -> Retracted:
    """Withdraw an open proposal. Unlike a rejection this leaves no tombstone: it may be proposed again."""
    proposal = proposals.get(ctx, id)
    if not is_own(ctx, proposals.proposer(ctx, proposal)):
        policy.check_decider(ctx, f"withdrawing {id} of somebody else", f"reject {id} --reason ...")
    if proposal.status not in proposals.OPEN:
        raise ClewError(
            "CONFLICT",
            f"{id} is {proposal.status}; only a proposal that waits can be withdrawn",
            "Retract the block that it wrote, or roll its receipt back.",
            suggestions=[suggest("open", "Shows the proposal.", "high", id=id)],
        )
    _withdraw(ctx, proposal, said)
    # The proposal is closed, so the record it was about must not be left as proposed.
    proposals.reject_record(ctx, proposals.record_of(ctx, proposal), id)
    return Retracted(statuses.WITHDRAWN)
