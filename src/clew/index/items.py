"""What the search index holds of a thing that can be found: its fields, its words as terms, and what it points to."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from clew.canonical import digest
from clew.ids import MENTIONED
from clew.index.dates import find_moment
from clew.index.terms import terms

BODY_LIMIT = 20_000
MOST_LINKS = 64
QUESTION = "?"
"""Stands last among the terms of a text that ends as a question; no word is cut to it."""


@dataclass(frozen=True, slots=True)
class Item:
    """What a search may return. `ref` is the id that `open` takes; it is unique in its workspace.

    `event_ts_ms` is when the thing happened, `ts_ms` when it was recorded. `links` are (relation, ref) pairs such as
    ("supersedes", "D-20260213-001"); ids that the text mentions are found by themselves.
    """

    ref: str
    source: str
    seq: int
    ts_ms: int
    title: str | None = None
    body: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    status: str | None = None
    branch: int | None = None
    doc: str | None = None
    event_ts_ms: int | None = None
    speaker: str | None = None
    review_by: str | None = None
    links: tuple[tuple[str, str], ...] = ()

    def digest(self) -> str:
        text = "\x1f".join((self.title or "", self.body or "", " ".join(self.tags), self.speaker or ""))
        return digest(text)

    def targets(self) -> list[tuple[str, str]]:
        """Relation and ref of everything it points to: what its links say, then what its text mentions."""
        mentions = MENTIONED.findall(f"{self.title or ''}\n{(self.body or '')[:BODY_LIMIT]}")
        pairs = {(relation, target) for relation, target in self.links if target != self.ref}
        named = {target for _, target in pairs}
        pairs |= {("mentions", target) for target in mentions if target != self.ref and target not in named}
        return sorted(pairs)[:MOST_LINKS]


def item_terms(item: Item) -> str:
    """The terms of each field, one line for each."""
    fields = (item.title or "", (item.body or "")[:BODY_LIMIT], " ".join(item.tags), item.speaker or "")
    lines = [" ".join(terms(field)) if field else "" for field in fields]
    if item.body and asks(item.body):
        lines[1] += f" {QUESTION}"
    return "\n".join(lines)


def headed(item: Item) -> Item:
    """With the speaker and the moment that a transcript line names, where the caller gave none."""
    if not item.body or (item.speaker is not None and item.event_ts_ms is not None):
        return item
    speaker, moment = read_heading(item.body)
    if speaker is None and moment is None and item.speaker is None and item.event_ts_ms is None:
        return item
    return replace(item, speaker=item.speaker or speaker, event_ts_ms=item.event_ts_ms or moment)


# A transcript line may say who speaks and when: `[8 May 2023, 13:56] Caroline: Hello`.
_HEAD = 80
_DATED = re.compile(r"\s*[\[(]([^\])\n]{6,60})[\])]\s*")
_BARE_DATE = re.compile(
    r"\s*((?:19|20)\d\d[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?)[\s,:|-]+"
)
_SPEAKER = re.compile(
    r"(?:\*\*)?([A-Z][\w.'’-]{0,30}(?: [A-Z][\w.'’-]{0,30}){0,2}|user|assistant|human|system)(?:\*\*)?:\s"
)
_TRAILING = re.compile(r"(?:\s*[\[(][^\[\]()]*[\])])+\s*$")
_LABELS = """
answer because cmd command context date decision done error evidence example fact fixme goal how http hypothesis
link next note notes plan question rationale reason result risk status step summary test title todo update warning
what when why
"""
LABELS = frozenset(_LABELS.split())


def read_heading(body: str) -> tuple[str | None, int | None]:
    """The speaker and the moment that the beginning of a text names; None where it names none."""
    head = body[:_HEAD]
    dated = _DATED.match(head) or _BARE_DATE.match(head)
    moment = find_moment(dated.group(1)) if dated else None
    rest = body[dated.end() : dated.end() + _HEAD] if dated and moment is not None else head
    spoken = _SPEAKER.match(rest)
    if spoken is None or spoken.group(1).lower() in LABELS:
        return None, moment
    return spoken.group(1), moment


def asks(body: str) -> bool:
    """Whether a text ends as a question; remarks in brackets at its end do not count."""
    tail = body[-400:].rstrip()
    return tail.endswith(("?", "？")) or _TRAILING.sub("", tail).endswith(("?", "？"))
