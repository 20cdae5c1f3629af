"""Records which transaction wrote what, so that its author can undo it.

A transaction owns the seqs and event numbers that it allocated. Domains keep versions under these, so an undo needs no
copy of the previous state: it asks each domain to restore what changed between two numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from clew.errors import ClewError, suggest
from clew.hooks import HookPoint
from clew.registry.callers import caller_of
from clew.store.events import EventRow, events_after
from clew.store.rows import TableRow, insert, load
from clew.store.workspaces import Workspace

if TYPE_CHECKING:
    from clew.registry.context import Context

KEPT = 2_000
"""Writes of a workspace that can still be undone; older ones are forgotten."""
LOOKED_AT = 200
UNLOGGED = frozenset({"undo"})
"""Operations whose own writes `undo` ignores."""


@dataclass(frozen=True, slots=True)
class LoggedWrite(TableRow):
    TABLE: ClassVar[str] = "write_log"
    KEY: ClassVar[tuple[str, ...]] = ("event",)

    event: int
    """The number of its last event."""
    first_event: int
    first_seq: int
    last_seq: int
    operation: str
    agent: str | None
    session: str
    """The connection it came over."""
    family: str
    ts_ms: int
    undone_event: int | None = None

    def events(self, ctx: Context) -> list[EventRow]:
        return events_after(ctx.tx, ctx.workspace, self.first_event - 1, self.event - self.first_event + 1)

    @property
    def ends(self) -> tuple[int, int]:
        """The seqs immediately before the write and after it."""
        return self.first_seq - 1, self.last_seq

    def has_seq(self, seq: int) -> bool:
        return self.first_seq <= seq <= self.last_seq


@dataclass(frozen=True, slots=True)
class Undone:
    """What a domain restored, as phrases, and the types of events that this covers."""

    done: tuple[str, ...] = ()
    handled: frozenset[str] = field(default_factory=frozenset)


undoer: HookPoint[Callable[[Context, LoggedWrite], Undone]] = HookPoint("undoer")
"""`(ctx, write)` restores what a transaction changed in the tables of a domain, inside the given transaction.
Refuses if the same records changed since."""


def log_write(ctx: Context, begun: tuple[int, int]) -> None:
    """Record a transaction that has just written; `begun` are the workspace's seq and event number before it."""
    call = ctx.remarks.call
    if call is None or ctx.ws.event_seq == begun[1]:
        return
    caller = caller_of(ctx)
    row = LoggedWrite(
        event=ctx.ws.event_seq,
        first_event=begun[1] + 1,
        first_seq=begun[0] + 1,
        last_seq=ctx.ws.seq,
        operation=call[0],
        agent=ctx.agent,
        session=caller.connection,
        family=caller.family,
        ts_ms=ctx.now_ms,
    )
    insert(ctx.tx, ctx.workspace, row)
    ctx.remarks.written = row.event
    if row.event % 100 == 0:
        oldest = "SELECT event FROM write_log WHERE workspace = ? ORDER BY event DESC LIMIT 1 OFFSET ?"
        sql = f"DELETE FROM write_log WHERE workspace = ? AND event < ({oldest})"
        ctx.tx.run(sql, ctx.workspace, ctx.workspace, KEPT)


def own_writes(ctx: Context) -> list[LoggedWrite]:
    """The caller's writes that are not undone, the latest first: those of this connection, else of its client."""
    caller = caller_of(ctx)
    sql = (
        "SELECT * FROM write_log WHERE workspace = ? AND family = ? AND undone_event IS NULL"
        " ORDER BY event DESC LIMIT ?"
    )
    rows = ctx.tx.all(sql, ctx.workspace, caller.family, LOOKED_AT)
    found = [load(LoggedWrite, row) for row in rows if row["operation"] not in UNLOGGED]
    return [write for write in found if write.session == caller.connection] or found


def is_own_write(ctx: Context, write: LoggedWrite) -> bool:
    """Whether the caller may undo it: its author or a person. A shell does not prove a person: agents have shells."""
    return bool(ctx.connection.person) or write.family == caller_of(ctx).family


def is_of_this_session(ctx: Context, write: LoggedWrite) -> bool:
    return write.session == caller_of(ctx).connection


def write_of(ctx: Context, event: int) -> LoggedWrite | None:
    """The transaction to which an event belongs."""
    sql = "SELECT * FROM write_log WHERE workspace = ? AND event >= ? AND first_event <= ? ORDER BY event LIMIT 1"
    row = ctx.tx.one(sql, ctx.workspace, event, event)
    return load(LoggedWrite, row) if row is not None else None


def open_writes(ctx: Context, first_seq: int) -> list[LoggedWrite]:
    """Writes from a seq on that are not undone, the latest first."""
    sql = (
        "SELECT * FROM write_log WHERE workspace = ? AND last_seq >= ? AND undone_event IS NULL"
        " ORDER BY event DESC LIMIT ?"
    )
    return [load(LoggedWrite, row) for row in ctx.tx.all(sql, ctx.workspace, first_seq, KEPT)]


def changed_since(id: str, agent: str | None, by_hand: bool = False) -> ClewError:
    """Refusal of an undo: the same records were changed after the write, maybe by the caller."""
    who = "a person, by hand" if by_hand else agent or "somebody"
    return ClewError(
        "CONFLICT",
        f"{id} was changed by {who} since",
        "An undo never takes back a later change. Change the record itself, or undo the later change first.",
        suggestions=[suggest("open", "Shows what it says now, and its history.", "high", id=id)],
        details={"rule": "later_change", "id": id, "by": who},
    )


def mark_undone(ctx: Context, write: LoggedWrite) -> None:
    sql = "UPDATE write_log SET undone_event = ? WHERE workspace = ? AND event = ?"
    ctx.tx.run(sql, ctx.ws.event_seq, ctx.workspace, write.event)


def begun(ws: Workspace) -> tuple[int, int]:
    return ws.seq, ws.event_seq
