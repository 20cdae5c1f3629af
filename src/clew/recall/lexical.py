"""How well the words of a question match an item, its neighbours and its document: BM25, proximity, phrases."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.index.postings import FIELD_COUNT, term_counts
from clew.recall.corpus import Corpus
from clew.recall.kernel import Kernel
from clew.recall.measures import cohesion

Floats = NDArray[np.float32]
Slots = NDArray[np.int64]

FIELDS = ("title", "body", "tags", "speaker")
CLOSE = 3
"""Words at most this far apart in an item count as a pair: with up to two other words between them."""


@dataclass(frozen=True)
class Asked:
    """A word of the question with the terms of this corpus that it matches."""

    word: str
    weight: float
    numbers: tuple[int, ...]
    """The number of the term itself, or of words that begin with it or are spelled similarly."""
    named: bool = False
    added: bool = False


class Matches:
    """Counts of each asked term in each slot, and the scores that follow from them.

    One formula serves chat turns and pages. A turn borrows words from its neighbours, because an answer is
    often spread over several turns; a page does not. `page_share` says where a collection lies between the two:
    0 when all items are short and continue each other, 1 when they are long or do not.
    """

    def __init__(self, corpus: Corpus, visible: NDArray[np.bool_], asked: list[Asked], kernel: Kernel) -> None:
        self.corpus = corpus
        self.visible = visible
        self.asked = asked
        self._own: Floats | None = None
        self.long_words = kernel.number("context", "long_words")
        self.document_b = kernel.number("bm25", "document_b")
        fields = np.array([kernel.number("fields", name) for name in FIELDS], np.float32)
        self.lengths = corpus.lengths @ fields
        # How similar an item and its neighbours are. Items that merely follow one another borrow less.
        self.together = cohesion(corpus)
        self.cohesion = np.where(corpus.continues, 1, np.float32(kernel.number("context", "loose"))) * self.together
        self.size = max(int(visible.sum()), 1)
        self.mean_length = float(self.lengths[visible].sum() / self.size) or 1.0
        self.company = float((self.cohesion * (visible & (corpus.before >= 0))).sum() / self.size)
        self.page_share = 1 - self.company * self.long_words / (self.mean_length + self.long_words)
        self.pages = kernel.pages(self.page_share)
        self.k1, self.b = self._by_length(kernel, "k1"), self._by_length(kernel, "b")
        self._fields = fields
        self.counts = self._counts_of(asked)
        self._weigh()

    def with_added(self, more: list[Asked]) -> Matches:
        """A copy with further words; the statistics of the whole collection are kept."""
        found = copy(self)
        found.asked = [*self.asked, *more]
        found.counts = np.concatenate((self.counts, self._counts_of(more)))
        found._own = None
        found._weigh()
        return found

    def _counts_of(self, asked: list[Asked]) -> Floats:
        counts = np.zeros((len(asked), len(self.corpus)), np.float32)
        for at, term in enumerate(asked):
            for number in term.numbers:
                counts[at] += term_counts(self.corpus.runs, number, self._fields, len(self.corpus))
        counts *= self.visible
        return counts

    def _weigh(self) -> None:
        # From here on this is ordinary BM25: how many items hold each term, and how rare that makes it.
        self.held = np.count_nonzero(self.counts, axis=1)
        weights = np.array([term.weight for term in self.asked])
        self.rarity = np.log1p((self.size - self.held + 0.5) / (self.held + 0.5)) * weights
        # The limit that BM25 approaches for an item full of every word of the question. Scores are shares of it, which
        # makes them comparable between questions. Words that the expansion added do not raise it.
        own = np.array([not term.added for term in self.asked], bool)
        self.best = float(self.rarity[own].sum()) * (self.k1 + 1) or 1.0

    def _by_length(self, kernel: Kernel, name: str) -> float:
        """The number for chat turns and the one for pages, mixed by `page_share`.

        That a chat turn is short says nothing about it, so length hardly counts there.
        """
        share = self.page_share
        return (1 - share) * kernel.number("bm25", name) + share * kernel.number("bm25", f"long_{name}")

    def own(self) -> Floats:
        """BM25 of every item by itself, as a share of the best a perfect item could reach."""
        if self._own is None:
            self._own = self._scored_alone()
        return self._own

    def _scored_alone(self) -> Floats:
        scores = np.zeros(len(self.corpus), np.float32)
        norm = self._norm(self.lengths, self.mean_length, self.b).astype(np.float32)
        for counts, rarity in zip(self.counts, self.rarity, strict=True):
            hit = np.flatnonzero(counts)
            here = counts[hit]
            scores[hit] += (rarity * (self.k1 + 1) / self.best) * here / (here + norm[hit])
        return scores

    def folded(self, near: Neighbours, shares: Floats) -> Floats:
        """BM25 of candidates that count a share of their neighbours' words as their own; long items borrow less.

        `usual` is the factor by which borrowing lengthens the average item: BM25 must compare the length of an item
        with the mean of items that were lengthened in the same way.
        """
        size, long_words = near.slots.shape[1], self.long_words
        shares = np.concatenate((shares, np.zeros(size, np.float32)))[:size]
        held = shares * near.present * np.where(np.arange(size) > 0, self.cohesion[near.slots[:, :1]], 1)
        held[:, 1:] *= (long_words / (long_words + self.lengths[near.slots[:, 0]]))[:, None] * self._lent(near)[:, 1:]
        counts = np.einsum("tcn,cn->tc", self.counts[:, near.slots], held)
        lengths = (self.lengths[near.slots] * held).sum(axis=1)
        lent = min(long_words / self.mean_length, 1.0) * long_words / (long_words + self.mean_length)
        usual = 1.0 + self.company * float(shares[1:].sum()) * lent
        return self._scored(counts, lengths, self.mean_length * usual)

    def _lent(self, near: Neighbours) -> Floats:
        """The share of a neighbour's words that may be borrowed: a long one lends no more words than a short remark."""
        return np.asarray(np.minimum(self.long_words / np.maximum(self.lengths[near.slots], 1.0), 1.0), np.float32)

    def held_by(self, slots: Slots) -> Floats:
        """The share of the question's weight that items cover themselves, without neighbours."""
        own = np.array([not term.added for term in self.asked], bool)
        held = self.counts[own][:, slots] > 0
        return np.asarray(self.rarity[own] @ held * (self.k1 + 1) / self.best, np.float32)

    def coverage(self, near: Neighbours, reach: int) -> Floats:
        """The share of the question's weight that an item and its nearest neighbours cover; rare words weigh more."""
        lent = self._lent(near) * (near.present & near.within(reach))
        there = self.counts[:, near.slots] > 0
        around, alone = (there * lent).max(axis=2), there[:, :, 0]
        held = np.where(alone, 1, self.together[near.slots[:, 0]] * around)
        own = np.array([not term.added for term in self.asked], bool)
        return np.asarray(self.rarity[own] @ held[own] * (self.k1 + 1) / self.best, np.float32)

    def documents(self, candidates: Slots) -> Floats:
        """BM25 of the stretch that a candidate belongs to, as a share of the best stretch's.

        Where neighbours do not belong together (`together` near 0), the item itself takes the place of its stretch.
        """
        corpus, total = self.corpus, self.corpus.stretches
        stretch = corpus.stretch
        lengths = np.asarray(
            np.bincount(stretch[self.visible], weights=self.lengths[self.visible], minlength=total), np.float64
        )
        there = lengths > 0
        count = max(int(there.sum()), 1)
        norm = self._norm(lengths, float(lengths[there].mean()) if there.any() else 1.0, self.document_b)
        scores = np.zeros(total)
        for counts, term in zip(self.counts, self.asked, strict=True):
            hit = np.flatnonzero(counts)
            inside = np.bincount(stretch[hit], weights=counts[hit], minlength=total)
            held = np.count_nonzero(inside)
            if held:
                scores += term.weight * np.log1p((count - held + 0.5) / (held + 0.5)) * inside / (inside + norm)
        together = self.together[candidates]
        shares = (scores / (scores.max(initial=0.0) or 1.0))[stretch[candidates]]
        alone = self.own()[candidates] / (self.own().max(initial=0.0) or 1.0)
        return np.asarray(together * shares + (1 - together) * alone, np.float32)

    def _scored(self, counts: Floats, lengths: Floats, mean: float) -> Floats:
        norm = self._norm(lengths, mean, self.b)
        return np.asarray((self.rarity * (self.k1 + 1) / self.best) @ (counts / (counts + norm)), np.float32)

    def _norm(self, lengths: NDArray[np.floating], mean: float, b: float) -> NDArray[np.floating]:
        return self.k1 * (1 - b + b * lengths / mean)


@dataclass(frozen=True)
class Neighbours:
    """Candidates with their neighbours, in columns: itself, one before, one after, two before, and so on."""

    slots: Slots
    present: NDArray[np.bool_]

    def within(self, reach: int) -> NDArray[np.bool_]:
        return np.arange(self.slots.shape[1]) < 1 + 2 * reach


def neighbours(corpus: Corpus, candidates: Slots, visible: NDArray[np.bool_], reach: int = 3) -> Neighbours:
    columns, present = [candidates], [np.ones(len(candidates), bool)]
    back, ahead = candidates, candidates
    for _ in range(reach):
        # -1 means no neighbour. As an index it reads the last element, which the outer `where` discards.
        back = np.where(back >= 0, corpus.before[back], -1)
        ahead = np.where(ahead >= 0, corpus.after[ahead], -1)
        columns += [back, ahead]
        present += [_is_visible(back, visible), _is_visible(ahead, visible)]
    slots = np.stack(columns, axis=1)
    return Neighbours(np.maximum(slots, 0).astype(np.int64), np.stack(present, axis=1))


def _is_visible(slots: NDArray[np.integer], visible: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray((slots >= 0) & visible[np.maximum(slots, 0)], bool)


def around_shares(shares: tuple[float, ...]) -> Floats:
    """Weights for the columns of `Neighbours`: 1 for the item, then each share for the one before and after."""
    return np.array([1.0, *(share for share in shares for _ in range(2))], np.float32)


def before_shares(shares: tuple[float, ...]) -> Floats:
    """The same for earlier neighbours only: a later one gets 0."""
    return np.array([1.0, *(part for share in shares for part in (share, 0.0))], np.float32)


@dataclass(frozen=True)
class Readings:
    """Items word by word, one behind the other: looking at each by itself would cost more than the rest of a search."""

    numbers: NDArray[np.uint32]
    """The terms in reading order."""
    owners: NDArray[np.int64]
    """For each term which of the items it belongs to."""
    size: int

    def holding(self, wanted: list[int]) -> NDArray[np.bool_]:
        """Which items hold any of these terms."""
        held = np.zeros(self.size, bool)
        held[self.owners[np.isin(self.numbers, wanted)]] = True
        return held

    def each(self) -> list[list[int]]:
        """The terms of each item."""
        starts = np.searchsorted(self.owners, np.arange(1, self.size))
        return [part.tolist() for part in np.split(self.numbers, starts)]


def readings(corpus: Corpus, slots: Slots) -> Readings:
    found = [corpus.reading(slot) for slot in slots.tolist()]
    numbers = np.concatenate(found) // FIELD_COUNT if found else np.zeros(0, np.uint32)
    return Readings(numbers, np.repeat(np.arange(len(found)), [len(keys) for keys in found]), len(found))


def proximity(read: Readings, asked: list[Asked], rarity: NDArray[np.floating]) -> Floats:
    """The share of the question's neighbouring word pairs that occur close together in an item, by weight."""
    place = {number: at for at, term in enumerate(asked) if not term.added for number in term.numbers}
    total = float(2 * sum(rarity[at] for at, term in enumerate(asked) if not term.added)) or 1.0
    if len(set(place.values())) < 2:
        return np.zeros(read.size, np.float32)
    known = np.array(sorted(place), np.uint32)
    where = np.array([place[int(number)] for number in known])
    index = np.minimum(np.searchsorted(known, read.numbers), len(known) - 1)
    spots = np.flatnonzero(known[index] == read.numbers)
    found = _close_pairs(spots, read.owners[spots], where[index[spots]], np.asarray(rarity, np.float64), read.size)
    return np.asarray(found / total, np.float32)


def _close_pairs(
    spots: NDArray[np.integer],
    owners: NDArray[np.integer],
    terms: NDArray[np.integer],
    rarity: NDArray[np.float64],
    size: int,
) -> NDArray[np.float64]:
    """For each item the summed weight of the question's neighbouring pairs that it holds close together, each once."""
    # The words must be neighbours in the question too: other words that happen to be close mean nothing.
    close = (np.diff(spots) <= CLOSE) & (np.diff(owners) == 0) & (np.abs(np.diff(terms)) == 1)
    firsts = np.minimum(terms[1:], terms[:-1])[close]
    pairs = np.unique(owners[1:][close] * len(rarity) + firsts)
    owner, first = np.divmod(pairs, len(rarity))
    found = np.bincount(owner, weights=rarity[first] + rarity[first + 1], minlength=size)
    return np.asarray(found, np.float64)


def phrases(read: Readings, wanted: list[list[int]]) -> Floats:
    """The share of the quoted phrases that an item holds word for word."""
    shares = [sum(_holds(numbers, phrase) for phrase in wanted) / len(wanted) for numbers in read.each()]
    return np.array(shares, np.float32)


def _holds(numbers: list[int], phrase: list[int]) -> bool:
    size = len(phrase)
    return any(numbers[at : at + size] == phrase for at in range(len(numbers) - size + 1))
