"""A sentence cut at its verb: who or what it speaks of, what is said of it, and for whom or which of them it holds.

There is no grammar here, only a list of verbs that decisions are written with. A sentence whose verb is not known has
no clause, and the checks that need one stay silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from clew.index.terms import fold, stem
from clew.memory.contradictions.amounts import is_measure, is_period
from clew.memory.contradictions.lexicon import (
    ACCEPTING,
    DENYING,
    FUNCTIONAL,
    LOOSE,
    MOMENTS,
    NOTHING,
    PLACING,
    PLAIN_VERBS,
    RESPONSIBLE,
    SILENT,
    SOLE,
    TAKING,
    TELLING,
    VERBS,
)

AUXILIARY = frozenset(
    """
    is are was were be must may can could should shall will would need needs have has had do does did get gets cannot
    might ought
    """.split()  # noqa: SIM905
)
UNIVERSAL = frozenset(
    """
    all every each any everybody everyone anyone anybody everything everywhere anywhere worldwide whoever
    """.split()  # noqa: SIM905
)
ONLY = "only"
_ARTICLES = frozenset({"a", "an", "the", "our", "your", "its", "their", "this", "that", "these", "those", "my"})
_JOINTS = frozenset({"for", "to", "by", "in", "on", "at", "from", "with", "of"})
_OF = frozenset({"of", "for", "from", "in", "on", "with", "over", "under", "by", "at"})
_NO_NOUN = SILENT | DENYING
_NO_MARK = _OF | DENYING
_BEFORE_NOUN = _JOINTS | _ARTICLES
_BOUNDS = frozenset({"over", "under", "above", "below", "atmost", "atleast", "before", "after"})
_NO_VERB_AFTER = _ARTICLES | _OF | UNIVERSAL
_VERBS = frozenset(map(stem, VERBS))
_TAKING = frozenset(map(stem, TAKING))
_RESPONSIBLE = frozenset(map(stem, RESPONSIBLE))
WORDS_KEPT = 4_000
"""Words of which a process keeps what they can be: the common ones make up most of any text."""
MOST_SUBJECT = 8
"""Words before the verb; a longer subject is a sentence that was cut at the wrong word."""
LEAST_SHARED = 0.6
"""Share of the other words that two sentences with quantifiers must have in common to speak of the same:
`all requests are logged` and `only failed requests are logged` share `logged`."""


@dataclass(frozen=True, slots=True)
class Clause:
    """`head` is the noun of the subject, `marks` are the words that tell it from others of its kind.

    `rest` has the words that tell something from the verb on, `said` all of them in their order.
    """

    head: str
    marks: frozenset[str]
    verb: str
    rest: frozenset[str]
    said: tuple[str, ...]
    bounds: frozenset[str]
    """Words that cut a kind in two: `parcels over 20 kg`, `parcels under 20 kg`."""

    @property
    def words(self) -> frozenset[str]:
        return self.rest | self.marks | {self.head}


def clause_and_duty(words: list[str], at: int | None) -> tuple[Clause | None, Duty | None]:
    """The clause of a sentence whose verb stands at a place, and what it makes somebody answerable for."""
    found = None if at is None else _clause(words, at)
    return found, _duty(words, at, found) if at is not None and found is not None else None


_GENERAL = frozenset(map(stem, ("data", "number", "figure", "value", "content", "information", "detail", "result")))
"""Nouns that name nothing by themselves: `the dashboard's data`, `the numbers on the dashboard`."""
_NUMBERING = frozenset({"number", "no", "nr", "nr.", "num"})
_VALUED = frozenset(map(stem, ("require", "need", "support", "run", "be", "is", "port", "version")))


def named_by_number(words: list[str], at: int | None) -> frozenset[str]:
    """The number that names the subject, with its noun: `boat number 3 leaks`, `room 12 has a projector`.

    Such a number is an identity and no value. What is used or required has a version instead: `node 18 is required`.
    """
    if not any(map(str.isdigit, words)):
        return NOTHING
    for place, word in enumerate(words):
        if place and word.isdigit() and not is_measure(words[place - 1]):
            numbered = words[place - 1] in _NUMBERING
            noun = words[place - 2] if numbered and place > 1 else words[place - 1]
            if noun in _NO_NOUN or noun in _OF or (not numbered and not _named_here(words, at, place)):
                continue
            return frozenset({stem(noun), word})
    return NOTHING


def _named_here(words: list[str], at: int | None, place: int) -> bool:
    """Whether a number right before the verb names its noun: not where the verb takes or requires it."""
    return at is not None and place == at - 1 and not {_main_verb(words, at)} & (_TAKING | _VALUED)


def _clause(words: list[str], at: int) -> Clause | None:
    if _commands(words, at):
        return None
    nouns = [word for word in words[:at] if word not in _ARTICLES and word not in UNIVERSAL and word != ONLY]
    if not nouns:
        return None
    end = next((place for place, word in enumerate(nouns) if place and word in _OF), len(nouns))
    if nouns[end - 1] in _NO_NOUN:
        return None
    head = stem(nouns[end - 1])
    others = [word for place, word in enumerate(nouns) if place != end - 1 and word not in _NO_MARK]
    marks = frozenset(stem(word) for word in others if _telling(word) and (is_period(word) or not is_measure(word)))
    return Clause(
        head,
        marks or NOTHING,
        _main_verb(words, at),
        _content(words[at:]),
        _said(words[at:]),
        _BOUNDS & {*words[:at]} or NOTHING,
    )


def _commands(words: list[str], at: int) -> bool:
    """Whether a sentence begins with its verb: `use pytest for all tests`. It names no subject."""
    return words[0] in VERBS and AUXILIARY.isdisjoint(words) and not (words[0] in THINGS and at > 1)


def _said(words: list[str]) -> tuple[str, ...]:
    return tuple(stem(word) for word in words if word not in _ARTICLES)


def verb_at(words: list[str]) -> int | None:
    """Where the verb stands: behind a noun, and no noun itself (`the build fails`, `every build is signed`)."""
    for at, word in enumerate(words[1 : MOST_SUBJECT + 1], 1):
        if word in AUXILIARY and words[at - 1] not in _ARTICLES:
            return at
        if _may_be_verb(word) and words[at - 1] not in _NO_VERB_AFTER and not _noun_follows(words, at):
            return at
    return None


@lru_cache(maxsize=WORDS_KEPT)
def _may_be_verb(word: str) -> bool:
    return stem(word) in _VERBS and not word.endswith("ing")


def _noun_follows(words: list[str], at: int) -> bool:
    """`the release manager announces`: a verb before another verb is part of the subject."""
    after = words[at + 1] if at + 2 < len(words) else ""
    if words[at].endswith("s") and after.endswith("s") and after not in AUXILIARY:
        return False  # `approves changes`: what follows is its object
    return after in AUXILIARY or (stem(after) in _VERBS and after not in _ARTICLES)


def _main_verb(words: list[str], at: int) -> str:
    """The verb that tells something: `is signed` tells sign."""
    for word in words[at : at + 4]:
        if word not in AUXILIARY and stem(word) in _VERBS:
            return stem(word)
    return stem(words[at])


def _content(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words if _telling(word) and word not in DENYING) or NOTHING


def _telling(word: str) -> bool:
    return word not in SILENT or word in TELLING


def apart(a: Clause | None, b: Clause | None) -> bool:
    """Whether two sentences about one thing have nothing in common in what they say of it."""
    if a is None or b is None or a.head != b.head or not a.rest or not b.rest:
        return False
    return a.rest.isdisjoint(b.rest)


def other_things(a: Clause | None, b: Clause | None) -> bool:
    """Whether two sentences speak of different things of one kind (`public endpoints`, `internal endpoints`), or one of
    a kind and the other of some of that kind (`passwords`, `administrator passwords`), which is an exception.

    What is used is a value and no thing of its own: `soft delete is used`, `hard delete is used`."""
    if a is None or b is None or {a.verb, b.verb} & _TAKING:
        return False
    if a.bounds != b.bounds:
        return True
    if a.head == b.head:  # a mark that the other sentence has elsewhere tells nothing apart
        return bool(a.marks - b.words or b.marks - a.words)
    general = bool(_GENERAL & {a.head, b.head})
    return not general and a.verb == b.verb and a.head not in b.words and b.head not in a.words


@dataclass(frozen=True, slots=True)
class Duty:
    """Who answers for what: `Maria approves changes`, `changes are approved by Maria`."""

    verb: str
    what: frozenset[str]
    who: frozenset[str]

    @property
    def key(self) -> str:
        return f"{self.verb} {' '.join(sorted(self.what))}"


def _duty(words: list[str], at: int, found: Clause) -> Duty | None:
    """What a sentence makes somebody answerable for; None when it does not."""
    if found.verb not in _RESPONSIBLE:
        return None
    subject, told = found.marks | {found.head}, _content(words[at:]) - {found.verb, *_SELF}
    passive = words[at] in AUXILIARY and "by" in words[at:]
    if passive:
        place = words.index("by", at)
        who, what = _content(words[place + 1 :]), subject | (_content(words[at:place]) - {found.verb})
    else:
        who, what = subject, told
    if found.verb == "belong":
        who, what = told, subject
    active = passive or words[at] not in AUXILIARY
    return Duty(_HOLDING.get(found.verb, found.verb), what, who) if active and who and what else None


_HOLDING = {
    **dict.fromkeys(map(stem, ("hold", "keep", "retain", "own", "possess", "have", "belong")), "own"),
    **dict.fromkeys(map(stem, ("sign", "authorise", "authorize", "confirm", "approve")), "approv"),
    **dict.fromkeys(map(stem, ("handle", "manage", "administer", "maintain")), "handl"),
}
"""Verbs that make somebody answerable in the same way."""
THINGS = frozenset(
    """
    load test order report file release build log index cache mail email post search change contact support water
    train work rest host call name record back batch
    """.split()  # noqa: SIM905
)
"""Verbs that begin the name of a thing as often: `load tests run after the merge`."""
_SELF = frozenset(map(stem, ("themselves", "itself", "himself", "herself", "ourselves", "alone")))


def other_doers(a: Duty | None, b: Duty | None) -> bool:
    """Whether two sentences make different people answerable for the same. Those who share a word may be the same:
    `the lead` is `the team lead`."""
    if a is None or b is None or (a.verb, a.what) != (b.verb, b.what):
        return False
    return bool(a.who - b.who) and bool(b.who - a.who)


def for_some_only(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one sentence says of all what the other keeps for some: `to every customer`, `only to beta customers`."""
    return _some_of_all(one, other) or _some_of_all(other, one)


def _some_of_all(whole: Sequence[str], part: Sequence[str]) -> bool:
    if ONLY not in part or ONLY in whole or not UNIVERSAL.intersection(whole):
        return False
    _, said = _without(whole, min(whole.index(word) for word in UNIVERSAL if word in whole))
    some_of, kept = _without(part, part.index(ONLY))
    if not some_of or not said or not kept:
        return False
    shared = len(said & kept)
    return shared / len(said | kept) >= LEAST_SHARED or (shared > 1 and (said <= kept or kept <= said))


def _without(words: Sequence[str], at: int) -> tuple[frozenset[str], frozenset[str]]:
    """What a quantifier counts (the words up to the verb or the next phrase), and the other content of the sentence."""
    end = at + 1
    while end < len(words) and words[end] in _BEFORE_NOUN:
        end += 1
    start = end
    while end < len(words) and end - start < 3 and not _ends_phrase(words, end, first=end == start):
        end += 1
    return _content(words[start:end]), _content([*words[:at], *words[end:]])


def _ends_phrase(words: Sequence[str], at: int, *, first: bool) -> bool:
    """`only failed requests are`: what looks like a verb may be the first word of the phrase."""
    return words[at] in AUXILIARY or words[at] in _JOINTS or (not first and stem(words[at]) in _VERBS)


# Slots of a sentence that hold one value: `secrets live in VAULT`, `ADA owns billing`, `use REDIS for sessions`.
#
# No list of words can know all values, but the words around one show that it is one. A frame is those words; two
# sentences with the same frame and other values contradict each other.

Frames = dict[str, frozenset[str]]
"""The words around a slot -> the words in it."""

MOST_WORDS = 4
"""A longer phrase describes rather than names a value."""
_TAKING, _FUNCTIONAL, _SOLE, _LOOSE, _MOMENTS = (
    frozenset(map(stem, words)) for words in (TAKING, FUNCTIONAL, SOLE, LOOSE, MOMENTS)
)
_PROPER = re.compile(r"(?<=[\w,;:] )[\"'`]?([A-Z0-9][\w.+#-]*)")
_DOER = re.compile(r"[eo]rs?$")
"""Nouns of doers: `worker` is a thing, although its stem is the loose verb `work`."""
_BEING = frozenset({"is", "are", "be", "remains", "remain", "means"})
_OPEN = frozenset({"can", "may", "could", "might", "also", "too", "sometimes", "often", "usually", "or"} | ACCEPTING)
_MANNER = frozenset({"by", "via", "as"})
"""Behind these even a verb that takes many objects has one value: `sent by email`."""
_SMALL = frozenset({"a", "an", "the", "our", "your", "its", "their", "this", "that", "these", "those"})
_ENDS = frozenset({"for", "when", "if", "unless", "because", "so", "while", "per", "and", "but", *PLACING})
_ONLY = re.compile(r"^only (?P<who>[\w -]{1,40}?) (?:can|may|are allowed to|is allowed to|must) (?P<what>.+)$")
_THEY = re.compile(r"^(?P<who>[\w -]{1,40}?) (?:can|may|are allowed to|is allowed to|must) (?P<what>.+)$")


def frames(statement: str, words: list[str]) -> Frames:
    """Every slot of the sentence with its value; none when the sentence names possibilities (`may`, `or`)."""
    if not any(map(_opens_slot, words)) or _OPEN.intersection(words):
        return {}
    kept = [word for word in words if word not in _SMALL]
    marks = [(at, word, stem(word)) for at, word in enumerate(kept)]
    loose = any(root in _LOOSE and not _DOER.search(word) for _, word, root in marks)
    found: Frames = {}
    for at, word, root in marks:
        if loose and word not in _MANNER:
            continue
        if _opens_slot(word):
            for key, value in _slots(kept, at, root, statement):
                found.setdefault(key, value)
    return found


@lru_cache(maxsize=WORDS_KEPT)
def _opens_slot(word: str) -> bool:
    root = stem(word)
    return word in PLACING or word in _BEING or root in _TAKING or root in _FUNCTIONAL


def _slots(words: list[str], at: int, root: str, statement: str) -> Iterator[tuple[str, frozenset[str]]]:
    word, head = words[at], _slot_words(words[:at])
    value, rest = _value(words[at + 1 :])
    if word in PLACING and head and value:
        yield _key(head, PLACING[word], rest), value
    elif root in _TAKING and value and (head or rest):
        yield _key(head, "use", rest), value
    elif word in _BEING and head and value and (head & _SOLE or value & _proper(statement)):
        yield _key(head, "is", rest), value
    elif root in _FUNCTIONAL and 0 < at <= MOST_WORDS and words[at + 1 :]:
        yield _key(_slot_words(words[at + 1 :]) | {root}, "by", ()), head


def _proper(statement: str) -> set[str]:
    """Names: what is written with a capital or a digit inside the sentence."""
    return {stem(fold(name)) for name in _PROPER.findall(statement)}


def _value(words: list[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The words up to the next phrase, and that phrase."""
    end = next((at for at, word in enumerate(words) if word in _ENDS), len(words))
    said = _slot_words(words[:end]) | {stem(word) for word in words[:end] if word in TELLING}
    rest = tuple(stem(word) for word in words[end:] if word not in SILENT or word in _ENDS)
    return (said if 0 < len(said) <= MOST_WORDS else NOTHING), rest


def _slot_words(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in words if word not in SILENT and word not in PLAIN_VERBS)


def _key(head: frozenset[str], kind: str, rest: tuple[str, ...]) -> str:
    return f"{' '.join(sorted(head))}|{kind}|{' '.join(rest)}"


def excluded(a: Frames, b: Frames) -> tuple[str, str] | None:
    """Two different values of one slot. A value that contains the other refines it, and a moment excludes no thing."""
    for key in sorted(a.keys() & b.keys()):
        one, other = a[key], b[key]
        if one == other or _timely(one) != _timely(other) or one <= other or other <= one:
            continue
        shared = one & other
        if key.split("|")[1] == "use" and key.endswith("|"):
            if shared:  # `headings use title case`; without a common noun both may be used
                return _shown(one), _shown(other)
        elif not shared or len(one) == len(other) == 2:
            return _shown(one), _shown(other)
    return None


def _timely(value: frozenset[str]) -> bool:
    return any(word in _MOMENTS or word[0].isdigit() for word in value)


def _shown(value: frozenset[str]) -> str:
    return " ".join(sorted(value))


def _doing(statement: str, verb: str) -> re.Match[str] | None:
    """`sales reps sign contracts`: who does what the other sentence keeps for some."""
    return re.match(rf"^(?P<who>[\w -]{{1,40}}?) (?P<what>{re.escape(verb)}s?\b.+)$", statement)


def others_kept_out(a: str, b: str) -> bool:
    """Whether one sentence keeps a right for some (`only support can ...`) that the other gives to others."""
    one = _ONLY.match(fold(a).strip(" ."))
    if one is None:
        return False
    said = fold(b).strip(" .")
    other = _THEY.match(said) or _doing(said, one["what"].split()[0])
    if other is None or other["who"].startswith("only "):
        return False
    who, they = _slot_words(one["who"].split()), _slot_words(other["who"].split())
    what, done = _slot_words(one["what"].split()), _slot_words(other["what"].split())
    return bool(they) and not who & they and bool(what) and len(what & done) >= 0.6 * len(what)
