"""When to stay silent: whether the best candidates answer the question, and which of the rest are worth showing.

A question that the store cannot answer may still be made of its words. The signs that tell them apart are weighed and
compared with a bar, both fitted by `benchmarks/silence.py`; where few items are stored the signs mean little and only
the bare minimum is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from clew.recall.kernel import Kernel
from clew.recall.query import Query
from clew.recall.ranking import Ranked
from clew.recall.signs import LOOKED_AT, Evidence, signs

LINKED = 0.05


@dataclass(frozen=True)
class Verdict:
    value: float
    needed: float
    worth_showing: NDArray[np.bool_]
    signs: dict[str, float] = field(default_factory=dict)
    """What the value is made of; nothing where no bar was needed."""

    @property
    def relevant(self) -> bool:
        return bool(self.worth_showing.any()) and self.value >= self.needed


def judge(ranked: Ranked, kernel: Kernel, query: Query) -> Verdict:
    worth, evidence = _worth(ranked), Evidence(ranked)
    if not len(ranked.slots) or _plain(evidence, kernel, query):
        return Verdict(0.0, 0.0, worth)
    section = "floor_meaning" if "dense" in ranked.features else "floor_words"
    found = signs(evidence)
    value = sum(kernel.number(section, name) * sign for name, sign in found.items())
    return Verdict(round(value, 4), kernel.number(section, "needed"), worth, found)


def _plain(evidence: Evidence, kernel: Kernel, query: Query) -> bool:
    """What needs no bar: a small store, a date, a phrase, an identifier, nearly all words or many in one place."""
    ranked = evidence.ranked
    if ranked.matches.size < kernel.number("floor", "least_items") or not evidence.places:
        return True
    # `before the migration` names no time; whether the migration is known is for the signs to say.
    if query.period is not None and query.period.side is None:
        return True
    if bool(ranked.features["phrase"].any()) or _identified(ranked, query):
        return True
    return evidence.held_alone() >= kernel.number("floor", "sure") or evidence.amount() >= kernel.number(
        "floor", "plenty"
    )


def _identified(ranked: Ranked, query: Query) -> bool:
    """Whether one of the best holds an identifier of the question, or one that begins like it."""
    codes = {*query.codes, *(f"{code}*" for code in query.codes)}
    rows = [at for at, term in enumerate(ranked.matches.asked) if term.word in codes]
    return bool(rows) and bool((ranked.matches.counts[rows][:, ranked.slots[:LOOKED_AT]] > 0).any())


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
