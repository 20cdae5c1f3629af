"""Runs of items with their words sorted by term: what one process keeps in memory to rank by.

A key is a term's number times four plus the field it stands in, so that fields can be weighed when a query is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIELD_COUNT = 4
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Run:
    """Items `first` to `first + size - 1`: their keys in reading order, and the same sorted by key."""

    first: int
    size: int
    words: NDArray[np.uint32]
    starts: Ints
    keys: NDArray[np.uint32]
    offsets: Ints
    slots: NDArray[np.int32]
    counts: NDArray[np.uint16]

    def postings(self, key: int) -> tuple[NDArray[np.int32], NDArray[np.uint16]] | None:
        """The slots that hold a key, and how often."""
        at = int(np.searchsorted(self.keys, key))
        if at >= len(self.keys) or self.keys[at] != key:
            return None
        low, high = self.offsets[at], self.offsets[at + 1]
        return self.slots[low:high], self.counts[low:high]

    def reading(self, slot: int) -> NDArray[np.uint32]:
        """The keys of one item in reading order."""
        at = slot - self.first
        return self.words[self.starts[at] : self.starts[at + 1]]


def build_run(first: int, words: NDArray[np.uint32], lengths: Ints) -> Run:
    starts = np.concatenate(([0], np.cumsum(lengths)))
    owners = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    pairs = (words.astype(np.uint64) << np.uint64(32)) | owners
    pairs.sort()
    fresh = np.concatenate(([True], pairs[1:] != pairs[:-1])) if len(pairs) else np.zeros(0, dtype=bool)
    begins = np.flatnonzero(fresh)
    counts = np.diff(np.append(begins, len(pairs)))
    unique = pairs[begins]
    keys = (unique >> np.uint64(32)).astype(np.uint32)
    changes = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if len(keys) else np.zeros(0, np.int64)
    return Run(
        first,
        len(lengths),
        words,
        starts,
        keys[changes],
        np.append(changes, len(keys)),
        ((unique & np.uint64(0xFFFFFFFF)).astype(np.int64) + first).astype(np.int32),
        np.minimum(counts, 65535).astype(np.uint16),
    )


def join_runs(left: Run, right: Run) -> Run:
    words = np.concatenate((left.words, right.words))
    lengths = np.concatenate((np.diff(left.starts), np.diff(right.starts)))
    return build_run(left.first, words, lengths)


def added(runs: list[Run], run: Run) -> list[Run]:
    """Runs of falling size: small ones are joined, so that a term is looked up in few places."""
    runs = [*runs, run]
    while len(runs) > 1 and runs[-2].size < 2 * runs[-1].size:
        right, left = runs.pop(), runs.pop()
        runs.append(join_runs(left, right))
    return runs


def term_counts(runs: list[Run], term: int, weights: Floats, size: int) -> Floats:
    """How often each slot holds a term, each field counted with its weight."""
    found: Floats = np.zeros(size, np.float32)
    for run in runs:
        for field in range(FIELD_COUNT):
            if weights[field] == 0:
                continue
            hits = run.postings(term * FIELD_COUNT + field)
            if hits is not None:
                found[hits[0]] += weights[field] * hits[1]
    return found
