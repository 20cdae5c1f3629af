"""Running a job's process: started under a supervisor, its output read within bounds, ended at a limit.

On systems without process groups (Windows) a command runs without a supervisor. Time and output are still limited
there; memory is not, and processes that the command leaves behind stay.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from clew.platforms import KILLED, can_confine, kill_group, need_confinement
from clew.runner import supervisor

SUPERVISOR = Path(__file__).with_name("supervisor.py")
CHUNK = 65_536
KEPT = 262_144
"""Bytes kept from the end of each stream; earlier output is read and dropped."""
LOOK = 0.2
ORPHAN_SECONDS = 5.0

Echo = Callable[[bytes, bool], None]
"""Takes what a process prints, and whether it came from standard error."""


@dataclass(frozen=True)
class ChildLimits:
    seconds: float
    stop_seconds: float
    memory_bytes: int
    output_bytes: int


@dataclass(frozen=True)
class Ended:
    """How a process ended. `reason` says why it was ended: time, output, memory, start, stopped or lost."""

    exit: int | None
    signal: int | None
    reason: str | None
    detail: str
    output: str
    errors: str

    @property
    def ok(self) -> bool:
        return self.reason is None and self.exit == 0


class Tail:
    """The last KEPT bytes of a stream."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        self._kept += data
        # Cut only at twice the size, so that each byte is moved at most once on average.
        if len(self._kept) > 2 * KEPT:
            del self._kept[:-KEPT]

    def text(self) -> str:
        return bytes(self._kept[-KEPT:]).decode("utf-8", "replace")


def run_child(
    command: Sequence[str],
    environment: dict[str, str],
    directory: Path,
    prompt: Path,
    limits: ChildLimits,
    interrupted: Callable[[], str | None],
) -> Ended:
    """Run a command to its end or to a limit. `interrupted` is called repeatedly; a reason it returns ends the run."""
    need_confinement("a job of a runner")
    with prompt.open("rb") as stdin:
        return run_supervised(command, environment, directory, stdin, limits, interrupted)


def run_supervised(
    command: Sequence[str],
    environment: dict[str, str],
    directory: Path,
    stdin: IO[bytes] | None,
    limits: ChildLimits,
    interrupted: Callable[[], str | None],
    echo: Echo | None = None,
) -> Ended:
    """The same with any input (None: this process's own), and with the output passed on to `echo` as it comes."""
    if not can_confine():
        start = partial(_plain_process, command, environment, directory, stdin)
        return run_plainly(start, limits, interrupted, echo)
    supervisor.adopt_orphans()
    control, controlled = os.pipe()[::-1]
    status, told = os.pipe()
    # Under a lock, because a supervisor that another thread starts at the same moment would look like an orphan.
    with _family.starting() as known:
        try:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    str(SUPERVISOR),
                    str(controlled),
                    str(told),
                    str(limits.memory_bytes),
                    *command,
                ],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=directory,
                # A session of its own: Ctrl-C in the terminal must reach only the runner, which then ends its jobs in
                # order.
                pass_fds=(controlled, told),
                start_new_session=True,
            )
        except BaseException:
            os.close(control)
            os.close(status)
            raise
        finally:
            # Close our copies of its ends: while one is open, the death of the supervisor would not close the pipe.
            os.close(controlled)
            os.close(told)
        _family.supervisors.add(process.pid)
    try:
        return Child(process, control, status, limits, interrupted, echo).wait()
    finally:
        _family.supervisors.discard(process.pid)
        # A supervisor that ended in order has killed everything the job left; one that was killed has not.
        if process.returncode != 0:
            _family.end_orphans(known)


class Family:
    """The supervisors of this process, to distinguish them from orphans that a job left behind.

    A job may kill its supervisor. Its processes then become children of this process that are neither supervisors nor
    children from before the job.
    """

    def __init__(self) -> None:
        self.supervisors: set[int] = set()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def starting(self) -> Iterator[set[int]]:
        """Hold the lock while a supervisor is started and registered; yields the children that existed before."""
        with self._lock:
            yield set(supervisor.children())

    def end_orphans(self, known: set[int]) -> None:
        deadline = time.monotonic() + ORPHAN_SECONDS
        while time.monotonic() < deadline:
            with self._lock:
                orphans = set(supervisor.children()) - known - self.supervisors
            if not orphans:
                return
            for pid in orphans:
                _end_tree(pid)
            time.sleep(0.005)


def _end_tree(pid: int) -> None:
    """Kill a process and its descendants. All are stopped first, so that none forks while others are killed."""
    tree = [pid, *supervisor.descendants(pid)]
    for number in (signal.SIGSTOP, KILLED):
        for member in tree:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(member, number)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


_family = Family()


class Child:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: int,
        status: int,
        limits: ChildLimits,
        interrupted: Callable[[], str | None],
        echo: Echo | None = None,
    ) -> None:
        self._process = process
        self._control: int | None = control
        self._status = status
        self._limits = limits
        self._interrupted = interrupted
        self._echo = echo
        self._reason: str | None = None
        self._output, self._errors, self._told = Tail(), Tail(), Tail()
        self._kill_at = float("inf")

    def wait(self) -> Ended:
        try:
            self._read_until_end()
        finally:
            self._kill()
            os.close(self._status)
            for stream in (self._process.stdout, self._process.stderr):
                if stream is not None:
                    stream.close()
            # The supervisor ends by itself; if it hangs, its whole group is killed.
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                kill_group(self._process)
                self._process.wait()
        return self._outcome()

    def _read_until_end(self) -> None:
        deadline = time.monotonic() + self._limits.seconds
        with selectors.DefaultSelector() as selector:
            for stream, tail in self._streams():
                os.set_blocking(stream, False)
                selector.register(stream, selectors.EVENT_READ, tail)
            while selector.get_map():
                for key, _ in selector.select(LOOK):
                    self._read(selector, key)
                self._keep_limits(deadline)
                # A grandchild may keep the streams open for ever, so the end of the process ends reading too.
                if self._process.poll() is not None and not selector.select(0):
                    return

    def _streams(self) -> list[tuple[int, Tail]]:
        assert self._process.stdout is not None and self._process.stderr is not None
        streams = [(self._process.stdout.fileno(), self._output), (self._process.stderr.fileno(), self._errors)]
        return [*streams, (self._status, self._told)]

    def _read(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        try:
            data = os.read(key.fd, CHUNK)
        except BlockingIOError:
            return
        if data:
            key.data.add(data)
            if self._echo is not None and key.fd != self._status:
                self._echo(data, key.data is self._errors)
        else:
            selector.unregister(key.fd)

    def _keep_limits(self, deadline: float) -> None:
        now = time.monotonic()
        # Before the reason is checked: a job that was asked to end and did not is killed after its grace.
        if now >= self._kill_at:
            self._kill()
        if self._reason is not None:
            return
        if self._output.total + self._errors.total > self._limits.output_bytes:
            self._reason = "output"
            self._kill()  # at once: asking it to end would let it go on printing
        elif now >= deadline:
            self._ask_to_end("time", now)
        else:
            why = self._interrupted()
            if why is not None:
                self._ask_to_end(why, now)

    def _ask_to_end(self, reason: str, now: float) -> None:
        self._reason = reason
        self._kill_at = now + self._limits.stop_seconds
        if self._control is not None:
            with contextlib.suppress(OSError):
                os.write(self._control, b"t")

    def _kill(self) -> None:
        """Tell the supervisor to kill the job by closing the pipe, which also happens when this process dies."""
        if self._control is not None:
            os.close(self._control)
            self._control = None

    def _outcome(self) -> Ended:
        lines = self._told.text().splitlines()
        told: dict[str, Any] = (
            json.loads(lines[0]) if lines else {"reason": "lost", "detail": "its supervisor vanished"}
        )
        return Ended(
            told.get("exit"),
            told.get("signal"),
            self._reason or told.get("reason"),
            str(told.get("detail", "")),
            self._output.text(),
            self._errors.text(),
        )


class PlainChild:
    def __init__(
        self,
        process: subprocess.Popen[bytes],
        limits: ChildLimits,
        interrupted: Callable[[], str | None],
        echo: Echo | None,
    ) -> None:
        self._process = process
        self._limits = limits
        self._interrupted = interrupted
        self._echo = echo
        self._output, self._errors = Tail(), Tail()

    def wait(self) -> Ended:
        assert self._process.stdout is not None and self._process.stderr is not None
        streams = ((self._process.stdout, self._output), (self._process.stderr, self._errors))
        readers = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in streams]
        for reader in readers:
            reader.start()
        reason = self._follow()
        for reader in readers:
            reader.join(LOOK)  # not for ever: a process that was left behind may hold the other end
        code = self._process.returncode
        return Ended(
            code if code is None or code >= 0 else None,
            -code if code is not None and code < 0 else None,
            reason,
            "",
            self._output.text(),
            self._errors.text(),
        )

    def _follow(self) -> str | None:
        """Wait for the process; returns why it was ended, or None if it ended by itself."""
        deadline = time.monotonic() + self._limits.seconds
        while True:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LOOK)
                return None
            reason = self._interrupted()
            if time.monotonic() >= deadline:
                reason = "time"
            if self._output.total + self._errors.total > self._limits.output_bytes:
                reason = "output"
            if reason is not None:
                self._end()
                return reason

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(self._limits.stop_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self, stream: IO[bytes], tail: Tail) -> None:
        while data := stream.read1(CHUNK):  # type: ignore[attr-defined]
            tail.add(data)
            if self._echo is not None:
                self._echo(data, tail is self._errors)


def run_plainly(
    start: Callable[[], subprocess.Popen[bytes]],
    limits: ChildLimits,
    interrupted: Callable[[], str | None],
    echo: Echo | None,
) -> Ended:
    try:
        process = start()
    except OSError as problem:
        return Ended(None, None, "start", str(problem), "", "")
    with process:
        return PlainChild(process, limits, interrupted, echo).wait()


def _plain_process(
    command: Sequence[str], environment: dict[str, str], directory: Path, stdin: IO[bytes] | None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=directory
    )
