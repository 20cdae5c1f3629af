"""PostgreSQL through psycopg: for teams, many machines on one database."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from clew.errors import ClewError
from clew.store.database import Row
from clew.store.migrations import latest, pending, statements
from clew.store.sqlite import too_new

MIGRATION_LOCK = 0x434C4557
CHANNEL = "clew"
WAIT_SECONDS = 20.0


@lru_cache(maxsize=2000)
def numbered(sql: str) -> str:
    """`?` becomes `%s` outside of quotes; a literal `%` is doubled."""
    parts = re.split(r"('(?:[^']|'')*')", sql)
    parts[::2] = [part.replace("%", "%%").replace("?", "%s") for part in parts[::2]]
    parts[1::2] = [part.replace("%", "%%") for part in parts[1::2]]
    return "".join(parts)


class PostgresTransaction:
    engine = "postgres"

    def __init__(self, connection: psycopg.Connection[Row], writable: bool) -> None:
        self._connection = connection
        self.writable = writable

    def all(self, sql: str, *params: Any) -> list[Row]:
        return self._connection.execute(numbered(sql), params).fetchall()

    def one(self, sql: str, *params: Any) -> Row | None:
        return self._connection.execute(numbered(sql), params).fetchone()

    def value(self, sql: str, *params: Any) -> Any:
        row = self.one(sql, *params)
        return next(iter(row.values())) if row else None

    def run(self, sql: str, *params: Any) -> int:
        return self._connection.execute(numbered(sql), params).rowcount

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(numbered(sql), rows)

    def notify(self, channel: str) -> None:
        self._connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, channel))


class PostgresDatabase:
    engine = "postgres"

    def __init__(self, url: str, wait_seconds: float = WAIT_SECONDS) -> None:
        self.url = url
        self._wait_seconds = wait_seconds
        self._pool: ConnectionPool[psycopg.Connection[Row]] | None = None
        self._opening = threading.Lock()

    @contextmanager
    def read(self) -> Iterator[PostgresTransaction]:
        with translated(), self._connected().connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield PostgresTransaction(connection, writable=False)
            finally:
                _end(connection, "ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[PostgresTransaction]:
        with translated(), self._connected().connection() as connection:
            connection.execute("BEGIN")
            try:
                yield PostgresTransaction(connection, writable=True)
                connection.execute("COMMIT")
            except BaseException:
                _end(connection, "ROLLBACK")
                raise

    def changes(self, wait: float) -> Iterator[None]:
        self._connected()
        with translated(), psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            yield
            while True:
                for _ in connection.notifies(timeout=wait, stop_after=1):
                    pass
                yield

    def integrity(self) -> list[str]:
        """PostgreSQL checks its own pages; here only what it can say cheaply."""
        with self.read() as tx:
            broken = tx.all("SELECT indexrelid::regclass::text AS name FROM pg_index WHERE NOT indisvalid")
        return [f"index {row['name']} is not valid" for row in broken]

    def schema_version(self) -> int:
        with self.read() as tx:
            return int(tx.value("SELECT value FROM meta WHERE key = 'schema_version'"))

    def describe(self) -> dict[str, Any]:
        with self.read() as tx:
            version = tx.value("SHOW server_version")
        return {"engine": "postgres", "version": version, "url": without_password(self.url)}

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _connected(self) -> ConnectionPool[psycopg.Connection[Row]]:
        if self._pool is None:
            with self._opening:
                if self._pool is None:
                    self._pool = self._open()
        return self._pool

    def _open(self) -> ConnectionPool[psycopg.Connection[Row]]:
        with psycopg.connect(self.url, autocommit=True, connect_timeout=10) as connection:
            migrate(connection)
        return ConnectionPool(
            self.url,
            min_size=1,
            max_size=8,
            timeout=self._wait_seconds,
            kwargs={"autocommit": True, "row_factory": dict_row, "prepare_threshold": 2},
            open=True,
        )


def migrate(connection: psycopg.Connection[Any]) -> None:
    """Bring the database to the newest schema; one process at a time."""
    version = _version(connection)
    if version == latest():
        return
    if version > latest():
        raise too_new("the database", version)
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        for number in pending(_version(connection)):
            for statement in statements(number, "postgres"):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO meta (key, value) VALUES ('schema_version', %s)"
                " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                (str(number),),
            )


def _version(connection: psycopg.Connection[Any]) -> int:
    # A scan, not to_regclass: that one answers from a cache that may miss what a process before us just made.
    present = "SELECT 1 FROM pg_tables WHERE tablename = 'meta' AND schemaname = current_schema()"
    if connection.execute(present).fetchone() is None:
        return 0
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    return int(row[0]) if row else 0


def without_password(url: str) -> str:
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1@", url)


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, PoolTimeout) as problem:
        raise _translate(problem) from problem


def _translate(problem: Exception) -> ClewError:
    text = " ".join(str(problem).split())
    if isinstance(problem, (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory)):
        return ClewError("STORE_FULL", text, "Free space on the database server. Nothing was written.")
    if isinstance(problem, (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled, PoolTimeout)):
        return ClewError("STORE_LOCKED", text, "The database is busy; try again.")
    if isinstance(problem, psycopg.errors.ReadOnlySqlTransaction):
        return ClewError("STORE_READ_ONLY", text, "Connect to the primary server.")
    if isinstance(problem, (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted)):
        return ClewError("STORE_CORRUPT", text, "Restore the database from a backup.")
    if isinstance(problem, psycopg.OperationalError):
        return ClewError("STORE_UNAVAILABLE", text, "Check CLEW_DATABASE_URL and that the server runs.")
    return ClewError("STORE_ERROR", text, "Run `clew doctor`; it checks the store.")


def _end(connection: psycopg.Connection[Any], how: str) -> None:
    if not connection.closed and connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        connection.execute(how)
