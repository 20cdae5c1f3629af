"""Reverts a write's changes to governed memory: blocks, receipts, rejections."""

from __future__ import annotations

from collections.abc import Sequence

from clew.errors import suggest
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.governance import proposals
from clew.memory.governance.ownership import whose
from clew.registry.context import Context
from clew.registry.people import check_person
from clew.registry.write_log import LoggedWrite, Undone, changed_since, is_of_this_session, undoer

ORIGIN = "undo"
DERIVED = ("C", "DREF")
"""Prefixes of blocks that are derived from others: they are computed again."""
HANDLED = frozenset(
    {
        *("block_written", "block_removed", "fact_reviewed"),
        *("proposal_staged", "proposal_applied", "proposal_rejected", "proposal_deferred"),
        *("proposal_rolled_back", "proposal_reopened"),
    }
)


@undoer("memory")
def undo_blocks(ctx: Context, write: LoggedWrite) -> Undone:
    """Restore every block to its state before the write, and update what depends on it."""
    changed = [versions for versions in _changed(ctx, write) if versions[-1].kind.prefix not in DERIVED]
    backs = [(versions[-1].id, _before(ctx, write, versions)) for versions in changed]
    for id, back in backs:
        if back is not None:
            blocks.write(ctx, id, back.text, origin=ORIGIN, file=back.file)
        elif blocks.find(ctx, id) is not None:
            blocks.remove(ctx, id, origin=ORIGIN)
    _undo_decisions(ctx, write)
    # A record that was applied at once has a receipt and no proposal.
    ctx.tx.run(_OWN_RECEIPTS, ctx.now_ms, ctx.workspace, write.first_seq, write.last_seq)
    proposals.follow_changes(ctx, [id for id, _ in backs])
    return Undone(tuple(_phrase(id, back) for id, back in backs if _is_told(id)), HANDLED if changed else frozenset())


def _changed(ctx: Context, write: LoggedWrite) -> list[list[Block]]:
    """The versions of each block up to the last one of the write, oldest first, by id."""
    sql = "SELECT DISTINCT id FROM block WHERE workspace = ? AND seq >= ? AND seq <= ? AND origin <> 'edit' ORDER BY id"
    ids = [row["id"] for row in ctx.tx.all(sql, ctx.workspace, write.first_seq, write.last_seq)]
    return [blocks.history(ctx, id) for id in ids]


def _before(ctx: Context, write: LoggedWrite, versions: Sequence[Block]) -> Block | None:
    """The block before the write; refused if it was changed since."""
    made = [version for version in versions if write.has_seq(version.seq)][-1]
    now = versions[-1]
    if (now.text, now.file, now.gone) != (made.text, made.file, made.gone):
        raise changed_since(now.id, now.agent, now.origin == "edit")
    if not is_of_this_session(ctx, write):
        _check_owner(ctx, now)
    earlier = [version for version in versions if version.seq < write.first_seq]
    return earlier[-1] if earlier and not earlier[-1].gone else None


def _check_owner(ctx: Context, block: Block) -> None:
    """Prevent a later session of an agent from undoing records in force that are not its own, such as a rule."""
    holds = not block.gone and block.kind.state(block.status).is_live
    owner = whose(ctx, block) if holds else None
    if owner is not None:
        way = suggest("retract", "Proposes to withdraw it.", "high", id=block.id, why="It was kept by mistake.")
        check_person(ctx, f"taking back {block.id} ({owner})", f"call retract id={block.id}", way)


def _undo_decisions(ctx: Context, write: LoggedWrite) -> None:
    """Undo what is stored of applied, rolled back, rejected and reopened proposals outside of their blocks."""
    for event in write.events(ctx):
        if event.type == "proposal_rejected":
            ctx.tx.run(_UNBURY, ctx.workspace, event.subject)
        elif event.type == "proposal_reopened" and event.payload.get("was") == statuses.REJECTED:
            proposal = proposals.get(ctx, event.subject or "")
            record = blocks.find(ctx, proposal.get("TargetBlock"))
            reason = proposal.get("Reason") or "rejected"
            proposals.bury(ctx, proposals.statement_of(proposal, record), proposal.id, reason, by=ctx.agent)
        elif event.type in ("proposal_applied", "proposal_rolled_back"):
            rolled = ctx.now_ms if event.type == "proposal_applied" else None
            ctx.tx.run(_ROLLED, rolled, ctx.workspace, event.payload.get("receipt_ts"))


_UNBURY = "DELETE FROM tombstone WHERE workspace = ? AND proposal = ?"
_ROLLED = "UPDATE receipt SET rolled_back_at_ms = ? WHERE workspace = ? AND ts = ?"
_OWN_RECEIPTS = (
    "UPDATE receipt SET rolled_back_at_ms = ? WHERE workspace = ? AND seq >= ? AND seq <= ?"
    " AND rolled_back_at_ms IS NULL"
)


def _phrase(id: str, back: Block | None) -> str:
    if back is None:
        return f"removed {id}"
    state = back.kind.state(back.status)
    return f"{id} is {state.value} again"


def _is_told(id: str) -> bool:
    return not id.startswith(("AR-", "SIG-"))
