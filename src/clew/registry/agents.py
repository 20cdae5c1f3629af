"""Who a caller is that gives no agent id.

`auto` stands for an id that is made once and kept in the store, so that leases survive a restart. Anybody else is the
client's name for itself with the number of its connection: `claude-code-3`.
"""

from __future__ import annotations

import os
import re

from clew.clock import Clock
from clew.registry.session import Session
from clew.store.database import Database
from clew.store.meta import keep_meta, read_meta

AUTO = "auto"
_KEY = "default_agent_id"
_UNFIT = re.compile(r"[^a-z0-9._-]+")
_NAME = 48
"""Characters of a client's name; an agent id has 64, and the number needs some."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def stored_agent(database: Database, clock: Clock) -> str:
    with database.read() as tx:
        known = read_meta(tx, _KEY)
    return known or _make(database, clock)


def _make(database: Database, clock: Clock) -> str:
    made = f"a{base36(clock())}_{base36(os.getpid())}"
    with database.write() as tx:
        return keep_meta(tx, _KEY, made)


def client_family(session: Session) -> str:
    """The client's name for itself as an agent id, empty when it has none: what all its connections have in common."""
    return _UNFIT.sub("-", (session.client or "").lower()).strip("-._")[:_NAME].strip("-._")


def client_author(database: Database, session: Session, writes: bool) -> str | None:
    """The client's name, with the connection's number once it has written something.

    Numbers come from the store, so that two processes of one client never share one. A call that only reads takes
    none: it must not wait for whoever is writing.
    """
    name = client_family(session)
    if not name or not session.durable:
        return name or None
    if session.number is None and writes:
        session.number = _next_number(database, name)
    return name if session.number is None else f"{name}-{session.number}"


def _next_number(database: Database, name: str) -> int:
    with database.write() as tx:
        return int(
            tx.value(
                "INSERT INTO counter (workspace, name, value) VALUES ('', ?, 1)"
                " ON CONFLICT (workspace, name) DO UPDATE SET value = counter.value + 1 RETURNING value",
                f"client:{name}",
            )
        )


def base36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"
