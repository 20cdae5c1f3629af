"""Reading the graph of a branch: nodes and edges, by key or by filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, TypeVar

from clew.index.substrings import candidates
from clew.reasoning.branches import Branch, BranchPart, chain
from clew.reasoning.graph.state import Edge, Node
from clew.reasoning.graph.view import (
    BY_SEQ,
    EDGE_KEY,
    NODE_KEY,
    ROW_BY_ROW,
    Condition,
    IndexPath,
    NodeFilter,
    among,
    aside,
    live,
    lookup,
    restrict,
    unshadowed,
    ways_in,
)
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.store.database import Row, placeholders
from clew.store.rows import first, load

# Deleting a branch only marks it, so its nodes are still stored.
ON_A_BRANCH = (
    "EXISTS (SELECT 1 FROM branch WHERE branch.workspace = node.workspace AND branch.id = node.branch"
    f" AND branch.deleted_at_ms IS NULL {ROW_BY_ROW})"
)
"""SQL: the node's branch was not deleted."""


@dataclass(frozen=True, slots=True)
class NodePage:
    """Nodes, newest first, and whether there are older ones."""

    nodes: list[Node]
    has_more: bool

    def first(self, limit: int) -> NodePage:
        return self if len(self.nodes) <= limit else NodePage(self.nodes[:limit], True)

    def page(self, cursor: int | None, limit: int) -> dict[str, Any]:
        more = self.nodes[-1].last_seq if self.has_more and self.nodes else None
        return page_json(cursor, limit, len(self.nodes), more)


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node with the branch and document of this version."""

    node: Node
    branch: int
    doc: str


def node(
    ctx: Context, branch: Branch, doc: str, id: str, include_deleted: bool = False, as_of: int | None = None
) -> Node | None:
    """The node as the branch shows it."""
    return node_at(ctx, chain(ctx, branch, as_of), doc, id, include_deleted)


def node_at(ctx: Context, links: list[BranchPart], doc: str, id: str, include_deleted: bool = False) -> Node | None:
    return _nearest(ctx, links, Node, NODE_KEY, (doc, id), include_deleted)


V = TypeVar("V", Node, Edge)


def _nearest(
    ctx: Context,
    links: list[BranchPart],
    kind: type[V],
    key: tuple[str, ...],
    place: tuple[str, ...],
    include_deleted: bool,
) -> V | None:
    """The version that the nearest part of the view has."""
    where = " AND ".join(f"{column} = ?" for column in ("branch", "doc", *key))
    for link in links:
        params = (link.branch, *place, link.cutoff)
        found = first(ctx.tx, ctx.workspace, kind, f"{where} AND seq <= ? ORDER BY seq DESC", *params)
        # The nearest version decides, even a deletion: what is deleted here is not shown, whatever its bases have.
        if found is not None:
            return found if include_deleted or not found.deleted else None
    return None


def nodes(
    ctx: Context,
    branch: Branch,
    doc: str,
    *,
    ids: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
    status: str | None = None,
    tags_any: Sequence[str] = (),
    tags_all: Sequence[str] = (),
    tags_none: Sequence[str] = (),
    text: str | None = None,
    cursor: int | None = None,
    limit: int = 50,
    include_deleted: bool = False,
    as_of: int | None = None,
) -> NodePage:
    """The newest `limit` nodes before `cursor` that pass all filters. Tags are compared as stored."""
    folded = text.casefold() if text else None
    wanted = NodeFilter(
        ids=None if ids is None else tuple(dict.fromkeys(ids)),
        types=None if types is None else tuple(dict.fromkeys(types)),
        status=status,
        tags_any=tuple(dict.fromkeys(tags_any)),
        tags_all=tuple(dict.fromkeys(tags_all)),
        tags_none=tuple(dict.fromkeys(tags_none)),
        text=folded,
        include_deleted=include_deleted,
        seqs=candidates(ctx.tx, ctx.ws.number, folded) if folded else None,
    )
    if wanted.impossible():
        return NodePage([], False)
    rows: list[Row] = []
    links = chain(ctx, branch, as_of)
    for depth, link in enumerate(links):
        rows += _newest(ctx, doc, link, links[:depth], wanted, cursor, limit + 1 - len(rows))
        if len(rows) > limit:
            break
    return NodePage([load(Node, row) for row in rows[:limit]], len(rows) > limit)


def _newest(
    ctx: Context,
    doc: str,
    link: BranchPart,
    nearer: list[BranchPart],
    wanted: NodeFilter,
    cursor: int | None,
    limit: int,
) -> list[Row]:
    ways = ways_in(ctx, doc, link, wanted)
    clause = live("node", ctx.workspace, doc, link, cursor, ways[0].seq)
    restrict(clause, wanted, ways[0].covers, ctx.tx.engine)
    unshadowed(clause, "node", NODE_KEY, doc, nearer)
    found = _read(ctx, ways, clause, limit)
    if len(ways) == 1:
        return found
    # A node with two of the wanted tags is found twice.
    once = {row["seq"]: row for row in found}
    return [once[seq] for seq in sorted(once, reverse=True)[:limit]]


def _read(ctx: Context, ways: Sequence[IndexPath], clause: Condition, limit: int) -> list[Row]:
    asked = [(way.order, *way.source(ctx.tx.engine, clause)) for way in ways]
    found: list[Row] = []
    # Paths with the same SQL differ only in their values, so they are sent together and awaited once.
    for (order, source), same in groupby(asked, key=lambda way: way[:2]):
        sql = f"SELECT node.* {source} ORDER BY {order} DESC LIMIT ?"
        for rows in ctx.tx.batch(sql, [(*params, limit) for _, _, params in same]):
            found += rows
    return found


def locate(ctx: Context, id: str) -> PlacedNode | None:
    """The newest live version of an id in any document of any existing branch."""
    sql = (
        "SELECT * FROM node WHERE workspace = ? AND id = ? AND until IS NULL AND deleted = 0"
        f" AND {BY_SEQ} AND {ON_A_BRANCH} ORDER BY seq DESC LIMIT 1"
    )
    row = ctx.tx.one(sql, ctx.workspace, id)
    return PlacedNode(load(Node, row), row["branch"], row["doc"]) if row else None


Direction = Literal["in", "out", "both"]
MOST = 100_000


def edge(
    ctx: Context,
    branch: Branch,
    doc: str,
    key: tuple[str, str, str],
    include_deleted: bool = False,
    as_of: int | None = None,
) -> Edge | None:
    """The edge (from, rel, to) as the branch shows it."""
    return edge_in(ctx, chain(ctx, branch, as_of), doc, key, include_deleted)


def edge_in(
    ctx: Context, links: list[BranchPart], doc: str, key: tuple[str, str, str], include_deleted: bool = False
) -> Edge | None:
    return _nearest(ctx, links, Edge, EDGE_KEY, (doc, *key), include_deleted)


def edges_among(
    ctx: Context,
    branch: Branch,
    doc: str,
    ids: Sequence[str],
    limit: int,
    include_deleted: bool = False,
    as_of: int | None = None,
) -> list[Edge]:
    """The newest `limit` edges with both ends among `ids`."""
    if not ids or limit <= 0:
        return []
    # A node has few edges, but there are many pairs of ids: edges are looked up by one end and filtered by the other.
    ends = among(ctx.tx.engine, aside("edge.to_id"), ids)
    return _edges(ctx, chain(ctx, branch, as_of), doc, Lead("from_id", tuple(ids)), ends, include_deleted, limit)


def edges_at(
    ctx: Context,
    branch: Branch,
    doc: str,
    ids: Sequence[str],
    direction: Direction = "both",
    rels: Sequence[str] | None = None,
    limit: int = MOST,
) -> list[Edge]:
    """The newest edges that end at (`in`), start from (`out`) or touch (`both`) any of `ids`."""
    if not ids:
        return []
    links = chain(ctx, branch)
    columns = {"in": ("to_id",), "out": ("from_id",), "both": ("from_id", "to_id")}[direction]
    found: dict[tuple[str, str, str], Edge] = {}
    wanted = Condition()
    if rels is not None:
        wanted.add(f"edge.rel IN ({placeholders(len(rels))})" if rels else "1 = 0", *rels)
    for column in columns:
        for item in _edges(ctx, links, doc, Lead(column, tuple(ids)), wanted, False, limit):
            # An edge between two of the ids is found at both ends.
            found[item.key] = item
    return sorted(found.values(), key=lambda item: -item.last_seq)[:limit]


def edges_beside(ctx: Context, branch: int, doc: str, ids: Sequence[str], limit: int) -> list[Row]:
    """Live edges of one branch, without its bases, at any of `ids`: oldest first, at most `limit` for each end."""
    found: list[Row] = []
    for end in ("from_id", "to_id"):
        sql = (
            f"SELECT from_id, rel, to_id FROM edge WHERE workspace = ? AND branch = ? AND doc = ? AND {end} IN"
            f" ({placeholders(len(ids))}) AND until IS NULL AND deleted = 0 ORDER BY seq LIMIT ?"
        )
        found += ctx.tx.all(sql, ctx.workspace, branch, doc, *ids, limit)
    return found


@dataclass(frozen=True, slots=True)
class Lead:
    """The column and ids by which edges are looked up."""

    column: str
    ids: tuple[str, ...]


def _edges(
    ctx: Context, links: list[BranchPart], doc: str, lead: Lead, extra: Condition, include_deleted: bool, limit: int
) -> list[Edge]:
    rows: list[Row] = []
    lead = Lead(lead.column, tuple(dict.fromkeys(lead.ids)))
    for depth, link in enumerate(links):
        clause = live("edge", ctx.workspace, doc, link, seq="seq + 0").extend(extra)
        if not include_deleted:
            clause.add("edge.deleted = 0")
        unshadowed(clause, "edge", EDGE_KEY, doc, links[:depth])
        source, params = lookup(ctx.tx.engine, "edge", lead.column, lead.ids, clause)
        # Ordering by an expression keeps the engines from scanning all edges by seq instead.
        sql = f"SELECT edge.* {source} ORDER BY edge.seq + 0 DESC LIMIT ?"
        rows += ctx.tx.all(sql, *params, limit - len(rows))
        if len(rows) >= limit:
            break
    return [load(Edge, row) for row in rows]
