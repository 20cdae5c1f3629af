"""Undoes what a write changed in thoughts. A thought is never removed: an added one is withdrawn."""

from __future__ import annotations

from clew.index.item_reads import item_named
from clew.index.items import mark_item
from clew.kinds import statuses
from clew.ledger.sessions import session_named
from clew.ledger.thought_links import set_node_status
from clew.ledger.thought_rows import Thought, thought_by_seq
from clew.reasoning.graph.undoing import ChangedNode, changed_nodes
from clew.registry.context import Context
from clew.registry.write_log import LoggedWrite, Undone, undoer

HANDLED = frozenset({"thought_added", "thought_branched", "thought_revised"})


@undoer("ledger")
def undo_thoughts(ctx: Context, write: LoggedWrite) -> Undone:
    """Withdraw new thoughts; restore those that the write revised, disproved or withdrew."""
    sql = "SELECT seq FROM thought WHERE workspace = ? AND seq >= ? AND seq <= ? ORDER BY seq"
    seqs = [int(row["seq"]) for row in ctx.tx.all(sql, ctx.workspace, write.first_seq, write.last_seq)]
    added = [thought for seq in seqs if (thought := thought_by_seq(ctx, seq)) is not None]
    own = {thought.node_id for thought in added}
    # Read before anything is written, which would be newer than the write.
    others = [item for item in changed_nodes(ctx, write) if not item.is_card and item.id not in own]
    told = [f"withdrawn {thought.node_id}" for thought in added]
    for thought in added:
        _mark(ctx, thought, statuses.RETRACTED)
    for item in others:
        told += _restored(ctx, item)
    return Undone(tuple(told), HANDLED) if told else Undone()


def _restored(ctx: Context, item: ChangedNode) -> list[str]:
    before = item.before.status if item.before is not None else None
    thought = _thought(ctx, item.id)
    if thought is None or item.now is None or item.now.status == before:
        return []
    _mark(ctx, thought, before)
    return [f"{item.id} is {before or 'in force'} again"]


def _mark(ctx: Context, thought: Thought, status: str | None) -> None:
    set_node_status(ctx, session_named(ctx, thought.session), thought.point, status)
    mark_item(ctx.tx, ctx.workspace, thought.node_id, status)


def _thought(ctx: Context, id: str) -> Thought | None:
    row = item_named(ctx.tx, ctx.workspace, id)
    return thought_by_seq(ctx, int(row["seq"])) if row is not None and row["source"] == "thought" else None
