"""How far a claim is carried by what supports it and shaken by what blocks it."""

from __future__ import annotations

from clew.reasoning.engine.receipts import evidence_score
from clew.reasoning.engine.slice import CardLike, Slice, is_placeholder

DEPTH = 3
UNSURE = 0.5
WEIGHTS = {"evidence": 4.0, "test": 1.5, "decision": 0.75, "hypothesis": 0.75}
OTHER_WEIGHT = 0.25


def confidence(part: Slice, card: CardLike) -> float:
    """0 to 1. One unit for and one against to begin with, so that an unlinked claim stands at a half."""
    return _confidence(part, card, DEPTH, frozenset())


def _confidence(part: Slice, card: CardLike, depth: int, above: frozenset[str]) -> float:
    if card.id in above:
        return UNSURE
    if card.type == "evidence":
        return 0.0 if is_placeholder(card) else evidence_score(part, card) / 100
    if depth == 0:
        return UNSURE
    path = above | {card.id}
    for_it = 1.0 + _weight(part, part.supporters.get(card.id, []), depth, path)
    against = 1.0 + _weight(part, part.blockers.get(card.id, []), depth, path)
    return for_it / (for_it + against)


def _weight(part: Slice, cards: list[CardLike], depth: int, path: frozenset[str]) -> float:
    return sum(
        WEIGHTS.get(card.type, OTHER_WEIGHT) * _confidence(part, card, depth - 1, path)
        for card in sorted(cards, key=lambda card: card.id)
    )
