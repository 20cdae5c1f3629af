"""What a workspace held at a moment, and what became of it: the index keeps every version of what can be found.

`item` has the versions that hold now, `item_past` those before them with the moment at which each ended. Things are
told apart by their refs: an item that was dropped and came back has another id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clew.store.database import Row, Transaction

CLOSED = ("done", "closed", "completed", "resolved", "answered", "canceled", "failed")
"""Work and questions that came to an end."""
TAKEN_BACK = ("retracted", "superseded", "revoked", "rejected", "disowned", "rolled_back", "expired")
"""What no longer holds."""
PASSING = ("signal",)
"""Kinds of items that leave when somebody has decided about them: they came to an end and were not removed."""
CHANGES = ("added", "changed", "closed", "retracted", "gone")
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
_WORDS = {"closed": CLOSED, "retracted": TAKEN_BACK}


def _turned(change: str) -> str:
    """The condition that a status of this family came only after the moment."""
    words = ", ".join(f"'{word}'" for word in _WORDS[change])
    return f"lower(coalesce(now_status, '')) IN ({words}) AND lower(coalesce(status, '')) NOT IN ({words})"


_PASSING = ", ".join(f"'{kind}'" for kind in PASSING)
_CHANGE = (
    f"CASE WHEN was IS NULL THEN 'added' WHEN now_ref IS NULL AND kind IN ({_PASSING}) THEN 'closed'"
    " WHEN now_ref IS NULL THEN 'gone'"
    f" WHEN {_turned('retracted')} THEN 'retracted' WHEN {_turned('closed')} THEN 'closed' ELSE 'changed' END"
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
    """Which rows of a list are wanted: of one source (all without any), from a place on."""

    source: str | None
    offset: int
    limit: int

    def where(self, column: str, *also: tuple[str, str | None]) -> tuple[str, list[Any]]:
        given = [(name, value) for name, value in ((column, self.source), *also) if value is not None]
        return "".join(f" AND {name} = ?" for name, _ in given), [value for _, value in given]


def held_counts(tx: Transaction, workspace: str, moment: int) -> list[Row]:
    """How many items of each source, kind and status there were at a time."""
    sql = (
        f"{_HELD} SELECT source, kind, status, count(*) AS items FROM held"
        " GROUP BY source, kind, status ORDER BY source, kind, status"
    )
    return tx.all(sql, *_held(workspace, moment))


def held_items(tx: Transaction, workspace: str, moment: int, page: Page) -> list[Row]:
    """What there was at a time as it stood then, the last written first."""
    where, given = page.where("source")
    sql = (
        f"{_HELD} SELECT {_FIELDS.replace('body', f'substr(body, 1, {_EXCERPT}) AS body')} FROM held WHERE 1 = 1{where}"
        " ORDER BY ts_ms DESC, seq DESC, ref LIMIT ? OFFSET ?"
    )
    return tx.all(sql, *_held(workspace, moment), *given, page.limit, page.offset)


def change_counts(tx: Transaction, workspace: str, moment: int) -> list[Row]:
    """How many items of each source were added, changed, closed, retracted or are gone since a time."""
    sql = (
        f"{_SINCE} SELECT change, family AS source, count(*) AS items FROM changes"
        " GROUP BY change, family ORDER BY change, family"
    )
    return tx.all(sql, *_since(workspace, moment))


def changes_since(tx: Transaction, workspace: str, moment: int, page: Page, change: str | None = None) -> list[Row]:
    """What became of each item since a time, with both states, the last changed first."""
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
