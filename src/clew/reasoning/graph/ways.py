"""Ways into the node table: each filter has an index that gives seq order; the one with the fewest matches leads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from clew.reasoning.branches import Link
from clew.reasoning.graph.view import BY_SEQ, ROW_BY_ROW, Clause, aside, lookup
from clew.registry.context import Context
from clew.store.database import Database, placeholders

SEEKS = 16
"""Most index seeks that one filter is split into; a longer list is checked row by row instead."""
SAMPLE = 500
"""How far a filter's matches are counted before it is called common."""

FEW = 20
MOST_SAMPLES = 10_000

_samples: WeakKeyDictionary[Database, dict[tuple[Any, ...], tuple[int, int]]] = WeakKeyDictionary()
"""For each database: matches of a condition, and the seq at which they were counted."""


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
    seqs: tuple[int, ...] | None = None
    """Versions that may hold the text, when they are few."""

    def impossible(self) -> bool:
        return () in (self.ids, self.types, self.seqs)


@dataclass(frozen=True, slots=True)
class Way:
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

    def source(self, engine: str, more: Clause) -> tuple[str, tuple[Any, ...]]:
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


def ways_in(ctx: Context, doc: str, link: Link, wanted: Filter) -> list[Way]:
    """By ids, else by the filter with the fewest matches, else all nodes by seq. Several ways are read side by side."""
    if wanted.ids is not None:
        return [_by_keys("id", wanted.ids)]
    if wanted.seqs is not None:
        return [_by_keys("seq", wanted.seqs)]
    choices = list(_choices(ctx, doc, link, wanted))
    if not choices:
        return [Way("node", f"node.{BY_SEQ}", ())]
    if len(choices) == 1:
        return choices[0]
    fewest, best = _matches(ctx, doc, link, choices[0]), choices[0]
    for ways in choices[1:]:
        if fewest <= FEW:
            break  # no other way can be worth the counting
        found = _matches(ctx, doc, link, ways, fewest)
        if found < fewest:
            fewest, best = found, ways
    return best


def _choices(ctx: Context, doc: str, link: Link, wanted: Filter) -> Iterator[list[Way]]:
    place = (ctx.workspace, link.branch, doc)
    for tag in wanted.tags_all:
        yield [_by_tag(place, tag, _covered(tag))]
    if 0 < len(wanted.tags_any) <= SEEKS:
        yield [_by_tag(place, tag, "tags_any") for tag in wanted.tags_any]
    if wanted.types is not None and len(wanted.types) <= SEEKS:
        yield [_by_type(kind, wanted.status) for kind in wanted.types]
    elif wanted.status is not None:
        yield [Way("node", "node.status = ?", (wanted.status,), covers=frozenset({"status"}))]


def _by_keys(column: str, keys: tuple[Any, ...]) -> Way:
    # A few keys lead; ordering by an expression keeps the engines from walking all nodes by seq to save the sort.
    return Way("node", "", keys, order="node.seq + 0", seq="seq + 0", column=column)


def _by_tag(place: tuple[str, int, str], tag: str, covers: str) -> Way:
    return Way(
        "node_tag",
        "node_tag.workspace = ? AND node_tag.branch = ? AND node_tag.doc = ? AND node_tag.tag = ?",
        (*place, tag),
        order="node_tag.seq",
        join="node.workspace = node_tag.workspace AND node.seq = node_tag.seq",
        covers=frozenset({covers}),
    )


def _by_type(kind: str, status: str | None) -> Way:
    if status is None:
        return Way("node", "node.type = ?", (kind,), covers=frozenset({"types"}))
    both = frozenset({"types", "status"})
    return Way("node", "node.type = ? AND node.status = ?", (kind, status), covers=both)


def _matches(ctx: Context, doc: str, link: Link, ways: list[Way], enough: int | None = None) -> int:
    """How many rows a choice leads to, counted until it is known to be no better than another with `enough`."""
    found = 0
    for way in ways:
        found += _sample(ctx, doc, link, way)
        if enough is not None and found >= enough:
            break
    return found


def _sample(ctx: Context, doc: str, link: Link, way: Way) -> int:
    """How many matches there were when they were last counted, not long ago.

    Views ask about the same marks again and again. The number only helps to choose among ways that lead to the same
    rows, so it may be old by as many writes as it is coarse.
    """
    known = _samples.setdefault(ctx.database, {})
    key = (ctx.workspace, way.lead, link.branch, doc, way.condition, way.params)
    found, at = known.get(key, (0, -1))
    if not 0 <= at <= ctx.ws.seq <= at + SAMPLE:
        if len(known) >= MOST_SAMPLES:
            known.clear()
        found, at = known[key] = (_count(ctx, doc, link, way), ctx.ws.seq)
    return found


def _count(ctx: Context, doc: str, link: Link, way: Way) -> int:
    place = "node.workspace = ? AND node.branch = ? AND node.doc = ? AND " if way.lead == "node" else ""
    found = ctx.tx.value(
        f"SELECT count(*) FROM (SELECT 1 FROM {way.lead} WHERE {place}{way.condition} LIMIT {SAMPLE}) AS sample",
        *((ctx.workspace, link.branch, doc) if place else ()),
        *way.params,
    )
    return int(found)


def restrict(clause: Clause, wanted: Filter, covered: frozenset[str], engine: str) -> None:
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
        find = "instr" if engine == "sqlite" else "strpos"
        clause.add(f"{find}(node.folded, ?) > 0", wanted.text)


def _covered(tag: str) -> str:
    return f"tag {tag}"


def _tagged(which: str) -> str:
    return (
        "EXISTS (SELECT 1 FROM node_tag AS held WHERE held.workspace = node.workspace AND held.branch = node.branch"
        f" AND held.doc = node.doc AND held.seq = node.seq AND held.tag {which} {ROW_BY_ROW})"
    )
