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

from clew.index.postings import Positions
from clew.index.vectors import LARGEST, Packed, Scores, VectorServer, count, numbering, unpacked, vectors_after
from clew.recall.corpus import Corpus, Slots, best
from clew.store.database import Transaction

EXACT_SUM = 1 << 24
"""Up to here a float of 32 bits holds every whole number."""
EXACT_NUMBER = 1 << 11
"""And one of 16 bits up to here."""
FINEST = 1 << 20
"""What a model gives has length one; a vector of next to nothing stays next to nothing."""

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
CHUNK = 5_000
BLOCK = 512
SPARE = 1.25
"""Room is made for a quarter more than is there, so that a new vector does not move all others."""
FEW = 2_000
"""So many items are compared by their ids; among more the server looks for the nearest."""
WIDER = 8


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
        # Rounding may lift a sum over the limit that the estimate kept; halving costs one bit of fineness.
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


class Topped:
    """The cosines of all items, with those of some whose vectors are not stored yet in their place.

    What was written a moment ago is compared like everything else; the answer is the one that stored vectors will give.
    """

    def __init__(self, corpus: Corpus, stored: Likeness | None, vector: Floats, fresh: dict[int, Packed]) -> None:
        asked = question(vector)
        self._stored = stored
        self._cosines = np.full(len(corpus), np.nan)
        for id, held in fresh.items():
            if id in corpus.slot_of:
                self._cosines[corpus.slot_of[id]] = _cosine(asked, held)
        self._fresh = np.flatnonzero(~np.isnan(self._cosines))

    def nearest(self, visible: NDArray[np.bool_], most: int) -> Slots:
        fresh = self._fresh[visible[self._fresh]]
        # All fresh ones are taken along: they are few, and how near they are is decided with the others.
        return np.union1d(fresh, self._stored.nearest(visible, most)) if self._stored is not None else fresh

    def of(self, slots: Slots) -> Floats:
        fresh = self._cosines[slots].astype(np.float32)
        return np.where(np.isnan(fresh), self._stored.of(slots), fresh) if self._stored is not None else fresh


def _cosine(asked: Question, held: Packed) -> float:
    """By the same arithmetic as that of stored vectors."""
    product = np.frombuffer(held.data, np.int8).astype(np.float32) @ asked.numbers
    return float(np.float64(product) * np.float32(held.scale) / asked.factor)


class Vectors:
    """The vectors of one workspace and model, read as far as `number`."""

    def __init__(self, model: str, dimensions: int) -> None:
        self.model = model
        self.dimensions = dimensions
        self._start_over("")

    def _start_over(self, epoch: str) -> None:
        self._epoch = epoch
        self.number = 0
        self._size = 0
        self._rows = Positions()
        self._ids = np.zeros(0, np.int64)
        self._scales = np.zeros(0, np.float32)
        self._bytes = np.zeros((0, self.dimensions), np.int8)
        self._placed = np.zeros(0, np.int64)
        self._placed_for: tuple[object, ...] = ()

    def __len__(self) -> int:
        return self._size

    def refresh(self, tx: Transaction, workspace: str) -> None:
        epoch, newest = numbering(tx, workspace, self.model)
        # Vectors were dropped and made anew, or the store was restored: the same numbers mean other vectors.
        if epoch != self._epoch or newest < self.number:
            self._start_over(epoch)
        if self.number == newest:
            return
        if not self.number:
            self._make_room(count(tx, workspace, self.model))
        while self.number < newest:
            rows = vectors_after(tx, workspace, self.model, self.number, CHUNK)
            if not rows:
                break
            ids, numbers, scales, data = zip(*rows, strict=True)
            self._take(np.array(ids, np.int64), np.array(scales, np.float32), data)
            self.number = numbers[-1]
        self.number = newest  # the vectors with the last numbers may be gone again

    def _take(self, ids: NDArray[np.int64], scales: Floats, data: tuple[bytes, ...]) -> None:
        values = unpacked(data, self.dimensions)
        rows = self._rows.of(ids)
        fresh = rows < 0
        first, self._size = self._size, self._size + int(fresh.sum())
        self._make_room(self._size)
        self._rows.put(ids[fresh], first)
        rows[fresh] = np.arange(first, self._size)
        self._ids[rows], self._scales[rows], self._bytes[rows] = ids, scales, values

    def _make_room(self, size: int) -> None:
        if size > len(self._ids):
            more = int(size * SPARE) - len(self._ids)
            self._ids = np.concatenate((self._ids, np.empty(more, np.int64)))
            self._scales = np.concatenate((self._scales, np.empty(more, np.float32)))
            self._bytes = np.concatenate((self._bytes, np.empty((more, self.dimensions), np.int8)))

    def likeness(self, _: Transaction, corpus: Corpus, vector: Floats) -> Compared:
        asked = question(vector)
        found = np.full(len(corpus), np.nan)
        slots = self._slots(corpus)
        known = slots >= 0
        scaled = self._products(asked.numbers).astype(np.float64) * self._scales[: len(self)]
        found[slots[known]] = scaled[known] / asked.factor
        return Compared(corpus, found)

    def _slots(self, corpus: Corpus) -> NDArray[np.int64]:
        """The slot of each vector; worked out again only when items or vectors have changed."""
        state = (id(corpus), corpus.epoch, corpus.change, self._epoch, self.number)
        if state != self._placed_for:
            self._placed = corpus.slot_of.of(self._ids[: self._size])
            self._placed_for = state
        return self._placed

    def _products(self, numbers: Floats) -> Floats:
        """Block by block through one small buffer that stays in the processor's cache: ten times as fast as without."""
        found, buffer = np.empty(len(self), np.float32), np.empty((BLOCK, self.dimensions), np.float32)
        for start in range(0, len(self), BLOCK):
            size = min(BLOCK, len(self) - start)
            np.copyto(buffer[:size], self._bytes[start : start + size])
            found[start : start + size] = buffer[:size] @ numbers
        return found


class ServedVectors:
    """The vectors of one workspace and model, left where they are."""

    def __init__(self, place: VectorServer, size: int) -> None:
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

    def __init__(self, tx: Transaction, place: VectorServer, corpus: Corpus, asked: Question) -> None:
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
            # Fewer than were asked for: the server has no more, so what is there is all.
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
