"""SQLite through apsw: one file in WAL mode, every acknowledged write synced, many processes at once.

A process keeps its connections open. If the files are removed or replaced meanwhile, such a connection would continue
to write to unlinked files. So every write compares its open files with those at the path, before it begins and after
its commit, and nothing is acknowledged that is not in the file that others would open.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from clew.errors import ClewError
from clew.store.database import OUTCOME_UNKNOWN, DatabaseResources, Row, lock_wait, outcome_unknown
from clew.store.link import (
    Link,
    data_version,
    identity,
    jittered_wait,
    make_directory,
    make_private,
    network_file_system,
    no_descriptors,
    no_room,
    pragma,
    roll_back,
    warn_of_network,
    without_shared_memory,
)
from clew.store.migrations import (
    OLDEST_WRITER,
    latest,
    may_write,
    pending,
    statements,
    too_new,
    too_old,
    writers_note,
)

BUSY_SECONDS = 20.0
APPLICATION_ID = 0x434C4557  # "CLEW"

_names: dict[str, tuple[str, ...]] = {}


class SqliteTransaction:
    engine = "sqlite"

    def __init__(self, connection: apsw.Connection, writable: bool, generation: int) -> None:
        self._connection = connection
        self.writable = writable
        self.generation = generation

    def all(self, sql: str, *params: Any) -> list[Row]:
        cursor = self._execute(sql, params)
        # The column names of a statement do not change with an unchanged schema; getting them from apsw each time
        # costs more than a row.
        names = _names.get(sql) or _learn_names(sql, cursor)
        return [dict(zip(names, row, strict=True)) for row in cursor] if names else []

    def tuples(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        return self._execute(sql, params).fetchall()

    def batch(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        return [self.all(sql, *row) for row in rows]

    def one(self, sql: str, *params: Any) -> Row | None:
        rows = self.all(sql, *params)
        return rows[0] if rows else None

    def value(self, sql: str, *params: Any) -> Any:
        row = self._execute(sql, params).fetchone()
        return row[0] if row else None

    def run(self, sql: str, *params: Any) -> None:
        self._execute(sql, params)

    def changed(self, sql: str, *params: Any) -> int:
        self._execute(sql, params)
        return self._connection.changes()

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._check_open()
        self._connection.executemany(sql, rows)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self.run("SAVEPOINT attempt")
        try:
            yield
        except BaseException:
            # A full disk or an I/O error may have ended the whole transaction, including the savepoint.
            if self._connection.in_transaction:
                self.run("ROLLBACK TO SAVEPOINT attempt")
                self.run("RELEASE SAVEPOINT attempt")
            raise
        self.run("RELEASE SAVEPOINT attempt")

    def no_timeout(self) -> None:
        """Nothing to do: a statement of this process has no time limit."""

    def notify(self, channel: str) -> None:
        """Nothing to do: followers watch the file's data version."""

    def _execute(self, sql: str, params: Sequence[Any]) -> apsw.Cursor:
        self._check_open()
        return self._connection.execute(sql, params)

    def _check_open(self) -> None:
        """After SQLite ended a transaction by itself, a further statement would be committed separately."""
        if not self._connection.in_transaction:
            raise apsw.AbortError("the transaction was ended by an error before")


def _learn_names(sql: str, cursor: apsw.Cursor) -> tuple[str, ...]:
    try:
        names = tuple(column[0] for column in cursor.get_description())
    except apsw.ExecutionCompleteError:
        return ()
    if len(_names) > 2000:
        _names.clear()
    _names[sql] = names
    return names


class SqliteDatabase:
    engine = "sqlite"

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS, auto_migrate: bool = True) -> None:
        self.path = path
        self.auto_migrate = auto_migrate
        self.resources = DatabaseResources(self)
        self._busy_seconds = busy_seconds
        self._idle: list[Link] = []
        self._writer = threading.Lock()
        self._opening = threading.Lock()
        self._file: tuple[int, int] | None = None
        """The file that the connections of this generation have open."""
        self._generation = 0

    @contextmanager
    def read(self, workspace: str | None = None) -> Iterator[SqliteTransaction]:
        with self._link() as link, translated(self.path):
            self._refuse(link, link.lost_lately())
            link.connection.execute("BEGIN")
            try:
                yield SqliteTransaction(link.connection, False, link.generation)
            finally:
                roll_back(link.connection)

    @contextmanager
    def write(self, workspace: str | None = None) -> Iterator[SqliteTransaction]:
        with self._turn(), self._link() as link, translated(self.path):
            # A transaction that begins with a read and writes later can fail halfway, because another has written
            # since. This one takes the write lock immediately, so everything it reads is still valid at the commit.
            link.connection.execute("BEGIN IMMEDIATE")
            try:
                self._refuse(link, link.lost())
                # Checked in each write: a newer Clew may have changed the schema since this connection was opened.
                self._check_version(link.connection)
                yield SqliteTransaction(link.connection, True, link.generation)
                self._commit(link)
            except BaseException:
                roll_back(link.connection)
                raise

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Threads of this process queue on a lock; processes queue in the busy handler."""
        if not self._writer.acquire(timeout=lock_wait(self._busy_seconds)):
            raise ClewError("STORE_LOCKED", "another thread of this process writes", "Try again.")
        try:
            yield
        finally:
            self._writer.release()

    def _refuse(self, link: Link, problem: str | None, outcome: dict[str, str] | None = None) -> None:
        if problem is not None:
            link.rescue()
            raise self._replaced(problem, outcome)

    def _replaced(self, problem: str, outcome: dict[str, str] | None = None) -> ClewError:
        """Close connections to files that are no longer at the path. Those in use are closed when they are
        returned."""
        self._generation += 1
        self._file = None
        self._close_idle()
        return ClewError(
            "STORE_UNAVAILABLE",
            f"{problem}; this call was not written" if outcome is None else f"{problem}; so this call may be lost",
            "The next call opens the file that is there now: look at what it holds, then repeat this call.",
            details=outcome,
        )

    def _commit(self, link: Link) -> None:
        try:
            link.connection.execute("COMMIT")
        except apsw.IOError as problem:
            # On a full disk SQLite rolls back. After any other I/O error it is unknown whether the commit reached the
            # disk.
            if isinstance(problem, apsw.FullError) or no_room(self.path):
                raise
            raise outcome_unknown(f"{self.path}: {problem}") from problem
        # A commit to a file that was removed meanwhile is invisible to everyone else.
        self._refuse(link, link.lost(), OUTCOME_UNKNOWN)

    def _check_version(self, connection: apsw.Connection) -> None:
        version = pragma(connection, "user_version")
        if version > latest():
            _check_writer(connection, self.path, version)

    def changes(self, wait: float) -> Iterator[None]:
        """Polls the data version, which costs two microseconds and reflects every process's commits."""
        while True:
            if self._awaits_a_call():
                time.sleep(wait)
                yield
                continue
            link = self._open()
            try:
                yield from _versions(link, wait)
            finally:
                link.close()

    def _awaits_a_call(self) -> bool:
        """Whether the file was removed or replaced: the next call must report it, not a follower."""
        there = identity(str(self.path))
        return there != self._file if self._file is not None else there is None and self._generation > 0

    def integrity(self) -> list[str]:
        with self._link() as link, translated(self.path):
            answers = [row[0] for row in link.connection.execute("PRAGMA integrity_check(20)")]
        return [] if answers == ["ok"] else answers

    def schema_version(self) -> int:
        with self._link() as link, translated(self.path):
            return pragma(link.connection, "user_version")

    def stored_version(self) -> int:
        """The stored schema version, without migrating; 0 if there is none."""
        if not self.path.exists():
            return 0
        with translated(self.path):
            connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                return pragma(connection, "user_version")
            finally:
                connection.close()

    def replica_state(self) -> str | None:
        return None

    def describe(self) -> dict[str, Any]:
        return {
            "engine": "sqlite",
            "version": apsw.sqlite_lib_version(),
            "file": str(self.path),
            "network_file_system": network_file_system(self.path),
            "bytes": _bytes_of(self.path),
        }

    def backup(self, target: Path) -> int:
        """Write a snapshot of the store to a new file without blocking others; returns its size."""
        from clew.store.sqlite_files import copy_store

        with self._link() as link, translated(self.path):
            self._refuse(link, link.lost())
            return copy_store(link.connection, target)

    def sizes(self) -> dict[str, int]:
        """Reads every page of the file: a second for each gigabyte, so only on request."""
        sql = (
            "SELECT part.tbl_name, sum(page.pgsize) FROM dbstat AS page JOIN sqlite_schema AS part"
            " ON part.name = page.name WHERE page.aggregate = TRUE GROUP BY 1"
        )
        with self._link() as link, translated(self.path):
            return {str(name): int(size) for name, size in link.connection.execute(sql)}

    def purge(self, tables: Sequence[str]) -> str:
        """Rewrite the file without its free pages, and truncate the WAL. A page may contain rows of any table."""
        with self._turn(), self._link() as link, translated(self.path):
            self._refuse(link, link.lost())
            link.connection.execute("VACUUM")
            busy, *_ = link.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
            self._refuse(link, link.lost())
        return f"{self.path}-wal, which another process reads: it is emptied when that one is done" if busy else ""

    def restore(self, source: Path) -> Path:
        """Replace everything with a backup, for every running process; returns where the present state was saved."""
        from clew.store.sqlite_files import copy_store, opened_backup, renew_epoch, write_over

        kept = self.path.with_name(f"{self.path.name}.before-restore-{time.time_ns()}")
        draft = self.path.with_name(f".{self.path.name}.{time.time_ns()}.restore")
        with self._turn(), self._link() as link, translated(self.path):
            try:
                with opened_backup(source) as backup:
                    copy_store(backup, draft)
                copy = apsw.Connection(str(draft))
                try:
                    migrate(copy, source, self._busy_seconds)
                    renew_epoch(copy)
                    copy_store(link.connection, kept)
                    write_over(copy, link.connection, self._busy_seconds)
                finally:
                    copy.close()
            finally:
                for ending in ("", "-wal", "-shm"):
                    Path(f"{draft}{ending}").unlink(missing_ok=True)
            self._refuse(link, link.lost(), OUTCOME_UNKNOWN)
        return kept

    def close(self) -> None:
        self.resources.close()
        self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _link(self) -> Iterator[Link]:
        link = self._take()
        try:
            yield link
        finally:
            if link.generation == self._generation:
                self._idle.append(link)
            else:
                link.close()

    def _take(self) -> Link:
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def _open(self) -> Link:
        with self._opening, translated(self.path):
            known = identity(str(self.path))
            if self._file is not None and known != self._file:
                raise self._replaced(f"{self.path} was removed or replaced while it was in use")
            if known is None:
                make_directory(self.path.parent)
                make_private(self.path)
            connection = apsw.Connection(str(self.path))
            try:
                self._prepare(connection)
                warn_of_network(self.path)
                self._file = identity(str(self.path))
                return Link(connection, self.path, self._generation)
            except BaseException:
                connection.close()
                raise

    def _prepare(self, connection: apsw.Connection) -> None:
        connection.set_busy_handler(jittered_wait(self._busy_seconds))
        # Also the first access to the file: only then does SQLite open the WAL, whose identity is recorded.
        version = pragma(connection, "user_version")
        if version != latest():
            if version < latest() and not self.auto_migrate:
                raise too_old(str(self.path), version)
            migrate(connection, self.path, self._busy_seconds)
        # Statements are planned without their bound values. Otherwise SQLite replans one each time a value is bound
        # that may match a partial index: four fifths of the time of such a statement.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        for setting in ("synchronous = FULL", "temp_store = MEMORY", "cache_size = -8000"):
            connection.execute(f"PRAGMA {setting}")


def _bytes_of(path: Path) -> int:
    """The size of the file and its WAL."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _versions(link: Link, wait: float) -> Iterator[None]:
    """Yields at each change of the data version and after each `wait`, until the files are replaced."""
    seen = -1
    while link.lost() is None:
        deadline = time.monotonic() + wait
        version = data_version(link.connection)
        while version == seen and time.monotonic() < deadline:
            time.sleep(0.02)
            version = data_version(link.connection)
        seen = version
        yield


def _check_writer(connection: apsw.Connection, path: Path, version: int) -> None:
    """Refuse to write to a newer schema that does not declare that this program may."""
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (OLDEST_WRITER,)).fetchone()
    except apsw.SQLError:  # no such table
        row = None
    if not may_write(version, str(row[0]) if row else None):
        raise too_new(str(path), version)


def migrate(connection: apsw.Connection, path: Path, seconds: float) -> None:
    """Migrate the file to the newest schema; safe if many processes start at once."""
    version = pragma(connection, "user_version")
    if version > latest():
        _check_writer(connection, path, version)
        return
    if version == 0 and pragma(connection, "application_id") not in (0, APPLICATION_ID):
        raise ClewError("STORE_CORRUPT", f"{path} is a database of another program", "Choose another CLEW_HOME.")
    _enter_wal(connection, path, seconds)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = pragma(connection, "user_version")
        for number in pending(version):
            for statement in statements(number, "sqlite"):
                connection.execute(statement)
        if version < latest():
            connection.execute(
                "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (OLDEST_WRITER, writers_note())
            )
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {max(version, latest())}")
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def _enter_wal(connection: apsw.Connection, path: Path, seconds: float) -> None:
    """The switch to WAL does not call the busy handler, so it is retried here."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if connection.execute("PRAGMA journal_mode = WAL").fetchall() != [("wal",)]:
                raise without_shared_memory(path)
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.002, 0.01))


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Converts SQLite's errors to ours, each with a way to resolve it."""
    try:
        yield
    except apsw.Error as problem:
        raise _translate(problem, path) from problem


def _translate(problem: apsw.Error, path: Path) -> ClewError:
    text = f"{path}: {problem}"
    if isinstance(problem, (apsw.BusyError, apsw.LockedError)):
        return ClewError("STORE_LOCKED", text, "Another process holds the database; end it or try again.")
    if isinstance(problem, apsw.FullError) or (isinstance(problem, apsw.IOError) and no_room(path)):
        return ClewError("STORE_FULL", text, f"Free space on the disk that holds {path.parent}. Nothing was written.")
    if isinstance(problem, (apsw.CorruptError, apsw.NotADBError)):
        return ClewError("STORE_CORRUPT", text, f"Restore {path} from a backup, or move it away to start anew.")
    if isinstance(problem, apsw.CantOpenError) and no_descriptors():
        return ClewError("STORE_UNAVAILABLE", f"{text}: too many files are open", "Raise `ulimit -n`, or try again.")
    if isinstance(problem, (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)):
        return ClewError(
            "STORE_READ_ONLY", text, f"Make {path.parent} writable, or set CLEW_HOME to a directory that is."
        )
    if isinstance(problem, apsw.IOError):
        return ClewError(
            "STORE_UNAVAILABLE", text, "The disk reported an error, which the system's log explains. Then try again."
        )
    return ClewError("STORE_ERROR", text, "Run `clew doctor`; it checks the store.")
