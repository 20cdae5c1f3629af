"""Taking a block back: applied at once where it is the caller's own, otherwise staged for somebody to agree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clew.errors import ClewError, suggest
from clew.ids import PROPOSAL, kind_by_form
from clew.memory import blocks, signals
from clew.memory.blocks import Block
from clew.memory.files.writes import governed
from clew.memory.governance import policy, proposals, receipts
from clew.memory.governance.patches import Op, drafted
from clew.memory.governance.proposals import Staged
from clew.registry.callers import is_own
from clew.registry.context import Context
from clew.registry.record import Retracted, Retraction, retracter, writer

ENDS = ("retracted", "revoked", "canceled", "resolved", "rejected")
"""Statuses that mean `taken back`. A block gets the first one that its kind knows."""


@writer("block")
@contextmanager
def in_files(ctx: Context) -> Iterator[Context]:
    """Blocks stand in files too: hand edits are read first, and the files are written afterwards."""
    with governed(ctx) as bound:
        yield bound


@retracter("block")
def retract_block(ctx: Context, id: str, said: Retraction) -> Retracted:
    if PROPOSAL.fullmatch(id):
        return _withdrawn(ctx, id, said)
    block = blocks.get(ctx, id)
    ops = _ops(ctx, block, said)
    status = ops[0].status
    if block.status == status:
        return Retracted(status, note=f"it was {status} already")
    proposal = proposals.stage(ctx, Staged("edit", id, ops, (said.line,), said.line))
    waiting = _waits_for(ctx, block)
    if waiting is not None:
        return Retracted("proposed", proposal.id, waiting)
    receipt = receipts.apply(ctx, proposal, drafted(ctx, list(ops)))
    _drop_waiting(ctx, id, said)
    return Retracted(status, note=f"rollback_proposal receipt_ts={receipt.ts} takes this back")


def _ops(ctx: Context, block: Block, said: Retraction) -> tuple[Op, ...]:
    known = block.kind.statuses
    status = "superseded" if said.replaced_by and "superseded" in known else _end(known)
    history = f"{blocks.day_of(ctx.now_ms)} {status}: {said.line}"
    ended = Op("set_status", target=block.id, status=status, history=history)
    if status != "superseded" or kind_by_form(said.replaced_by or "") != "block":
        return (ended,)
    # The block names its successor, so that recall folds it under that one.
    return (ended, Op("replace_block", target=block.id, value=said.replaced_by or ""))


def _end(known: tuple[str, ...]) -> str:
    return next((status for status in ENDS if status in known), ENDS[0])


def _waits_for(ctx: Context, block: Block) -> str | None:
    """Why the retraction of a block needs somebody else's word; None when it may be applied now."""
    if policy.load(ctx).governance.governance_mode == "detect_only":
        return "mode detect_only: nothing is applied"
    if "enforcement: invariant" in block.text:
        return f"{block.id} is an invariant"
    author = blocks.history(ctx, block.id)[0].agent
    return None if is_own(ctx, author) else f"{block.id} is {author or 'somebody'}'s"


def _drop_waiting(ctx: Context, id: str, said: Retraction) -> None:
    """What still waited to make the block hold falls with it: nobody may approve it back to life by accident."""
    for waiting in blocks.current(ctx, prefix="P", status="staged"):
        if waiting.get("TargetBlock") == id:
            _withdraw(ctx, waiting, said)


def _withdraw(ctx: Context, proposal: Block, said: Retraction) -> None:
    proposals.mark_status(ctx, proposal, "expired", Reason=f"withdrawn: {said.line}")
    signals.set_status(ctx, proposal.get("Signal"), "resolved", proposal.id)


def _withdrawn(ctx: Context, id: str, said: Retraction) -> Retracted:
    """A proposal that waits is withdrawn. Unlike a rejection this says nothing against proposing the same again."""
    proposal = proposals.get(ctx, id)
    if proposal.status not in proposals.OPEN:
        raise ClewError(
            "CONFLICT",
            f"{id} is {proposal.status}; only a proposal that waits can be withdrawn",
            "Retract the block that it wrote, or roll its receipt back.",
            suggestions=[suggest("open", "Shows the proposal.", "high", id=id)],
        )
    _withdraw(ctx, proposal, said)
    return Retracted("withdrawn")
