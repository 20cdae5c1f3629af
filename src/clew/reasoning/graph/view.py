"""The SQL of a view: which versions are live at each link of a branch's chain and not shadowed by a nearer one.

Versions on a nearer link are always newer than what it inherits. So the links in their order, each read from its newest
version backwards, are the view in its order, and a page stops reading as soon as it is full.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clew.reasoning.branches import END, Link

NODE_KEY = ("id",)
EDGE_KEY = ("from_id", "rel", "to_id")


@dataclass
class Clause:
    """A condition with its parameters, built up part by part."""

    parts: list[str] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)

    def add(self, sql: str, *params: Any) -> Clause:
        self.parts.append(sql)
        self.params.extend(params)
        return self

    def sql(self) -> str:
        return " AND ".join(self.parts)


def live(table: str, workspace: str, doc: str, link: Link, before: int | None = None, seq: str = "seq") -> Clause:
    """Versions of one branch that are live at the link's cutoff, those from seq `before` on left out.

    With `seq="seq + 0"` the engines cannot walk the versions by seq, which they like to do even where a few keys lead.
    """
    clause = Clause().add(
        f"{table}.workspace = ? AND {table}.branch = ? AND {table}.doc = ?", workspace, link.branch, doc
    )
    # One upper bound on seq, never two: SQLite seeks to the first it sees and filters by the other.
    last = link.cutoff if before is None else min(link.cutoff, before - 1)
    if last < END:
        clause.add(f"{table}.{seq} <= ?", last)
    if link.cutoff >= END:
        return clause.add(f"{table}.until IS NULL")
    return clause.add(f"({table}.until IS NULL OR {table}.until > ?)", link.cutoff)


def unshadowed(clause: Clause, table: str, key: tuple[str, ...], doc: str, nearer: list[Link]) -> Clause:
    """Leave out keys of which a nearer link shows any version."""
    same = " AND ".join(f"near.{column} = {table}.{column}" for column in key)
    for link in nearer:
        clause.add(
            f"NOT EXISTS (SELECT 1 FROM {table} AS near WHERE near.workspace = {table}.workspace AND near.branch = ?"
            f" AND near.doc = ? AND {same} AND near.seq <= ?)",
            link.branch,
            doc,
            link.cutoff,
        )
    return clause
