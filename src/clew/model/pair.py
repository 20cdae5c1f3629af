"""Reads two statements as one text and tells how likely they contradict each other.

Begun from all-MiniLM-L6-v2 and taught on labelled pairs (`benchmarks/fit_pair_model.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from clew.model.transformer import Floats, Text, Transformer, pairs_file, transformer
from clew.model.word_pieces import BEGIN, END, is_readable, pieces

MOST_PIECES = 62
"""Of each statement: two of these and three marks make the 128 places that the model knows."""
FIRST, SECOND = 0, 1
"""Segments: one for the first statement, one for the second."""


@dataclass(frozen=True, slots=True)
class PairModel:
    transformer: Transformer
    head: Floats
    """A row for each of what two statements can be: contradictory, the same, or apart."""
    head_bias: Floats

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each pair the logarithm of the odds that the two contradict each other, in the order given."""
        read = self.transformer.read([self._text(one, other) for one, other in pairs])
        against, same, apart = (read @ self.head.T + self.head_bias).T
        odds: list[float] = (against - np.logaddexp(same, apart)).tolist()
        return odds

    def can_read(self, text: str) -> bool:
        return is_readable(pieces(text, self.transformer.words.numbers)[:MOST_PIECES], self.transformer.words.numbers)

    def _text(self, one: str, other: str) -> Text:
        known = self.transformer.words.numbers
        first, second = (pieces(text, known)[:MOST_PIECES] for text in (one, other))
        read = [known[BEGIN], *first, known[END], *second, known[END]]
        return Text(read, [FIRST] * (len(first) + 2) + [SECOND] * (len(second) + 1))


@cache
def pair_model() -> PairModel:
    file = pairs_file()
    return PairModel(transformer(file), file.array("head"), file.array("head_bias"))
