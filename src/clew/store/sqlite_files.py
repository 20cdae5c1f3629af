"""Other SQLite files than the live one: copies of the store, and stores of other programs.

A backup is one snapshot, made by SQLite's own copying while others read and write. A restore writes the pages of a
backup into the live file in one transaction, so that running processes continue with the restored data. It renews the
epoch of the store: the same ids and numbers mean other things afterwards, so all caches are invalid. The file of
another program is read as rows, whatever columns its tables have, and nothing is written to it.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from clew.errors import ClewError


def copy_store(source: apsw.Connection, target: Path) -> int:
    """Write a snapshot to a new file, whole or not at all; returns its size."""
    if target.exists():
        raise ClewError("CONFLICT", f"{target} exists", "Name another file, or remove that one first.")
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.new")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with _opened(draft) as copy:
            _copy(source, copy)
            _check(copy, target)
        # Sync the content before the rename and the directory before returning: a backup survives a power cut.
        _sync(draft)
        draft.rename(target)
        _sync(target.parent)
    except OSError as problem:
        raise ClewError(
            "IO_ERROR", f"{target}: {os.strerror(problem.errno or 0)}", "Name a file in a directory you may write to."
        ) from problem
    finally:
        draft.unlink(missing_ok=True)
    return target.stat().st_size


def renew_epoch(connection: apsw.Connection) -> None:
    connection.execute(
        "INSERT INTO meta (key, value) VALUES ('epoch', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (uuid.uuid4().hex,),
    )


def write_over(source: apsw.Connection, live: apsw.Connection, seconds: float) -> None:
    """Write every page of `source` to the live file in one transaction; waits so many seconds for its writers."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            _copy(source, live)
            return
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _copy(source: apsw.Connection, target: apsw.Connection) -> None:
    # All pages at once: a copy in steps restarts at every concurrent write.
    with target.backup("main", source, "main") as copying:
        copying.step(-1)


def _check(copy: apsw.Connection, path: Path) -> None:
    (answer,) = copy.execute("PRAGMA quick_check(1)").fetchone() or ("nothing",)
    if answer != "ok":
        raise ClewError("STORE_CORRUPT", f"the copy for {path} is damaged: {answer}", "Run `clew doctor`.")


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(path))
    try:
        yield connection
    finally:
        connection.close()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def opened_backup(path: Path) -> Iterator[apsw.Connection]:
    """Opens a backup for reading, if it is intact; the file itself is not changed."""
    if not path.is_file():
        raise ClewError("NOT_FOUND", f"{path} is no file", "Name a file that `clew backup` wrote.")
    # Immutable: SQLite must not create a WAL or other files next to the backup.
    connection = apsw.Connection(f"file:{path}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        _check(connection, path)
        yield connection
    finally:
        connection.close()


Row = dict[str, Any]


WAIT_MS = 5_000
"""Timeout for locks of the program that uses its store: BranchMind's own limit."""


class ForeignStore:
    """The tables of another program. Errors of its file are reported as such, never as damage to our own."""

    def __init__(self, connection: apsw.Connection, path: Path, *, checked: bool = True) -> None:
        self._connection, self.path = connection, path
        # Read in one transaction: we must not see half of a concurrent change of that program.
        self._ask("BEGIN")
        self.tables = [
            str(name) for (name,) in self._ask("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
        ]
        answer = next(self._ask("PRAGMA quick_check(1)"), ("nothing",))[0] if checked else "ok"
        if answer != "ok":
            raise _damaged(path, str(answer))

    def columns(self, table: str) -> set[str]:
        return {str(info[1]) for info in self._ask(f"PRAGMA table_info({table})")}

    def rows(self, table: str, order: str, **equal: Any) -> Iterator[Row]:
        """Rows of a table in an order; none if there is no such table. Names are ours, never a caller's."""
        if table not in self.tables:
            return
        known = self.columns(table)
        where = " AND ".join(f"{name} = ?" for name in equal) or "1"
        wanted = ", ".join(name for name in order.split(", ") if name in known) or "rowid"
        cursor = self._connection.cursor()
        names: list[str] | None = None
        for values in self._ask(
            f"SELECT * FROM {table} WHERE {where} ORDER BY {wanted}", *equal.values(), cursor=cursor
        ):
            names = names or [str(part[0]) for part in cursor.getdescription()]
            yield dict(zip(names, values, strict=True))

    def _ask(self, sql: str, *params: Any, cursor: apsw.Cursor | None = None) -> Iterator[tuple[Any, ...]]:
        """Rows of a statement. It is executed immediately; an error is reported at any point, also at a later row."""
        try:
            found = (cursor or self._connection.cursor()).execute(sql, params)
        except apsw.Error as problem:
            raise _foreign_error(problem, self.path) from None
        return self._each(found)

    def _each(self, found: apsw.Cursor) -> Iterator[tuple[Any, ...]]:
        try:
            yield from found
        except apsw.Error as problem:
            raise _foreign_error(problem, self.path) from None


def _foreign_error(problem: apsw.Error, path: Path) -> ClewError:
    if isinstance(problem, apsw.NotADBError):
        return ClewError("INVALID_INPUT", f"{path} is no SQLite file", "Name another file.")
    if isinstance(problem, apsw.CorruptError):
        return _damaged(path, str(problem))
    copy = "Copy its directory and import the copy"
    if isinstance(problem, apsw.BusyError | apsw.LockedError):
        return ClewError(
            "STORE_LOCKED", f"another process holds {path}", f"End that program, or try again. {copy} else."
        )
    return ClewError("IO_ERROR", f"{path} cannot be read: {problem}", f"{copy}.")


def _damaged(path: Path, what: str) -> ClewError:
    told = (
        f"Nothing was imported. Mend a copy with `sqlite3 {path.name} .recover | sqlite3 mended.db`, and import that."
    )
    return ClewError("INVALID_INPUT", f"{path} is damaged: {what}", told)


@contextmanager
def opened_foreign(path: Path, *, checked: bool = True) -> Iterator[ForeignStore]:
    """Opens the file read-only; commits in the WAL that are not yet checkpointed are visible as well.

    `checked` reads all of it first, to find damage before anything is taken from it: not for files of gigabytes.
    """
    if not path.is_file():
        raise ClewError("NOT_FOUND", f"{path} is no file", "Name the file or its directory.")
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as problem:
        raise _foreign_error(problem, path) from None
    try:
        connection.set_busy_timeout(WAIT_MS)
        yield ForeignStore(connection, path, checked=checked)
    finally:
        connection.close()
