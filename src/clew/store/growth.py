"""What a process has put into its tables, so that PostgreSQL is told to look at those that have grown.

A statement is planned once, by what is known of its tables. Of a young one nothing is known: each index looks as good
as the next, and one that reads all rows of a workspace may be taken for good. The server looks after a minute.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

LEAST = 1_000
FURTHER = 10
"""A look costs as much as some hundred rows: one at a thousand rows, the next at ten times as many."""

_INSERT = re.compile(r"INSERT INTO (\w+)")


class Growth:
    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()
        self._seen: dict[str, int] = {}

    def due(self, written: Counter[str]) -> list[str]:
        """The tables to look at, after these statements were executed so many times; each is named once."""
        for sql, count in written.items():
            table = _table(sql)
            if table:
                self._rows[table] += count
        grown = [name for name, rows in self._rows.items() if rows >= max(LEAST, FURTHER * self._seen.get(name, 0))]
        self._seen |= {name: self._rows[name] for name in grown}
        return sorted(grown)


@lru_cache(maxsize=500)
def _table(sql: str) -> str | None:
    found = _INSERT.match(sql)
    return found.group(1) if found else None
