"""The final choice among ranked results: folding near-duplicates, knowledge before work, variety, both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.index.postings import FIELD_COUNT
from clew.recall.corpus import Corpus
from clew.recall.lexical import Matches
from clew.recall.ranking import Ranked

# ALIKE: the share of common words from which two items count as duplicates. REPEATED: what a second item of one
# stretch loses, as a share of the spread of the scores.
ALIKE = 0.9
REPEATED = 0.3
LOOKED_AT = 4
"""Variety is sought among this many times as many results as are shown."""

WORK = ("task", "evidence")
"""Sources of what was to be done and of what was run: plans, tasks, steps and proofs."""
_WORK_WORDS = """
task tasks step steps plan plans todo proof proofs proven evidence progress
"""
WORK_WORDS = frozenset(_WORK_WORDS.split())
MOST_WORK = 2
"""At most this many steps and proofs follow the knowledge: those of one piece of work are very similar."""


def asks_for_work(question: str) -> bool:
    return not WORK_WORDS.isdisjoint(question.lower().replace("?", " ").split())


def is_work(source: str, _kind: str | None, _status: str | None) -> bool:
    """A step repeats the words of what it is about, and a proof those of its command."""
    return source in WORK


def idle_work(ranked: Ranked, work: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Work that only fills up the answer: it is ranked after knowledge anyway, or similar work is already shown."""
    known = ranked.scores[~work]
    if not len(known):
        return np.zeros(len(work), bool)
    filling = (ranked.scores < known.max()) | (np.cumsum(work) > MOST_WORK)
    return np.asarray(work & filling, bool)


def fold(corpus: Corpus, ranked: Ranked, worth: NDArray[np.bool_], most: int) -> tuple[list[int], dict[int, list[int]]]:
    """Positions of the first results worth showing, and for each the slots of its near-duplicates."""
    kept: list[int] = []
    folded: dict[int, list[int]] = {}
    seen: list[tuple[int, frozenset[int]]] = []
    for at, slot in enumerate(ranked.slots.tolist()):
        if len(kept) >= most:
            break
        if not worth[at] or slot in ranked.successors:
            continue
        words = frozenset((corpus.reading(slot) // FIELD_COUNT).tolist())
        twin = next((place for place, other in seen if _alike(words, other)), None)
        if (
            twin is not None
            and _said_exactly(ranked, at)
            and corpus.kind_of(slot) != corpus.kind_of(ranked.slots[twin])
        ):
            twin = None  # one text kept as a rule and as a lesson: a question in its words may mean either
        if twin is None:
            seen.append((at, words))
            kept.append(at)
        else:
            folded.setdefault(twin, []).append(slot)
    return kept, folded


def _said_exactly(ranked: Ranked, at: int) -> bool:
    return "wording" in ranked.features and bool(ranked.features["wording"][at] > 0)


def _alike(left: frozenset[int], right: frozenset[int]) -> bool:
    if not left or not right or min(len(left), len(right)) < ALIKE * max(len(left), len(right)):
        return False
    return len(left & right) >= ALIKE * len(left | right)


def diversify(corpus: Corpus, ranked: Ranked, kept: list[int], limit: int) -> list[int]:
    """Alternate between stretches: a further item of the same stretch loses a part of its score."""
    groups: dict[int, list[int]] = {}
    for at in kept[: limit * LOOKED_AT]:
        groups.setdefault(int(corpus.stretch[ranked.slots[at]]), []).append(at)
    rounds = {at: turn for members in groups.values() for turn, at in enumerate(members)}
    # Measured by the spread of the scores, because scores of different questions have different ranges.
    spread = float(np.ptp(ranked.scores[kept[: limit * LOOKED_AT]])) if kept else 0.0
    return sorted(rounds, key=lambda at: (-(ranked.scores[at] - REPEATED * spread * rounds[at]), at))


def beside_opposites(ranked: Ranked, kept: list[int]) -> list[int]:
    """Move the record that contradicts a result right after it, so that both sides are shown together."""
    if not ranked.ways:
        return kept
    place = {slot: at for at, slot in enumerate(ranked.slots.tolist())}
    opposites: dict[int, list[int]] = {}
    for slot, way in ranked.ways.items():
        if way.relation.startswith("contradicts") and way.depth == 1 and slot in place:
            opposites.setdefault(place[way.start], []).append(place[slot])
    order: list[int] = []
    for at in kept:
        order += [at, *sorted(opposites.get(at, []))]
    return list(dict.fromkeys(order))


def balance(matches: Matches, ranked: Ranked, kept: list[int], sides: tuple[tuple[str, ...], ...]) -> list[int]:
    """Results of either side of a comparison alternately, then the rest."""
    rows = [[at for at, term in enumerate(matches.asked) if term.word in side] for side in sides]
    queues = [[at for at in kept if any(matches.counts[row, ranked.slots[at]] > 0 for row in side)] for side in rows]
    order: list[int] = []
    for pair in range(max((len(queue) for queue in queues), default=0)):
        order += [queue[pair] for queue in queues if pair < len(queue)]
    return list(dict.fromkeys([*order, *kept]))
