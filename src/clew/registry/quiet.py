"""Background work yields to calls: it waits before each of its small batches until no call runs in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

SETTLING = 0.03
"""Seconds without a call after which the process is idle: an agent's next call often follows at once."""
LONGEST = 0.25
"""Maximum seconds that a batch waits. Under constant load, this leaves it a quarter of a processor."""
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
        """Wait until the process is idle, or the maximum wait is over."""
        deadline = monotonic() + LONGEST
        with self._changed:
            while (left := self._until_quiet(deadline)) > 0:
                self._changed.wait(left)

    def _until_quiet(self, deadline: float) -> float:
        """Seconds to wait before checking again; 0 or less if it is idle or too late."""
        now = monotonic()
        settled = deadline if self._running else self._last_end + SETTLING
        return min(settled, deadline) - now


quiet = Quiet()


def at_once() -> None:
    """The no-op pause of work that a call itself waits for."""
