"""What a question says: its words, phrases, names and dates."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from clew.index.terms import is_code, stem, terms
from clew.recall.intent import Intent, chosen, classify
from clew.recall.kernel import Kernel
from clew.recall.period import Period, find_period

MOST_TERMS = 32

# Words that say how something is asked, not what it is about.
_FILLER = """
a about after again all also am an and any are as at be because been before being between both but by can could
did do does doing don during each few for from further had has have having he her here hers him his how i if in
into is it its itself just me more most my no nor not of off on once only or other our ours out over own s same
she should so some such t than that the their theirs them then there these they this those through to too under
until up very was we were what when where which while who whom why will with would you your yours
although ever per though unless upon via whether yet
"""
FILLER = frozenset(_FILLER.split()) | frozenset(stem(word) for word in _FILLER.split())
_PHRASE = re.compile(r"\"([^\"]{2,200})\"|“([^”]{2,200})”|`([^`]{2,200})`")
_PERSONS = (
    (re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b"), ("user", "human", "me")),
    (re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE), ("assistant", "ai", "bot")),
)
_NAME = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w'’-]+")


@dataclass(frozen=True)
class Query:
    text: str
    terms: tuple[str, ...]
    """Stems in the order of the text, each once, fillers left out."""
    phrases: tuple[tuple[str, ...], ...]
    names: frozenset[str]
    """Stems of words that are written like names."""
    codes: tuple[str, ...]
    """Code words and identifiers, which also match by their beginning."""
    period: Period | None
    intent: Intent
    persons: frozenset[str] = frozenset()
    """Stems of the speakers whom `I` and `you` stand for in a talk between a person and a machine."""
    sides: tuple[tuple[str, ...], ...] = field(default=())
    """What a comparison sets against each other."""


def analyse(text: str, kernel: Kernel, now_ms: int, wanted: str | None = None) -> Query:
    """`wanted` is an intent that the caller knows better than the words show."""
    found = terms(text)
    content = list(dict.fromkeys(term for term in found if term not in FILLER))
    if not content:
        # A question of fillers alone is still about its words.
        content = list(dict.fromkeys(found))
    phrases = tuple(tuple(terms("".join(groups))) for groups in _PHRASE.findall(text))
    names = frozenset(term for word in _NAME.findall(text) for term in terms(word) if term not in FILLER)
    intent = chosen(wanted, kernel) if wanted else classify(text, kernel)
    return Query(
        text,
        tuple(content[:MOST_TERMS]),
        tuple(phrase for phrase in phrases if phrase),
        names,
        tuple(dict.fromkeys(word.lower() for word in text.split() if is_code(word)))[:8],
        find_period(text, now_ms),
        intent,
        frozenset(term for said, names in _PERSONS if said.search(text) for name in names for term in terms(name)),
        _sides(text) if intent.rerank == "balanced" else (),
    )


_OPPOSED = re.compile(r"\s+(?:vs\.?|versus|or|and|than|from|with|to)\s+", re.IGNORECASE)


def _sides(text: str) -> tuple[tuple[str, ...], ...]:
    """The words on either side of the first `vs`, `or`, `and`."""
    parts = _OPPOSED.split(text, maxsplit=1)
    sides = [tuple(t for t in terms(part) if t not in FILLER)[-3:] for part in parts[:1]]
    sides += [tuple(t for t in terms(part) if t not in FILLER)[:3] for part in parts[1:]]
    return tuple(side for side in sides if side) if len(sides) > 1 else ()
