"""The baseline that every change is compared with: BM25 and the bare model, standardised and summed, and two rules.

`z(BM25) + 2 z(cosine)`; kind, date and author are part of the text; superseded records come last, and a replacement
ranks at least as high as the replaced record would.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.bm25 import bm25_scores
from benchmarks.recall.data import Collection, Record
from benchmarks.recall.locomo import DEPTHS
from clew.recall.models import Embedder

SEMANTIC = 2.0
TALK = ("turn", "note")
"""Kinds that say nothing about a record and are left out of its text."""


def hybrid(collection: Collection, model: Embedder) -> Callable[[str], list[str]]:
    records = collection.records
    texts = [passage(record) for record in records]
    by_words, vectors = bm25_scores(texts), model.embed(texts)
    place = {record.id: at for at, record in enumerate(records)}
    replaced = [
        (place[old], at)
        for at, record in enumerate(records)
        for relation, old in record.links
        if relation == "supersedes" and old in place
    ]
    late = np.array([record.status == "superseded" for record in records], bool)

    def search(query: str) -> list[str]:
        scores = _standardised(by_words(query))
        scores += SEMANTIC * _standardised(vectors @ model.embed_query(query))
        for old, new in replaced:
            scores[new] = max(scores[new], scores[old])
        order = np.lexsort((-scores, late))
        return [records[int(at)].id for at in order[: DEPTHS[-1]]]

    return search


def passage(record: Record) -> str:
    kind = "" if record.kind in TALK else f"{record.kind}, "
    return f"{kind}{record.plain}"


def _standardised(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    spread = float(scores.std())
    return np.asarray((scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores)), np.float64)
