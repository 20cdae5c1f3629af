"""What the order of words tells: where the verb stands, what a sentence is about, and who does it.

There is no grammar here. The first verb parts a sentence, and its form says on which side the topic is: `logs are kept
by ops`, `ops keeps logs`, `keep logs` and `we keep logs` are all about logs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from clew.index.terms import stem
from clew.memory.contradictions.word_groups import root_of, vocabulary


def words_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


BREAKS = words_in("; : . ,")
BEING = words_in("is are was were be been being am remains remain stays stay gets get becomes become")
MODAL = words_in("must may can could should shall will would might cannot need needs ought do does did has have had")
HAVING = frozenset(map(stem, words_in("""
    have has had need require last take cost use contain include support begin start end open close run go come leave
    work live stay remain become get belong last appear depend consist hold carry wear
""")))  # fmt: skip
PREPOSITIONS = words_in("""
    in on at by for from with into onto over under as to of during until between within through via per before after
    against without above below across about when if while once unless because so that which who where than
""")  # fmt: skip
ARTICLES = words_in("a an the our your its their this that these those my his her all every each any no some only")
_VERBAL = BEING | MODAL
_PHRASE_ENDS = (BREAKS | PREPOSITIONS) - {"of"}
PRONOUNS = words_in("we you they i he she it one everybody everyone nobody anybody anyone somebody")
DENYING = words_in("""
    not no never none nobody nothing neither nor cannot without forbid forbids forbidden prohibit prohibits prohibited
    ban bans banned disallow disallowed reject rejects rejected refuse refuses refused decline declined turnsaway gaveup
    cease ceased drop drops dropped abandon abandoned discontinue discontinued abolish abolished avoid avoided exempt
    exempted impossible unable unavailable unsupported off-limits lack lacks stop stops stopped exclude excluded
    excludes prevent prevents insteadof lost
""")  # fmt: skip
BACKWARD = words_in("""
    forbidden prohibited banned disallowed rejected refused declined dropped ceased abandoned discontinued abolished
    avoided exempt exempted impossible unavailable unsupported off-limits stopped excluded lost
""")  # fmt: skip
"""Words that deny what stands before them: `smoking is forbidden`."""
NEEDING = frozenset(map(stem, words_in("must need require mandatory obligatory compulsory necessary shall should")))
ALLOWING = frozenset(map(stem, words_in("may can could allow permit possible fine ok okay welcome accept optional")))
FREEING = frozenset(map(stem, words_in("optional voluntary")))
BANS = frozenset(map(stem, words_in("forbid prohibit ban disallow never")))
FUNCTION = (
    ARTICLES
    | PREPOSITIONS
    | PRONOUNS
    | BEING
    | MODAL
    | BREAKS
    | words_in("""
    us them me him ones there here done doing having and or but if then because since whose what how why both more most
    other such own same very just also too always please out up down off atleast atmost ormore orless themselves itself
    himself except whoever whatever anything everything someone something even yet still already again now today
    currently s t re first then later afterwards late back away onlyif
""")
)
UNIVERSAL = words_in("""
    all every each any everybody everyone anyone anybody everything everywhere anywhere worldwide whoever always
    whatever
""")  # fmt: skip
ONLY = words_in("only solely exclusively")
EXCEPT = words_in("except apart otherwise exempt exception excepting")
MORE = words_in("also too additionally furthermore besides")
PAST = re.compile(r"^[a-z]{2,}ed$")
VALUED = frozenset(map(stem, words_in("""
    port version size limit rate temperature count age retries timeout batch width height length weight threshold
    maximum minimum above below over under least most than exactly about to of at for in by with within after before
    until from and or python java php ruby postgres tls http is are
""")))  # fmt: skip
"""Words before a bare number that is a value, no name: `port 8080`, `version 3`."""
PARTICIPLES = words_in("""
    kept held made done sent paid set written taken given led run built bought sold shown hidden chosen stored found
    read cut put sealed signed owned drawn frozen thrown worn served lost left told met hung lit spent taught brought
    known seen shut burnt spelt grown
""")  # fmt: skip


def verb_place(words: Sequence[str]) -> int | None:
    """Where the verb stands."""
    verbs = vocabulary().verbs
    for at, word in enumerate(words[1:12], 1):
        if not _may_act(word):
            continue
        before = words[at - 1]
        if word in _VERBAL and before not in ARTICLES:
            return at
        if before in ARTICLES or before in PREPOSITIONS or root_of(word) not in verbs:
            continue
        after = words[at + 1] if at + 1 < len(words) else ""
        if after in BEING or after in MODAL:
            continue
        plural = before.endswith("s") or before in PRONOUNS
        if (word.endswith("s") and not before.endswith("s")) or (plural and not word.endswith("s")) or PAST.match(word):
            return at
    return None


@lru_cache(maxsize=4_000)
def _may_act(word: str) -> bool:
    """Whether a word can be the verb: most can not, and need no look at their neighbours."""
    return word in _VERBAL or (word not in BREAKS and stem(word) in vocabulary().verbs)


def roles_of(words: Sequence[str], at: int | None) -> list[str]:
    """The role of each word, with the verb at its place."""
    verbs = vocabulary().verbs
    roles = ["rest"] * len(words)
    commands = (
        bool(words) and stem(words[0]) in verbs and not words[0].endswith(("s", "ed", "ing")) and (at is None or at > 2)
    )
    if words and commands and not (len(words) > 1 and (words[1] in BEING or words[1] in MODAL)):
        return _mark(roles, words, _object_at(words, 1), "topic")
    if at is None:
        return _mark(roles, words, 0, "topic")
    head = at
    while at + 1 < len(words) and (words[at] in MODAL or words[at] in ("not", "never", "only", "always", "also")):
        at += 1
    passive = words[at] in BEING and any(PAST.match(word) or word in PARTICIPLES for word in words[at + 1 : at + 4])
    if stem(words[at]) == "belong" and "to" in words[at:]:
        _mark(roles, words, words.index("to", at) + 1, "doer")
    if passive and "by" in words[at:]:
        _mark(roles, words, words.index("by", at) + 1, "doer")
    subject = [word for word in words[:head] if word not in FUNCTION]
    active = not passive and words[at] not in BEING and stem(words[at]) not in HAVING
    follows = words[at + 1] if at + 1 < len(words) else ""
    if active and follows and follows not in PREPOSITIONS and follows not in BREAKS:
        if subject:
            for place in range(head):
                roles[place] = "doer"
        return _mark(roles, words, _object_at(words, at + 1), "topic")
    if not subject:
        return _mark(roles, words, _object_at(words, at + 1), "topic")
    for place in range(head):
        roles[place] = "topic"
    return roles


def _object_at(words: Sequence[str], at: int) -> int:
    """Where what is spoken of begins behind a verb: `we use UUIDs for the primary keys` speaks of keys."""
    if stem(words[at - 1]) in _TAKING and "for" in words[at:]:
        place = words.index("for", at) + 1
        if place < len(words) and BREAKS.isdisjoint(words[at:place]):
            return place
    return at


_TAKING = frozenset(map(stem, words_in("use choose pick adopt prefer take employ")))


def _mark(roles: list[str], words: Sequence[str], start: int, role: str) -> list[str]:
    """The phrase from a place on, up to the next preposition, verb or break, and what `of` adds to it."""
    at = start
    while at < len(words) and (words[at] in ARTICLES or words[at] in PRONOUNS):
        at += 1
    while at < len(words) and words[at] not in _PHRASE_ENDS:
        if at > start and words[at] in _VERBAL:
            break
        roles[at] = role
        at += 1
    return roles


def head_of(words: Sequence[str], roles: list[str]) -> str:
    """The last word of the topic before a preposition."""
    head = ""
    for word, role in zip(words, roles, strict=True):
        if role == "topic" and head and word in PREPOSITIONS:
            break
        if role == "topic" and word not in FUNCTION:
            head = word
    return vocabulary().meaning(head) if head else ""


def main_verb(words: Sequence[str], at: int | None) -> str:
    """The verb that says most: `is signed` says sign."""
    verbs = vocabulary().verbs
    start = 0 if at is None else at
    for word in words[start : start + 5]:
        if stem(word) in verbs and word not in MODAL and word not in BEING:
            return vocabulary().meaning(word)
    return ""
