"""Which lines of a brief stay within a number of characters, and how much each of them says.

What must go when the room is small goes in a fixed order, which `_CUTS` spells out: first the names of done steps and
the reasons, then words beyond a line's width, then records that have nothing to do with the task, then facts, lessons,
rejections, open questions, what changed, proposals, and decisions, the lowest-ranked first. Rules go last of all, and
their text is shortened last. What is left out is counted by kind, with the call that shows it.

The work is linear in the number of lines: each is measured once, a group that cannot help alone is changed as a whole,
and from there on each step adjusts running totals instead of adding them up again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from clew.errors import shorten
from clew.records.brief import WHOLE, WIDTHS, Brief, BriefLine, Look, MeasuredLine, Section
from clew.registry.envelope import command

NOW_WIDTH = 120
PLURALS = {"hypothesis": "hypotheses", "history": "events", "rejected": "rejected alternatives"}


@dataclass(frozen=True, slots=True)
class Cut:
    """A brief that fits: its text, what it shows, and how many of each kind it leaves out."""

    text: str
    shown: Brief
    omitted: dict[str, int]
    room: int | None = None
    """With this limit nothing is left out that was read; None where nothing is."""

    def to_json(self) -> dict[str, Any]:
        brief = self.shown
        return {
            "head": brief.head,
            "progress": brief.done or None,
            "now": brief.now or None,
            **{section.name: [entry.to_json() for entry in section.entries] for section in brief.sections},
            "waits": brief.waits or None,
            "omitted": self.omitted,
            "next": brief.next or None,
            "text": self.text,
        }


class _Stage(NamedTuple):
    """One thing that may be done for room: groups, the first one first, get narrower lines or keep fewer of them."""

    groups: tuple[str, ...]
    look: Look | None = None
    """How their lines are narrowed; None leaves entries out."""
    keep: int = 0
    """How many of each group stay."""
    unrelated: bool = False
    """Only what has nothing to do with the task."""


_RECORDS = ("thoughts", "notes", "fact", "lesson", "rejected", "open", "since", "proposed", "decision")
"""From what matters least to what matters most."""
_WORK = ("unproven", "work", "then", "tasks", "last", "urgent")
_SPARE = ("fact", "lesson", "rejected", "open", "proposed", "decision")


def _drop(keep: int, *groups: str) -> _Stage:
    return _Stage(groups, keep=keep)


_CUTS = (
    # The note that counts most, about the step in hand, stands in the line of that step.
    _drop(0, "notes"),
    _drop(0, "done"),
    _Stage((*_RECORDS, *_WORK), Look(WIDTHS[1])),
    _Stage(("rules", "near"), Look(WIDTHS[0])),
    _drop(8, "work", "then", "tasks"),
    _drop(0, "thoughts"),
    _Stage((*_RECORDS, *_WORK), Look(WIDTHS[2])),
    _Stage(("rules", "near"), Look(WIDTHS[1])),
    # Whole sentences about the task say more than half sentences about anything.
    _Stage(_SPARE, unrelated=True),
    # A share for each before any group goes whole: the ninth decision says less than the only open question.
    _drop(2, "fact", "lesson"),
    _drop(3, "rejected"),
    _drop(4, "open", "since", "unproven", "work", "then", "tasks"),
    _drop(12, "decision"),
    _Stage((*_RECORDS, *_WORK), Look(WIDTHS[3])),
    # A proposal waits for a person and can be opened; what it would replace is in force until then.
    _Stage(("decision",), Look(WIDTHS[3], proposals=False)),
    _drop(2, "proposed"),
    _drop(0, "fact", "lesson", "rejected"),
    _drop(2, "unproven", "then", "tasks"),
    _drop(1, "proposed"),
    # From here on decisions in force get at least half of the room that the frame and the rules leave.
    _drop(2, "open", "since"),
    _drop(8, "decision"),
    _drop(0, "proposed"),
    _drop(1, "open", "since"),
    _drop(4, "decision"),
    _Stage(("near",), Look(WIDTHS[2])),
    _drop(0, "open", "since", "decision", "last"),
    _drop(1, "unproven", "work", "then", "tasks"),
    _Stage(("near",), Look(WIDTHS[3])),
    _drop(4, "near"),
    _drop(0, "unproven", "work", "then", "tasks", "near", "urgent"),
)
"""What goes first stands first. What is about the current step goes last but for what is in doubt and the rules."""
_RULE_CUTS = (
    _Stage(("rules",), Look(WIDTHS[2])),
    _Stage(("rules",), Look(WIDTHS[3])),
    _drop(0, "rules"),
)
"""After everything else, and after the frame was made smaller."""
_FRAME = ("done", "then", "rules", "since", "notes", "thoughts", "work", "unproven", "tasks", "last")
"""Sections that are cut by their own name, whatever kinds their entries have."""


def _group(section: Section, entry: BriefLine) -> str:
    """What an entry is cut with."""
    if section.name in _FRAME:
        return section.name
    if entry.alarm:
        return "urgent"
    if entry.is_near:
        return "near"
    if section.name == "open":
        return "open"
    if entry.proposed:
        return "proposed"
    # A kind that a plugin declares is cut as facts are.
    return entry.kind if entry.kind in _SPARE else "fact"


def fit(brief: Brief, max_chars: int) -> Cut:
    layout = _Layout(brief)
    for _ in _cuts(layout, max_chars):
        if layout.fits(max_chars):
            return Cut(layout.text(), layout.shown(), layout.omitted(), layout.room())
    text = _smallest(layout.frame, _room(layout.whole), sum(layout.omitted().values()), max_chars)
    return Cut(text, layout.shown(), layout.omitted(), layout.room())


def _cuts(layout: _Layout, max_chars: int) -> Iterator[None]:
    """Makes the brief smaller step by step: so with more room no record goes that stays with less."""
    yield
    for stage in _CUTS:
        yield from _cut(layout, stage, max_chars)
    # Rules outlive what is said around them, as long as the head and the next call stand.
    layout.set_frame(replace(layout.frame, waits=""))
    yield
    layout.set_frame(replace(layout.frame, now=shorten(layout.frame.now, NOW_WIDTH)))
    yield
    for stage in _RULE_CUTS:
        yield from _cut(layout, stage, max_chars)


def _cut(layout: _Layout, stage: _Stage, max_chars: int) -> Iterator[None]:
    for group in stage.groups:
        chosen = layout.chosen(group, stage)
        if not layout.may_fit(chosen, stage.look, max_chars):
            layout.change_all(chosen, stage.look)
            continue
        for line in reversed(chosen):
            layout.change(line, stage.look)
            yield


class _Line:
    """One entry where it stands, and what is said of it now: None for nothing."""

    __slots__ = ("least", "look", "measured", "space")

    def __init__(self, entry: BriefLine, space: _Space) -> None:
        self.measured = MeasuredLine(entry)
        self.space = space
        self.look: Look | None = WHOLE
        self.least = self.measured.least()

    @property
    def entry(self) -> BriefLine:
        return self.measured.entry


class _Space:
    """A section and how much of the text it takes, kept up to date line by line."""

    __slots__ = ("_shown", "_size", "all", "count", "lines", "section")

    def __init__(self, section: Section) -> None:
        self.section = section
        self.lines = [_Line(entry, self) for entry in section.entries]
        self.all = sum(line.measured.count for line in self.lines) + section.unread
        self.measure()

    def measure(self) -> None:
        kept = [line for line in self.lines if line.look is not None]
        self._shown = len(kept)
        self._size = sum(line.measured.length(line.look) for line in kept if line.look is not None)
        self.count = sum(line.measured.count for line in kept)

    def change(self, line: _Line, look: Look | None) -> None:
        if line.look is not None:
            self._size -= line.measured.length(line.look)
        line.look = look
        if look is not None:
            self._size += line.measured.length(look)
        else:
            self._shown -= 1
            self.count -= line.measured.count

    @property
    def title(self) -> str:
        return self.section.title(self.count, self.all)

    def length(self) -> int:
        """Characters of the section with the ends of its lines."""
        if not self._shown:
            return 0
        between = 2 * (self._shown - 1) + 1 if self.section.inline else 3 * self._shown
        return len(self.title) + 1 + self._size + between

    def text(self) -> list[str]:
        shown = [line.measured.render(line.look) for line in self.lines if line.look is not None]
        if not shown:
            return []
        if self.section.inline:
            return [f"{self.title} {'; '.join(shown)}"]
        return [self.title, *(f"  {line}" for line in shown)]

    def shown(self) -> Section:
        return replace(self.section, entries=tuple(line.entry for line in self.lines if line.look is not None))


class _Layout:
    """A brief while it is cut: how much each line says, and how long the text is."""

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self._spaces = [_Space(section) for section in brief.sections]
        self._groups: dict[str, list[_Line]] = {}
        for space in self._spaces:
            for line in space.lines:
                self._groups.setdefault(_group(space.section, line.entry), []).append(line)
        for group in self._groups.values():
            group.sort(key=lambda line: -line.entry.rank)  # stable: of one rank, what stands first matters most
        self._least = sum(line.least for group in self._groups.values() for line in group)
        self._gone: Counter[str] = Counter()
        for section in brief.sections:
            if section.unread:
                self._gone[section.unread_kind] += section.unread
        self._dropped, self.whole = False, 0
        self.set_frame(brief)
        self._measure()
        self.whole = self._length + (len(self._more()) + 1 if self._gone else 0)

    def set_frame(self, frame: Brief) -> None:
        self.frame = frame
        self._frame_length = sum(len(line) + 1 for line in self._frame() if line) - 1

    def _measure(self) -> None:
        self._is_measured = True
        self._lines_length = sum(space.length() for space in self._spaces)

    @property
    def _length(self) -> int:
        return self._frame_length + self._lines_length

    def chosen(self, group: str, stage: _Stage) -> list[_Line]:
        """The entries of a group that a stage changes, the foremost first."""
        lines = [line for line in self._groups.get(group, []) if line.look is not None]
        if stage.look is not None:
            return lines
        return [line for line in lines[stage.keep :] if not (stage.unrelated and line.entry.rank)]

    def may_fit(self, chosen: list[_Line], look: Look | None, max_chars: int) -> bool:
        """False when the text is too long even after the last of these changes, however short each line gets."""
        going = sum(line.least for line in chosen) if look is None else 0
        return self._least - going <= max_chars

    def change_all(self, lines: list[_Line], look: Look | None) -> None:
        """Change lines without keeping the totals; they are taken anew before they are needed."""
        self._is_measured = False
        for line in lines:
            line.look = look
            if look is None:
                self._drop(line)

    def change(self, line: _Line, look: Look | None) -> None:
        """Narrow a line, or leave it out."""
        if not self._is_measured:
            for space in self._spaces:
                space.measure()
            self._measure()
        before = line.space.length()
        line.space.change(line, look)
        self._lines_length += line.space.length() - before
        if look is None:
            self._drop(line)

    def _drop(self, line: _Line) -> None:
        self._least -= line.least
        self._gone[line.entry.kind] += line.measured.count
        self._dropped = True

    def fits(self, max_chars: int) -> bool:
        # The last line is made only where it decides.
        return self._length <= max_chars and self._length + len(self._more()) + bool(self._more()) <= max_chars

    def _frame(self) -> tuple[str, ...]:
        frame = self.frame
        return (frame.head, frame.done, frame.now, frame.waits, f"next: {frame.next}" if frame.next else "")

    def text(self) -> str:
        head, done, now, waits, following = self._frame()
        told = [line for space in self._spaces for line in space.text()]
        return "\n".join(line for line in [head, done, now, *told, waits, self._more(), following] if line)

    def shown(self) -> Brief:
        return replace(self.frame, sections=tuple(space.shown() for space in self._spaces))

    def omitted(self) -> dict[str, int]:
        return {kind: count for kind, count in self._gone.items() if count}

    def room(self) -> int | None:
        # What was never read is shown by no limit.
        return _room(self.whole) if self._dropped else None

    def _more(self) -> str:
        if not self._gone:
            return ""
        counted = ", ".join(f"{count} {_plural(kind, count)}" for kind, count in self._in_order())
        again = {**self.brief.again, "max_chars": self.room()}
        return f"more: {counted}" + (f": {command('resume', again)}" if self.room() else "")

    def _in_order(self) -> Iterable[tuple[str, int]]:
        """What matters most first, whatever was left out first."""
        kinds = dict.fromkeys(entry.kind for section in self.brief.sections for entry in section.entries)
        return [(kind, self._gone[kind]) for kind in {**kinds, **self._gone} if self._gone[kind]]


def _smallest(bare: Brief, room: int, omitted: int, max_chars: int) -> str:
    """What is said when not even the frame fits: the counts become one number, then less and less of the frame."""
    more = f"more: {omitted} records: {command('resume', {**bare.again, 'max_chars': room})}" if omitted else ""
    following = f"next: {bare.next}" if bare.next else ""
    frames = (
        (bare.head, bare.done, bare.now, more, following),
        (bare.head, bare.now, more, following),
        (bare.head, more, following),
        (shorten(bare.head, 60), following),
        (shorten(bare.head, 60), more),
        (bare.head,),
    )
    texts = ["\n".join(line for line in frame if line) for frame in frames]
    return next((text for text in texts if len(text) <= max_chars), bare.head[:max_chars])


def _room(whole: int) -> int:
    """With this limit everything that was read fits. Rounded up, so that a changed word does not change the call."""
    return -(-whole // 100) * 100 + 100


def _plural(kind: str, count: int) -> str:
    return kind if count == 1 and kind != "history" else PLURALS.get(kind, f"{kind}s")
