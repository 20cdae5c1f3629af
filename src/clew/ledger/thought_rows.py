"""Thoughts as rows with their texts, as JSON for callers, and the analysis of revisions for exports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import orjson

from clew.clock import iso_millis
from clew.ledger.chains import MAIN, Point
from clew.ledger.thought_links import node_id
from clew.reasoning.documents import ENTRY_OF_THOUGHT
from clew.registry.context import Context
from clew.store.rows import TableRow


@dataclass(frozen=True)
class ThoughtRow(TableRow):
    """A row of the table. The text is in the session's trace, in the entry with the same seq."""

    TABLE: ClassVar[str] = "thought"
    KEY: ClassVar[tuple[str, ...]] = ("session", "chain", "number")
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"critique", "extra"})
    FLAGS: ClassVar[frozenset[str]] = frozenset({"next_needed", "is_revision"})

    session: str
    chain: str
    number: int
    seq: int
    ts_ms: int
    total: int
    next_needed: bool
    kind: str | None
    prev_chain: str | None
    prev_number: int | None
    from_chain: str | None
    from_number: int | None
    is_revision: bool
    revises_chain: str | None
    revises_number: int | None
    agent: str | None
    critique: dict[str, Any] | None
    extra: dict[str, Any] | None


class Thought(NamedTuple):
    """A thought as it is read. A tuple, because an export makes thousands and a frozen dataclass takes three times as
    long to make."""

    session: str
    point: Point
    seq: int
    ts_ms: int
    total: int
    next_needed: bool
    kind: str | None
    prev: Point | None
    origin: Point | None
    is_revision: bool
    revises: Point | None
    critique: dict[str, Any] | None
    extra: dict[str, Any]
    text: str
    agent: str | None

    @property
    def node_id(self) -> str:
        return node_id(self.session, self.point)

    def id_of(self, point: Point) -> str:
        """The node id of another thought of the same session."""
        return node_id(self.session, point)


_SELECT = (
    "SELECT thought.session, thought.chain, thought.number, thought.seq, thought.ts_ms, total, next_needed,"
    " thought.kind, prev_chain, prev_number, from_chain, from_number, is_revision, revises_chain, revises_number,"
    " thought.agent, critique, extra, entry.content AS text FROM thought" + ENTRY_OF_THOUGHT
)


def thoughts_where(ctx: Context, condition: str, *params: Any, order: str = "thought.seq", limit: int) -> list[Thought]:
    """The workspace's thoughts that meet a condition, in the given order."""
    rows = ctx.tx.tuples(
        f"{_SELECT} WHERE thought.workspace = ? AND {condition} ORDER BY {order} LIMIT ?",
        ctx.workspace,
        *params,
        limit,
    )
    return [_thought(*row) for row in rows]


def thought_at(ctx: Context, session: str, point: Point) -> Thought | None:
    found = thoughts_where(
        ctx,
        "thought.session = ? AND thought.chain = ? AND thought.number = ?",
        session,
        point.chain,
        point.number,
        limit=1,
    )
    return found[0] if found else None


def thought_by_seq(ctx: Context, seq: int) -> Thought | None:
    found = thoughts_where(ctx, "thought.seq = ?", seq, limit=1)
    return found[0] if found else None


def newest_thoughts(ctx: Context, session: str, count: int, chain: str | None = None) -> list[Thought]:
    """The last `count` thoughts, oldest of them first."""
    only, params = ("", []) if chain is None else (" AND thought.chain = ?", [chain])
    found = thoughts_where(ctx, f"thought.session = ?{only}", session, *params, order="thought.seq DESC", limit=count)
    return found[::-1]


def following_thoughts(ctx: Context, session: str, after: int, limit: int) -> list[Thought]:
    """Thoughts after a seq, in the order of writing."""
    return thoughts_where(ctx, "thought.session = ? AND thought.seq > ?", session, after, limit=limit)


def every_thought(ctx: Context, session: str) -> list[Thought]:
    # In effect without a limit: an export or analysis needs all of them.
    return thoughts_where(ctx, "thought.session = ?", session, limit=10_000_000)


_make = tuple.__new__


def _thought(
    session: str,
    chain: str,
    number: int,
    seq: int,
    ts_ms: int,
    total: int,
    next_needed: int,
    kind: str | None,
    prev_chain: str | None,
    prev: int | None,
    from_chain: str | None,
    origin: int | None,
    is_revision: int,
    revises_chain: str | None,
    revised: int | None,
    agent: str | None,
    critique: str | None,
    extra: str | None,
    text: str | None,
) -> Thought:
    """A thought from the columns of `_SELECT` by position: exports read thousands, and named rows double the cost.

    Made as plain tuples are, which takes half of the time: the constructors of named ones are written in Python.
    """
    columns = (
        session,
        _make(Point, (chain, number)),
        seq,
        ts_ms,
        total,
        bool(next_needed),
        kind,
        None if prev is None else _make(Point, (prev_chain or MAIN, prev)),
        None if origin is None else Point(from_chain or MAIN, origin),
        bool(is_revision),
        None if revised is None else Point(revises_chain or MAIN, revised),
        orjson.loads(critique) if critique else None,
        orjson.loads(extra) if extra else {},
        text or "",
        agent,
    )
    return _make(Thought, columns)


def is_plain(thought: Thought) -> bool:
    """On the main line, followed by another, and with nothing to tell but its number, time and text."""
    _, point, _, _, _, next_needed, kind, _, origin, is_revision, revises, critique, extra, _, agent = thought
    if not next_needed or is_revision or extra or point.chain:
        return False
    return kind is None and agent is None and critique is None and revises is None and origin is None


def data_json(thought: Thought) -> dict[str, Any]:
    """The seed's ThoughtData, without options that were not given."""
    data = {
        **thought.extra,
        "thought": thought.text,
        "thoughtNumber": thought.point.number,
        "totalThoughts": thought.total,
        "nextThoughtNeeded": thought.next_needed,
        "timestamp": iso_millis(thought.ts_ms),
    }
    if thought.is_revision:
        data["isRevision"] = True
    if thought.revises:
        data["revisesThought"] = thought.revises.number
    if thought.origin:
        data["branchFromThought"] = thought.origin.number
    if thought.point.chain:
        data["branchId"] = thought.point.chain
    if thought.kind is not None:
        data["type"] = thought.kind
    if thought.agent is not None:
        data["agentId"] = thought.agent
    if thought.critique is not None:
        data["critique"] = thought.critique
    return data


def thought_json(thought: Thought) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "thoughtNumber": thought.point.number,
        "thought": thought.text,
        "totalThoughts": thought.total,
        "nextThoughtNeeded": thought.next_needed,
        "isRevision": thought.is_revision,
        "revisesThought": thought.revises.number if thought.revises else None,
        "revisesBranch": thought.revises.chain or None if thought.revises else None,
        "branchId": thought.point.chain or None,
        "branchFromThought": thought.origin.number if thought.origin else None,
        "branchFromBranch": thought.origin.chain or None if thought.origin else None,
        "type": thought.kind,
        "critique": thought.critique,
        "agent": thought.agent,
        "timestamp": iso_millis(thought.ts_ms),
        "seq": thought.seq,
    }
    return {name: value for name, value in shown.items() if value is not None}


class Revisions:
    """Which thoughts of a session revise which others, for the seed's export."""

    def __init__(self, session: str, thoughts: list[Thought]) -> None:
        self._session = session
        self._thoughts = {thought.point: thought for thought in thoughts}
        self._place = {thought.point: place for place, thought in enumerate(thoughts)}
        self._revised_by: dict[Point, list[Point]] = {}
        for thought in thoughts:
            if thought.revises is not None:
                self._revised_by.setdefault(thought.revises, []).append(thought.point)

    def root(self, point: Point) -> tuple[Point, int]:
        """The original at the start of a chain of revisions, and the number of steps to it. Ends in circles too."""
        thought = self._thoughts.get(point)
        if thought is None or thought.revises is None:
            return point, 0
        depth, seen = 0, {point}
        while thought is not None and thought.revises is not None and thought.revises not in seen:
            seen.add(thought.revises)
            depth, point = depth + 1, thought.revises
            thought = self._thoughts.get(point)
        return point, depth

    def metadata(self, thought: Thought) -> dict[str, Any]:
        root, depth = self.root(thought.point)
        return {
            "isOriginal": not thought.is_revision,
            "isRevision": thought.is_revision,
            "revisesThought": thought.revises.number if thought.revises else None,
            "revisedBy": [point.number for point in self._revised_by.get(thought.point, [])],
            "revisionDepth": depth,
            "revisionChainId": f"chain-{self._session}-{root.chain + ':' if root.chain else ''}{root.number}",
        }

    def analysis(self) -> dict[str, Any]:
        made = [thought for thought in self._thoughts.values() if thought.is_revision]
        counts = Counter({point: len(by) for point, by in self._revised_by.items()})
        most = min(counts, key=lambda point: (-counts[point], self._place.get(point, 0)), default=None)
        return {
            "totalRevisions": len(made),
            "mostRevisedThought": most and {"thoughtNumber": most.number, "revisionCount": counts[most]},
            "avgTemporalDistance": self._distance(made),
            "revisionDensity": round(100 * len(made) / len(self._thoughts), 1) if self._thoughts else 0.0,
        }

    def _distance(self, made: list[Thought]) -> float:
        """The mean distance between a thought and its revision, in thoughts."""
        steps = [
            self._place[thought.point] - self._place[thought.revises]
            for thought in made
            if thought.revises is not None and thought.revises in self._place
        ]
        return round(sum(steps) / len(steps), 1) if steps else 0.0
