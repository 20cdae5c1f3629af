"""Reading the search index: one item for each thing that can be found, written together with it (see `items`).

An item's words are stored as text, split into our own terms. Ranking happens in the process that searches (see
`recall`), from the same rows on both engines, so that both give the same order.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clew.store.database import EPOCH, Row, Transaction, placeholders

MOST_WORDS = 16
FOR_EVER = 2**63 - 1
"""The end time of a current version."""
_WILD = re.compile(r"([\\%_])")
_ESCAPED = r"\\\1"
_SAME = "item_terms.workspace = item.workspace AND item_terms.id = item.id"


def known_beginnings(tx: Transaction, workspace: str, source: str, value: str, most: int) -> list[str]:
    """Titles and refs of a source with this prefix, for completion."""
    pattern = f"{_WILD.sub(_ESCAPED, value.lower())}%"
    sql = (
        "SELECT DISTINCT CASE WHEN lower(title) LIKE ? ESCAPE '\\' THEN title ELSE ref END AS found FROM item"
        " WHERE workspace = ? AND source = ? AND (lower(title) LIKE ? ESCAPE '\\' OR lower(ref) LIKE ? ESCAPE '\\')"
        " ORDER BY found LIMIT ?"
    )
    return [row["found"] for row in tx.all(sql, pattern, workspace, source, pattern, pattern, most)]


def items_titled(tx: Transaction, workspace: str, title: str, most: int) -> list[Row]:
    """Items with exactly this title, whatever its case."""
    sql = "SELECT ref, title FROM item WHERE workspace = ? AND lower(title) = ? ORDER BY ref LIMIT ?"
    return tx.all(sql, workspace, title.lower(), most)


def matching(tx: Transaction, workspace: str, words: list[str], limit: int, sources: tuple[str, ...] = ()) -> list[Row]:
    """Items that contain any of the terms, those with most of them first: a filter for lists, without ranking.

    It reads every row: suitable for small stores and inside of a write; `recall.holding` does the same with the index.
    """
    wanted = list(dict.fromkeys(words))[:MOST_WORDS]
    if not wanted:
        return []
    held = " + ".join(r"CASE WHEN padded LIKE ? ESCAPE '\' THEN 1 ELSE 0 END" for _ in wanted)
    only = f"AND source IN ({placeholders(len(sources))})" if sources else ""
    sql = (
        f"SELECT * FROM (SELECT found.*, {held} AS score FROM"
        " (SELECT item.*, ' ' || replace(item_terms.terms, ?, ' ') || ' ' AS padded"
        f" FROM item JOIN item_terms ON {_SAME} WHERE item.workspace = ? {only}) found) scored"
        " WHERE score > 0 ORDER BY score DESC, ref LIMIT ?"
    )
    # The terms of each field are one line. With a blank on both sides of every term, LIKE finds whole terms only.
    patterns = [f"% {_WILD.sub(_ESCAPED, word)} %" for word in wanted]
    return tx.all(sql, *patterns, "\n", workspace, *sources, limit)


def index_gaps(tx: Transaction, workspace: str) -> int:
    """The number of items whose terms were built by an older version; if not 0, a reindex is due."""
    return int(tx.value("SELECT count(*) FROM item_terms WHERE workspace = ? AND stale = 1", workspace))


def vector_lags(tx: Transaction, workspace: str) -> dict[str, int]:
    """The number of items that wait for a vector, for each model that has vectors here."""
    sql = (
        "SELECT model, (SELECT count(*) FROM item_terms WHERE item_terms.workspace = vector_progress.workspace"
        " AND item_terms.change > vector_progress.change AND terms IS NOT NULL) AS waiting"
        " FROM vector_progress WHERE workspace = ? ORDER BY model"
    )
    return {row["model"]: int(row["waiting"]) for row in tx.all(sql, workspace)}


def last_change(tx: Transaction, workspace: str) -> int:
    """The number of the newest write to this workspace's index."""
    return int(tx.value("SELECT coalesce(max(change), 0) FROM item_terms WHERE workspace = ?", workspace))


class IndexState(NamedTuple):
    """Compared by a process that caches the index: if the epoch differs or the change is lower, it starts over."""

    epoch: str
    change: int


def index_state(tx: Transaction, workspace: str) -> IndexState:
    row = tx.one(_STATE, workspace)
    return IndexState(f"{tx.generation}-{row['epoch']}", row["change"]) if row else IndexState("", 0)


class IndexedItem(NamedTuple):
    """The fields of an item that ranking reads. `terms` or `ref` is None for a deleted one."""

    id: int
    change: int
    terms: str | None
    ref: str | None
    source: str
    kind: str | None
    status: str | None
    branch: int | None
    doc: str | None
    seq: int
    ts_ms: int
    event_ts_ms: int | None
    speaker: str | None

    @property
    def is_gone(self) -> bool:
        # Terms of a change are joined with the current item, so an item may be deleted before its terms are.
        return self.terms is None or self.ref is None


def changed_items(tx: Transaction, workspace: str, after: int, most: int) -> list[IndexedItem]:
    """Items written after a change, in the order of their changes."""
    return list(map(IndexedItem._make, tx.tuples(_CHANGED, workspace, after, most)))


def items_as_of(tx: Transaction, workspace: str, column: str, moment: int) -> list[IndexedItem]:
    """Every item in its version at a seq (`column` seq) or a time (`column` ts_ms)."""
    until = "until_seq" if column == "seq" else "until_ms"
    now = f"SELECT {_LIVE}, {FOR_EVER} AS until FROM item JOIN item_terms ON {_SAME}"
    past = f"SELECT {_PAST}, item.{until} AS until FROM item_past item"
    found = tx.tuples(
        f"{now} WHERE item.workspace = ? AND item.{column} <= ?"
        f" UNION ALL {past} WHERE item.workspace = ? AND item.{column} <= ? AND item.{until} > ?"
        " ORDER BY id, until DESC, seq",
        workspace,
        moment,
        workspace,
        moment,
        moment,
    )
    # Versions may begin at the same moment, because a mark changes a status and leaves seq and time as they are. The
    # one that ended first comes last and overwrites the others in the dict.
    versions = (IndexedItem._make(row[:-1]) for row in found)
    return list({version.id: version for version in versions}.values())


def items_by_id(tx: Transaction, workspace: str, ids: list[int]) -> dict[int, Row]:
    sql = f"SELECT * FROM item WHERE workspace = ? AND id IN ({placeholders(len(ids))})"
    rows = tx.all(sql, workspace, *ids) if ids else []
    return {row["id"]: row for row in rows}


def items_by_ref(tx: Transaction, workspace: str, refs: list[str]) -> list[Row]:
    """The items with these refs, in the order of their refs."""
    if not refs:
        return []
    sql = f"SELECT * FROM item WHERE workspace = ? AND ref IN ({placeholders(len(refs))}) ORDER BY ref"
    return tx.all(sql, workspace, *sorted(refs))


def newest_items(
    tx: Transaction, workspace: str, source: str, kinds: tuple[str, ...], status: str, most: int
) -> list[Row]:
    """The newest items of some kinds of a source that have a status."""
    # One question for each kind: each is a range of an index in the order that is wanted.
    sql = "SELECT * FROM item WHERE workspace = ? AND source = ? AND kind = ? AND status = ? ORDER BY seq DESC LIMIT ?"
    found = tx.batch(sql, [(workspace, source, kind, status, most) for kind in kinds])
    return sorted((row for rows in found for row in rows), key=lambda row: -row["seq"])[:most]


def ids_by_text(tx: Transaction, workspace: str, text: str, most: int = 20) -> list[int]:
    """The newest items with exactly this text. Scans every row, so only for texts that no index can find."""
    sql = "SELECT id FROM item WHERE workspace = ? AND (title = ? OR body = ?) ORDER BY id DESC LIMIT ?"
    return [int(row["id"]) for row in tx.all(sql, workspace, text, text, most)]


def item_named(tx: Transaction, workspace: str, ref: str) -> Row | None:
    return tx.one("SELECT * FROM item WHERE workspace = ? AND ref = ?", workspace, ref)


def items_of_day(tx: Transaction, workspace: str, day: str) -> list[Row]:
    """The items whose dated ids begin like `D-20260101`, by their numbers."""
    sql = "SELECT * FROM item WHERE workspace = ? AND ref LIKE ? ORDER BY ref LIMIT 200"
    return tx.all(sql, workspace, f"{day}-%")


def source_of(tx: Transaction, workspace: str, ref: str) -> str | None:
    """The source of the item with this ref; None if there is none."""
    source = tx.value("SELECT source FROM item WHERE workspace = ? AND ref = ?", workspace, ref)
    return None if source is None else str(source)


def titles_of(tx: Transaction, workspace: str, source: str) -> list[str]:
    """The titles of all items of one source, in the order in which they were first written."""
    sql = "SELECT title FROM item WHERE workspace = ? AND source = ? AND title IS NOT NULL ORDER BY id"
    return [row["title"] for row in tx.all(sql, workspace, source)]


def refs_on_branch(tx: Transaction, workspace: str, branch: int, source: str) -> list[str]:
    sql = "SELECT ref FROM item WHERE workspace = ? AND branch = ? AND source = ? ORDER BY ref"
    return [row["ref"] for row in tx.all(sql, workspace, branch, source)]


def count_items(tx: Transaction, workspace: str, most: int) -> int:
    """The number of items; counted no further than `most`."""
    counted = "SELECT 1 FROM item WHERE workspace = ? LIMIT ?"
    return int(tx.value(f"SELECT count(*) FROM ({counted}) AS counted", workspace, most))


def items_after(tx: Transaction, workspace: str, id: int, most: int) -> list[Row]:
    """Items in the order of their ids, for iterating over all of them in batches."""
    return tx.all("SELECT * FROM item WHERE workspace = ? AND id > ? ORDER BY id LIMIT ?", workspace, id, most)


def item_before(tx: Transaction, item: Row) -> Row | None:
    """The item before this one in its document."""
    sql = "SELECT * FROM item WHERE workspace = ? AND branch = ? AND doc = ? AND seq < ? ORDER BY seq DESC LIMIT 1"
    return tx.one(sql, item["workspace"], item["branch"], item["doc"], item["seq"])


def count_by_source(tx: Transaction, workspace: str) -> dict[str, int]:
    sql = "SELECT source, count(*) AS items FROM item WHERE workspace = ? GROUP BY source ORDER BY source"
    return {row["source"]: int(row["items"]) for row in tx.all(sql, workspace)}


def items_of_past(tx: Transaction, workspace: str, ids: list[int], column: str, moment: int) -> dict[int, Row]:
    """Items in their versions at a seq or a time."""
    if not ids:
        return {}
    # Versions may share a millisecond. The one that ended first comes last and overwrites the others in the dict.
    until = "until_seq" if column == "seq" else "until_ms"
    sql = (
        f"SELECT * FROM item_past WHERE workspace = ? AND id IN ({placeholders(len(ids))})"
        f" AND {column} <= ? AND {until} > ? ORDER BY {until} DESC, seq"
    )
    past = tx.all(sql, workspace, *ids, moment, moment)
    return {**items_by_id(tx, workspace, ids), **{row["id"]: row for row in past}}


def links_of(tx: Transaction, workspace: str, ids: list[int]) -> list[Row]:
    """The outgoing links of these items."""
    if not ids:
        return []
    marks = placeholders(len(ids))
    sql = (
        f"SELECT id, relation, target FROM item_link WHERE workspace = ? AND id IN ({marks})"
        " ORDER BY id, relation, target"
    )
    return tx.all(sql, workspace, *ids)


def links_to(tx: Transaction, workspace: str, refs: list[str], limit: int | None = None) -> list[Row]:
    """The incoming links of these refs; most items may link to a hub, so pass a limit if only a few are shown."""
    if not refs:
        return []
    sql = (
        "SELECT id, relation, target FROM item_link WHERE workspace = ?"
        f" AND target IN ({placeholders(len(refs))}) ORDER BY id, relation, target"
    )
    return tx.all(sql, workspace, *refs) if limit is None else tx.all(f"{sql} LIMIT ?", workspace, *refs, limit)


_STATE = f"SELECT {EPOCH} AS epoch, coalesce(max(change), 0) AS change FROM item_terms WHERE workspace = ?"
_ITEM = "item.ref, source, kind, status, branch, doc, seq, ts_ms, event_ts_ms, speaker"
_LIVE = f"item.id AS id, item_terms.change, item_terms.terms, {_ITEM}"
_PAST = f"item.id AS id, 0 AS change, item.terms, {_ITEM}"
_CHANGED = (
    f"SELECT item_terms.id, item_terms.change, item_terms.terms, {_ITEM} FROM item_terms"
    f" LEFT JOIN item ON {_SAME}"
    " WHERE item_terms.workspace = ? AND item_terms.change > ? ORDER BY item_terms.change LIMIT ?"
)


def growth_by_day(tx: Transaction, workspace: str, since_ms: int) -> list[Row]:
    """How many items of each source were last written on each day (days since 1970)."""
    sql = (
        "SELECT ts_ms / 86400000 AS day, source, count(*) AS items FROM item"
        " WHERE workspace = ? AND ts_ms >= ? GROUP BY ts_ms / 86400000, source ORDER BY 1, 2"
    )
    return tx.all(sql, workspace, since_ms)


def never_used(tx: Transaction, workspace: str, used: set[str], limit: int) -> tuple[list[Row], int]:
    """Blocks and cards that no answer ever showed, the oldest first, and how many there are."""
    sources = "source IN ('block', 'card')"
    total = int(tx.value(f"SELECT count(*) FROM item WHERE workspace = ? AND {sources}", workspace))
    refs = sorted(used)
    for part in (refs[start : start + PART] for start in range(0, len(refs), PART)):
        counted = f"SELECT count(*) FROM item WHERE workspace = ? AND ref IN ({placeholders(len(part))}) AND {sources}"
        total -= int(tx.value(counted, workspace, *part))
    found: list[Row] = []
    seq, ref = -1, ""
    # Most of the oldest were shown; read on until enough are found that were not.
    while len(found) < limit:
        rows = tx.all(_OLDEST, workspace, seq, seq, ref, PART)
        found += [row for row in rows if row["id"] not in used]
        if len(rows) < PART:
            break
        seq, ref = rows[-1]["seq"], rows[-1]["id"]
    return [{name: row[name] for name in row if name != "seq"} for row in found[:limit]], total


PART = 500
_OLDEST = (
    "SELECT ref AS id, source, title, ts_ms, seq FROM item WHERE workspace = ? AND seq >= ? AND (seq > ? OR ref > ?)"
    " AND nullif(source, '') IN ('block', 'card') ORDER BY seq, ref LIMIT ?"
)


def refs_starting(tx: Transaction, workspace: str, beginning: str) -> list[str]:
    """The refs with a prefix, such as those of the thoughts of a session."""
    sql = "SELECT ref FROM item WHERE workspace = ? AND ref > ? AND ref < ? ORDER BY ref"
    return [row["ref"] for row in tx.all(sql, workspace, beginning, f"{beginning[:-1]}{chr(ord(beginning[-1]) + 1)}")]
