"""How alike in meaning a question and items are: the same numbers to the last bit, whoever computes them.

Stored vectors are whole numbers times a scale (`index/vectors.py`). A question is made of whole numbers too, so small
that every sum of products is a whole number that 32 bits hold exactly. So it does not matter in which order they are
added up, by which library, processor or database, and both engines give the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from clew.index.vectors import LARGEST
from clew.recall.choosing import Slots, best
from clew.recall.corpus import Corpus

EXACT_SUM = 1 << 24
"""Up to here a float of 32 bits holds every whole number."""
EXACT_NUMBER = 1 << 11
"""And one of 16 bits up to here."""
FINEST = 1 << 20
"""What a model gives has length one; a vector of next to nothing stays next to nothing."""

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


class Likeness(Protocol):
    """The cosines between one question and the items of a corpus."""

    def nearest(self, visible: NDArray[np.bool_], most: int) -> Slots:
        """The items most alike, of those that are visible and have a vector."""
        ...

    def of(self, slots: Slots) -> Floats:
        """The cosine of each; NaN where an item has no vector."""
        ...


@dataclass(frozen=True)
class Question:
    """A question's vector in whole numbers: `numbers` are `factor` times what the model gave."""

    numbers: Floats
    factor: float


def question(vector: Floats) -> Question:
    """As fine as the sums stay exact; the factor is a power of two, so that dividing by it changes no order."""
    factor = _factor(vector)
    numbers = np.round(vector * np.float32(factor))
    while LARGEST * float(np.abs(numbers).sum()) >= EXACT_SUM or np.abs(numbers).max(initial=0) > EXACT_NUMBER:
        factor /= 2
        numbers = np.round(vector * np.float32(factor))
    return Question(numbers.astype(np.float32), factor)


def _factor(vector: Floats) -> float:
    size = np.abs(vector).astype(np.float64)
    if not size.any():
        return 1.0
    room = min(EXACT_SUM / (LARGEST * float(size.sum())), EXACT_NUMBER / float(size.max()), FINEST)
    return float(2.0 ** np.floor(np.log2(room)))


@dataclass(frozen=True)
class Compared:
    """The cosine of every slot, computed at once."""

    corpus: Corpus
    cosines: Doubles

    def nearest(self, visible: NDArray[np.bool_], most: int) -> Slots:
        return best(self.cosines, visible & ~np.isnan(self.cosines), most, self.corpus)

    def of(self, slots: Slots) -> Floats:
        return self.cosines[slots].astype(np.float32)
