"""The workspace row: the unit of isolation, its commit-ordered counter and its events.

At the end: the table `meta`, facts about the whole store that belong to no workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clew.canonical import canonical, sha256_hex
from clew.clock import Clock
from clew.errors import ClewError
from clew.hooks import HookPoint
from clew.store.database import Row, Transaction

if TYPE_CHECKING:
    from clew.store.events import EventRow

MAIN, MAIN_ID = "main", 1
UNBORN = 0
"""The number of a workspace that is not stored and only read; stored ones are numbered from 1."""
SLACK_MS = 120_000
"""Clocks of machines that share a store, and corrections of a clock, differ by seconds."""


EVENT_COLUMNS = ("workspace", "seq", "ts_ms", "topic", "type", "subject", "path", "agent", "at_seq", "payload")
_INSERT_EVENT = f"INSERT INTO event ({', '.join(EVENT_COLUMNS)}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def chained(before: str | None, row: Sequence[Any]) -> str:
    """The digest of a row that also holds the digest of the row before it: changes and removals are detected."""
    return sha256_hex(canonical([before or "", *row]))


class Workspace:
    """An open workspace inside a transaction.

    In a write transaction the row is locked first, so writers of one workspace queue on it and the numbers it hands
    out become visible in order. `save` puts the counters back before the commit.
    """

    def __init__(self, tx: Transaction, row: Row, clock: Clock, agent: str | None) -> None:
        self.tx = tx
        self.id: str = row["id"]
        self.number: int = row["number"]
        self.seq: int = row["seq"]
        self.event_seq: int = row["event_seq"]
        self.event_digest: str | None = row["event_digest"]
        self.checkout: int | None = row["checkout"]
        self.focus: str | None = row["focus"]
        self.project_guard: str | None = row["project_guard"]
        self.created_at_ms: int = row["created_at_ms"]
        self.unborn = row["number"] == UNBORN
        """Nothing was ever written to it: it is read like a new one, and is not stored."""
        self.updated_at_ms: int = row["updated_at_ms"]
        self.agent = agent
        self._clock = clock
        self._now: int | None = None
        self._saved = self._state()

    @property
    def identity(self) -> str | None:
        """Distinguishes it from a workspace of the same name in another store; None while there is none."""
        return None if self.unborn else f"{self.created_at_ms} {self.id}"

    @property
    def now_ms(self) -> int:
        """One moment for the whole operation: the clock's, or that of the last write if the clock is a little behind.

        The order is defined by seq, so a corrected clock is used immediately; otherwise one write with a wrong year
        would stop time, and no lease would ever expire.
        """
        if self._now is None:
            clock = self._clock()
            self._now = clock if self.updated_at_ms - clock > SLACK_MS else max(clock, self.updated_at_ms)
        return self._now

    @property
    def clock_behind_ms(self) -> int:
        """How far the clock is behind the last write; 0 within the tolerance."""
        behind = self.updated_at_ms - self.now_ms
        return behind if behind > SLACK_MS else 0

    def next_seq(self) -> int:
        self.seq += 1
        return self.seq

    def count(self, name: str) -> int:
        """The next number of a named counter, such as `card` or `task`."""
        return next_count(self.tx, self.id, name)

    def emit(
        self,
        topic: str,
        type: str,
        subject: str | None = None,
        payload: dict[str, Any] | None = None,
        path: str | None = None,
    ) -> Row:
        """Record an event of a mutation, in the mutation's own transaction."""
        if type not in EVENT_TYPES:
            raise ValueError(f"event type {type} is not declared in EVENT_TYPES")
        self.event_seq += 1
        body = canonical(payload or {})
        row = (self.id, self.event_seq, self.now_ms, topic, type, subject, path, self.agent, self.seq, body)
        # Chained under the lock of this row: no other writer can put an event in between.
        self.event_digest = chained(self.event_digest, row)
        self.tx.run(_INSERT_EVENT, *row, self.event_digest)
        return {**dict(zip(EVENT_COLUMNS, row, strict=True)), "payload": payload or {}}

    def adopt_events(self, events: Sequence[EventRow]) -> None:
        """Insert the events of a workspace imported from another program, with their numbers, at the head of the log.

        Only for a workspace that this transaction created: the caller emits the creation event again."""
        if not events:
            return
        if self.event_seq > 1:
            raise ClewError("CONFLICT", f"workspace {self.id} has a past of its own", "Import into a new workspace.")
        self.tx.run("DELETE FROM event WHERE workspace = ?", self.id)
        self.event_digest = None
        rows = []
        for event in events:
            about = (event.topic, event.type, event.subject, event.path, event.agent, event.at_seq)
            row = (self.id, event.seq, event.ts_ms, *about, canonical(event.payload))
            self.event_digest = chained(self.event_digest, row)
            rows.append((*row, self.event_digest))
        self.event_seq = events[-1].seq
        self.tx.many(_INSERT_EVENT, rows)

    @property
    def changed(self) -> bool:
        """Whether this transaction wrote anything that changes the counters of the workspace's row."""
        return self._state() != self._saved

    def save(self) -> None:
        if not self.changed:
            return
        sql = (
            "UPDATE workspace SET seq = ?, event_seq = ?, event_digest = ?, checkout = ?, focus = ?, project_guard = ?,"
            " updated_at_ms = ? WHERE id = ?"
        )
        self.tx.run(sql, *self._state(), self.now_ms, self.id)
        # Delivered by the server at the commit, so a rollback sends no notification.
        self.tx.notify(self.id)
        self.updated_at_ms = self.now_ms
        self._saved = self._state()

    def _state(self) -> tuple[Any, ...]:
        return (self.seq, self.event_seq, self.event_digest, self.checkout, self.focus, self.project_guard)


EVENT_TYPES: dict[str, str] = {
    "workspace_created": "A workspace was used for the first time.",
    "branch_created": "A branch was created from another one's snapshot.",
    "branch_renamed": "A branch got another name.",
    "branch_deleted": "A branch was removed from view; its entries stay stored.",
    "checkout_changed": "Another branch was checked out.",
    "note_committed": "An entry was appended to a notes document.",
    "notes_merged": "Notes of one branch were copied into another.",
}


def declare_events(types: dict[str, str]) -> None:
    """Register the events of a domain, each with a one-line description for the reference page."""
    EVENT_TYPES.update(types)


def next_count(tx: Transaction, workspace: str, name: str) -> int:
    """The next number of a counter; those of the whole store belong to the workspace without a name."""
    sql = (
        "INSERT INTO counter (workspace, name, value) VALUES (?, ?, 1)"
        " ON CONFLICT (workspace, name) DO UPDATE SET value = counter.value + 1 RETURNING value"
    )
    return int(tx.value(sql, workspace, name))


def last_count(tx: Transaction, workspace: str, name: str) -> int:
    """The last number that a counter gave; 0 when it gave none."""
    return int(tx.value("SELECT value FROM counter WHERE workspace = ? AND name = ?", workspace, name) or 0)


def forget_counts(tx: Transaction, workspace: str, first: str, end: str) -> None:
    """Delete the counters with names from `first` (inclusive) to `end` (exclusive)."""
    tx.run("DELETE FROM counter WHERE workspace = ? AND name >= ? AND name < ?", workspace, first, end)


def find_workspace(tx: Transaction, workspace: str) -> Row | None:
    # SQLite has one writer at a time anyway. On PostgreSQL this lock serializes the writers of one workspace.
    lock = " FOR UPDATE" if tx.writable and tx.engine == "postgres" else ""
    return tx.one(f"SELECT * FROM workspace WHERE id = ?{lock}", workspace)


def unborn_workspace(workspace: str) -> Row:
    """The row of a workspace to which nothing was ever written, for reading."""
    nothing = dict.fromkeys(("event_digest", "focus", "project_guard"))
    zero = dict.fromkeys(("seq", "event_seq", "created_at_ms", "updated_at_ms"), 0)
    return {"id": workspace, "number": UNBORN, "checkout": MAIN_ID, **zero, **nothing}


workspace_made: HookPoint[Callable[[Transaction, str, int], None]] = HookPoint("workspace_made")
"""`(tx, workspace, now_ms)`, in the transaction that creates a workspace. The function under the key `main` writes its
main branch, without which no workspace may exist; the table belongs to another package."""


def create_workspace(tx: Transaction, workspace: str, now_ms: int) -> Row:
    """Insert the workspace with its branch `main` checked out; another process may have been first."""
    # A small number in addition to the id: search packs it together with a seq into one 64-bit row number.
    number = next_count(tx, "", "workspace")
    added = tx.changed(
        "INSERT INTO workspace (id, number, seq, event_seq, checkout, created_at_ms, updated_at_ms)"
        " VALUES (?, ?, 0, 0, 1, ?, ?) ON CONFLICT (id) DO NOTHING",
        workspace,
        number,
        now_ms,
        now_ms,
    )
    if added:
        make_main = workspace_made.find(MAIN)
        if make_main is None:
            raise ClewError("INTERNAL", "nobody makes the branch main")
        make_main(tx, workspace, now_ms)
        raise_count(tx, workspace, "branch", MAIN_ID)
    row = find_workspace(tx, workspace)
    if row is None:
        raise ClewError("INTERNAL", f"workspace {workspace} was created and is not there")
    return row


def workspaces_marked(tx: Transaction, mark: str) -> list[str]:
    """The workspaces that were first used with this mark."""
    return [row["id"] for row in tx.all("SELECT id FROM workspace WHERE project_guard = ? ORDER BY id", mark)]


def workspace_names(tx: Transaction) -> list[str]:
    return [row["id"] for row in tx.all("SELECT id FROM workspace ORDER BY id")]


def last_write(tx: Transaction, workspace: str) -> tuple[int, int]:
    """The sequence number and the time of the workspace's last write; zeros when there is no such workspace."""
    row = tx.one("SELECT seq, updated_at_ms FROM workspace WHERE id = ?", workspace)
    return (row["seq"], row["updated_at_ms"]) if row is not None else (0, 0)


def last_used_workspaces(tx: Transaction, most: int) -> list[Row]:
    """Workspaces that are not empty, last changed first: id, number of events, time of the change."""
    return tx.all(
        "SELECT id, event_seq AS events, created_at_ms, updated_at_ms FROM workspace WHERE event_seq > 0"
        " ORDER BY updated_at_ms DESC, id LIMIT ?",
        most,
    )


def workspace_count(tx: Transaction) -> int:
    return int(tx.value("SELECT count(*) FROM workspace"))


def raise_count(tx: Transaction, workspace: str, name: str, value: int) -> None:
    """Let a counter continue after an imported number."""
    if value > 0:
        tx.run(
            "INSERT INTO counter (workspace, name, value) VALUES (?, ?, ?) ON CONFLICT (workspace, name) DO UPDATE"
            " SET value = CASE WHEN counter.value > excluded.value THEN counter.value ELSE excluded.value END",
            workspace,
            name,
            value,
        )


def read_meta(tx: Transaction, key: str) -> str | None:
    value = tx.value("SELECT value FROM meta WHERE key = ?", key)
    return None if value is None else str(value)


def write_meta(tx: Transaction, key: str, value: str) -> None:
    tx.run(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value
    )


def delete_meta(tx: Transaction, key: str) -> None:
    tx.run("DELETE FROM meta WHERE key = ?", key)


def keep_meta(tx: Transaction, key: str, value: str) -> str:
    """Write the value unless there is one already; returns the stored one."""
    tx.run("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING", key, value)
    return read_meta(tx, key) or value
