"""Slots of a sentence that hold one value: `secrets live in VAULT`, `ADA owns billing`, `use REDIS for sessions`.

No list of words can know all values, but the words around one show that it is one. A frame is those words; two
sentences with the same frame and other values contradict each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clew.index.terms import fold, stem
from clew.memory.contradictions.lexicon import (
    ACCEPTING,
    FUNCTIONAL,
    LOOSE,
    MOMENTS,
    PLACING,
    PLAIN_VERBS,
    SILENT,
    SOLE,
    TAKING,
    TELLING,
)

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
"""Words behind which even a verb that goes with many objects has one value: `sent by email`."""
_SMALL = frozenset({"a", "an", "the", "our", "your", "its", "their", "this", "that", "these", "those"})
_ENDS = frozenset({"for", "when", "if", "unless", "because", "so", "while", "per", "and", "but", *PLACING})
_ONLY = re.compile(r"^only (?P<who>[\w -]{1,40}?) (?:can|may|are allowed to|is allowed to|must) (?P<what>.+)$")
_THEY = re.compile(r"^(?P<who>[\w -]{1,40}?) (?:can|may|are allowed to|is allowed to|must) (?P<what>.+)$")


def frames(statement: str, words: list[str]) -> Frames:
    """Every slot of the sentence with its value; none when the sentence names possibilities (`may`, `or`)."""
    if _OPEN.intersection(words):
        return {}
    kept = [word for word in words if word not in _SMALL]
    marks = [(at, word, stem(word)) for at, word in enumerate(kept)]
    loose = any(root in _LOOSE and not _DOER.search(word) for _, word, root in marks)
    found: Frames = {}
    for at, word, root in marks:
        if loose and word not in _MANNER:
            continue
        if word in PLACING or word in _BEING or root in _TAKING or root in _FUNCTIONAL:
            for key, value in _slots(kept, at, root, statement):
                found.setdefault(key, value)
    return found


def _slots(words: list[str], at: int, root: str, statement: str) -> Iterator[tuple[str, frozenset[str]]]:
    word, head = words[at], _content(words[:at])
    value, rest = _value(words[at + 1 :])
    if word in PLACING and head and value:
        yield _key(head, PLACING[word], rest), value
    elif root in _TAKING and value and (head or rest):
        yield _key(head, "use", rest), value
    elif word in _BEING and head and value and (head & _SOLE or value & _proper(statement)):
        yield _key(head, "is", rest), value
    elif root in _FUNCTIONAL and 0 < at <= MOST_WORDS and words[at + 1 :]:
        yield _key(_content(words[at + 1 :]) | {root}, "by", ()), head


def _proper(statement: str) -> set[str]:
    """Names: what is written with a capital or a digit inside the sentence."""
    return {stem(fold(name)) for name in _PROPER.findall(statement)}


def _value(words: list[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The words up to the next phrase, and that phrase."""
    end = next((at for at, word in enumerate(words) if word in _ENDS), len(words))
    said = _content(words[:end]) | {stem(word) for word in words[:end] if word in TELLING}
    rest = tuple(stem(word) for word in words[end:] if word not in SILENT or word in _ENDS)
    return (said if 0 < len(said) <= MOST_WORDS else frozenset()), rest


def _content(words: Iterable[str]) -> frozenset[str]:
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


def others_kept_out(a: str, b: str) -> bool:
    """Whether one sentence keeps a right for some (`only support can ...`) that the other gives to others."""
    one, other = _ONLY.match(fold(a).strip(" .")), _THEY.match(fold(b).strip(" ."))
    if one is None or other is None or other["who"].startswith("only "):
        return False
    who, they = _content(one["who"].split()), _content(other["who"].split())
    what, done = _content(one["what"].split()), _content(other["what"].split())
    return bool(they) and not who & they and bool(what) and len(what & done) >= 0.6 * len(what)
