"""PostgreSQL through psycopg: for teams, many machines on one database."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any

import psycopg

from clew.errors import ClewError
from clew.store.companions import Companions
from clew.store.database import Row
from clew.store.migrations import latest, pending, statements, too_new
from clew.store.wire import MOST_QUEUED, Wire

MIGRATION_LOCK = 0x434C4557
CHANNEL = "clew"
WAIT_SECONDS = 20.0
MOST_CONNECTIONS = 8
LEAST, FURTHER = 1_000, 10
"""Analyzing costs as much as inserting some hundred rows: done at LEAST rows, then at FURTHER times as many."""

_SETTINGS = (
    "SET jit = off; SET plan_cache_mode = force_generic_plan; SET random_page_cost = 1.1; SET enable_seqscan = off;"
    " SET enable_hashjoin = off; SET enable_mergejoin = off; SET lock_timeout = {lock_timeout}"
)
"""Every hot statement reads a few rows through an index made for it. Planning such a statement anew takes longer than
running it, and a planner that takes our correlated columns for independent ones prefers to read whole tables."""


@lru_cache(maxsize=2000)
def numbered(sql: str) -> str:
    """`?` becomes `$1`, `$2` and so on outside of quotes."""
    parts = re.split(r"('(?:[^']|'')*')", sql)
    numbers = count(1)
    parts[::2] = [re.sub(r"\?", lambda _: f"${next(numbers)}", part) for part in parts[::2]]
    return "".join(parts)


class PostgresTransaction:
    """Writes are queued and travel with the next read or the commit; their errors are raised there."""

    engine = "postgres"

    def __init__(self, wire: Wire, writable: bool, lineage: int) -> None:
        self._wire = wire
        self.writable = writable
        self.lineage = lineage
        self.written: Counter[str] = Counter()
        """How often each statement of `many` was executed."""

    def all(self, sql: str, *params: Any) -> list[Row]:
        names, rows = self._rows(sql, params)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def tuples(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        return self._rows(sql, params)[1]

    def each(self, sql: str, rows: Sequence[Sequence[Any]]) -> list[list[Row]]:
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
    def attempt(self) -> Iterator[None]:
        self.run("SAVEPOINT attempt")
        self._wire.exchange()  # what fails up to here is not the attempt's fault
        try:
            yield
            self.run("RELEASE SAVEPOINT attempt")
            self._wire.exchange()
        except BaseException:
            self._wire.forget_queue()
            self.run("ROLLBACK TO SAVEPOINT attempt")
            self.run("RELEASE SAVEPOINT attempt")
            raise

    def notify(self, channel: str) -> None:
        self.run("SELECT pg_notify(?, ?)", CHANNEL, channel)

    def _rows(self, sql: str, params: Sequence[Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
        self._wire.send(numbered(sql), params)
        return self._wire.rows(self._wire.exchange()[-1])


class Growth:
    """Counts the rows that this process has inserted, and says when PostgreSQL should analyze a table.

    A statement is planned once, by what is known of its tables. Of a young table nothing is known: every index looks
    as good as the next, and a plan that reads all rows of a workspace may be kept for good. The server's own analysis
    comes only after a minute.
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

    def __init__(self, url: str, wait_seconds: float = WAIT_SECONDS) -> None:
        self.url = url
        self.companions = Companions(self)
        self._wait_seconds = wait_seconds
        self._idle: list[Wire] = []
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._growth = Growth()
        self._ready = False
        self._opening = threading.Lock()
        self._lineage = 0

    @contextmanager
    def read(self) -> Iterator[PostgresTransaction]:
        with translated(), self._connection() as wire:
            wire.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                yield PostgresTransaction(wire, writable=False, lineage=self._lineage)
            finally:
                wire.roll_back()

    @contextmanager
    def write(self) -> Iterator[PostgresTransaction]:
        with translated(), self._connection() as wire:
            wire.send("BEGIN")
            tx = PostgresTransaction(wire, writable=True, lineage=self._lineage)
            try:
                yield tx
                wire.send("COMMIT")
                _check_committed(wire.exchange()[-1])
            except BaseException:
                wire.roll_back()
                raise
            self._look_at_growth(wire, tx.written)

    def changes(self, wait: float) -> Iterator[None]:
        with translated(), self._connection():
            pass  # the schema is there
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
        self.companions.close()
        while self._idle:
            self._idle.pop().close()
        self._ready = False

    def _look_at_growth(self, wire: Wire, written: Counter[str]) -> None:
        """What was written is durable already: a look that fails is no failure, the server's own will come."""
        tables = self._growth.due(written) if written else []
        if tables:
            with suppress(psycopg.Error):
                wire.send(f"ANALYZE (SKIP_LOCKED) {', '.join(tables)}")
                wire.exchange()

    @contextmanager
    def _connection(self) -> Iterator[Wire]:
        if not self._room.acquire(timeout=self._wait_seconds):
            raise ClewError("STORE_LOCKED", f"all {MOST_CONNECTIONS} connections are in use", "Try again.")
        try:
            wire = self._take()
            try:
                yield wire
            finally:
                if not wire.closed:
                    self._idle.append(wire)
        finally:
            self._room.release()

    def _take(self) -> Wire:
        while self._idle:
            wire = self._idle.pop()
            if wire.ready():
                return wire
        with self._opening:
            return self._open()

    def _open(self) -> Wire:
        connection = psycopg.connect(self.url, autocommit=True, connect_timeout=10)
        try:
            if not self._ready:
                migrate(connection)
                self._ready = True
            connection.execute(_SETTINGS.format(lock_timeout=int(self._wait_seconds * 1000)))
            return Wire(connection)
        except BaseException:
            connection.close()
            raise


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
    except psycopg.Error as problem:
        raise _translate(problem) from problem


def _translate(problem: Exception) -> ClewError:
    text = " ".join(str(problem).split())
    if isinstance(problem, (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory)):
        return ClewError("STORE_FULL", text, "Free space on the database server. Nothing was written.")
    if isinstance(problem, (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled)):
        return ClewError("STORE_LOCKED", text, "The database is busy; try again.")
    if isinstance(problem, psycopg.errors.ReadOnlySqlTransaction):
        return ClewError("STORE_READ_ONLY", text, "Connect to the primary server.")
    if isinstance(problem, (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted)):
        return ClewError("STORE_CORRUPT", text, "Restore the database from a backup.")
    if isinstance(problem, psycopg.OperationalError):
        return ClewError("STORE_UNAVAILABLE", text, "Check CLEW_DATABASE_URL and that the server runs.")
    return ClewError("STORE_ERROR", text, "Run `clew doctor`; it checks the store.")


def _check_committed(result: Any) -> None:
    """A transaction that failed answers a COMMIT with ROLLBACK, and calls it a success."""
    if result.command_status != b"COMMIT":
        raise psycopg.InternalError("the transaction had failed before it was committed")
