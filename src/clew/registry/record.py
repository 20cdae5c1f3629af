"""What a domain offers for the records it keeps, so that one call works on every id.

A domain decorates its functions: `@opener("task", "plan")` shows a record, `@linker(...)` names what it is linked to,
`@retracter(...)` takes it back, `@namer(...)` says what many of them are called and `@previewer(...)` what they say;
`@refresh("block")` and `@writer("block")` are for records that also stand in files. The keys are kinds of ids
(`clew.ids.PATTERNS`) or kinds of what search finds.
`@inbox_items("kind")` lists what waits for a person; the Inbox gathers it.
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
    """What a list says of a record: what it is, what it is called, and how it stands."""

    id: str
    kind: str
    title: str
    status: str | None = None

    def to_json(self) -> Json:
        return {"id": self.id, "kind": self.kind, "title": self.title, "status": self.status}


namer: HookPoint[Callable[[Context, list[str]], list[Named]]] = HookPoint("namer")
"""`(ctx, ids)` -> those of the ids that there are, in one question to the store."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A record as search shows it: title, what and why apart from each other, and how it stands now."""

    text: str | None = None
    """None: what search holds of it is what it says."""
    state: str | None = None
    """Where its store knows more than search does: a step may be done on a proof that went stale."""
    verdict: Verdict | None = None


previewer: HookPoint[Callable[[Context, list[str]], dict[str, Preview]]] = HookPoint("previewer")
"""`(ctx, ids)` -> those of the ids that there are, as they read now."""


@dataclass(frozen=True, slots=True)
class RecordLink:
    """One record points to another."""

    start: str
    rel: str
    end: str


REPLACES, KEPT_INSTEAD = "replaces", "kept in place of"


def successions(ctx: Context, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """How each (new, old) pair is told: a record replaces an older one, and is kept in place of one that came after it,
    which was a repetition or a mistake."""
    wanted = list(dict.fromkeys(pairs))
    born = first_seqs(ctx.tx, ctx.workspace, sorted({id for pair in wanted for id in pair}))
    late = {(new, old) for new, old in wanted if new in born and old in born and born[new] < born[old]}
    return {pair: KEPT_INSTEAD if pair in late else REPLACES for pair in wanted}


Linker = Callable[[Context, str, int], list[RecordLink]]
"""`(ctx, id, limit)` -> the links at a record that the domain's own tables hold, in both directions."""

linker: HookPoint[Linker] = HookPoint("linker")


@dataclass(frozen=True, slots=True)
class Retraction:
    """That a record no longer holds."""

    why: str
    replaced_by: str | None = None

    @property
    def line(self) -> str:
        return f"{self.why} (replaced by {self.replaced_by})" if self.replaced_by else self.why


@dataclass(frozen=True, slots=True)
class Retracted:
    """What became of it: the status it has now, and the proposal that still waits for a person, if one does."""

    status: str
    proposal: str | None = None
    note: str | None = None


retracter: HookPoint[Callable[[Context, str, Retraction], Retracted]] = HookPoint("retracter")
"""Takes back a record of this kind in the way of its domain, inside the transaction that is given."""


@dataclass(frozen=True, slots=True)
class Restoration:
    """What became of a record that was to hold again: its status now, and the proposal that waits, if one does."""

    status: str | None
    proposal: str | None = None
    note: str | None = None


restorer: HookPoint[Callable[[Context, str, str, str | None], Restoration]] = HookPoint("restorer")
"""`(ctx, id, why, was)` brings back a record of this kind that was withdrawn or replaced, in the transaction given;
`was` is the status that it had before, where that was kept."""

assessor: HookPoint[Callable[[Context, Sequence[str]], dict[str, Verdict]]] = HookPoint("assessor")
"""`(ctx, ids)` -> whether each of the records that search knows holds, and what speaks against it."""

withdrawn: HookPoint[Callable[[Context, Sequence[str]], object]] = HookPoint("withdrawn")
"""`(ctx, ids)`: these records held until now. What each had replaced comes into force again."""

writer: HookPoint[Callable[[Context], AbstractContextManager[Context]]] = HookPoint("writer")
"""The transaction in which records of this kind are changed, where more than the store has to be written."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file that an agent's client reported as edited."""

    path: str
    session: str
    client: str
    ts_ms: int


file_edits: HookPoint[Callable[[Context, int], list[FileEdit]]] = HookPoint("file_edits")
"""`(ctx, since_ms)` -> what agents edited since then, each file once, the one edited last first."""


@dataclass(frozen=True, slots=True)
class InboxItem:
    """One matter that waits: the record to open, what it asks in a sentence, and what happens if nobody acts."""

    id: str
    kind: str
    title: str
    ts_ms: int
    default_outcome: str
    by: str | None = None
    """Who asks."""
    about: tuple[str, ...] = ()
    """Records that it concerns or came from."""
    note: str = ""
    """Why it waits, in the words of whoever asks."""
    risk: str | None = None
    until_ms: int | None = None
    """Put off until then by the domain itself."""
    advice: str | None = None
    facts: Json | None = None
    """What the ways out need to know."""

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
"""`(ctx, limit)` -> at most so many matters, oldest first. Reads only. The Inbox knows what was put off."""
