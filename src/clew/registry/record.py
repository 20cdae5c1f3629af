"""Hooks that a domain provides for its records, so that one call works on every id.

A domain decorates its functions: `@opener("task", "plan")` shows a record, `@linker(...)` returns its links,
`@retracter(...)` withdraws it, `@namer(...)` returns the names of many and `@previewer(...)` their content;
`@refresh("block")` and `@writer("block")` are for records that are also kept in files. The keys are kinds of ids
(`clew.ids.PATTERNS`) or kinds of search results.
`@inbox_items("kind")` lists items that wait for a person; the Inbox collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from clew.canonical import Json
from clew.hooks import HookPoint
from clew.kinds.state import Verdict
from clew.registry.context import Context
from clew.store.events import first_seqs

Opened = Json
Opener = Callable[[Context, str, int, bool], Opened | None]
"""`(ctx, id, limit, include_drafts)` -> the record with `kind` and `id` or `ref`, or None. Reads only."""

opener: HookPoint[Opener] = HookPoint("opener")
refresh: HookPoint[Callable[[Context], object]] = HookPoint("refresh")
"""Called before a record of this kind is opened, outside of any transaction."""


@dataclass(frozen=True, slots=True)
class Named:
    """A record in a list: its kind, name and status."""

    id: str
    kind: str
    title: str
    status: str | None = None

    def to_json(self) -> Json:
        return {"id": self.id, "kind": self.kind, "title": self.title, "status": self.status}


namer: HookPoint[Callable[[Context, list[str]], list[Named]]] = HookPoint("namer")
"""`(ctx, ids)` -> those of the ids that exist, in one query."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A record as search shows it: title, content and reason as separate fields, and its current status."""

    text: str | None = None
    """None: the content is what the search index holds."""
    state: str | None = None
    """Set if its store knows more than the search index: a step may be done on a proof that became stale."""
    verdict: Verdict | None = None


previewer: HookPoint[Callable[[Context, list[str]], dict[str, Preview]]] = HookPoint("previewer")
"""`(ctx, ids)` -> the current previews of those of the ids that exist."""


@dataclass(frozen=True, slots=True)
class RecordLink:
    """One record points to another."""

    start: str
    rel: str
    end: str


REPLACES, KEPT_INSTEAD = "replaces", "kept in place of"


def successions(ctx: Context, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The relation of each (new, old) pair: a record replaces an older one, or is kept in place of a newer one
    that was a duplicate or a mistake."""
    wanted = list(dict.fromkeys(pairs))
    born = first_seqs(ctx.tx, ctx.workspace, sorted({id for pair in wanted for id in pair}))
    late = {(new, old) for new, old in wanted if new in born and old in born and born[new] < born[old]}
    return {pair: KEPT_INSTEAD if pair in late else REPLACES for pair in wanted}


Linker = Callable[[Context, str, int], list[RecordLink]]
"""`(ctx, id, limit)` -> the links of a record in the domain's own tables, in both directions."""

linker: HookPoint[Linker] = HookPoint("linker")


@dataclass(frozen=True, slots=True)
class Retraction:
    """A request to withdraw a record."""

    why: str
    replaced_by: str | None = None

    @property
    def line(self) -> str:
        return f"{self.why} (replaced by {self.replaced_by})" if self.replaced_by else self.why


@dataclass(frozen=True, slots=True)
class Retracted:
    """The result: its new status, and the proposal that still waits for a person, if there is one."""

    status: str
    proposal: str | None = None
    note: str | None = None


retracter: HookPoint[Callable[[Context, str, Retraction], Retracted]] = HookPoint("retracter")
"""Withdraws a record of this kind as its domain does, inside the given transaction."""


@dataclass(frozen=True, slots=True)
class Restoration:
    """The result of a restoration: the new status, and the proposal that waits, if there is one."""

    status: str | None
    proposal: str | None = None
    note: str | None = None


restorer: HookPoint[Callable[[Context, str, str, str | None], Restoration]] = HookPoint("restorer")
"""`(ctx, id, why, was)` restores a record of this kind that was withdrawn or replaced, in the given transaction;
`was` is its previous status, if that was kept."""

assessor: HookPoint[Callable[[Context, Sequence[str]], dict[str, Verdict]]] = HookPoint("assessor")
"""`(ctx, ids)` -> for each of the records that search knows, whether it is in force, and what contradicts it."""

withdrawn: HookPoint[Callable[[Context, Sequence[str]], object]] = HookPoint("withdrawn")
"""`(ctx, ids)`: these records are no longer in force. Whatever each had replaced comes into force again."""

writer: HookPoint[Callable[[Context], AbstractContextManager[Context]]] = HookPoint("writer")
"""The transaction in which records of this kind are changed, if files have to be written as well as the store."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file that an agent's client reported as edited."""

    path: str
    session: str
    client: str
    ts_ms: int


file_edits: HookPoint[Callable[[Context, int], list[FileEdit]]] = HookPoint("file_edits")
"""`(ctx, since_ms)` -> files that agents edited since then, each once, most recent first."""


@dataclass(frozen=True, slots=True)
class InboxItem:
    """An inbox item: the record to open, its question in a sentence, and the default outcome if no one acts."""

    id: str
    kind: str
    title: str
    ts_ms: int
    default_outcome: str
    by: str | None = None
    """The author of the question."""
    about: tuple[str, ...] = ()
    """Related or source records."""
    note: str = ""
    """Why it waits, in the author's words."""
    risk: str | None = None
    until_ms: int | None = None
    """Postponed until then by the domain itself."""
    advice: str | None = None
    facts: Json | None = None
    """Data for the possible actions."""

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "ts_ms": self.ts_ms,
            "if_nobody": self.default_outcome,
            "by": self.by,
            "note": self.note,
            "risk": self.risk,
            "until_ms": self.until_ms,
            "advice": self.advice,
            "facts": self.facts or {},
        }


inbox_items: HookPoint[Callable[[Context, int], list[InboxItem]]] = HookPoint("inbox_items")
"""`(ctx, limit)` -> at most so many items, oldest first. Reads only. The Inbox tracks which ones are postponed."""
