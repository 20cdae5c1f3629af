"""Plain BM25 as the textbooks have it: stop words left out, stems, one text for each item, nothing else.

It represents the result of any search library. It has no dependency, so that the arm is always available.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
import Stemmer
from numpy.typing import NDArray

from benchmarks.recall.locomo import DEPTHS, Conversation, Search
from clew.recall.query import FILLER

K1, B = 1.5, 0.75
_WORD = re.compile(r"\w\w+")
_stem = Stemmer.Stemmer("english").stemWord


def bm25(conversation: Conversation) -> Search:
    turns = conversation.turns
    scores_of = bm25_scores([turn.plain for turn in turns])

    def search(query: str) -> list[str]:
        scores = scores_of(query)
        order = np.argsort(-scores, kind="stable")[: DEPTHS[-1]]
        return [turns[int(place)].id for place in order if scores[place] > 0]

    return search


def bm25_scores(texts: list[str]) -> Callable[[str], NDArray[np.float64]]:
    """Maps a question to the score of each text."""
    words_of = [_words(text) for text in texts]
    usual = sum(map(len, words_of)) / max(len(words_of), 1) or 1.0
    postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, words in enumerate(words_of):
        room = K1 * (1 - B + B * len(words) / usual)
        for word, count in Counter(words).items():
            postings[word].append((place, count * (K1 + 1) / (count + room)))

    def scores_of(query: str) -> NDArray[np.float64]:
        scores = np.zeros(len(texts))
        for word in _words(query):
            held = postings.get(word, [])
            rarity = math.log1p((len(texts) - len(held) + 0.5) / (len(held) + 0.5))
            for place, share in held:
                scores[place] += rarity * share
        return scores

    return scores_of


def _words(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in FILLER]
