"""A connection to a SQLite file, with the identity of the files that it has open, and how it waits for a lock."""

from __future__ import annotations

import os
import random
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw

_PAUSE = (0.0002, 0.0025)
"""Seconds: at least and at most so long between two tries for a lock."""
READ_CHECK_SECONDS = 1.0
"""Readers compare their files once in this time: reading from a file that is gone does no harm, and the look at three
files would cost a short read a tenth of its time."""


class Link:
    """A connection, with the identity of the files that it has open."""

    def __init__(self, connection: apsw.Connection, path: Path, lineage: int) -> None:
        self.connection = connection
        self.lineage = lineage
        self._path = path
        # While a connection is open, SQLite neither removes nor replaces these two.
        self._beside = {name: identity(name) for name in (f"{path}-wal", f"{path}-shm")}
        # SQLite writes an int to an address. An array has one too, and is loaded in no time, unlike ctypes.
        self._moved = array("i", [0])
        self._address = self._moved.buffer_info()[0]
        self._checked = time.monotonic()

    def lost(self) -> str | None:
        """What happened to the files of this connection; None while they are still the ones at the path."""
        self._checked = time.monotonic()
        self.connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, self._address)
        if self._moved[0]:
            return f"{self._path} was removed or replaced while it was in use"
        for name, known in self._beside.items():
            if identity(name) != known:
                return f"{name} was removed or replaced while it was in use"
        return None

    def lost_lately(self) -> str | None:
        """As `lost`, but looked at only now and then."""
        return self.lost() if time.monotonic() - self._checked > READ_CHECK_SECONDS else None

    def rescue(self) -> None:
        """Copy what this connection sees, if another process has begun a new WAL in place of ours.

        Neither may be written over the other then, and what was acknowledged stands in ours.
        """
        if self._overtaken() and not self._moved[0]:
            with suppress(apsw.Error):
                end_transaction(self.connection, "ROLLBACK")
                self.connection.execute("VACUUM INTO ?", (f"{self._path}.rescued-{time.time_ns()}",))

    def close(self) -> None:
        """Close the connection. The last one of all processes brings the WAL into the database file, also one that was
        removed by hand, so that nothing is lost that stands only there."""
        if self._overtaken():
            self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        with suppress(apsw.Error):  # if the disk fails now, the WAL stays and the next one to open reads it
            self.connection.close()

    def _overtaken(self) -> bool:
        wal = f"{self._path}-wal"
        return identity(wal) not in (None, self._beside[wal])


def identity(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)  # noqa: PTH116 (a Path takes as long to make as the look itself)
    except (FileNotFoundError, NotADirectoryError):  # a part of the path may be a file
        return None
    return found.st_dev, found.st_ino


def jittered_wait(seconds: float) -> Callable[[int], bool]:
    """A busy handler that is fair: everyone sleeps a short random time, nobody backs off for long.

    SQLite's own handler sleeps longer the longer one has waited, so whoever writes already keeps writing.
    """
    started = 0.0

    def wait(attempts: int) -> bool:
        nonlocal started
        now = time.monotonic()
        # One handler serves every wait of the connection; SQLite counts from 0 again for each new lock.
        if attempts == 0:
            started = now
        if now - started > seconds:
            return False
        time.sleep(random.uniform(*_PAUSE))
        return True

    return wait


def pragma(connection: apsw.Connection, name: str) -> int:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0]) if row else 0


def data_version(connection: apsw.Connection) -> int:
    return pragma(connection, "data_version")


def end_transaction(connection: apsw.Connection, how: str) -> None:
    """Close a transaction that a failure may have closed already."""
    if connection.in_transaction:
        connection.execute(how)
