"""A brief: where work stands, as sections of one-line entries. `brief_fit` makes it fit a number of characters."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clew.errors import shorten
from clew.registry.envelope import one_line

WIDTHS = (600, 200, 120, 72)
"""Characters of one record's text: as it should read, and how far it is narrowed. A text is cut behind a sentence; only
the last of these widths cuts within one."""
SENTENCE = WIDTHS[1]
"""Characters up to which the first sentence is kept whole."""
NEAR = 50.0
"""From this rank on a record is about the current step."""
TITLED = WIDTHS[1]
"""In less room than this a title says more than the beginning of a text."""
TELLING = 4
"""Words of a title that tells what was decided and can stand for it; a shorter one (`Clock`) names the topic only."""
OLD_WIDTH = 40
"""Fewest characters of a record that another one would replace; the other one is what matters."""


class Look(NamedTuple):
    """How much of a record its line says."""

    width: int
    reasons: bool = False
    proposals: bool = True
    """Whether the text of a proposal is told beside the record that it would replace; else only its id."""


WHOLE = Look(WIDTHS[0], reasons=True)


@dataclass(frozen=True, slots=True)
class BriefLine:
    """One record, step or event in a line."""

    kind: str
    id: str
    text: str
    label: str = ""
    rank: float = 0.0
    """How much it has to do with the task; 0 for nothing."""
    alarm: str = ""
    """What is wrong with it: unproven, stale, suspect, contradicted and the like."""
    why: str = ""
    short: str = ""
    """Its title, for a line that is too narrow for the text."""
    instead: BriefLine | None = None
    """What was proposed to take its place; it has no line of its own."""
    proposed: bool = False
    """Whether it waits for a person; what is in force comes before it."""

    @property
    def is_near(self) -> bool:
        """Whether it is about the current step: cut last, beside the rules."""
        return self.rank >= NEAR

    @property
    def count(self) -> int:
        """How many records the line tells."""
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
    """A text of about `width` characters that ends with a sentence: with the last that fits, else with the first.

    A first sentence that is too long, or a very narrow line, is cut between two words.
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
    """A line whose parts are normalized once, and whose words are cut once for each look."""

    __slots__ = ("_alarm", "_cut", "_instead", "_name", "_short", "_text", "_why", "count", "entry")

    def __init__(self, entry: BriefLine) -> None:
        self.entry = entry
        self.count = entry.count
        # A label in capitals (REJECTED) reads as a mark before the text, any other as the name of its kind.
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
        """A length that no look goes below."""
        if self._instead is not None:
            return len(self._name)
        return self.length(Look(WIDTHS[-1]))

    def _words(self, look: Look) -> str:
        """What it says and why, as far as there is room."""
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
    """Entries of one heading, the foremost first."""

    name: str
    entries: tuple[BriefLine, ...] = ()
    heading: str = ""
    """What stands above the entries, where that is not the name."""
    inline: bool = False
    """Whether the entries stand in one line instead of a line each."""
    unread: int = 0
    """More of these than were read; counted, never shown."""
    unread_kind: str = ""

    def title(self, shown: int, total: int) -> str:
        """The line above the entries, or before them where they stand in one line."""
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
    """The arguments of the call that this answers, beside its limit."""
    done: str = ""
    """How many steps are done and how far they are proven, in a line."""

    def section(self, name: str) -> Section:
        return next(section for section in self.sections if section.name == name)
