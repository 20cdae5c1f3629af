"""Semantic similarity between a question and items (cosine), with the same result to the last bit on every machine.

Stored vectors are integers times a scale (`index/vectors.py`). The question is rounded to integers too, small enough
that every sum of products is an integer that a 32-bit float holds exactly. The order of addition then does not matter,
so every library, processor and database gives the same ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from clew.blas import use_one_thread
from clew.index.postings import positions
from clew.index.vectors import LARGEST, Packed, Scores, VectorServer, count, numbering, unpacked, vectors_after
from clew.recall.corpus import Corpus, Slots, best
from clew.store.database import Transaction

EXACT_SUM = 1 << 24
"""A 32-bit float holds every integer up to here exactly."""
EXACT_NUMBER = 1 << 11
"""A 16-bit float holds every integer up to here exactly; pgvector compares vectors of such floats (`halfvec`)."""
FINEST = 1 << 20
"""Largest factor. Models give unit vectors; a vector near zero must not be scaled up to full size."""

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
CHUNK = 5_000
BLOCK = 512
SPARE = 1.25
"""Arrays are allocated a quarter larger than needed, so that a new vector does not copy all others."""
FEW = 2_000
"""Up to this many items are compared by id; beyond that, the server searches for the nearest."""
WIDER = 8


class Likeness(Protocol):
    """The cosines between one question and the items of a corpus."""

    def nearest(self, visible: NDArray[np.bool_], most: int) -> Slots:
        """The most similar items among those that are visible and have a vector."""
        ...

    def of(self, slots: Slots) -> Floats:
        """The cosine of each item; NaN if it has no vector."""
        ...


@dataclass(frozen=True)
class Question:
    """A question's vector as integers: `numbers` are `factor` times the model's values, rounded."""

    numbers: Floats
    factor: float


def question(vector: Floats) -> Question:
    """Scale a vector as far as sums stay exact. The factor is a power of two, so that dividing by it is exact too."""
    factor = _factor(vector)
    numbers = np.round(vector * np.float32(factor))
    while LARGEST * float(np.abs(numbers).sum()) >= EXACT_SUM or np.abs(numbers).max(initial=0) > EXACT_NUMBER:
        # Rounding may lift the sum over the limit that the estimate kept; halving loses one bit of precision.
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
    """The cosines of all slots, computed at once."""

    corpus: Corpus
    cosines: Doubles

    def nearest(self, visible: NDArray[np.bool_], most: int) -> Slots:
        return best(self.cosines, visible & ~np.isnan(self.cosines), most, self.corpus)

    def of(self, slots: Slots) -> Floats:
        return self.cosines[slots].astype(np.float32)


class Topped:
    """The cosines of stored vectors, and of fresh ones that are not stored yet.

    A record that was just written is compared like all others, and scores as it will once its vector is stored.
    """

    def __init__(self, corpus: Corpus, stored: Likeness | None, vector: Floats, fresh: dict[int, Packed]) -> None:
        asked = question(vector)
        self._stored = stored
        self._cosines = np.full(len(corpus), np.nan)
        for id, slot in corpus.slot_by_id(list(fresh)).items():
            self._cosines[slot] = _cosine(asked, fresh[id])
        self._fresh = np.flatnonzero(~np.isnan(self._cosines))

    def nearest(self, visible: NDArray[np.bool_], most: int) -> Slots:
        fresh = self._fresh[visible[self._fresh]]
        # All fresh items become candidates: they are few, and the ranking decides between them and the others.
        return np.union1d(fresh, self._stored.nearest(visible, most)) if self._stored is not None else fresh

    def of(self, slots: Slots) -> Floats:
        fresh = self._cosines[slots].astype(np.float32)
        return np.where(np.isnan(fresh), self._stored.of(slots), fresh) if self._stored is not None else fresh


def _cosine(asked: Question, held: Packed) -> float:
    """The cosine of one packed vector, by the same arithmetic as `Vectors.likeness`."""
    product = np.frombuffer(held.data, np.int8).astype(np.float32) @ asked.numbers
    return float(np.float64(product) * np.float32(held.scale) / asked.factor)


class Vectors:
    """The vectors of one workspace and model in this process, read up to `number`."""

    def __init__(self, model: str, dimensions: int) -> None:
        self.model = model
        self.dimensions = dimensions
        use_one_thread()
        self._start_over("")

    def _start_over(self, epoch: str) -> None:
        self._epoch = epoch
        self.number = 0
        self._size = 0
        self._ids = np.zeros(0, np.int64)
        self._scales = np.zeros(0, np.float32)
        self._bytes = np.zeros((0, self.dimensions), np.int8)
        self._placed = np.zeros(0, np.int64)
        self._placed_for: tuple[object, ...] = ()

    def __len__(self) -> int:
        return self._size

    def refresh(self, tx: Transaction, workspace: str) -> None:
        epoch, newest = numbering(tx, workspace, self.model)
        # Vectors were dropped and made again, or the store was restored: the same numbers now mean other vectors.
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
        self.number = newest  # the vectors with the last numbers may have been deleted since

    def _take(self, ids: NDArray[np.int64], scales: Floats, data: tuple[bytes, ...]) -> None:
        values = unpacked(data, self.dimensions)
        rows = positions(ids, self._ids[: self._size])
        fresh = rows < 0
        first, self._size = self._size, self._size + int(fresh.sum())
        self._make_room(self._size)
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
        """The slot of each vector; computed again only when items or vectors have changed."""
        state = (id(corpus), corpus.epoch, corpus.change, self._epoch, self.number)
        if state != self._placed_for:
            self._placed = corpus.slots_of(self._ids[: self._size])
            self._placed_for = state
        return self._placed

    def _products(self, numbers: Floats) -> Floats:
        """Products block by block, through one buffer that stays in the processor's cache: ten times as fast."""
        found, buffer = np.empty(len(self), np.float32), np.empty((BLOCK, self.dimensions), np.float32)
        for start in range(0, len(self), BLOCK):
            size = min(BLOCK, len(self) - start)
            np.copyto(buffer[:size], self._bytes[start : start + size])
            found[start : start + size] = buffer[:size] @ numbers
        return found


class ServedVectors:
    """The vectors of one workspace and model, left in the database, which compares them."""

    def __init__(self, place: VectorServer, size: int) -> None:
        self._place = place
        self._size = size

    def __len__(self) -> int:
        """How many there were when this object was made."""
        return self._size

    def refresh(self, tx: Transaction, workspace: str) -> None:
        """Nothing to do: the database always uses the newest vectors."""

    def likeness(self, tx: Transaction, corpus: Corpus, vector: Floats) -> Served:
        return Served(tx, self._place, corpus, question(vector))


class Served:
    """The cosines between one question and items, fetched from the database when needed."""

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
        """Ask for more and more of the nearest, until enough of them are visible."""
        wanted = most * 2
        while True:
            found = self._place.nearest(self._tx, self._asked.numbers, wanted)
            self._take(found)
            slots = self._corpus.slots_of([id for id, _ in found])
            slots = slots[slots >= 0]
            slots = slots[visible[slots]]
            # Fewer than asked for means that the server has no more.
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
