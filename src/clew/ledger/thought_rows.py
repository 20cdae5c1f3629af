"""Thoughts as rows with their texts, as JSON for callers, and the analysis of revisions for exports."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import orjson

from clew.canonical import Json, canonical, without_none
from clew.clock import iso_millis
from clew.ledger.chains import MAIN, Point
from clew.ledger.thought_links import node_id
from clew.reasoning.documents import ENTRY_OF_THOUGHT
from clew.registry.context import Context
from clew.store.database import placeholders


class Thought(NamedTuple):
    """A row of the table, and the text of the entry with the same seq in the session's trace.

    A tuple with positional fields, because an export creates thousands and a class with names takes three times
    as long.
    """

    session: str
    chain: str
    number: int
    seq: int
    ts_ms: int
    total: int
    next_flag: int
    kind: str | None
    prev_chain: str | None
    prev_number: int | None
    from_chain: str | None
    from_number: int | None
    revision_flag: int
    revises_chain: str | None
    revises_number: int | None
    agent: str | None
    critique_json: str | None
    extra_json: str | None
    text: str

    @property
    def point(self) -> Point:
        return Point(self.chain, self.number)

    @property
    def prev(self) -> Point | None:
        return _point(self.prev_chain, self.prev_number)

    @property
    def origin(self) -> Point | None:
        return _point(self.from_chain, self.from_number)

    @property
    def revises(self) -> Point | None:
        return _point(self.revises_chain, self.revises_number)

    @property
    def next_needed(self) -> bool:
        return bool(self.next_flag)

    @property
    def is_revision(self) -> bool:
        return bool(self.revision_flag)

    @property
    def critique(self) -> Json | None:
        return orjson.loads(self.critique_json) if self.critique_json else None

    @property
    def extra(self) -> Json:
        return orjson.loads(self.extra_json) if self.extra_json else {}

    @property
    def node_id(self) -> str:
        return node_id(self.session, self.point)

    def id_of(self, point: Point) -> str:
        """The node id of another thought of the same session."""
        return node_id(self.session, point)


def _point(chain: str | None, number: int | None) -> Point | None:
    return None if number is None else Point(chain or MAIN, number)


_COLUMNS = (
    "session", "chain", "number", "seq", "ts_ms", "total", "next_needed", "kind", "prev_chain", "prev_number",
    "from_chain", "from_number", "is_revision", "revises_chain", "revises_number", "agent", "critique", "extra",
)  # fmt: skip
_SELECT = (
    f"SELECT {', '.join(f'thought.{name}' for name in _COLUMNS)}, coalesce(entry.content, '') FROM thought"
    + ENTRY_OF_THOUGHT
)
_INSERT = f"INSERT INTO thought (workspace, {', '.join(_COLUMNS)}) VALUES ({placeholders(len(_COLUMNS) + 1)})"


def insert_thought(ctx: Context, thought: Thought) -> None:
    """Add the row; the text is in the trace already."""
    ctx.tx.run(_INSERT, ctx.workspace, *thought[:-1])


def keep_extra(ctx: Context, thought: Thought, extra: Json) -> None:
    """Store the data of a thought that has no column."""
    sql = "UPDATE thought SET extra = ? WHERE workspace = ? AND seq = ?"
    ctx.tx.run(sql, canonical(extra), ctx.workspace, thought.seq)


def thoughts_where(ctx: Context, condition: str, *params: Any, order: str = "thought.seq", limit: int) -> list[Thought]:
    """The workspace's thoughts that meet a condition, in the given order."""
    sql = f"{_SELECT} WHERE thought.workspace = ? AND {condition} ORDER BY {order} LIMIT ?"
    return [Thought._make(row) for row in ctx.tx.tuples(sql, ctx.workspace, *params, limit)]


def thought_at(ctx: Context, session: str, point: Point) -> Thought | None:
    condition = "thought.session = ? AND thought.chain = ? AND thought.number = ?"
    found = thoughts_where(ctx, condition, session, *point, limit=1)
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
    # Effectively unlimited: an export or analysis needs all of them.
    return thoughts_where(ctx, "thought.session = ?", session, limit=10_000_000)


def is_plain(thought: Thought) -> bool:
    """On the main line, followed by another, and with only its number, time and text to export."""
    if not thought.next_flag or thought.revision_flag or thought.extra_json or thought.chain:
        return False
    told = (thought.kind, thought.agent, thought.critique_json, thought.revises_number, thought.from_number)
    return all(value is None for value in told)


def data_json(thought: Thought) -> Json:
    """The seed's ThoughtData, without options that were not given."""
    given = {
        "isRevision": thought.is_revision or None,
        "revisesThought": thought.revises_number,
        "branchFromThought": thought.from_number,
        "branchId": thought.chain or None,
        "type": thought.kind,
        "agentId": thought.agent,
        "critique": thought.critique,
    }
    return {
        **thought.extra,
        "thought": thought.text,
        "thoughtNumber": thought.number,
        "totalThoughts": thought.total,
        "nextThoughtNeeded": thought.next_needed,
        "timestamp": iso_millis(thought.ts_ms),
        **without_none(**given),
    }


def thought_json(thought: Thought) -> Json:
    shown: Json = {
        "thoughtNumber": thought.number,
        "thought": thought.text,
        "totalThoughts": thought.total,
        "nextThoughtNeeded": thought.next_needed,
        "isRevision": thought.is_revision,
        "revisesThought": thought.revises_number,
        "revisesBranch": thought.revises_chain or None,
        "branchId": thought.chain or None,
        "branchFromThought": thought.from_number,
        "branchFromBranch": thought.from_chain or None,
        "type": thought.kind,
        "critique": thought.critique,
        "agent": thought.agent,
        "timestamp": iso_millis(thought.ts_ms),
        "seq": thought.seq,
    }
    return without_none(**shown)


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
        """The original at the start of a chain of revisions, and the number of steps to it. Cycles end as well."""
        thought = self._thoughts.get(point)
        if thought is None or thought.revises is None:
            return point, 0
        depth, seen = 0, {point}
        while thought is not None and thought.revises is not None and thought.revises not in seen:
            seen.add(thought.revises)
            depth, point = depth + 1, thought.revises
            thought = self._thoughts.get(point)
        return point, depth

    def metadata(self, thought: Thought) -> Json:
        root, depth = self.root(thought.point)
        return {
            "isOriginal": not thought.is_revision,
            "isRevision": thought.is_revision,
            "revisesThought": thought.revises_number,
            "revisedBy": [point.number for point in self._revised_by.get(thought.point, [])],
            "revisionDepth": depth,
            "revisionChainId": f"chain-{self._session}-{root.chain + ':' if root.chain else ''}{root.number}",
        }

    def analysis(self) -> Json:
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
