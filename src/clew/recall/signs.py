"""What tells an answer from words that merely happen to be stored: a few numbers, each with a name.

Words drawn at random stand here and there. The words of a question that was answered stand in one place, in an item and
what is said around it. All signs are shares of the question, so that they mean the same in a small store and in a large
one, among remarks and among pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.index.terms import stem
from clew.recall.lexical import Floats, around_shares, neighbours
from clew.recall.ranking import Ranked

SIGNS = ("held", "amount", "chance", "proximity", "unknown", "alone", "dense")
LOOKED_AT = 10
UNKNOWN = 0.5
"""What a word that nobody holds tells, as a share of the rarest one: it may be another word for what is held."""

_ASKING = """
many much kind type sort mention describe say tell name according refer regard example item thing opinion particular
specific certain previous
"""
ASKING = frozenset(stem(word) for word in _ASKING.split())
"""Words that say what sort of answer is wanted; the answer itself seldom holds them."""


@dataclass(frozen=True)
class Evidence:
    """The telling words of a question, and where they stand among the best candidates."""

    ranked: Ranked

    @cached_property
    def places(self) -> list[int]:
        """The question's own words: who speaks is in every item, and what sort of answer is wanted in none."""
        asked = self.ranked.matches.asked
        spoken = frozenset().union(*self.ranked.scene.corpus.speaker_terms().values())
        own = [at for at, term in enumerate(asked) if not term.added and term.word not in spoken]
        return [at for at in own if asked[at].word not in ASKING] or own

    @cached_property
    def unheld(self) -> NDArray[np.bool_]:
        return np.asarray(self.ranked.matches.held[self.places] == 0, bool)

    @cached_property
    def strange(self) -> NDArray[np.bool_]:
        """Names that nobody holds: there is no other word for them. Where most words are written so, it is a title."""
        named = np.array([self.ranked.matches.asked[at].named for at in self.places], bool)
        return named & self.unheld & bool(2 * named.sum() <= len(named))

    @cached_property
    def rarest(self) -> float:
        """What a word tells that only one item holds, in natural units."""
        return float(np.log1p(self.ranked.matches.size))

    @cached_property
    def tells(self) -> NDArray[np.float64]:
        """How unlikely it is that an item holds the word by chance."""
        held = self.ranked.matches.held[self.places]
        known = -np.log(np.minimum(np.maximum(held, 1) / self.ranked.matches.size, 1.0))
        return np.where(self.unheld, np.where(self.strange, 1.0, UNKNOWN) * self.rarest, known)

    @cached_property
    def found(self) -> Floats:
        """For each word and each of the best candidates: 1 where the item holds it, a share where a neighbour does."""
        matches, slots = self.ranked.matches, self.ranked.slots[:LOOKED_AT]
        near = neighbours(matches.corpus, slots, matches.visible)
        shares = np.tile(around_shares(self.ranked.scene.kernel.numbers("context", "around")), (len(slots), 1))
        shares[:, 1:] *= matches.together[slots][:, None]
        there = matches.counts[np.array(self.places, np.int64)[:, None, None], near.slots] > 0
        return np.asarray((there * (near.present * shares)).max(axis=2), np.float32)

    def held(self) -> float:
        """The share of what the question tells that stands in one place."""
        return self._best(self.found) / self._total

    def held_alone(self) -> float:
        """The same, of one item without its neighbours."""
        return self._best(self.found >= 1) / self._total

    def amount(self) -> float:
        """How much that is, measured in rarest words."""
        return self._best(self.found) / self.rarest

    def chance(self) -> float:
        """The share that any place would hold: frequent words meet somewhere, whatever is asked."""
        matches = self.ranked.matches
        wide = 1 + 2 * float(matches.together[self.ranked.slots[0]])
        usual = 1 - (1 - np.minimum(matches.held[self.places] / matches.size, 1.0)) ** wide
        return float(self.tells @ usual) / self._total

    def unknown(self) -> float:
        """The share of the words that nobody holds: it lowers `held` for good questions as for bad ones."""
        return float((self.unheld & ~self.strange).mean()) if self.places else 0.0

    def alone(self) -> float:
        """How far the best item stands for itself: in talk the words of an answer are said around it again."""
        return 1 - float(self.ranked.matches.cohesion[self.ranked.slots[0]])

    @property
    def _total(self) -> float:
        return float(self.tells.sum()) or 1.0

    def _best(self, found: NDArray[Any]) -> float:
        return float((self.tells @ found).max(initial=0.0))


def signs(evidence: Evidence) -> dict[str, float]:
    """What speaks for an answer: the numbers that the bar is fitted on."""
    features = evidence.ranked.features
    if not len(evidence.ranked.slots):
        return dict.fromkeys(SIGNS, 0.0)
    found = {
        "held": evidence.held(),
        "amount": evidence.amount(),
        "chance": evidence.chance(),
        "proximity": float(features["proximity"][:LOOKED_AT].max()),
        "unknown": evidence.unknown(),
        "alone": evidence.alone(),
        "dense": float(features["dense"].max()) if "dense" in features else 0.0,
    }
    return {name: round(value, 4) for name, value in found.items()}
