"""Who revises whom: chains of revisions and what they add up to."""

from __future__ import annotations

from collections import Counter
from typing import Any

from clew.ledger.chains import Point
from clew.ledger.rows import Thought


class Revisions:
    def __init__(self, session: str, thoughts: list[Thought]) -> None:
        self._session = session
        self._thoughts = {thought.point: thought for thought in thoughts}
        self._place = {thought.point: place for place, thought in enumerate(thoughts)}
        self._revised_by: dict[Point, list[Point]] = {}
        for thought in thoughts:
            if thought.revises is not None:
                self._revised_by.setdefault(thought.revises, []).append(thought.point)

    def root(self, point: Point) -> tuple[Point, int]:
        """The original that a chain of revisions goes back to, and how many steps that is."""
        depth, seen = 0, {point}
        thought = self._thoughts.get(point)
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
        """How many thoughts lie, on average, between a thought and its revision."""
        steps = [
            self._place[thought.point] - self._place[thought.revises]
            for thought in made
            if thought.revises is not None and thought.revises in self._place
        ]
        return round(sum(steps) / len(steps), 1) if steps else 0.0
