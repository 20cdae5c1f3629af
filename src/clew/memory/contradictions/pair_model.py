"""A small transformer that reads two statements as one text and tells how likely they contradict each other.

Six layers of 384 numbers, begun from all-MiniLM-L6-v2 and taught on labelled pairs (`benchmarks/fit_pair_model.py`).
It comes with Clew and needs numpy only: a runtime for models takes longer to load than this takes to judge, and where
processes of one store have different extras they must still give one answer. The weights are whole numbers of eight
bits, mapped from the file and widened layer by layer, so a process that never judges pays nothing.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from clew.memory.contradictions.word_pieces import UNKNOWN, pieces

Floats = NDArray[np.float32]
PLACE = Path(__file__).with_name("pair_model.bin")
MOST_PIECES = 62
"""Of each statement: two of these and three marks make the 128 places that the model knows."""
AT_ONCE = 1_024
"""Pieces that are read together: more do not fit into the processor's caches."""
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix of whole numbers, a scale for each of its columns, and what is added to the product."""

    whole: NDArray[np.int8]
    scales: Floats
    added: Floats

    def of(self, given: Floats) -> Floats:
        product = given @ self.whole.astype(np.float32)
        product *= self.scales
        product += self.added
        return product


@dataclass(frozen=True, slots=True)
class Norm:
    scales: Floats
    added: Floats

    def of(self, given: Floats) -> Floats:
        centred: Floats = given - given.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + TINY)
        centred *= self.scales / spread
        centred += self.added
        return centred


@dataclass(frozen=True, slots=True)
class Layer:
    asked: Product
    """Query, key and value of attention, one behind the other."""
    joined: Product
    attended: Norm
    wide: Product
    narrow: Product
    passed: Norm

    def of(self, given: Floats, rows: Sequence[slice], heads: int) -> Floats:
        attended = self.joined.of(_attention(self.asked.of(given), rows, heads))
        attended += given
        known = self.attended.of(attended)
        thought = self.narrow.of(_bent(self.wide.of(known)))
        thought += known
        return self.passed.of(thought)


def _attention(asked: Floats, rows: Sequence[slice], heads: int) -> Floats:
    """Each text looks at its own pieces only; the texts stand one behind the other, so none is padded."""
    size = asked.shape[1] // 3
    found = np.empty((len(asked), size), np.float32)
    for row in rows:
        query, key, value = (
            part.reshape(-1, heads, size // heads).transpose(1, 0, 2) for part in np.split(asked[row], 3, axis=1)
        )
        weights = query @ key.transpose(0, 2, 1)
        weights -= weights.max(axis=2, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=2, keepdims=True)
        found[row] = (weights @ value).transpose(1, 0, 2).reshape(-1, size)
    return found


def _bent(given: Floats) -> Floats:
    """GELU by its usual approximation."""
    inner = np.square(given)
    inner *= np.float32(0.044715)
    inner += 1
    inner *= given
    inner *= np.float32(0.7978845608)
    np.tanh(inner, out=inner)
    inner += 1
    inner *= given
    inner *= np.float32(0.5)
    return inner


@dataclass(frozen=True, slots=True)
class PairModel:
    known: dict[str, int]
    words: NDArray[np.int8]
    word_scales: Floats
    places: Floats
    sides: Floats
    begun: Norm
    layers: tuple[Layer, ...]
    heads: int
    judging: Floats
    judging_added: float

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each pair the logarithm of the odds that the two contradict each other, in the order given."""
        read = [self._read(one, other) for one, other in pairs]
        order = sorted(range(len(read)), key=lambda at: len(read[at][0]))
        found: dict[int, float] = {}
        batch: list[int] = []
        for at in order:
            if batch and sum(len(read[known][0]) for known in batch) + len(read[at][0]) > AT_ONCE:
                found.update(zip(batch, self._run([read[known] for known in batch]), strict=True))
                batch = []
            batch.append(at)
        if batch:
            found.update(zip(batch, self._run([read[known] for known in batch]), strict=True))
        return [found[at] for at in range(len(pairs))]

    def can_read(self, text: str) -> bool:
        """Whether the model knows the letters of a text: of more than two in three pieces."""
        found = pieces(text, self.known)[:MOST_PIECES]
        return 3 * found.count(self.known[UNKNOWN]) < len(found)

    def _read(self, one: str, other: str) -> tuple[list[int], int]:
        """The pieces of both statements with the marks around them, and where the second begins."""
        first, second = (pieces(text, self.known)[:MOST_PIECES] for text in (one, other))
        begin, end = self.known["[CLS]"], self.known["[SEP]"]
        return [begin, *first, end, *second, end], len(first) + 2

    def _run(self, read: list[tuple[list[int], int]]) -> list[float]:
        ends = np.cumsum([len(ids) for ids, _ in read]).tolist()
        rows = [slice(end - len(ids), end) for end, (ids, _) in zip(ends, read, strict=True)]
        ids = np.array([id for known, _ in read for id in known])
        given = self.words[ids] * self.word_scales[ids][:, None]
        for row, (known, second) in zip(rows, read, strict=True):
            given[row] += self.places[: len(known)]
            given[row.start : row.start + second] += self.sides[0]
            given[row.start + second : row.stop] += self.sides[1]
        state = self.begun.of(given.astype(np.float32, copy=False))
        for layer in self.layers:
            state = layer.of(state, rows, self.heads)
        pooled = np.stack([state[row].mean(axis=0) for row in rows])
        return [float(value) + self.judging_added for value in pooled @ self.judging]


@cache
def pair_model() -> PairModel:
    """The file: a line of JSON that says what stands where, then the numbers."""
    with PLACE.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    end = data.find(b"\n")
    told = orjson.loads(data[:end])
    start = end + 1

    def numbers(name: str) -> NDArray[np.float32]:
        place = told["arrays"][name]
        count = int(np.prod(place["shape"]))
        return np.frombuffer(data, place["type"], count, start + place["at"]).reshape(place["shape"])

    def product(name: str) -> Product:
        return Product(numbers(f"{name}.whole").view(np.int8), numbers(f"{name}.scales"), numbers(f"{name}.added"))

    def norm(name: str) -> Norm:
        return Norm(numbers(f"{name}.scales"), numbers(f"{name}.added"))

    layers = tuple(
        Layer(
            product(f"{number}.asked"),
            product(f"{number}.joined"),
            norm(f"{number}.attended"),
            product(f"{number}.wide"),
            product(f"{number}.narrow"),
            norm(f"{number}.passed"),
        )
        for number in range(told["layers"])
    )
    return PairModel(
        {word: number for number, word in enumerate(told["words"])},
        numbers("words").view(np.int8),
        numbers("word_scales"),
        numbers("places"),
        numbers("sides"),
        norm("begun"),
        layers,
        told["heads"],
        numbers("judging"),
        float(told["judging_added"]),
    )
