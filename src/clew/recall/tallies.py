"""Usage statistics: counted in memory and written after the answers, all kinds in one transaction.

Counts that cannot be written are lost with their process. That is acceptable for statistics.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from clew.errors import ClewError
from clew.store.database import Database, DatabaseResource, Transaction

DELAY = 0.5


class Tally(ABC):
    """Base class of one kind of counts that wait to be written."""

    @abstractmethod
    def write(self, tx: Transaction) -> None:
        """Write them, sorted by key: rows locked in the same order by all processes cannot deadlock."""


T = TypeVar("T", bound=Tally)


class Tallies(DatabaseResource):
    """The tallies of one database, written together after a short delay."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lock = threading.Lock()
        # A second flush waits for one that is running: its caller wants to read counts which that one still holds.
        self._flushing = threading.Lock()
        self._waiting: dict[type[Tally], Tally] = {}
        self._timer: threading.Timer | None = None

    @contextmanager
    def of(self, kind: type[T]) -> Iterator[T]:
        """Add to the tally of one kind, and start the timer that will write it."""
        with self._lock:
            yield self._waiting.setdefault(kind, kind())  # type: ignore[misc]  # stored under its own type
            if self._timer is None:
                self._timer = threading.Timer(DELAY, self._flush_quietly)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        with self._flushing:
            with self._lock:
                waiting, self._waiting = self._waiting, {}
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            if waiting:
                with self.database.write() as tx:
                    for kind in sorted(waiting, key=lambda kind: kind.__name__):
                        waiting[kind].write(tx)

    def close(self, patience: float) -> None:
        self._flush_quietly()

    def _flush_quietly(self) -> None:
        # A store that is locked, full or gone must not disturb a timer thread or the end of the process.
        try:
            self.flush()
        except ClewError:
            pass


def flush_tallies(database: Database) -> None:
    """Write waiting counts; call it before reading uses or figures."""
    database.resources.of(Tallies).flush()
