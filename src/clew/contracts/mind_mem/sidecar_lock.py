"""Mind-Mem's lock: a file `<name>.lock` beside the one that is worked on, with the id of the process that works on it.

Clew's own processes exclude each other by other means. It takes this lock so that Mind-Mem neither reads a file that is
about to be replaced nor writes one that it read before. Nothing depends on it: where it cannot be had in time, Clew
goes on, and what both wrote is merged as any hand edit is. So a lock that is never given back costs time and no memory.
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
"""Seconds after which a lock that names no process is taken for a leftover, as Mind-Mem does. A younger one may just
have been made."""
_RELEASED = b"released"
"""What Mind-Mem writes into a lock that it could not remove."""
_held = threading.local()
"""The files whose lock this thread holds."""


@file_lock("mind_mem")
@contextmanager
def beside(path: Path) -> Iterator[None]:
    """Hold the lock of a file, or go on without it after PATIENCE. Who holds it may take it again."""
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
            return False  # the folder cannot be written, or is full; the write itself will say so
        return True

    def release(self) -> None:
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        mine = self._stands_for(handle)
        os.close(handle)  # first, because Windows removes no file that is open
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
        # Mind-Mem takes a lock over when its process is gone and nobody holds the file's own lock.
        _hold(handle)
        return True

    def _take_over(self) -> bool:
        """Take the lock of a process that is gone, in place: of several that see it, the one that gets the file's own
        lock has it. Where files have no locks nobody can tell, and it is left alone."""
        try:
            handle = os.open(self._path, os.O_RDWR | SAFELY)
        except OSError:
            return False  # given back meanwhile, or not ours to open
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
