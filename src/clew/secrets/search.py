"""Hiding secrets in a text: the patterns are tried only around the clues that are confirmed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clew.secrets import formats
from clew.secrets.formats import CLUES, PRIVATE_KEY_CLUES, Clue
from clew.secrets.values import HIDDEN, secret_span

_PATTERNS = (
    formats.TOKENS,
    formats.WEBHOOKS,
    formats.COOKIES,
    formats.ADDRESS,
    formats.HEADER,
    formats.BEARER,
    formats.BASIC,
    formats.IN_COMMANDS,
    formats.OPTIONS,
    formats.SQL,
    formats.ELEMENT,
    formats.NAMED,
)
_LOOK_BACK = 300
"""Characters before a clue at which a pattern may begin: more than any of them allows."""
_REST_OF_WORD = re.compile(r"\S*")
_ESCAPE = re.compile(r"\\(?:[bfnrt]|u00[01][0-9a-f])\Z")


def hide_secrets(text: str) -> tuple[str, int]:
    """The text with every secret replaced, and how many there were."""
    return hide_near(text, CLUES)


def hide_near(text: str, clues: Iterable[Clue]) -> tuple[str, int]:
    """The same, where it is known which clues the text may hold."""
    stretches = _stretches(text, clues)
    if not stretches:
        return text, 0
    parts, at, found = [], 0, 0
    for start, end in stretches:
        hidden, count = hide_everywhere(text[start:end])
        parts += [text[at:start], hidden]
        at, found = end, found + count
    return ("".join([*parts, text[at:]]), found) if found else (text, 0)


def hide_everywhere(text: str) -> tuple[str, int]:
    """The same by trying every pattern at every character, which takes long."""
    total = 0
    for pattern in _PATTERNS:
        text, found = hide_matches(pattern, text)
        total += found
    return text, total


def hide_matches(pattern: re.Pattern[str], text: str) -> tuple[str, int]:
    found = 0

    def hide(match: re.Match[str]) -> str:
        nonlocal found
        span = secret_span(match)
        if span is None:
            return match.group()
        found += 1
        return text[match.start() : span[0]] + HIDDEN + text[span[1] : match.end()]

    return pattern.sub(hide, text), found


def _stretches(text: str, clues: Iterable[Clue]) -> list[tuple[int, int]]:
    """The parts that may hold a secret, in order and apart from each other; a private key may take all."""
    lowered = text.lower()
    if len(lowered) != len(text):  # offsets in one are none in the other (a dotted capital I)
        return [(0, len(text))] if any(clue.text in lowered for clue in clues) else []
    places = [place for clue in clues if clue.text in lowered for place in places_of(lowered, clue)]
    if not places:  # nearly always, and an answer has a thousand texts
        return []
    places.sort()
    if any(key in lowered for key in PRIVATE_KEY_CLUES):
        return [(0, len(text))]
    found: list[tuple[int, int]] = []
    for place, end in places:
        start, taken = _word_start(text, place), found[-1][1] if found else 0
        if end > taken:  # a secret goes on to the next space
            end = _word_end(text, end)
        if found and start <= taken:
            found[-1] = (found[-1][0], max(taken, end))
        else:
            found.append((start, end))
    return found


def _word_start(text: str, place: int) -> int:
    """Before the name or word that holds a clue, behind a character that neither contains."""
    earliest = max(0, place - _LOOK_BACK)
    return max(earliest, *(text.rfind(sign, earliest, place) + 1 for sign in ' \n"'))


def _word_end(text: str, place: int) -> int:
    found = _REST_OF_WORD.match(text, place)
    return found.end() if found is not None else place


def places_of(lowered: str, clue: Clue) -> Iterator[tuple[int, int]]:
    """Where a clue is with what must follow it, and where that ends."""
    place = lowered.find(clue.text)
    while place >= 0:
        after = clue.follows.match(lowered, place + len(clue.text))
        if after is not None and (clue.letters_before is None or _begins(lowered, place - clue.letters_before)):
            yield place, after.end()
        place = lowered.find(clue.text, place + 1)


def _begins(text: str, place: int) -> bool:
    before = text[place - 1 : place] if place > 0 else ""
    return place >= 0 and (not (before.isalnum() or before == "_") or bool(_ESCAPE.search(text, place - 6, place)))
