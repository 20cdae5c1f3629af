"""The SQL of a view: which versions are live at each link of a branch's chain and not shadowed by a nearer one.

Versions on a nearer link are always newer than what it inherits. So the links in their order, each read from its newest
version backwards, are the view in its order, and a page stops reading as soon as it is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.reasoning.branches import END, Link
from clew.registry.context import Context
from clew.store.database import Row, placeholders

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
class Clause:
    """A condition with its parameters, built up part by part."""

    parts: list[str] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)

    def add(self, sql: str, *params: Any) -> Clause:
        self.parts.append(sql)
        self.params.extend(params)
        return self

    def extend(self, other: Clause) -> Clause:
        self.parts.extend(other.parts)
        self.params.extend(other.params)
        return self

    def sql(self) -> str:
        return " AND ".join(self.parts)


def live(
    table: str, workspace: str, doc: str, link: Link, before: int | None = None, seq: str = "seq", after: int = 0
) -> Clause:
    """Versions of one branch that are live at the link's cutoff, only those with `after < seq < before`.

    With `seq="seq + 0"` the engines cannot walk the versions by seq, which they like to do even where a few keys lead.
    """
    clause = Clause().add(
        f"{table}.workspace = ? AND {table}.branch = ? AND {table}.doc = ?", workspace, link.branch, doc
    )
    # One upper bound on seq, never two: SQLite seeks to the first it sees and filters by the other.
    last = link.cutoff if before is None else min(link.cutoff, before - 1)
    if last < END:
        clause.add(f"{table}.{seq} <= ?", last)
    if after:
        clause.add(f"{table}.{seq} > ?", after)
    if link.cutoff >= END:
        return clause.add(f"{table}.until IS NULL")
    return clause.add(f"({table}.until IS NULL OR {table}.until > ?)", link.cutoff)


def unshadowed(clause: Clause, table: str, key: tuple[str, ...], doc: str, nearer: list[Link]) -> Clause:
    """Leave out keys of which a nearer link shows any version."""
    same = " AND ".join(f"near.{column} = {table}.{column}" for column in key)
    for link in nearer:
        clause.add(
            f"NOT EXISTS (SELECT 1 FROM {table} AS near WHERE near.workspace = {table}.workspace AND near.branch = ?"
            f" AND near.doc = ? AND {same} AND near.seq <= ? {ROW_BY_ROW})",
            link.branch,
            doc,
            link.cutoff,
        )
    return clause


def among(engine: str, text: str, values: Sequence[str]) -> Clause:
    """That an expression is one of these values; on PostgreSQL one statement for any number of them."""
    if engine == "sqlite":
        return Clause([f"{text} IN ({placeholders(len(values))})"], [*values])
    return Clause([f"{text} = ANY (CAST(? AS TEXT[]))"], [[*values]])


def lookup(
    engine: str, table: str, column: str, values: Sequence[Any], condition: Clause
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


def keys(ctx: Context, table: str, key: tuple[str, ...], doc: str, links: list[Link]) -> list[tuple[Any, ...]]:
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
    links: list[Link],
    limit: int = END,
    before: int | None = None,
    after: int = 0,
    older_in: list[Link] | None = None,
) -> list[Row]:
    """The newest versions of a view with `after < seq < before`, tombstones included.

    With `older_in`, only of keys that have a version up to `after` on one of these links too.
    """
    rows: list[Row] = []
    for depth, link in enumerate(links):
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


def _known_before(clause: Clause, table: str, key: tuple[str, ...], doc: str, links: list[Link], last: int) -> None:
    same = " AND ".join(f"old.{column} = {table}.{column}" for column in key)
    branches = [link.branch for link in links]
    clause.add(
        f"EXISTS (SELECT 1 FROM {table} AS old WHERE old.workspace = {table}.workspace"
        f" AND old.branch IN ({placeholders(len(branches))}) AND old.doc = ? AND {same} AND old.seq <= ?)",
        *branches,
        doc,
        last,
    )


def shared_until(one: list[Link], other: list[Link]) -> int:
    """Up to this seq two views are the same; whatever is newer in either was written on one side only."""
    known = {link.branch: link.cutoff for link in other}
    return next((min(link.cutoff, known[link.branch]) for link in one if link.branch in known), 0)
