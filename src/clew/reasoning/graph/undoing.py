"""Restores what a write changed in the graph: nodes and edges as they were before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clew.ids import SESSION
from clew.reasoning.branches import Branch, branch_by_id
from clew.reasoning.graph.reads import edge, node
from clew.reasoning.graph.state import Edge, Node
from clew.reasoning.graph.writes import RESERVED, write_edge, write_node
from clew.registry.context import Context
from clew.registry.write_log import LoggedWrite, Undone, changed_since, undoer
from clew.store.events import last_authors

OF_WORK = (*RESERVED, "plan:")
"""Nodes that tasks write and restore."""
HANDLED = frozenset({"card_written", "card_changed", "card_linked", "card_published", "graph_applied"})


@dataclass(frozen=True, slots=True)
class ChangedNode:
    """A node that a write changed: before it, after it, and now."""

    branch: Branch
    doc: str
    id: str
    before: Node | None
    after: Node | None
    now: Node | None

    @property
    def is_card(self) -> bool:
        """Nodes of work and of thoughts are written by their own packages, which restore them too."""
        return not self.id.startswith(OF_WORK) and SESSION.match(self.id) is None


def changed_nodes(ctx: Context, write: LoggedWrite) -> Iterator[ChangedNode]:
    sql = "SELECT DISTINCT branch, doc, id FROM node WHERE workspace = ? AND seq >= ? AND seq <= ? ORDER BY id"
    for row in ctx.tx.all(sql, ctx.workspace, write.first_seq, write.last_seq):
        branch = branch_by_id(ctx, row["branch"])
        before, after = (node(ctx, branch, row["doc"], row["id"], as_of=seq) for seq in write.ends)
        yield ChangedNode(branch, row["doc"], row["id"], before, after, node(ctx, branch, row["doc"], row["id"]))


@undoer("graph")
def undo_graph(ctx: Context, write: LoggedWrite) -> Undone:
    changed = [item for item in changed_nodes(ctx, write) if item.is_card]
    edges = _undo_edges(ctx, write)
    for item in changed:
        if _content(item.now) != _content(item.after):
            raise changed_since(item.id, last_authors(ctx.tx, ctx.workspace, [item.id]).get(item.id))
        if item.before is not None:
            write_node(ctx, item.branch, item.doc, item.before)
        elif item.now is not None:
            write_node(ctx, item.branch, item.doc, replace(item.now, deleted=True))
    if not changed and not edges:
        return Undone()
    told = [_phrase(item) for item in changed]
    return Undone((*told, *(edges if not told else ())), HANDLED)


def _content(state: Node | Edge | None) -> object:
    return state.content() if state is not None else None


def _phrase(item: ChangedNode) -> str:
    return f"removed {item.id}" if item.before is None else f"{item.id} is {item.before.status or 'as before'} again"


def _undo_edges(ctx: Context, write: LoggedWrite) -> list[str]:
    sql = (
        "SELECT DISTINCT branch, doc, from_id, rel, to_id FROM edge"
        " WHERE workspace = ? AND seq >= ? AND seq <= ? ORDER BY from_id, rel, to_id"
    )
    told = []
    for row in ctx.tx.all(sql, ctx.workspace, write.first_seq, write.last_seq):
        key = (row["from_id"], row["rel"], row["to_id"])
        if any(end.startswith(OF_WORK) or SESSION.match(end) for end in (key[0], key[2])):
            continue
        branch = branch_by_id(ctx, row["branch"])
        before, after = (edge(ctx, branch, row["doc"], key, as_of=seq) for seq in write.ends)
        now = edge(ctx, branch, row["doc"], key)
        if _content(now) != _content(after):
            raise changed_since(key[0], last_authors(ctx.tx, ctx.workspace, [key[0]]).get(key[0]))
        if before is not None:
            write_edge(ctx, branch, row["doc"], before)
        elif now is not None:
            write_edge(ctx, branch, row["doc"], replace(now, deleted=True))
            told.append(f"unlinked {key[0]} {key[1]} {key[2]}")
    return told
