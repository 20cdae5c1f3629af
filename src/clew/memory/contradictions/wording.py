"""The words in which two statements differ: shown to people as the reason of a contradiction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clew.errors import shorten

MOST_DIFFERENCES, MOST_CHARS = 2, 60
LEAST_SHARED = 0.3
"""Share of common words below which two statements differ in everything, so no words are named."""
UNNAMED = "One excludes the other"
_TRIMMED = "\"'`()[]{}<>;,:!?."
_DENIALS = frozenset(
    {
        *("not", "no", "never", "none", "neither", "nor", "nobody", "nothing", "nowhere", "without", "cannot"),
        *("except", "unless", "only", "instead", "rather", "stop", "stopped", "avoid", "forbid", "forbidden"),
        *("nicht", "kein", "keine", "keinen", "nie", "niemals", "ohne", "nur"),
        *("ne", "pas", "jamais", "sans", "aucun", "nunca", "sin", "solo", "ninguna"),
    }
)
"""Words that negate what they are added to, or exclude the rest."""


def words(text: str) -> list[str]:
    """The words of a text, lowercased and without the punctuation around them."""
    return [word for part in text.split() if (word := part.strip(_TRIMMED).casefold())]


def is_same(one: str, other: str) -> bool:
    """Whether two statements differ in case and punctuation only."""
    return words(one) == words(other)


def only_adds(one: str, other: str) -> bool:
    """Whether one is the other with words added that negate nothing: `Redis` and `Redis 7`."""
    shorter, longer = sorted((words(one), words(other)), key=len)
    left = iter(longer)
    if not all(word in left for word in shorter):
        return False
    return _denials(longer) == _denials(shorter)


def _denials(found: list[str]) -> int:
    return sum(word in _DENIALS or word.endswith(("n't", "n’t")) for word in found)


def names_another(one: str, other: str) -> bool:
    """Whether two statements differ only in the number of their subject: `Gate 21 is closed`, `Gate 22
    is closed`, or in a number of two events: `We fixed issue 211`, `We fixed issue 214`."""
    first, second = words(one), words(other)
    if len(first) != len(second):
        return False
    places = [at for at, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    if not places or not all(first[at].isdecimal() and second[at].isdecimal() for at in places):
        return False
    return places[0] == 1 or (first[0] in ("i", "we") and len(first) > 1 and first[1].endswith("ed"))


def difference(one: str, other: str) -> str:
    """The words in which one statement differs from the other, for display."""
    found = [f'"{change.before}" / "{change.after}"' for change in _changes(one.split(), other.split())]
    return f"Differs in: {'; '.join(found[:MOST_DIFFERENCES])}" if found else UNNAMED


class _Change(NamedTuple):
    before: str
    after: str


def _changes(one: list[str], other: list[str]) -> Iterator[_Change]:
    """Pairs of differing passages of two texts; none if hardly a word is common."""
    from difflib import SequenceMatcher  # loaded here, because most processes compare nothing

    first, second = ([word.strip(_TRIMMED).casefold() for word in side] for side in (one, other))
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if matcher.ratio() < LEAST_SHARED:
        return
    for kind, start, end, start_other, end_other in matcher.get_opcodes():
        if kind != "equal":
            yield _Change(
                _shown(one, start, end, other[start_other:end_other]),
                _shown(other, start_other, end_other, one[start:end]),
            )


def _shown(side: list[str], start: int, end: int, against: list[str]) -> str:
    """The words from `start` to `end`. A lone number includes the next word, and so does a passage with
    no counterpart: "5 times" is clearer than "5"."""
    found = side[start:end]
    is_bare = not found or not against or all(map(_is_number, (*found, *against)))
    if is_bare and end < len(side):
        found = side[start : end + 1]
    elif is_bare and start > 0:
        found = side[start - 1 : end]
    return shorten(" ".join(found).strip(_TRIMMED), MOST_CHARS)


def _is_number(word: str) -> bool:
    return word.strip(_TRIMMED).replace(".", "").replace(",", "").isdecimal()
