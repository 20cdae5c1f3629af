"""The words that the comparison of statements knows: read once from `vocabulary.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from clew.index.terms import stem

PLACE = Path(__file__).with_name("vocabulary.txt")
MOST_PHRASE = 4
"""Words of the longest phrase."""


@lru_cache(maxsize=20_000)
def root_of(word: str) -> str:
    """The stem of a word. Statements have most words in common, so each is cut down once."""
    return stem(word)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`head` maps a stem to the stem that stands for its group; groups are numbered by their lines."""

    head: dict[str, str]
    phrases: dict[tuple[str, ...], str]
    starts: frozenset[str]
    """First stems of the phrases: most words begin none."""
    opposites: frozenset[frozenset[str]]
    against: dict[str, frozenset[str]]
    """A meaning -> those it excludes as their opposite."""
    values: dict[str, frozenset[int]]
    scopes: dict[str, frozenset[int]]
    verbs: frozenset[str]
    """Stems of verbs."""

    def meaning(self, word: str) -> str:
        root = root_of(word)
        return self.head.get(root, root)

    def opposed(self, one: str, other: str) -> bool:
        return frozenset((one, other)) in self.opposites or other == without_denial(one) or one == without_denial(other)

    def rivals(self, one: str, other: str) -> bool:
        """Whether two words are different values of one kind: two databases, two weekdays."""
        return one != other and not self.values.get(one, _NONE).isdisjoint(self.values.get(other, _NONE))

    def apart(self, one: str, other: str) -> bool:
        """Whether two words tell two things of one kind apart: staging and production."""
        return one != other and not self.scopes.get(one, _NONE).isdisjoint(self.scopes.get(other, _NONE))


_NONE: frozenset[int] = frozenset()


def without_denial(word: str) -> str:
    """What a word denies by its first syllable (unencrypted, non-refundable); empty where there is none."""
    for denial in ("non-", "non", "un"):
        if word.startswith(denial) and len(word) > len(denial) + 3:
            return word[len(denial) :]
    return ""


@cache
def vocabulary() -> Vocabulary:
    sections = _sections()
    head: dict[str, str] = {}
    phrases: dict[tuple[str, ...], str] = {}
    for first, *others in sections["same"]:
        for word in (first, *others):
            _name(word, stem(first.replace("_", "-")), head, phrases)
    for section in ("opposite", "value", "scope"):
        for line in sections[section]:
            for word in line:
                if "_" in word:
                    phrases.setdefault(_roots(word), stem(word.replace("_", "-")))

    def meant(word: str) -> str:
        root = phrases[_roots(word)] if "_" in word else stem(word)
        return head.get(root, root)

    opposites = frozenset(frozenset((meant(one), meant(other))) for one, other in sections["opposite"])
    lines = {name: [[meant(word) for word in line] for line in sections[name]] for name in ("value", "scope")}
    verbs = frozenset(stem(word) for line in sections["verb"] for word in line)
    against = _against(opposites)
    starts = frozenset(roots[0] for roots in phrases)
    values, scopes = _groups(lines["value"]), _groups(lines["scope"])
    return Vocabulary(head, phrases, starts, opposites, against, values, scopes, verbs)


def _name(word: str, first: str, head: dict[str, str], phrases: dict[tuple[str, ...], str]) -> None:
    """The first line that has a word decides what it stands for."""
    if "_" in word:
        phrases.setdefault(_roots(word), first)
    elif stem(word) != first:
        head.setdefault(stem(word), first)


def _against(opposites: frozenset[frozenset[str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in opposites:
        for word in pair:
            found.setdefault(word, set()).update(pair - {word})
    return {word: frozenset(others) for word, others in found.items()}


def _roots(phrase: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in phrase.split("_"))


def _groups(lines: list[list[str]]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, line in enumerate(lines):
        for word in line:
            found.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def _sections() -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for name, line in _lines():
        found.setdefault(name, []).append(line.split())
    return found


def _lines() -> Iterator[tuple[str, str]]:
    section = ""
    for line in PLACE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            yield section, line
