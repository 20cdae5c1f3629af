"""The agent id that `auto` stands for: made once, kept in the store, so that leases survive a restart."""

from __future__ import annotations

import os

from clew.clock import Clock
from clew.store.database import Database
from clew.store.meta import keep_meta, read_meta

AUTO = "auto"
_KEY = "default_agent_id"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def stored_agent(database: Database, clock: Clock) -> str:
    with database.read() as tx:
        known = read_meta(tx, _KEY)
    return known or _make(database, clock)


def _make(database: Database, clock: Clock) -> str:
    made = f"a{base36(clock())}_{base36(os.getpid())}"
    with database.write() as tx:
        return keep_meta(tx, _KEY, made)


def base36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"
