"""What the operating system offers, in one place, with a plain way or a clear refusal where it does not.

Linux has everything. macOS lacks leases, signals on pipes, limits set from outside and `/proc`. Windows lacks process
groups, limits, Unix sockets, file modes and `fcntl`. Modules ask here instead of importing those themselves.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from contextlib import suppress
from types import ModuleType
from typing import Any

from clew.errors import ClewError


def _module(name: str) -> ModuleType | None:
    try:
        return __import__(name)
    except ImportError:
        return None


fcntl: Any = _module("fcntl")
resource: Any = _module("resource")

SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for `os.open`: follow no link, pass the file to no child, translate no line ends. Where the system has it."""
KILLED = int(getattr(signal, "SIGKILL", 9))
"""The number of the signal that cannot be refused; 9 everywhere."""
ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if getattr(signal, name, None)
)
"""Signals by which people and systems ask a process to end."""


def has_leases() -> bool:
    """Whether the system reports that a file is open for writing (Linux)."""
    return hasattr(fcntl, "F_SETLEASE") and hasattr(fcntl, "F_SETSIG")


def has_pipe_signals() -> bool:
    """Whether the end of a pipe can kill a process group, which ends the children of a killed server (Linux)."""
    return hasattr(fcntl, "F_SETSIG") and hasattr(fcntl, "F_SETOWN") and hasattr(os, "O_ASYNC")


def can_confine() -> bool:
    """Whether a process can be limited and ended with everything that it started (POSIX)."""
    return resource is not None and hasattr(os, "killpg") and hasattr(os, "fork") and hasattr(os, "setsid")


def need_confinement(what: str) -> None:
    """Refuse what would run foreign code without limits."""
    if not can_confine():
        raise ClewError(
            "UNAVAILABLE",
            f"{what} needs process groups and resource limits, which this system does not have",
            "Run it on Linux or macOS, on Windows in WSL.",
        )


def kill_group(process: subprocess.Popen[Any]) -> None:
    """End a process started in a separate session, with its process group where that exists."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, KILLED)
        else:
            process.kill()


def sync_file(file: int) -> None:
    """Make what was written durable; its times need not be, where the system makes the difference."""
    getattr(os, "fdatasync", os.fsync)(file)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Make the renames in a folder durable. Windows opens no folders and writes renames through."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | SAFELY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Readiness:
    """Waits until one file descriptor can be read, or also written: by `poll`, by `select` where there is none."""

    def __init__(self, file: int, *, writing: bool = False) -> None:
        self._file = file
        self._writing = writing
        self._poll: Any = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(file, select.POLLIN | (select.POLLOUT if writing else 0))

    def wait(self, seconds: float | None) -> tuple[bool, bool]:
        """(it can be read, it can be written); both false when the time was over."""
        if self._poll is not None:
            found = self._poll.poll(None if seconds is None else seconds * 1000)
            events = found[0][1] if found else 0
            failed = bool(events & ~(select.POLLIN | select.POLLOUT))  # the next read or write says what it is
            return bool(events & select.POLLIN) or failed, bool(events & select.POLLOUT) or failed
        readable, writable, _ = select.select([self._file], [self._file] if self._writing else [], [], seconds)
        return bool(readable), bool(writable)
