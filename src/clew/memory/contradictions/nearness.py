"""How near two words are in meaning, by a table of word vectors that comes with Clew.

`words.bin` holds a short vector of whole numbers for each of some thousand word stems, made once from the embedding
model that recall uses (all-MiniLM-L6-v2; `python -m benchmarks.word_vectors`). The model itself is not needed, and
products of whole numbers are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PLACE = Path(__file__).with_name("words.bin")


@dataclass(frozen=True, slots=True)
class Table:
    rows: dict[str, int]
    vectors: NDArray[np.int32]
    lengths: list[float]


@cache
def _table() -> Table:
    """The file: the number of dimensions, the stems, each on a line; an empty line; the numbers, a byte each."""
    head, _, data = PLACE.read_bytes().partition(b"\n\n")
    dimensions, *stems = head.decode().split("\n")
    vectors = np.frombuffer(data, np.int8).reshape(len(stems), int(dimensions)).astype(np.int32)
    lengths = np.sqrt((vectors.astype(np.int64) ** 2).sum(axis=1).astype(np.float64)).tolist()
    return Table({root: row for row, root in enumerate(stems)}, vectors, lengths)


def known(root: str) -> bool:
    """Whether the table has a word; names of products and people it mostly has not."""
    return root in _table().rows


@lru_cache(maxsize=200_000)
def nearness(one: str, other: str) -> float:
    """The cosine between two stems; 0 where one is not known."""
    table = _table()
    first, second = table.rows.get(one, -1), table.rows.get(other, -1)
    if first < 0 or second < 0:
        return 0.0
    return int(table.vectors[first] @ table.vectors[second]) / (table.lengths[first] * table.lengths[second])


def nearest(one: str, others: Iterable[str]) -> float:
    """The largest cosine between a stem and any of some others; 0 without any."""
    return max((nearness(one, other) for other in others), default=0.0)
