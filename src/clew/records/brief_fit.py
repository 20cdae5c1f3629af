"""Selects the lines of a brief that fit a number of characters, and how detailed each is.

What is cut when the room is small follows a fixed order, which `_CUTS` spells out: first the names of
done steps and the reasons, then text beyond a line's width, then records unrelated to the task, then
facts, lessons, rejections, open questions, what changed, proposals, and decisions, lowest rank first.
Rules are cut last of all, and their text is shortened last. What is left out is counted by kind, with
the call that shows it.

The work is linear in the number of lines: each is measured once, a group that is not enough alone is
changed as a whole, and from there on each step adjusts running totals instead of computing them again.
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
    """A brief that fits: its text, what it shows, and how many of each kind are left out."""

    text: str
    shown: Brief
    omitted: dict[str, int]
    room: int | None = None
    """The limit at which everything that was read fits; None if nothing more could be shown."""

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
    """One way to save room: narrow the lines of these groups, or keep fewer of them, in this order."""

    groups: tuple[str, ...]
    look: Look | None = None
    """The new level of detail; None leaves entries out."""
    keep: int = 0
    """How many entries of each group to keep."""
    unrelated: bool = False
    """Apply only to entries unrelated to the task."""


_RECORDS = ("thoughts", "notes", "fact", "lesson", "rejected", "open", "since", "proposed", "decision")
"""From least to most important."""
_WORK = ("unproven", "work", "then", "tasks", "last", "urgent")
_SPARE = ("fact", "lesson", "rejected", "open", "proposed", "decision")


def _drop(keep: int, *groups: str) -> _Stage:
    return _Stage(groups, keep=keep)


_CUTS = (
    # The most important note, about the current step, is part of that step's line.
    _drop(0, "notes"),
    _drop(0, "done"),
    _Stage((*_RECORDS, *_WORK), Look(WIDTHS[1])),
    _Stage(("rules", "near"), Look(WIDTHS[0])),
    _drop(8, "work", "then", "tasks"),
    _drop(0, "thoughts"),
    _Stage((*_RECORDS, *_WORK), Look(WIDTHS[2])),
    _Stage(("rules", "near"), Look(WIDTHS[1])),
    # Complete sentences about the task are more useful than truncated ones about anything.
    _Stage(_SPARE, unrelated=True),
    # Each group keeps a few before any is dropped: the ninth decision matters less than the only open question.
    _drop(2, "fact", "lesson"),
    _drop(3, "rejected"),
    _drop(4, "open", "since", "unproven", "work", "then", "tasks"),
    _drop(12, "decision"),
    _Stage((*_RECORDS, *_WORK), Look(WIDTHS[3])),
    # A proposal can be opened later; the record it would replace is in force until then.
    _Stage(("decision",), Look(WIDTHS[3], proposals=False)),
    _drop(2, "proposed"),
    _drop(0, "fact", "lesson", "rejected"),
    _drop(2, "unproven", "then", "tasks"),
    _drop(1, "proposed"),
    # From here on decisions in force get at least half of the room left by the frame and the rules.
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
"""The groups that are cut first come first. Entries about the current step come last, except doubts and rules."""
_RULE_CUTS = (
    _Stage(("rules",), Look(WIDTHS[2])),
    _Stage(("rules",), Look(WIDTHS[3])),
    _drop(0, "rules"),
)
"""Cut after everything else, and after the frame was shortened."""
_FRAME = ("done", "then", "rules", "since", "notes", "thoughts", "work", "unproven", "tasks", "last")
"""Sections that form a group by their own name, whatever kinds their entries have."""


def _group(section: Section, entry: BriefLine) -> str:
    """The group that an entry belongs to."""
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
    # A kind that a plugin declares is treated like facts.
    return entry.kind if entry.kind in _SPARE else "fact"


def fit(brief: Brief, max_chars: int) -> Cut:
    layout = _Layout(brief)
    for _ in _cuts(layout, max_chars):
        if layout.fits(max_chars):
            return Cut(layout.text(), layout.shown(), layout.omitted(), layout.room())
    text = _smallest(layout.frame, _room(layout.whole), sum(layout.omitted().values()), max_chars)
    return Cut(text, layout.shown(), layout.omitted(), layout.room())


def _cuts(layout: _Layout, max_chars: int) -> Iterator[None]:
    """Shrinks the brief step by step, so a larger limit never drops a record that a smaller one keeps."""
    yield
    for stage in _CUTS:
        yield from _cut(layout, stage, max_chars)
    # Rules outlive the text around them, as long as the header and the next call remain.
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
    """An entry with its position and its current text: None if it was dropped."""

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
    """A section and its total length, updated line by line."""

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
        """Characters of the section including line ends."""
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
    """A brief while it is being cut: the detail of each line, and the total length."""

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self._spaces = [_Space(section) for section in brief.sections]
        self._groups: dict[str, list[_Line]] = {}
        for space in self._spaces:
            for line in space.lines:
                self._groups.setdefault(_group(space.section, line.entry), []).append(line)
        for group in self._groups.values():
            group.sort(key=lambda line: -line.entry.rank)  # stable: within one rank, the order of the section decides
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
        """The entries of a group that a stage changes, in order."""
        lines = [line for line in self._groups.get(group, []) if line.look is not None]
        if stage.look is not None:
            return lines
        return [line for line in lines[stage.keep :] if not (stage.unrelated and line.entry.rank)]

    def may_fit(self, chosen: list[_Line], look: Look | None, max_chars: int) -> bool:
        """False if the text is too long even after the last of these changes, however short each line gets."""
        going = sum(line.least for line in chosen) if look is None else 0
        return self._least - going <= max_chars

    def change_all(self, lines: list[_Line], look: Look | None) -> None:
        """Change lines without updating the totals, which are computed again before they are needed."""
        self._is_measured = False
        for line in lines:
            line.look = look
            if look is None:
                self._drop(line)

    def change(self, line: _Line, look: Look | None) -> None:
        """Narrow a line, or drop it."""
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
        # The last line is only built if it decides.
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
        # Records that were never read fit no limit.
        return _room(self.whole) if self._dropped else None

    def _more(self) -> str:
        if not self._gone:
            return ""
        counted = ", ".join(f"{count} {_plural(kind, count)}" for kind, count in self._in_order())
        again = {**self.brief.again, "max_chars": self.room()}
        return f"more: {counted}" + (f": {command('resume', again)}" if self.room() else "")

    def _in_order(self) -> Iterable[tuple[str, int]]:
        """Sorted by importance, regardless of the order in which they were dropped."""
        kinds = dict.fromkeys(entry.kind for section in self.brief.sections for entry in section.entries)
        return [(kind, self._gone[kind]) for kind in {**kinds, **self._gone} if self._gone[kind]]


def _smallest(bare: Brief, room: int, omitted: int, max_chars: int) -> str:
    """The fallback if not even the frame fits: the counts become one number, then the frame is dropped
    part by part."""
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
    """The limit at which everything that was read fits. Rounded up, so that small edits do not change the call."""
    return -(-whole // 100) * 100 + 100


def _plural(kind: str, count: int) -> str:
    return kind if count == 1 and kind != "history" else PLURALS.get(kind, f"{kind}s")
