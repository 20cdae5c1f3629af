"""SQLite through apsw: one file, WAL, every acknowledged write fsynced, many processes at once."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from clew.errors import ClewError
from clew.store.companions import Companions
from clew.store.database import Row
from clew.store.migrations import latest, pending, statements

BUSY_SECONDS = 20.0
APPLICATION_ID = 0x434C4557  # "CLEW"
_PAUSE = (0.0002, 0.0025)

_names: dict[str, tuple[str, ...]] = {}


class SqliteTransaction:
    engine = "sqlite"

    def __init__(self, connection: apsw.Connection, writable: bool, lineage: int) -> None:
        self._connection = connection
        self.writable = writable
        self.lineage = lineage

    def all(self, sql: str, *params: Any) -> list[Row]:
        cursor = self._connection.execute(sql, params)
        names = _names.get(sql) or _learn_names(sql, cursor)
        return [dict(zip(names, row, strict=True)) for row in cursor] if names else []

    def tuples(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, params).fetchall()

    def each(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        return [self.all(sql, *row) for row in rows]

    def one(self, sql: str, *params: Any) -> Row | None:
        rows = self.all(sql, *params)
        return rows[0] if rows else None

    def value(self, sql: str, *params: Any) -> Any:
        row = self._connection.execute(sql, params).fetchone()
        return row[0] if row else None

    def run(self, sql: str, *params: Any) -> None:
        self._connection.execute(sql, params)

    def changed(self, sql: str, *params: Any) -> int:
        self._connection.execute(sql, params)
        return self._connection.changes()

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        self.run("SAVEPOINT attempt")
        try:
            yield
        except BaseException:
            self.run("ROLLBACK TO SAVEPOINT attempt")
            raise
        finally:
            self.run("RELEASE SAVEPOINT attempt")

    def notify(self, channel: str) -> None:
        """Nothing to do: followers watch the file's data version."""


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

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self.companions = Companions(self)
        self._busy_seconds = busy_seconds
        self._idle: list[apsw.Connection] = []
        self._writer = threading.Lock()
        self._ready = False
        self._opening = threading.Lock()
        self._lineage = 0

    @contextmanager
    def read(self) -> Iterator[SqliteTransaction]:
        with self._connection() as connection, translated(self.path):
            connection.execute("BEGIN")
            try:
                yield SqliteTransaction(connection, writable=False, lineage=self._lineage)
            finally:
                _end(connection, "ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[SqliteTransaction]:
        # Threads of this process queue on a lock; processes queue in the busy handler.
        with self._writer, self._connection() as connection, translated(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteTransaction(connection, writable=True, lineage=self._lineage)
                connection.execute("COMMIT")
            except BaseException:
                _end(connection, "ROLLBACK")
                raise

    def changes(self, wait: float) -> Iterator[None]:
        """Polls the data version, which costs two microseconds and sees every process's commits."""
        with self._connection() as connection:
            seen = -1
            while True:
                deadline = time.monotonic() + wait
                version = _data_version(connection)
                while version == seen and time.monotonic() < deadline:
                    time.sleep(0.02)
                    version = _data_version(connection)
                seen = version
                yield

    def integrity(self) -> list[str]:
        with self._connection() as connection, translated(self.path):
            answers = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
        return [] if answers == ["ok"] else answers

    def schema_version(self) -> int:
        with self._connection() as connection, translated(self.path):
            return _pragma(connection, "user_version")

    def describe(self) -> dict[str, Any]:
        return {"engine": "sqlite", "version": apsw.sqlite_lib_version(), "file": str(self.path)}

    def close(self) -> None:
        self.companions.close()
        while self._idle:
            self._idle.pop().close()
        self._ready = False

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        connection = self._take()
        try:
            yield connection
        finally:
            self._idle.append(connection)

    def _take(self) -> apsw.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            with self._opening, translated(self.path):
                return self._open()

    def _open(self) -> apsw.Connection:
        if not self._ready:
            _make_directory(self.path.parent)
        connection = apsw.Connection(str(self.path))
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        connection.set_busy_handler(jittered_wait(self._busy_seconds))
        if not self._ready:
            if _pragma(connection, "user_version") != latest():
                migrate(connection, self.path, self._busy_seconds)
            self._ready = True
        for pragma in ("synchronous = FULL", "temp_store = MEMORY", "cache_size = -16000"):
            connection.execute(f"PRAGMA {pragma}")


def jittered_wait(seconds: float) -> Any:
    """A busy handler that is fair: everyone sleeps a short random time, nobody backs off for long.

    SQLite's own handler sleeps longer the longer one has waited, so whoever writes already keeps writing.
    """
    started = 0.0

    def wait(attempts: int) -> bool:
        nonlocal started
        now = time.monotonic()
        if attempts == 0:
            started = now
        if now - started > seconds:
            return False
        time.sleep(random.uniform(*_PAUSE))
        return True

    return wait


def migrate(connection: apsw.Connection, path: Path, seconds: float) -> None:
    """Bring the file to the newest schema; safe when many processes start at once."""
    version = _pragma(connection, "user_version")
    if version > latest():
        raise too_new(str(path), version)
    if version == 0 and _pragma(connection, "application_id") not in (0, APPLICATION_ID):
        raise ClewError("STORE_CORRUPT", f"{path} is a database of another program", "Choose another CLEW_HOME.")
    _enter_wal(connection, seconds)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _pragma(connection, "user_version")
        for number in pending(version):
            for statement in statements(number, "sqlite"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {max(version, latest())}")
        connection.execute("COMMIT")
    except BaseException:
        _end(connection, "ROLLBACK")
        raise


def _enter_wal(connection: apsw.Connection, seconds: float) -> None:
    """The switch to WAL does not call the busy handler, so it is retried by hand."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.002, 0.01))


def too_new(where: str, version: int) -> ClewError:
    return ClewError(
        "STORE_TOO_NEW",
        f"{where} has schema {version}; this Clew knows {latest()}",
        "Upgrade Clew, or point CLEW_HOME to another directory. Nothing was changed.",
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours, each with the way out."""
    try:
        yield
    except apsw.Error as problem:
        raise _translate(problem, path) from problem


def _translate(problem: apsw.Error, path: Path) -> ClewError:
    text = f"{path}: {problem}"
    if isinstance(problem, (apsw.BusyError, apsw.LockedError)):
        return ClewError("STORE_LOCKED", text, "Another process holds the database; end it or try again.")
    if isinstance(problem, apsw.FullError) or (isinstance(problem, apsw.IOError) and _no_room(path)):
        return ClewError("STORE_FULL", text, f"Free space on the disk that holds {path.parent}. Nothing was written.")
    if isinstance(problem, (apsw.CorruptError, apsw.NotADBError)):
        return ClewError("STORE_CORRUPT", text, f"Restore {path} from a backup, or move it away to start anew.")
    if isinstance(problem, (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError)):
        return ClewError(
            "STORE_READ_ONLY", text, f"Make {path.parent} writable, or set CLEW_HOME to a directory that is."
        )
    return ClewError("STORE_ERROR", text, "Run `clew doctor`; it checks the store.")


def _no_room(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < 1 << 20
    except OSError:
        return False


def _make_directory(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise ClewError(
            "STORE_READ_ONLY",
            f"{folder} cannot be created: {os.strerror(problem.errno or 0)}",
            "Set CLEW_HOME to a directory that can be written.",
        ) from problem


def _pragma(connection: apsw.Connection, name: str) -> int:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0]) if row else 0


def _data_version(connection: apsw.Connection) -> int:
    return _pragma(connection, "data_version")


def _end(connection: apsw.Connection, how: str) -> None:
    """Close a transaction that a failure may have closed already."""
    if connection.in_transaction:
        connection.execute(how)
