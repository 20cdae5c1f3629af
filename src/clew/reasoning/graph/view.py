"""The SQL of a view: the versions that are live at each part of a branch's chain and not shadowed by a nearer part.

Versions on a nearer part are always newer than what it inherits. So reading the parts in order, each from its newest
version backwards, gives the view in order, and a page stops as soon as it is full.

The second half chooses an index into the node table: each filter has an index in seq order, and the filter with the
fewest matches is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from clew.reasoning.branches import END, BranchPart
from clew.registry.context import Context
from clew.store.database import Database, DatabaseResource, Row, placeholders

NODE_KEY = ("id",)
EDGE_KEY = ("from_id", "rel", "to_id")
ROW_BY_ROW = "LIMIT 1 OFFSET 0"
"""At the end of an EXISTS: makes PostgreSQL evaluate it row by row instead of turning it into a join."""

BY_SEQ = "seq + 0 > 0"
"""Always true. The indexes in seq order are partial on this condition, so only statements that walk versions in order
can use them. A lookup by key would otherwise choose them when statistics are missing, which is much slower."""


def aside(column: str) -> str:
    """The column as an expression, so that the planner filters row by row and uses no index on it."""
    return f"nullif({column}, '')"


@dataclass
class Condition:
    """An SQL condition with its parameters, built part by part."""

    parts: list[str] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)

    def add(self, sql: str, *params: Any) -> Self:
        self.parts.append(sql)
        self.params.extend(params)
        return self

    def extend(self, other: Condition) -> Self:
        self.parts.extend(other.parts)
        self.params.extend(other.params)
        return self

    def sql(self) -> str:
        return " AND ".join(self.parts)


def live(
    table: str, workspace: str, doc: str, link: BranchPart, before: int | None = None, seq: str = "seq", after: int = 0
) -> Condition:
    """Versions of one branch that are live at the part's cutoff, with `after < seq < before`.

    `seq="seq + 0"` keeps the engines from scanning by seq, which they tend to do even if only a few keys are wanted.
    """
    clause = Condition().add(
        f"{table}.workspace = ? AND {table}.branch = ? AND {table}.doc = ?", workspace, link.branch, doc
    )
    # One upper bound on seq, never two: SQLite seeks by the first one and only filters by the other.
    last = link.cutoff if before is None else min(link.cutoff, before - 1)
    # No bound for the newest state: `seq <= 2^62` is true for every row, but the planners do not know that.
    if last < END:
        clause.add(f"{table}.{seq} <= ?", last)
    if after:
        clause.add(f"{table}.{seq} > ?", after)
    if link.cutoff >= END:
        return clause.add(f"{table}.until IS NULL")
    return clause.add(f"({table}.until IS NULL OR {table}.until > ?)", link.cutoff)


def unshadowed(clause: Condition, table: str, key: tuple[str, ...], doc: str, nearer: list[BranchPart]) -> Condition:
    """Exclude keys of which a nearer part has any version."""
    same = " AND ".join(f"near.{column} = {table}.{column}" for column in key)
    for link in nearer:
        # Deletions too: what a nearer branch has deleted must not show through from its base.
        clause.add(
            f"NOT EXISTS (SELECT 1 FROM {table} AS near WHERE near.workspace = {table}.workspace AND near.branch = ?"
            f" AND near.doc = ? AND {same} AND near.seq <= ? {ROW_BY_ROW})",
            link.branch,
            doc,
            link.cutoff,
        )
    return clause


def among(engine: str, text: str, values: Sequence[str]) -> Condition:
    """The condition that an expression is one of these values; on PostgreSQL one statement for any number."""
    if engine == "sqlite":
        return Condition([f"{text} IN ({placeholders(len(values))})"], [*values])
    return Condition([f"{text} = ANY (CAST(? AS TEXT[]))"], [[*values]])


def lookup(
    engine: str, table: str, column: str, values: Sequence[Any], condition: Condition
) -> tuple[str, tuple[Any, ...]]:
    """FROM and WHERE for rows that have one of these values in a column and meet a condition, with parameters."""
    if engine == "sqlite":
        sql = f"FROM {table} WHERE {table}.{column} IN ({placeholders(len(values))}) AND {condition.sql()}"
        return sql, (*values, *condition.params)
    # With an IN list PostgreSQL may still start from another index. It must walk a table of values, and OFFSET keeps
    # it from reordering the join or betting on an early match. For any number of values it is one prepared statement.
    found = f"SELECT * FROM {table} WHERE {table}.{column} = given.value AND {condition.sql()} OFFSET 0"
    # Numbers are sent as text: psycopg would choose the smallest type that fits and prepare a statement for each.
    numbers = isinstance(values[0], int)
    given = f"unnest(CAST(? AS {'BIGINT' if numbers else 'TEXT'}[])) AS given (value)"
    array = "{" + ",".join(map(str, values)) + "}" if numbers else [*values]
    return f"FROM {given} CROSS JOIN LATERAL ({found}) AS {table}", (array, *condition.params)


def keys(ctx: Context, table: str, key: tuple[str, ...], doc: str, links: list[BranchPart]) -> list[tuple[Any, ...]]:
    """The keys of all live versions in a view, newest first."""
    found = []
    columns = ", ".join(f"{table}.{column}" for column in key)
    for depth, link in enumerate(links):
        clause = live(table, ctx.workspace, doc, link).add(f"{table}.{BY_SEQ} AND {table}.deleted = 0")
        unshadowed(clause, table, key, doc, links[:depth])
        sql = f"SELECT {columns} FROM {table} WHERE {clause.sql()} ORDER BY {table}.seq DESC"
        rows = ctx.tx.all(sql, *clause.params)
        found += [tuple(row.values()) for row in rows]
    return found


def versions(
    ctx: Context,
    table: str,
    key: tuple[str, ...],
    doc: str,
    links: list[BranchPart],
    limit: int = END,
    before: int | None = None,
    after: int = 0,
    older_in: list[BranchPart] | None = None,
) -> list[Row]:
    """The newest versions of a view with `after < seq < before`, including deletions.

    With `older_in`, only for keys that also have a version up to `after` on one of these parts.
    """
    rows: list[Row] = []
    for depth, link in enumerate(links):
        # Later parts are older, so none of their versions is above `after`.
        if link.cutoff <= after or len(rows) >= limit:
            break
        clause = live(table, ctx.workspace, doc, link, before, after=after).add(f"{table}.{BY_SEQ}")
        unshadowed(clause, table, key, doc, links[:depth])
        if older_in is not None:
            _known_before(clause, table, key, doc, older_in, after)
        sql = f"SELECT {table}.* FROM {table} WHERE {clause.sql()} ORDER BY {table}.seq DESC LIMIT ?"
        rows += ctx.tx.all(sql, *clause.params, limit - len(rows))
    return rows


def _known_before(
    clause: Condition, table: str, key: tuple[str, ...], doc: str, links: list[BranchPart], last: int
) -> None:
    same = " AND ".join(f"old.{column} = {table}.{column}" for column in key)
    branches = [link.branch for link in links]
    clause.add(
        f"EXISTS (SELECT 1 FROM {table} AS old WHERE old.workspace = {table}.workspace"
        f" AND old.branch IN ({placeholders(len(branches))}) AND old.doc = ? AND {same} AND old.seq <= ?)",
        *branches,
        doc,
        last,
    )


def shared_until(one: list[BranchPart], other: list[BranchPart]) -> int:
    """The seq up to which two views are equal; anything newer was written on one side only."""
    known = {link.branch: link.cutoff for link in other}
    return next((min(link.cutoff, known[link.branch]) for link in one if link.branch in known), 0)


SEEKS = 16
"""Up to this many values of a filter get an index seek each; a longer list is checked row by row."""
SAMPLE = 500
"""Matches of a filter are counted up to this number; beyond it the filter counts as common."""

FEW = 20
MOST_SAMPLES = 10_000


class Samples(DatabaseResource):
    """A cache of counts: how many rows a condition matched, and at which seq that was counted."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.counts: dict[tuple[Any, ...], tuple[int, int]] = {}


@dataclass(frozen=True, slots=True)
class NodeFilter:
    ids: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    status: str | None = None
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    text: str | None = None
    include_deleted: bool = False
    seqs: tuple[int, ...] | None = None
    """Seqs of versions that may contain the text, if they are few."""

    def impossible(self) -> bool:
        return () in (self.ids, self.types, self.seqs)


@dataclass(frozen=True, slots=True)
class IndexPath:
    """One index that leads to nodes: the table to start from, its condition, and the order it gives."""

    lead: str
    condition: str
    params: tuple[Any, ...]
    order: str = "node.seq"
    seq: str = "seq"
    join: str = ""
    covers: frozenset[str] = frozenset()
    """Filters that the condition already applies; repeating one would mislead the planner's estimates."""
    column: str = ""
    """Instead of a condition: `params` are values of this column."""

    def source(self, engine: str, more: Condition) -> tuple[str, tuple[Any, ...]]:
        """FROM and WHERE with parameters: this path's own condition, then more conditions."""
        if self.column:
            return lookup(engine, self.lead, self.column, self.params, more)
        return self._source(engine, more.sql()), (*self.params, *more.params)

    def _source(self, engine: str, more: str) -> str:
        if self.lead == "node":
            return f"FROM node WHERE {self.condition} AND {more}"
        if engine == "sqlite":  # CROSS JOIN keeps SQLite from starting at the node table
            return f"FROM {self.lead} CROSS JOIN node WHERE {self.condition} AND {self.join} AND {more}"
        # PostgreSQL may reorder any join, except across OFFSET.
        inner = f"SELECT * FROM node WHERE {self.join} OFFSET 0"
        return f"FROM {self.lead} CROSS JOIN LATERAL ({inner}) AS node WHERE {self.condition} AND {more}"


def ways_in(ctx: Context, doc: str, link: BranchPart, wanted: NodeFilter) -> list[IndexPath]:
    """The index paths to use: by ids, else by the filter with the fewest matches, else all nodes by seq."""
    if wanted.ids is not None:
        return [_by_keys("id", wanted.ids)]
    if wanted.seqs is not None:
        return [_by_keys("seq", wanted.seqs)]
    choices = list(_choices(ctx, doc, link, wanted))
    if not choices:
        return [IndexPath("node", f"node.{BY_SEQ}", ())]
    if len(choices) == 1:
        return choices[0]
    # Counting costs a short index scan for each choice. It pays off if a rare tag is combined with a common type.
    fewest, best = _matches(ctx, doc, link, choices[0]), choices[0]
    for ways in choices[1:]:
        if fewest <= FEW:
            break  # good enough: counting others would cost more than it saves
        found = _matches(ctx, doc, link, ways, fewest)
        if found < fewest:
            fewest, best = found, ways
    return best


def _choices(ctx: Context, doc: str, link: BranchPart, wanted: NodeFilter) -> Iterator[list[IndexPath]]:
    place = (ctx.workspace, link.branch, doc)
    for tag in wanted.tags_all:
        yield [_by_tag(place, tag, _covered(tag))]
    if 0 < len(wanted.tags_any) <= SEEKS:
        yield [_by_tag(place, tag, "tags_any") for tag in wanted.tags_any]
    if wanted.types is not None and len(wanted.types) <= SEEKS:
        yield [_by_type(kind, wanted.status) for kind in wanted.types]
    elif wanted.status is not None:
        yield [IndexPath("node", "node.status = ?", (wanted.status,), covers=frozenset({"status"}))]


def _by_keys(column: str, keys: tuple[Any, ...]) -> IndexPath:
    # Ordering by an expression keeps the engines from scanning all nodes by seq to avoid the sort.
    return IndexPath("node", "", keys, order="node.seq + 0", seq="seq + 0", column=column)


def _by_tag(place: tuple[str, int, str], tag: str, covers: str) -> IndexPath:
    return IndexPath(
        "node_tag",
        "node_tag.workspace = ? AND node_tag.branch = ? AND node_tag.doc = ? AND node_tag.tag = ?",
        (*place, tag),
        order="node_tag.seq",
        join="node.workspace = node_tag.workspace AND node.seq = node_tag.seq",
        covers=frozenset({covers}),
    )


def _by_type(kind: str, status: str | None) -> IndexPath:
    if status is None:
        return IndexPath("node", "node.type = ?", (kind,), covers=frozenset({"types"}))
    both = frozenset({"types", "status"})
    return IndexPath("node", "node.type = ? AND node.status = ?", (kind, status), covers=both)


def _matches(ctx: Context, doc: str, link: BranchPart, ways: list[IndexPath], enough: int | None = None) -> int:
    """How many rows a choice matches; counting stops once it is no better than `enough`."""
    found = 0
    for way in ways:
        found += _sample(ctx, doc, link, way)
        if enough is not None and found >= enough:
            break
    return found


def _sample(ctx: Context, doc: str, link: BranchPart, way: IndexPath) -> int:
    """The number of matches, from the cache if it was counted not long ago.

    Views ask for the same filters again and again. The number only helps to choose between paths to the same rows, so
    it may be outdated by SAMPLE writes.
    """
    known = ctx.database.resources.of(Samples).counts
    key = (ctx.workspace, way.lead, link.branch, doc, way.condition, way.params)
    found, at = known.get(key, (0, -1))
    # After a restore the seq may be lower than when it was counted; then the count is invalid.
    if not 0 <= at <= ctx.ws.seq <= at + SAMPLE:
        # All are dropped at once: tracking which are old would cost more than counting again.
        if len(known) >= MOST_SAMPLES:
            known.clear()
        found, at = known[key] = (_count(ctx, doc, link, way), ctx.ws.seq)
    return found


def _count(ctx: Context, doc: str, link: BranchPart, way: IndexPath) -> int:
    place = "node.workspace = ? AND node.branch = ? AND node.doc = ? AND " if way.lead == "node" else ""
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {way.lead} WHERE {place}{way.condition} LIMIT {SAMPLE}) AS sample"
    found = ctx.tx.value(sql, *((ctx.workspace, link.branch, doc) if place else ()), *way.params)
    return int(found)


def restrict(clause: Condition, wanted: NodeFilter, covered: frozenset[str], engine: str) -> None:
    """Add the filters that the index path does not cover, as row conditions that use no other index."""
    if not wanted.include_deleted:
        clause.add("node.deleted = 0")
    if wanted.types is not None and "types" not in covered:
        clause.add(f"{aside('node.type')} IN ({placeholders(len(wanted.types))})", *wanted.types)
    if wanted.status is not None and "status" not in covered:
        clause.add(f"{aside('node.status')} = ?", wanted.status)
    if wanted.tags_any and "tags_any" not in covered:
        clause.add(_tagged(f"IN ({placeholders(len(wanted.tags_any))})"), *wanted.tags_any)
    for tag in wanted.tags_all:
        if _covered(tag) not in covered:
            clause.add(_tagged("= ?"), tag)
    if wanted.tags_none:
        clause.add(f"NOT {_tagged(f'IN ({placeholders(len(wanted.tags_none))})')}", *wanted.tags_none)
    if wanted.text is not None:
        # Not LIKE: the text may contain % and _, and the engines fold case differently.
        find = "instr" if engine == "sqlite" else "strpos"
        clause.add(f"{find}(node.folded, ?) > 0", wanted.text)


def _covered(tag: str) -> str:
    return f"tag {tag}"


def _tagged(which: str) -> str:
    return (
        "EXISTS (SELECT 1 FROM node_tag AS held WHERE held.workspace = node.workspace AND held.branch = node.branch"
        f" AND held.doc = node.doc AND held.seq = node.seq AND held.tag {which} {ROW_BY_ROW})"
    )
