"""When to stay silent: whether the best candidates answer the question, and which of the rest are worth showing.

A question that the store cannot answer may still be made of its words. What tells them apart is that the rare words of
an answer stand together. A handful of such signs is weighed and compared with a bar, both fitted by
`benchmarks/silence.py`; where few items are stored the signs mean little and only the bare minimum is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.recall.kernel import Kernel
from clew.recall.query import Query
from clew.recall.ranking import Ranked

SIGNS = ("score", "proximity", "surprise", "unknown", "dense")
LINKED = 0.05
REMARKS = 0.4
"""The share of length, as `lexical` weighs it, up to which items count as remarks."""
LOOKED_AT = 10
COMMON = 0.2
"""A word in more than this share of the items tells nothing."""


@dataclass(frozen=True)
class Verdict:
    value: float
    needed: float
    worth_showing: NDArray[np.bool_]

    @property
    def relevant(self) -> bool:
        return bool(self.worth_showing.any()) and self.value >= self.needed


def judge(ranked: Ranked, kernel: Kernel, query: Query) -> Verdict:
    worth = _worth(ranked)
    section = "floor_meaning" if "dense" in ranked.features else "floor_words"
    if not len(ranked.slots) or not _measurable(ranked, kernel, query):
        return Verdict(0.0, 0.0, worth)
    value = sum(kernel.number(section, name) * sign for name, sign in signs(ranked).items())
    return Verdict(round(value, 4), round(kernel.number(section, "needed") - _thin(ranked, kernel), 4), worth)


def _thin(ranked: Ranked, kernel: Kernel) -> float:
    """How much lower the bar is among pages: it was fitted on remarks, and a page spreads the words of an answer."""
    long_words, usual = kernel.number("context", "long_words"), ranked.matches.mean_length
    return kernel.number("floor", "pages") * max(usual / (usual + long_words) - REMARKS, 0.0)


def _measurable(ranked: Ranked, kernel: Kernel, query: Query) -> bool:
    """A phrase, a date or nearly every word in one place speaks for itself, and so does a small store."""
    features = ranked.features
    if ranked.matches.size < kernel.number("floor", "least_items") or query.period is not None:
        return False
    plain = float(ranked.matches.held_by(ranked.slots[:LOOKED_AT]).max()) >= kernel.number("floor", "sure")
    return not plain and not bool(features["phrase"].any())


def signs(ranked: Ranked) -> dict[str, float]:
    """What speaks for an answer: numbers that the bar is fitted on."""
    if not len(ranked.slots):
        return dict.fromkeys(SIGNS, 0.0)
    dense = ranked.features.get("dense")
    return {
        "score": float(ranked.scores[0]) / _perfect(ranked),
        "proximity": float(ranked.features["proximity"][:LOOKED_AT].max()),
        "surprise": _surprise(ranked),
        "unknown": _unknown(ranked),
        "dense": float(dense.max()) if dense is not None else 0.0,
    }


def _perfect(ranked: Ranked) -> float:
    """What words alone could give the best candidate, so that a bar fits whatever the weights are."""
    weights = ranked.weights
    document = weights["document"] * float(ranked.matches.together[ranked.slots[0]])
    return sum(weights[name] for name in ("window", "lead", "coverage", "proximity")) + document or 1.0


def _surprise(ranked: Ranked) -> float:
    """How unlikely it is that so many of the question's words meet in one item by chance, in natural units."""
    matches = ranked.matches
    known = [at for at in _told(ranked) if matches.held[at] > 0]
    if not known:
        return 0.0
    tells = -np.log(np.minimum(matches.held[known] / matches.size, 1.0))
    return float((tells @ (matches.counts[known][:, ranked.slots[:LOOKED_AT]] > 0)).max())


def _told(ranked: Ranked) -> list[int]:
    """The places of the question's own words, speakers aside."""
    spoken = frozenset().union(*ranked.scene.corpus.speaker_terms().values())
    return [at for at, term in enumerate(ranked.matches.asked) if not term.added and term.word not in spoken]


def _unknown(ranked: Ranked) -> float:
    """The share of the telling words that nobody holds: they lower the score of a good answer as of a bad one."""
    held = [ranked.matches.held[at] for at in _told(ranked)]
    telling = [count == 0 for count in held if count < COMMON * ranked.matches.size]
    return float(np.mean(telling)) if telling else 0.0


def _worth(ranked: Ranked) -> NDArray[np.bool_]:
    """Something of the question must be there: a word, a meaning, the time it names or a link to what matches.

    In a conversation it may stand in the turn before; elsewhere in the item itself.
    """
    features, corpus = ranked.features, ranked.scene.corpus
    near = (features["coverage"] > 0) & corpus.continues[ranked.slots]
    found: NDArray[np.bool_] = (ranked.matches.held_by(ranked.slots) > 0) | near | (features["date"] > 0.5)
    if "graph" in features:
        found |= features["graph"] > LINKED
    if "dense" in features:
        found |= features["dense"] > ranked.scene.kernel.number("vector", "min_similarity")
    return found
