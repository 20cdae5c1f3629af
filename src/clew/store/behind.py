"""Work that goes on behind the answers: threads and delayed writes, which must end before their database closes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from weakref import WeakKeyDictionary

from clew.store.database import Database

_ends: WeakKeyDictionary[Database, dict[str, Callable[[], None]]] = WeakKeyDictionary()
_lock = threading.Lock()


def end_with(database: Database, name: str, end: Callable[[], None]) -> None:
    """Before this database closes, `end` is called; once for each name."""
    with _lock:
        _ends.setdefault(database, {})[name] = end


def end_work(database: Database) -> None:
    with _lock:
        ends = _ends.pop(database, {})
    for end in ends.values():
        end()
