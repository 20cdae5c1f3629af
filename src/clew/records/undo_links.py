"""Reverts a write's changes to links between stores, retractions and the Inbox."""

from __future__ import annotations

from clew.registry.context import Context
from clew.registry.write_log import LoggedWrite, Undone, undoer
from clew.store.workspaces import declare_events

declare_events(
    {
        "records_unlinked": "A link between two records was removed by undoing the write that made it.",
        "write_undone": "An author took his own last write back.",
    }
)
HANDLED = frozenset({"records_linked", "record_retracted", "record_restored", "matter_put_off"})


@undoer("records")
def undo_links(ctx: Context, write: LoggedWrite) -> Undone:
    span = (ctx.workspace, write.first_seq, write.last_seq)
    where = "workspace = ? AND seq >= ? AND seq <= ?"
    links = ctx.tx.all(f"SELECT from_id, rel, to_id FROM record_link WHERE {where} ORDER BY seq", *span)
    retracted = ctx.tx.all(f"SELECT id FROM retraction WHERE {where}", *span)
    later = ctx.tx.all(f"SELECT id, kind FROM inbox_later WHERE {where}", *span)
    lifted = "SELECT id FROM retraction WHERE workspace = ? AND lifted_seq >= ? AND lifted_seq <= ?"
    restored = ctx.tx.all(lifted, *span)
    for table in ("record_link", "retraction", "inbox_later"):
        ctx.tx.run(f"DELETE FROM {table} WHERE {where}", *span)
    again = "UPDATE retraction SET lifted_seq = NULL WHERE workspace = ? AND lifted_seq >= ? AND lifted_seq <= ?"
    ctx.tx.run(again, *span)
    for link in links:
        ctx.emit("records", "records_unlinked", link["from_id"], {"rel": link["rel"], "to": link["to_id"]})
    told = [f"{row['id']} waits again" for row in later]
    return Undone(tuple(told), HANDLED) if links or retracted or restored or later else Undone()
