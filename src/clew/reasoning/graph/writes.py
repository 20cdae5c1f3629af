"""Writing nodes and edges: each change is a new version with its own entry, and ends the version before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import ClewError, invalid, suggest, unknown_id
from clew.ids import check_kind, check_node_id, normal_tags
from clew.index.item_reads import source_of
from clew.index.items import Item, index_item, index_items, unindex_item
from clew.index.substrings import index_substrings
from clew.reasoning.anchors.registry import register_tags
from clew.reasoning.branches import Branch
from clew.reasoning.documents import GRAPH, append
from clew.reasoning.graph.reads import edge, edges_at, locate, node
from clew.reasoning.graph.state import CARD_TYPES, Edge, Node, folded
from clew.reasoning.scope import Target, resolve_scope
from clew.reasoning.visibility import filed_tags, is_canonical
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, Names, StrictModel, Text, Title, operation
from clew.store.database import Transaction, placeholders, transferred
from clew.store.rows import columns, encoded
from clew.store.workspaces import declare_events, find_workspace, workspace_names

NODE_UPSERT, NODE_DELETE = "graph_node_upsert", "graph_node_delete"
EDGE_UPSERT, EDGE_DELETE = "graph_edge_upsert", "graph_edge_delete"


def put_node(
    ctx: Context,
    branch: Branch,
    doc: str,
    *,
    id: str,
    type: str,
    title: str | None = None,
    text: str | None = None,
    status: str | None = None,
    tags: Sequence[str] = (),
    meta: dict[str, Any] | None = None,
    findable: bool = True,
) -> Node:
    """Write a node's next version on this branch. Fields that are not given are empty.

    `findable=False` is for a node whose id belongs to another record, which writes the search item itself.
    """
    kind, how = check_kind(type, "type"), check_kind(status, "status") if status is not None else None
    content = (check_node_id(id), kind, title, text, how, tuple(normal_tags(list(tags))), meta)
    return write_node(ctx, branch, doc, Node(*content, deleted=False, last_seq=0, last_ts_ms=0), findable)


def drop_node(ctx: Context, branch: Branch, doc: str, id: str) -> tuple[Node, list[Edge]]:
    """Delete a node and its edges by writing deleted versions; returns these."""
    current = node(ctx, branch, doc, id)
    if current is None:
        raise _missing("node", id, branch, doc)
    # Edges first, so that no state of the log shows an edge to a deleted node.
    edges = [write_edge(ctx, branch, doc, replace(item, deleted=True)) for item in edges_at(ctx, branch, doc, [id])]
    return write_node(ctx, branch, doc, replace(current, deleted=True)), edges


def put_edge(
    ctx: Context, branch: Branch, doc: str, from_id: str, rel: str, to_id: str, meta: dict[str, Any] | None = None
) -> Edge:
    """Write an edge's next version. Its ends are not checked, because a card's edges may dangle."""
    start, end = check_node_id(from_id, "from"), check_node_id(to_id, "to")
    return write_edge(ctx, branch, doc, Edge(start, check_kind(rel, "rel"), end, meta, False, 0, 0))


def drop_edge(ctx: Context, branch: Branch, doc: str, from_id: str, rel: str, to_id: str) -> Edge:
    current = edge(ctx, branch, doc, (from_id, rel, to_id))
    if current is None:
        raise _missing("edge", f"{from_id}|{rel}|{to_id}", branch, doc)
    return write_edge(ctx, branch, doc, replace(current, deleted=True))


def write_node(ctx: Context, branch: Branch, doc: str, state: Node, findable: bool = True) -> Node:
    """Store this state, which may be a deletion, as the newest version of its id on the branch."""
    seq = _entry(ctx, branch, doc, NODE_DELETE if state.deleted else NODE_UPSERT, state.id)
    written = replace(state, last_seq=seq, last_ts_ms=ctx.now_ms)
    # `until` ends the version before, so that `until IS NULL` finds the present state without comparing seqs.
    sql = "UPDATE node SET until = ? WHERE workspace = ? AND branch = ? AND doc = ? AND id = ? AND until IS NULL"
    ctx.tx.run(sql, seq, ctx.workspace, branch.id, doc, state.id)
    insert_versions(ctx, [PlacedVersion(written, branch.id, doc)])
    # Only canonical cards register anchors: a draft that names one by mistake must not change the map.
    if not state.deleted and state.type in CARD_TYPES and is_canonical(state.type, state.tags):
        register_tags(ctx, state.tags)
    if findable:
        _index(ctx, branch.id, doc, written)
    return written


def write_edge(ctx: Context, branch: Branch, doc: str, state: Edge) -> Edge:
    seq = _entry(ctx, branch, doc, EDGE_DELETE if state.deleted else EDGE_UPSERT, "|".join(state.key))
    sql = (
        "UPDATE edge SET until = ? WHERE workspace = ? AND branch = ? AND doc = ? AND from_id = ? AND rel = ?"
        " AND to_id = ? AND until IS NULL"
    )
    ctx.tx.run(sql, seq, ctx.workspace, branch.id, doc, *state.key)
    written = replace(state, last_seq=seq, last_ts_ms=ctx.now_ms)
    insert_versions(ctx, [PlacedVersion(written, branch.id, doc)])
    return written


@dataclass(frozen=True, slots=True)
class PlacedVersion:
    """A version of a node or edge with its branch and document, and the seq of the next version."""

    state: Node | Edge
    branch: int
    doc: str
    until: int | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The text that a text filter searches; empty for an edge."""
        return (folded(self.state.title, self.state.text),) if isinstance(self.state, Node) else ()


def insert_versions(ctx: Context, versions: Sequence[PlacedVersion]) -> None:
    """Store versions of nodes, or of edges; nodes with the words and tags by which they are found."""
    rows, tags = [], []
    for item in versions:
        state, place = item.state, (item.branch, item.doc)
        rows.append((ctx.workspace, *encoded(state), *place, item.until, *item.words))
        for words in item.words:
            index_substrings(ctx.tx, ctx.ws.number, state.last_seq, words)
        if isinstance(state, Node):
            tags += [(ctx.workspace, *place, tag, state.last_seq) for tag in filed_tags(state.tags)]
    for first in versions[:1]:
        kind = type(first.state)
        names = ("workspace", *columns(kind), "branch", "doc", "until", *("folded" for _ in first.words))
        sql = f"INSERT INTO {kind.TABLE} ({', '.join(names)}) VALUES ({placeholders(len(names))})"
        ctx.tx.many(sql, rows)
    ctx.tx.many("INSERT INTO node_tag (workspace, branch, doc, tag, seq) VALUES (?, ?, ?, ?, ?)", tags)


def index_cards(ctx: Context, versions: Sequence[PlacedVersion]) -> None:
    """An id has one search item: its newest version on any branch."""
    newest: dict[str, tuple[int, str, Node]] = {}
    for item in versions:
        if item.until is None and isinstance(item.state, Node) and item.state.type in CARD_TYPES:
            newest[item.state.id] = (item.branch, item.doc, item.state)
    index_items(ctx.tx, ctx.workspace, [card_item(*found) for found in newest.values() if not found[2].deleted])


def _entry(ctx: Context, branch: Branch, doc: str, event_type: str, key: str) -> int:
    """Append the change to the document. Its seq becomes the version's, so `<doc>@<seq>` opens it."""
    named: Json = {"event_type": event_type, "subject": key}
    row = append(ctx, branch.id, doc, content=None, kind="event", doc_kind=GRAPH, item_source=None, **named)
    return int(row["seq"])


def _index(ctx: Context, branch: int, doc: str, state: Node) -> None:
    """Update the card's search item.

    A ref has one item, but a card may have versions on several branches. The item shows the version written last on any
    branch; if that is deleted, the newest one that is still live, if any.
    """
    if state.deleted:
        reindex_elsewhere(ctx, state.id)
    elif state.type in CARD_TYPES:
        _index_version(ctx, branch, doc, state)
    else:
        _unindex(ctx, state.id)


def reindex_elsewhere(ctx: Context, id: str) -> None:
    rest = locate(ctx, id)
    if rest is not None and rest.node.type in CARD_TYPES:
        _index_version(ctx, rest.branch, rest.doc, rest.node)
    else:
        _unindex(ctx, id)


def _index_version(ctx: Context, branch: int, doc: str, state: Node) -> None:
    if source_of(ctx.tx, ctx.workspace, state.id) not in (None, "card"):
        return  # the id is also the ref of another record, which `open` prefers
    index_item(ctx.tx, ctx.workspace, card_item(branch, doc, state))


def card_item(branch: int, doc: str, card: Node) -> Item:
    """The search item of a card."""
    item = Item(card.id, "card", card.last_seq, card.last_ts_ms, card.title, _said(card))
    return replace(item, kind=card.type, tags=card.tags, status=card.status, branch=branch, doc=doc)


def _said(state: Node) -> str | None:
    """The text of a card with the files that it is about, by which it is found."""
    about = (state.meta or {}).get("about")
    named = [str(item) for item in about if isinstance(item, str)] if isinstance(about, list) else []
    missing = [name for name in named if name not in (state.text or state.title or "")]
    if not missing:
        return state.text
    return "\n".join([*filter(None, [state.text]), f"About: {', '.join(missing)}"])


def _unindex(ctx: Context, id: str) -> None:
    if source_of(ctx.tx, ctx.workspace, id) == "card":
        unindex_item(ctx.tx, ctx.workspace, id)


def _missing(what: str, key: str, branch: Branch, doc: str) -> Exception:
    way = suggest("graph_query", "Shows the newest nodes and edges.", branch=branch.name, doc=doc)
    return unknown_id(f"{what} in {doc} on {branch.name}", key, "Look at what the graph holds.", [way])


declare_events({"graph_applied": "A batch of changes was made to a graph document."})

RESERVED = ("task:", "step:")
"""Prefixes of the nodes for tasks and steps, which only the package `tasks` writes."""


class GraphOp(StrictModel):
    op: Literal["node_upsert", "node_delete", "edge_upsert", "edge_delete"]
    id: Annotated[Name | None, Field(description="Node id.")] = None
    type: Annotated[Name | None, Field(description="Node type; required by node_upsert.")] = None
    title: Title | None = None
    text: Text | None = None
    status: Name | None = None
    tags: Names | None = None
    from_: Annotated[Name | None, Field(alias="from", description="Id of the node an edge starts at.")] = None
    rel: Annotated[Name | None, Field(description="Relation of an edge.")] = None
    to: Annotated[Name | None, Field(description="Id of the node an edge ends at.")] = None
    meta: Meta | None = None


class GraphApply(Input):
    ops: Annotated[list[GraphOp], Field(min_length=1, max_length=1000, description="Changes, made in this order.")]
    target: Target = None
    branch: Annotated[Name | None, Field(description="Branch to write to; not beside target.")] = None
    doc: Annotated[Name | None, Field(description="Graph document; default graph.")] = None


EXAMPLE = {"ops": [{"op": "node_upsert", "id": "cache", "type": "component", "title": "Page cache"}]}


@operation("graph_apply", writes=True, example=EXAMPLE)
def graph_apply(ctx: Context, args: GraphApply) -> dict[str, Any]:
    """Change nodes and edges of a graph in one step; if one change is refused, none is made."""
    scope = resolve_scope(ctx, args.target, args.branch, graph=args.doc, doc_field="doc")
    applied = dict.fromkeys(("nodes_upserted", "nodes_deleted", "edges_upserted", "edges_deleted"), 0)
    for position, change in enumerate(args.ops):
        for name, count in _CHANGES[change.op](ctx, scope.branch, scope.graph, change, f"ops[{position}]").items():
            applied[name] += count
    payload = {"branch": scope.branch.name, "last_seq": ctx.ws.seq, **applied}
    ctx.emit("reasoning", "graph_applied", scope.graph, payload)
    place = {"workspace": ctx.workspace, "branch": scope.branch.name, "doc": scope.graph}
    return {**place, "applied": applied, "last_seq": ctx.ws.seq, "last_ts_ms": ctx.now_ms}


def _node_upsert(ctx: Context, branch: Branch, doc: str, change: GraphOp, where: str) -> dict[str, int]:
    id, kind = _required(change, where, "id", "type")
    _refuse_reserved(id, f"{where}.id")
    fields = picked(change, "title", "text", "status", "meta")
    put_node(ctx, branch, doc, id=id, type=kind, tags=change.tags or (), **fields)
    return {"nodes_upserted": 1}


def _node_delete(ctx: Context, branch: Branch, doc: str, change: GraphOp, where: str) -> dict[str, int]:
    (id,) = _required(change, where, "id")
    _refuse_reserved(id, f"{where}.id")
    _, edges = drop_node(ctx, branch, doc, id)
    return {"nodes_deleted": 1, "edges_deleted": len(edges)}


def _edge_upsert(ctx: Context, branch: Branch, doc: str, change: GraphOp, where: str) -> dict[str, int]:
    start, rel, end = _required(change, where, "from", "rel", "to")
    for field, id in (("from", start), ("to", end)):
        if node(ctx, branch, doc, check_node_id(id, f"{where}.{field}")) is None:
            raise ClewError(
                "UNKNOWN_ID",
                f"{where}.{field}: no node {id[:120]!r} in {doc} on {branch.name}",
                "Write the node first, in the same call if you like.",
                suggestions=[suggest("graph_query", "Shows the nodes there are.", branch=branch.name, doc=doc)],
            )
    put_edge(ctx, branch, doc, start, rel, end, change.meta)
    return {"edges_upserted": 1}


def _edge_delete(ctx: Context, branch: Branch, doc: str, change: GraphOp, where: str) -> dict[str, int]:
    drop_edge(ctx, branch, doc, *_required(change, where, "from", "rel", "to"))
    return {"edges_deleted": 1}


_CHANGES: dict[str, Callable[[Context, Branch, str, GraphOp, str], dict[str, int]]] = {
    "node_upsert": _node_upsert,
    "node_delete": _node_delete,
    "edge_upsert": _edge_upsert,
    "edge_delete": _edge_delete,
}


def _required(change: GraphOp, where: str, *fields: str) -> list[str]:
    """The required fields of this kind of change, trimmed; refused if one is missing."""
    values = []
    for field in fields:
        value = getattr(change, "from_" if field == "from" else field)
        if value is None or not value.strip():
            raise invalid(f"{where}.{field}", f"is required by {change.op}", kind="missing_required")
        values.append(value.strip())
    return values


def _refuse_reserved(id: str, field: str) -> None:
    if id.startswith(RESERVED):
        raise invalid(
            field,
            f"the prefixes {' and '.join(RESERVED)} stand for tasks and steps, which write their own nodes",
            "Choose another id; edges may start or end at these nodes.",
        )


@transferred("node_substrings")
def rebuild_substrings(tx: Transaction) -> None:
    """The index of substrings differs between engines, so a copied store gets a new one."""
    for workspace in workspace_names(tx):
        found = find_workspace(tx, workspace)
        assert found is not None
        for row in tx.all("SELECT seq, folded FROM node WHERE workspace = ? ORDER BY seq", workspace):
            index_substrings(tx, found["number"], row["seq"], row["folded"])
