"""A change of a record as the log keeps it, and what a set of changes makes of a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from clew.memory.files.field_merge import FieldConflict, merge_fields
from clew.store.rows import TableRow
from clew.sync import bundle_format

WRITE, REMOVE, ERASE = bundle_format.KINDS
REMOVED = "removed"
"""Names the side of a conflict that took the record away."""


@dataclass(frozen=True, slots=True)
class SyncChange(TableRow):
    """One change of one record by one origin."""

    TABLE: ClassVar[str] = "sync_change"
    KEY: ClassVar[tuple[str, ...]] = ("origin", "seq")
    LISTS: ClassVar[frozenset[str]] = frozenset({"parents", "erased"})

    origin: str
    seq: int
    kind: str
    record: str
    ts_ms: int
    agent: str | None
    file: str
    parents: tuple[str, ...]
    """The changes of this record that its author saw, as `origin:seq`."""
    erased: tuple[int, ...]
    """Numbers of this origin's changes whose text an erasure took out."""
    content: str
    """The digest of the text; empty for what has none."""
    body: str | None
    """The text. After an erasure it is another one than `content` says."""
    digest: str
    """The chain up to here."""

    @property
    def id(self) -> str:
        return f"{self.origin}:{self.seq}"

    @property
    def order(self) -> tuple[int, str, int]:
        """Which of two changes counts as the later one, the same in every store."""
        return self.ts_ms, self.origin, self.seq

    @property
    def text(self) -> str | None:
        """What the change says; None for a removal, and after an erasure."""
        intact = self.body is not None and bundle_format.content_digest(self.body) == self.content
        return self.body if self.content and intact else None

    def to_line(self) -> bundle_format.Change:
        line: bundle_format.Change = {
            "agent": self.agent,
            "content": self.content,
            "erased": list(self.erased),
            "file": self.file,
            "kind": self.kind,
            "parents": list(self.parents),
            "record": self.record,
            "seq": self.seq,
            "ts_ms": self.ts_ms,
        }
        return line if self.text is None else {**line, "text": self.text}

    @classmethod
    def from_line(cls, origin: str, before: str, line: bundle_format.Change) -> SyncChange:
        named = {name: line[name] for name in bundle_format.FIELDS}
        lists = {"parents": tuple(line["parents"]), "erased": tuple(line["erased"])}
        digest = bundle_format.chained(before, origin, line)
        return cls(**{**named, **lists}, origin=origin, body=line.get("text"), digest=digest)


@dataclass(frozen=True)
class RecordState:
    """What the changes make of a record; equal sets of changes give equal states."""

    text: str | None
    file: str
    heads: tuple[str, ...]
    conflicts: tuple[FieldConflict, ...] = ()
    erased: bool = False


def state_of(changes: Sequence[SyncChange]) -> RecordState:
    """The record after all of these changes, merged where origins did not know of each other."""
    heads = heads_of(changes)
    last = heads[-1]
    names = tuple(head.id for head in heads)
    if any(change.kind == ERASE for change in changes):
        return RecordState(None, last.file, names, erased=True)
    ancestry = _Ancestry(changes)
    text, seen = heads[0].text, ancestry.of(heads[0])
    conflicts: list[FieldConflict] = []
    for head in heads[1:]:
        base = ancestry.newest(seen & ancestry.of(head))
        text, found = _merged(base.text if base else None, text, head)
        conflicts += found
        seen |= ancestry.of(head)
    return RecordState(text, last.file, names, tuple(conflicts))


def heads_of(changes: Iterable[SyncChange]) -> list[SyncChange]:
    """The changes that no other has seen, the latest last."""
    listed = list(changes)
    seen = {parent for change in listed for parent in change.parents}
    return sorted((change for change in listed if change.id not in seen), key=lambda change: change.order)


class _Ancestry:
    def __init__(self, changes: Sequence[SyncChange]) -> None:
        self._by_id = {change.id: change for change in changes}

    def of(self, change: SyncChange) -> set[str]:
        """The change and everything that it rests on, as far as it is known."""
        found: set[str] = set()
        waiting = [change.id]
        while waiting:
            id = waiting.pop()
            if id in self._by_id and id not in found:
                found.add(id)
                waiting += self._by_id[id].parents
        return found

    def newest(self, ids: Iterable[str]) -> SyncChange | None:
        return max((self._by_id[id] for id in ids), key=lambda change: change.order, default=None)


def _merged(base: str | None, ours: str | None, head: SyncChange) -> tuple[str | None, list[FieldConflict]]:
    """Three-way, field by field. The later change (`head`) is kept where both changed a field differently."""
    theirs = head.text
    if ours == theirs:
        return ours, []
    if ours is None or theirs is None:
        kept = theirs if ours is None else ours
        was_removed = head.kind == REMOVE or base is not None
        return kept, [FieldConflict(REMOVED, None, None)] if was_removed and kept is not None else []
    return merge_fields(base, ours, theirs)


def by_record(changes: Iterable[SyncChange]) -> dict[str, list[SyncChange]]:
    found: dict[str, list[SyncChange]] = {}
    for change in changes:
        found.setdefault(change.record, []).append(change)
    return found
