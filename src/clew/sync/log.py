"""The log of changes: what this store did since it was last written down, and what others did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from uuid import uuid4

from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.registry.context import Context
from clew.store.erasing import RECORD_ERASED
from clew.store.events import EventFilter, last_event_seq
from clew.store.rows import TableRow, chunks, find, find_many, insert_many, load, upsert
from clew.sync.bundle_format import content_digest
from clew.sync.change import ERASE, REMOVE, WRITE, SyncChange, by_record, heads_of, state_of
from clew.sync.names import TravellingNames, travels

ORIGIN = "sync"
"""The origin of versions of blocks that were derived from the logs; they are no one's change."""
PORTION = 500
MOST_ERASURES = 1_000


@dataclass(frozen=True, slots=True)
class SyncState(TableRow):
    """The name of this store's log, and how far it is written."""

    TABLE: ClassVar[str] = "sync_state"
    KEY: ClassVar[tuple[str, ...]] = ()

    origin: str
    captured_seq: int
    captured_event: int


@dataclass(frozen=True)
class LogEnd:
    seq: int = 0
    digest: str = ""


class SyncLog:
    """The logs of a workspace, inside of one transaction that writes."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.state = find(ctx.tx, ctx.workspace, SyncState) or SyncState(new_origin(), 0, 0)
        self.names = TravellingNames(ctx, self.state.origin)
        self._end = end_of(ctx, self.state.origin)
        self._waiting: list[SyncChange] = []

    @property
    def origin(self) -> str:
        return self.state.origin

    def capture(self) -> int:
        """Write down what happened here since the last time; returns the number of changes."""
        before = self._end.seq
        while versions := blocks.versions_after(self.ctx, self.state.captured_seq, PORTION):
            self._capture_versions(versions)
            self._flush()
            self.state = replace(self.state, captured_seq=versions[-1].seq)
        self._capture_erasures()
        upsert(self.ctx.tx, self.ctx.workspace, self.state)
        return self._end.seq - before

    def take(self, changes: Sequence[SyncChange]) -> None:
        """Keep changes of another origin."""
        insert_many(self.ctx.tx, self.ctx.workspace, changes)

    def rename(self) -> None:
        """Go on under another name: under the present one a later copy of this store has gone on."""
        self.state = replace(self.state, origin=new_origin())
        self.names = TravellingNames(self.ctx, self.state.origin)
        self._end = LogEnd()
        upsert(self.ctx.tx, self.ctx.workspace, self.state)

    def restate(self, record: str, erased: Sequence[int] = ()) -> None:
        """Say what the record is here, as seen after everything that is known of it."""
        past = changes_of(self.ctx, [record])
        block = self._block_of(record)
        when, by = self.ctx.now_ms, self.ctx.agent
        if block is None:
            self._append(past, REMOVE, record, past[-1].file, None, when, by, erased)
        else:
            (text,) = self.names.outward([block.text])
            self._append(past, WRITE, record, block.file, text, when, by, erased)
        self._flush()

    def _block_of(self, record: str) -> Block | None:
        id = self.names.id_of(record)
        return blocks.find(self.ctx, id) if id else None

    def _capture_versions(self, versions: Sequence[Block]) -> None:
        own = [block for block in versions if block.origin != ORIGIN and travels(block.id, block.file)]
        texts = self.names.outward(block.text for block in own)
        known = by_record(changes_of(self.ctx, [self.names.record_of(block.id) for block in own]))
        for block, text in zip(own, texts, strict=True):
            record = self.names.record_of(block.id)
            past = known.setdefault(record, [])
            if _is_news(block, text, past):
                kind, said = (REMOVE, None) if block.gone else (WRITE, text)
                past.append(self._append(past, kind, record, block.file, said, block.ts_ms, block.agent))

    def _append(
        self,
        past: Iterable[SyncChange],
        kind: str,
        record: str,
        file: str,
        text: str | None,
        ts_ms: int,
        agent: str | None,
        erased: Sequence[int] = (),
    ) -> SyncChange:
        line: dict[str, Any] = {
            "agent": agent,
            "content": content_digest(text) if text is not None else "",
            "erased": list(erased),
            "file": file,
            "kind": kind,
            "parents": [head.id for head in heads_of(past)],
            "record": record,
            "seq": self._end.seq + 1,
            "ts_ms": ts_ms,
            **({"text": text} if text is not None else {}),
        }
        change = SyncChange.from_line(self.origin, self._end.digest, line)
        self._end = LogEnd(change.seq, change.digest)
        self._waiting.append(change)
        return change

    def _flush(self) -> None:
        self.take(self._waiting)
        self._waiting = []

    def _capture_erasures(self) -> None:
        """Name what erasures took out of this log, and say that the records are gone."""
        last = last_event_seq(self.ctx.tx, self.ctx.workspace)
        wanted = EventFilter((RECORD_ERASED,), after=self.state.captured_event)
        erasures = wanted.newest(self.ctx.tx, self.ctx.workspace, MOST_ERASURES)
        self.state = replace(self.state, captured_event=last)
        if not erasures:
            return
        for event in erasures:
            self._blank(self.names.named(event.subject or "") or "")
        emptied = self._emptied()
        for event in reversed(erasures):
            record = self.names.named(event.subject or "")
            past = changes_of(self.ctx, [record]) if record else []
            if record and past and not state_of(past).erased:
                gone = emptied.pop(record, [])
                self._append(past, ERASE, record, past[-1].file, None, event.ts_ms, event.agent, gone)
        self._flush()
        for record, seqs in emptied.items():
            self.restate(record, seqs)  # it held a copy of what was erased

    def _blank(self, record: str) -> None:
        """Take every text of the record out of the logs, also what was too short to be searched for."""
        sql = "UPDATE sync_change SET body = NULL WHERE workspace = ? AND record = ?"
        self.ctx.tx.run(sql, self.ctx.workspace, record)

    def _emptied(self) -> dict[str, list[int]]:
        """The changes of this log that lost their text and are not yet named, by record."""
        own = list(changes_in(self.ctx, self.origin, 0))
        named = {seq for change in own for seq in change.erased}
        found: dict[str, list[int]] = {}
        for change in own:
            if change.content and change.text is None and change.seq not in named:
                found.setdefault(change.record, []).append(change.seq)
        return found


def _is_news(block: Block, text: str, past: Sequence[SyncChange]) -> bool:
    """Whether a version says anything that the log does not say yet. A proposal travels when it is decided."""
    if not past:
        return not block.gone and block.status not in (statuses.PROPOSED, statuses.REJECTED)
    now = state_of(past)
    if block.gone:
        return now.text is not None
    return block.status != statuses.PROPOSED and (now.text, now.file) != (text, block.file)


def new_origin() -> str:
    return uuid4().hex[:10]


def end_of(ctx: Context, origin: str) -> LogEnd:
    sql = "SELECT seq, digest FROM sync_change WHERE workspace = ? AND origin = ? ORDER BY seq DESC LIMIT 1"
    row = ctx.tx.one(sql, ctx.workspace, origin)
    return LogEnd(row["seq"], row["digest"]) if row else LogEnd()


def ends(ctx: Context) -> dict[str, int]:
    """How far each known origin's log goes."""
    sql = "SELECT origin, max(seq) AS last FROM sync_change WHERE workspace = ? GROUP BY origin ORDER BY origin"
    return {row["origin"]: row["last"] for row in ctx.tx.all(sql, ctx.workspace)}


def changes_in(ctx: Context, origin: str, after: int) -> Iterator[SyncChange]:
    sql = "SELECT * FROM sync_change WHERE workspace = ? AND origin = ? AND seq > ? ORDER BY seq LIMIT ?"
    while rows := ctx.tx.all(sql, ctx.workspace, origin, after, PORTION):
        yield from (load(SyncChange, row) for row in rows)
        after = rows[-1]["seq"]


def changes_of(ctx: Context, records: Sequence[str]) -> list[SyncChange]:
    """Everything that is known of these records, in an order that is the same everywhere."""
    found = find_many(ctx.tx, ctx.workspace, SyncChange, records, "record")
    return sorted(found, key=lambda change: change.order)


def all_changes(ctx: Context) -> Iterator[list[SyncChange]]:
    """All changes, record by record."""
    sql = "SELECT DISTINCT record FROM sync_change WHERE workspace = ? ORDER BY record"
    records = [row["record"] for row in ctx.tx.all(sql, ctx.workspace)]
    for part in chunks(records):
        yield from by_record(changes_of(ctx, part)).values()


def state_digest(ctx: Context) -> str:
    """One digest of what all records say: equal in stores that know the same changes."""
    found = []
    for group in all_changes(ctx):
        state = state_of(group)
        found.append(f"{group[0].record}\n{content_digest(state.text) if state.text is not None else ''}")
    return content_digest("\n".join(sorted(found)))
