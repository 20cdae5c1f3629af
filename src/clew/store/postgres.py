"""PostgreSQL through psycopg: for teams, many machines on one database."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from clew.errors import ClewError
from clew.store.database import DatabaseResources, Row, lock_wait, outcome_unknown
from clew.store.migrations import latest, too_new
from clew.store.postgres_connections import (
    KEPT_SECONDS,
    MOST_CONNECTIONS,
    ConnectionPool,
    Server,
    connect,
    is_full,
    server_behind,
)
from clew.store.postgres_schema import check_encoding, check_restored, migrate, stored_version
from clew.store.replica import READ, Replica, position
from clew.store.row_security import IS_ENFORCED, set_row_security
from clew.store.wire import MOST_QUEUED, PATIENCE, Wire

CHANNEL = "clew"
WAIT_SECONDS = 20.0
LEAST, FURTHER = 1_000, 10
"""Analyzing costs as much as inserting some hundred rows: done at LEAST rows, then at FURTHER times as many."""

_GUARD = (
    "SELECT CASE WHEN CAST(found.value AS BIGINT) <= $1 THEN 1"
    " WHEN CAST((SELECT split_part(note.value, ':', 2) FROM meta note WHERE note.key = 'oldest_writer'"
    " AND split_part(note.value, ':', 1) = found.value) AS BIGINT) <= $1 THEN 1"
    " ELSE CAST('clew schema ' || found.value AS BIGINT) END FROM meta found WHERE found.key = 'schema_version'"
)
"""Fails in a database of a newer version that does not allow this one to write. It is pipelined with the first
statement of a write and costs no round trip."""
_NEWER = re.compile(r"clew schema (\d+)")
_IDENTITY = (
    "SELECT (SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8),"
    " (SELECT oid FROM pg_database WHERE datname = current_database())"
)
"""The server, its timeline (another one after a failover or a recovery to an earlier moment) and the database."""


@lru_cache(maxsize=2000)
def numbered(sql: str) -> str:
    """Converts `?` to `$1`, `$2` and so on, outside of quotes."""
    parts = re.split(r"('(?:[^']|'')*')", sql)
    numbers = count(1)
    parts[::2] = [re.sub(r"\?", lambda _: f"${next(numbers)}", part) for part in parts[::2]]
    return "".join(parts)


class PostgresTransaction:
    """Writes are queued and sent with the next read or the commit, which raises their errors."""

    engine = "postgres"

    def __init__(self, wire: Wire, writable: bool, generation: int) -> None:
        self._wire = wire
        self.writable = writable
        self.generation = generation
        self.written: Counter[str] = Counter()
        """How often each statement of `many` was executed."""

    def all(self, sql: str, *params: Any) -> list[Row]:
        names, rows = self._rows(sql, params)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def tuples(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        return self._rows(sql, params)[1]

    def batch(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        found: list[list[Row]] = []
        for start in range(0, len(rows), MOST_QUEUED):
            found += self._each(sql, rows[start : start + MOST_QUEUED])
        return found

    def _each(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
        self._wire.make_room(len(rows))
        for row in rows:
            self.run(sql, *row)
        answers = [self._wire.rows(answer) for answer in self._wire.exchange()[-len(rows) :]]
        return [[dict(zip(names, row, strict=True)) for row in found] for names, found in answers]

    def one(self, sql: str, *params: Any) -> Row | None:
        names, rows = self._rows(sql, params)
        return dict(zip(names, rows[0], strict=True)) if rows else None

    def value(self, sql: str, *params: Any) -> Any:
        _, rows = self._rows(sql, params)
        return rows[0][0] if rows else None

    def run(self, sql: str, *params: Any) -> None:
        self._wire.send(numbered(sql), params)

    def changed(self, sql: str, *params: Any) -> int:
        self.run(sql, *params)
        return self._wire.exchange()[-1].command_tuples or 0

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self.run(sql, *row)
            self.written[sql] += 1

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        self.run("SAVEPOINT attempt")
        self._wire.exchange()  # earlier failures are not caused by the savepoint's block
        try:
            yield
            self.run("RELEASE SAVEPOINT attempt")
            self._wire.exchange()
        except BaseException:
            self._wire.forget_queue()
            self.run("ROLLBACK TO SAVEPOINT attempt")
            self.run("RELEASE SAVEPOINT attempt")
            raise

    def no_timeout(self) -> None:
        self.run("SET LOCAL statement_timeout = 0")
        self._wire.patience = None

    def notify(self, channel: str) -> None:
        self.run("SELECT pg_notify(?, ?)", CHANNEL, channel)

    def _rows(self, sql: str, params: Sequence[Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
        self._wire.send(numbered(sql), params)
        return self._wire.rows(self._wire.exchange()[-1])


class Growth:
    """Counts the rows that this process has inserted, and decides when PostgreSQL should analyze a table.

    A statement is planned once, with the statistics of its tables. A new table has none: every index looks equally
    good, and a plan that reads all rows of a workspace may be cached permanently. The server's own analysis comes only
    after a minute.
    """

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()
        self._analyzed: dict[str, int] = {}

    def due(self, written: Counter[str]) -> list[str]:
        """The tables to analyze now that these statements were executed so many times."""
        for sql, rows in written.items():
            table = _inserted_table(sql)
            if table:
                self._rows[table] += rows
        grown = [name for name, rows in self._rows.items() if rows >= self._limit(name)]
        self._analyzed |= {name: self._rows[name] for name in grown}
        return sorted(grown)

    def _limit(self, table: str) -> int:
        return max(LEAST, FURTHER * self._analyzed.get(table, 0))


@lru_cache(maxsize=500)
def _inserted_table(sql: str) -> str | None:
    found = re.match(r"INSERT INTO (\w+)", sql)
    return found.group(1) if found else None


class PostgresDatabase:
    engine = "postgres"

    def __init__(
        self,
        url: str,
        wait_seconds: float = WAIT_SECONDS,
        patience: float = PATIENCE,
        auto_migrate: bool = True,
        most_connections: int = MOST_CONNECTIONS,
        kept_seconds: float = KEPT_SECONDS,
        read_url: str | None = None,
    ) -> None:
        self.url = url
        self.auto_migrate = auto_migrate
        self.resources = DatabaseResources(self)
        self._wait_seconds = wait_seconds
        limits = (most_connections, wait_seconds, patience, kept_seconds)
        self._connections = ConnectionPool(self._open, *limits)
        self._replica = Replica(read_url, *limits) if read_url else None
        self._growth = Growth()
        self._ready = False
        self._generation = 0
        self._identity: tuple[Any, ...] | None = None

    @contextmanager
    def read(self, workspace: str | None = None) -> Iterator[PostgresTransaction]:
        with translated(), self._reader(workspace) as wire:
            yield PostgresTransaction(wire, writable=False, generation=self._generation)

    @contextmanager
    def _reader(self, workspace: str | None) -> Iterator[Wire]:
        """A connection in a read transaction: of the replica if it is up to date for the workspace."""
        if self._replica is not None and workspace is not None:
            with self._own_reader(workspace) as wire:
                wanted = position(wire, workspace)
            with self._replica.reading(workspace, wanted) as found:
                if found is not None:
                    yield found
                    return
        with self._own_reader(workspace) as wire:
            yield wire

    @contextmanager
    def _own_reader(self, workspace: str | None) -> Iterator[Wire]:
        with self._connections.one() as wire:
            self._connections.begin(wire, READ, workspace)
            try:
                yield wire
            finally:
                wire.roll_back()

    @contextmanager
    def write(self, workspace: str | None = None) -> Iterator[PostgresTransaction]:
        with translated(), self._connections.one() as wire:
            # The server's default may be another level, in which concurrent writers would fail instead of waiting.
            self._connections.begin(wire, "BEGIN ISOLATION LEVEL READ COMMITTED", workspace)
            wait = lock_wait(self._wait_seconds)
            if wait < self._wait_seconds:
                wire.send(f"SET LOCAL lock_timeout = {int(wait * 1000)}")
            wire.send(_GUARD, (latest(),))
            tx = PostgresTransaction(wire, writable=True, generation=self._generation)
            try:
                yield tx
                _commit(wire)
            except BaseException:
                wire.roll_back()
                raise
            self._look_at_growth(wire, tx.written)

    def changes(self, wait: float) -> Iterator[None]:
        with translated(), self._connections.one():
            pass  # the schema exists
        server = self._connections.server
        if server.pooled or server.scarce:
            yield from _looks(wait)
        with translated(), connect(self.url) as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            yield
            while True:
                for _ in connection.notifies(timeout=wait, stop_after=1):
                    pass
                yield

    def integrity(self) -> list[str]:
        """PostgreSQL checks its own pages; only cheap checks are done here."""
        with self.read() as tx:
            broken = tx.all("SELECT indexrelid::regclass::text AS name FROM pg_index WHERE NOT indisvalid")
        return [f"index {row['name']} is not valid" for row in broken]

    def schema_version(self) -> int:
        with self.read() as tx:
            return int(tx.value("SELECT value FROM meta WHERE key = 'schema_version'"))

    def stored_version(self) -> int:
        """The stored schema version, without migrating; 0 if there is none."""
        with translated(), connect(self.url) as connection:
            return stored_version(connection)

    def describe(self) -> dict[str, Any]:
        with self.read() as tx:
            version = tx.value("SHOW server_version")
            size = int(tx.value("SELECT pg_database_size(current_database())"))
            fenced = bool(tx.value(IS_ENFORCED))
        url = without_password(self.url)
        server = self._connections.server
        return {
            "engine": "postgres",
            "version": version,
            "url": url,
            "bytes": size,
            "pooler": server.pooled,
            "connections": self._connections.most,
            "connection_limit": server.limit,
            "keeps_connections": not server.scarce,
            "row_security": fenced,
        }

    def fence_workspaces(self, on: bool) -> list[str]:
        """Turn row-level security on or off, as the owner of the tables; returns the tables that have it."""
        with translated(), connect(self.url) as connection:
            migrate(connection, self.auto_migrate)
            with connection.transaction():
                return set_row_security(connection, on)

    def replica_state(self) -> str | None:
        return self._replica.describe() if self._replica is not None else None

    def backup(self, target: Path) -> int:
        """Back up to a SQLite store: the format of the other engine, which can be restored into either."""
        from clew.store.transfer import back_up

        return back_up(self, target)

    def sizes(self) -> dict[str, int]:
        sql = (
            "SELECT relname AS name, pg_total_relation_size(oid) AS size FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
        )
        with self.read() as tx:
            return {row["name"]: int(row["size"]) for row in tx.all(sql)}

    def purge(self, tables: Sequence[str]) -> str:
        with translated(), connect(self.url) as connection:
            connection.execute(f"VACUUM {', '.join(tables)}")
        return "the server's write-ahead log and its archives, until they are recycled"

    def restore(self, source: Path) -> Path:
        from clew.store.transfer import bring_back

        return bring_back(self, source)

    def close(self) -> None:
        self.resources.close()
        self._connections.close()
        if self._replica is not None:
            self._replica.close()
        self._ready = False

    def _look_at_growth(self, wire: Wire, written: Counter[str]) -> None:
        """The write is already durable: a failure here is ignored, since the server's own analysis follows."""
        tables = self._growth.due(written) if written else []
        if tables:
            with suppress(psycopg.Error):
                wire.send(f"ANALYZE (SKIP_LOCKED) {', '.join(tables)}")
                wire.exchange()

    def _open(self) -> tuple[psycopg.Connection[Any], Server]:
        connection = connect(self.url)
        try:
            if not self._ready:
                check_encoding(connection)
                migrate(connection, self.auto_migrate)
                self._ready = True
            self._compare_identity(connection)
            return connection, server_behind(connection)
        except BaseException:
            connection.close()
            raise

    def _compare_identity(self, connection: psycopg.Connection[Any]) -> None:
        """Start another generation if the server behind the URL is another, or was restored to an earlier time."""
        identity = None
        with suppress(psycopg.Error):  # a standby, or a server that does not grant this to its users
            identity = connection.execute(_IDENTITY).fetchone()
        if self._identity is not None and identity != self._identity:
            check_restored(connection)
            self._generation += 1
        self._identity = identity


def _looks(wait: float) -> Iterator[None]:
    """Polling, without a connection for notifications: a pooler does not forward them, and connections are scarce."""
    while True:
        yield
        time.sleep(wait)


def without_password(url: str) -> str:
    """The target of a URL or connection string, from the parts that are not secret: a password may be in any place."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return "(not readable)"
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    # libpq ends a password at its first @ and takes the rest of it for a part of the host.
    host = str(parts.get("host") or "").rpartition("@")[2]
    return f"postgresql://{user}{host}{port}/{parts.get('dbname') or ''}"


_BUSY = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.QueryCanceled,
    psycopg.errors.SerializationFailure,
    psycopg.errors.DeadlockDetected,
)


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as problem:
        raise _translate(problem) from problem


def _translate(problem: Exception) -> ClewError:
    text = " ".join(str(problem).split())
    if isinstance(problem, (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory)):
        return ClewError("STORE_FULL", text, "Free space on the database server. Nothing was written.")
    if is_full(problem):
        return ClewError(
            "STORE_LOCKED",
            text,
            "Every connection that the server grants is in use: try again, raise its limit, or let each process open"
            " fewer (CLEW_DATABASE_CONNECTIONS).",
        )
    if isinstance(problem, _BUSY):
        return ClewError("STORE_LOCKED", text, "The database is busy; try again.")
    newer = _NEWER.search(text)
    if newer:
        return too_new("the database", int(newer.group(1)))
    if isinstance(problem, psycopg.errors.ReadOnlySqlTransaction):
        return ClewError("STORE_READ_ONLY", text, "Connect to the primary server.")
    if isinstance(problem, (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted)):
        return ClewError("STORE_CORRUPT", text, "Restore the database from a backup.")
    if isinstance(problem, psycopg.errors.InsufficientPrivilege):
        return ClewError("STORE_READ_ONLY", text, "Grant the role of CLEW_DATABASE_URL this right, or name its owner.")
    if isinstance(problem, psycopg.OperationalError):
        return ClewError("STORE_UNAVAILABLE", text, "Check CLEW_DATABASE_URL and that the server runs.")
    return ClewError("STORE_ERROR", text, "Run `clew doctor`; it checks the store.")


def _commit(wire: Wire) -> None:
    """An error sent by the server means that nothing was written; after a lost response the outcome is unknown."""
    try:
        wire.send("COMMIT")
        _check_committed(wire.exchange()[-1])
    except psycopg.OperationalError as problem:
        if wire.closed:
            raise outcome_unknown(" ".join(str(problem).split())) from problem
        raise


def _check_committed(result: Any) -> None:
    """A failed transaction responds to COMMIT with ROLLBACK and reports success."""
    if result.command_status != b"COMMIT":
        raise psycopg.InternalError("the transaction had failed before it was committed")
