"""The event table as a live feed that any process can follow."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson

from clew.store.database import Database, Row, Transaction, placeholders
from clew.store.erasing import erased_digests, event_digest
from clew.store.workspaces import EVENT_COLUMNS, chained

logger = logging.getLogger(__name__)

PAGE = 500
RETRY_S = 0.5

News = TypeVar("News")


@dataclass(frozen=True, slots=True)
class EventRow:
    workspace: str
    seq: int
    ts_ms: int
    topic: str
    type: str
    subject: str | None
    path: str | None
    agent: str | None
    at_seq: int
    payload: dict[str, Any]

    @property
    def id(self) -> str:
        return event_id(self.seq)

    def shown(self) -> dict[str, Any]:
        """The event as people and pages read it."""
        return {
            "seq": self.seq,
            "id": self.id,
            "ts_ms": self.ts_ms,
            "topic": self.topic,
            "type": self.type,
            "subject": self.subject,
            "path": self.path,
            "agent": self.agent,
            "payload": self.payload,
        }


def event_id(seq: int) -> str:
    return f"evt_{seq:016d}"


def event_from(row: Row) -> EventRow:
    values = {name: row[name] for name in EVENT_COLUMNS}
    return EventRow(**{**values, "payload": orjson.loads(row["payload"])})


def positions(tx: Transaction) -> dict[str, int]:
    """The last number of each workspace's log."""
    return {row["id"]: row["event_seq"] for row in tx.all("SELECT id, event_seq FROM workspace ORDER BY id")}


def events_after(tx: Transaction, workspace: str, after: int, limit: int = PAGE) -> list[EventRow]:
    rows = tx.all("SELECT * FROM event WHERE workspace = ? AND seq > ? ORDER BY seq LIMIT ?", workspace, after, limit)
    return [event_from(row) for row in rows]


def last_event_seq(tx: Transaction, workspace: str) -> int:
    return int(tx.value("SELECT max(seq) FROM event WHERE workspace = ?", workspace) or 0)


def events_at(tx: Transaction, workspace: str, seqs: list[int]) -> list[EventRow]:
    """The existing events with these numbers, in chronological order."""
    if not seqs:
        return []
    sql = f"SELECT * FROM event WHERE workspace = ? AND seq IN ({placeholders(len(seqs))}) ORDER BY seq"
    return [event_from(row) for row in tx.all(sql, workspace, *seqs)]


def last_event_until(tx: Transaction, workspace: str, column: str, value: int) -> int:
    """The number of the last event up to a time (`ts_ms`) or a seq (`at_seq`); 0 when all came later.

    Numbers have no gaps and both columns grow with them, so halving finds it without an index of its own.
    """
    low, high = 0, last_event_seq(tx, workspace)
    sql = f"SELECT {column} FROM event WHERE workspace = ? AND seq = ?"
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if int(tx.value(sql, workspace, middle) or 0) <= value else (low, middle - 1)
    return low


def events_by_slot(tx: Transaction, workspace: str, after: int, first_ms: int, width: int) -> list[Row]:
    """How much each agent did of each topic in each slot of time after an event, with the number of the last of them.

    Slots are `width` milliseconds long and counted from `first_ms` on.
    """
    sql = (
        "SELECT agent, topic, (ts_ms - ?) / ? AS slot, count(*) AS events, max(seq) AS last FROM event"
        " WHERE workspace = ? AND seq > ? AND ts_ms >= ? GROUP BY 1, 2, 3 ORDER BY 1, 3, 2"
    )
    return tx.all(sql, first_ms, width, workspace, after, first_ms)


def event_times(tx: Transaction, workspace: str, seqs: list[int]) -> list[Row]:
    """The times of the events with these numbers: seq and ts_ms, in chronological order."""
    marks = placeholders(len(seqs))
    sql = f"SELECT seq, ts_ms FROM event WHERE workspace = ? AND seq IN ({marks}) ORDER BY seq"
    return tx.all(sql, workspace, *seqs) if seqs else []


def last_authors(tx: Transaction, workspace: str, subjects: list[str]) -> dict[str, str]:
    """The author of the last event about each of these, as far as it is known."""
    if not subjects:
        return {}
    # First the newest event of each subject, by the index of subjects; only these few are read whole.
    newest = (
        "SELECT max(seq) FROM event WHERE workspace = ? AND agent IS NOT NULL"
        f" AND subject IN ({placeholders(len(subjects))}) GROUP BY subject"
    )
    sql = f"SELECT subject, agent FROM event WHERE workspace = ? AND seq IN ({newest})"
    return {row["subject"]: row["agent"] for row in tx.all(sql, workspace, workspace, *subjects)}


def last_doers(tx: Transaction, workspace: str, type: str, subjects: list[str]) -> dict[tuple[str, str | None], str]:
    """The author of the last event of this type about each part of these, if known; by subject and path."""
    if not subjects:
        return {}
    newest = (
        "SELECT max(seq) FROM event WHERE workspace = ? AND type = ? AND agent IS NOT NULL"
        f" AND subject IN ({placeholders(len(subjects))}) GROUP BY subject, path"
    )
    sql = f"SELECT subject, path, agent FROM event WHERE workspace = ? AND seq IN ({newest})"
    rows = tx.all(sql, workspace, workspace, type, *subjects)
    return {(row["subject"], row["path"]): row["agent"] for row in rows}


def events_about(
    tx: Transaction, workspace: str, subject: str, limit: int, topic: str | None = None, path: str | None = None
) -> list[EventRow]:
    """The events about one subject, newest first; optionally only about one part of it, or of one topic."""
    narrow = [(name, value) for name, value in (("topic", topic), ("path", path)) if value is not None]
    where = "".join(f" AND {name} = ?" for name, _ in narrow)
    sql = f"SELECT * FROM event WHERE workspace = ? AND subject = ?{where} ORDER BY seq DESC LIMIT ?"
    return [event_from(row) for row in tx.all(sql, workspace, subject, *(value for _, value in narrow), limit)]


def task_events(tx: Transaction, workspace: str, after: int, limit: int) -> list[EventRow]:
    """Events of tasks, oldest first."""
    sql = "SELECT * FROM event WHERE workspace = ? AND topic = 'tasks' AND seq > ? ORDER BY seq LIMIT ?"
    return [event_from(row) for row in tx.all(sql, workspace, after, limit)]


def last_of_topic(tx: Transaction, workspace: str, topic: str) -> EventRow | None:
    row = tx.one("SELECT * FROM event WHERE workspace = ? AND topic = ? ORDER BY seq DESC LIMIT 1", workspace, topic)
    return event_from(row) if row is not None else None


def last_of_type(tx: Transaction, workspace: str, subject: str, type: str) -> EventRow | None:
    sql = "SELECT * FROM event WHERE workspace = ? AND subject = ? AND type = ? ORDER BY seq DESC LIMIT 1"
    row = tx.one(sql, workspace, subject, type)
    return event_from(row) if row is not None else None


def first_agents(tx: Transaction, workspace: str, subjects: list[str]) -> dict[str, str]:
    """The author of the first event about each of these, as far as it is known."""
    sql = "SELECT agent FROM event WHERE workspace = ? AND subject = ? AND agent IS NOT NULL ORDER BY seq LIMIT 1"
    found = tx.batch(sql, [(workspace, subject) for subject in subjects]) if subjects else []
    return {subject: str(rows[0]["agent"]) for subject, rows in zip(subjects, found, strict=True) if rows}


def first_seqs(tx: Transaction, workspace: str, subjects: list[str]) -> dict[str, int]:
    """The seq of the first event about each of these: the order in which records came to be."""
    sql = "SELECT seq FROM event WHERE workspace = ? AND subject = ? ORDER BY seq LIMIT 1"
    found = tx.batch(sql, [(workspace, subject) for subject in subjects]) if subjects else []
    return {subject: int(rows[0]["seq"]) for subject, rows in zip(subjects, found, strict=True) if rows}


def busy_agents(tx: Transaction, workspace: str, after: int, limit: int) -> list[Row]:
    """The authors after an event: agent, number of events, and the number of the last one; the latest first."""
    sql = (
        "SELECT agent, count(*) AS events, max(seq) AS last FROM event"
        " WHERE workspace = ? AND seq > ? AND agent IS NOT NULL GROUP BY agent ORDER BY last DESC LIMIT ?"
    )
    return tx.all(sql, workspace, after, limit)


def writers_of(tx: Transaction, workspace: str, subjects: list[str]) -> dict[str, list[str]]:
    """The authors about each of these, the first one first."""
    if not subjects:
        return {}
    sql = (
        "SELECT subject, agent, min(seq) AS first FROM event WHERE workspace = ?"
        f" AND subject IN ({placeholders(len(subjects))}) AND agent IS NOT NULL"
        " GROUP BY subject, agent ORDER BY first"
    )
    found: dict[str, list[str]] = {}
    for row in tx.all(sql, workspace, *subjects):
        found.setdefault(row["subject"], []).append(row["agent"])
    return found


def subjects_of(workspace: str, agents: Sequence[str], after: int) -> tuple[str, list[Any]]:
    """A SELECT of the subjects that any of these agents wrote about after an event."""
    sql = f"SELECT subject FROM event WHERE workspace = ? AND seq > ? AND agent IN ({placeholders(len(agents))})"
    return f"{sql} AND subject IS NOT NULL", [workspace, after, *agents]


def authored(author: str, join: str) -> str:
    """A SELECT of authors and the subjects they wrote about, in a workspace after an event. `author` is the expression
    for the name of an agent, which may use a table that `join` adds."""
    return (
        f"SELECT DISTINCT {author} AS author, event.subject AS subject FROM event {join} WHERE event.workspace = ?"
        " AND event.seq > ? AND event.agent IS NOT NULL AND event.subject IS NOT NULL"
    )


@dataclass(frozen=True)
class EventFilter:
    """A filter of a workspace's events: of these types (default: all), between two numbers."""

    types: tuple[str, ...] = ()
    after: int | None = None
    before: int | None = None
    by: str | None = None
    """An author, or a client for all of its connections: `claude-code` means `claude-code-3` too."""
    since_ms: int | None = None

    def newest(self, tx: Transaction, workspace: str, limit: int) -> list[EventRow]:
        sql, params = self._sql(workspace, limit)
        return [event_from(row) for row in tx.all(sql, *params)]

    def count(self, tx: Transaction, workspace: str, most: int) -> int:
        """Their number; counted no further than `most`."""
        sql, params = self._sql(workspace, most)
        return int(tx.value(f"SELECT count(*) FROM ({sql}) AS counted", *params))

    def _sql(self, workspace: str, limit: int) -> tuple[str, list[Any]]:
        """A subquery for each type, because the index of types gives the order within one type only."""
        limits: list[tuple[str, list[Any]]] = [
            (text, [value])
            for text, value in (
                (" AND seq > ?", self.after),
                (" AND seq < ?", self.before),
                (" AND ts_ms >= ?", self.since_ms),
            )
            if value is not None
        ]
        if self.by is not None:
            # A dot comes right after a hyphen, so these are the names that begin with `by` and a hyphen.
            between = [f"{self.by}-", f"{self.by}."]
            limits.append((" AND (agent = ? OR (agent >= ? AND agent < ?))", [self.by, *between]))
        bounds = "".join(text for text, _ in limits)
        given = [value for _, values in limits for value in values]
        kinds: list[str | None] = [*dict.fromkeys(self.types)] or [None]
        parts, params = [], []
        for kind in kinds:
            where = "workspace = ?" + (" AND type = ?" if kind is not None else "") + bounds
            parts.append(f"SELECT * FROM (SELECT * FROM event WHERE {where} ORDER BY seq DESC LIMIT ?) AS part")
            params += [workspace, *([kind] if kind is not None else []), *given, limit]
        return f"{' UNION ALL '.join(parts)} ORDER BY seq DESC LIMIT ?", [*params, limit]


def subjects_changed(
    tx: Transaction, workspace: str, types: tuple[str, ...], mentioning: str, after: int, since_ms: int, most: int
) -> list[str]:
    """Subjects of the events of these types whose payload contains a text, the last changed first."""
    sql = (
        "SELECT subject, max(seq) AS seq FROM event WHERE workspace = ? AND seq > ? AND ts_ms > ?"
        f" AND type IN ({placeholders(len(types))}) AND payload LIKE ?"
        " GROUP BY subject ORDER BY max(seq) DESC LIMIT ?"
    )
    rows = tx.all(sql, workspace, after, since_ms, *types, f"%{mentioning}%", most)
    return [row["subject"] for row in rows]


def first_broken_event(tx: Transaction, workspace: str) -> tuple[int, int | None]:
    """The number of chained events, and the seq of the first that was changed, removed or inserted.

    Events from before there was a chain have no digest; the chain begins after them.
    """
    row = tx.one("SELECT event_seq, event_digest FROM workspace WHERE id = ?", workspace)
    erased = erased_digests(tx, workspace, "events")
    last, count, before = 0, 0, None
    while page := tx.all(
        "SELECT * FROM event WHERE workspace = ? AND seq > ? ORDER BY seq LIMIT ?", workspace, last, PAGE
    ):
        for event in page:
            # Numbers are taken under the lock of the workspace row and have no gaps, so a gap is a removed event.
            if event["seq"] != last + 1:
                return count, last + 1
            last = event["seq"]
            if event["digest"] is None and before is None:
                continue
            found = chained(before, [event[name] for name in EVENT_COLUMNS])
            # An event that a later one of this chain names as erased is verified by the digest of what is left of it.
            if event["digest"] != found and erased.get(str(last)) != event_digest(event):
                return count, last
            before = event["digest"]
            count += 1
    # The row of the workspace records the end of the log, so truncated events are detected as well.
    whole = row is None or (row["event_seq"], row["event_digest"]) == (last, before)
    return count, None if whole else last + 1


def follow(
    database: Database, after: dict[str, int] | None, stop: threading.Event, wait: float = 1.0
) -> Iterator[list[EventRow]]:
    """Yields the events written since `after` (default: from now on), by any process, in order.

    An empty list is yielded at least every `wait` seconds, so that the caller can do other work.
    """
    seen = dict(after) if after is not None else _now(database)
    for _ in database.changes(wait):
        if stop.is_set():
            return
        # The notification only means that something changed. The positions identify the new events, so none is seen
        # twice or missed.
        yield _advance(database, seen)


def _now(database: Database) -> dict[str, int]:
    with database.read() as tx:
        return positions(tx)


def _advance(database: Database, seen: dict[str, int]) -> list[EventRow]:
    found: list[EventRow] = []
    with database.read() as tx:
        for workspace, end in positions(tx).items():
            # After a restore the log ends before our position; all events from there on are new.
            seen[workspace] = min(seen.get(workspace, 0), end)
            while seen.get(workspace, 0) < end:
                page = events_after(tx, workspace, seen.get(workspace, 0))
                if not page:
                    break
                found.extend(page)
                seen[workspace] = page[-1].seq
    return found


class Follower(Generic[News]):
    """A thread that passes the items of a feed to `hear` until it is stopped.

    A failed feed (the server went away, the file is locked) is reopened, so `feed` must continue where the last one
    ended. `breath` is the pause after each item: items in quick succession are then read in one batch.
    """

    def __init__(
        self,
        feed: Callable[[threading.Event], Iterator[News]],
        hear: Callable[[News], None],
        name: str,
        breath: float = 0.0,
        stop: threading.Event | None = None,
    ) -> None:
        self._feed = feed
        self._hear = hear
        self._breath = breath
        self._stop = stop or threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                for news in self._feed(self._stop):
                    # Checked for each item: those after the stop are discarded.
                    if self._stop.is_set():
                        return
                    self._hear(news)
                    if self._breath and self._stop.wait(self._breath):
                        return
            except Exception:
                if not self._stop.is_set():  # a database that is being closed breaks its feed, which is not an error
                    logger.exception("the event feed broke off; trying again")
                    self._stop.wait(RETRY_S)
