"""Whether two plain sentences contradict each other: no model, only words.

A sentence is read as a subject (its content words), a polarity, values that exclude each other, numbers with units, and
the places where it holds. Two sentences contradict when they speak of the same thing in overlapping places and differ
in exactly what cannot differ. In doubt they do not: a false alarm costs more than a miss.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from clew.memory.lexicon import DENYING, EXCLUSIVE, OPPOSED, PLACES, SECONDS, SILENT, UNITS, WORDS
from clew.store.terms import fold, stem

_WORD = re.compile(r"[a-z0-9]+(?:[.'+#_/-][a-z0-9]+)*|%")
_NUMBER = re.compile(r"v?(\d+(?:\.\d+)*)([a-z%]*)")
_SHORT = {
    "don't": "do not",
    "doesn't": "does not",
    "isn't": "is not",
    "aren't": "are not",
    "won't": "will not",
    "can't": "cannot",
    "shouldn't": "should not",
    "mustn't": "must not",
    "no longer": "not",
    "rather than": "insteadof",
    "instead of": "insteadof",
    "in favour of": "for",
    "in favor of": "for",
    "at most": "atmost",
    "at least": "atleast",
    "no more than": "atmost",
    "no less than": "atleast",
    "up to": "atmost",
    "fewer than": "atmost",
    "less than": "atmost",
    "more than": "atleast",
    "not exceed": "atmost",
    "minimum of": "atleast",
    "maximum of": "atmost",
    "node.js": "nodejs",
    "c#": "csharp",
    "go lang": "golang",
    "github actions": "githubactions",
    "gitlab ci": "gitlabci",
    "real-time": "realtime",
    "real time": "realtime",
    "on-premise": "onpremise",
    "on premise": "onpremise",
    "utf-8": "utf8",
    "latin-1": "latin1",
    "sha-256": "sha256",
    "camel case": "camelcase",
    "snake case": "snakecase",
    "snake_case": "snakecase",
    "opted in": "opt-in",
    "opted out": "opt-out",
    "end-to-end": "endtoend",
    "read-only": "readonly",
}
"""Spellings that are made one before the words are looked at."""
_SPELLED = re.compile(
    "|".join(rf"(?<![a-z]){re.escape(long)}(?![a-z])" for long in sorted(_SHORT, key=len, reverse=True))
)
_GROUP = {word: number for number, group in enumerate(EXCLUSIVE) for word in group}
_GROUP_STEMS = {stem(word): number for word, number in _GROUP.items()}
_PLACE = {stem(word): (number, word) for number, group in enumerate(PLACES) for word in group}
_SAME = {"postgres": "postgresql", "mongo": "mongodb", "prod": "production", "dev": "development", "test": "testing"}
_UNITS = {stem(word): measure for word, measure in UNITS.items()}
_SCALE = {stem(word): size for word, size in SECONDS.items()}
_OPPOSITE = {frozenset((stem(a), stem(b))) for a, b in OPPOSED}
_OPPOSED_STEMS = frozenset(word for pair in _OPPOSITE for word in pair)

ALIKE = 0.5
CLOSE = 0.6


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with what it measures, as the range it allows."""

    measure: str
    low: float
    high: float
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sentence says, as far as words show it."""

    subject: frozenset[str]
    denies: bool
    values: dict[int, frozenset[str]]
    refused: frozenset[str]
    opposed: frozenset[str]
    amounts: tuple[Amount, ...]
    places: dict[int, frozenset[str]]
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Clash:
    """Why two statements cannot both hold."""

    kind: str
    reason: str
    confidence: float


@lru_cache(maxsize=20_000)
def read(statement: str) -> Reading:
    words = _words(statement)
    kept, refused = _refusals(words)
    stems = [stem(word) for word in kept]
    denies = sum(word in DENYING for word in kept) % 2 == 1
    values = _values(kept)
    amounts, numeric = _amounts(kept)
    places = _places(stems)
    taken = numeric | {word for word in kept if word in _GROUP}
    subject = frozenset(
        stem(word)
        for word in kept
        if word not in SILENT and word not in DENYING and word not in taken and not word.isdigit()
    )
    opposed = frozenset(item for item in stems if item in _OPPOSED_STEMS)
    return Reading(subject, denies, values, refused, opposed, amounts, places, frozenset(stems))


def words_of(statement: str) -> set[str]:
    """What a statement is about, for finding those it may clash with."""
    found = read(statement)
    return {*found.subject, *found.opposed, *(value for values in found.values.values() for value in values)}


def clash(first: str, second: str) -> Clash | None:
    """The strongest reason why the two contradict, or None."""
    a, b = read(first), read(second)
    if not _meet(a, b):
        return None
    found = [check(a, b) for check in (_by_value, _by_number, _by_opposites, _by_denial, _by_refusal)]
    return max((item for item in found if item is not None), key=lambda item: item.confidence, default=None)


def _words(statement: str) -> list[str]:
    text = fold(statement.replace("’", "'"))
    text = _SPELLED.sub(lambda match: _SHORT[match.group()], text)
    return [_SAME.get(word, word) for word in _WORD.findall(text)]


def _refusals(words: list[str]) -> tuple[list[str], frozenset[str]]:
    """`X instead of Y` says X and refuses Y."""
    if "insteadof" not in words:
        return words, frozenset()
    at = words.index("insteadof")
    rest = [word for word in words[at + 1 : at + 4] if word not in SILENT][:2]
    kept = words[:at] + [word for word in words[at + 1 :] if word not in rest]
    return kept, frozenset(stem(word) for word in rest)


def _values(words: list[str]) -> dict[int, frozenset[str]]:
    found: dict[int, set[str]] = {}
    for word in words:
        group = _GROUP.get(word, _GROUP_STEMS.get(stem(word)))
        if group is not None:
            found.setdefault(group, set()).add(stem(word))
    return {group: frozenset(items) for group, items in found.items()}


def _amounts(words: list[str]) -> tuple[tuple[Amount, ...], set[str]]:
    found, used = [], set[str]()
    for at, word in enumerate(words):
        number, glued = _number(word)
        if number is None:
            continue
        unit = stem(glued) if glued else stem(words[at + 1]) if at + 1 < len(words) else ""
        before = words[at - 1] if at else ""
        measure = (
            _UNITS.get(unit) or _UNITS.get(stem(before)) or ("version" if word.startswith("v") or "." in word else "")
        )
        used |= {word, *([words[at + 1]] if not glued and at + 1 < len(words) and unit in _UNITS else [])}
        size = number * _SCALE.get(unit, 1)
        bound = " ".join(words[max(0, at - 3) : at])
        low, high = (float("-inf"), size) if "atmost" in bound or "under" in bound or "below" in bound else (size, size)
        if "atleast" in bound or "above" in bound or "minimum" in bound or "over" in bound.split():
            low, high = size, float("inf")
        if "maximum" in bound or "limit" in bound:
            low = high = size
        found.append(
            Amount(
                measure, low, high, f"{word} {'' if glued else words[at + 1] if at + 1 < len(words) else ''}".strip()
            )
        )
    return tuple(found), used


def _number(word: str) -> tuple[float | None, str]:
    if word in WORDS:
        return float(WORDS[word]), ""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return None, ""
    digits = match.group(1)
    parts = digits.split(".")
    value = float(digits) if len(parts) <= 2 else sum(int(part) * 1000.0**-place for place, part in enumerate(parts))
    return value, match.group(2)


def _places(stems: list[str]) -> dict[int, frozenset[str]]:
    found: dict[int, set[str]] = {}
    for item in stems:
        if item in _PLACE:
            group, word = _PLACE[item]
            found.setdefault(group, set()).add(stem(_SAME.get(word, word)))
    return {group: frozenset(items) for group, items in found.items()}


def _meet(a: Reading, b: Reading) -> bool:
    """Whether there is a place where both hold."""
    return all(a.places[group] & b.places[group] for group in a.places.keys() & b.places.keys())


def _alike(a: Reading, b: Reading, without: frozenset[str] = frozenset()) -> float:
    """How much of the shorter subject the other one shares."""
    first, second = a.subject - without, b.subject - without
    if not first or not second:
        return 1.0 if first == second and (a.words & b.words) - without else 0.0
    shared = len(first & second)
    return shared / len(first | second) * 0.5 + shared / min(len(first), len(second)) * 0.5


def _by_value(a: Reading, b: Reading) -> Clash | None:
    if a.denies != b.denies:
        return None
    for group in a.values.keys() & b.values.keys():
        one, other = a.values[group], b.values[group]
        likeness = _alike(a, b)
        if not one & other and likeness >= ALIKE and not (a.denies and b.denies):
            return Clash("value", f"{_names(one)} and {_names(other)} exclude each other here", _sure(likeness, 0.9))
    return None


def _by_number(a: Reading, b: Reading) -> Clash | None:
    likeness = _alike(a, b)
    if a.denies != b.denies or likeness < CLOSE:
        return None
    for one in a.amounts:
        for other in b.amounts:
            if one.measure == other.measure and _apart(one, other):
                if len(a.amounts) > 1 and any(x == y for x in a.amounts for y in b.amounts):
                    continue
                return Clash("number", f"{one.text} against {other.text}", _sure(likeness, 0.9))
    return None


def _apart(one: Amount, other: Amount) -> bool:
    """Ranges without a common value, or two bounds of the same kind that differ: then one of them is not the bound."""
    if one.low == other.low == float("-inf"):
        return one.high != other.high
    if one.high == other.high == float("inf"):
        return one.low != other.low
    return one.high < other.low or other.high < one.low


def _by_opposites(a: Reading, b: Reading) -> Clash | None:
    for one in a.opposed - b.opposed:
        for other in b.opposed - a.opposed:
            pair = frozenset((one, other))
            if pair in _OPPOSITE and a.denies == b.denies and _alike(a, b, pair) >= ALIKE:
                return Clash("opposites", f"{one} against {other}", _sure(_alike(a, b, pair), 0.85))
    return None


def _by_denial(a: Reading, b: Reading) -> Clash | None:
    if a.denies == b.denies:
        return None
    crossed = any(frozenset((x, y)) in _OPPOSITE for x in a.opposed - b.opposed for y in b.opposed - a.opposed)
    known = a.values.keys() & b.values.keys()
    if crossed or any(not a.values[group] & b.values[group] for group in known):
        return None
    likeness = _alike(a, b)
    both = bool(known) or bool(a.subject & b.subject)
    if both and (likeness >= 0.7 or (likeness >= CLOSE and len(a.subject & b.subject) >= 2)):
        return Clash("denial", "one denies what the other says", _sure(likeness, 0.9))
    return None


def _by_refusal(a: Reading, b: Reading) -> Clash | None:
    """One says `instead of Y`, the other says Y."""
    for refusing, other in ((a, b), (b, a)):
        said = refusing.refused & other.words
        if said and not other.denies and not (refusing.words & other.words & _GROUP_STEMS.keys()):
            likeness = _alike(refusing, other, refusing.refused)
            if likeness >= 0.4 or len(other.subject - refusing.refused) <= 1:
                return Clash("refusal", f"{_names(frozenset(said))} is refused by one and used by the other", 0.7)
    return None


def _sure(likeness: float, top: float) -> float:
    return round(min(top, 0.45 + likeness * 0.5), 2)


def _names(stems: frozenset[str]) -> str:
    return ", ".join(sorted(stems))
