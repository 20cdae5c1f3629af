"""A statement as the comparison sees it: its words with what they mean, its amounts, its force and what it denies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from clew.index.terms import fold, stem
from clew.memory.contradictions.amounts import Amount, amounts, is_measure
from clew.memory.contradictions.lexicon import NOTHING, SILENT
from clew.memory.contradictions.nearness import rarity
from clew.memory.contradictions.scales import Stand, stands
from clew.memory.contradictions.spelling import plain_words
from clew.memory.contradictions.word_groups import MOST_PHRASE, root_of, vocabulary, without_denial
from clew.memory.contradictions.word_order import (
    ALLOWING,
    BACKWARD,
    BANS,
    BEING,
    BREAKS,
    DENYING,
    EXCEPT,
    FREEING,
    FUNCTION,
    HAVING,
    MORE,
    NEEDING,
    ONLY,
    PAST,
    PREPOSITIONS,
    PRONOUNS,
    UNIVERSAL,
    VALUED,
    head_of,
    main_verb,
    roles_of,
    verb_place,
    words_in,
)

_NAME = re.compile(r" (?<=[\w,;:'] )[\"'`]?([A-Z0-9][\w.+#-]*)")
"""It begins with the space and looks back only then: a search for a plain sign is three times as fast."""
LIGHT = 0.35
"""What a verb weighs that says little by itself: use, keep, run."""


Scales = dict[int, dict[int, frozenset[str]]]
"""A scale -> the ends at which a sentence stands, each with the meanings that say so."""


@dataclass(frozen=True, slots=True)
class Meaning:
    word: str
    mean: str
    weight: float
    role: str
    """topic, doer or rest."""
    name: bool


@dataclass(frozen=True, slots=True)
class Contrast:
    """By what the words of a sentence can exclude those of another."""

    words: frozenset[str]
    against: frozenset[str]
    """The opposites of its words."""
    groups: frozenset[int]
    """The kinds of its values: databases, weekdays."""

    def excludes(self, other: Contrast) -> bool:
        """Whether they have opposites, or values of one kind."""
        return not (
            self.groups.isdisjoint(other.groups)
            and self.against.isdisjoint(other.words)
            and other.against.isdisjoint(self.words)
        )


@dataclass(eq=False)
class Sentence:
    """What the index of words needs is read at once, what only a comparison needs when it is first asked for: of the
    statements that are read in, most are never compared with another.

    Nobody changes one. It is not frozen, because a frozen one takes four times as long to make, of thousands."""

    words: tuple[str, ...]
    verb_at: int | None
    roles: list[str]
    tokens: tuple[Meaning, ...]
    amounts: tuple[Amount, ...]
    denials: tuple[frozenset[str], ...]
    """What each word of denial speaks of."""
    only: bool
    called: frozenset[tuple[str, str]]
    """Nouns with the number or letter that names one of their kind: `boat 7`, `hall C`."""
    ranked: tuple[frozenset[str], frozenset[str]] | None
    means: frozenset[str]
    """What the words mean that say something by themselves."""

    @cached_property
    def plain(self) -> list[str]:
        """Its words without the punctuation: what is equal here says the same."""
        return [word for word in self.words if word not in BREAKS]

    @cached_property
    def topic_amounts(self) -> tuple[Amount, ...]:
        if not self.amounts:
            return ()
        labels = {label for _, label in self.called}
        topic = [word for word, role in zip(self.words, self.roles, strict=True) if role == "topic"]
        return tuple(item for item in amounts(topic)[0] if labels.isdisjoint(item.text.split()))

    @cached_property
    def force(self) -> str:
        return _force(self.words)

    @cached_property
    def universal(self) -> bool:
        return not UNIVERSAL.isdisjoint(self.words)

    @cached_property
    def excepts(self) -> bool:
        return not EXCEPT.isdisjoint(self.words)

    @cached_property
    def excepted(self) -> frozenset[str]:
        """What it takes out of what it says."""
        at = next((at for at, word in enumerate(self.words) if word in EXCEPT), None)
        return NOTHING if at is None else means_of(self.words[at + 1 :])

    @cached_property
    def adds(self) -> bool:
        return not MORE.isdisjoint(self.words)

    @cached_property
    def past(self) -> bool:
        return _is_past(self.words)

    @cached_property
    def head(self) -> str:
        """The noun of the topic."""
        return head_of(self.words, self.roles)

    @cached_property
    def verb(self) -> str:
        return main_verb(self.words, self.verb_at)

    @cached_property
    def stands(self) -> tuple[Stand, ...]:
        return stands(self.words)

    @cached_property
    def scales(self) -> Scales:
        found: Scales = {}
        for stand in self.stands:
            means = means_of(self.words[stand.start : stand.end])
            ends = found.setdefault(stand.scale, {})
            ends[stand.pole] = ends.get(stand.pole, NOTHING) | means
        return found

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """How much each of its words tells: a rare one more than a common one, one of a reason little."""
        return _weights(self.words, self.tokens)

    @cached_property
    def marks(self) -> dict[str, frozenset[str]]:
        """A noun -> the words right before it that tell which one is meant: `basic plan`, `nightly backup`."""
        return _marks(self.words)

    @cached_property
    def slots(self) -> dict[str, tuple[str, ...]]:
        """A preposition or `is` -> what follows it."""
        return _slots(self.words)

    @cached_property
    def contrast(self) -> Contrast:
        return _contrast(self.tokens)

    @cached_property
    def instances(self) -> dict[str, set[str]]:
        """What names one of a kind, also in one word (`host12`), under the noun of that kind."""
        found: dict[str, set[str]] = {}
        for noun, label in (*self.called, *_numbered(self.words)):
            found.setdefault(noun, set()).add(label)
        return found

    def other_instance(self, other: Sentence) -> bool:
        """Whether the two name different ones of a kind: `boat 7`, `boat 8`."""
        mine, theirs = self.instances, other.instances
        return any(mine[noun].isdisjoint(theirs[noun]) for noun in mine.keys() & theirs.keys())


def apart_on(one: Scales, other: Scales) -> list[int]:
    """The scales at whose different ends two sentences stand."""
    if one.keys().isdisjoint(other):
        return []
    return [scale for scale in sorted(one.keys() & other.keys()) if one[scale].keys().isdisjoint(other[scale])]


def _phrases(words: Sequence[str]) -> list[tuple[int, int, str]]:
    """Start, size and meaning of each word; the words of a known phrase are one."""
    known, found, at = vocabulary(), [], 0
    roots = list(map(root_of, words))
    if known.starts.isdisjoint(roots):  # as in most sentences
        return [(at, 1, known.head.get(root, root)) for at, root in enumerate(roots)]
    while at < len(words):
        root, size = roots[at], 1
        if root in known.starts:
            size = next((many for many in _SIZES if tuple(roots[at : at + many]) in known.phrases), 1)
        mean = known.phrases[tuple(roots[at : at + size])] if size > 1 else known.head.get(root, root)
        found.append((at, size, mean))
        at += size
    return found


_SIZES = range(MOST_PHRASE, 1, -1)


@lru_cache(maxsize=2_000)
def sentence(statement: str) -> Sentence:
    words = plain_words(statement)
    said = set(words)
    called = _called(words, statement)
    labels = {label for _, label in called}
    found, numeric = amounts([word for word in words if word not in BREAKS])
    numeric -= FUNCTION
    verb_at = verb_place(words)
    roles = roles_of(words, verb_at)
    names = {stem(fold(name)) for name in _NAME.findall(statement)}
    tokens = []
    for at, size, mean in _phrases(words):
        word = words[at] if size == 1 else " ".join(words[at : at + size])
        if word in _UNSAID or word in numeric or _number(word) or word in labels:
            continue
        tokens.append(_meaning(word, mean, roles[at], bool(names) and root_of(word) in names))
    return Sentence(
        tuple(words),
        verb_at,
        roles,
        tuple(tokens),
        tuple(item for item in found if labels.isdisjoint(item.text.split())),
        tuple(_denials(words)) if not DENYING.isdisjoint(said) else (),
        not ONLY.isdisjoint(said) or ("alone" in said and DENYING.isdisjoint(said)),
        called,
        _ranked(words) if not _RANKING.isdisjoint(said) else None,
        frozenset([token.mean for token in tokens if token.weight == 1]),
    )


_UNSAID = FUNCTION | DENYING


@lru_cache(maxsize=20_000)
def _meaning(word: str, mean: str, role: str, name: bool) -> Meaning:
    return Meaning(word, mean, LIGHT if word in SILENT else 1.0, role, name)


def _contrast(tokens: Sequence[Meaning]) -> Contrast:
    known, words = vocabulary(), frozenset([token.mean for token in tokens])
    against = [known.against[word] for word in words if word in known.against]
    groups = [known.values[word] for word in words if word in known.values]
    return Contrast(
        words,
        NOTHING.union(*against, filter(None, map(without_denial, words))) or NOTHING,
        _NO_GROUP.union(*groups) if groups else _NO_GROUP,
    )


_NO_GROUP: frozenset[int] = frozenset()
_NO_NAMES: frozenset[tuple[str, str]] = frozenset()


SLOTS = {"in": "in", "into": "in", "on": "on", "at": "at", "by": "by", "with": "with", "to": "to", "as": "as",
         "from": "from", "via": "by", "through": "by", "called": "is", "is": "is", "are": "is", "use": "use",
         "uses": "use", "inside": "in"}  # fmt: skip


_ENDS = PREPOSITIONS | BREAKS | {"and", "or", "but"}


def _slots(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What stands behind each word after which a value may stand, up to the next phrase."""
    found: dict[str, tuple[str, ...]] = {}
    for at, word in enumerate(words):
        if word in SLOTS:
            end = at + 1
            while end < min(len(words), at + 5) and words[end] not in _ENDS:
                end += 1
            filler = tuple(sorted(means_of(words[at + 1 : end])))
            if filler and len(filler) < 4:
                found[SLOTS[word]] = filler
    return found


def _is_past(words: Sequence[str]) -> bool:
    """Whether a sentence tells of something that happened: `was moved`, `we painted`, `got`, `renewed the licence`."""
    if {"was", "were", "got", "did"} & set(words[:8]):
        return True
    first = words[1:2] if words[:1] and words[0] in PRONOUNS else words[:1]
    return bool(first) and bool(PAST.match(first[0])) and not set(words) & (BEING - {"been"})


def _called(words: Sequence[str], statement: str) -> frozenset[tuple[str, str]]:
    """Nouns with a number or a letter of their own right behind them: `boat 7`, `boat number 7`, `hall C`."""
    letters = {fold(letter) for letter in _LETTERED.findall(statement)} if _LONE.search(statement) else set[str]()
    if not letters and _SMALL_NUMBERS.isdisjoint(words) and not any(map(str.isdigit, words)):
        return _NO_NAMES
    versioned = not _VERSIONED.isdisjoint(map(root_of, words))
    found = set()
    for at in range(1, len(words)):
        word, noun = words[at], words[at - 1]
        named = word in _SMALL_NUMBERS and at + 1 < len(words) and stem(words[at + 1]) in vocabulary().verbs
        if not word.isdigit() and word not in letters and not named:
            continue
        if noun in _NUMBERING and at > 1:
            noun = words[at - 2]
        elif word not in letters and not (_label(words, at) and (not versioned or words[max(0, at - 2)] in _WITHIN)):
            continue
        if noun.isalpha() and stem(noun) not in VALUED and noun not in FUNCTION and not _number(noun):
            found.add((stem(noun), word))
    return frozenset(found) or _NO_NAMES


def _numbered(words: Sequence[str]) -> set[tuple[str, str]]:
    """Names that end in a number, where a sentence begins: `host12 runs`, `the service alpha3 stores`."""
    if not _VERSIONED.isdisjoint(map(root_of, words)):
        return set()
    found = [_GLUED.fullmatch(word) for word in words[:4] if not is_measure(word)]
    return {(match[1], f"#{match[2]}") for match in found if match is not None}


_SMALL_NUMBERS = words_in("one two three four five six seven eight nine ten")
"""`severity one means`: small numbers are written out as often."""
_GLUED = re.compile(r"([a-z]{3,}-?)(\d+)")
_LETTERED = re.compile(r"\b[a-z]+ ([A-Z])\b")
_LONE = re.compile(r" [A-Z]\b")
"""Without a letter that stands alone, a statement needs no search for one behind a noun."""
_NUMBERING = words_in("number no nr")
_VERSIONED = frozenset(map(stem, words_in("require need support use upgrade target pin")))
"""Verbs beside which a number is a version: `node 18 is required`."""
_WITHIN = words_in("in at")
"""Where something is done is no version: `uses tokens in region 20`."""


def _label(words: Sequence[str], at: int) -> bool:
    """Whether a bare number can name the noun before it: it counts nothing, and what stands before it is no verb."""
    after = words[at + 1] if at + 1 < len(words) else "."
    noun, verbs = words[at - 1], vocabulary().verbs
    acts = at == 1 or words[at - 2] in PRONOUNS or noun.endswith("s") or noun in HAVING
    if after in BREAKS or after in FUNCTION or stem(after) in verbs:
        return not (acts and stem(noun) in verbs | HAVING) or at == 1
    return False


@lru_cache(maxsize=20_000)
def _number(word: str) -> bool:
    return not word.isalpha() and any(sign.isdigit() for sign in word) and is_measure(word)


def _force(words: Sequence[str]) -> str:
    roots = set(map(root_of, words))
    denies = sum(word in DENYING for word in words) % 2 == 1
    needs, allows = roots & NEEDING or "onlyif" in words, roots & ALLOWING
    if roots & FREEING and not denies:
        return "free"
    if denies and needs and not ({"must", "shall", "should"} & roots):
        return "free"
    if denies:
        return "forbid" if (needs or allows or roots & BANS) else "not"
    if needs:
        return "must"
    return "may" if allows else "plain"


def _denials(words: Sequence[str]) -> list[frozenset[str]]:
    """For each word that denies, what it speaks of: the rest of its clause, or what stands before it."""
    found = []
    double = "without" in words and sum(word in DENYING for word in words) == 2 and BREAKS.isdisjoint(words[1:-1])
    for at, word in enumerate(words):
        if word not in DENYING or double or (word == "insteadof" and not _CHOICE.isdisjoint(words)):
            continue
        start = next((place + 1 for place in range(at - 1, -1, -1) if words[place] in BREAKS), 0)
        end = next((place for place in range(at + 1, len(words)) if words[place] in BREAKS), len(words))
        if word in ("without", "insteadof"):
            end = min(end, at + 5)
        after = NOTHING if word in BACKWARD else means_of(words[at + 1 : end])
        found.append(after or means_of(words[start:end]))
    return [scope for scope in found if scope]


def _weights(words: Sequence[str], tokens: Sequence[Meaning]) -> tuple[float, ...]:
    cut = next((at for at, word in enumerate(words) if at > 2 and word in _REASONS), len(words))
    reason = set(words[cut:]) - set(words[:cut])
    return tuple(
        token.weight * rarity(token.mean) * (ASIDE if reason and token.word.split()[0] in reason else 1.0)
        for token in tokens
    )


ASIDE = 0.3
"""What a word of a reason weighs."""
_REASONS = words_in("because since")


def _marks(words: Sequence[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    run: list[str] = []
    for at, size, mean in _phrases(words):
        word = words[at]
        if size == 1 and (word in _LIGHTEST or _number(word)):
            run = []
            continue
        if run:
            found[mean] = found.get(mean, NOTHING) | frozenset(run[-2:])
        run.append(mean)
    return found


_CHOICE = words_in("can may could")
"""`you can use a PIN instead of a password` refuses nothing."""
_RANKING = words_in("before until after once then later afterwards")


def _ranked(words: Sequence[str]) -> tuple[frozenset[str], frozenset[str]] | None:
    """What comes earlier and what later, in a sentence that puts two things in order."""
    for at, word in enumerate(words):
        if word in ("before", "until") and at and at + 1 < len(words):
            return means_of(words[:at]), means_of(words[at + 1 :])
        if word in ("after", "once") and at and at + 1 < len(words):
            return means_of(words[at + 1 :]), means_of(words[:at])
        if word in ("then", "later", "afterwards", "after"):
            cut = words.index("first") if "first" in words[:at] else next(
                (place for place in range(at - 1, 0, -1) if words[place] in BREAKS or words[place] == "and"), at
            )  # fmt: skip
            return means_of(words[:cut]), means_of(words[cut + 1 :])
    return None


def means_of(words: Sequence[str]) -> frozenset[str]:
    return frozenset(
        mean
        for at, size, mean in _phrases(words)
        if size > 1 or (words[at] not in _LIGHTEST and not _number(words[at]))
    )


_LIGHTEST = FUNCTION | DENYING | SILENT
