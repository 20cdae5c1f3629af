"""A statement as a list of words: spellings of one thing made equal, and denials that demand turned into demands."""

from __future__ import annotations

import re
from sys import intern

from clew.index.terms import fold
from clew.memory.contradictions.amounts import with_periods
from clew.memory.contradictions.lexicon import CONTRAST, LETTERS, usual_spellings
from clew.memory.contradictions.word_order import DENYING

_WORD = re.compile(r"[a-z0-9]+(?:[.'+#_/-][a-z0-9]+)*|%|[;:]|[.,](?=\s|$)")
_SHUT_STARTS = frozenset({"closed", "off", "out"})
_MONEY = re.compile(r"([$€£])\s?(\d[\d.,]*\d|\d)")
_ACRONYMS = re.compile(r"([A-Z](?<=\b[A-Z])[A-Z]{1,3})s\b")
"""`NDAs` are `NDA`: no stemmer knows them. It begins with the capital: a search for a sign is faster than for a border
of words."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_SIGNS = {"$": "dollars", "€": "euros", "£": "pounds"}
_DOUBLE = re.compile(
    r"\b(?P<no>not|no|never|nobody|nothing|none|cannot)\b(?P<between>[^;:.]{1,60}?)"
    r"\b(?P<but>but (?:at|in|on|by|with|for|the|a|an)|except|other than|unless|without|until)\b"
)
"""`nobody enters without a badge`, `you cannot save anywhere but at a fire`: a demand in the clothes of a denial."""
_BOUNDLESS = re.compile(
    r"\bas (?:many|much|long|often)(?: [a-z]+)? as (?:it|they|you|he|she|we|one) (?:want|like|need|wish|please)s?\b"
)
_SHUT = re.compile(r"\b(?:closed to|closed for|off limits (?:for|to)|off limits|out of bounds for)\b")
_MISSING = re.compile(
    r"\bwithout (?P<what>[^;:.,]{1,40}?) (?:is|are) "
    r"(?:not (?:allowed|permitted|accepted|possible)|forbidden|banned|prohibited|rejected|refused)"
)
"""`a change without a test is rejected`."""


def plain_words(statement: str) -> list[str]:
    text = _ACRONYMS.sub(r"\1", statement.replace("’", "'"))
    text = _MONEY.sub(lambda found: f"{found[2]} {_SIGNS[found[1]]}", text)
    text = fold(text).replace("never:", "never")  # what was rejected denies what it names
    if "," in text:
        text = CONTRAST.sub(" insteadof ", _THOUSANDS.sub("", text))
    text = with_periods(text)
    if " as " in text:
        text = _BOUNDLESS.sub("unlimited", text)
    text = usual_spellings(text)
    said = LETTERS.split(text)
    if not _SHUT_STARTS.isdisjoint(said):
        text = _SHUT.sub("forbidden for", text)
        said = LETTERS.split(text)
    if not DENYING.isdisjoint(said):
        text = _DOUBLE.sub(_demand, text)
        text = _MISSING.sub(lambda found: f"must have {found['what']}", text)
    found = _WORD.findall(text)
    if "'s" in text:
        found = [word.removesuffix("'s") for word in found]
    return list(map(intern, found))  # thousands of sentences are kept, and have most words in common


def _demand(found: re.Match[str]) -> str:
    """A denial with an exception, as the demand that it is."""
    between = _ANY.sub("", found["between"])
    kept = found["but"].removeprefix("but ")
    return f"{between} onlyif " if kept in ("without", "until", "unless") else f"{between} only {kept} "


_ANY = re.compile(r"\b(?:anywhere|anything|anyone|anybody|any)\b")
