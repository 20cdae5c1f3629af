"""The scales on which a sentence takes a stand: kept or deleted, by hand or automatic, all or only some.

`poles.txt` has the ends of each scale. Two sentences that stand at different ends of one scale differ in it, however
else they are worded; what is denied at one of two ends stands at the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clew.index.terms import stem
from clew.memory.contradictions.lexicon import PERIODS, SHORT_FORMS
from clew.memory.contradictions.spelling import plain_words
from clew.memory.contradictions.word_groups import root_of
from clew.memory.contradictions.word_order import BREAKS

PLACE = Path(__file__).with_name("poles.txt")
DENIALS = frozenset({"not", "never", "no", "none", "nobody", "nothing", "neither", "nor", "cannot", "without",
                     "insteadof"})  # fmt: skip
FAR = 6
"""Words behind a denial that it can reach."""


@dataclass(frozen=True, slots=True)
class Stand:
    """The end of a scale at which a sentence stands, and the words that say so."""

    scale: int
    pole: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scales:
    """`phrases`: the first stem -> whole phrases with their scale and pole, the longest first."""

    phrases: dict[str, list[tuple[tuple[str, ...], int, int]]]
    ends: list[int]
    """How many ends each scale has."""


@cache
def scales() -> Scales:
    phrases: dict[str, list[tuple[tuple[str, ...], int, int]]] = {}
    ends = []
    for scale, line in enumerate(_lines()):
        poles = line.split(" / ")
        ends.append(len(poles))
        for pole, words in enumerate(poles):
            for phrase in words.split():
                roots = tuple(map(stem, _written(phrase)))
                if roots:
                    phrases.setdefault(roots[0], []).append((roots, scale, pole))
    for known in phrases.values():
        known.sort(key=lambda item: (-len(item[0]), item))
    return Scales(phrases, ends)


def _lines() -> list[str]:
    text = PLACE.read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _written(phrase: str) -> list[str]:
    """A phrase in the words that a statement has for it: `every_night` is a period there."""
    if phrase.isalpha() and phrase not in PERIODS and phrase not in SHORT_FORMS:
        return [phrase]
    return plain_words(phrase.replace("_", " "))


def stands(words: Sequence[str]) -> tuple[Stand, ...]:
    """Where a sentence stands. A longer phrase goes before the words in it."""
    known, roots = scales(), [root_of(word) for word in words]
    found: list[Stand] = []
    for at, root in enumerate(roots):
        for phrase, scale, pole in known.phrases.get(root, ()):
            end = at + len(phrase)
            if tuple(roots[at:end]) == phrase and not _inside(found, scale, at):
                turned = known.ends[scale] == 2 and _denied(words, at)
                found.append(Stand(scale, 1 - pole if turned else pole, at, end))
    return tuple(found)


def _inside(found: list[Stand], scale: int, at: int) -> bool:
    return any(stand.scale == scale and stand.start <= at < stand.end for stand in found)


def _denied(words: Sequence[str], at: int) -> bool:
    """Whether a denial stands shortly before, in the same clause."""
    odd = False
    for place in range(at - 1, max(-1, at - 1 - FAR), -1):
        if words[place] in BREAKS:
            break
        odd ^= words[place] in DENIALS
    return odd
