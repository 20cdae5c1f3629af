"""Lists of items filtered by kind, status, area and text; never ranked.

Search answers a question; a list shows everything that matches, last changed first, and counts the rest.

The index keeps every version of an item, so there are also lists of what a workspace contained at a point in time, and
of the changes since. `item` has the current versions, `item_past` the former ones with the time at which each ended.
Things are identified by their refs: an item that was removed and added again has another id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from clew.kinds.state import OVER, State
from clew.kinds.statuses import CANCELED, CLOSED, RETRACTED, words_for
from clew.store.conditions import Position, holding, pattern
from clew.store.database import Row, Transaction, placeholders

MOST_WORDS = 8
_COLUMNS = "ref, source, kind, status, title, body, tags, ts_ms, seq, review_by"
_SUBJECT = (
    "CASE WHEN source = 'thought' THEN substr(ref, 1, 36)"
    " WHEN source = 'evidence' OR (source = 'task' AND kind = 'step') THEN upper(coalesce(tags, ''))"
    " ELSE ref END"
)
"""The subject of events about an item: the session of a thought, the task of a step, else the item itself."""

Shelf = tuple[str, str | None]
"""Source and kind of an item."""
Select = tuple[str, list[Any]]
"""A statement that selects rows, with its parameters."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of a list. Empty fields do not filter, nor does `subjects` of None."""

    shelves: tuple[Shelf, ...] | None = None
    status: str | None = None
    words: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    refs: tuple[str, ...] | None = None
    subjects: Select | None = None
    few: bool = False
    """Whether so few match that sorting them is cheaper than scanning the newest until enough are found."""

    def sql(self, workspace: str) -> tuple[str, list[Any]]:
        parts = [("workspace = ?", [workspace]), *self._narrowed()]
        return " AND ".join(part for part, _ in parts), [value for _, values in parts for value in values]

    def _narrowed(self) -> list[tuple[str, list[Any]]]:
        found = [_any_of(self.shelves, self.few)] if self.shelves is not None else []
        if self.status is not None:
            found.append(("coalesce(status, '') = ?", [self.status]))
        said = "ref || ' ' || coalesce(title, '') || ' ' || coalesce(body, '') || ' ' || coalesce(tags, '')"
        found += [holding(said, word) for word in self.words[:MOST_WORDS]]
        if self.refs is not None:
            found.append((f"ref IN ({placeholders(len(self.refs))})" if self.refs else "1 = 0", [*self.refs]))
        if self.subjects is not None:
            found.append((f"({_SUBJECT}) IN ({self.subjects[0]})", self.subjects[1]))
        return [*found, *([_of_area(self.areas, self.files)] if self.areas or self.files else [])]


def _any_of(shelves: tuple[Shelf, ...], few: bool) -> tuple[str, list[Any]]:
    """Items of these sources and kinds; of none, nothing."""
    if not shelves:
        return "1 = 0", []
    # Written as expressions so that the planner cannot start from them: it would sort all items.
    source, kind = ("source", "kind") if few else ("nullif(source, '')", "nullif(kind, '')")
    parts = [f"({source} = ? AND {'kind IS NULL' if name is None else f'{kind} = ?'})" for _, name in shelves]
    return f"({' OR '.join(parts)})", [value for shelf in shelves for value in shelf if value is not None]


def _of_area(areas: tuple[str, ...], files: tuple[str, ...]) -> tuple[str, list[Any]]:
    """Items that are tagged with a name of the area, whose text mentions one, or that name one of its files."""
    tagged = [r"('~' || replace(coalesce(tags, ''), ?, '~') || '~') LIKE ? ESCAPE '\'" for _ in areas]
    named = [r"(coalesce(title, '') || ' ' || coalesce(body, '')) LIKE ? ESCAPE '\'" for _ in files]
    linked = (
        f"id IN (SELECT id FROM item_link WHERE workspace = item.workspace AND target IN ({placeholders(len(areas))}))"
    )
    parts = [*tagged, *([linked] if areas else []), *named]
    values = [value for area in areas for value in ("\n", pattern(f"~{area}~"))]
    return f"({' OR '.join(parts)})", [*values, *areas, *(pattern(file) for file in files)]


def listed(
    tx: Transaction, workspace: str, wanted: Wanted, after: Position | None, offset: int, limit: int
) -> list[Row]:
    """The matching items, last changed first: after a position, or at an offset."""
    where, values = wanted.sql(workspace)
    if after is not None:
        condition, place = after.behind("ref")
        where, values, offset = f"{where} AND {condition}", [*values, *place], 0
    # Written as an expression so that the planner sorts the items of the kind instead of scanning the newest of all.
    order = "seq + 0" if wanted.few else "seq"
    sql = (
        f"SELECT {_COLUMNS}, {_SUBJECT} AS subject FROM item WHERE {where} ORDER BY {order} DESC, ref LIMIT ? OFFSET ?"
    )
    return tx.all(sql, *values, limit, offset)


def counts(tx: Transaction, workspace: str, wanted: Wanted) -> dict[tuple[Shelf, str], int]:
    """The number of items of each source, kind and status; ignores the filters for kind and status."""
    where, values = replace(wanted, shelves=None, status=None).sql(workspace)
    sql = f"SELECT source, kind, status, count(*) AS items FROM item WHERE {where} GROUP BY source, kind, status"
    found: dict[tuple[Shelf, str], int] = {}
    for row in tx.all(sql, *values):
        key = ((row["source"], row["kind"]), row["status"] or "")
        found[key] = found.get(key, 0) + int(row["items"])
    return found


def by_author(tx: Transaction, workspace: str, wanted: Wanted, authored: Select, most: int) -> list[Row]:
    """The number of matching items by author, descending. `authored` selects authors and subjects."""
    where, values = wanted.sql(workspace)
    sql = (
        f"WITH authored AS MATERIALIZED ({authored[0]}), subjects AS MATERIALIZED ("
        f"SELECT {_SUBJECT} AS subject, count(*) AS items FROM item WHERE {where}"
        f" AND ({_SUBJECT}) IN (SELECT subject FROM authored) GROUP BY 1)"
        " SELECT author AS name, CAST(sum(items) AS BIGINT) AS records FROM authored"
        " JOIN subjects ON subjects.subject = authored.subject GROUP BY author ORDER BY records DESC, author LIMIT ?"
    )
    return tx.all(sql, *authored[1], *values, most)


def in_areas(tx: Transaction, workspace: str) -> list[Row]:
    """Every item that belongs to an area by a tag or by a mention, once for each: `area` is null where tags say it."""
    tagged = (
        "SELECT ref, source, kind, status, tags, ts_ms, NULL AS area FROM item"
        " WHERE workspace = ? AND (tags LIKE ? OR tags LIKE ?)"
    )
    linked = (
        "SELECT item.ref, item.source, item.kind, item.status, NULL AS tags, item.ts_ms, item_link.target AS area"
        " FROM item_link JOIN item ON item.workspace = item_link.workspace AND item.id = item_link.id"
        " WHERE item_link.workspace = ? AND item_link.target >= 'a:' AND item_link.target < 'a;'"
    )
    return tx.all(f"{tagged} UNION ALL {linked}", workspace, "a:%", "%\na:%", workspace)


def naming_files(tx: Transaction, workspace: str, sources: tuple[str, ...], most: int) -> list[Row]:
    """The newest items whose text may name a file: it contains a slash or a dot within a word."""
    sql = (
        f"SELECT ref, source, kind, status, title, body, ts_ms FROM item WHERE workspace = ?"
        f" AND source IN ({placeholders(len(sources))}) AND (body LIKE ? OR body LIKE ?)"
        " ORDER BY seq DESC LIMIT ?"
    )
    return tx.all(sql, workspace, *sources, "%_/_%", "%_.__%", most)


PASSING = ("signal",)
"""Kinds of items that leave the index once they are decided: they count as closed, not as removed."""
CHANGES = ("added", "changed", CLOSED, RETRACTED, "gone")
_EXCERPT = 600
_FIELDS = "ref, source, kind, status, title, body, digest, seq, ts_ms"

# Of several versions that begin alike the one that ended first was live: a mark moves no beginning.
_PAST = (
    f"past AS (SELECT * FROM (SELECT {_FIELDS},"
    " row_number() OVER (PARTITION BY ref ORDER BY until_ms, seq DESC) AS place"
    " FROM item_past WHERE workspace = ? AND ts_ms <= ? AND until_ms > ?) AS live WHERE place = 1)"
)
_HELD = (
    f"WITH {_PAST}, held AS (SELECT {_FIELDS} FROM past UNION ALL SELECT {_FIELDS} FROM item"
    " WHERE workspace = ? AND ts_ms <= ? AND ref NOT IN (SELECT ref FROM past))"
)
_CALLED_OFF = (CANCELED, "cancelled")
"""Work that was canceled came to an end; nobody withdrew what it says."""
_WORDS = {
    CLOSED: (*words_for(State.SETTLED), *_CALLED_OFF),
    RETRACTED: tuple(word for word in words_for(*OVER) if word not in _CALLED_OFF),
}


def _turned(change: str) -> str:
    """The condition that a status of this family came only after the moment."""
    words = ", ".join(f"'{word}'" for word in _WORDS[change])
    return f"lower(coalesce(now_status, '')) IN ({words}) AND lower(coalesce(status, '')) NOT IN ({words})"


_PASSING = ", ".join(f"'{kind}'" for kind in PASSING)
_CHANGE = (
    f"CASE WHEN was IS NULL THEN 'added' WHEN now_ref IS NULL AND kind IN ({_PASSING}) THEN '{CLOSED}'"
    " WHEN now_ref IS NULL THEN 'gone'"
    f" WHEN {_turned(RETRACTED)} THEN '{RETRACTED}' WHEN {_turned(CLOSED)} THEN '{CLOSED}' ELSE 'changed' END"
)
_NOW = ", ".join(f"item.{name} AS now_{name}" for name in _FIELDS.split(", "))
_NONE = ", ".join(
    f"CAST(NULL AS {'BIGINT' if name in ('seq', 'ts_ms') else 'TEXT'}) AS {name}" for name in _FIELDS.split(", ")
)
_SINCE = (
    f"WITH {_PAST}, pairs AS ("
    f"SELECT past.ref AS was, {', '.join(f'past.{name} AS {name}' for name in _FIELDS.split(', '))}, {_NOW} FROM past"
    " LEFT JOIN item ON item.workspace = ? AND item.ref = past.ref"
    " WHERE item.ref IS NULL OR item.digest <> past.digest OR coalesce(item.status, '') <> coalesce(past.status, '')"
    f" UNION ALL SELECT CAST(NULL AS TEXT) AS was, {_NONE}, {_NOW} FROM item"
    " WHERE item.workspace = ? AND item.ts_ms > ? AND item.ref NOT IN (SELECT ref FROM past)),"
    f" changes AS (SELECT pairs.*, {_CHANGE} AS change, coalesce(now_source, source) AS family,"
    " coalesce(now_kind, kind) AS sort, coalesce(now_ts_ms, ts_ms) AS at_ms, coalesce(now_ref, ref) AS name FROM pairs)"
)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list: of one source (default: all), from a position on."""

    source: str | None
    offset: int
    limit: int

    def where(self, column: str, *also: tuple[str, str | None]) -> tuple[str, list[Any]]:
        given = [(name, value) for name, value in ((column, self.source), *also) if value is not None]
        return "".join(f" AND {name} = ?" for name, _ in given), [value for _, value in given]


def held_counts(tx: Transaction, workspace: str, moment: int) -> list[Row]:
    """The number of items of each source, kind and status at a point in time."""
    sql = (
        f"{_HELD} SELECT source, kind, status, count(*) AS items FROM held"
        " GROUP BY source, kind, status ORDER BY source, kind, status"
    )
    return tx.all(sql, *_held(workspace, moment))


def held_items(tx: Transaction, workspace: str, moment: int, page: Page) -> list[Row]:
    """The items at a point in time in their versions of that time, last written first."""
    where, given = page.where("source")
    sql = (
        f"{_HELD} SELECT {_FIELDS.replace('body', f'substr(body, 1, {_EXCERPT}) AS body')} FROM held WHERE 1 = 1{where}"
        " ORDER BY ts_ms DESC, seq DESC, ref LIMIT ? OFFSET ?"
    )
    return tx.all(sql, *_held(workspace, moment), *given, page.limit, page.offset)


def change_counts(tx: Transaction, workspace: str, moment: int) -> list[Row]:
    """The number of items of each source that were added, changed, closed, retracted or removed since a time."""
    sql = (
        f"{_SINCE} SELECT change, family AS source, count(*) AS items FROM changes"
        " GROUP BY change, family ORDER BY change, family"
    )
    return tx.all(sql, *_since(workspace, moment))


def changes_since(tx: Transaction, workspace: str, moment: int, page: Page, change: str | None = None) -> list[Row]:
    """The items that changed since a time, with both states, last changed first."""
    where, given = page.where("family", ("change", change))
    shown = ", ".join(
        f"substr({name}, 1, {_EXCERPT}) AS {name}" if name.endswith("body") else name
        for name in ("status", "title", "body", "now_status", "now_title", "now_body")
    )
    sql = (
        f"{_SINCE} SELECT name AS ref, change, family AS source, sort AS kind, at_ms, {shown} FROM changes"
        f" WHERE 1 = 1{where} ORDER BY at_ms DESC, coalesce(now_seq, seq) DESC, name LIMIT ? OFFSET ?"
    )
    return tx.all(sql, *_since(workspace, moment), *given, page.limit, page.offset)


def _held(workspace: str, moment: int) -> Sequence[Any]:
    return (workspace, moment, moment, workspace, moment)


def _since(workspace: str, moment: int) -> Sequence[Any]:
    return (workspace, moment, moment, workspace, workspace, moment)
