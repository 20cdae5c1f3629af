"""A connection to a SQLite file, with the identity of its open files, and its wait for locks.

Also detects whether a path is on a network file system: locks and write-ahead logs require a local disk. SQLite's WAL
keeps its index in shared memory, which processes on two machines cannot share. On one machine it mostly works over a
network too, if the file system implements locks and syncs correctly; hence only a warning.
"""

from __future__ import annotations

import errno
import logging
import os
import random
import shutil
import sys
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import apsw

from clew.errors import ClewError
from clew.store.database import lock_wait

_PAUSE = (0.0002, 0.0025)
"""Minimum and maximum seconds between two attempts to get a lock."""
READ_CHECK_SECONDS = 1.0
"""Readers compare their files once in this interval: reading from a removed file does no harm, and the stat of three
files would cost a short read a tenth of its time."""


class Link:
    """A connection, with the identity of its open files."""

    def __init__(self, connection: apsw.Connection, path: Path, generation: int) -> None:
        self.connection = connection
        self.generation = generation
        self._path = path
        # While a connection is open, SQLite neither removes nor replaces these two.
        self._beside = {name: identity(name) for name in (f"{path}-wal", f"{path}-shm")}
        # SQLite writes an int to an address. An array provides one too, and is imported much faster than ctypes.
        self._moved = array("i", [0])
        self._address = self._moved.buffer_info()[0]
        self._checked = time.monotonic()

    def lost(self) -> str | None:
        """What happened to the files of this connection (removed or replaced); None while they are unchanged."""
        self._checked = time.monotonic()
        self.connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, self._address)
        if self._moved[0]:
            return f"{self._path} was removed or replaced while it was in use"
        for name, known in self._beside.items():
            if identity(name) != known:
                return f"{name} was removed or replaced while it was in use"
        return None

    def lost_lately(self) -> str | None:
        """Like `lost`, but checked only once in an interval."""
        return self.lost() if time.monotonic() - self._checked > READ_CHECK_SECONDS else None

    def rescue(self) -> None:
        """Save a copy of the database as this connection sees it, if another process has replaced our WAL.

        Neither may overwrite the other then, and the acknowledged commits are in ours.
        """
        if self._overtaken() and not self._moved[0]:
            with suppress(apsw.Error):
                roll_back(self.connection)
                self.connection.execute("VACUUM INTO ?", (f"{self._path}.rescued-{time.time_ns()}",))

    def close(self) -> None:
        """Close the connection. The last one of all processes checkpoints the WAL into the database file, even a WAL
        that was removed by hand, so that commits that are only there are not lost."""
        if self._overtaken():
            self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        with suppress(apsw.Error):  # if the disk fails now, the WAL stays and the next connection reads it
            self.connection.close()

    def _overtaken(self) -> bool:
        wal = f"{self._path}-wal"
        return identity(wal) not in (None, self._beside[wal])


def identity(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)  # noqa: PTH116 (creating a Path takes as long as the stat)
    except (FileNotFoundError, NotADirectoryError):  # a part of the path may be a file
        return None
    return found.st_dev, found.st_ino


def jittered_wait(seconds: float) -> Callable[[int], bool]:
    """A fair busy handler: every waiter sleeps a short random time, without a growing backoff.

    SQLite's own handler sleeps longer the longer one has waited, so a process that is already writing keeps the lock.
    """
    started = 0.0

    def wait(attempts: int) -> bool:
        nonlocal started
        now = time.monotonic()
        # One handler for all locks of the connection; SQLite counts from 0 again for each new lock.
        if attempts == 0:
            started = now
        if now - started > lock_wait(seconds):
            return False
        time.sleep(random.uniform(*_PAUSE))
        return True

    return wait


def pragma(connection: apsw.Connection, name: str) -> int:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0]) if row else 0


def data_version(connection: apsw.Connection) -> int:
    return pragma(connection, "data_version")


def roll_back(connection: apsw.Connection) -> None:
    """Roll back a transaction that a failure may already have ended."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


FUSE = 0x65735546
NETWORK = {
    0x6969: "nfs",
    0x517B: "smb",
    0xFE534D42: "smb2",
    0xFF534D42: "cifs",
    FUSE: "fuse",
    0x01021997: "9p",
    0x00C36400: "ceph",
    0x5346414F: "afs",
    0x6B414653: "afs",
    0x564C: "ncp",
    0x0BD00BD0: "lustre",
    0x19830326: "beegfs",
    0x47504653: "gpfs",
    0x786F4256: "vboxsf",
    0xBACBACBC: "vmhgfs",
}
"""Their magic numbers on Linux (statfs, f_type)."""
_STATFS_BYTES = 512  # larger than struct statfs on any machine

log = logging.getLogger("clew.store")


def network_file_system(path: Path) -> str | None:
    """The name of the network file system of `path`; None if it is local or unknown."""
    if os.name == "nt":
        return "smb" if str(path).startswith("\\\\") else None
    number = _number(_nearest(path)) if sys.platform == "linux" else None
    if number == FUSE:
        return _mounted_as(_nearest(path))
    return NETWORK.get(number) if number is not None else None


@lru_cache(maxsize=64)
def warn_of_network(path: Path) -> None:
    """Warn once for each store and process that it is on a network file system."""
    found = network_file_system(path)
    if found is not None:
        log.warning("%s is on a network file system (%s): %s", path, found, ADVICE)


ADVICE = "let one machine use it at a time, or set CLEW_HOME to a local disk or CLEW_DATABASE_URL to a PostgreSQL"


def _nearest(path: Path) -> Path:
    """The path itself or, if it does not exist yet, its nearest existing parent directory."""
    return next((place for place in (path, *path.parents) if place.exists()), Path("/"))


def _number(path: Path) -> int | None:
    import ctypes  # takes milliseconds to import, and a start that opens no store does not need it

    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    try:
        failed = ctypes.CDLL(None).statfs(os.fsencode(path), buffer)
    except (OSError, AttributeError):
        return None
    return None if failed else ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF


def _mounted_as(path: Path) -> str | None:
    """The type name of a FUSE file system, such as `fuse.sshfs`; one over a local disk counts as local."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return NETWORK[FUSE]
    place, found = os.path.realpath(path), (-1, NETWORK[FUSE])
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split(" ")[4]
        if place == mount or place.startswith(mount.rstrip("/") + "/"):
            found = max(found, (len(mount), after.split(" ")[0]))
    return None if found[1] == "fuseblk" else found[1]


def without_shared_memory(path: Path) -> ClewError:
    kind = network_file_system(path)
    named = f", a network file system ({kind})," if kind else ""
    return ClewError(
        "STORE_UNAVAILABLE",
        f"{path.parent}{named} offers no shared memory, which many processes on one store need",
        "Set CLEW_HOME to a directory on a local disk, or CLEW_DATABASE_URL to a PostgreSQL.",
    )


def no_room(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < 1 << 20
    except OSError:
        return False


def no_descriptors() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as problem:
        return problem.errno in (errno.EMFILE, errno.ENFILE)
    return False


def make_private(path: Path) -> None:
    """Restrict a new file to its owner; SQLite creates the WAL and shared-memory files with the same mode."""
    with suppress(OSError):  # it exists, or SQLite will report why it cannot be created
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def make_directory(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise ClewError(
            "STORE_READ_ONLY",
            f"{folder} cannot be created: {os.strerror(problem.errno or 0)}",
            "Set CLEW_HOME to a directory that can be written.",
        ) from problem
