"""Which items were shown, and with which others. Kept in memory and written behind the answers, never before them."""

from __future__ import annotations

import atexit
import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

from clew.errors import ClewError
from clew.registry.context import Context
from clew.store.behind import end_with
from clew.store.database import Database, Row, Transaction

DELAY = 0.5
MOST_PAIRED = 10


@dataclass
class Waiting:
    """Uses not yet written, of one database."""

    shown: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    last: dict[tuple[str, str], int] = field(default_factory=dict)
    timer: threading.Timer | None = None


_waiting: WeakKeyDictionary[Database, Waiting] = WeakKeyDictionary()
_lock = threading.Lock()
_flushing = threading.Lock()
"""Whoever flushes waits for a flush under way: what it took along must be there to be read."""


def note_use(ctx: Context, refs: list[str], now_ms: int) -> None:
    """Remember that these were shown together."""
    if not refs:
        return
    with _lock:
        waiting = _waiting.setdefault(ctx.database, Waiting())
        for ref in refs:
            waiting.shown[ctx.workspace, ref] += 1
            waiting.last[ctx.workspace, ref] = now_ms
        for ref in refs[:MOST_PAIRED]:
            for other in refs[:MOST_PAIRED]:
                if other != ref:
                    waiting.pairs[ctx.workspace, ref, other] += 1
        if waiting.timer is None:
            waiting.timer = threading.Timer(DELAY, _flush_quietly, (ctx.database,))
            waiting.timer.daemon = True
            waiting.timer.start()
    end_with(ctx.database, "uses", partial(_flush_quietly, ctx.database))


def flush_uses(database: Database) -> None:
    """Write what waits; call it before reading uses."""
    with _flushing:
        with _lock:
            waiting = _waiting.pop(database, None)
        if waiting is None:
            return
        if waiting.timer is not None:
            waiting.timer.cancel()
        with database.write() as tx:
            _write(tx, waiting)


def _flush_quietly(database: Database) -> None:
    """A use that cannot be written is lost; it is a statistic, not a memory."""
    try:
        flush_uses(database)
    except ClewError:
        pass


def _write(tx: Transaction, waiting: Waiting) -> None:
    # One order for everybody, so that two processes that write uses cannot wait for each other.
    for (workspace, ref), count in sorted(waiting.shown.items()):
        tx.run(_SHOWN, workspace, ref, count, waiting.last[workspace, ref])
    for (workspace, ref, other), count in sorted(waiting.pairs.items()):
        tx.run(_PAIR, workspace, ref, other, count)


def uses_of(tx: Transaction, workspace: str, ref: str) -> Row | None:
    return tx.one("SELECT uses, last_ms FROM item_use WHERE workspace = ? AND ref = ?", workspace, ref)


def shown_with(tx: Transaction, workspace: str, ref: str, most: int) -> list[Row]:
    """What was shown together with an item, the most frequent first."""
    sql = "SELECT other, uses FROM item_pair WHERE workspace = ? AND ref = ? ORDER BY uses DESC, other LIMIT ?"
    return tx.all(sql, workspace, ref, most)


def count_shown_with(tx: Transaction, workspace: str, ref: str) -> int:
    """With how many others an item was shown."""
    return int(tx.value("SELECT count(*) FROM item_pair WHERE workspace = ? AND ref = ?", workspace, ref))


_SHOWN = (
    "INSERT INTO item_use (workspace, ref, uses, last_ms) VALUES (?, ?, ?, ?) ON CONFLICT (workspace, ref) DO UPDATE"
    " SET uses = item_use.uses + excluded.uses, last_ms = excluded.last_ms"
)
_PAIR = (
    "INSERT INTO item_pair (workspace, ref, other, uses) VALUES (?, ?, ?, ?) ON CONFLICT (workspace, ref, other)"
    " DO UPDATE SET uses = item_pair.uses + excluded.uses"
)


@atexit.register
def _flush_all() -> None:
    for database in list(_waiting):
        _flush_quietly(database)
