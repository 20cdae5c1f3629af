"""When to stay silent: whether the best candidates answer the question, and which of the rest are worth showing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.recall.kernel import Kernel
from clew.recall.query import Query
from clew.recall.ranking import Ranked

LINKED = 0.05


@dataclass(frozen=True)
class Verdict:
    value: float
    needed: float
    worth_showing: NDArray[np.bool_]

    @property
    def relevant(self) -> bool:
        return bool(self.worth_showing.any()) and self.value >= self.needed


def judge(ranked: Ranked, kernel: Kernel, query: Query) -> Verdict:
    dense = ranked.features.get("dense")
    needed = kernel.number("floor", "semantic" if dense is not None else "lexical")
    worth = _worth(ranked)
    if not len(ranked.slots):
        return Verdict(0.0, needed, worth)
    return Verdict(round(_value(ranked), 4), needed, worth)


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


def _value(ranked: Ranked) -> float:
    """How much of the question the best candidate holds."""
    return float(ranked.features["coverage"][:3].max())
