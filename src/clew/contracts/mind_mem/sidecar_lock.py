"""Mind-Mem's lock: a file `<name>.lock` next to the locked one, with the id of the process that holds it.

Clew's own processes exclude each other by other means. It takes this lock so that Mind-Mem neither reads a file that is
about to be replaced nor writes one that it read before. Nothing depends on it: if it cannot be acquired in time, Clew
continues, and both changes are merged like any manual edit. So a lock that is never released costs time and no memory.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clew.locks import is_running
from clew.memory.files.directory import file_lock
from clew.platforms import SAFELY, fcntl

PATIENCE = 3.0
"""Seconds. Mind-Mem holds a lock for the time of one write, and itself waits for ten."""
_PAUSE = 0.005
ABANDONED_AFTER = 300.0
"""Seconds after which a lock that names no process counts as stale, as in Mind-Mem. A younger one may just
have been created."""
_RELEASED = b"released"
"""What Mind-Mem writes into a lock that it could not remove."""
_held = threading.local()
"""The files whose lock this thread holds."""


@file_lock("mind_mem")
@contextmanager
def beside(path: Path) -> Iterator[None]:
    """Hold the lock of a file, or continue without it after PATIENCE. Its holder may acquire it again."""
    held: set[Path] = _held.__dict__.setdefault("paths", set())
    if path in held:
        yield
        return
    lock = SidecarLock(path)
    if lock.take(PATIENCE):
        held.add(path)
    try:
        yield
    finally:
        held.discard(path)
        lock.release()


class SidecarLock:
    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}.lock")
        self._handle: int | None = None

    def take(self, patience: float) -> bool:
        end = time.monotonic() + patience
        try:
            while not (self._make() or self._take_over()):
                if time.monotonic() >= end:
                    return False
                time.sleep(_PAUSE)
        except OSError:
            return False  # the folder is not writable, or is full; the write itself will report it
        return True

    def release(self) -> None:
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        mine = self._stands_for(handle)
        os.close(handle)  # first, because Windows cannot remove an open file
        if mine:
            with suppress(OSError):
                self._path.unlink()

    def _make(self) -> bool:
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | SAFELY, 0o666)
        except FileExistsError:
            return False
        self._handle = handle
        _sign(handle)
        # Mind-Mem takes a lock over if its process has ended and the file's own lock is free.
        _hold(handle)
        return True

    def _take_over(self) -> bool:
        """Take the lock of a process that has ended, in place: of several contenders, the one that gets the file's own
        lock has it. On systems without file locks this cannot be decided, and it is left alone."""
        try:
            handle = os.open(self._path, os.O_RDWR | SAFELY)
        except OSError:
            return False  # released meanwhile, or no permission to open it
        if _is_abandoned(handle) and _hold(handle) and _is_abandoned(handle) and self._stands_for(handle):
            self._handle = handle
            _sign(handle)
            return True
        os.close(handle)
        return False

    def _stands_for(self, handle: int) -> bool:
        """Whether the file under the lock's name is still the one that is open here."""
        try:
            return os.path.samestat(os.fstat(handle), self._path.lstat())
        except OSError:
            return False


def _sign(handle: int) -> None:
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, f"{os.getpid()}\n".encode())


def _is_abandoned(handle: int) -> bool:
    os.lseek(handle, 0, os.SEEK_SET)
    said = os.read(handle, 32).strip()
    if said.isdigit() and len(said) < 10:
        return not is_running(int(said))
    return said == _RELEASED or time.time() - os.fstat(handle).st_mtime > ABANDONED_AFTER


def _hold(handle: int) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
