"""Lists of items: by what they are, how they stand, which areas they belong to and what they say; never ranked.

Search answers a question; a list shows everything that fits, those changed last first, and counts the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from clew.store.database import Row, Transaction, placeholders

MOST_WORDS = 8
_WILD = re.compile(r"([\\%_])")
_COLUMNS = "ref, source, kind, status, title, body, tags, ts_ms, seq, review_by"
_SUBJECT = (
    "CASE WHEN source = 'thought' THEN substr(ref, 1, 36)"
    " WHEN source = 'evidence' OR (source = 'task' AND kind = 'step') THEN upper(coalesce(tags, ''))"
    " ELSE ref END"
)
"""What events about an item name: the session of a thought, the task of a step, else the item itself."""

Shelf = tuple[str, str | None]
"""Source and kind of an item."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which items of a workspace a list shows. Empty fields narrow nothing; `subjects` of None neither."""

    shelves: tuple[Shelf, ...] | None = None
    status: str | None = None
    words: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    refs: tuple[str, ...] | None = None
    subjects: tuple[str, ...] | None = None

    def sql(self, workspace: str) -> tuple[str, list[Any]]:
        parts = [("workspace = ?", [workspace]), *self._narrowed()]
        return " AND ".join(part for part, _ in parts), [value for _, values in parts for value in values]

    def _narrowed(self) -> list[tuple[str, list[Any]]]:
        found = [_any_of(self.shelves)] if self.shelves is not None else []
        if self.status is not None:
            found.append(("coalesce(status, '') = ?", [self.status]))
        said = "lower(ref || ' ' || coalesce(title, '') || ' ' || coalesce(body, '') || ' ' || coalesce(tags, ''))"
        found += [(rf"{said} LIKE ? ESCAPE '\'", [holding(word.lower())]) for word in self.words[:MOST_WORDS]]
        for values, column in ((self.refs, "ref"), (self.subjects, f"({_SUBJECT})")):
            if values is not None:
                found.append((f"{column} IN ({placeholders(len(values))})" if values else "1 = 0", [*values]))
        return [*found, *([_of_area(self.areas, self.files)] if self.areas or self.files else [])]


def _any_of(shelves: tuple[Shelf, ...]) -> tuple[str, list[Any]]:
    """Items of these sources and kinds; of none, nothing."""
    if not shelves:
        return "1 = 0", []
    parts = ["(source = ? AND kind IS NULL)" if kind is None else "(source = ? AND kind = ?)" for _, kind in shelves]
    return f"({' OR '.join(parts)})", [value for shelf in shelves for value in shelf if value is not None]


def _of_area(areas: tuple[str, ...], files: tuple[str, ...]) -> tuple[str, list[Any]]:
    """Items that are tagged with a name of the area, whose text mentions one, or that name one of its files."""
    tagged = [r"('~' || replace(coalesce(tags, ''), ?, '~') || '~') LIKE ? ESCAPE '\'" for _ in areas]
    named = [r"body LIKE ? ESCAPE '\'" for _ in files]
    linked = (
        f"id IN (SELECT id FROM item_link WHERE workspace = item.workspace AND target IN ({placeholders(len(areas))}))"
    )
    parts = [*tagged, *([linked] if areas else []), *named]
    values = [value for area in areas for value in ("\n", holding(f"~{area}~"))]
    return f"({' OR '.join(parts)})", [*values, *areas, *(holding(file) for file in files)]


def holding(text: str) -> str:
    """A pattern for LIKE: texts that hold this one."""
    return "%{}%".format(_WILD.sub(r"\\\1", text))


def listed(tx: Transaction, workspace: str, wanted: Wanted, offset: int, limit: int) -> list[Row]:
    """The items that fit, those changed last first."""
    where, values = wanted.sql(workspace)
    sql = f"SELECT {_COLUMNS}, {_SUBJECT} AS subject FROM item WHERE {where} ORDER BY seq DESC, ref LIMIT ? OFFSET ?"
    return tx.all(sql, *values, limit, offset)


def shelves(tx: Transaction, workspace: str, wanted: Wanted) -> dict[Shelf, int]:
    """How many items of each source and kind fit, whatever kinds are wanted."""
    where, values = replace(wanted, shelves=None).sql(workspace)
    sql = f"SELECT source, kind, count(*) AS items FROM item WHERE {where} GROUP BY source, kind ORDER BY source, kind"
    return {(row["source"], row["kind"]): int(row["items"]) for row in tx.all(sql, *values)}


def statuses(tx: Transaction, workspace: str, wanted: Wanted) -> dict[str, int]:
    """How many of the items stand how, whatever status is wanted."""
    where, values = replace(wanted, status=None).sql(workspace)
    sql = (
        f"SELECT coalesce(status, '') AS status, count(*) AS items FROM item WHERE {where}"
        " GROUP BY coalesce(status, '') ORDER BY items DESC, status"
    )
    return {row["status"]: int(row["items"]) for row in tx.all(sql, *values)}


def in_areas(tx: Transaction, workspace: str) -> list[Row]:
    """Every item that belongs to an area by a tag or by a mention, once for each: `area` is null where tags say it."""
    tagged = (
        "SELECT ref, source, kind, status, tags, ts_ms, NULL AS area FROM item"
        " WHERE workspace = ? AND (tags LIKE ? OR tags LIKE ?)"
    )
    linked = (
        "SELECT item.ref, item.source, item.kind, item.status, NULL AS tags, item.ts_ms, item_link.target AS area"
        " FROM item_link JOIN item ON item.id = item_link.id"
        " WHERE item_link.workspace = ? AND item_link.target >= 'a:' AND item_link.target < 'a;'"
    )
    return tx.all(f"{tagged} UNION ALL {linked}", workspace, "a:%", "%\na:%", workspace)


def naming_files(tx: Transaction, workspace: str, sources: tuple[str, ...], most: int) -> list[Row]:
    """The newest items whose text may name a file: it holds a slash or a dot within a word."""
    sql = (
        f"SELECT ref, source, kind, status, title, body, ts_ms FROM item WHERE workspace = ?"
        f" AND source IN ({placeholders(len(sources))}) AND (body LIKE ? OR body LIKE ?)"
        " ORDER BY seq DESC LIMIT ?"
    )
    return tx.all(sql, workspace, *sources, "%_/_%", "%_.__%", most)
