"""How near two words are in meaning, by a table of word vectors that comes with Clew.

`words.bin` holds a short vector of whole numbers for each of some thousand word stems, made once from the embedding
model that recall uses (all-MiniLM-L6-v2; `python -m benchmarks.word_vectors`). The model itself is not needed, and
products of whole numbers are the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import mul
from pathlib import Path

PLACE = Path(__file__).with_name("words.bin")
COMMON, RARE = 100, 6_000
"""The first words of the table are common, from this row on they are rare."""


@dataclass(frozen=True, slots=True)
class Table:
    """`vectors` has a signed byte for each number, the rows one behind the other."""

    rows: dict[str, int]
    vectors: memoryview
    dimensions: int

    def row(self, root: str) -> memoryview | None:
        at = self.rows.get(root)
        return None if at is None else self.vectors[at * self.dimensions : (at + 1) * self.dimensions]


@cache
def _table() -> Table:
    """The file: the number of dimensions, the stems, each on a line; an empty line; the numbers, a byte each.

    It is read when two words are compared for the first time. Without numpy: a process that compares a few statements
    need not load it, and most words are compared once, after which the answer is kept.
    """
    data = PLACE.read_bytes()
    end = data.index(b"\n\n")
    dimensions, *stems = data[:end].decode().split("\n")
    vectors = memoryview(data)[end + 2 :].cast("b")
    return Table({root: row for row, root in enumerate(stems)}, vectors, int(dimensions))


def known(root: str) -> bool:
    """Whether the table has a word; names of products and people it mostly has not."""
    return root in _table().rows


@lru_cache(maxsize=20_000)
def rarity(root: str) -> float:
    """How rare a word is, from 0.5 to 1: the table begins with the common words."""
    row = _table().rows.get(root)
    if row is None or row >= RARE:
        return 1.0
    return 0.5 + 0.5 * max(0.0, math.log((row + 1) / COMMON) / math.log(RARE / COMMON))


@lru_cache(maxsize=60_000)
def nearness(one: str, other: str) -> float:
    """The cosine between two stems; 0 where one is not known."""
    table = _table()
    first, second = table.row(one), table.row(other)
    if first is None or second is None:
        return 0.0
    product: int = sum(map(mul, first, second))
    return product / (_length(one) * _length(other))


@lru_cache(maxsize=20_000)
def _length(root: str) -> float:
    row = _table().row(root)
    return math.sqrt(sum(map(mul, row, row))) if row else 0.0


def nearest(one: str, others: Iterable[str]) -> float:
    """The largest cosine between a stem and any of some others; 0 without any."""
    return max((nearness(one, other) for other in others), default=0.0)
