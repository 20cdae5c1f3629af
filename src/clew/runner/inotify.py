"""Which files of a project a command opened, where Linux can tell; elsewhere nobody knows.

The kernel reports every file that is opened in a watched folder, by whatever process. So a command's files are known
without tracing it; a file that somebody else opened at the same time is counted too, which makes a proof a little more
careful and never less.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import struct
import threading
from collections.abc import Iterable
from pathlib import Path

IN_OPEN, IN_ISDIR, IN_Q_OVERFLOW = 0x20, 0x4000_0000, 0x4000
_EVENT = struct.Struct("iIII")
_CACHED = re.compile(r"(.+?)\.[\w-]+(?:\.opt-\d)?\.pyc")
_CACHE = "__pycache__"
MOST_FOLDERS = 4_096
"""Watches are a resource of the whole machine; a project with more folders is not watched."""
READ = 1 << 16


class OpenedFiles:
    """Files of a project that are opened while the block runs; `paths` is None where the system cannot tell."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self._root, self._files = root, frozenset(files)
        self._folders: dict[int, str] = {}
        self._seen: set[str] = set()
        self._blind = False
        self._fd = -1
        self._thread: threading.Thread | None = None
        self._woken, self._wake = -1, -1

    @property
    def paths(self) -> set[str] | None:
        return None if self._blind or self._thread is None else self._seen & self._files

    def __enter__(self) -> OpenedFiles:
        folders = sorted({str(Path(path).parent) for path in self._files})
        if len(folders) <= MOST_FOLDERS and self._watch(folders):
            self._woken, self._wake = os.pipe()
            self._thread = threading.Thread(target=self._follow, name="clew-inotify", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            os.write(self._wake, b".")
            self._thread.join()
        for fd in (self._fd, self._woken, self._wake):
            if fd >= 0:
                os.close(fd)

    def _watch(self, folders: list[str]) -> bool:
        try:
            system = ctypes.CDLL(None, use_errno=True)
            self._fd = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (AttributeError, OSError):
            return False
        if self._fd < 0:
            return False
        for folder in folders:
            for below in (folder, f"{folder}/{_CACHE}"):
                number = system.inotify_add_watch(self._fd, os.fsencode(self._root / below), IN_OPEN)
                if number >= 0:
                    self._folders[number] = below
                elif below == folder and (self._root / folder).is_dir():
                    return False  # the machine has no watches left
        return True

    def _follow(self) -> None:
        while True:
            ready, _, _ = select.select([self._fd, self._woken], [], [])
            self._read()
            if self._woken in ready:
                return

    def _read(self) -> None:
        """Everything that waits. What was opened before the block ended is there, however late it is read."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._fd, READ):
                at = 0
                while at < len(data):
                    number, mask, _, length = _EVENT.unpack_from(data, at)
                    name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
                    at += _EVENT.size + length
                    self._blind |= bool(mask & IN_Q_OVERFLOW)
                    if name and not mask & IN_ISDIR and number in self._folders:
                        self._seen.add(_source(self._folders[number], os.fsdecode(name)))


def _source(folder: str, name: str) -> str:
    """The file itself, or the Python source that a cached module was made of: Python opens only the latter's cache."""
    cached = _CACHED.fullmatch(name)
    if cached is not None and Path(folder).name == _CACHE:
        folder, name = str(Path(folder).parent), f"{cached[1]}.py"
    return name if folder == "." else f"{folder}/{name}"
