"""A workspace's items as arrays, kept by each process and updated before each search.

The rows of the store are the truth; a corpus can be discarded at any time. A slot is the position of one version of an
item in every array; a changed item gets a new slot, and its old slot is marked dead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from collections.abc import Sequence as Listed
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from clew.index.item_reads import IndexedItem, changed_items, index_state
from clew.index.items import QUESTION
from clew.index.postings import FIELD_COUNT, Ints, Names, Numbers, PostingRun, added, build_run, cut, positions
from clew.index.terms import terms
from clew.store.database import Transaction

CHUNK = 5_000
CONTINUOUS = frozenset({"thought"})
"""Sources whose items continue the one before them."""
Links = NDArray[np.int32]
HOUR_MS = 3_600_000
FEW = 16
"""Up to this many new items are linked one by one; beyond this threshold, sorting all items again is cheaper."""
Slots = NDArray[np.int64]
ALL = slice(None)
DatabaseResource = TypeVar("DatabaseResource")


class Corpus:
    def __init__(self) -> None:
        self.epoch: str | None = None
        self.change = 0
        self.runs: list[PostingRun] = []
        self.vocabulary = Names()
        self.sources = Names()
        self.shelves = Names()
        """Source, kind and status together: few combinations, and what a status means depends on all three."""
        self.speakers = Names()
        self.documents = Names()
        self.refs: list[str] = []
        self.ids = np.zeros(0, np.int64)
        self.alive = np.zeros(0, bool)
        self.source = np.zeros(0, np.int32)
        self.shelf = np.zeros(0, np.int32)
        self.speaker = np.zeros(0, np.int32)
        self.document = np.zeros(0, np.int64)
        self.seq = np.zeros(0, np.int64)
        self.when = np.zeros(0, np.int64)
        self.lengths = np.zeros((0, FIELD_COUNT), np.float32)
        self.question = np.zeros(0, bool)
        self.continues = np.zeros(0, bool)
        self.sequence = Sequence()
        self._living: tuple[Slots, Ints] | None = None
        self._sorted_vocabulary: list[str] = []
        self._resources: dict[type, object] = {}

    def companion(self, kind: type[DatabaseResource]) -> DatabaseResource:
        """The one object of this type, cached as long as the corpus; other modules keep measurements in it."""
        if kind not in self._resources:
            self._resources[kind] = kind()
        return cast(DatabaseResource, self._resources[kind])

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def before(self) -> NDArray[np.int32]:
        return self.sequence.before

    @property
    def after(self) -> NDArray[np.int32]:
        return self.sequence.after

    @property
    def stretch(self) -> NDArray[np.int32]:
        return self.sequence.stretch

    @property
    def stretches(self) -> int:
        return self.sequence.stretches

    @property
    def pause_hours(self) -> float:
        return self.sequence.pause_hours

    def refresh(self, tx: Transaction, workspace: str) -> bool:
        """Read the changes since the last call. False means that the store was restored to an earlier state.

        Ids and change numbers may then mean other items than those read here, so the caller must start a new corpus.
        """
        epoch, newest = index_state(tx, workspace)
        self.epoch = self.epoch or epoch
        if epoch != self.epoch or newest < self.change:
            return False
        if newest == self.change:
            return True
        known = len(self)
        while self.change < newest:
            items = changed_items(tx, workspace, self.change, CHUNK)
            if not items:
                break
            self.append(items)
        self.sequence.follow(self, known)
        return True

    def take(self, items: Listed[IndexedItem]) -> None:
        """Fill an empty corpus with these items only, such as those of a past moment."""
        self.append(items)
        self.order(self.pause_hours)

    def append(self, items: Listed[IndexedItem]) -> None:
        """Append changed items; their former versions are marked dead."""
        dead = self.slots_of([item.id for item in items])
        self.alive[dead[dead >= 0]] = False
        living = [item for item in items if not item.is_gone]
        if living:
            self._append_living(IndexedItem._make(zip(*living, strict=True)))
        self._living = None
        # Last: an exception before this leaves the change number behind, so the next refresh reads the items again.
        self.change = max((item.change for item in items), default=0)

    def _append_living(self, columns: Any) -> None:
        """Items as columns, each a tuple of values that is converted to an array at once."""
        first, size = len(self), len(columns.id)
        keys, lengths = cut(columns.terms, self.vocabulary)
        self.runs = added(self.runs, build_run(first, keys, lengths.sum(axis=1)))
        self.lengths = _extended(self.lengths, lengths.astype(np.float32))
        self.refs += columns.ref
        self.alive = _extended(self.alive, np.ones(size, bool))
        self.seq = _extended(self.seq, np.array(columns.seq, np.int64))
        happened = [at if at is not None else ts for at, ts in zip(columns.event_ts_ms, columns.ts_ms, strict=True)]
        self.when = _extended(self.when, np.array(happened, np.int64))
        self.question = _extended(self.question, np.fromiter(map(_asks, columns.terms), bool, size))
        self.source = _extended(self.source, _codes(columns.source, self.sources))
        shelves = zip(columns.source, columns.kind, columns.status, strict=True)
        self.shelf = _extended(self.shelf, np.fromiter(map(self.shelves.__getitem__, shelves), np.int32, size))
        self.speaker = _extended(self.speaker, _codes(columns.speaker, self.speakers))
        self.document = _extended(self.document, self._documents_of(columns))
        self.continues = _extended(self.continues, self._going_on(self.source[first:], self.speaker[first:]))
        self.ids = _extended(self.ids, np.array(columns.id, np.int64))

    def _documents_of(self, columns: Any) -> Ints:
        """The number of each item's document. One without a document gets a negative number of its own, so that it has
        no neighbours."""
        places = zip(columns.id, columns.branch, columns.doc, strict=True)
        numbers = [-1 - id if doc is None else self.documents[branch, doc] for id, branch, doc in places]
        return np.array(numbers, np.int64)

    def _going_on(self, source: NDArray[np.int32], speaker: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether each item continues the one before it."""
        going_on = [code for name, code in self.sources.items() if name in CONTINUOUS]
        return np.asarray((speaker != self.speakers[""]) | np.isin(source, going_on), bool)

    def order(self, pause_hours: float = 4.0) -> None:
        self.sequence.arrange(self, pause_hours)

    def place(self, slot: int) -> tuple[int | None, str] | None:
        """The branch and document of an item; None for an item without a document."""
        number = int(self.document[slot])
        return self.documents.in_order[number] if number >= 0 else None

    def are(self, slots: Slots | slice, test: Callable[[str, str | None, str | None], bool]) -> NDArray[np.bool_]:
        """Evaluate a predicate for these items; it is called once for each existing source, kind and status."""
        passed = np.array([test(*shelf) for shelf in self.shelves] or [False], bool)
        return passed[self.shelf[slots]]

    def kind_of(self, slot: int) -> str | None:
        kind: str | None = self.shelves.in_order[self.shelf[slot]][1]
        return kind

    def status_of(self, slot: int) -> str | None:
        status: str | None = self.shelves.in_order[self.shelf[slot]][2]
        return status

    def term(self, word: str) -> int | None:
        return self.vocabulary.get(word)

    def words(self) -> list[str]:
        """Every known word, at the index of its number."""
        return self.vocabulary.in_order

    def words_from(self, start: str, most: int) -> list[str]:
        """Up to `most` known words that begin with `start`, in alphabetical order."""
        known = self._sorted_vocabulary
        if len(known) != len(self.vocabulary):
            # Sorting a list of which only the end is new costs little.
            known += self.vocabulary.in_order[len(known) :]
            known.sort()
        low = bisect_left(known, start)
        found = []
        for word in known[low : low + most]:
            if not word.startswith(start):
                break
            found.append(word)
        return found

    def slots_of(self, ids: Listed[int] | Ints) -> Slots:
        """The slots of the living items with these ids; negative if there is none."""
        if self._living is None:
            slots = np.flatnonzero(self.alive)
            self._living = slots, self.ids[slots]
        slots, known = self._living
        found = positions(np.asarray(ids, np.int64), known)
        return np.where(found >= 0, slots[found], found) if len(slots) else found

    def slot_by_id(self, ids: Listed[int]) -> dict[int, int]:
        """The slot of each of these items that is alive."""
        return {id: slot for id, slot in zip(ids, self.slots_of(ids).tolist(), strict=True) if slot >= 0}

    def reading(self, slot: int) -> Numbers:
        for run in self.runs:
            if run.first <= slot < run.first + run.size:
                return run.reading(slot)
        raise KeyError(slot)

    def speaker_terms(self) -> dict[int, frozenset[str]]:
        return {code: frozenset(terms(name)) for name, code in self.speakers.items() if name}


def _codes(values: Listed[str | None], names: Names) -> NDArray[np.int32]:
    """The number of each value; no value has the number of the empty one."""
    return np.fromiter((names[value or ""] for value in values), np.int32, len(values))


def _asks(terms_of_item: str) -> bool:
    """Whether the body, the second line of the terms, ends with the mark of a question."""
    return terms_of_item.split("\n", 2)[1].endswith(QUESTION)


def _extended(column: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate((column, values)) if len(column) else values.astype(column.dtype, copy=True)


class Sequence:
    """Neighbours of items within their documents, and stretches: runs of items without a pause of `pause_hours`."""

    def __init__(self) -> None:
        self.pause_hours = 4.0
        self.before = np.zeros(0, np.int32)
        self.after = np.zeros(0, np.int32)
        self.stretch = np.zeros(0, np.int32)
        self.stretches = 0
        self._dead = 0

    def follow(self, corpus: Corpus, known: int) -> None:
        """Link the items from slot `known` on."""
        dead = len(corpus) - int(np.count_nonzero(corpus.alive))
        # An item that died may be in the middle of a chain, so its neighbours must be linked again.
        same = known == len(self.before) and dead == self._dead
        if not (same and len(corpus) - known <= FEW and self._put_behind(corpus, known)):
            self.arrange(corpus, self.pause_hours)

    def arrange(self, corpus: Corpus, pause_hours: float) -> None:
        self.pause_hours = pause_hours
        size = len(corpus)
        self.before, self.after = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
        self.stretch = np.zeros(size, np.int32)
        self.stretches = 0
        slots = np.flatnonzero(corpus.alive)
        self._dead = size - len(slots)
        # Sorted by document, then seq, then id, so that neighbours in the array are neighbours in their document.
        slots = slots[np.lexsort((corpus.ids[slots], corpus.seq[slots], corpus.document[slots]))]
        if not len(slots):
            return
        same = corpus.document[slots[1:]] == corpus.document[slots[:-1]]
        self.before[slots[1:][same]] = slots[:-1][same]
        self.after[slots[:-1][same]] = slots[1:][same]
        pause = np.abs(corpus.when[slots[1:]] - corpus.when[slots[:-1]]) > self.pause_hours * HOUR_MS
        numbers = np.concatenate(([0], np.cumsum(~same | pause)))
        self.stretch[slots] = numbers
        self.stretches = int(numbers[-1]) + 1

    def _put_behind(self, corpus: Corpus, known: int) -> bool:
        """Link each new item to the last of its document. False, with nothing changed, if one belongs elsewhere."""
        size = len(corpus)
        before, after = _grown(self.before, size), _grown(self.after, size)
        stretch, stretches = _grown(self.stretch, size), self.stretches
        for slot in range(known, size):
            last = np.flatnonzero((corpus.document[:slot] == corpus.document[slot]) & corpus.alive[:slot])
            # The end of a document is its item without a successor.
            last = last[after[last] < 0]
            if len(last) and (corpus.seq[slot], corpus.ids[slot]) <= (corpus.seq[last[0]], corpus.ids[last[0]]):
                return False
            goes_on = len(last) > 0
            if goes_on:
                before[slot], after[last[0]] = last[0], slot
                goes_on = abs(int(corpus.when[slot] - corpus.when[last[0]])) <= self.pause_hours * HOUR_MS
            stretch[slot] = stretch[last[0]] if goes_on else stretches
            stretches += not goes_on
        self.before, self.after, self.stretch, self.stretches = before, after, stretch, stretches
        return True


def _grown(values: Links, size: int) -> Links:
    return np.concatenate((values, np.full(size - len(values), -1, np.int32)))


def best(values: NDArray[np.floating[Any]], allowed: NDArray[np.bool_], most: int, corpus: Corpus) -> Slots:
    """The slots of the `most` highest values. Among equal values at the border the lowest item ids win.

    Ids are the same in every process and on both engines; slots depend on how the corpus was loaded.
    """
    slots = np.flatnonzero(allowed)
    if len(slots) <= most:
        return slots
    border = np.partition(values[slots], len(slots) - most)[len(slots) - most]
    above, level = slots[values[slots] > border], slots[values[slots] == border]
    level = level[np.argsort(corpus.ids[level], kind="stable")][: most - len(above)]
    return np.concatenate((above, level))
