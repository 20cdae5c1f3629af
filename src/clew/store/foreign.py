"""Reading a SQLite file of another program: its tables as rows, whatever columns they have, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from clew.errors import ClewError

Row = dict[str, Any]


class ForeignStore:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        self.tables = [str(name) for (name,) in found]

    def columns(self, table: str) -> set[str]:
        return {str(info[1]) for info in self._connection.execute(f"PRAGMA table_info({table})")}

    def rows(self, table: str, order: str, **equal: Any) -> Iterator[Row]:
        """Rows of a table in an order; none when there is no such table. Names are ours, never a caller's."""
        if table not in self.tables:
            return
        known = self.columns(table)
        where = " AND ".join(f"{name} = ?" for name in equal) or "1"
        wanted = ", ".join(name for name in order.split(", ") if name in known) or "rowid"
        cursor = self._connection.cursor()
        cursor.execute(f"SELECT * FROM {table} WHERE {where} ORDER BY {wanted}", tuple(equal.values()))
        names: list[str] | None = None
        for values in cursor:
            names = names or [str(part[0]) for part in cursor.getdescription()]
            yield dict(zip(names, values, strict=True))


@contextmanager
def opened_foreign(path: Path) -> Iterator[ForeignStore]:
    """The file, read only; what its program has not yet checked in from the log is seen as well."""
    if not path.is_file():
        raise ClewError("NOT_FOUND", f"{path} is no file", "Name the file or its directory.")
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as problem:
        raise ClewError("IO_ERROR", f"{path} cannot be opened: {problem}", "Copy the file and try that.") from None
    try:
        yield ForeignStore(connection)
    except apsw.NotADBError:
        raise ClewError("INVALID_INPUT", f"{path} is no SQLite file", "Name another file.") from None
    finally:
        connection.close()
