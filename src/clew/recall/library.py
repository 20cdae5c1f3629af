"""The corpora and vectors that this process keeps for each workspace, and `holding`, a word filter for lists."""

from __future__ import annotations

import threading
from collections import OrderedDict
from heapq import nsmallest
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from clew.freed_memory import give_back
from clew.index.item_reads import MOST_WORDS, index_state, items_as_of, items_by_id
from clew.index.postings import FIELD_COUNT
from clew.index.vectors import count, server
from clew.recall.corpus import ALL, Corpus
from clew.recall.kernel import Kernel
from clew.recall.likeness import Likeness, ServedVectors, Vectors
from clew.recall.models import Embedder
from clew.registry.context import Context
from clew.store.database import Database, Row

KEPT = 4
"""How many corpora stay in memory, the most recently used ones; evicted ones are cheap to read again."""
MANY = 2_000
"""Reading more items than this leaves memory behind that is worth giving back."""
_opening = threading.Lock()


class Library:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._kept: OrderedDict[tuple[object, ...], Corpus] = OrderedDict()
        self._vectors: dict[tuple[str, str], Vectors | ServedVectors] = {}

    def current(self, ctx: Context, kernel: Kernel) -> Corpus:
        return _paused(self.corpus(ctx), kernel)

    def corpus(self, ctx: Context) -> Corpus:
        key = (ctx.workspace,)
        corpus = self._take(key)
        known = len(corpus)
        if not corpus.refresh(ctx.tx, ctx.workspace):
            corpus, known = Corpus(), 0
            self._kept[key] = corpus
            corpus.refresh(ctx.tx, ctx.workspace)
        if len(corpus) - known > MANY:
            give_back()
        return corpus

    def as_of(self, ctx: Context, kernel: Kernel, column: str, moment: int) -> Corpus:
        """The items at a past moment. The key holds the index state, because a restore can rewrite the past."""
        key = (ctx.workspace, column, moment, *index_state(ctx.tx, ctx.workspace))
        corpus = self._take(key)
        if not len(corpus):
            corpus.take(items_as_of(ctx.tx, ctx.workspace, column, moment))
        return _paused(corpus, kernel)

    def likeness(self, ctx: Context, kernel: Kernel, corpus: Corpus, model: Embedder, text: str) -> Likeness | None:
        """The similarity between a question and the items of a corpus; None while there are no vectors."""
        vectors = self._vectors_of(ctx, model, kernel.whole("vector", "in_process"))
        return vectors.likeness(ctx.tx, corpus, model.embed_query(text)) if vectors else None

    def _vectors_of(self, ctx: Context, model: Embedder, most: int) -> Vectors | ServedVectors:
        """The vectors of a workspace: in this process up to `most`, beyond that in the database if it has pgvector."""
        key = (ctx.workspace, model.id)
        kept = self._vectors.get(key)
        if kept is None or isinstance(kept, ServedVectors) != (len(kept) > most):
            # Evicts the vectors of models that are no longer in use.
            self._vectors = {other: held for other, held in self._vectors.items() if other[1] == model.id}
            size = len(kept) if kept is not None else count(ctx.tx, ctx.workspace, model.id)
            # Without pgvector they stay in this process, however many there are.
            here = kept if isinstance(kept, Vectors) else Vectors(model.id, model.dimensions)
            kept = self._vectors[key] = _served_vectors(ctx, model, size, most) or here
        kept.refresh(ctx.tx, ctx.workspace)
        return kept

    def _take(self, key: tuple[object, ...]) -> Corpus:
        corpus = self._kept.pop(key, None) or Corpus()
        self._kept[key] = corpus
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return corpus


def _served_vectors(ctx: Context, model: Embedder, size: int, most: int) -> ServedVectors | None:
    place = server(ctx.tx, ctx.workspace, model.id) if size > most else None
    return ServedVectors(place, size) if place else None


def _paused(corpus: Corpus, kernel: Kernel) -> Corpus:
    hours = kernel.number("dates", "pause_hours")
    if corpus.pause_hours != hours:
        corpus.order(hours)
    return corpus


_libraries: WeakKeyDictionary[Database, Library] = WeakKeyDictionary()


def library(database: Database) -> Library:
    with _opening:
        return _libraries.setdefault(database, Library())


def holding(ctx: Context, words: list[str], limit: int, sources: tuple[str, ...] = ()) -> list[Row]:
    """Items that hold any of the terms: first those with most of them (`score`), then by ref."""
    kept = library(ctx.database)
    with kept.lock:
        corpus = kept.corpus(ctx)
        scores = _scores(corpus, list(dict.fromkeys(words))[:MOST_WORDS])
        scores[~_visible(corpus, sources)] = 0
        best = _best(corpus, scores, limit)
        ids = [int(corpus.ids[slot]) for slot in best]
        held = [int(scores[slot]) for slot in best]
    # Another thread may have refreshed the corpus beyond what this transaction sees; such ids have no row here.
    rows = items_by_id(ctx.tx, ctx.workspace, ids)
    return [{**rows[id], "score": score} for id, score in zip(ids, held, strict=True) if id in rows]


def _scores(corpus: Corpus, words: list[str]) -> NDArray[np.int32]:
    scores = np.zeros(len(corpus), np.int32)
    for word in words:
        number = corpus.term(word)
        if number is None:
            continue
        held = np.zeros(len(corpus), bool)
        for run in corpus.runs:
            for field in range(FIELD_COUNT):
                hits = run.postings(number * FIELD_COUNT + field)
                if hits is not None:
                    held[hits[0]] = True
        scores += held
    return scores


def _visible(corpus: Corpus, sources: tuple[str, ...]) -> NDArray[np.bool_]:
    if not sources:
        return corpus.alive
    return np.asarray(corpus.alive & corpus.are(ALL, lambda source, *_: source in sources), bool)


def _best(corpus: Corpus, scores: NDArray[np.int32], limit: int) -> list[int]:
    found: list[int] = []
    for score in range(int(scores.max(initial=0)), 0, -1):
        level = np.flatnonzero(scores == score).tolist()
        found += nsmallest(limit - len(found), level, key=lambda slot: corpus.refs[slot])
        if len(found) >= limit:
            break
    return found
