"""Vectors that the database compares: for more of them than a process should hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.index.pgvector import Scores, Server
from clew.recall.choosing import Slots, best
from clew.recall.corpus import Corpus
from clew.recall.likeness import Doubles, Floats, Question, question
from clew.store.database import Transaction

FEW = 2_000
"""So many items are compared by their ids; among more the server looks for the nearest."""
WIDER = 8


class ServedVectors:
    """The vectors of one workspace and model, left where they are."""

    def __init__(self, place: Server, size: int) -> None:
        self._place = place
        self._size = size

    def __len__(self) -> int:
        """How many there were when they were first asked."""
        return self._size

    def refresh(self, tx: Transaction, workspace: str) -> None:
        """The database always knows the newest."""

    def likeness(self, tx: Transaction, corpus: Corpus, vector: Floats) -> Served:
        return Served(tx, self._place, corpus, question(vector))


class Served:
    """The cosines between one question and items, asked for as they are needed."""

    def __init__(self, tx: Transaction, place: Server, corpus: Corpus, asked: Question) -> None:
        self._tx = tx
        self._place = place
        self._corpus = corpus
        self._asked = asked
        self._known: dict[int, float] = {}

    def nearest(self, visible: NDArray[np.bool_], most: int) -> Slots:
        slots = np.flatnonzero(visible) if np.count_nonzero(visible) <= FEW else self._near(visible, most)
        cosines = np.full(len(self._corpus), np.nan)
        cosines[slots] = self._cosines(slots)
        return best(cosines, ~np.isnan(cosines), most, self._corpus)

    def of(self, slots: Slots) -> Floats:
        return self._cosines(slots).astype(np.float32)

    def _near(self, visible: NDArray[np.bool_], most: int) -> Slots:
        """As many of the nearest as it takes to have enough that are visible."""
        wanted = most * 2
        while True:
            found = self._place.nearest(self._tx, self._asked.numbers, wanted)
            self._take(found)
            slots = self._corpus.slot_of.of(np.array([id for id, _ in found], np.int64))
            slots = slots[slots >= 0]
            slots = slots[visible[slots]]
            if len(slots) >= most or len(found) < wanted:
                return slots
            wanted *= WIDER

    def _cosines(self, slots: Slots) -> Doubles:
        ids = self._corpus.ids[slots].tolist()
        missing = [id for id in ids if id not in self._known]
        self._known.update(dict.fromkeys(missing, np.nan))
        self._take(self._place.of(self._tx, self._asked.numbers, missing))
        return np.array([self._known[id] for id in ids]) / self._asked.factor

    def _take(self, scores: Scores) -> None:
        self._known.update(scores)
