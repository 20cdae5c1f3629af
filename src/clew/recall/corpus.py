"""A workspace's items as arrays, kept by each process and brought up to date before each search.

The rows of the store are the truth; what is here can be thrown away at any time. A slot is the place of one version of
an item; a changed item takes a new slot and the old one is dead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.recall.postings import FIELD_COUNT, Run, added, build_run
from clew.store.database import Row, Transaction
from clew.store.search import QUESTION, changed_items, last_change
from clew.store.terms import terms

CHUNK = 20_000
HOUR_MS = 3_600_000
CONTINUOUS = frozenset({"thought"})
"""Sources whose items go on where the one before ended."""

Codes = NDArray[np.int32]


class Names(dict[Any, int]):
    """Numbers for values in the order in which they were first seen."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number


class Corpus:
    def __init__(self) -> None:
        self.change = 0
        self.pause_hours = 4.0
        self.runs: list[Run] = []
        self.vocabulary = Names()
        self.sources = Names()
        self.statuses = Names()
        self.speakers = Names()
        self.documents = Names()
        self.refs: list[str] = []
        self.slot_of: dict[int, int] = {}
        self.ids = np.zeros(0, np.int64)
        self.alive = np.zeros(0, bool)
        self.source = np.zeros(0, np.int32)
        self.status = np.zeros(0, np.int32)
        self.speaker = np.zeros(0, np.int32)
        self.document = np.zeros(0, np.int32)
        self.seq = np.zeros(0, np.int64)
        self.when = np.zeros(0, np.int64)
        self.lengths = np.zeros((0, FIELD_COUNT), np.float32)
        self.question = np.zeros(0, bool)
        self.continues = np.zeros(0, bool)
        self.before = np.zeros(0, np.int32)
        self.after = np.zeros(0, np.int32)
        self.stretch = np.zeros(0, np.int32)
        self.stretches = 0
        self._sorted_vocabulary: list[str] = []
        self._words: list[str] = []

    def __len__(self) -> int:
        return len(self.ids)

    def refresh(self, tx: Transaction, workspace: str) -> None:
        """Take in what was written since the last look."""
        newest = last_change(tx, workspace)
        if newest == self.change:
            return
        while self.change < newest:
            rows = changed_items(tx, workspace, self.change, CHUNK)
            if not rows:
                break
            self.take(rows)
            self.change = rows[-1]["change"]
        self.order(self.pause_hours)

    def take(self, rows: list[Row]) -> None:
        for row in rows:
            old = self.slot_of.pop(row["id"], None)
            if old is not None:
                self.alive[old] = False
        # A row can be gone already although an earlier change of this chunk wrote it.
        present = [row for row in rows if row["terms"] is not None and row["ref"] is not None]
        if present:
            self._append(present)

    def _append(self, rows: list[Row]) -> None:
        first = len(self)
        words, lengths = self._cut(rows)
        self.runs = added(self.runs, build_run(first, words, lengths.sum(axis=1).astype(np.int64)))
        self.refs += [row["ref"] for row in rows]
        self.slot_of.update((row["id"], first + at) for at, row in enumerate(rows))
        self.lengths = np.concatenate((self.lengths, lengths.astype(np.float32)))
        self.ids = _extended(self.ids, (row["id"] for row in rows))
        self.alive = np.concatenate((self.alive, np.ones(len(rows), bool)))
        self.source = _extended(self.source, (self.sources[row["source"]] for row in rows))
        self.status = _extended(self.status, (self.statuses[row["status"] or ""] for row in rows))
        self.speaker = _extended(self.speaker, (self.speakers[row["speaker"] or ""] for row in rows))
        self.document = _extended(self.document, (self._document(row) for row in rows))
        self.seq = _extended(self.seq, (row["seq"] for row in rows))
        self.when = _extended(self.when, (_happened(row) for row in rows))
        continues = [bool(row["speaker"]) or row["source"] in CONTINUOUS for row in rows]
        self.continues = np.concatenate((self.continues, np.array(continues, bool)))
        self.question = np.concatenate((self.question, np.array([_asks(row["terms"]) for row in rows], bool)))

    def _document(self, row: Row) -> int:
        """Items of no document are documents of their own."""
        place = (row["branch"], row["doc"]) if row["doc"] is not None else (None, row["id"])
        return self.documents[place]

    def _cut(self, rows: list[Row]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        vocabulary, numbers, lengths = self.vocabulary, [], np.zeros((len(rows), FIELD_COUNT), np.int64)
        for at, row in enumerate(rows):
            for field, text in enumerate(row["terms"].split("\n")):
                found = [vocabulary[word] for word in text.split()]
                numbers += found
                lengths[at, field] = len(found)
        words = np.array(numbers, np.uint32) * np.uint32(FIELD_COUNT)
        fields = np.tile(np.arange(FIELD_COUNT, dtype=np.uint32), len(rows))
        return words + np.repeat(fields, lengths.reshape(-1)), lengths

    def order(self, pause_hours: float = 4.0) -> None:
        """Who stands before and after whom, and which stretches of a document, without long pauses, belong together."""
        self.pause_hours = pause_hours
        size = len(self)
        self.before, self.after = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
        self.stretch = np.zeros(size, np.int32)
        slots = np.flatnonzero(self.alive)
        slots = slots[np.lexsort((self.ids[slots], self.seq[slots], self.document[slots]))]
        if not len(slots):
            self.stretches = 0
            return
        same = self.document[slots[1:]] == self.document[slots[:-1]]
        self.before[slots[1:][same]] = slots[:-1][same]
        self.after[slots[:-1][same]] = slots[1:][same]
        pause = np.abs(self.when[slots[1:]] - self.when[slots[:-1]]) > self.pause_hours * HOUR_MS
        numbers = np.concatenate(([0], np.cumsum(~same | pause)))
        self.stretch[slots] = numbers
        self.stretches = int(numbers[-1]) + 1

    def term(self, word: str) -> int | None:
        return self.vocabulary.get(word)

    def words(self) -> list[str]:
        """Every known word, at the place of its number."""
        if len(self._words) != len(self.vocabulary):
            self._words = list(self.vocabulary)
        return self._words

    def words_from(self, start: str, most: int) -> list[str]:
        """Known words that begin with `start`, in order."""
        if len(self._sorted_vocabulary) != len(self.vocabulary):
            self._sorted_vocabulary = sorted(self.vocabulary)
        low = bisect_left(self._sorted_vocabulary, start)
        found = []
        for word in self._sorted_vocabulary[low : low + most]:
            if not word.startswith(start):
                break
            found.append(word)
        return found

    def reading(self, slot: int) -> NDArray[np.uint32]:
        for run in self.runs:
            if run.first <= slot < run.first + run.size:
                return run.reading(slot)
        raise KeyError(slot)

    def speaker_terms(self) -> dict[int, frozenset[str]]:
        return {code: frozenset(terms(name)) for name, code in self.speakers.items() if name}


def _extended(column: NDArray[Any], values: Iterable[int]) -> NDArray[Any]:
    return np.concatenate((column, np.fromiter(values, column.dtype)))


def _happened(row: Row) -> int:
    return int(row["event_ts_ms"] if row["event_ts_ms"] is not None else row["ts_ms"])


def _asks(text: str) -> bool:
    """The body of a question ends with a mark of its own."""
    body = text.split("\n", 2)[1]
    return body.endswith(QUESTION)
