"""The abstention thresholds: which candidates are worth showing, and how strong each is relative to the first.

A question that the store cannot answer still returns the nearest items, labelled as weak: withholding them cost more
good answers than it avoided bad ones. `confidence.py` estimates whether the best one is an answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.recall.lexical import Floats
from clew.recall.ranking import Ranked

CLOSE = 0.7
LEAST_COVERED, LEAST_ALIKE = 0.05, 0.25
"""Threshold: an item whose overlap with the question is below this share of the best item's is dropped. On the
sets of `docs/recall.md` no wanted item falls below."""
LINKED = 0.05
HALF = 0.5
FULL_SIZE = 100


def _among_pages(ranked: Ranked) -> bool:
    return ranked.matches.pages >= HALF


def grown(items: int) -> float:
    """How good the best item is by chance alone, as a share of that in a store of full size.

    By chance alone the best of many unrelated items is better than the best of a few: the largest of n draws grows
    with the square root of log n.
    """
    return min(float(np.sqrt(np.log1p(items) / np.log1p(FULL_SIZE))), 1.0)


def beside_the_best(ranked: Ranked) -> NDArray[np.bool_]:
    """Items nearly as similar as the most similar one: if that is an answer, these may belong to it."""
    dense = ranked.features.get("dense")
    if dense is None or not len(dense):
        return np.zeros(len(ranked.slots), bool)
    return np.asarray((dense >= CLOSE * dense.max()) & (dense > 0), bool)


def near_the_best(ranked: Ranked) -> NDArray[np.bool_]:
    """Items that are plausible next to the best one, by score and by overlap with the question.

    The weights were fitted as a softmax, so an item that is `tail` below the best is `exp(-tail)` times as likely the
    answer. Items that hold the question word for word are on top by rule, so the others are compared among themselves.
    """
    features = ranked.features
    others = features["wording"] <= 0 if "wording" in features else np.ones(len(ranked.slots), bool)
    near = ranked.scores >= _most(ranked.scores, others) - ranked.scene.kernel.number("search", "tail")
    shares = _beside(features["coverage"], others, LEAST_COVERED) | (features["date"] > HALF)
    # In a conversation an item may be relevant through turns further away, which coverage does not count.
    shares |= ranked.matches.together[ranked.slots] > 0
    if "dense" in features:
        shares |= _beside(features["dense"], others, LEAST_ALIKE)
    if "graph" in features:
        shares |= features["graph"] > LINKED
    shares |= np.isin(ranked.slots, sorted(ranked.successors.values()))
    return np.asarray((near & shares) | ~others, bool)


BEHIND, FAR_BEHIND = 2.0, 4.5
"""Of hits more than `BEHIND` below the first one in score one in ten is wanted, of those within it one in five; more
than `FAR_BEHIND` below none of 500 was (agentmem, the first five of each question, by words and with the model)."""
CLEAR, WEAK, FAR = "clear", "weak", "far"


def strengths(ranked: Ranked, order: list[int], doubtful: bool) -> list[str]:
    """How strong each chosen hit is relative to the first one. In conversations, where neighbours share a
    score, all count as clear.

    An item that holds the question word for word is clear, and those behind it are at best weak. Where nothing clearly
    answers, all are at best weak.
    """
    if not _among_pages(ranked) or not order:
        return [WEAK if doubtful else CLEAR] * len(order)
    exact = ranked.features["wording"] > 0 if "wording" in ranked.features else np.zeros(len(ranked.slots), bool)
    others = [at for at in order if not exact[at]]
    first = float(ranked.scores[others[0]]) if others else 0.0
    quoted = doubtful or bool(exact[order[0]])
    return [CLEAR if exact[at] else _strength(first - float(ranked.scores[at]), quoted) for at in order]


def _strength(behind: float, quoted: bool) -> str:
    if behind > FAR_BEHIND:
        return FAR
    return WEAK if quoted or behind > BEHIND else CLEAR


def _beside(values: Floats, others: NDArray[np.bool_], share: float) -> NDArray[np.bool_]:
    most = _most(values, others)
    return np.asarray((values >= share * most) & (most > 0), bool)


def _most(values: NDArray[np.floating], others: NDArray[np.bool_]) -> float:
    return float(values[others].max()) if others.any() else 0.0


def above_nought(ranked: Ranked) -> NDArray[np.bool_]:
    """Items with a score above 0. Below it the features against a page outweigh those for it; in conversations
    neighbours share a score."""
    return np.asarray((ranked.scores > 0) | (not _among_pages(ranked)), bool)


def worth_showing(ranked: Ranked) -> NDArray[np.bool_]:
    """Items with a reason to be shown: a word of the question, a similar meaning, its time, or a link to a match.

    In a conversation the word may be in a neighbouring turn; elsewhere it must be in the item itself.
    """
    features, corpus = ranked.features, ranked.scene.corpus
    near = (features["coverage"] > 0) & corpus.continues[ranked.slots]
    found: NDArray[np.bool_] = (ranked.matches.held_by(ranked.slots) > 0) | near | (features["date"] > 0.5)
    if "wording" in features:
        found |= features["wording"] > 0
    if "graph" in features:
        found |= features["graph"] > LINKED
    if "dense" in features:
        least = ranked.scene.kernel.number("vector", "min_similarity") * grown(ranked.matches.size)
        found |= features["dense"] > least
    heirs = {ranked.successors[slot] for slot in ranked.slots[found].tolist() if slot in ranked.successors}
    return found | np.isin(ranked.slots, sorted(heirs)) if heirs else found
