"""Records and the rows they are stored in: one dataclass for each table, and the statements made from it.

Every table is keyed by the workspace and by the columns that the record names in `KEY`. The workspace is a column and
not a field: it is passed to each call. Lists and objects are stored as JSON, booleans as 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, TypeVar

import orjson

from clew.canonical import canonical
from clew.store.database import Row, Transaction, placeholders

CHUNK = 500
"""Values in one IN list: SQLite takes 32,766 parameters, PostgreSQL plans long lists slowly."""


class TableRow:
    """Base of the dataclasses that live in one table each."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]] = ("id",)
    LISTS: ClassVar[frozenset[str]] = frozenset()
    """Fields that are tuples here and JSON arrays in the table."""
    OBJECTS: ClassVar[frozenset[str]] = frozenset()
    """Fields that are any JSON value, or absent."""
    ORDERED: ClassVar[frozenset[str]] = frozenset()
    """Fields that are any JSON value whose keys keep their order."""
    FLAGS: ClassVar[frozenset[str]] = frozenset()
    COLUMNS: ClassVar[dict[str, str]] = {}
    """Columns whose name differs from the field's."""
    KEPT: ClassVar[frozenset[str]] = frozenset()
    """Fields that an upsert does not overwrite."""
    ASIDE: ClassVar[frozenset[str]] = frozenset()
    """Fields that are no columns of the table; loaded without them, a record has their defaults."""


R = TypeVar("R", bound=TableRow)
Codec = Callable[[Any], Any]


def load(kind: type[R], row: Row) -> R:
    """The record of a row, which may have further columns."""
    table = _table(kind)
    return kind(**{name: decode(row[column]) for name, column, decode in table.decoders})


def insert(tx: Transaction, workspace: str, record: TableRow) -> None:
    table = _table(type(record))
    tx.run(table.insert, workspace, *table.values(record))


def insert_many(tx: Transaction, workspace: str, records: Iterable[TableRow]) -> None:
    """Insert records of one kind together."""
    listed = list(records)
    if listed:
        table = _table(type(listed[0]))
        tx.many(table.insert, [(workspace, *table.values(record)) for record in listed])


def insert_absent(tx: Transaction, workspace: str, record: TableRow) -> bool:
    """Insert the record unless its key exists; returns whether it was inserted."""
    table = _table(type(record))
    return tx.changed(f"{table.insert} {table.conflict} DO NOTHING", workspace, *table.values(record)) > 0


def upsert(tx: Transaction, workspace: str, record: TableRow) -> None:
    """Insert the record, or overwrite the one with the same key."""
    table = _table(type(record))
    tx.run(table.upsert, workspace, *table.values(record))


def update(tx: Transaction, workspace: str, record: TableRow) -> None:
    """Overwrite every column of the record that is not part of the key."""
    table = _table(type(record))
    tx.run(table.update, *table.values(record, table.rest), workspace, *table.values(record, table.key))


def change(tx: Transaction, workspace: str, kind: type[TableRow], key: Sequence[Any], **columns: Any) -> None:
    """Set some columns of the row with this key."""
    assigned = ", ".join(f"{name} = ?" for name in columns)
    matched = " AND ".join(f"{name} = ?" for name in ("workspace", *kind.KEY))
    tx.run(f"UPDATE {kind.TABLE} SET {assigned} WHERE {matched}", *columns.values(), workspace, *key)


def delete(tx: Transaction, workspace: str, record: TableRow) -> None:
    table = _table(type(record))
    tx.run(table.delete, workspace, *table.values(record, table.key))


def find(tx: Transaction, workspace: str, kind: type[R], *key: Any) -> R | None:
    """The record with this key."""
    row = tx.one(_table(kind).select, workspace, *key)
    return load(kind, row) if row is not None else None


def select(tx: Transaction, workspace: str, kind: type[R], where: str, *params: Any) -> list[R]:
    """The records that match a condition, which may end with ORDER BY and LIMIT."""
    sql = f"SELECT * FROM {kind.TABLE} WHERE workspace = ? AND {where}"
    return [load(kind, row) for row in tx.all(sql, workspace, *params)]


def first(tx: Transaction, workspace: str, kind: type[R], where: str, *params: Any) -> R | None:
    """The first of the records that match a condition."""
    return next(iter(select(tx, workspace, kind, f"{where} LIMIT 1", *params)), None)


def find_many(tx: Transaction, workspace: str, kind: type[R], values: Iterable[Any], column: str = "") -> list[R]:
    """The records whose column (by default the last one of the key) has one of these values, in no order."""
    column = column or kind.KEY[-1]
    found: list[R] = []
    # The same value twice in an IN list would find its row once anyway, but two chunks that share a value would find it
    # twice.
    for part in chunks(list(dict.fromkeys(values))):
        sql = f"SELECT * FROM {kind.TABLE} WHERE workspace = ? AND {column} IN ({placeholders(len(part))})"
        found += [load(kind, row) for row in tx.all(sql, workspace, *part)]
    return found


def columns(kind: type[TableRow]) -> tuple[str, ...]:
    """The columns of a record in the order of its fields, without the workspace."""
    return tuple(column for _, column, _ in _table(kind).decoders)


def encoded(record: TableRow) -> tuple[Any, ...]:
    """The column values of a record, in the order of `columns`."""
    return tuple(_table(type(record)).values(record))


def chunks(values: Sequence[Any], size: int = CHUNK) -> Iterator[Sequence[Any]]:
    """Parts of a list that are short enough for one IN list."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


class _Table(NamedTuple):
    """The cached statements and converters of one kind of record."""

    decoders: tuple[tuple[str, str, Codec], ...]
    encoders: dict[str, Codec]
    key: tuple[str, ...]
    rest: tuple[str, ...]
    insert: str
    conflict: str
    upsert: str
    update: str
    delete: str
    select: str

    def values(self, record: TableRow, names: Iterable[str] | None = None) -> Iterator[Any]:
        for name in self.encoders if names is None else names:
            yield self.encoders[name](getattr(record, name))


_tables: dict[type[TableRow], _Table] = {}


def _table(kind: type[TableRow]) -> _Table:
    # Two threads may both create it; the results are equal, so no lock is needed.
    if kind not in _tables:
        _tables[kind] = _made(kind)
    return _tables[kind]


def _made(kind: type[TableRow]) -> _Table:
    every = fields(kind)  # type: ignore[arg-type]  # every TableRow is a dataclass
    names = [item.name for item in every if item.name not in kind.ASIDE]
    column = {name: kind.COLUMNS.get(name, name) for name in names}
    field = {stored: name for name, stored in column.items()}
    key = tuple(field[part] for part in kind.KEY)
    rest = tuple(name for name in names if name not in key)
    listed = ", ".join(("workspace", *column.values()))
    insert = f"INSERT INTO {kind.TABLE} ({listed}) VALUES ({placeholders(len(names) + 1)})"
    matched = " AND ".join(f"{name} = ?" for name in ("workspace", *kind.KEY))
    # `excluded` is the row that could not be inserted; both engines use this name.
    newer = ", ".join(f"{column[name]} = excluded.{column[name]}" for name in rest if name not in kind.KEPT)
    conflict = f"ON CONFLICT ({', '.join(('workspace', *kind.KEY))})"
    return _Table(
        decoders=tuple((name, column[name], _decoder(kind, name)) for name in names),
        encoders={name: _encoder(kind, name) for name in names},
        key=key,
        rest=rest,
        insert=insert,
        conflict=conflict,
        # A table that consists of its key has no column to overwrite.
        upsert=f"{insert} {conflict} DO UPDATE SET {newer}" if newer else f"{insert} {conflict} DO NOTHING",
        update=f"UPDATE {kind.TABLE} SET {', '.join(f'{column[name]} = ?' for name in rest)} WHERE {matched}",
        delete=f"DELETE FROM {kind.TABLE} WHERE {matched}",
        select=f"SELECT * FROM {kind.TABLE} WHERE {matched}",
    )


def _decoder(kind: type[TableRow], name: str) -> Codec:
    if name in kind.LISTS:
        return lambda value: tuple(orjson.loads(value))
    if name in kind.OBJECTS | kind.ORDERED:
        return lambda value: orjson.loads(value) if value is not None else None
    return bool if name in kind.FLAGS else _same


def _encoder(kind: type[TableRow], name: str) -> Codec:
    if name in kind.LISTS:
        # Canonical JSON, because rows are compared and hashed as texts: equal values must give equal bytes.
        return lambda value: canonical(list(value))
    if name in kind.OBJECTS:
        return lambda value: canonical(value) if value is not None else None
    if name in kind.ORDERED:
        return lambda value: orjson.dumps(value).decode() if value is not None else None
    return int if name in kind.FLAGS else _same


def _same(value: Any) -> Any:
    return value
