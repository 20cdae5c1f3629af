"""From a question's words to the terms this corpus knows: names, beginnings of identifiers, near spellings, feedback."""

from __future__ import annotations

from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from clew.recall.corpus import Corpus
from clew.recall.kernel import Kernel
from clew.recall.lexical import Asked, Slots
from clew.recall.postings import FIELD_COUNT
from clew.recall.query import FILLER, Query

NAME_WEIGHT = 1.3
TYPO_LENGTH = 5


def asked_terms(corpus: Corpus, query: Query, kernel: Kernel) -> list[Asked]:
    entity = NAME_WEIGHT if query.intent.expansion == "entity" else 1.0
    found = [_asked(corpus, word, entity if word in query.names else 1.0, query, kernel) for word in query.terms]
    return found + _beginnings(corpus, query, kernel)


def _asked(corpus: Corpus, word: str, weight: float, query: Query, kernel: Kernel) -> Asked:
    number = corpus.term(word)
    if number is not None:
        return Asked(word, weight, (number,), word in query.names)
    near = _near(corpus, word, int(kernel.number("search", "typo_words")))
    return Asked(word, weight, tuple(near), word in query.names)


def _near(corpus: Corpus, word: str, most: int) -> list[int]:
    """Words that differ by a slip of the finger; only words with the same beginning are looked at."""
    if len(word) < TYPO_LENGTH or not word.isalpha() or most < 1:
        return []
    alike = corpus.words_from(word[:2], 2000)
    close = get_close_matches(word, [known for known in alike if abs(len(known) - len(word)) <= 2], most, 0.85)
    return [corpus.vocabulary[known] for known in sorted(close)]


def _beginnings(corpus: Corpus, query: Query, kernel: Kernel) -> list[Asked]:
    """An identifier that is not known as it stands matches those that begin with it."""
    most = int(kernel.number("search", "prefix_words"))
    found = []
    for code in query.codes:
        if code in corpus.vocabulary:
            continue
        numbers = tuple(corpus.vocabulary[word] for word in corpus.words_from(code, most))
        if numbers:
            found.append(Asked(f"{code}*", 1.0, numbers))
    return found


def feedback_terms(
    corpus: Corpus, best: Slots, scores: NDArray[np.floating], asked: list[Asked], kernel: Kernel
) -> list[Asked]:
    """Words that the best items share and the rest of the corpus does not: the question's likely vocabulary."""
    words = corpus.words()
    known = {number for term in asked for number in term.numbers}
    mass: dict[int, float] = {}
    for slot, score in zip(best, scores, strict=True):
        numbers, counts = np.unique(corpus.reading(int(slot)) // FIELD_COUNT, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            if number not in known:
                mass[number] = mass.get(number, 0.0) + float(score) * count / max(len(numbers), 1)
    most, weight = int(kernel.number("search", "expansion_terms")), kernel.number("search", "expansion_weight")
    ranked = sorted(mass, key=lambda number: (-mass[number], words[number]))
    kept = [number for number in ranked if words[number] not in FILLER and len(words[number]) > 2][:most]
    return [Asked(words[number], weight, (number,), added=True) for number in kept]
