"""A brief: where work stands, in lines, within a number of characters.

What must go when the room is small goes in a fixed order, which `_CUTS` spells out: first the names of done steps and
the reasons, then words beyond a line's width, then records that have nothing to do with the task, then facts, lessons,
rejections, open questions, what changed, proposals, and decisions, the lowest-ranked first. Rules go last of all, and
their text is shortened last. What is left out is counted by kind, with the call that shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from clew.errors import shorten
from clew.registry.envelope import command, one_line

WIDTHS = (320, 160, 100, 72)
"""Characters of one record's text: as it should read, and how far it is narrowed before records are left out. `open`
shows a record whole, so a narrowed one is still there to be found; one that is left out is not."""
TITLED = WIDTHS[1]
"""In less room than this a title says more than the beginning of a text."""
TELLING = 4
"""Words of a title that tells what was decided and can stand for it; a shorter one (`Clock`) names the topic only."""
OLD_WIDTH = 40
"""Fewest characters of a record that another one would replace; the other one is what matters."""
NOW_WIDTH = 120
PLURALS = {"hypothesis": "hypotheses", "history": "events", "rejected": "rejected alternatives"}


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
    def count(self) -> int:
        """How many records the line tells."""
        return 1 if self.instead is None else 2

    def line(self, look: Look) -> str:
        # A label in capitals (REJECTED) reads as a mark before the text, any other as the name of its kind.
        colon = "" if self.label.isupper() else ":"
        named = f"{self.id} {self.label}{colon}" if self.label else self.id
        if self.instead is not None and not look.proposals:
            return f"{named} {self.words(look)} -> {self.instead.id} proposed"
        if self.instead is not None:
            old = shorten(one_line(self.text), max(OLD_WIDTH, look.width // 4))
            return f"{named} {old} -> {self.instead.id} proposed: {self.instead.words(look)}"
        return " ".join(part for part in (named, self.words(look), f"({self.alarm})" if self.alarm else "") if part)

    def words(self, look: Look) -> str:
        """What it says and why, as far as there is room."""
        says = one_line(self.text)
        if len(says) > look.width < TITLED and len(self.short.split()) >= TELLING:
            says = one_line(self.short)
        elif self.why and look.reasons:
            says = f"{says} Why: {one_line(self.why)}" if says.endswith(".") else f"{says}. Why: {one_line(self.why)}"
        return shorten(says, look.width)

    def to_json(self) -> dict[str, Any]:
        optional = {"label": self.label, "alarm": self.alarm, "why": self.why}
        shown = {"kind": self.kind, "id": self.id, "text": self.text}
        instead = {"instead": self.instead.to_json()} if self.instead is not None else {}
        return {**shown, **{name: value for name, value in optional.items() if value}, **instead}


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

    @property
    def total(self) -> int:
        return sum(entry.count for entry in self.entries) + self.unread

    def title(self, shown: int) -> str:
        """The line above the entries, or before them where they stand in one line."""
        if self.inline:
            return self.heading or self.name
        count = str(self.total) if shown == self.total else f"{shown} of {self.total}"
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


@dataclass(frozen=True, slots=True)
class Cut:
    """A brief that fits: its text, what it shows, and how many of each kind it leaves out."""

    text: str
    shown: Brief
    omitted: dict[str, int]
    room: int | None = None
    """With this limit nothing is left out that was read; None where nothing is."""


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
_WORK = ("unproven", "work", "then", "urgent")
_SPARE = ("fact", "lesson", "rejected", "proposed", "decision")


def _drop(keep: int, *groups: str) -> _Stage:
    return _Stage(groups, keep=keep)


_CUTS = (
    # The note that counts most, about the step in hand, stands in the line of that step.
    _drop(0, "notes"),
    _drop(0, "done"),
    _Stage((*_RECORDS, *_WORK), Look(WIDTHS[1])),
    _Stage(("rules",), Look(WIDTHS[0])),
    _Stage((*_RECORDS, *_WORK), Look(WIDTHS[2])),
    _drop(8, "work", "then"),
    _drop(0, "thoughts"),
    _Stage(_SPARE, unrelated=True),
    _Stage((*_RECORDS, *_WORK), Look(WIDTHS[3])),
    _Stage(("rules",), Look(WIDTHS[1])),
    # A share for each before any group goes whole: the ninth decision says less than the only open question.
    _drop(2, "fact", "lesson"),
    _drop(3, "rejected"),
    _drop(4, "open", "since", "unproven", "work", "then"),
    # A proposal waits for a person and can be opened; what it would replace is in force until then.
    _Stage(("decision",), Look(WIDTHS[3], proposals=False)),
    _drop(2, "proposed"),
    _drop(12, "decision"),
    _drop(0, "fact", "lesson", "rejected"),
    _drop(2, "unproven", "then"),
    _drop(1, "proposed"),
    # From here on decisions in force get at least half of the room that the frame and the rules leave.
    _drop(2, "open", "since"),
    _drop(8, "decision"),
    _drop(0, "proposed"),
    _drop(1, "open", "since"),
    _drop(4, "decision"),
    _drop(0, "open", "since", "decision"),
    _drop(1, "unproven", "work", "then"),
    _drop(0, "unproven", "work", "then", "urgent"),
)
"""What goes first stands first."""
_RULE_CUTS = (
    _Stage(("rules",), Look(WIDTHS[2])),
    _Stage(("rules",), Look(WIDTHS[3])),
    _drop(0, "rules"),
)
"""After everything else, and after the frame was made smaller."""


def _group(section: Section, entry: BriefLine) -> str:
    """What an entry is cut with."""
    if section.name in ("decisions", "known", "open", "doubts") and entry.alarm:
        return "urgent"
    if section.name in ("decisions", "known") and entry.proposed:
        return "proposed"
    return entry.kind if section.name in ("decisions", "known") else section.name


def fit(brief: Brief, max_chars: int) -> Cut:
    layout = _Layout(brief)
    for _ in _cuts(layout):
        if layout.fits(max_chars):
            return Cut(layout.text(), layout.shown(), layout.omitted(), layout.room())
    text = _smallest(layout.frame, _room(layout.whole), sum(layout.omitted().values()), max_chars)
    return Cut(text, layout.shown(), layout.omitted(), layout.room())


def _cuts(layout: _Layout) -> Iterator[None]:
    """Makes the brief smaller step by step: so with more room no record goes that stays with less."""
    yield
    for stage in _CUTS:
        yield from _cut(layout, stage)
    # Rules outlive what is said around them, as long as the head and the next call stand.
    layout.frame = replace(layout.frame, waits="")
    yield
    layout.frame = replace(layout.frame, now=shorten(layout.frame.now, NOW_WIDTH))
    yield
    for stage in _RULE_CUTS:
        yield from _cut(layout, stage)


def _cut(layout: _Layout, stage: _Stage) -> Iterator[None]:
    for group in stage.groups:
        places = layout.places(group)
        if stage.look is None:
            chosen = [place for place in places[stage.keep :] if not (stage.unrelated and layout.entry(place).rank)]
        else:
            chosen = places
        for place in reversed(chosen):
            layout.change(place, stage.look)
            yield


Place = tuple[int, int]
"""Which section, and which entry of it."""


class _Layout:
    """A brief while it is cut: how much each line says, and how long the text is, kept up to date entry by entry."""

    def __init__(self, brief: Brief) -> None:
        self.brief = self.frame = brief
        self._looks: dict[Place, Look] = {}
        self._lengths: dict[Place, int] = {}
        self._groups: dict[str, list[Place]] = {}
        self._size = [0 for _ in brief.sections]
        self._count = [0 for _ in brief.sections]
        self._lines = [0 for _ in brief.sections]
        for number, section in enumerate(brief.sections):
            for index, entry in enumerate(section.entries):
                self._groups.setdefault(_group(section, entry), []).append((number, index))
                self._add((number, index), WHOLE)
        for group in self._groups.values():
            group.sort(key=lambda place: -self.entry(place).rank)  # stable: of one rank, what stands first matters most
        self._gone: Counter[str] = Counter()
        for section in brief.sections:
            if section.unread:
                self._gone[section.unread_kind] += section.unread
        self._dropped, self.whole = False, 0
        self.whole = len(self.text())

    def entry(self, place: Place) -> BriefLine:
        return self.brief.sections[place[0]].entries[place[1]]

    def places(self, group: str) -> list[Place]:
        """The entries of a group that are still there, the foremost first."""
        return [place for place in self._groups.get(group, []) if place in self._looks]

    def change(self, place: Place, look: Look | None) -> None:
        """Narrow a line, or leave it out."""
        self._remove(place)
        if look is not None:
            self._add(place, look)
        else:
            self._gone[self.entry(place).kind] += self.entry(place).count
            self._dropped = True

    def _add(self, place: Place, look: Look) -> None:
        self._looks[place], self._lengths[place] = look, len(self.entry(place).line(look))
        self._size[place[0]] += self._lengths[place]
        self._count[place[0]] += self.entry(place).count
        self._lines[place[0]] += 1

    def _remove(self, place: Place) -> None:
        del self._looks[place]
        self._size[place[0]] -= self._lengths.pop(place)
        self._count[place[0]] -= self.entry(place).count
        self._lines[place[0]] -= 1

    def fits(self, max_chars: int) -> bool:
        length = sum(len(line) + 1 for line in self._frame() if line) - 1
        length += sum(self._length(number) for number in range(len(self.brief.sections)))
        # The last line is made only where it decides.
        return length <= max_chars and length + len(self._more()) + bool(self._more()) <= max_chars

    def _length(self, number: int) -> int:
        """Characters of a section with the ends of its lines."""
        lines = self._lines[number]
        if not lines:
            return 0
        section = self.brief.sections[number]
        between = 2 * (lines - 1) + 1 if section.inline else 3 * lines
        return len(section.title(self._count[number])) + 1 + self._size[number] + between

    def _frame(self) -> tuple[str, ...]:
        frame = self.frame
        return (frame.head, frame.done, frame.now, frame.waits, f"next: {frame.next}" if frame.next else "")

    def text(self) -> str:
        head, done, now, waits, following = self._frame()
        lines = [head, done, now]
        for number, section in enumerate(self.brief.sections):
            shown = [
                entry.line(self._looks[number, index])
                for index, entry in enumerate(section.entries)
                if (number, index) in self._looks
            ]
            title = section.title(self._count[number])
            if shown:
                lines += (
                    [f"{title} {'; '.join(shown)}"] if section.inline else [title, *(f"  {line}" for line in shown)]
                )
        return "\n".join(line for line in [*lines, waits, self._more(), following] if line)

    def shown(self) -> Brief:
        sections = [
            replace(
                section,
                entries=tuple(e for index, e in enumerate(section.entries) if (number, index) in self._looks),
            )
            for number, section in enumerate(self.brief.sections)
        ]
        return replace(self.frame, sections=tuple(sections))

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


def brief_json(cut: Cut) -> dict[str, Any]:
    brief = cut.shown
    return {
        "head": brief.head,
        "progress": brief.done or None,
        "now": brief.now or None,
        **{section.name: [entry.to_json() for entry in section.entries] for section in brief.sections},
        "waits": brief.waits or None,
        "omitted": cut.omitted,
        "next": brief.next or None,
        "text": cut.text,
    }
