"""Likeness of meaning: the stored vectors of one model as a matrix, compared exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.recall.corpus import Corpus
from clew.store.database import Transaction
from clew.store.vectors import last_number, unpacked, vectors_after

CHUNK = 20_000
BLOCK = 512

Floats = NDArray[np.float32]


class Vectors:
    """The vectors of one workspace and model, read as far as `number`."""

    def __init__(self, model: str, dimensions: int) -> None:
        self.model = model
        self.dimensions = dimensions
        self.number = 0
        self._row_of: dict[int, int] = {}
        self._ids = np.zeros(0, np.int64)
        self._scales = np.zeros(0, np.float32)
        self._bytes = np.zeros((0, dimensions), np.int8)
        self._placed = np.zeros(0, np.int64)
        self._placed_for: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self._ids)

    def refresh(self, tx: Transaction, workspace: str) -> None:
        newest = last_number(tx, workspace, self.model)
        while self.number < newest:
            rows = vectors_after(tx, workspace, self.model, self.number, CHUNK)
            if not rows:
                break
            self._take([row["id"] for row in rows], [bytes(row["data"]) for row in rows])
            self.number = rows[-1]["number"]

    def _take(self, ids: list[int], data: list[bytes]) -> None:
        scales, values = unpacked(data, self.dimensions)
        fresh = [at for at, item in enumerate(ids) if item not in self._row_of]
        for at, item in enumerate(ids):
            row = self._row_of.get(item)
            if row is not None:
                self._scales[row], self._bytes[row] = scales[at], values[at]
        first = len(self)
        self._row_of.update((ids[at], first + place) for place, at in enumerate(fresh))
        self._ids = np.concatenate((self._ids, np.array([ids[at] for at in fresh], np.int64)))
        self._scales = np.concatenate((self._scales, scales[fresh]))
        self._bytes = np.concatenate((self._bytes, values[fresh]))

    def similarity(self, corpus: Corpus, query: Floats) -> Floats:
        """The cosine of each slot to the question; NaN where an item has no vector."""
        found = np.full(len(corpus), np.nan, np.float32)
        slots = self._slots(corpus)
        known = slots >= 0
        found[slots[known]] = self._cosines(query)[known]
        return found

    def _slots(self, corpus: Corpus) -> NDArray[np.int64]:
        """The slot of each vector; worked out again only when items or vectors have changed."""
        state = (id(corpus), corpus.change, self.number)
        if state != self._placed_for:
            self._placed = np.array([corpus.slot_of.get(item, -1) for item in self._ids.tolist()], np.int64)
            self._placed_for = state
        return self._placed

    def _cosines(self, query: Floats) -> Floats:
        """Block by block through one small buffer that stays in the processor's cache: ten times as fast as without."""
        found, buffer = np.empty(len(self), np.float32), np.empty((BLOCK, self.dimensions), np.float32)
        for start in range(0, len(self), BLOCK):
            size = min(BLOCK, len(self) - start)
            np.copyto(buffer[:size], self._bytes[start : start + size])
            found[start : start + size] = buffer[:size] @ query
        return np.asarray(found * self._scales, np.float32)
