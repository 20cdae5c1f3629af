"""The SQL of a view: which versions are live at each link of a branch's chain and not shadowed by a nearer one.

Versions on a nearer link are always newer than what it inherits. So the links in their order, each read from its newest
version backwards, are the view in its order, and a page stops reading as soon as it is full.

The second half chooses the way into the node table: each filter has an index that gives seq order, and the filter with
the fewest matches leads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.reasoning.branches import END, BranchPart
from clew.registry.context import Context
from clew.store.database import Companion, Database, Row, placeholders

NODE_KEY = ("id",)
EDGE_KEY = ("from_id", "rel", "to_id")
ROW_BY_ROW = "LIMIT 1 OFFSET 0"
"""At the end of an EXISTS: PostgreSQL looks into it for each row at hand, and does not make a join of it."""

BY_SEQ = "seq + 0 > 0"
"""Always true. A statement that walks versions in their order says it, and only then do the engines see the indexes
that give this order. To a lookup by key these look equally good where statistics are missing, and are much worse."""


def aside(column: str) -> str:
    """A column to be compared row by row: the engines see no index in it, nor that it is never null."""
    return f"nullif({column}, '')"


@dataclass
class Condition:
    """A condition with its parameters, built up part by part."""

    parts: list[str] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)

    def add(self, sql: str, *params: Any) -> Condition:
        self.parts.append(sql)
        self.params.extend(params)
        return self

    def extend(self, other: Condition) -> Condition:
        self.parts.extend(other.parts)
        self.params.extend(other.params)
        return self

    def sql(self) -> str:
        return " AND ".join(self.parts)


def live(
    table: str, workspace: str, doc: str, link: BranchPart, before: int | None = None, seq: str = "seq", after: int = 0
) -> Condition:
    """Versions of one branch that are live at the link's cutoff, only those with `after < seq < before`.

    With `seq="seq + 0"` the engines cannot walk the versions by seq, which they like to do even where a few keys lead.
    """
    clause = Condition().add(
        f"{table}.workspace = ? AND {table}.branch = ? AND {table}.doc = ?", workspace, link.branch, doc
    )
    # One upper bound on seq, never two: SQLite seeks to the first it sees and filters by the other.
    last = link.cutoff if before is None else min(link.cutoff, before - 1)
    # No bound at all for the newest state: `seq <= 2^62` would be true for every row, and the planners do not know
    # that.
    if last < END:
        clause.add(f"{table}.{seq} <= ?", last)
    if after:
        clause.add(f"{table}.{seq} > ?", after)
    if link.cutoff >= END:
        return clause.add(f"{table}.until IS NULL")
    return clause.add(f"({table}.until IS NULL OR {table}.until > ?)", link.cutoff)


def unshadowed(clause: Condition, table: str, key: tuple[str, ...], doc: str, nearer: list[BranchPart]) -> Condition:
    """Leave out keys of which a nearer link shows any version."""
    same = " AND ".join(f"near.{column} = {table}.{column}" for column in key)
    for link in nearer:
        # Any version, deleted ones too: what a nearer branch has deleted must not show through from below.
        clause.add(
            f"NOT EXISTS (SELECT 1 FROM {table} AS near WHERE near.workspace = {table}.workspace AND near.branch = ?"
            f" AND near.doc = ? AND {same} AND near.seq <= ? {ROW_BY_ROW})",
            link.branch,
            doc,
            link.cutoff,
        )
    return clause


def among(engine: str, text: str, values: Sequence[str]) -> Condition:
    """That an expression is one of these values; on PostgreSQL one statement for any number of them."""
    if engine == "sqlite":
        return Condition([f"{text} IN ({placeholders(len(values))})"], [*values])
    return Condition([f"{text} = ANY (CAST(? AS TEXT[]))"], [[*values]])


def lookup(
    engine: str, table: str, column: str, values: Sequence[Any], condition: Condition
) -> tuple[str, tuple[Any, ...]]:
    """FROM and WHERE, with parameters, of rows that have one of these values in a column and fulfil a condition."""
    if engine == "sqlite":
        sql = f"FROM {table} WHERE {table}.{column} IN ({placeholders(len(values))}) AND {condition.sql()}"
        return sql, (*values, *condition.params)
    # PostgreSQL takes an IN list for a hint and may enter elsewhere. A table of values it has to walk, and behind
    # OFFSET it can neither turn the join around nor hope to find the first row soon. However many values there are,
    # it is one statement, prepared once.
    found = f"SELECT * FROM {table} WHERE {table}.{column} = given.value AND {condition.sql()} OFFSET 0"
    # Numbers go as text: psycopg takes the smallest type that fits, and would prepare a statement for each.
    numbers = isinstance(values[0], int)
    given = f"unnest(CAST(? AS {'BIGINT' if numbers else 'TEXT'}[])) AS given (value)"
    array = "{" + ",".join(map(str, values)) + "}" if numbers else [*values]
    return f"FROM {given} CROSS JOIN LATERAL ({found}) AS {table}", (array, *condition.params)


def keys(ctx: Context, table: str, key: tuple[str, ...], doc: str, links: list[BranchPart]) -> list[tuple[Any, ...]]:
    """The keys of everything live in a view, newest first."""
    found = []
    columns = ", ".join(f"{table}.{column}" for column in key)
    for depth, link in enumerate(links):
        clause = live(table, ctx.workspace, doc, link).add(f"{table}.{BY_SEQ} AND {table}.deleted = 0")
        unshadowed(clause, table, key, doc, links[:depth])
        rows = ctx.tx.all(
            f"SELECT {columns} FROM {table} WHERE {clause.sql()} ORDER BY {table}.seq DESC", *clause.params
        )
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
    """The newest versions of a view with `after < seq < before`, tombstones included.

    With `older_in`, only of keys that have a version up to `after` on one of these links too.
    """
    rows: list[Row] = []
    for depth, link in enumerate(links):
        # Later parts are older still, so nothing of them can lie above `after`.
        if link.cutoff <= after or len(rows) >= limit:
            break
        clause = live(table, ctx.workspace, doc, link, before, after=after).add(f"{table}.{BY_SEQ}")
        unshadowed(clause, table, key, doc, links[:depth])
        if older_in is not None:
            _known_before(clause, table, key, doc, older_in, after)
        rows += ctx.tx.all(
            f"SELECT {table}.* FROM {table} WHERE {clause.sql()} ORDER BY {table}.seq DESC LIMIT ?",
            *clause.params,
            limit - len(rows),
        )
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
    """Up to this seq two views are the same; whatever is newer in either was written on one side only."""
    known = {link.branch: link.cutoff for link in other}
    return next((min(link.cutoff, known[link.branch]) for link in one if link.branch in known), 0)


SEEKS = 16
"""Most index seeks that one filter is split into; a longer list is checked row by row instead."""
SAMPLE = 500
"""How far a filter's matches are counted before it is called common."""

FEW = 20
MOST_SAMPLES = 10_000


class Samples(Companion):
    """How many rows a condition matched, and the seq at which they were counted."""

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
    """Versions that may hold the text, when they are few."""

    def impossible(self) -> bool:
        return () in (self.ids, self.types, self.seqs)


@dataclass(frozen=True, slots=True)
class IndexPath:
    """One index that leads to nodes: the table read first, its own condition, and the order it gives."""

    lead: str
    condition: str
    params: tuple[Any, ...]
    order: str = "node.seq"
    seq: str = "seq"
    join: str = ""
    covers: frozenset[str] = frozenset()
    """Filters that the condition already is; saying one twice misleads the planner."""
    column: str = ""
    """Instead of a condition: the params are values of this column."""

    def source(self, engine: str, more: Condition) -> tuple[str, tuple[Any, ...]]:
        """FROM and WHERE, with parameters: the way itself, then more conditions."""
        if self.column:
            return lookup(engine, self.lead, self.column, self.params, more)
        return self._source(engine, more.sql()), (*self.params, *more.params)

    def _source(self, engine: str, more: str) -> str:
        if self.lead == "node":
            return f"FROM node WHERE {self.condition} AND {more}"
        if engine == "sqlite":  # CROSS JOIN keeps it from starting at the node table
            return f"FROM {self.lead} CROSS JOIN node WHERE {self.condition} AND {self.join} AND {more}"
        # PostgreSQL may turn any join around; behind OFFSET it cannot.
        inner = f"SELECT * FROM node WHERE {self.join} OFFSET 0"
        return f"FROM {self.lead} CROSS JOIN LATERAL ({inner}) AS node WHERE {self.condition} AND {more}"


def ways_in(ctx: Context, doc: str, link: BranchPart, wanted: NodeFilter) -> list[IndexPath]:
    """By ids, else by the filter with the fewest matches, else all nodes by seq. Several ways are read side by side."""
    if wanted.ids is not None:
        return [_by_keys("id", wanted.ids)]
    if wanted.seqs is not None:
        return [_by_keys("seq", wanted.seqs)]
    choices = list(_choices(ctx, doc, link, wanted))
    if not choices:
        return [IndexPath("node", f"node.{BY_SEQ}", ())]
    if len(choices) == 1:
        return choices[0]
    # Counting costs a short index scan for each choice and pays when a rare tag stands beside a common type.
    fewest, best = _matches(ctx, doc, link, choices[0]), choices[0]
    for ways in choices[1:]:
        if fewest <= FEW:
            break  # no other way can be worth the counting
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
    # A few keys lead; ordering by an expression keeps the engines from walking all nodes by seq to save the sort.
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
    """How many rows a choice leads to, counted until it is known to be no better than another with `enough`."""
    found = 0
    for way in ways:
        found += _sample(ctx, doc, link, way)
        if enough is not None and found >= enough:
            break
    return found


def _sample(ctx: Context, doc: str, link: BranchPart, way: IndexPath) -> int:
    """How many matches there were when they were last counted, not long ago.

    Views ask about the same marks again and again. The number only helps to choose among ways that lead to the same
    rows, so it may be old by as many writes as it is coarse.
    """
    known = ctx.database.companions.of(Samples).counts
    key = (ctx.workspace, way.lead, link.branch, doc, way.condition, way.params)
    found, at = known.get(key, (0, -1))
    # After a restore from a backup the seq may be lower than when it was counted; then the count is worth nothing.
    if not 0 <= at <= ctx.ws.seq <= at + SAMPLE:
        # Thrown away all at once: to know which are old would cost more than counting again.
        if len(known) >= MOST_SAMPLES:
            known.clear()
        found, at = known[key] = (_count(ctx, doc, link, way), ctx.ws.seq)
    return found


def _count(ctx: Context, doc: str, link: BranchPart, way: IndexPath) -> int:
    place = "node.workspace = ? AND node.branch = ? AND node.doc = ? AND " if way.lead == "node" else ""
    found = ctx.tx.value(
        f"SELECT count(*) FROM (SELECT 1 FROM {way.lead} WHERE {place}{way.condition} LIMIT {SAMPLE}) AS sample",
        *((ctx.workspace, link.branch, doc) if place else ()),
        *way.params,
    )
    return int(found)


def restrict(clause: Condition, wanted: NodeFilter, covered: frozenset[str], engine: str) -> None:
    """The filters that the way in does not cover, as conditions on the row, which must not lead elsewhere."""
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
        # Not LIKE: the text may hold % and _, and both engines fold case in ways of their own.
        find = "instr" if engine == "sqlite" else "strpos"
        clause.add(f"{find}(node.folded, ?) > 0", wanted.text)


def _covered(tag: str) -> str:
    return f"tag {tag}"


def _tagged(which: str) -> str:
    return (
        "EXISTS (SELECT 1 FROM node_tag AS held WHERE held.workspace = node.workspace AND held.branch = node.branch"
        f" AND held.doc = node.doc AND held.seq = node.seq AND held.tag {which} {ROW_BY_ROW})"
    )
