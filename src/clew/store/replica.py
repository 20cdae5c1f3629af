"""Reads from a replica of the PostgreSQL server if it is up to date for the workspace.

A replica lags behind. So each read gets the position of the workspace from the primary, which is one row, and uses the
replica only if it has reached that position: a client always reads its own writes, whichever server it used. If the
replica does not respond, all reads fall back to the primary for a while.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg

from clew.errors import ClewError
from clew.store.postgres_connections import ConnectionPool, Server, connect, server_behind
from clew.store.wire import Wire

log = logging.getLogger("clew.store")

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
AWAY_SECONDS = 5.0
_POSITION = "SELECT (SELECT value FROM meta WHERE key = 'schema_version'), seq, event_seq FROM workspace WHERE id = $1"

Position = tuple[str, int, int]
"""The schema, and the position of a workspace."""


def position(wire: Wire, workspace: str) -> Position | None:
    """None if the workspace does not exist."""
    wire.send(_POSITION, (workspace,))
    _, rows = wire.rows(wire.exchange()[-1])
    return (str(rows[0][0]), int(rows[0][1]), int(rows[0][2])) if rows else None


class Replica:
    def __init__(self, url: str, most: int, wait_seconds: float, patience: float, kept_seconds: float) -> None:
        self._url = url
        self._connections = ConnectionPool(self._open, most, wait_seconds, patience, kept_seconds)
        self._away_until = 0.0

    @contextmanager
    def reading(self, workspace: str, wanted: Position | None) -> Iterator[Wire | None]:
        """A connection in a read transaction that sees all of `wanted`; None if the replica cannot provide it."""
        with ExitStack() as stack:
            yield self._begun(stack, workspace, wanted)

    def _begun(self, stack: ExitStack, workspace: str, wanted: Position | None) -> Wire | None:
        if wanted is None or time.monotonic() < self._away_until:
            return None
        try:
            wire = stack.enter_context(self._connections.one())
            stack.callback(wire.roll_back)
            self._connections.begin(wire, READ, workspace)
            found = position(wire, workspace)
        except (psycopg.Error, ClewError) as problem:
            self._away_until = time.monotonic() + AWAY_SECONDS
            log.warning("the replica does not answer, reads go to the server itself: %s", problem)
            return None
        has_all = found is not None and found[0] == wanted[0] and min(found[1] - wanted[1], found[2] - wanted[2]) >= 0
        return wire if has_all else None

    def describe(self) -> str:
        """The status of the replica, in words."""
        try:
            with self._connections.one():
                return "answers"
        except (psycopg.Error, ClewError) as problem:
            return " ".join(str(problem).split())

    def close(self) -> None:
        self._connections.close()

    def _open(self) -> tuple[psycopg.Connection[Any], Server]:
        connection = connect(self._url)
        try:
            # A promoted replica diverges from the primary.
            if connection.execute("SELECT pg_is_in_recovery()").fetchone() != (True,):
                raise psycopg.OperationalError("the address of the replica leads to a server that is none")
            return connection, server_behind(connection)
        except BaseException:
            connection.close()
            raise
