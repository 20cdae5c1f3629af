"""Background work gives way to calls: it waits before each of its small portions until no call runs in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

SETTLING = 0.03
"""Seconds without a call after which the process is quiet: an agent's next call often follows at once."""
LONGEST = 0.25
"""Seconds that a portion waits at most. Where calls never stop, a quarter of a processor is left for the rest."""
Pause = Callable[[], None]


class Quiet:
    """How many calls run, and when the last one ended."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._last_end = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._last_end = monotonic()
                self._changed.notify_all()

    def pause(self) -> None:
        """Until it is quiet, or the longest wait is over."""
        deadline = monotonic() + LONGEST
        with self._changed:
            while (left := self._until_quiet(deadline)) > 0:
                self._changed.wait(left)

    def _until_quiet(self, deadline: float) -> float:
        """Seconds to wait before looking again; 0 or less when it is quiet or too late."""
        now = monotonic()
        settled = deadline if self._running else self._last_end + SETTLING
        return min(settled, deadline) - now


quiet = Quiet()


def at_once() -> None:
    """The pause of work that a call itself waits for."""
