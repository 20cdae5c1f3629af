"""The corpora this process has read, one for each workspace it was asked about."""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakKeyDictionary

from clew.recall.corpus import Corpus
from clew.recall.dense import Vectors
from clew.recall.kernel import Kernel
from clew.recall.model import Embedder
from clew.recall.room import give_back
from clew.registry.context import Context
from clew.store.database import Database
from clew.store.packing import LEAST, packer
from clew.store.search import items_as_of, last_change

KEPT = 4
"""Corpora are cheap to build again; this many stay, those asked last."""


class Library:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._kept: OrderedDict[tuple[object, ...], Corpus] = OrderedDict()
        self._vectors: dict[tuple[str, str], Vectors] = {}

    def current(self, ctx: Context, kernel: Kernel) -> Corpus:
        return _paused(self.corpus(ctx), kernel)

    def corpus(self, ctx: Context) -> Corpus:
        corpus = self._take((ctx.workspace,))
        corpus.refresh(ctx.tx, ctx.workspace)
        if corpus.unpacked >= LEAST:
            corpus.unpacked = 0
            packer(ctx.database).wake(ctx.workspace)
            give_back()
        return corpus

    def as_of(self, ctx: Context, kernel: Kernel, column: str, moment: int) -> Corpus:
        """The items as they stood then; nothing that is written later changes that, except what rewrites the past."""
        key = (ctx.workspace, column, moment, last_change(ctx.tx, ctx.workspace))
        corpus = self._take(key)
        if not len(corpus):
            corpus.take(items_as_of(ctx.tx, ctx.workspace, column, moment))
        return _paused(corpus, kernel)

    def vectors(self, ctx: Context, model: Embedder) -> Vectors:
        key = (ctx.workspace, model.id)
        if key not in self._vectors:
            # Vectors of a model that no longer serves are of no use to anybody.
            self._vectors = {other: kept for other, kept in self._vectors.items() if other[1] == model.id}
            self._vectors[key] = Vectors(model.id, model.dimensions)
        self._vectors[key].refresh(ctx.tx, ctx.workspace)
        return self._vectors[key]

    def _take(self, key: tuple[object, ...]) -> Corpus:
        corpus = self._kept.pop(key, None) or Corpus()
        self._kept[key] = corpus
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return corpus


def _paused(corpus: Corpus, kernel: Kernel) -> Corpus:
    hours = kernel.number("dates", "pause_hours")
    if corpus.pause_hours != hours:
        corpus.order(hours)
    return corpus


_libraries: WeakKeyDictionary[Database, Library] = WeakKeyDictionary()
_opening = threading.Lock()


def library(database: Database) -> Library:
    with _opening:
        return _libraries.setdefault(database, Library())
