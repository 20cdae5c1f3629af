"""What a process keeps beside one database: caches, and threads that work behind the answers.

The database owns them. Each is made when it is first asked for and closed before the database is, the newest first,
because a later one may rest on an earlier one. A process that ends without closing its databases closes what is left.
"""

from __future__ import annotations

import atexit
import threading
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet, ref

if TYPE_CHECKING:
    from clew.store.database import Database

PATIENCE = 30.0
PATIENCE_AT_EXIT = 2.0
"""Nothing that a companion leaves unfinished is a loss, so a process that ends need not wait for it."""


class Companion:
    """Base of what lives as long as a database is open. The database is held weakly: it owns its companions."""

    def __init__(self, database: Database) -> None:
        self._owner = ref(database)

    @property
    def database(self) -> Database:
        owner = self._owner()
        if owner is None:
            raise RuntimeError("the database of this companion is gone")
        return owner

    def close(self, patience: float) -> None:
        """Come to an end within so many seconds. The database still works and may be used again afterwards."""


C = TypeVar("C", bound=Companion)


class Companions:
    """The companions of one database."""

    def __init__(self, database: Database) -> None:
        self._owner = ref(database)
        self._lock = threading.RLock()
        self._made: dict[type[Companion], Companion] = {}
        _all.add(self)

    def of(self, kind: type[C]) -> C:
        """The one companion of this kind, made when it is not there yet."""
        with self._lock:
            found = self._made.get(kind)
            if found is None:
                owner = self._owner()
                if owner is None:
                    raise RuntimeError("the database is gone")
                found = self._made[kind] = kind(owner)
            return found  # type: ignore[return-value]  # stored under its own type

    def close(self, patience: float = PATIENCE) -> None:
        """Close and forget them all."""
        with self._lock:
            # Taken out under the lock and closed outside of it: a companion's thread may ask for another one while it
            # ends.
            found = list(reversed(self._made.values()))
            self._made.clear()
        for companion in found:
            companion.close(patience)


_all: WeakSet[Companions] = WeakSet()


@atexit.register
def _close_all() -> None:
    for companions in list(_all):
        companions.close(PATIENCE_AT_EXIT)
