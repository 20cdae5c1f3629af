"""The cipher, a notation for thoughts such as `S12|E|S10,S11|content`. Other text is read as prose.

Parsing is by rules alone, without a language model. `thought_record` uses the result for links and kinds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.canonical import Json

KINDS: dict[str, str] = {
    "H": "hypothesis",
    "E": "evidence",
    "C": "conclusion",
    "Q": "question",
    "R": "revision",
    "P": "plan",
    "O": "observation",
    "A": "assumption",
    "X": "rejection",
}
LETTERS = {word: letter for letter, word in KINDS.items()}

REVISES, BUILDS_ON, INVALIDATES, SUPPORTS, CONTRADICTS, FROM, BECAUSE = "^", "+", "×", "⊕", "⊖", "←", "∵"

MARKS: dict[str, str] = {
    REVISES: "revises",
    BUILDS_ON: "derives",
    INVALIDATES: "contradicts",
    SUPPORTS: "supports",
    CONTRADICTS: "contradicts",
    FROM: "derives",
    BECAUSE: "derives",
}
"""Marks before a reference, and the relation that each creates."""

OPERATORS: dict[str, str] = {
    "→": "leads to",
    "←": "follows from",
    "∴": "therefore",
    "∵": "because",
    "∧": "and",
    "∨": "or",
    "¬": "not",
    "⊕": "supports",
    "⊖": "contradicts",
    "≈": "about",
    "≠": "differs from",
    ">": "more than",
    "<": "less than",
    "?": "unsure",
    "!": "certain",
}
QUANTIFIERS: dict[str, str] = {
    "∀": "for all",
    "∃": "there is",
    "∄": "there is no",
    "Δ": "change",
    "∝": "in proportion to",
    "≡": "is the same as",
    "⊂": "is part of",
    "∈": "is one of",
}
ORDINARY = frozenset("><?!")
"""Operators that are ordinary punctuation in prose; they count only in a thought written in the notation."""

CONFIDENCE = {"!": "high", "~": "medium", "?": "low"}
"""`(!)` above 90 %, `(~)` 50 to 90 %, `(?)` below 50 %."""


def kind_letter(kind: str | None) -> str | None:
    """The letter of a kind that is given as letter or word."""
    if kind is None:
        return None
    return kind if kind in KINDS else LETTERS.get(kind.lower(), kind.upper())


def level_of(probability: float) -> str:
    return "high" if probability > 0.9 else "medium" if probability >= 0.5 else "low"


MAX_REFERENCES = 200
EMPTY_FIELD = "—"

_KIND = "".join(KINDS)
# At most nine digits everywhere, like the numbers of thoughts (`inputs.Number`).
_TARGET = rf"[S{_KIND}]\d{{1,9}}"
_SPAN = rf"(?:S\d{{1,9}}\s*-\s*S?\d{{1,9}}|{_TARGET})"
_MARK = "[" + re.escape("".join(MARKS)) + "]"

_HEADER = re.compile(rf"\s*S(\d{{1,9}})[ \t]*\|[ \t]*([{_KIND}])[ \t]*\|(.*)\Z", re.DOTALL)
_FIELD_ITEM = re.compile(rf"\s*({_MARK}?)\s*(?:\[([^\[\]|]*)\]|({_SPAN}))\s*")
_ONE = re.compile(rf"\s*(?:S(\d{{1,9}})\s*-\s*S?(\d{{1,9}})|([S{_KIND}])(\d{{1,9}}))\s*")
_BLANK = re.compile(r"\s*[—–-]?\s*")
_BRACKETED = re.compile(rf"({_MARK}?)\s?\[({_SPAN}(?:\s*,\s*{_SPAN})*)\]")
_MARKED = re.compile(rf"([\^×⊕⊖])\s?({_TARGET})\b")
_ANCHOR = re.compile(r"@[\w-]+:S\d{1,9}(?:-S?\d{1,9})?")
_CONFIDENCE = re.compile(r"\(([!~?])\)|\(p\s*=\s*(\d{1,3}(?:\.\d{1,6})?)\s*(%?)\)")


@dataclass(frozen=True, slots=True)
class Reference:
    """A pointer to another thought: by number (`S4`), over a range (`S1-S3`) or as the n-th of a kind (`H1`)."""

    target: str
    number: int
    last: int | None = None
    mark: str = ""
    inline: bool = False

    def __str__(self) -> str:
        span = f"{self.target}{self.number}" + (f"-S{self.last}" if self.last is not None else "")
        bare = not self.mark and not self.inline
        return span if bare else f"{self.mark}[{span}]"


@dataclass(frozen=True, slots=True)
class Confidence:
    level: str
    p: float | None = None


@dataclass(frozen=True, slots=True)
class CipherReading:
    """The parsed text of a thought. Plain prose has no kind, number or field, but may contain inline references."""

    content: str
    number: int | None = None
    kind: str | None = None
    field: tuple[Reference, ...] | None = None
    """The reference field; None if the text has none."""
    inline: tuple[Reference, ...] = ()
    operators: tuple[str, ...] = ()
    quantifiers: tuple[str, ...] = ()
    confidence: Confidence | None = None

    @property
    def notation(self) -> bool:
        return self.kind is not None

    @property
    def references(self) -> tuple[Reference, ...]:
        return (self.field or ()) + self.inline

    @property
    def revises(self) -> Reference | None:
        """The revised thought: the first reference marked `^`, else the first reference of a revision (kind R)."""
        for reference in self.references:
            if reference.mark == "^" and reference.last is None:
                return reference
        first = self.field[0] if self.kind == "R" and self.field else None
        return first if first is not None and not first.mark and first.last is None else None


def read(text: str) -> CipherReading:
    """Parse a thought. Never raises: text that does not match the notation is prose."""
    header = _HEADER.match(text)
    if header is None:
        return _reading(text, None, None, None)
    number, kind, rest = int(header.group(1)), header.group(2), header.group(3)
    before, bar, after = rest.partition("|")
    field = _read_field(before) if bar else None
    # `S1|H|a|b` has no references in the third field, so `a|b` is content that contains a bar.
    content = rest if field is None else after
    return _reading(content.strip(), number, kind, field)


def write(reading: CipherReading) -> str:
    """Serialize a reading; parsing the text gives the same reading."""
    if not reading.notation:
        return reading.content
    head = f"S{reading.number}|{reading.kind}|"
    if reading.field is None:
        return head + reading.content
    return f"{head}{','.join(map(str, reading.field)) or EMPTY_FIELD}|{reading.content}"


def anchors(text: str) -> list[str]:
    """References to other sessions, such as `@auth-redesign:S25`, each once, in order."""
    return list(dict.fromkeys(_ANCHOR.findall(text)))


def described(reading: CipherReading) -> Json:
    """The parsed parts, for the response; empty for prose without references."""
    parts: Json = {}
    if reading.kind:
        parts["type"] = reading.kind
    if reading.references:
        parts["references"] = [str(reference) for reference in reading.references]
    if reading.operators:
        parts["operators"] = [OPERATORS[sign] for sign in reading.operators]
    if reading.quantifiers:
        parts["quantifiers"] = [QUANTIFIERS[sign] for sign in reading.quantifiers]
    if reading.confidence:
        parts["confidence"] = reading.confidence.level if reading.confidence.p is None else reading.confidence.p
    return parts


def _reading(content: str, number: int | None, kind: str | None, field: tuple[Reference, ...] | None) -> CipherReading:
    # In plain prose `?` and `>` are punctuation.
    ignored = frozenset() if kind else ORDINARY
    # Confidence marks such as `(?)` are not operators, and `@other:S5` is not a reference to this session's S5.
    plain = _ANCHOR.sub(" ", _CONFIDENCE.sub(" ", content))
    return CipherReading(
        content,
        number,
        kind,
        field,
        _inline(plain),
        tuple(sign for sign in OPERATORS if sign in plain and sign not in ignored),
        tuple(sign for sign in QUANTIFIERS if sign in plain),
        _confidence(content) if kind else None,
    )


def _read_field(text: str) -> tuple[Reference, ...] | None:
    """The references of a field; None if the text is not a list of references."""
    text = text.strip()
    if "\n" in text:
        return None
    if _BLANK.fullmatch(text):
        return ()
    found: list[Reference] = []
    at = 0
    while True:
        item = _FIELD_ITEM.match(text, at)
        inner = _spans(item.group(2) or item.group(3) or "", item.group(1), inline=False) if item else None
        if item is None or inner is None:
            return None
        found += inner
        at = item.end()
        if at == len(text):
            return tuple(found[:MAX_REFERENCES])
        if text[at] != ",":
            return None
        at += 1


def _spans(text: str, mark: str, inline: bool) -> list[Reference] | None:
    found = []
    for part in text.split(","):
        one = _ONE.fullmatch(part)
        if one is None:
            return None
        first, last, target, number = one.groups()
        if first is not None:
            found.append(Reference("S", int(first), int(last), mark, inline))
        else:
            found.append(Reference(target, int(number), None, mark, inline))
    return found


def _inline(content: str) -> tuple[Reference, ...]:
    places: list[tuple[int, Reference]] = []
    for match in _BRACKETED.finditer(content):
        spans = _spans(match.group(2), match.group(1), inline=True) or []
        places += [(match.start(), reference) for reference in spans]
    for match in _MARKED.finditer(content):
        spans = _spans(match.group(2), match.group(1), inline=True) or []
        places += [(match.start(), reference) for reference in spans]
    # In the order of the text, because the first reference of a revision is what it revises.
    ordered = [reference for _, reference in sorted(places, key=lambda place: place[0])]
    return tuple(dict.fromkeys(ordered))[:MAX_REFERENCES]


def _confidence(content: str) -> Confidence | None:
    found = _CONFIDENCE.search(content)
    if found is None:
        return None
    if found.group(1):
        return Confidence(CONFIDENCE[found.group(1)])
    # `p=80` without a percent sign can only mean a percentage.
    p = float(found.group(2)) / (100 if found.group(3) or float(found.group(2)) > 1 else 1)
    return Confidence(level_of(p), p) if p <= 1 else None
