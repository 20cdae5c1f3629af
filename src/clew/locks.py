"""A lock that one process holds on a file, on every platform.

POSIX has `flock`, Windows `msvcrt.locking`; both end with the process, however it ends. Where neither exists, the lock
is a file that names its holder, and a holder that is gone is ignored. Nothing but the standard library is imported:
every start of an MCP client waits for this module.
"""

from __future__ import annotations

import os
import time

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:
    msvcrt = None  # type: ignore[assignment]

_PAUSE = 0.02
_FILE = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class FileLock:
    """Exclusive. Two objects exclude each other also within one process."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._handle: int | None = None

    def take(self, patience: float = 0.0, pause: float = _PAUSE) -> bool:
        """Whether it was taken within so many seconds. Raises OSError where the file cannot be made."""
        end = time.monotonic() + patience
        while not self._try():
            if time.monotonic() >= end:
                return False
            time.sleep(pause)
        return True

    def release(self) -> None:
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        if fcntl is None and msvcrt is None:
            _forget(self._path)
        elif fcntl is None:
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        os.close(handle)

    def _try(self) -> bool:
        if fcntl is None and msvcrt is None:
            self._handle = _named(self._path)
            return self._handle is not None
        handle = os.open(self._path, _FILE, 0o600)
        try:
            _lock(handle)
        except OSError as problem:
            os.close(handle)
            if fcntl is not None and not isinstance(problem, BlockingIOError):
                raise  # a file system without locks
            return False
        # Kept open: the lock ends when the file is closed, and so also when the process dies.
        self._handle = handle
        return True


def _lock(handle: int) -> None:
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]


def _named(path: str) -> int | None:
    """Make a file that holds our process id, beside the lock's own. None while another holder's file exists."""
    holder = f"{path}.holder"
    try:
        handle = os.open(holder, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if not _is_stale(holder):
            return None
        # Of several that see it stale, one renames it away; the others find nothing to rename and look again.
        try:
            os.replace(holder, f"{holder}.{os.getpid()}")
            os.unlink(f"{holder}.{os.getpid()}")
        except OSError:
            pass
        return None
    os.write(handle, str(os.getpid()).encode())
    return handle


def _is_stale(holder: str) -> bool:
    try:
        with open(holder, "rb") as file:
            process = int(file.read() or b"0")
    except (OSError, ValueError):
        return False
    if process == 0:
        return False  # just made, its holder has not written yet
    return not is_running(process)


def _forget(path: str) -> None:
    try:
        os.unlink(f"{path}.holder")
    except OSError:
        pass


def is_running(process: int) -> bool:
    """Whether a process has this id. Windows ends a process that is signalled, so there it is opened instead."""
    if os.name == "nt":
        import ctypes

        kernel = ctypes.windll.kernel32  # type: ignore[attr-defined, unused-ignore]
        found = kernel.OpenProcess(0x1000, False, process)  # PROCESS_QUERY_LIMITED_INFORMATION
        if found:
            kernel.CloseHandle(found)
        return bool(found)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
