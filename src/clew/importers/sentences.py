"""Distinguishes sentences that decide, forbid or explain something from those that only describe."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.importers.markdown_lines import plain, without_hidden
from clew.importers.port import CandidateKind

SHORTEST = 12
LONGEST = 600
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(*\[])")
_DIRECTIVE = re.compile(
    r"\b(must|never|always|do not|don't|should|shall|prefer|avoid|make sure|ensure|only use|use .+ instead)\b"
    r"|^(use|run|keep|write|add|put|call|check|test|format|commit|name|follow|place|document)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\b(instead of|rather than|decided|chose|because|so that|switch(?:ed)? to|in favou?r of"
    r"|on purpose|deliberately)\b",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b(always|never|from now on|in (?:the )?future|every time|whenever|by default|remember (?:that|to)"
    r"|(?:I|we) (?:prefer|never|always|don't want)|do not ever|don't ever)\b",
    re.IGNORECASE,
)
"""Words that mean more than the task at hand."""
_PREFERS = re.compile(r"\bI (?:prefer|always|never|don't want|like)\b", re.IGNORECASE)
_QUOTED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ASKS = re.compile(r"\?\s*$|^(?:why|what|how|when|where|does|do|did|is|are|can|could|should)\b", re.IGNORECASE)
LONGEST_PROMPT = 4_000
"""A longer prompt is a pasted document, not typed text."""


def lasting_requests(prompt: str) -> Iterator[tuple[CandidateKind, str]]:
    """The sentences of a prompt that say how things are always to be done, each with the kind of record it would be."""
    if len(prompt) > LONGEST_PROMPT:
        return
    for sentence in sentences_of(plain(without_hidden(_QUOTED.sub("", prompt)))):
        if len(sentence) >= SHORTEST and _LASTING.search(sentence) and not _ASKS.search(sentence):
            yield "preference" if _PREFERS.search(sentence) else "rule", shortened(sentence)


def sentences_of(text: str) -> list[str]:
    return [piece.strip() for piece in _END.split(" ".join(text.split())) if piece.strip()]


def is_directive(sentence: str) -> bool:
    """Whether it says to do or to avoid something."""
    return bool(_DIRECTIVE.search(sentence))


def gives_reasons(text: str) -> bool:
    """Whether it says why something was chosen over something else."""
    return bool(_CHOICE.search(text))


def shortened(text: str) -> str:
    """At most `LONGEST` characters, cut behind a sentence where one ends."""
    if len(text) <= LONGEST:
        return text
    kept = ""
    for sentence in sentences_of(text):
        if len(kept) + len(sentence) >= LONGEST:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or f"{text[: LONGEST - 1].rstrip()}…"
