"""Plain BM25 as the textbooks have it: stop words left out, stems, one text for each item, nothing else.

It stands for what any search library gives. No library is needed for it, so that the arm is there wherever the
measurement runs.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict

import Stemmer

from benchmarks.recall.locomo import DEPTHS, Conversation, Search
from clew.recall.query import FILLER

K1, B = 1.5, 0.75
_WORD = re.compile(r"\w\w+")
_stem = Stemmer.Stemmer("english").stemWord


def bm25(conversation: Conversation) -> Search:
    texts = [_words(turn.plain) for turn in conversation.turns]
    usual = sum(map(len, texts)) / max(len(texts), 1) or 1.0
    postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, words in enumerate(texts):
        room = K1 * (1 - B + B * len(words) / usual)
        for word, count in Counter(words).items():
            postings[word].append((place, count * (K1 + 1) / (count + room)))

    def search(query: str) -> list[str]:
        scores: dict[int, float] = defaultdict(float)
        for word in _words(query):
            held = postings.get(word, [])
            rarity = math.log1p((len(texts) - len(held) + 0.5) / (len(held) + 0.5))
            for place, share in held:
                scores[place] += rarity * share
        order = sorted(scores, key=lambda place: (-scores[place], place))[: DEPTHS[-1]]
        return [conversation.turns[place].id for place in order]

    return search


def _words(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in FILLER]
