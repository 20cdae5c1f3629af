"""A brief: where work stands, in lines, within a number of characters.

What must go when the room is small goes in a fixed order: reasons, history, done steps, records that have nothing to do
with the task, words beyond a line's width, then the lower-ranked decisions, open questions and rules. What is unproven,
failed, stale, suspect or contradicted goes last of all. What is left out is counted by kind, with the call that shows
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clew.errors import shorten
from clew.registry.envelope import command, one_line

WIDTHS = (320, 160, 96, 64)
"""Characters of one record's text: as it should read, and how far it is narrowed before records are left out. `open`
shows a record whole, so a narrowed one is still there to be found; one that is left out is not."""
WITH_REASON = WIDTHS[0]
"""At this width a line also says why."""
TITLED = WIDTHS[1]
"""In less room than this a title says more than the beginning of a text."""
PLURALS = {"hypothesis": "hypotheses", "history": "events", "rejected": "rejected alternatives"}


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

    def line(self, width: int) -> str:
        says = one_line(self.text)
        if len(says) > width < TITLED and self.short:
            says = one_line(self.short)
        elif self.why and width >= WITH_REASON:
            says = f"{says} Why: {one_line(self.why)}" if says.endswith(".") else f"{says}. Why: {one_line(self.why)}"
        says = shorten(says, width)
        # A label in capitals (REJECTED) reads as a mark before the text, any other as the name of its kind.
        colon = "" if self.label.isupper() else ":"
        named = f"{self.id} {self.label}{colon}" if self.label else self.id
        return " ".join(part for part in (named, says, f"({self.alarm})" if self.alarm else "") if part)

    def to_json(self) -> dict[str, Any]:
        optional = {"label": self.label, "alarm": self.alarm, "why": self.why}
        shown = {"kind": self.kind, "id": self.id, "text": self.text}
        return {**shown, **{name: value for name, value in optional.items() if value}}


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


@dataclass(frozen=True, slots=True)
class Brief:
    head: str
    now: str = ""
    sections: tuple[Section, ...] = ()
    waits: str = ""
    next: str = ""
    again: dict[str, Any] = field(default_factory=dict)
    """The arguments of the call that this answers, beside its limit."""

    def section(self, name: str) -> Section:
        return next(section for section in self.sections if section.name == name)


@dataclass(frozen=True, slots=True)
class Cut:
    """A brief that fits: its text, what it shows, and how many of each kind it leaves out."""

    text: str
    shown: Brief
    omitted: dict[str, int]


def fit(brief: Brief, max_chars: int) -> Cut:
    whole = len(_text(brief, brief, WIDTHS[0], 0))
    kept, width = brief, WIDTHS[0]
    for stage in _stages():
        if len(_text(kept, brief, width, whole)) <= max_chars:
            break
        if isinstance(stage, int):
            width = stage
        else:
            kept = _drop(kept, stage, _fitting(brief, width, whole, max_chars))
    text = _text(kept, brief, width, whole)
    if len(text) > max_chars:
        text = _smallest(kept, _room(whole), sum(_omitted(kept, brief).values()), max_chars)
    return Cut(text, kept, _omitted(kept, brief))


def _smallest(bare: Brief, room: int, omitted: int, max_chars: int) -> str:
    """What is said when not even the frame fits: the counts become one number, then less and less of the frame."""
    more = f"more: {omitted} records: {command('resume', {**bare.again, 'max_chars': room})}" if omitted else ""
    following = f"next: {bare.next}" if bare.next else ""
    frames = (
        (bare.head, bare.now, bare.waits, more, following),
        (bare.head, bare.now, more, following),
        (bare.head, shorten(bare.now, 120), more, following),
        (bare.head, more, following),
        (shorten(bare.head, 60), following),
        (bare.head,),
    )
    texts = ["\n".join(line for line in frame if line) for frame in frames]
    return next((text for text in texts if len(text) <= max_chars), bare.head[:max_chars])


def _fitting(brief: Brief, width: int, whole: int, max_chars: int) -> Callable[[Brief], bool]:
    return lambda cut: len(_text(cut, brief, width, whole)) <= max_chars


Choice = Callable[[Section, BriefLine], bool]


def _stages() -> Iterable[Choice | int]:
    """What may go, one stage after the other; a number narrows the lines instead."""
    yield WIDTHS[1]
    yield lambda section, entry: section.name == "since"
    yield lambda section, entry: section.name == "done" and not entry.alarm
    yield lambda section, entry: section.name in ("decisions", "known") and not entry.rank and not entry.alarm
    yield from WIDTHS[2:]
    yield lambda section, entry: section.name == "known" and not entry.alarm
    yield lambda section, entry: section.name == "decisions" and not entry.alarm
    yield lambda section, entry: section.name in ("open", "work") and not entry.alarm
    yield lambda section, entry: section.name == "rules" and not entry.alarm
    yield lambda section, entry: True


def _drop(brief: Brief, choice: Choice, fits: Callable[[Brief], bool]) -> Brief:
    """Leave out as few of the chosen entries as are needed, the lowest-ranked first; all when that is not enough."""
    chosen = [(section, entry) for section in brief.sections for entry in section.entries if choice(section, entry)]
    chosen.sort(key=lambda pair: -pair[1].rank)  # stable: within one rank, what stands later goes first
    # A binary search, because each try renders the whole brief.
    low, high = 0, len(chosen)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(_without(brief, chosen[middle:])):
            low = middle
        else:
            high = middle - 1
    return _without(brief, chosen[low:])


def _without(brief: Brief, gone: Sequence[tuple[Section, BriefLine]]) -> Brief:
    # By identity: two entries may be equal, and only the chosen one goes.
    out = {(section.name, id(entry)) for section, entry in gone}
    sections = [
        replace(section, entries=tuple(entry for entry in section.entries if (section.name, id(entry)) not in out))
        for section in brief.sections
    ]
    return replace(brief, sections=tuple(sections))


def _omitted(kept: Brief, brief: Brief) -> dict[str, int]:
    counts: dict[str, int] = {}
    for before, after in zip(brief.sections, kept.sections, strict=True):
        for entry in before.entries:
            counts[entry.kind] = counts.get(entry.kind, 0) + 1
        for entry in after.entries:
            counts[entry.kind] -= 1
        if before.unread:
            counts[before.unread_kind] = counts.get(before.unread_kind, 0) + before.unread
    return {kind: count for kind, count in counts.items() if count}


def _text(kept: Brief, brief: Brief, width: int, whole: int) -> str:
    lines = [kept.head, kept.now]
    for before, after in zip(brief.sections, kept.sections, strict=True):
        lines += _section_lines(before, after, width)
    lines += [kept.waits, _more(kept, brief, whole), f"next: {kept.next}" if kept.next else ""]
    return "\n".join(line for line in lines if line)


def _section_lines(before: Section, after: Section, width: int) -> list[str]:
    total, shown = len(before.entries) + before.unread, len(after.entries)
    if not shown:
        return []
    if after.inline:
        return [f"{after.heading or after.name} {', '.join(entry.line(width) for entry in after.entries)}"]
    count = str(total) if shown == total else f"{shown} of {total}"
    return [f"{after.name} ({count})", *(f"  {entry.line(width)}" for entry in after.entries)]


def _more(kept: Brief, brief: Brief, whole: int) -> str:
    omitted = _omitted(kept, brief)
    readable = sum(len(before.entries) - len(after.entries) for before, after in _pairs(brief, kept))
    if not omitted:
        return ""
    counted = ", ".join(f"{count} {_plural(kind, count)}" for kind, count in omitted.items())
    call = f": {command('resume', {**brief.again, 'max_chars': _room(whole)})}" if readable else ""
    return f"more: {counted}{call}"


def _room(whole: int) -> int:
    """With this limit everything that was read fits. Rounded up, so that a changed word does not change the call."""
    return -(-whole // 100) * 100 + 100


def _pairs(brief: Brief, kept: Brief) -> Iterable[tuple[Section, Section]]:
    return zip(brief.sections, kept.sections, strict=True)


def _plural(kind: str, count: int) -> str:
    return kind if count == 1 and kind != "history" else PLURALS.get(kind, f"{kind}s")


def brief_json(cut: Cut) -> dict[str, Any]:
    brief = cut.shown
    return {
        "head": brief.head,
        "now": brief.now or None,
        **{section.name: [entry.to_json() for entry in section.entries] for section in brief.sections},
        "waits": brief.waits or None,
        "omitted": cut.omitted,
        "next": brief.next or None,
        "text": cut.text,
    }
