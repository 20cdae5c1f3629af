"""Who stands before and after whom, and which stretches of a document, without long pauses, belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from clew.recall.corpus import Corpus

Places = NDArray[np.int32]

HOUR_MS = 3_600_000
FEW = 16
"""As many new items are put behind the others one by one; more are cheaper to arrange all at once."""


class Sequence:
    def __init__(self) -> None:
        self.pause_hours = 4.0
        self.before = np.zeros(0, np.int32)
        self.after = np.zeros(0, np.int32)
        self.stretch = np.zeros(0, np.int32)
        self.stretches = 0
        self._dead = 0

    def follow(self, corpus: Corpus, known: int) -> None:
        """Take in the items from slot `known` on."""
        dead = len(corpus) - int(np.count_nonzero(corpus.alive))
        same = known == len(self.before) and dead == self._dead
        if not (same and len(corpus) - known <= FEW and self._put_behind(corpus, known)):
            self.arrange(corpus, self.pause_hours)

    def arrange(self, corpus: Corpus, pause_hours: float) -> None:
        self.pause_hours = pause_hours
        size = len(corpus)
        self.before, self.after = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
        self.stretch = np.zeros(size, np.int32)
        self.stretches = 0
        slots = np.flatnonzero(corpus.alive)
        self._dead = size - len(slots)
        slots = slots[np.lexsort((corpus.ids[slots], corpus.seq[slots], corpus.document[slots]))]
        if not len(slots):
            return
        same = corpus.document[slots[1:]] == corpus.document[slots[:-1]]
        self.before[slots[1:][same]] = slots[:-1][same]
        self.after[slots[:-1][same]] = slots[1:][same]
        pause = np.abs(corpus.when[slots[1:]] - corpus.when[slots[:-1]]) > self.pause_hours * HOUR_MS
        numbers = np.concatenate(([0], np.cumsum(~same | pause)))
        self.stretch[slots] = numbers
        self.stretches = int(numbers[-1]) + 1

    def _put_behind(self, corpus: Corpus, known: int) -> bool:
        """Put each new item behind the last of its document; False, with nothing done, when one belongs elsewhere."""
        size = len(corpus)
        before, after = _grown(self.before, size), _grown(self.after, size)
        stretch, stretches = _grown(self.stretch, size), self.stretches
        for slot in range(known, size):
            last = np.flatnonzero((corpus.document[:slot] == corpus.document[slot]) & corpus.alive[:slot])
            last = last[after[last] < 0]
            if len(last) and (corpus.seq[slot], corpus.ids[slot]) <= (corpus.seq[last[0]], corpus.ids[last[0]]):
                return False
            goes_on = len(last) > 0
            if goes_on:
                before[slot], after[last[0]] = last[0], slot
                goes_on = abs(int(corpus.when[slot] - corpus.when[last[0]])) <= self.pause_hours * HOUR_MS
            stretch[slot] = stretch[last[0]] if goes_on else stretches
            stretches += not goes_on
        self.before, self.after, self.stretch, self.stretches = before, after, stretch, stretches
        return True


def _grown(values: Places, size: int) -> Places:
    return np.concatenate((values, np.full(size - len(values), -1, np.int32)))
