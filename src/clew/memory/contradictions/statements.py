"""Rules by which two plain sentences contradict each other; `judgement.py` decides how much they count.

A sentence is read as a subject (its content words), a polarity, values that exclude each other, numbers with units, and
the places where it holds. Two sentences contradict when they speak of the same thing in overlapping places and differ
in exactly what cannot differ. In doubt they do not: a false alarm costs more than a miss.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from sys import intern
from typing import NamedTuple

from clew.index.terms import fold, stem
from clew.memory.contradictions.amounts import Amount, amounts, is_measure, with_periods
from clew.memory.contradictions.clauses import (
    AUXILIARY,
    WORDS_KEPT,
    Clause,
    Duty,
    Frames,
    apart,
    clause_and_duty,
    excluded,
    for_some_only,
    frames,
    named_by_number,
    other_doers,
    other_things,
    others_kept_out,
    verb_at,
)
from clew.memory.contradictions.lexicon import (
    CONCEPTS,
    CONTRAST,
    DENYING,
    EXCLUSIVE,
    NOTHING,
    OPPOSED,
    PLACES,
    PLACING,
    RANKING,
    SILENT,
    VERBS,
    usual_spellings,
)

_WORD = re.compile(r"[a-z0-9]+(?:[.'+#_/-][a-z0-9]+)*|%")
_GROUP = {word: number for number, group in enumerate(EXCLUSIVE) for word in group}
_GROUP_STEMS = {stem(word): number for word, number in _GROUP.items()}
_WHOLE = {stem(word): word for word in _GROUP}
"""A word for each stem: a reason says `nats`, not `nat`."""
_PLACE = {stem(word): (number, word) for number, group in enumerate(PLACES) for word in group}
_SAME = {
    "postgres": "postgresql", "mongo": "mongodb", "prod": "production", "dev": "development", "test": "testing",
    "begin": "start", "begins": "start", "finish": "end", "finishes": "end", "fine": "allowed", "ok": "allowed",
    "okay": "allowed",
}  # fmt: skip
_CONCEPT = {stem(word): line[0] for line in CONCEPTS for word in line[1:]}
_OPPOSITE = {frozenset((stem(a), stem(b))) for a, b in OPPOSED}
_UNLIMITED = stem("unlimited")
_BOUNDLESS = frozenset({_UNLIMITED})
_OPPOSED_STEMS = frozenset(word for pair in _OPPOSITE for word in pair)
_UNTOLD = SILENT | DENYING | _GROUP.keys()
"""Words that say nothing of a subject: little words, denials and values."""

ALIKE = 0.5
CLOSE = 0.6
"""Least likeness (see `_alike`) at which two subjects are the same thing.

Subjects of two words that share one have 0.42, of three that share two 0.58, of four that share three 0.68, and a
subject that contains the other at least 0.5 (0.75 when it has one word more, or two words against four). So ALIKE asks
for two words of three; it serves differences that are telling by themselves: two values of one group, two opposites.
CLOSE asks for three of four; it serves numbers and denials, which occur in sentences about anything.
"""
DENIED = 0.7
"""A denial that shares one word with the other sentence must be about nothing else: one word of two has 0.75, one of
three 0.67. With two common words CLOSE suffices."""
REFUSED = 0.4
"""`X instead of Y` names Y itself, so half of a short subject is enough beside it."""


class Reading(NamedTuple):
    """What a sentence says, as far as words show it. A tuple, because reading files in makes thousands."""

    subject: frozenset[str]
    denies: bool
    values: dict[int, frozenset[str]]
    refused: frozenset[str]
    opposed: frozenset[str]
    amounts: tuple[Amount, ...]
    places: dict[int, frozenset[str]]
    words: frozenset[str]
    purpose: frozenset[str]
    order: tuple[frozenset[str], frozenset[str]] | None
    frames: Frames
    clause: Clause | None
    duty: Duty | None
    sequence: tuple[str, ...]
    names: frozenset[str]
    """Numbers that say which one is meant: `boat number 3`, `room 12 has`."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Why two statements cannot both hold."""

    kind: str
    reason: str
    confidence: float
    sure: bool = True
    """False where they only may contradict each other."""


@lru_cache(maxsize=2_000)
def read(statement: str) -> Reading:
    words = _words(statement)
    kept, refused = _refusals(words)
    stems = list(map(stem, kept))
    denies = sum(map(DENYING.__contains__, kept)) % 2 == 1
    values = _values(kept)
    verb = verb_at(kept)
    names = named_by_number(kept, verb)
    found, numeric = amounts(kept)
    found = tuple(amount for amount in found if names.isdisjoint(amount.text.split()))
    places = _places(stems)
    said = frozenset(stems)
    telling = {word for word in set(kept) - _UNTOLD - numeric if not word.isdigit()}
    return Reading(
        frozenset(map(stem, telling)) or NOTHING,
        denies,
        values,
        refused,
        said & _OPPOSED_STEMS or NOTHING,
        found,
        places,
        said,
        _purpose(kept),
        _order(kept),
        frames(statement, kept),
        *clause_and_duty(kept, verb),
        tuple(kept),
        names,
    )


_AFTER_PURPOSE = AUXILIARY | PLACING.keys() | VERBS | {f"{verb}s" for verb in VERBS}


def _purpose(words: list[str]) -> frozenset[str]:
    """The words after the last `for` up to a verb, without numbers: what the thing is meant for."""
    if "for" not in words:
        return NOTHING
    at = max(at for at, word in enumerate(words) if word == "for")
    end = next((place for place in range(at + 2, len(words)) if words[place] in _AFTER_PURPOSE), len(words))
    return _telling([word for word in words[at + 1 : end] if not is_measure(word)])


def rules_seen(first: str, second: str, found: Clash | None) -> dict[str, float]:
    """What the rules say of a pair, of which `found` is the strongest, as observations for the judgement."""
    a, b = read(first), read(second)
    fired = {"rule": 1.0, "rule_sure": found.confidence, f"rule_{found.kind}": 1.0} if found else {}
    return {
        **fired,
        "rule_elsewhere": float(not _meet(a, b)),
        "rule_things": float(other_things(a.clause, b.clause)),
        "rule_crossed": float(_crossed(a, b)),
    }


def ruled(first: str, second: str) -> Clash | None:
    """The strongest reason by which rules say that the two contradict, as a whole or in a part, or None."""
    found = _clash(first, second)
    if found is not None or not (_BREAK.search(first) or _BREAK.search(second)):
        return found
    pairs = [(one, other) for one in parts(first) for other in parts(second)]
    reasons = (_clash(one, other) for one, other in pairs if (one, other) != (first, second))
    return max((item for item in reasons if item is not None), key=lambda item: item.confidence, default=None)


_BREAK = re.compile(r";\s+|\.\s+(?=[A-Z])|,\s+(?=(?:and|but|so|which|encrypted or|no need)\b)")
_QUALIFIES = re.compile(r"\b(?:except|unless|otherwise|instead|however|apart from|other than)\b", re.IGNORECASE)
MOST_PARTS = 3


@lru_cache(maxsize=4_000)
def parts(statement: str) -> tuple[str, ...]:
    """The sentences and halves of a statement. One that names an exception is not taken apart: each half would say too
    much."""
    if _QUALIFIES.search(statement):
        return (statement,)
    found = [part.strip() for part in _BREAK.split(statement)]
    return tuple(part for part in found[:MOST_PARTS] if len(part.split()) > 2) or (statement,)


def _clash(first: str, second: str) -> Clash | None:
    a, b = read(first), read(second)
    if a.names and b.names and a.names != b.names:
        return None
    # The same words never contradict themselves, not even "X instead of X".
    if a.sequence == b.sequence and a == b:
        return None
    if for_some_only(a.sequence, b.sequence):
        return Clash("only", "one says it of all, the other of some only", 0.8)
    if other_doers(a.duty, b.duty) and a.denies == b.denies:
        return Clash("slot", "they make different people or things answerable for it", 0.75)
    excluding = _by_exclusion(first, second)
    if not _meet(a, b) or other_things(a.clause, b.clause):
        return excluding
    checks = (_by_value, _by_number, _by_bound, _by_opposites, _by_denial, _by_refusal, _by_slot, _by_order)
    found = [*(check(a, b) for check in checks), excluding]
    return max((item for item in found if item is not None), key=lambda item: item.confidence, default=None)


def _words(statement: str) -> list[str]:
    text = fold(statement.replace("’", "'"))
    if "," in text:
        text = CONTRAST.sub(" insteadof ", text)
    text = with_periods(text)
    return list(chain.from_iterable(map(_chunk_words, usual_spellings(text).split())))


@lru_cache(maxsize=20_000)
def _chunk_words(chunk: str) -> tuple[str, ...]:
    """The words of what stands between spaces: no word has a space in it, and most chunks were met before."""
    return tuple(map(_usual, _WORD.findall(chunk)))


def _usual(word: str) -> str:
    """What a word counts as. Thousands of readings are kept, and by `intern` they share their words."""
    return intern(_CONCEPT.get(stem(word)) or _SAME.get(word, word))


_CHOICE = frozenset({"can", "may", "could"})
"""`you can use a PIN instead of a password` refuses nothing."""


def _refusals(words: list[str]) -> tuple[list[str], frozenset[str]]:
    """`X instead of Y` says X and refuses Y."""
    if "insteadof" not in words or not _CHOICE.isdisjoint(words):
        return words, NOTHING
    at = words.index("insteadof")
    rest = [word for word in words[at + 1 : at + 4] if word not in SILENT][:2]
    kept = words[:at] + [word for word in words[at + 1 :] if word not in rest]
    return kept, frozenset(stem(word) for word in rest)


def _values(words: list[str]) -> dict[int, frozenset[str]]:
    found: dict[int, set[str]] = {}
    for word, group in zip(words, map(_group, words), strict=True):
        if group is not None:
            found.setdefault(group, set()).add(stem(word))
    return {group: frozenset(items) for group, items in found.items()}


@lru_cache(maxsize=WORDS_KEPT)
def _group(word: str) -> int | None:
    """The group of values that exclude each other to which a word belongs."""
    return _GROUP.get(word, _GROUP_STEMS.get(stem(word)))


def _places(stems: list[str]) -> dict[int, frozenset[str]]:
    found: dict[int, set[str]] = {}
    for item in filter(_PLACE.__contains__, stems):
        group, word = _PLACE[item]
        found.setdefault(group, set()).add(stem(_SAME.get(word, word)))
    return {group: frozenset(items) for group, items in found.items()}


def _meet(a: Reading, b: Reading) -> bool:
    """Whether both can hold at once: purposes that do not differ, and places that overlap."""
    if a.purpose and b.purpose and not (a.purpose <= b.purpose or b.purpose <= a.purpose):
        return False
    return all(a.places[group] & b.places[group] for group in a.places.keys() & b.places.keys())


def _alike(a: Reading, b: Reading, without: frozenset[str] = NOTHING, also: frozenset[str] = NOTHING) -> float:
    """How much two subjects share, 0 to 1: the mean of their common words over all words and over the shorter one."""
    first, second = (a.subject | also) - without, (b.subject | also) - without
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
    if not a.amounts or not b.amounts or a.denies != b.denies:
        return None
    likeness = _alike(a, b)
    if likeness < CLOSE or _crossed(a, b) or _two_things(a, b) or _loosely(a, b):
        return None
    for one in a.amounts:
        for other in b.amounts:
            if one.apart(other):
                if len(a.amounts) > 1 and any(x == y for x in a.amounts for y in b.amounts):
                    continue
                return Clash("number", f"{one.text} against {other.text}", _sure(likeness, 0.9))
    return None


def _by_bound(a: Reading, b: Reading) -> Clash | None:
    """One sets a limit where the other says that there is none."""
    if _UNLIMITED not in a.words and _UNLIMITED not in b.words:
        return None
    for free, bound in ((a, b), (b, a)):
        limits = [item for item in bound.amounts if item.low != item.high]
        if _UNLIMITED in free.words and limits and not free.amounts and _alike(a, b, _BOUNDLESS) >= CLOSE:
            return Clash("number", f"unlimited against {limits[0].text}", 0.8)
    return None


def _by_opposites(a: Reading, b: Reading) -> Clash | None:
    for one in a.opposed - b.opposed:
        for other in b.opposed - a.opposed:
            pair = frozenset((one, other))
            if pair in _OPPOSITE and a.denies == b.denies and _alike(a, b, pair) >= ALIKE and not _differ(a, b):
                return Clash("opposites", f"{one} against {other}", _sure(_alike(a, b, pair), 0.85))
    return None


def _two_things(a: Reading, b: Reading) -> bool:
    """Whether they are about two things of one kind, each with a word of its own: `basic plans`, `premium plans`.

    Three common words outweigh that: then the sentences are nearly the same and differ in the number."""
    shared = len(a.subject & b.subject)
    return bool(a.subject - b.subject) and bool(b.subject - a.subject) and shared < 3


def _loosely(a: Reading, b: Reading) -> bool:
    """Whether less than half of the words are common: one short subject inside of a long one proves nothing here."""
    return len(a.subject & b.subject) * 2 < len(a.subject | b.subject)


def _differ(a: Reading, b: Reading) -> bool:
    """Whether the amounts differ as well. Then the opposites name two things, each with an amount of its own."""
    first, second = set(a.amounts) - set(b.amounts), set(b.amounts) - set(a.amounts)
    return any(one.apart(other) for one in first for other in second)


def _by_denial(a: Reading, b: Reading) -> Clash | None:
    if a.denies == b.denies or apart(a.clause, b.clause):
        return None
    known = a.values.keys() & b.values.keys()
    if _crossed(a, b) or any(not a.values[group] & b.values[group] for group in known) or _elsewhere(a, b):
        return None
    likeness = _alike(a, b)
    told = frozenset(value for group in known for value in a.values[group] & b.values[group])
    if len(told) > 1:
        likeness = max(likeness, _alike(a, b, also=told))  # values that both name are what they speak of
    if known and not (a if a.denies else b).subject:
        likeness = max(likeness, DENIED)  # `tabs are forbidden` has no subject but the value, so it holds everywhere
    both = bool(known) or bool(a.subject & b.subject)
    if both and (likeness >= DENIED or (likeness >= CLOSE and len((a.subject & b.subject) | told) >= 2)):
        return Clash("denial", "one denies what the other says", _sure(likeness, 0.9))
    return None


def _elsewhere(a: Reading, b: Reading) -> bool:
    """Whether they speak of different ranges of one measure: `50 euros or more`, `under 50 euros`."""
    pairs = [(x, y) for x in a.amounts for y in b.amounts if x.comparable(y)]
    return bool(pairs) and not any(x.meets(y) for x, y in pairs)


def _by_refusal(a: Reading, b: Reading) -> Clash | None:
    """One says `instead of Y`, the other says Y."""
    if not a.refused and not b.refused:
        return None
    for refusing, other in ((a, b), (b, a)):
        said = refusing.refused & other.words
        if said and not other.denies and not (refusing.words & other.words & _GROUP_STEMS.keys()):
            likeness = _alike(refusing, other, refusing.refused)
            if likeness >= REFUSED or len(other.subject - refusing.refused) <= 1:
                return Clash("refusal", f"{_names(frozenset(said))} is refused by one and used by the other", 0.7)
    return None


def _by_slot(a: Reading, b: Reading) -> Clash | None:
    """The same words around another value."""
    if a.denies or b.denies or a.frames.keys().isdisjoint(b.frames) or _crossed(a, b):
        return None
    found = excluded(a.frames, b.frames)
    return Clash("slot", f"{found[0]} against {found[1]}", 0.7) if found else None


def _order(words: list[str]) -> tuple[frozenset[str], frozenset[str]] | None:
    """What stands before and after a word that ranks them: `prefer A over B`."""
    if RANKING.isdisjoint(words):
        return None
    at = next(at for at, word in enumerate(words) if word in RANKING)
    return _telling(words[:at]), _telling(words[at + 1 :])


def _telling(words: list[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words if word not in SILENT and word not in DENYING)


def _by_order(a: Reading, b: Reading) -> Clash | None:
    """One ranks them one way, the other the other way."""
    if a.order is None or b.order is None or a.denies != b.denies:
        return None
    (first, second), (third, fourth) = a.order, b.order
    turned = bool(first & fourth) and bool(second & third) and not first & third and not second & fourth
    return Clash("order", "they are ranked the other way round", 0.85) if turned else None


def _by_exclusion(first: str, second: str) -> Clash | None:
    if others_kept_out(first, second) or others_kept_out(second, first):
        return Clash("only", "one allows it to certain people only, the other to others", 0.7)
    return None


def _crossed(a: Reading, b: Reading) -> bool:
    """Whether opposites tell the subjects apart: `free accounts`, `paid accounts`."""
    return any(frozenset((x, y)) in _OPPOSITE for x in a.opposed - b.opposed for y in b.opposed - a.opposed)


def _sure(likeness: float, top: float) -> float:
    """Confidence: 0.7 at ALIKE, rising to `top` for equal subjects. Entries of 0.85 and more count as severe."""
    return round(min(top, 0.45 + likeness * 0.5), 2)


def _names(stems: frozenset[str]) -> str:
    return ", ".join(sorted(_WHOLE.get(item, item) for item in stems))
