"""Reading nodes: one by its id, or the newest that pass a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clew.index.substrings import candidates
from clew.reasoning.branches import Branch, Link, chain
from clew.reasoning.graph.state import Node, node_from
from clew.reasoning.graph.view import BY_SEQ, NODE_KEY, ROW_BY_ROW, Clause, live, unshadowed
from clew.reasoning.graph.ways import Filter, Way, restrict, ways_in
from clew.registry.context import Context
from clew.registry.paging import page_json
from clew.store.database import Row

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
class Place:
    """A node together with the branch and document that hold this version of it."""

    node: Node
    branch: int
    doc: str


def node(
    ctx: Context, branch: Branch, doc: str, id: str, include_deleted: bool = False, as_of: int | None = None
) -> Node | None:
    """The node as the branch shows it."""
    return node_at(ctx, chain(ctx, branch, as_of), doc, id, include_deleted)


def node_at(ctx: Context, links: list[Link], doc: str, id: str, include_deleted: bool = False) -> Node | None:
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
        if row is not None:
            return node_from(row) if include_deleted or not row["deleted"] else None
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
    wanted = Filter(
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
    return NodePage([node_from(row) for row in rows[:limit]], len(rows) > limit)


def _newest(
    ctx: Context, doc: str, link: Link, nearer: list[Link], wanted: Filter, cursor: int | None, limit: int
) -> list[Row]:
    ways = ways_in(ctx, doc, link, wanted)
    clause = live("node", ctx.workspace, doc, link, cursor, ways[0].seq)
    restrict(clause, wanted, ways[0].covers, ctx.tx.engine)
    unshadowed(clause, "node", NODE_KEY, doc, nearer)
    found = [row for way in ways for row in _read(ctx, way, clause, limit)]
    if len(ways) == 1:
        return found
    once = {row["seq"]: row for row in found}
    return [once[seq] for seq in sorted(once, reverse=True)[:limit]]


def _read(ctx: Context, way: Way, clause: Clause, limit: int) -> list[Row]:
    source, params = way.source(ctx.tx.engine, clause)
    return ctx.tx.all(f"SELECT node.* {source} ORDER BY {way.order} DESC LIMIT ?", *params, limit)


def locate(ctx: Context, id: str) -> Place | None:
    """The newest live version of an id on any branch that is still there, in any document."""
    row = ctx.tx.one(
        "SELECT * FROM node WHERE workspace = ? AND id = ? AND until IS NULL AND deleted = 0"
        f" AND {BY_SEQ} AND {ON_A_BRANCH} ORDER BY seq DESC LIMIT 1",
        ctx.workspace,
        id,
    )
    return Place(node_from(row), row["branch"], row["doc"]) if row else None
