"""Reading the graph that a branch shows: nodes and edges by key or filter, graph_query and graph_validate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.ids import check_node_id, normal_tags
from clew.index.substrings import candidates
from clew.reasoning.branches import Branch, BranchPart, chain
from clew.reasoning.graph.state import Edge, Node, edge_json, node_json
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
    keys,
    live,
    lookup,
    restrict,
    unshadowed,
    ways_in,
)
from clew.reasoning.scope import Scope, Target, resolve_scope
from clew.registry.budget import Budget, Clip, Drop, Follow, Trim
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import Bounded, Name, Names, Title, operation
from clew.store.database import Row, placeholders
from clew.store.rows import load

ON_A_BRANCH = (
    "EXISTS (SELECT 1 FROM branch WHERE branch.workspace = node.workspace AND branch.id = node.branch"
    f" AND branch.deleted_at_ms IS NULL {ROW_BY_ROW})"
)
"""The node's branch is still there."""


@dataclass(frozen=True, slots=True)
class NodePage:
    """Nodes from the newest to the oldest, and whether older ones follow."""

    nodes: list[Node]
    has_more: bool

    def first(self, limit: int) -> NodePage:
        return self if len(self.nodes) <= limit else NodePage(self.nodes[:limit], True)

    def page(self, cursor: int | None, limit: int) -> dict[str, Any]:
        more = self.nodes[-1].last_seq if self.has_more and self.nodes else None
        return page_json(cursor, limit, len(self.nodes), more)


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node together with the branch and document that hold this version of it."""

    node: Node
    branch: int
    doc: str


def node(
    ctx: Context, branch: Branch, doc: str, id: str, include_deleted: bool = False, as_of: int | None = None
) -> Node | None:
    """The node as the branch shows it."""
    return node_at(ctx, chain(ctx, branch, as_of), doc, id, include_deleted)


def node_at(ctx: Context, links: list[BranchPart], doc: str, id: str, include_deleted: bool = False) -> Node | None:
    for link in links:
        row = ctx.tx.one(
            "SELECT * FROM node WHERE workspace = ? AND branch = ? AND doc = ? AND id = ? AND seq <= ?"
            " ORDER BY seq DESC LIMIT 1",
            ctx.workspace,
            link.branch,
            doc,
            id,
            link.cutoff,
        )
        # The nearest part decides, also with a tombstone: deleted here means not shown, whatever lies below.
        if row is not None:
            return load(Node, row) if include_deleted or not row["deleted"] else None
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
    """The newest `limit` nodes before `cursor` that pass every filter given. Tags are compared as they are stored."""
    wanted = NodeFilter(
        None if ids is None else tuple(dict.fromkeys(ids)),
        None if types is None else tuple(dict.fromkeys(types)),
        status,
        tuple(dict.fromkeys(tags_any)),
        tuple(dict.fromkeys(tags_all)),
        tuple(dict.fromkeys(tags_none)),
        text.casefold() if text else None,
        include_deleted,
        candidates(ctx.tx, ctx.ws.number, text.casefold()) if text else None,
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
    # A node with two of the wanted tags is found by both ways.
    once = {row["seq"]: row for row in found}
    return [once[seq] for seq in sorted(once, reverse=True)[:limit]]


def _read(ctx: Context, ways: Sequence[IndexPath], clause: Condition, limit: int) -> list[Row]:
    asked = [(way.order, *way.source(ctx.tx.engine, clause)) for way in ways]
    found: list[Row] = []
    # Ways of one kind differ only in their values, so they are asked together and waited for once.
    for (order, source), same in groupby(asked, key=lambda way: way[:2]):
        sql = f"SELECT node.* {source} ORDER BY {order} DESC LIMIT ?"
        for rows in ctx.tx.each(sql, [(*params, limit) for _, _, params in same]):
            found += rows
    return found


def locate(ctx: Context, id: str) -> PlacedNode | None:
    """The newest live version of an id on any branch that is still there, in any document."""
    row = ctx.tx.one(
        "SELECT * FROM node WHERE workspace = ? AND id = ? AND until IS NULL AND deleted = 0"
        f" AND {BY_SEQ} AND {ON_A_BRANCH} ORDER BY seq DESC LIMIT 1",
        ctx.workspace,
        id,
    )
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
    for link in links:
        row = ctx.tx.one(
            "SELECT * FROM edge WHERE workspace = ? AND branch = ? AND doc = ? AND from_id = ? AND rel = ?"
            " AND to_id = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
            ctx.workspace,
            link.branch,
            doc,
            *key,
            link.cutoff,
        )
        if row is not None:
            return load(Edge, row) if include_deleted or not row["deleted"] else None
    return None


def edges_among(
    ctx: Context,
    branch: Branch,
    doc: str,
    ids: Sequence[str],
    limit: int,
    include_deleted: bool = False,
    as_of: int | None = None,
) -> list[Edge]:
    """The newest `limit` edges that have both ends among `ids`."""
    if not ids or limit <= 0:
        return []
    # Few edges leave a node, many pairs of ends exist: the other end is compared, not looked up.
    ends = among(ctx.tx.engine, aside("edge.to_id"), ids)
    return _edges(ctx, chain(ctx, branch, as_of), doc, Lead("from_id", tuple(ids)), ends, include_deleted, limit)


def edges_at(
    ctx: Context,
    branch: Branch,
    doc: str,
    ids: Sequence[str],
    direction: Direction = "both",
    rels: Sequence[str] | None = None,
    include_deleted: bool = False,
    as_of: int | None = None,
    limit: int = MOST,
) -> list[Edge]:
    """The newest edges that end at (`in`), start from (`out`) or touch (`both`) any of `ids`."""
    if not ids:
        return []
    links = chain(ctx, branch, as_of)
    columns = {"in": ("to_id",), "out": ("from_id",), "both": ("from_id", "to_id")}[direction]
    found: dict[tuple[str, str, str], Edge] = {}
    wanted = Condition()
    if rels is not None:
        wanted.add(f"edge.rel IN ({placeholders(len(rels))})" if rels else "1 = 0", *rels)
    for column in columns:
        for item in _edges(ctx, links, doc, Lead(column, tuple(ids)), wanted, include_deleted, limit):
            # An edge from one of the ids to another is found at both of its ends.
            found[item.key] = item
    return sorted(found.values(), key=lambda item: -item.last_seq)[:limit]


def edges_beside(ctx: Context, branch: int, doc: str, ids: Sequence[str], limit: int) -> list[Row]:
    """The live edges of one branch alone that start at or end at any of `ids`, oldest first, `limit` for each end."""
    found: list[Row] = []
    for end in ("from_id", "to_id"):
        found += ctx.tx.all(
            f"SELECT from_id, rel, to_id FROM edge WHERE workspace = ? AND branch = ? AND doc = ? AND {end} IN"
            f" ({placeholders(len(ids))}) AND until IS NULL AND deleted = 0 ORDER BY seq LIMIT ?",
            ctx.workspace,
            branch,
            doc,
            *ids,
            limit,
        )
    return found


@dataclass(frozen=True, slots=True)
class Lead:
    """The end by which edges are looked up, one id after the other."""

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
        # Ordering by an expression keeps the engines from walking all edges by seq instead.
        sql = f"SELECT edge.* {source} ORDER BY edge.seq + 0 DESC LIMIT ?"
        rows += ctx.tx.all(sql, *params, limit - len(rows))
        if len(rows) >= limit:
            break
    return [load(Edge, row) for row in rows]


Cursor = Annotated[int | None, Field(ge=0, le=2**53 - 1, description="Show what is older than this seq.")]
AsOf = Annotated[int | None, Field(ge=0, le=2**53 - 1, description="Show the state after this seq.")]


def edges_of_shown(edges: Any, result: dict[str, Any]) -> Any:
    """Edges connect nodes that are shown; the others go when a node goes."""
    shown = {node["id"] for node in result["nodes"]}
    return [edge for edge in edges if edge["from"] in shown and edge["to"] in shown]


_EDGES = Follow("edges", edges_of_shown)
QUERY_BUDGET = Budget(
    (
        Clip("nodes[].text", 2000),
        Trim("nodes", drop="last", floor=1, page="pagination", key="last_seq", follow=_EDGES),
        Clip("nodes[].text", 200),
        Trim("edges", drop="last"),
        Drop("nodes[].meta"),
        Trim("nodes", drop="last", page="pagination", key="last_seq", follow=_EDGES),
    ),
    16_000,
    keep=("branch", "doc"),
)


class GraphQuery(Bounded):
    target: Target = None
    branch: Annotated[Name | None, Field(description="Branch to read; not beside target.")] = None
    doc: Annotated[Name | None, Field(description="Graph document; default graph.")] = None
    ids: Annotated[Names | None, Field(description="Only these nodes.")] = None
    types: Annotated[Names | None, Field(description="Only nodes of these types.")] = None
    status: Annotated[Name | None, Field(description="Only nodes with this status.")] = None
    tags_any: Annotated[Names | None, Field(description="Only nodes with one of these tags.")] = None
    tags_all: Annotated[Names | None, Field(description="Only nodes with all of these tags.")] = None
    text: Annotated[Title | None, Field(description="Only nodes whose title or text holds this, in any case.")] = None
    cursor: Cursor = None
    limit: Annotated[int, Field(ge=0, le=200, description="Most nodes to show; 0 counts as 1.")] = 50
    include_edges: Annotated[bool, Field(description="Show the edges among the nodes shown.")] = True
    edges_limit: Annotated[int, Field(ge=0, le=1000, description="Most edges to show.")] = 200
    include_deleted: Annotated[bool, Field(description="Show deleted nodes and edges too.")] = False
    as_of: AsOf = None


@operation("graph_query", budget=QUERY_BUDGET)
def graph_query(ctx: Context, args: GraphQuery) -> dict[str, Any]:
    """Show the newest nodes of a graph that pass the filters, and the edges among them."""
    scope = resolve_scope(ctx, args.target, args.branch, graph=args.doc, doc_field="doc")
    limit = max(args.limit, 1)
    page = nodes(
        ctx,
        scope.branch,
        scope.graph,
        ids=None if args.ids is None else [check_node_id(id, "ids") for id in args.ids],
        types=None if args.types is None else [kind.strip() for kind in args.types],
        status=args.status.strip() if args.status is not None else None,
        tags_any=normal_tags(args.tags_any or [], "tags_any"),
        tags_all=normal_tags(args.tags_all or [], "tags_all"),
        text=args.text,
        cursor=args.cursor,
        limit=limit,
        include_deleted=args.include_deleted,
        as_of=args.as_of,
    )
    shown = [node.id for node in page.nodes]
    edges_limit = args.edges_limit if args.include_edges else 0
    edges = edges_among(ctx, scope.branch, scope.graph, shown, edges_limit, args.include_deleted, args.as_of)
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "doc": scope.graph,
        "nodes": [node_json(node) for node in page.nodes],
        "edges": [edge_json(edge) for edge in edges],
        "pagination": page.page(args.cursor, limit),
    }


class GraphValidate(Bounded):
    target: Target = None
    branch: Annotated[Name | None, Field(description="Branch to read; not beside target.")] = None
    doc: Annotated[Name | None, Field(description="Graph document; default graph.")] = None
    max_errors: Annotated[int, Field(ge=1, le=1000, description="Most errors to show.")] = 50


@operation("graph_validate", budget=Budget((Trim("errors", drop="last"),), 16_000, keep=("branch", "doc", "ok")))
def graph_validate(ctx: Context, args: GraphValidate) -> dict[str, Any]:
    """Check that every edge of a graph connects nodes that exist."""
    scope = resolve_scope(ctx, args.target, args.branch, graph=args.doc, doc_field="doc")
    checked = check_edges(ctx, scope, args.max_errors)
    return {"workspace": ctx.workspace, "branch": scope.branch.name, "doc": scope.graph, **checked}


def check_edges(ctx: Context, scope: Scope, max_errors: int) -> dict[str, Any]:
    """Whether every edge of the scope's graph has both its ends, and which do not."""
    links = chain(ctx, scope.branch)
    present = {id for (id,) in keys(ctx, "node", NODE_KEY, scope.graph, links)}
    edges = keys(ctx, "edge", EDGE_KEY, scope.graph, links)
    broken = [key for key in edges if key[0] not in present or key[2] not in present]
    shown = [_dangling(key, present) for key in broken[:max_errors]]
    return {
        "ok": not broken,
        "stats": {"nodes": len(present), "edges": len(edges)},
        "errors": shown,
        "truncated": len(broken) > len(shown),
    }


def _dangling(key: tuple[Any, ...], present: set[str]) -> dict[str, Any]:
    start, rel, end = key
    missing = [id for id in dict.fromkeys((start, end)) if id not in present]
    return {
        "code": "EDGE_ENDPOINT_MISSING",
        "message": f"the edge ends at {' and '.join(missing)}, which the graph does not hold",
        "kind": "edge",
        "key": f"{start}|{rel}|{end}",
        "from": start,
        "rel": rel,
        "to": end,
        "missing": missing,
        "recovery": f"Add {' and '.join(missing)} with graph_apply node_upsert, or remove the edge with edge_delete.",
    }
