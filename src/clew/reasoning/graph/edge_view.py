"""Reading edges: one by its key, those at some nodes, those among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clew.reasoning.branches import Branch, Link, chain
from clew.reasoning.graph.state import Edge, edge_from
from clew.reasoning.graph.view import EDGE_KEY, Clause, among, aside, live, lookup, unshadowed
from clew.registry.context import Context
from clew.store.database import Row, placeholders

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
    ctx: Context, links: list[Link], doc: str, key: tuple[str, str, str], include_deleted: bool = False
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
            return edge_from(row) if include_deleted or not row["deleted"] else None
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
    wanted = Clause()
    if rels is not None:
        wanted.add(f"edge.rel IN ({placeholders(len(rels))})" if rels else "1 = 0", *rels)
    for column in columns:
        for item in _edges(ctx, links, doc, Lead(column, tuple(ids)), wanted, include_deleted, limit):
            found[item.key] = item
    return sorted(found.values(), key=lambda item: -item.last_seq)[:limit]


@dataclass(frozen=True, slots=True)
class Lead:
    """The end by which edges are looked up, one id after the other."""

    column: str
    ids: tuple[str, ...]


def _edges(
    ctx: Context, links: list[Link], doc: str, lead: Lead, extra: Clause, include_deleted: bool, limit: int
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
    return [edge_from(row) for row in rows]
