"""Posting lists: for each term the items that contain it, in runs of items; and the positions of ids in an array.

A key is the number of a term times FIELD_COUNT plus the number of its field, so that a query can weigh
the fields of an item differently.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIELD_COUNT = 4
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Numbers = NDArray[np.uint32]


class Names(dict[Any, int]):
    """A vocabulary (interner): numbers for values in the order in which they were first seen."""

    def __init__(self) -> None:
        super().__init__()
        self.in_order: list[Any] = []
        """The values, each at the index of its number."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self.in_order)
        self.in_order.append(value)
        return number


@dataclass(frozen=True)
class PostingRun:
    """The words of the items in the slots `first` to `first + size - 1`, twice: in reading order and as postings.

    Reading order: item i holds the keys `words[starts[i]:starts[i + 1]]`.
    Postings: `keys` is sorted and holds each key once. The items that hold `keys[at]` are `slots[begins[at]:ends[at]]`,
    rising and counted from `first`; `counts` says how often each holds it.
    """

    first: int
    size: int
    words: Numbers
    starts: Ints
    keys: Numbers
    begins: Ints
    ends: Ints
    slots: NDArray[np.int32]
    counts: NDArray[np.uint16]

    def postings(self, key: int) -> tuple[NDArray[np.int32], NDArray[np.uint16]] | None:
        """The slots that contain a key, and how often."""
        # A number of the array's own type: any other makes numpy copy the whole array.
        at = int(self.keys.searchsorted(np.uint32(key)))
        if at >= len(self.keys) or self.keys[at] != key:
            return None
        low, high = self.begins[at], self.ends[at]
        return self.slots[low:high] + np.int32(self.first), self.counts[low:high]

    def reading(self, slot: int) -> Numbers:
        """The keys of one item in reading order."""
        # Slots are counted over all runs of a corpus, arrays from the start of this run.
        at = slot - self.first
        return self.words[self.starts[at] : self.starts[at + 1]]


def cut(texts: list[str], vocabulary: Names) -> tuple[Numbers, Ints]:
    """The keys of stored terms (one line per field) in reading order, and the number of words in each field."""
    number, numbers, sizes = vocabulary.__getitem__, array("I"), array("q")
    # Converted to numbers at once: the words of some thousand items would take ten times the memory.
    for text in texts:
        # However many lines a row has, it gets exactly FIELD_COUNT fields, so that the lengths form a table.
        for line in (text.split("\n") + [""] * FIELD_COUNT)[:FIELD_COUNT]:
            words = line.split()
            if words:  # most items have no tags and no speaker
                numbers.extend(map(number, words))
            sizes.append(len(words))
    lengths = np.frombuffer(sizes, np.int64) if sizes else np.zeros(0, np.int64)
    keys = np.array(numbers, np.uint32) * np.uint32(FIELD_COUNT)
    keys += np.repeat(np.tile(np.arange(FIELD_COUNT, dtype=np.uint32), len(texts)), lengths)
    return keys, lengths.reshape(-1, FIELD_COUNT)


def build_run(first: int, words: Numbers, lengths: Ints) -> PostingRun:
    """A run of items that have `lengths[i]` words each, given the keys of all of them in reading order."""
    starts = np.concatenate(([0], np.cumsum(lengths)))
    owners = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    # One sort of (key, item) pairs, packed into 64 bits, gives the lists by key, each with rising items.
    pairs = (words.astype(np.uint64) << np.uint64(32)) | owners
    pairs.sort()
    begins = np.flatnonzero(_changes(pairs))
    counts = np.diff(np.append(begins, len(pairs)))
    unique = pairs[begins]
    keys = (unique >> np.uint64(32)).astype(np.uint32)
    slots = (unique & np.uint64(0xFFFFFFFF)).astype(np.int32)
    firsts = np.flatnonzero(_changes(keys))
    ends = np.append(firsts[1:], len(keys)) if len(keys) else firsts
    return PostingRun(
        first,
        len(lengths),
        words,
        starts,
        keys[firsts],
        firsts,
        ends,
        slots,
        # Sixteen bits halve the memory. A word that occurs in an item more often than that weighs no more.
        np.minimum(counts, 65535).astype(np.uint16),
    )


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a sorted array has another value than before."""
    found = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def join_runs(left: PostingRun, right: PostingRun) -> PostingRun:
    """One run of two neighbours that use the same numbers for their terms.

    The posting lists are moved, not sorted again. Both runs hold their keys sorted; a stable sort of the two key lists
    puts the lists of an equal key side by side, the left one's first. Since all slots of the left run are below those
    of the right run, the two lists together rise as well and become one list.
    """
    keys = np.concatenate((left.keys, right.keys))
    begins = np.concatenate((left.begins, right.begins + len(left.slots)))
    sizes = np.concatenate((left.ends - left.begins, right.ends - right.begins))
    order = np.argsort(keys, kind="stable")
    keys, begins, sizes = keys[order], begins[order], sizes[order]
    ends = np.cumsum(sizes)
    # The list that ends at ends[i] now began at begins[i] before: shift its entries by the difference.
    source = np.arange(int(sizes.sum()), dtype=np.int64) + np.repeat(begins - (ends - sizes), sizes)
    firsts = np.flatnonzero(_changes(keys))
    return PostingRun(
        left.first,
        left.size + right.size,
        np.concatenate((left.words, right.words)),
        # `starts` has one entry more than there are items; the right one's leading 0 is the left one's last entry.
        np.concatenate((left.starts, right.starts[1:] + left.starts[-1])),
        keys[firsts],
        (ends - sizes)[firsts],
        np.append((ends - sizes)[firsts[1:]], len(source)) if len(keys) else firsts,
        np.concatenate((left.slots, right.slots + np.int32(left.size)))[source],
        np.concatenate((left.counts, right.counts))[source],
    )


def added(runs: list[PostingRun], run: PostingRun) -> list[PostingRun]:
    """The runs with one more. Each stays at least twice as large as the next, so a term is looked up in few runs."""
    runs = [*runs, run]
    # Like a binary counter: an item is copied into a larger run at most log2(n) times, and there are at most log2(n)
    # runs.
    while len(runs) > 1 and runs[-2].size < 2 * runs[-1].size:
        right, left = runs.pop(), runs.pop()
        runs.append(join_runs(left, right))
    return runs


def term_counts(runs: list[PostingRun], term: int, weights: Floats, size: int) -> Floats:
    """The frequency of a term in each slot, weighted by field."""
    found: Floats = np.zeros(size, np.float32)
    for run in runs:
        for field in range(FIELD_COUNT):
            if weights[field] == 0:
                continue
            hits = run.postings(term * FIELD_COUNT + field)
            if hits is not None:
                found[hits[0]] += weights[field] * hits[1]
    return found


ABSENT = -1


def positions(wanted: Ints, known: Ints) -> Ints:
    """The index of each wanted id in the known ones, which are distinct; ABSENT if it is missing."""
    if not len(known):
        return np.full(len(wanted), ABSENT, np.int64)
    order = np.argsort(known, kind="stable")  # ids mostly rise already, which this sort makes use of
    at = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    return np.where(known[order[at]] == wanted, order[at], ABSENT)
