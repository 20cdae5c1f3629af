"""The corpora this process has read, one for each workspace it was asked about."""

from __future__ import annotations

import threading
from collections import OrderedDict
from weakref import WeakKeyDictionary

from clew.index.packer import LEAST, packer
from clew.index.pgvector import server
from clew.index.search import items_as_of, last_change
from clew.index.vectors import count
from clew.recall.corpus import Corpus
from clew.recall.dense import Vectors
from clew.recall.kernel import Kernel
from clew.recall.likeness import Likeness
from clew.recall.model import Embedder
from clew.recall.room import give_back
from clew.recall.served import ServedVectors
from clew.registry.context import Context
from clew.store.database import Database

KEPT = 4
"""Corpora are cheap to build again; this many stay, those asked last."""


class Library:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._kept: OrderedDict[tuple[object, ...], Corpus] = OrderedDict()
        self._vectors: dict[tuple[str, str], Vectors | ServedVectors] = {}

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

    def likeness(self, ctx: Context, kernel: Kernel, corpus: Corpus, model: Embedder, text: str) -> Likeness | None:
        """How alike the items of a corpus are to a question; None while no vectors are there."""
        vectors = self._vectors_of(ctx, model, kernel.whole("vector", "in_process"))
        return vectors.likeness(ctx.tx, corpus, model.embed_query(text)) if vectors else None

    def _vectors_of(self, ctx: Context, model: Embedder, most: int) -> Vectors | ServedVectors:
        """Those of a workspace: in this process up to `most`, beyond that in the database where it can compare them."""
        key = (ctx.workspace, model.id)
        kept = self._vectors.get(key)
        if kept is None or isinstance(kept, ServedVectors) != (len(kept) > most):
            # Vectors of a model that no longer serves are of no use to anybody.
            self._vectors = {other: held for other, held in self._vectors.items() if other[1] == model.id}
            size = len(kept) if kept is not None else count(ctx.tx, ctx.workspace, model.id)
            # Where nobody else can compare them, what was read stays, however much it is.
            here = kept if isinstance(kept, Vectors) else Vectors(model.id, model.dimensions)
            kept = self._vectors[key] = _opened(ctx, model, size, most) or here
        kept.refresh(ctx.tx, ctx.workspace)
        return kept

    def _take(self, key: tuple[object, ...]) -> Corpus:
        corpus = self._kept.pop(key, None) or Corpus()
        self._kept[key] = corpus
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return corpus


def _opened(ctx: Context, model: Embedder, size: int, most: int) -> ServedVectors | None:
    place = server(ctx.tx, ctx.workspace, model.id) if size > most else None
    return ServedVectors(place, size) if place else None


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
