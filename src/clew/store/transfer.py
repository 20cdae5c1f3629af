"""Copies a whole store from one engine to the other, table by table, and compares both sides before it commits.

The schema is the same on both engines, so the tables and columns to copy are read from SQLite, which is always one of
the two.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from clew.canonical import canonical_bytes
from clew.errors import ClewError
from clew.store.database import Database, Transaction, placeholders, transferred
from clew.store.erasing import forget_kept_state

BATCH = 2_000
NOT_COPIED = ("schema_version", "oldest_writer", "probe", "row_security")
"""Rows of `meta` that belong to the engine, not to the content."""

Report = Callable[[float, float | None, str | None], None]
Values = tuple[Any, ...]


@dataclass(frozen=True)
class StoreTable:
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The primary key; empty where there is none."""
    singles: tuple[int, ...]
    """The columns that PostgreSQL keeps as four-byte floats."""

    def count(self, tx: Transaction) -> int:
        where, params = self.content()
        return int(tx.value(f"SELECT count(*) FROM {self.name} WHERE {where}", *params))

    def rows(self, tx: Transaction) -> Iterator[list[Values]]:
        """All rows in the order of the key, a batch at a time."""
        batches = self._by_key(tx) if self.key else self._by_offset(tx)
        for batch in batches:
            yield [tuple(map(_plain, row)) for row in batch]

    def _by_key(self, tx: Transaction) -> Iterator[list[Values]]:
        where, params = self.content()
        after = f"({', '.join(self.key)}) > ({', '.join('?' * len(self.key))})"
        batch = tx.tuples(self._select(where, self.key), *params)
        while batch:
            yield batch
            last = [batch[-1][self.columns.index(name)] for name in self.key]
            batch = tx.tuples(self._select(f"{where} AND {after}", self.key), *params, *last)

    def _by_offset(self, tx: Transaction) -> Iterator[list[Values]]:
        # Without a key only the order by all columns is the same on both engines, and NULL cannot be compared.
        order = [f"{column} NULLS FIRST" for column in self.columns]
        done = 0
        while batch := tx.tuples(f"{self._select('1 = 1', order)} OFFSET {done}"):
            yield batch
            done += len(batch)

    def _select(self, where: str, order: Sequence[str]) -> str:
        columns = ", ".join(self.columns)
        return f"SELECT {columns} FROM {self.name} WHERE {where} ORDER BY {', '.join(order)} LIMIT {BATCH}"

    def content(self) -> tuple[str, list[Any]]:
        """The condition for rows that are content."""
        if self.name != "meta":
            return "1 = 1", []
        return f"key NOT IN ({placeholders(len(NOT_COPIED))})", list(NOT_COPIED)

    def digest(self, rows: list[Values], so_far: Any) -> None:
        for row in rows:
            values = [self._comparable(i, value) for i, value in enumerate(row)]
            so_far.update(canonical_bytes(values))
            so_far.update(b"\n")

    def _comparable(self, column: int, value: Any) -> Any:
        if isinstance(value, bytes):
            return hashlib.sha256(value).hexdigest()
        if column in self.singles and value is not None:
            return struct.pack("<f", value).hex()
        return value


@dataclass(frozen=True)
class CopiedTable:
    name: str
    rows: int
    digest: str


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview | bytearray) else value


def transfer(
    source: Database, target: Database, report: Report | None = None, *, over: bool = False
) -> list[CopiedTable]:
    """Copy everything into an empty store, or overwrite its content with `over`. Committed if all digests agree."""
    if {source.engine, target.engine} != {"sqlite", "postgres"}:
        raise ClewError(
            "INVALID_INPUT",
            f"both stores are {source.engine}",
            "Use `clew backup` and `clew restore`.",
        )
    with source.read() as old, target.write() as new:
        old.no_timeout()
        new.no_timeout()
        tables = _tables(old if old.engine == "sqlite" else new)
        if over:
            _empty(tables, new)
        else:
            _check_empty(tables, new)
        sizes = {table.name: table.count(old) for table in tables}
        progress = _Progress(sum(sizes.values()), report)
        copied = [_copy(table, old, new, progress) for table in tables]
        for rebuild in transferred.all():
            rebuild(new)
        if over:
            forget_kept_state(new)
    return copied


def back_up(source: Database, target: Path) -> int:
    """Back up a PostgreSQL store to a file, which is a SQLite store; returns its size."""
    from clew.store.sqlite import SqliteDatabase

    with _reported(target), TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as place:
        copy = SqliteDatabase(Path(place) / "store.db")
        try:
            transfer(source, copy)
            return copy.backup(target)
        finally:
            copy.close()


def bring_back(target: Database, source: Path) -> Path:
    """Replace a PostgreSQL store with a backup, for every running process; returns where the old one was saved."""
    import apsw

    from clew.store.sqlite import SqliteDatabase
    from clew.store.sqlite_files import copy_store, opened_backup

    kept = source.with_name(f"{source.name}.before-restore-{time.time_ns()}")
    with _reported(kept), TemporaryDirectory(prefix=f".{source.name}.", dir=source.parent) as place:
        draft = Path(place) / "store.db"
        try:
            with opened_backup(source) as backup:
                copy_store(backup, draft)
        except apsw.Error:
            raise ClewError("INVALID_INPUT", f"{source} is no backup", "Name a file of `clew backup`.") from None
        copy = SqliteDatabase(draft)  # migrates an older schema
        try:
            with copy.read():
                pass
            back_up(target, kept)
            transfer(copy, target, over=True)
        finally:
            copy.close()
    return kept


@contextmanager
def _reported(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        said = f"{target}: {os.strerror(problem.errno or 0)}"
        raise ClewError("IO_ERROR", said, "Name a file in a directory you may write to.") from problem


class _Progress:
    def __init__(self, total: int, report: Report | None) -> None:
        self._total, self._report, self._done = total, report, 0

    def add(self, count: int, table: str) -> None:
        self._done += count
        if self._report:
            self._report(self._done, self._total, f"copying {table}")


def _copy(table: StoreTable, old: Transaction, new: Transaction, progress: _Progress) -> CopiedTable:
    columns, marks = ", ".join(table.columns), placeholders(len(table.columns))
    insert = f"INSERT INTO {table.name} ({columns}) VALUES ({marks})"
    if table.name == "meta":  # a new store already has a few rows
        _clear(table, new)
    written, count = hashlib.sha256(), 0
    for rows in table.rows(old):
        new.many(insert, rows)
        table.digest(rows, written)
        count += len(rows)
        progress.add(len(rows), table.name)
    found = hashlib.sha256()
    for rows in table.rows(new):
        table.digest(rows, found)
    if written.digest() != found.digest():
        raise ClewError(
            "STORE_CORRUPT",
            f"{table.name} reads differently after the copy; nothing was committed",
            "Run `clew doctor` on the old store, then copy it again.",
        )
    return CopiedTable(table.name, count, found.hexdigest())


def _empty(tables: list[StoreTable], tx: Transaction) -> None:
    """No other process can write from here on: every write locks a row of `workspace` first."""
    tx.run("LOCK TABLE workspace IN EXCLUSIVE MODE")
    for table in tables:
        _clear(table, tx)


def _clear(table: StoreTable, tx: Transaction) -> None:
    where, params = table.content()
    tx.run(f"DELETE FROM {table.name} WHERE {where}", *params)


def _check_empty(tables: list[StoreTable], tx: Transaction) -> None:
    full = [table.name for table in tables if table.name != "meta" and table.count(tx)]
    if full:
        raise ClewError(
            "CONFLICT",
            f"the target holds a store already ({', '.join(full[:3])})",
            "Name an empty database, or a directory without a store.",
        )


def _tables(tx: Transaction) -> list[StoreTable]:
    """Every table with content; virtual tables and what belongs to them are rebuilt by the target."""
    listed = tx.all("SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' ORDER BY name")
    names = [row["name"] for row in listed if not row["name"].startswith("sqlite_")]
    return [_table(tx, name) for name in names]


def _table(tx: Transaction, name: str) -> StoreTable:
    columns = tx.all("SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid", name)
    names = tuple(column["name"] for column in columns)
    keyed = sorted((column["pk"], column["name"]) for column in columns if column["pk"])
    singles = tuple(i for i, column in enumerate(columns) if column["type"] == "REAL")
    return StoreTable(name, names, tuple(column for _, column in keyed), singles)
