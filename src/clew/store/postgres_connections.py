"""The connections of one process to PostgreSQL: their number, how long an idle one is kept, and the limits of the
statements on it.

Other processes need connections too. A process opens no more than it is allowed, waits if the server has none left,
and closes those that were idle for a while. If role or database grant only a few, it keeps none between two
transactions, so that any number of processes can share them.

A connection pooler such as PgBouncer may use another server connection for each transaction. Behind one, nothing is
set or prepared for the session, because another client would be affected.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from clew.errors import ClewError
from clew.store.database import lock_wait
from clew.store.row_security import ENTER, EVERY_WORKSPACE
from clew.store.wire import Wire

MOST_CONNECTIONS = 8
KEPT_SECONDS = 60.0
"""How long an idle connection is kept. A new one costs some milliseconds, and prepares every statement again."""
FEW = 2 * MOST_CONNECTIONS
"""With a limit up to this, processes that keep connections would block others."""
PAUSE_SECONDS = 0.05
"""The mean pause before a server that had no connection left is retried."""

_PLANNER = {
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "random_page_cost": "1.1",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}
"""Every hot statement reads a few rows through an index made for it. Planning such a statement again takes longer than
running it, and the planner, which treats our correlated columns as independent, prefers to read whole tables."""
STATEMENT_SECONDS = 40.0
"""Statements read and write a few rows. Slow ones use `no_timeout`."""
IDLE_SECONDS = 60.0
"""Between two statements of a transaction an operation only computes."""
_SERVER_KEEPALIVES = {"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}
_NETWORK: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""A dead network is detected within half a minute. Settings of the URL take precedence."""
_SERVER = (
    "SELECT pg_backend_pid(), LEAST(NULLIF(rolconnlimit, -1), NULLIF(datconnlimit, -1)) FROM pg_roles, pg_database"
    " WHERE rolname = current_user AND datname = current_database()"
)
_FULL = re.compile(r"too many (connections|clients)|connection slots are reserved|no more connections allowed")
"""The error text of a server or pooler that grants no further connection. libpq provides no code, only this text."""


@dataclass(frozen=True)
class Server:
    """The server behind a connection."""

    pooled: bool = False
    limit: int | None = None
    """How many connections the role or the database may have in all processes together; a pooler manages this."""

    @property
    def scarce(self) -> bool:
        return self.limit is not None and self.limit <= FEW


def connect(url: str) -> psycopg.Connection[Any]:
    """A dedicated connection, outside of any limit of this process. Nothing on it is prepared: see above."""
    parts = {**_NETWORK, **conninfo_to_dict(url)}
    return psycopg.connect(make_conninfo(**parts), autocommit=True, prepare_threshold=None)


def server_behind(connection: psycopg.Connection[Any]) -> Server:
    """A pooler reports a generated process number, which differs from the server's own."""
    pid, limit = connection.execute(_SERVER).fetchone() or (None, None)
    pooled = pid != connection.info.backend_pid
    return Server(pooled, None if pooled else limit)


def is_full(problem: BaseException) -> bool:
    return isinstance(problem, psycopg.OperationalError) and bool(_FULL.search(str(problem)))


class ConnectionPool:
    """The connections of one database. `open_` connects, checks the schema, and returns the server."""

    def __init__(
        self,
        open_: Callable[[], tuple[psycopg.Connection[Any], Server]],
        most: int,
        wait_seconds: float,
        patience: float,
        kept_seconds: float = KEPT_SECONDS,
    ) -> None:
        self.server = Server()
        self.most = most
        self._open_connection = open_
        self._wait_seconds = wait_seconds
        self._patience = patience
        self._kept_seconds = kept_seconds
        self._room = threading.BoundedSemaphore(most)
        self._opening = threading.Lock()
        self._idle: list[tuple[float, Wire]] = []
        self._idle_lock = threading.Lock()
        self._timer: threading.Timer | None = None
        limits = {
            "lock_timeout": str(int(wait_seconds * 1000)),
            "statement_timeout": str(int(STATEMENT_SECONDS * 1000)),
            "idle_in_transaction_session_timeout": str(int(IDLE_SECONDS * 1000)),
        }
        # They end abandoned transactions. A client that vanishes inside a write would keep the workspace locked until
        # the server detects it, which takes two hours by default.
        self._for_session = _set_config({**_PLANNER, **limits, **_SERVER_KEEPALIVES}, "false")
        self._for_transaction = _set_config({**_PLANNER, **limits}, "true")

    @contextmanager
    def one(self) -> Iterator[Wire]:
        """A connection for one transaction."""
        if not self._room.acquire(timeout=lock_wait(self._wait_seconds)):
            raise ClewError("STORE_LOCKED", f"all {self.most} connections of this process are in use", "Try again.")
        try:
            wire = self._take()
            try:
                yield wire
            finally:
                self._give_back(wire)
        finally:
            self._room.release()

    def begin(self, wire: Wire, statement: str, workspace: str | None) -> None:
        wire.send(statement)
        wire.send(ENTER, (workspace or EVERY_WORKSPACE,))
        if self.server.pooled:
            wire.send(self._for_transaction)

    def close(self) -> None:
        with self._idle_lock:
            idle, self._idle = self._idle, []
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        for _, wire in idle:
            wire.close()

    def _take(self) -> Wire:
        """An idle connection, or a new one as soon as the server grants it."""
        until = time.monotonic() + lock_wait(self._wait_seconds)
        while True:
            wire = self._idle_one()
            if wire is not None:
                return wire
            try:
                with self._opening:
                    return self._open()
            except psycopg.OperationalError as problem:
                if not is_full(problem) or time.monotonic() > until:
                    raise
            # Others wait as well. With equal pauses all of them would retry at the same time, again and again.
            time.sleep(random.uniform(0, 2 * PAUSE_SECONDS))

    def _idle_one(self) -> Wire | None:
        while True:
            with self._idle_lock:
                if not self._idle:
                    return None
                _, wire = self._idle.pop()
            if wire.ready():
                return wire

    def _open(self) -> Wire:
        connection, self.server = self._open_connection()
        try:
            if not self.server.pooled:
                connection.execute(self._for_session)
            return Wire(connection, self._patience, prepares=not self.server.pooled)
        except BaseException:
            connection.close()
            raise

    def _give_back(self, wire: Wire) -> None:
        wire.patience = self._patience
        if self.server.scarce:
            wire.close()
        if wire.closed:
            return
        with self._idle_lock:
            self._idle.append((time.monotonic(), wire))
            if self._timer is None:
                self._close_later(self._kept_seconds)

    def _close_later(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._close_unused)
        self._timer.daemon = True
        self._timer.start()

    def _close_unused(self) -> None:
        now = time.monotonic()
        with self._idle_lock:
            unused = [idle for idle in self._idle if now - idle[0] >= self._kept_seconds]
            self._idle = [idle for idle in self._idle if idle not in unused]
            self._timer = None
            if self._idle:
                self._close_later(self._idle[0][0] + self._kept_seconds - now)
        for _, wire in unused:
            wire.close()


def _set_config(values: dict[str, str], local: str) -> str:
    """One statement that sets all of them, for the session or for its transaction."""
    return "SELECT " + ", ".join(f"set_config('{name}', '{value}', {local})" for name, value in values.items())
