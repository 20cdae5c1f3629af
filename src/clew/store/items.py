"""What the search index holds of a thing that can be found: its fields, its words as terms, and what it points to."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from clew.store.heading import asks, read_heading
from clew.store.terms import terms

BODY_LIMIT = 20_000
MOST_LINKS = 64
QUESTION = "?"
"""Stands last among the terms of a text that ends as a question; no word is cut to it."""

MENTIONED = re.compile(
    r"\b(?:(?:PLAN|TASK|JOB)-\d{3,}|CARD-\d+|STEP-[0-9A-F]{8,}|(?:D|T|C|P|PRJ|PER|TOOL|INC|SIG|DREF)-\d{8}-\d{3,})\b"
    r"|\ba:[a-z0-9][a-z0-9-]{0,63}"
)


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
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()

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
