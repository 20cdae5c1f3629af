"""A brief: the state of the work as sections of one-line entries. `brief_fit` fits it into a character limit."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clew.errors import shorten
from clew.registry.envelope import one_line

WIDTHS = (600, 200, 120, 72)
"""Widths of a record's text in characters, from full to narrowest. Text is cut at the end of a
sentence; only the last width cuts within one."""
SENTENCE = WIDTHS[1]
"""Characters up to which the first sentence is kept whole."""
NEAR = 50.0
"""Minimum rank of a record that is about the current step."""
TITLED = WIDTHS[1]
"""Below this width, a title is more informative than the beginning of a text."""
TELLING = 4
"""Minimum words of a title that can replace the text; a shorter one (`Clock`) only names the topic."""
OLD_WIDTH = 40
"""Minimum characters of a record that has a proposed replacement; the replacement gets the rest."""


class Look(NamedTuple):
    """The level of detail of a record's line."""

    width: int
    reasons: bool = False
    proposals: bool = True
    """Whether the text of a proposed replacement is included; otherwise only its id."""


WHOLE = Look(WIDTHS[0], reasons=True)


@dataclass(frozen=True, slots=True)
class BriefLine:
    """A record, step or event as one line."""

    kind: str
    id: str
    text: str
    label: str = ""
    rank: float = 0.0
    """Relevance to the task; 0 for unrelated."""
    alarm: str = ""
    """Warnings about it: unproven, stale, suspect, contradicted and the like."""
    why: str = ""
    short: str = ""
    """Its title, used if the line is too narrow for the text."""
    instead: BriefLine | None = None
    """The proposed replacement; it has no separate line."""
    proposed: bool = False
    """Whether it is only proposed; records in force come before it."""

    @property
    def is_near(self) -> bool:
        """Whether it is about the current step: cut last, together with the rules."""
        return self.rank >= NEAR

    @property
    def count(self) -> int:
        """How many records the line represents."""
        return 1 if self.instead is None else 2

    def to_json(self) -> dict[str, Any]:
        optional = {"label": self.label, "alarm": self.alarm, "why": self.why}
        shown = {"kind": self.kind, "id": self.id, "text": self.text}
        instead = {"instead": self.instead.to_json()} if self.instead is not None else {}
        return {**shown, **{name: value for name, value in optional.items() if value}, **instead}


_SENTENCE_END = re.compile(r"[.!?;](?=\s)(?<!\be\.g\.)(?<!\bi\.e\.)")
_BREAK = re.compile(r"[,;:)]?\s")
_MORE = " …"


def at_sentence(text: str, width: int) -> str:
    """A text of about `width` characters that ends with a sentence: the last that fits, else the first.

    If the first sentence is too long or the line very narrow, it is cut between two words.
    """
    if len(text) <= width:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, max(width, SENTENCE) + 1)]
    fitting = [end for end in ends if end + len(_MORE) <= width]
    if fitting:
        return text[: fitting[-1]].rstrip(";") + _MORE
    if ends and width > WIDTHS[-1]:
        return text[: ends[0]].rstrip(";") + _MORE
    breaks = [match.start() for match in _BREAK.finditer(text, 0, width)]
    return text[: breaks[-1] if breaks else width - 1].rstrip(" ,;:") + "…"


class MeasuredLine:
    """A line whose parts are normalized once, and whose text is truncated once per level of detail."""

    __slots__ = ("_alarm", "_cut", "_instead", "_name", "_short", "_text", "_why", "count", "entry")

    def __init__(self, entry: BriefLine) -> None:
        self.entry = entry
        self.count = entry.count
        # An uppercase label (REJECTED) is a marker before the text, any other is the name of the kind.
        colon = "" if entry.label.isupper() else ":"
        self._name = f"{entry.id} {entry.label}{colon}" if entry.label else entry.id
        self._alarm = f"({entry.alarm})" if entry.alarm else ""
        self._text = one_line(entry.text)
        self._short = one_line(entry.short) if len(entry.short.split()) >= TELLING else ""
        self._why = one_line(entry.why)
        self._cut: dict[Look, str] = {}
        self._instead = None if entry.instead is None else MeasuredLine(entry.instead)

    def render(self, look: Look) -> str:
        if self._instead is None:
            return " ".join(part for part in (self._name, self._words(look), self._alarm) if part)
        proposal = f"{self._instead.entry.id} proposed"
        if not look.proposals:
            return f"{self._name} {self._words(look)} -> {proposal}"
        old = shorten(self._text, max(OLD_WIDTH, look.width // 4))
        return f"{self._name} {old} -> {proposal}: {self._instead._words(look)}"

    def length(self, look: Look) -> int:
        if self._instead is not None:
            return len(self.render(look))
        parts = (len(self._name), len(self._words(look)), len(self._alarm))
        return sum(parts) + max(0, sum(map(bool, parts)) - 1)

    def least(self) -> int:
        """A lower bound for the length at any level of detail."""
        if self._instead is not None:
            return len(self._name)
        return self.length(Look(WIDTHS[-1]))

    def _words(self, look: Look) -> str:
        """The text and the reason, as far as there is room."""
        if look not in self._cut:
            self._cut[look] = self._fitted(look)
        return self._cut[look]

    def _fitted(self, look: Look) -> str:
        if self._is_titled(look):
            return shorten(self._short, look.width)
        reason = f"{self._before_reason}{self._why}" if self._why and look.reasons else ""
        return at_sentence(self._text + reason, look.width)

    def _is_titled(self, look: Look) -> bool:
        return bool(self._short) and len(self._text) > look.width < TITLED

    @property
    def _before_reason(self) -> str:
        return " Why: " if self._text.endswith(".") else ". Why: "


@dataclass(frozen=True, slots=True)
class Section:
    """The entries under one heading, most important first."""

    name: str
    entries: tuple[BriefLine, ...] = ()
    heading: str = ""
    """The heading, if it differs from the name."""
    inline: bool = False
    """Whether all entries share one line."""
    unread: int = 0
    """Further entries that were not read; counted, never shown."""
    unread_kind: str = ""

    def title(self, shown: int, total: int) -> str:
        """The heading above the entries, or before them if they share one line."""
        if self.inline:
            return self.heading or self.name
        count = str(total) if shown == total else f"{shown} of {total}"
        return f"{self.heading or self.name} ({count})"


@dataclass(frozen=True, slots=True)
class Brief:
    head: str
    now: str = ""
    sections: tuple[Section, ...] = ()
    waits: str = ""
    next: str = ""
    again: dict[str, Any] = field(default_factory=dict)
    """The arguments of the call that produced this brief, except its limit."""
    done: str = ""
    """One line with the number of done steps and their grades."""

    def section(self, name: str) -> Section:
        return next(section for section in self.sections if section.name == name)
