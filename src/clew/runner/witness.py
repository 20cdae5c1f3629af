"""Running a command as its witness: its output passes through, and the result is what a receipt records.

The command runs under the supervisor: nothing that it starts outlives it, even if this process is killed. It has
this process's input, in a session of its own, so that it can read the terminal and Ctrl-C reaches it through us.

On Linux the files that the command opened are known too, without tracing it: inotify reports every file that any
process opens in a watched folder. A file that another process opened at the same time is counted as well, which makes
a proof cover more, never less.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import re
import select
import shlex
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from clew.platforms import ENDING, KILLED
from clew.project_files import FilesBefore, git_state
from clew.runner.child import ChildLimits, Echo, Ended, run_supervised

IN_OPEN, IN_ISDIR, IN_Q_OVERFLOW = 0x20, 0x4000_0000, 0x4000
_EVENT = struct.Struct("iIII")
_CACHED = re.compile(r"(.+?)\.[\w-]+(?:\.opt-\d)?\.pyc")
_CACHE = "__pycache__"
MOST_FOLDERS = 4_096
"""Watches are shared by the whole machine, so a project with more folders is not watched."""
READ = 1 << 16


class OpenedFiles:
    """The files of a project that are opened while the block runs; `paths` is None if the system cannot report them."""

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
            # If a compiled file is up to date, Python opens only that, so it represents the source.
            for below in (folder, f"{folder}/{_CACHE}"):
                number = system.inotify_add_watch(self._fd, os.fsencode(self._root / below), IN_OPEN)
                if number >= 0:
                    self._folders[number] = below
                elif below == folder and (self._root / folder).is_dir():
                    return False  # no watches are left on this machine
        return True

    def _follow(self) -> None:
        while True:
            ready, _, _ = select.select([self._fd, self._woken], [], [])
            self._read()
            if self._woken in ready:
                return

    def _read(self) -> None:
        """Read all waiting events. Files opened before the end of the block are among them, however late this runs."""
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
    """The path of an opened file; for a cached Python module, the path of its source."""
    cached = _CACHED.fullmatch(name)
    if cached is not None and Path(folder).name == _CACHE:
        folder, name = str(Path(folder).parent), f"{cached[1]}.py"
    return name if folder == "." else f"{folder}/{name}"


MOST_OUTPUT = 64 << 20
"""A command that prints more bytes than this is ended."""
TAIL = 60_000
STOP_SECONDS = 5
NO_LIMIT = float("inf")
NOT_FOUND, NOT_RUNNABLE = 127, 126
_SHELL_SIGNS = re.compile(r"[\s;&|<>$`*?~(){}#!]")


@dataclass(frozen=True, slots=True)
class WitnessedRun:
    """The result of a run, as a receipt records it."""

    command: str
    exit_code: int
    duration_ms: int
    output_digest: str
    output_tail: str
    reason: str | None = None
    remark: str | None = None
    """In words, why it was ended or could not be started."""


def shell_line(words: Sequence[str]) -> str:
    """The command as one shell line, the form in which receipts store it."""
    return words[0] if _is_shell(words) else shlex.join(words)


def placed(seen: WitnessedRun, folder: Path, root: Path) -> WitnessedRun:
    """The run with its directory in the command, relative to the project: `make test` elsewhere is another command."""
    below = os.path.relpath(folder, root)
    return seen if below == "." else replace(seen, command=f"cd {shlex.quote(below)} && {seen.command}")


def watch(words: Sequence[str], directory: Path, seconds: float = NO_LIMIT) -> WitnessedRun:
    """Run a command with this process's input and output. Signals that ask us to end are passed on to it."""

    def echo(data: bytes, is_error: bool) -> None:
        stream = sys.stderr if is_error else sys.stdout
        with contextlib.suppress(BrokenPipeError):
            stream.buffer.write(data)
            stream.buffer.flush()

    limits = ChildLimits(seconds, STOP_SECONDS, 0, MOST_OUTPUT)
    with _interruptions() as caught:
        seen = observe(words, directory, dict(os.environ), None, limits, lambda: "stopped" if caught else None, echo)
    return replace(seen, exit_code=128 + caught[0]) if seen.reason == "stopped" and caught else seen


def observe(
    words: Sequence[str],
    directory: Path,
    environment: dict[str, str],
    stdin: IO[bytes] | None,
    limits: ChildLimits,
    interrupted: Callable[[], str | None],
    echo: Echo | None = None,
) -> WitnessedRun:
    """Run a command and return what was seen. A single word with shell characters is run by the user's shell."""
    command = [environment.get("SHELL") or "/bin/sh", "-c", words[0]] if _is_shell(words) else list(words)
    digests = (hashlib.sha256(), hashlib.sha256())

    def hear(data: bytes, is_error: bool) -> None:
        digests[is_error].update(data)
        if echo is not None:
            echo(data, is_error)

    begun = time.monotonic()
    ended = run_supervised(command, environment, directory, stdin, limits, interrupted, hear)
    # The streams are digested separately, because the order in which they interleave differs from run to run.
    both = hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()
    return WitnessedRun(
        shell_line(words),
        exit_code_of(ended),
        round((time.monotonic() - begun) * 1000),
        f"sha256:{both}",
        "\n".join(part for part in (ended.errors[-TAIL // 2 :], ended.output[-TAIL // 2 :]) if part),
        ended.reason,
        _remark(ended),
    )


def receipt_arguments(seen: WitnessedRun, root: Path, paths: Iterable[str], before: FilesBefore) -> dict[str, Any]:
    """The arguments of tasks_receipt_record for a run that covers these files of a checkout."""
    snapshot = before.covered(paths)
    return {
        "command": storable(seen.command),
        "exit_code": seen.exit_code,
        "duration_ms": seen.duration_ms,
        "output_digest": seen.output_digest,
        "output_tail": storable(seen.output_tail),
        "files": snapshot.files,
        "stamps": snapshot.stamps,
        **git_state(root),
    }


def storable(text: str) -> str:
    """Text that a store accepts: commands may print NUL, and arguments need not be valid UTF-8."""
    return text.replace("\x00", "\N{SYMBOL FOR NULL}").encode(errors="replace").decode()


def exit_code_of(ended: Ended) -> int:
    """The exit code as a shell gives it: 128 plus the signal if killed, 127 if not found, 124 after a timeout."""
    if ended.reason == "start":
        return NOT_RUNNABLE if "Permission denied" in ended.detail else NOT_FOUND
    if ended.reason in ("output", "lost"):
        return 128 + KILLED
    if ended.reason == "time":
        return 124
    return ended.exit if ended.exit is not None else 128 + (ended.signal or KILLED)


def _remark(ended: Ended) -> str | None:
    reasons = {
        "start": f"could not be started: {ended.detail}",
        "output": f"ended, because it printed more than {MOST_OUTPUT >> 20} MB",
        "time": "ended, because its time was over",
        "stopped": "interrupted",
        "lost": f"lost: {ended.detail}",
    }
    if ended.reason is not None:
        return reasons.get(ended.reason, ended.reason)
    return f"killed by signal {ended.signal}" if ended.signal else None


def _is_shell(words: Sequence[str]) -> bool:
    return len(words) == 1 and _SHELL_SIGNS.search(words[0]) is not None


@contextlib.contextmanager
def _interruptions() -> Iterator[list[int]]:
    """Catch signals that ask this process to end; they are passed on to the command, and its end ends us."""
    caught: list[int] = []
    before = {number: signal.signal(number, lambda got, _: caught.append(got)) for number in ENDING}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
