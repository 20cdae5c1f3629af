"""Query expansion to terms of the corpus: names, prefixes, misspellings, words of the best items."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from clew.index.postings import FIELD_COUNT
from clew.index.terms import stem
from clew.recall.corpus import Corpus
from clew.recall.kernel import Kernel
from clew.recall.lexical import Asked, Slots
from clew.recall.period import Period
from clew.recall.query import FILLER, Query

# A word that is known only by a misspelling counts less than a word that matches exactly. Words shorter than
# TYPO_LENGTH are near too many others. MOST_ALIKE bounds the words that are compared letter by letter.
NAME_WEIGHT = 1.3
TYPO_LENGTH = 5
TYPO_WEIGHT = 0.7
MOST_ALIKE = 20_000
SHORTEST = 4
LONGEST_ENDING = 4
TOO_FAR = 99


def asked_terms(corpus: Corpus, query: Query, kernel: Kernel) -> list[Asked]:
    entity = NAME_WEIGHT if query.intent.expansion == "entity" else 1.0
    found = [_asked_term(corpus, word, entity if word in query.names else 1.0, query, kernel) for word in query.terms]
    return found + _beginnings(corpus, query, kernel)


def _asked_term(corpus: Corpus, word: str, weight: float, query: Query, kernel: Kernel) -> Asked:
    number = corpus.term(word)
    if number is not None:
        return Asked(word, weight, (number,), word in query.names)
    near = _near(corpus, word, kernel.whole("search", "typo_words"))
    return Asked(word, weight * TYPO_WEIGHT if near else weight, tuple(near), word in query.names)


def _near(corpus: Corpus, word: str, most: int) -> list[int]:
    """Known words that a misspelled word may mean. Its first letter is assumed to be right."""
    if len(word) < TYPO_LENGTH or not word.isalpha() or not word.isascii() or most < 1:
        return []
    alike = (known for known in corpus.words_from(word[0], MOST_ALIKE) if known.isalpha())
    return [corpus.vocabulary[known] for known in nearest_words(word, alike, most)]


def _beginnings(corpus: Corpus, query: Query, kernel: Kernel) -> list[Asked]:
    """For an identifier that no item contains: the known words that begin with it."""
    most = kernel.whole("search", "prefix_words")
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
    """Words that several of the best items share: likely vocabulary of the question's subject."""
    words, known = corpus.words(), {number for term in asked for number in term.numbers}
    # A relevance model (RM3): each of the best items votes for its words with its score.
    mass: dict[int, float] = {}
    seen: dict[int, int] = {}
    for slot, score in zip(best, scores, strict=True):
        numbers, counts = np.unique(corpus.reading(int(slot)) // FIELD_COUNT, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            mass[number] = mass.get(number, 0.0) + float(score) * count / max(len(numbers), 1)
            seen[number] = seen.get(number, 0) + 1
    most, weight = kernel.whole("expansion", "terms"), kernel.number("expansion", "weight")
    # A word of one item alone is chance; only what at least two share belongs to the subject.
    shared = [number for number in mass if seen[number] > 1 and number not in known and _is_telling(words[number])]
    ranked = sorted(shared, key=lambda number: (-round(mass[number], 6), words[number]))
    return [Asked(words[number], weight, (number,), added=True) for number in ranked[:most]]


def date_terms(corpus: Corpus, period: Period | None, asked: list[Asked], kernel: Kernel) -> list[Asked]:
    """Names of the time that the question means: `last spring` is also March, April, May and the year."""
    known = {number for term in asked for number in term.numbers}
    numbers = {word: corpus.term(stem(word)) for word in (period.names() if period is not None else ())}
    weight = kernel.number("expansion", "weight")
    return [
        Asked(word, weight, (number,), added=True)
        for word, number in numbers.items()
        if number is not None and number not in known
    ]


def _is_telling(word: str) -> bool:
    return len(word) > 2 and word not in FILLER


def nearest_words(word: str, known: Iterable[str], most: int) -> list[str]:
    """Known stems that a misspelled word may mean, nearest first.

    A stemmer does not recognise the ending of a misspelled word and keeps it, so the word may be longer than the stem.
    """
    letters = set(word)
    found = []
    for root in known:
        # A cheap filter that excludes nearly all words before the edit distance is computed.
        if not SHORTEST <= len(root) <= len(word) + 1 or len(letters ^ set(root)) > LONGEST_ENDING:
            continue
        distance = _best_distance(word, root, _allowed(root))
        if distance <= _allowed(root):
            found.append((distance, -len(root), root))
    return [root for _, _, root in sorted(found)[:most]]


def _allowed(root: str) -> int:
    if len(root) == SHORTEST:
        return 0
    return 1 if len(root) < 8 else 2


def _best_distance(word: str, root: str, allowed: int) -> int:
    if len(word) - len(root) > LONGEST_ENDING:
        return TOO_FAR
    whole = slips(word, root, allowed) if abs(len(word) - len(root)) <= 2 else TOO_FAR
    return min(whole, slips(word[: len(root)], root, allowed))


def slips(left: str, right: str, allowed: int) -> int:
    """The edit distance (change, add, drop, swap neighbours); TOO_FAR as soon as it must exceed `allowed`."""
    # One slip changes the set of letters by at most two, so most words are ruled out here.
    if abs(len(left) - len(right)) > allowed or len(set(left) ^ set(right)) > 2 * allowed:
        return TOO_FAR
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        older, before, row = before, row, [i] + [0] * len(right)
        for j, other in enumerate(right, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                row[j] = min(row[j], older[j - 2] + 1)
        if min(row) > allowed:
            return TOO_FAR
    return row[-1]
