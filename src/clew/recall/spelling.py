"""Words that differ by a slip of the finger."""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST = 4
LONGEST_ENDING = 4
TOO_FAR = 99


def nearest_words(word: str, known: Iterable[str], most: int) -> list[str]:
    """Known stems that a misspelled word may stand for, nearest first.

    A stemmer leaves the ending of a misspelled word alone, so that the ending may be longer than the stem's.
    """
    letters = set(word)
    found = []
    for stem in known:
        if not SHORTEST <= len(stem) <= len(word) + 1 or len(letters ^ set(stem)) > LONGEST_ENDING:
            continue
        distance = _best_distance(word, stem, _allowed(stem))
        if distance <= _allowed(stem):
            found.append((distance, -len(stem), stem))
    return [stem for _, _, stem in sorted(found)[:most]]


def _allowed(stem: str) -> int:
    if len(stem) == SHORTEST:
        return 0
    return 1 if len(stem) < 8 else 2


def _best_distance(word: str, stem: str, allowed: int) -> int:
    if len(word) - len(stem) > LONGEST_ENDING:
        return TOO_FAR
    whole = slips(word, stem, allowed) if abs(len(word) - len(stem)) <= 2 else TOO_FAR
    return min(whole, slips(word[: len(stem)], stem, allowed))


def slips(left: str, right: str, allowed: int) -> int:
    """Letters changed, added, left out or swapped with their neighbour; given up once there are too many."""
    # A slip adds, drops or changes one letter, so that most words need no closer look.
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
