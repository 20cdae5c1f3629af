"""Where the work is on the map of anchors, read from the cards that a view shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from clew.ids import ANCHOR
from clew.reasoning.graph import Node

UNKNOWN = "unknown"
MOST_ANCHORS = 3


def map_of(cards: Sequence[Node], step_tag: str | None) -> dict[str, Any]:
    """The anchor of the step's cards, else of all that are shown, and the foremost anchors around."""
    ranked = anchors(cards)
    own = anchors(card for card in cards if step_tag in card.tags) if step_tag else []
    where = next(iter([*own, *ranked]), UNKNOWN)
    return {"where": where, "top_anchors": list(dict.fromkeys([*own, *ranked]))[:MOST_ANCHORS]}


def anchors(cards: Iterable[Node]) -> list[str]:
    """Anchors by how often cards name them, then by how recently."""
    counts: dict[str, tuple[int, int]] = {}
    for card in cards:
        for tag in card.tags:
            if ANCHOR.fullmatch(tag):
                times, last = counts.get(tag, (0, 0))
                counts[tag] = (times + 1, max(last, card.last_seq))
    return sorted(counts, key=lambda tag: (-counts[tag][0], -counts[tag][1], tag))
