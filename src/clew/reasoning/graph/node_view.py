"""Reading nodes: one by its id, or the newest that pass a filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from clew.reasoning.branches import Branch, Link, chain
from clew.reasoning.graph.state import Node, node_from
from clew.reasoning.graph.view import NODE_KEY, Clause, live, unshadowed
from clew.registry.context import Context
from clew.store.database import Row, placeholders

SEEKS = 16
"""Most index seeks that one filter is split into; a longer list is checked row by row instead."""
SAMPLE = 500
"""How far a filter's matches are counted before it is called common."""
FEW = 20


@dataclass(frozen=True, slots=True)
class Filter:
    ids: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    status: str | None = None
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    text: str | None = None
    include_deleted: bool = False

    def impossible(self) -> bool:
        return self.ids == () or self.types == ()


@dataclass(frozen=True, slots=True)
class Source:
    """A way into the node table by one index: what comes before WHERE, and the index's own condition."""

    condition: str
    params: tuple[Any, ...]
    by_tag: bool = False
    covers: frozenset[str] = frozenset()
    """Filters that the condition already is; saying one twice misleads the planner."""
    seq: str = "seq"

    def lead(self) -> str:
        return "node_tag" if self.by_tag else "node"

    def table(self) -> str:
        # The tag's rows lead and the node follows by its seq; CROSS JOIN keeps SQLite from turning that round.
        return "node_tag CROSS JOIN node" if self.by_tag else "node"


@dataclass(frozen=True, slots=True)
class NodePage:
    """Nodes from the newest to the oldest, and whether older ones follow."""

    nodes: list[Node]
    has_more: bool

    def first(self, limit: int) -> NodePage:
        return self if len(self.nodes) <= limit else NodePage(self.nodes[:limit], True)

    def page(self, cursor: int | None, limit: int) -> dict[str, Any]:
        return {
            "cursor": cursor,
            "next_cursor": self.nodes[-1].last_seq if self.has_more and self.nodes else None,
            "has_more": self.has_more,
            "limit": limit,
            "count": len(self.nodes),
        }


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
    sources = _sources(ctx, doc, link, wanted)
    clause = live("node", ctx.workspace, doc, link, cursor, sources[0].seq)
    _restrict(clause, wanted, sources[0].covers, ctx.tx.engine)
    unshadowed(clause, "node", NODE_KEY, doc, nearer)
    found = [row for source in sources for row in _read(ctx, source, clause, doc, link, limit)]
    if len(sources) == 1:
        return found
    once = {row["seq"]: row for row in found}
    return [once[seq] for seq in sorted(once, reverse=True)[:limit]]


def _read(ctx: Context, source: Source, clause: Clause, doc: str, link: Link, limit: int) -> list[Row]:
    own = ""
    params: list[Any] = []
    if source.by_tag:
        own = (
            "node_tag.workspace = ? AND node_tag.branch = ? AND node_tag.doc = ?"
            " AND node.workspace = node_tag.workspace AND node.seq = node_tag.seq AND "
        )
        params = [ctx.workspace, link.branch, doc]
    condition = f"{source.condition} AND " if source.condition else ""
    return ctx.tx.all(
        f"SELECT node.* FROM {source.table()} WHERE {own}{condition}{clause.sql()}"
        f" ORDER BY {source.lead()}.{source.seq} DESC LIMIT ?",
        *params,
        *source.params,
        *clause.params,
        limit,
    )


def _restrict(clause: Clause, wanted: Filter, covered: frozenset[str], engine: str) -> None:
    """The filters that the way in does not cover, as conditions on the row."""
    if not wanted.include_deleted:
        clause.add("node.deleted = 0")
    if wanted.types is not None and "types" not in covered:
        clause.add(f"node.type IN ({placeholders(len(wanted.types))})", *wanted.types)
    if wanted.status is not None and "status" not in covered:
        clause.add("node.status = ?", wanted.status)
    if wanted.tags_any and "tags_any" not in covered:
        clause.add(_tagged(f"IN ({placeholders(len(wanted.tags_any))})"), *wanted.tags_any)
    for tag in wanted.tags_all:
        if tag not in covered:
            clause.add(_tagged("= ?"), tag)
    if wanted.tags_none:
        clause.add(f"NOT {_tagged(f'IN ({placeholders(len(wanted.tags_none))})')}", *wanted.tags_none)
    if wanted.text is not None:
        find = "instr" if engine == "sqlite" else "strpos"
        clause.add(f"{find}(node.folded, ?) > 0", wanted.text)


def _tagged(which: str) -> str:
    return (
        "EXISTS (SELECT 1 FROM node_tag AS held WHERE held.workspace = node.workspace AND held.branch = node.branch"
        f" AND held.doc = node.doc AND held.seq = node.seq AND held.tag {which})"
    )


def _sources(ctx: Context, doc: str, link: Link, wanted: Filter) -> list[Source]:
    """The cheapest way in: by ids, else by the filter with the fewest matches, else all nodes by seq."""
    if wanted.ids is not None:
        return [Source(f"node.id IN ({placeholders(len(wanted.ids))})", wanted.ids, seq="seq + 0")]
    ways = list(_ways(wanted))
    if not ways:
        return [Source("", ())]
    if len(ways) == 1:
        return ways[0]
    counted: list[tuple[int, list[Source]]] = []
    for way in ways:
        counted.append((_matches(ctx, doc, link, way), way))
        if counted[-1][0] <= FEW:
            break  # no other way can be worth the counting
    return min(counted, key=lambda pair: pair[0])[1]


def _ways(wanted: Filter) -> Iterator[list[Source]]:
    for tag in wanted.tags_all:
        yield [_by_tag(tag, tag)]
    if 0 < len(wanted.tags_any) <= SEEKS:
        yield [_by_tag(tag, "tags_any") for tag in wanted.tags_any]
    if wanted.types is not None and len(wanted.types) <= SEEKS:
        yield [_by_type(kind, wanted.status) for kind in wanted.types]
    elif wanted.status is not None:
        yield [Source("node.status = ?", (wanted.status,), covers=frozenset({"status"}))]


def _by_tag(tag: str, covers: str) -> Source:
    return Source("node_tag.tag = ?", (tag,), True, frozenset({covers}))


def _by_type(kind: str, status: str | None) -> Source:
    if status is None:
        return Source("node.type = ?", (kind,), covers=frozenset({"types"}))
    return Source("node.type = ? AND node.status = ?", (kind, status), covers=frozenset({"types", "status"}))


def _matches(ctx: Context, doc: str, link: Link, way: list[Source]) -> int:
    """How many rows a way in leads to, counted up to a limit."""
    found = 0
    for source in way:
        table = source.lead()
        found += ctx.tx.value(
            f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table}.workspace = ? AND {table}.branch = ?"
            f" AND {table}.doc = ? AND {source.condition} LIMIT {SAMPLE}) AS sample",
            ctx.workspace,
            link.branch,
            doc,
            *source.params,
        )
    return found


def locate(ctx: Context, id: str) -> Place | None:
    """The newest live version of an id on any branch that is still there, in any document."""
    row = ctx.tx.one(
        "SELECT node.* FROM node JOIN branch ON branch.workspace = node.workspace AND branch.id = node.branch"
        " WHERE node.workspace = ? AND node.id = ? AND node.until IS NULL AND node.deleted = 0"
        " AND branch.deleted_at_ms IS NULL ORDER BY node.seq DESC LIMIT 1",
        ctx.workspace,
        id,
    )
    return Place(node_from(row), row["branch"], row["doc"]) if row else None
