"""A command run without a supervisor, where the system has no process groups (Windows).

Time and output are limited as everywhere. Memory is not, and a process that the command leaves behind stays.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from clew.runner.child import CHUNK, LOOK, ChildLimits, Echo, Ended, Tail


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
            reader.join(LOOK)  # a process that was left behind may hold the other end
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
        """Why the process was made to end; None when it ended by itself."""
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
    command: Sequence[str],
    environment: dict[str, str],
    directory: Path,
    stdin: IO[bytes] | None,
    limits: ChildLimits,
    interrupted: Callable[[], str | None],
    echo: Echo | None,
) -> Ended:
    try:
        process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=directory
        )
    except OSError as problem:
        return Ended(None, None, "start", str(problem), "", "")
    with process:
        return PlainChild(process, limits, interrupted, echo).wait()
