"""Running a cell in a process group of its own: limited in time, memory and output, and killed when it must be."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clew.ledger.notebooks.runtimes import ProcessStart, prepared
from clew.platforms import KILLED, fcntl, has_pipe_signals, kill_group, need_confinement, resource
from clew.registry.connection import outside

DATA_MB = 900  # Deno itself needs about 550; what is left bounds buffers outside of the heap.
FILE_MB = 64  # for Deno's own cache; cells may write no file at all
OUTPUT_LIMIT = 200_000
NICE = 5
"""Whoever waits for an answer goes before whoever runs a cell."""
_TICK = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: completed, failed, timed_out, too_much_output, stopped."""

    status: str
    exit_code: int | None
    stdout: str
    stderr: str
    duration_ms: int
    truncated: bool

    @property
    def ok(self) -> bool:
        return self.status == "completed"


def run(
    source: str,
    filename: str,
    seconds: float,
    cache: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Outcome:
    """Run one cell to its end, or to the end of its time, memory or output."""
    with tempfile.TemporaryDirectory(prefix="clew-cell-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        return followed(prepared(source, filename, folder, cache), folder, seconds, progress)


def followed(start: ProcessStart, folder: Path, seconds: float, progress: Callable[[float], None] | None) -> Outcome:
    """Start a process, and see it to its end."""
    need_confinement("a notebook's cell")
    with Leash() as leash:
        process = spawned(start, folder, seconds, leash)
        begun = time.monotonic()
        try:
            # First of all: from here on the cell cannot outlive us.
            leash.tie(process.pid)
            if _FROM_OUTSIDE:
                _limit(process.pid, seconds)
            with outside() as stopping:
                watch = ProcessWatch(process, start.request, seconds, progress, stopping)
                status = watch.follow()
        finally:
            end_group(process)
    duration = int((time.monotonic() - begun) * 1000)
    return _outcome(status, process.returncode, watch, duration, start)


def spawned(start: ProcessStart, folder: Path, seconds: float, leash: Leash) -> subprocess.Popen[bytes]:
    """Where possible no code of ours runs between fork and exec: it would force a copy of the whole server."""
    return subprocess.Popen(
        start.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=start.environment,
        cwd=folder,
        pass_fds=(leash.child,),
        start_new_session=True,
        preexec_fn=None if _FROM_OUTSIDE else lambda: _limit_self(seconds),
    )


class Leash:
    """A pipe from the server to a cell; when the server is gone, even killed, the system kills the cell's group.

    The cell holds one end and never looks at it. The system tells the owner of that end when the other is closed, and
    on Linux the message may be SIGKILL. A parent's death signal would do as much, but only the child can ask for it.
    """

    def __enter__(self) -> Leash:
        self.child, self._server = os.pipe()
        return self

    def tie(self, group: int) -> None:
        if has_pipe_signals():
            with suppress(OSError):  # it has ended already
                fcntl.fcntl(self.child, fcntl.F_SETSIG, KILLED)
                fcntl.fcntl(self.child, fcntl.F_SETOWN, -group)
                fcntl.fcntl(self.child, fcntl.F_SETFL, fcntl.fcntl(self.child, fcntl.F_GETFL) | os.O_ASYNC)

    def __exit__(self, *_: object) -> None:
        os.close(self.child)
        os.close(self._server)


_FROM_OUTSIDE = hasattr(resource, "prlimit")


def _limits(seconds: float) -> dict[int, int]:
    return {
        # Behind the limit of the clock: it holds even if the server that watches is stopped.
        resource.RLIMIT_CPU: int(seconds) + 5,
        resource.RLIMIT_DATA: DATA_MB << 20,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: FILE_MB << 20,
    }


def _limit(pid: int, seconds: float) -> None:
    """From outside, on Linux; the code itself comes later, or cannot have done much by now."""
    with suppress(ProcessLookupError):
        for limit, value in _limits(seconds).items():
            resource.prlimit(pid, limit, (value, value))
        os.setpriority(os.PRIO_PGRP, pid, NICE)
    with suppress(OSError):  # where each session is scheduled as one, its own priority is what counts
        Path(f"/proc/{pid}/autogroup").write_text(str(NICE), encoding="ascii")


def _limit_self(seconds: float) -> None:
    """Between fork and exec, where no one can be limited from outside."""
    for limit, value in _limits(seconds).items():
        resource.setrlimit(limit, (value, value))
    os.nice(NICE)


class ProcessWatch:
    """Feeds a process its input and reads what it prints, never more than the limit."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        request: bytes,
        seconds: float,
        progress: Callable[[float], None] | None,
        stopping: Callable[[], bool],
    ) -> None:
        self._process = process
        self._request = request
        self._seconds = seconds
        self._progress = progress
        self._stopping = stopping
        self._begun = self._told = time.monotonic()
        self.printed = {"stdout": bytearray(), "stderr": bytearray()}

    def follow(self) -> str:
        """`ended`, `timed_out`, `too_much_output` or `stopped`."""
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            # Time and stop are asked for before each wait, so that a cell which prints without end is stopped too.
            while selector.get_map():
                if (over := self._over()) is not None:
                    return over
                for key, _ in selector.select(self._patience()):
                    if not self._serve(selector, key):
                        return "too_much_output"
                self._tell()
        return self._wait()

    def _over(self) -> str | None:
        if time.monotonic() - self._begun > self._seconds:
            return "timed_out"
        return "stopped" if self._stopping() else None

    def _patience(self) -> float:
        return max(0.001, min(_TICK, self._seconds - (time.monotonic() - self._begun)))

    def _tell(self) -> None:
        if self._progress is not None and time.monotonic() - self._told >= _TICK:
            self._told = time.monotonic()
            self._progress(self._told - self._begun)

    def _wait(self) -> str:
        """Its pipes are closed; it may still run."""
        while (over := self._over()) is None:
            try:
                self._process.wait(self._patience())
                return "ended"
            except subprocess.TimeoutExpired:
                self._tell()
        return over

    def _register(self, selector: selectors.BaseSelector) -> None:
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        for pipe in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(pipe.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE, "stdin")
        selector.register(process.stdout, selectors.EVENT_READ, "stdout")
        selector.register(process.stderr, selectors.EVENT_READ, "stderr")

    def _serve(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> bool:
        if key.data == "stdin":
            self._feed(selector, key)
            return True
        part = os.read(key.fd, 65_536)
        if not part:
            selector.unregister(key.fileobj)
            return True
        self.printed[key.data] += part
        return len(self.printed[key.data]) <= OUTPUT_LIMIT

    def _feed(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        try:
            self._request = self._request[os.write(key.fd, self._request[:65_536]) :]
        # It has closed its input without reading it; that is its right.
        except BrokenPipeError:
            self._request = b""
        if not self._request:
            selector.unregister(key.fileobj)
            assert self._process.stdin
            self._process.stdin.close()


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Nothing of a run survives it: the whole group is killed, whatever signals it ignores."""
    kill_group(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError):
                pipe.close()
    # After the kill, so that no zombie is left.
    process.wait()


def _outcome(status: str, code: int, watch: ProcessWatch, duration: int, start: ProcessStart) -> Outcome:
    ok = status == "ended" and code == 0
    stdout, stderr = start.readable(_text(watch.printed["stdout"]), _text(watch.printed["stderr"]), ok)
    if status == "ended":
        return Outcome("completed" if ok else "failed", code, stdout, _why(stderr, code), duration, False)
    reasons = {
        "timed_out": f"Stopped: not finished after {duration / 1000:.1f} s.",
        "too_much_output": f"Stopped: more than {OUTPUT_LIMIT} bytes of output.",
        "stopped": "Stopped: the server was told to end.",
    }
    stderr = f"{stderr}\n{reasons[status]}".strip()
    return Outcome(status, None, stdout, stderr, duration, status == "too_much_output")


def _why(stderr: str, code: int) -> str:
    """A process that a signal ended says little itself."""
    if code >= 0:
        return stderr
    reason = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"{stderr}\nEnded by the system: {reason}.".strip()


def _text(raw: bytearray) -> str:
    return bytes(raw[:OUTPUT_LIMIT]).decode("utf-8", "replace").replace("\x00", "�")
