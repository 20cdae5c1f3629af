"""Frozen records and the rows they are stored in: lists and objects as JSON, truth as 0 and 1."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import orjson

from clew.canonical import canonical
from clew.registry.context import Context
from clew.store.database import Row


class Record:
    """Base of the dataclasses that live in one table each, keyed by workspace and id."""

    TABLE: ClassVar[str]
    LISTS: ClassVar[frozenset[str]] = frozenset()
    OBJECTS: ClassVar[frozenset[str]] = frozenset()
    FLAGS: ClassVar[frozenset[str]] = frozenset()

    id: str


R = TypeVar("R", bound=Record)


def load(kind: type[R], row: Row) -> R:
    return kind(**{name: _decoded(kind, name, row[name]) for name in _names(kind)})


def insert(ctx: Context, record: Record) -> None:
    names = _names(type(record))
    columns = ", ".join(("workspace", *names))
    marks = ", ".join("?" * (len(names) + 1))
    values = [_encoded(record, name) for name in names]
    ctx.tx.run(f"INSERT INTO {record.TABLE} ({columns}) VALUES ({marks})", ctx.workspace, *values)


def update(ctx: Context, record: Record) -> None:
    names = [name for name in _names(type(record)) if name != "id"]
    columns = ", ".join(f"{name} = ?" for name in names)
    values = [_encoded(record, name) for name in names]
    ctx.tx.run(f"UPDATE {record.TABLE} SET {columns} WHERE workspace = ? AND id = ?", *values, ctx.workspace, record.id)


_known: dict[type[Record], tuple[str, ...]] = {}


def _names(kind: type[Record]) -> tuple[str, ...]:
    if kind not in _known:
        _known[kind] = tuple(field.name for field in fields(kind))  # type: ignore[arg-type]
    return _known[kind]


def _decoded(kind: type[Record], name: str, value: Any) -> Any:
    if name in kind.LISTS:
        return tuple(orjson.loads(value))
    if name in kind.OBJECTS:
        return orjson.loads(value) if value is not None else None
    return bool(value) if name in kind.FLAGS else value


def _encoded(record: Record, name: str) -> Any:
    value = getattr(record, name)
    if name in record.LISTS:
        return canonical(list(value))
    if name in record.OBJECTS:
        return canonical(value) if value is not None else None
    return int(value) if name in record.FLAGS else value
