"""The port behind which the two engines stand: short transactions, `?` parameters, rows as dicts.

A database has companions: what a process keeps beside it, such as caches, and threads that work behind the answers.
The database owns them. Each is made when it is first asked for and closed before the database is, the newest first,
because a later one may rest on an earlier one. A process that ends without closing its databases closes what is left.
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
    """In this thread, locks of the store are waited for so long at the most: for work that can be done later."""
    before = getattr(_waits, "seconds", None)
    _waits.seconds = seconds
    try:
        yield
    finally:
        _waits.seconds = before


def lock_wait(usual: float) -> float:
    """How long this thread waits for a lock."""
    seconds: float | None = getattr(_waits, "seconds", None)
    return usual if seconds is None else min(usual, seconds)


class Transaction(Protocol):
    """One transaction. Everything read in it is one consistent state of the database."""

    engine: str
    writable: bool
    generation: int
    """Another number once this process was given another file or server under the same name: see `EPOCH`."""

    def all(self, sql: str, *params: Any) -> list[Row]: ...

    def tuples(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Rows without names: for thousands of them, and for large bytes."""
        ...

    def batch(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        """What is found for each row of parameters, asked together: many small questions wait once."""
        ...

    def one(self, sql: str, *params: Any) -> Row | None: ...

    def value(self, sql: str, *params: Any) -> Any: ...

    def run(self, sql: str, *params: Any) -> None:
        """Execute, at the latest before the next read; only then, or at the commit, does an error come to light."""
        ...

    def changed(self, sql: str, *params: Any) -> int:
        """Execute now; the number of rows changed."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute once for each row of parameters, when `run` would."""
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """What is written in the block is undone when it raises, and the transaction goes on."""
        ...

    def no_timeout(self) -> None:
        """What follows in this transaction may take longer than any usual statement."""
        ...

    def notify(self, channel: str) -> None:
        """Wake the processes that follow `channel` once this transaction is committed."""
        ...


class Database(Protocol):
    """An engine with the current schema. Opens nothing until it is first used."""

    engine: str
    resources: DatabaseResources
    """What this process keeps beside it; closed first when it is closed."""

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
        """What is wrong with the stored bytes; empty when nothing is."""
        ...

    def schema_version(self) -> int: ...

    def stored_version(self) -> int:
        """The schema that is there, without bringing it up to date; 0 where there is none."""
        ...

    def describe(self) -> dict[str, Any]: ...

    def replica_state(self) -> str | None:
        """Whether the replica for reads answers, in words; None where there is none."""
        ...

    def backup(self, target: Path) -> int:
        """Write a snapshot of everything to a new file while others go on; returns its size."""
        ...

    def sizes(self) -> dict[str, int]:
        """Bytes of each table with its indexes."""
        ...

    def purge(self, tables: Sequence[str]) -> str:
        """Overwrite what deleted and changed rows of these tables left behind; says what could not be, or nothing.

        Without any, of all tables: the store takes as little room as it can.
        """
        ...

    def restore(self, source: Path) -> Path:
        """Replace everything by a backup; returns where the present state was kept."""
        ...

    def close(self) -> None: ...


committed: HookPoint[Callable[[Database, str, int, int], None]] = HookPoint("committed")
"""Called after a write is durable: `(database, workspace, seq before, seq after)`."""

transferred: HookPoint[Callable[[Transaction], None]] = HookPoint("transferred")
"""Called in the copy of a whole store before it is committed, to rebuild what only its engine has."""

OUTCOME_UNKNOWN = {"outcome": "unknown"}
"""The details of an error after which nobody here knows whether the transaction was committed."""


def outcome_unknown(text: str) -> ClewError:
    return ClewError(
        "STORE_UNAVAILABLE",
        f"{text}; whether this call was written is not known",
        "Look whether it is there before you repeat the call, or repeat it with the same request_id.",
        details=OUTCOME_UNKNOWN,
    )


def probe(database: Database) -> None:
    """Write to the store; raises what every write would meet. For those who ask whether a server can do its work."""
    sql = "INSERT INTO meta (key, value) VALUES ('probe', '1') ON CONFLICT (key) DO UPDATE SET value = "
    with database.write() as tx:
        # Another value each time: a write that changes nothing might never reach the disk.
        tx.run(f"{sql} CASE meta.value WHEN '1' THEN '2' ELSE '1' END")


EPOCH = "(SELECT value FROM meta WHERE key = 'epoch')"
"""A random text that a restore renews. What a process keeps of a database is worth nothing when the epoch or the
lineage of the transaction differs from those it was read under: the numbers in it may have been given out again."""


def placeholders(count: int) -> str:
    """`?, ?, ?` for an IN list."""
    return ", ".join("?" * count)


PATIENCE = 30.0
PATIENCE_AT_EXIT = 2.0
"""Nothing that a companion leaves unfinished is a loss, so a process that ends need not wait for it."""


class DatabaseResource:
    """Base of what lives as long as a database is open. The database is held weakly: it owns its companions."""

    def __init__(self, database: Database) -> None:
        self._owner = ref(database)

    @property
    def database(self) -> Database:
        owner = self._owner()
        if owner is None:
            raise RuntimeError("the database of this companion is gone")
        return owner

    def close(self, patience: float) -> None:
        """Come to an end within so many seconds. The database still works and may be used again afterwards."""


C = TypeVar("C", bound=DatabaseResource)


class DatabaseResources:
    """The companions of one database."""

    def __init__(self, database: Database) -> None:
        self._owner = ref(database)
        self._lock = threading.RLock()
        self._made: dict[type[DatabaseResource], DatabaseResource] = {}
        _all.add(self)

    def of(self, kind: type[C]) -> C:
        """The one companion of this kind, made when it is not there yet."""
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
            # Taken out under the lock and closed outside of it: a companion's thread may ask for another one while it
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
