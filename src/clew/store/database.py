"""The interface of the two engines: short transactions, `?` parameters, rows as dicts.

A database owns per-database resources, such as caches and background threads. Each is created on first use and closed
before the database, newest first, because a later one may depend on an earlier one. They are also closed at exit if
the process did not close its databases.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar
from weakref import WeakSet, ref

from clew.errors import ClewError
from clew.hooks import HookPoint

Row = dict[str, Any]


_waits = threading.local()


@contextmanager
def short_lock_waits(seconds: float) -> Iterator[None]:
    """Sets a timeout for the locks of the store in this thread: for work that can be done later."""
    before = getattr(_waits, "seconds", None)
    _waits.seconds = seconds
    try:
        yield
    finally:
        _waits.seconds = before


def lock_wait(usual: float) -> float:
    """The lock timeout of this thread."""
    seconds: float | None = getattr(_waits, "seconds", None)
    return usual if seconds is None else min(usual, seconds)


class Transaction(Protocol):
    """One transaction. Everything read in it is one consistent state of the database."""

    engine: str
    writable: bool
    generation: int
    """Changes when another file or server appears under the same name: see `EPOCH`."""

    def all(self, sql: str, *params: Any) -> list[Row]: ...

    def tuples(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Rows as tuples without column names: for thousands of rows, and for large blobs."""
        ...

    def batch(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        """The result for each row of parameters, in one batch: many small queries wait for one round trip."""
        ...

    def one(self, sql: str, *params: Any) -> Row | None: ...

    def value(self, sql: str, *params: Any) -> Any: ...

    def run(self, sql: str, *params: Any) -> None:
        """Execute, at the latest before the next read; only then, or at the commit, is an error raised."""
        ...

    def changed(self, sql: str, *params: Any) -> int:
        """Execute now; the number of rows changed."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute once for each row of parameters, when `run` would."""
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """Roll back the writes of the block if it raises; the transaction continues."""
        ...

    def no_timeout(self) -> None:
        """Disable the statement timeout for the rest of this transaction."""
        ...

    def notify(self, channel: str) -> None:
        """Notify the processes that listen on `channel` once this transaction is committed."""
        ...


class Database(Protocol):
    """An engine with the current schema. Opens nothing until it is first used."""

    engine: str
    resources: DatabaseResources
    """The resources of this process for it; closed before the database."""

    def read(self, workspace: str | None = None) -> AbstractContextManager[Transaction]:
        """Of one workspace, or of the whole store. PostgreSQL may refuse all others (see `row_security`)."""
        ...

    def write(self, workspace: str | None = None) -> AbstractContextManager[Transaction]:
        """Commits when the block ends, rolls back when it raises."""
        ...

    def changes(self, wait: float) -> Iterator[None]:
        """Yields when another transaction may have committed, and at least every `wait` seconds."""
        ...

    def integrity(self) -> list[str]:
        """Errors found in the stored bytes; empty if there are none."""
        ...

    def schema_version(self) -> int: ...

    def stored_version(self) -> int:
        """The stored schema version, without migrating; 0 if there is none."""
        ...

    def describe(self) -> dict[str, Any]: ...

    def replica_state(self) -> str | None:
        """The status of the read replica, in words; None if there is none."""
        ...

    def backup(self, target: Path) -> int:
        """Write a snapshot of everything to a new file without blocking others; returns its size."""
        ...

    def sizes(self) -> dict[str, int]:
        """Bytes of each table with its indexes."""
        ...

    def purge(self, tables: Sequence[str]) -> str:
        """Overwrite the remains of deleted and changed rows of these tables; returns failures, or nothing.

        Without arguments all tables: the store is reduced to its smallest size.
        """
        ...

    def restore(self, source: Path) -> Path:
        """Replace everything with a backup; returns where the present state was saved."""
        ...

    def close(self) -> None: ...


committed: HookPoint[Callable[[Database, str, int, int], None]] = HookPoint("committed")
"""Called after a write is durable: `(database, workspace, seq before, seq after)`."""

transferred: HookPoint[Callable[[Transaction], None]] = HookPoint("transferred")
"""Called in the copy of a whole store before it is committed, to rebuild what only its engine has."""

OUTCOME_UNKNOWN = {"outcome": "unknown"}
"""The details of an error that leaves unknown whether the transaction was committed."""


def outcome_unknown(text: str) -> ClewError:
    return ClewError(
        "STORE_UNAVAILABLE",
        f"{text}; whether this call was written is not known",
        "Look whether it is there before you repeat the call, or repeat it with the same request_id.",
        details=OUTCOME_UNKNOWN,
    )


def probe(database: Database) -> None:
    """Health check: write to the store; raises the error that every write would raise."""
    sql = "INSERT INTO meta (key, value) VALUES ('probe', '1') ON CONFLICT (key) DO UPDATE SET value = "
    with database.write() as tx:
        # Another value each time: a write that changes nothing might never reach the disk.
        tx.run(f"{sql} CASE meta.value WHEN '1' THEN '2' ELSE '1' END")


EPOCH = "(SELECT value FROM meta WHERE key = 'epoch')"
"""A random text that a restore renews. A cache is invalid if the epoch or the generation of the transaction differs
from those under which it was read: its numbers may have been reused."""


def placeholders(count: int) -> str:
    """`?, ?, ?` for an IN list."""
    return ", ".join("?" * count)


PATIENCE = 30.0
PATIENCE_AT_EXIT = 2.0
"""No unfinished work of a resource is a loss, so a process that exits need not wait for it."""


class DatabaseResource:
    """Base class of per-database resources, open as long as the database. Refers to it weakly: it is the owner."""

    def __init__(self, database: Database) -> None:
        self._owner = ref(database)

    @property
    def database(self) -> Database:
        owner = self._owner()
        if owner is None:
            raise RuntimeError("the database of this companion is gone")
        return owner

    def close(self, patience: float) -> None:
        """Stop within so many seconds. The database still works and may be used again afterwards."""


C = TypeVar("C", bound=DatabaseResource)


class DatabaseResources:
    """The resources of one database."""

    def __init__(self, database: Database) -> None:
        self._owner = ref(database)
        self._lock = threading.RLock()
        self._made: dict[type[DatabaseResource], DatabaseResource] = {}
        _all.add(self)

    def of(self, kind: type[C]) -> C:
        """The one resource of this type, created on first use."""
        with self._lock:
            found = self._made.get(kind)
            if found is None:
                owner = self._owner()
                if owner is None:
                    raise RuntimeError("the database is gone")
                found = self._made[kind] = kind(owner)
            return found  # type: ignore[return-value]  # stored under its own type

    def close(self, patience: float = PATIENCE) -> None:
        """Close and forget them all."""
        with self._lock:
            # Removed under the lock and closed outside of it: a resource's thread may request another one while it
            # ends.
            found = list(reversed(self._made.values()))
            self._made.clear()
        for companion in found:
            companion.close(patience)


_all: WeakSet[DatabaseResources] = WeakSet()


@atexit.register
def _close_all() -> None:
    for resources in list(_all):
        resources.close(PATIENCE_AT_EXIT)
