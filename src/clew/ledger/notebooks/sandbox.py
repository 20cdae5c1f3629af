"""The sandbox of a cell: a separate process group, with limits on time, memory and output."""

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

DATA_MB = 900  # Deno itself needs about 550 MB; the rest bounds buffers outside of the heap
FILE_MB = 64  # for Deno's own cache; a cell cannot write files
OUTPUT_LIMIT = 200_000
NICE = 5
"""Lower priority: calls that wait for a response take precedence over running cells."""
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
    """Run one cell until it ends or reaches a limit."""
    with tempfile.TemporaryDirectory(prefix="clew-cell-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        return followed(prepared(source, filename, folder, cache), folder, seconds, progress)


def followed(start: ProcessStart, folder: Path, seconds: float, progress: Callable[[float], None] | None) -> Outcome:
    """Start a process and wait for its end; its whole group is killed afterwards."""
    need_confinement("a notebook's cell")
    with Leash() as leash:
        process = spawned(start, folder, seconds, leash)
        begun = time.monotonic()
        try:
            # First of all, because only from here on the cell cannot outlive the server.
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
    """Start the process. Where possible without `preexec_fn`, which would force a fork of the whole server."""
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
    """A pipe between server and cell. When the server ends, even by SIGKILL, the kernel kills the cell's group.

    The cell holds one end and never reads it. When the other end closes, the kernel signals the owner of the pipe, and
    on Linux that signal may be SIGKILL. PR_SET_PDEATHSIG would do the same, but only the child itself can set it.
    """

    def __enter__(self) -> Leash:
        self.child, self._server = os.pipe()
        return self

    def tie(self, group: int) -> None:
        if has_pipe_signals():
            with suppress(OSError):  # the cell has ended already
                fcntl.fcntl(self.child, fcntl.F_SETSIG, KILLED)
                fcntl.fcntl(self.child, fcntl.F_SETOWN, -group)
                fcntl.fcntl(self.child, fcntl.F_SETFL, fcntl.fcntl(self.child, fcntl.F_GETFL) | os.O_ASYNC)

    def __exit__(self, *_: object) -> None:
        os.close(self.child)
        os.close(self._server)


_FROM_OUTSIDE = hasattr(resource, "prlimit")


def _limits(seconds: float) -> dict[int, int]:
    return {
        # Above the time limit that the server enforces; it holds even while the server itself is stopped.
        resource.RLIMIT_CPU: int(seconds) + 5,
        resource.RLIMIT_DATA: DATA_MB << 20,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: FILE_MB << 20,
    }


def _limit(pid: int, seconds: float) -> None:
    """Limit a running process from outside (Linux). The cell's code has hardly begun by then."""
    with suppress(ProcessLookupError):
        for limit, value in _limits(seconds).items():
            resource.prlimit(pid, limit, (value, value))
        os.setpriority(os.PRIO_PGRP, pid, NICE)
    with suppress(OSError):  # with autogroup scheduling the priority of the session counts, not of the process
        Path(f"/proc/{pid}/autogroup").write_text(str(NICE), encoding="ascii")


def _limit_self(seconds: float) -> None:
    """Limit this process between fork and exec, where limits cannot be set from outside."""
    for limit, value in _limits(seconds).items():
        resource.setrlimit(limit, (value, value))
    os.nice(NICE)


class ProcessWatch:
    """Feeds a process its input and reads its output, up to the limit."""

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
        """Follow the process; returns `ended`, `timed_out`, `too_much_output` or `stopped`."""
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            # Checked before each wait, so that a cell which prints without end is stopped too.
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
        """Wait for a process that has closed its pipes but may still run."""
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
        # The process has closed its input unread, which is not an error.
        except BrokenPipeError:
            self._request = b""
        if not self._request:
            selector.unregister(key.fileobj)
            assert self._process.stdin
            self._process.stdin.close()


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole process group, so that nothing of a run survives it."""
    kill_group(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError):
                pipe.close()
    # Reaps the killed process, so that no zombie is left.
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
    """The error text, with the signal that ended the process, if one did: the process itself cannot report it."""
    if code >= 0:
        return stderr
    reason = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"{stderr}\nEnded by the system: {reason}.".strip()


def _text(raw: bytearray) -> str:
    return bytes(raw[:OUTPUT_LIMIT]).decode("utf-8", "replace").replace("\x00", "�")
