"""Everything that a store keeps, as one text to search: all bytes of its files, and every row of every table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw


def everything_stored(flags: dict[str, Any], *folders: Path) -> str:
    """What is kept below the data directory, in other folders and in the database, in lower case."""
    return "\n".join(text.lower() for _, text in kept_texts(flags, *folders))


def kept_texts(flags: dict[str, Any], *folders: Path) -> Iterator[tuple[str, str]]:
    """Each file and each table by its name."""
    home = Path(flags["home"])
    for path in sorted(path for folder in (home, *folders) for path in folder.rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes().decode("utf-8", "replace")
    if "database_url" in flags:
        yield from _postgres_tables(flags["database_url"])
    elif (home / "clew.db").is_file():
        yield from _sqlite_tables(home / "clew.db")


def _sqlite_tables(file: Path) -> Iterator[tuple[str, str]]:
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            yield str(name), _text(connection.execute(f'SELECT * FROM "{name}"'))
    finally:
        connection.close()


def _postgres_tables(url: str) -> Iterator[tuple[str, str]]:
    import psycopg

    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (name,) in names:
            yield name, _text(connection.execute(f"SELECT * FROM {name}".encode()))


def _text(rows: Iterable[tuple[Any, ...]]) -> str:
    return "\n".join(" | ".join(map(_shown, row)) for row in rows)


def _shown(value: Any) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, (bytes, memoryview)) else str(value)
