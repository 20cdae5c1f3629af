"""A filter for lists: items that hold words, without recall's ranking.

A word is held when it is one of an item's terms: a whole word or a part of an identifier, by its stem. A piece of a
word is not. `store.search.matching` says the same by reading every row; here the index answers.
"""

from __future__ import annotations

from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from clew.index.postings import FIELD_COUNT
from clew.index.search import MOST_WORDS, items_by_id
from clew.recall.corpus import Corpus
from clew.recall.library import library
from clew.registry.context import Context
from clew.store.database import Row


def holding(ctx: Context, words: list[str], limit: int, sources: tuple[str, ...] = ()) -> list[Row]:
    """Items that hold any of the terms, those with most of them first, then by ref; `score` is how many."""
    kept = library(ctx.database)
    with kept.lock:
        corpus = kept.corpus(ctx)
        scores = _scores(corpus, list(dict.fromkeys(words))[:MOST_WORDS])
        scores[~_visible(corpus, sources)] = 0
        best = _best(corpus, scores, limit)
        ids = [int(corpus.ids[slot]) for slot in best]
        held = [int(scores[slot]) for slot in best]
    # Another thread may have read further than this transaction sees.
    rows = items_by_id(ctx.tx, ids)
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
    codes = [corpus.sources[name] for name in sources if name in corpus.sources]
    return np.asarray(corpus.alive & np.isin(corpus.source, codes), bool)


def _best(corpus: Corpus, scores: NDArray[np.int32], limit: int) -> list[int]:
    found: list[int] = []
    for score in range(int(scores.max(initial=0)), 0, -1):
        level = np.flatnonzero(scores == score).tolist()
        found += nsmallest(limit - len(found), level, key=lambda slot: corpus.refs[slot])
        if len(found) >= limit:
            break
    return found
