"""The agent id that `auto` stands for: made once, kept in the store, so that leases survive a restart."""

from __future__ import annotations

import os

from clew.clock import Clock
from clew.store.database import Database

AUTO = "auto"
_KEY = "default_agent_id"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def stored_agent(database: Database, clock: Clock) -> str:
    with database.read() as tx:
        known = tx.value("SELECT value FROM meta WHERE key = ?", _KEY)
    return str(known) if known else _make(database, clock)


def _make(database: Database, clock: Clock) -> str:
    made = f"a{base36(clock())}_{base36(os.getpid())}"
    with database.write() as tx:
        tx.run("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING", _KEY, made)
        return str(tx.value("SELECT value FROM meta WHERE key = ?", _KEY))


def base36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"
