"""The words of the cipher: kinds, marks, operators, quantifiers, confidence."""

from __future__ import annotations

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
"""A mark before a reference, and the link it makes."""

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
"""Operators that plain prose is full of; they count only in a thought written in the notation."""

CONFIDENCE = {"!": "high", "~": "medium", "?": "low"}
"""`(!)` above 90 %, `(~)` 50 to 90 %, `(?)` below 50 %."""


def kind_letter(kind: str | None) -> str | None:
    """The letter of a kind given as letter or word."""
    if kind is None:
        return None
    return kind if kind in KINDS else LETTERS.get(kind.lower(), kind.upper())


def level_of(probability: float) -> str:
    return "high" if probability > 0.9 else "medium" if probability >= 0.5 else "low"
