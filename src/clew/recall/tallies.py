"""Statistics of use, counted in memory and written behind the answers: all kinds of them in one transaction.

A tally that cannot be written is lost with the process that counted it; it is a statistic, not a memory.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from clew.errors import ClewError
from clew.store.database import Companion, Database, Transaction

DELAY = 0.5


class Tally(ABC):
    """Base of one kind of counts that wait to be written."""

    @abstractmethod
    def write(self, tx: Transaction) -> None:
        """Write them in one order for everybody, so that two processes cannot wait for each other."""


T = TypeVar("T", bound=Tally)


class Tallies(Companion):
    """The tallies of one database, written together after a short delay."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lock = threading.Lock()
        # Whoever flushes waits for a flush under way: what it took along must be there to be read.
        self._flushing = threading.Lock()
        self._waiting: dict[type[Tally], Tally] = {}
        self._timer: threading.Timer | None = None

    @contextmanager
    def of(self, kind: type[T]) -> Iterator[T]:
        """The tally of one kind, to be added to."""
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
        try:
            self.flush()
        except ClewError:
            pass


def flush_tallies(database: Database) -> None:
    """Write what waits; call it before reading uses or figures."""
    database.companions.of(Tallies).flush()
