"""The search index: one item for anything that can be found, written with the thing itself.

An item's words are kept as text, cut into our own terms. Ranking happens in the process that asks (see `recall`), from
the same rows on both engines, so that both give the same order.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any

from clew.store.database import Row, Transaction, placeholders
from clew.store.heading import asks, read_heading
from clew.store.terms import terms

BODY_LIMIT = 20_000
MOST_LINKS = 64
MOST_WORDS = 16
FIELDS = ("title", "body", "tags", "speaker")
QUESTION = "?"
"""Stands last among the terms of a text that ends as a question; no word is cut to it."""

MENTIONED = re.compile(
    r"\b(?:(?:PLAN|TASK|JOB)-\d{3,}|CARD-\d+|STEP-[0-9A-F]{8,}|(?:D|T|C|P|PRJ|PER|TOOL|INC|SIG|DREF)-\d{8}-\d{3,})\b"
    r"|\ba:[a-z0-9][a-z0-9-]{0,63}"
)

_WILD = re.compile(r"([\\%_])")
_ESCAPED = r"\\\1"


@dataclass(frozen=True, slots=True)
class Item:
    """What a search may return. `ref` is the id that `open` takes; it is unique in its workspace.

    `event_ts_ms` is when the thing happened, `ts_ms` when it was recorded. `links` are (relation, ref) pairs such as
    ("supersedes", "D-20260213-001"); ids that the text mentions are found by themselves.
    """

    ref: str
    source: str
    seq: int
    ts_ms: int
    title: str | None = None
    body: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()
    status: str | None = None
    branch: int | None = None
    doc: str | None = None
    event_ts_ms: int | None = None
    speaker: str | None = None
    review_by: str | None = None
    links: tuple[tuple[str, str], ...] = ()

    def digest(self) -> str:
        text = "\x1f".join((self.title or "", self.body or "", " ".join(self.tags), self.speaker or ""))
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def index_item(tx: Transaction, workspace: str, item: Item) -> None:
    """Make an item findable, replacing what stood under its ref."""
    item = headed(item)
    old = tx.one(_FOUND[tx.engine], workspace, item.ref)
    assert old is not None
    digest = item.digest()
    number = old["id"]
    if old["fresh"]:
        tx.run(_INSERT, number, workspace, item.ref, *_columns(item, digest))
        tx.run(_INSERT_TERMS, number, workspace, workspace, item_terms(item))
        _write_links(tx, number, workspace, item)
        return
    if old["digest"] != digest or old["status"] != item.status:
        tx.run(f"{_KEEP} WHERE item.id = ?", item.seq, item.ts_ms, number)
    tx.run(_UPDATE, *_columns(item, digest), number)
    tx.run(_UPDATE_TERMS, workspace, item_terms(item), number)
    tx.run("DELETE FROM item_link WHERE id = ?", number)
    _write_links(tx, number, workspace, item)


def unindex_item(tx: Transaction, workspace: str, ref: str) -> bool:
    return unindex_where(tx, workspace, "ref = ?", ref) > 0


def unindex_where(tx: Transaction, workspace: str, condition: str, *params: Any) -> int:
    """Drop every item that a condition on the item table names."""
    rows = tx.all(f"SELECT id FROM item WHERE workspace = ? AND {condition} ORDER BY id", workspace, *params)
    if not rows:
        return 0
    state = tx.one("SELECT seq, updated_at_ms FROM workspace WHERE id = ?", workspace)
    seq, ts_ms = (state["seq"], state["updated_at_ms"]) if state else (0, 0)
    for row in rows:
        tx.run(f"{_KEEP} WHERE item.id = ?", seq + 1, ts_ms + 1, row["id"])
        tx.run("DELETE FROM item WHERE id = ?", row["id"])
        tx.run("DELETE FROM item_link WHERE id = ?", row["id"])
        tx.run(_UPDATE_TERMS, workspace, None, row["id"])
    return len(rows)


def known_beginnings(tx: Transaction, workspace: str, source: str, value: str, most: int) -> list[str]:
    """Titles and refs of a source that begin with these letters, for completion."""
    pattern = f"{_WILD.sub(_ESCAPED, value.lower())}%"
    sql = (
        "SELECT DISTINCT CASE WHEN lower(title) LIKE ? ESCAPE '\\' THEN title ELSE ref END AS found FROM item"
        " WHERE workspace = ? AND source = ? AND (lower(title) LIKE ? ESCAPE '\\' OR lower(ref) LIKE ? ESCAPE '\\')"
        " ORDER BY found LIMIT ?"
    )
    return [row["found"] for row in tx.all(sql, pattern, workspace, source, pattern, pattern, most)]


def matching(tx: Transaction, workspace: str, words: list[str], limit: int, sources: tuple[str, ...] = ()) -> list[Row]:
    """Items that hold any of the terms, those with most of them first: a filter for lists, without recall's ranking.

    It reads every row: right for small stores and inside of a write; `recall.holding` says the same from the index.
    """
    wanted = list(dict.fromkeys(words))[:MOST_WORDS]
    if not wanted:
        return []
    held = " + ".join(r"CASE WHEN padded LIKE ? ESCAPE '\' THEN 1 ELSE 0 END" for _ in wanted)
    only = f"AND source IN ({placeholders(len(sources))})" if sources else ""
    sql = (
        f"SELECT * FROM (SELECT found.*, {held} AS score FROM"
        " (SELECT item.*, ' ' || replace(item_terms.terms, ?, ' ') || ' ' AS padded"
        f" FROM item JOIN item_terms ON item_terms.id = item.id WHERE item.workspace = ? {only}) found) scored"
        " WHERE score > 0 ORDER BY score DESC, ref LIMIT ?"
    )
    patterns = [f"% {_WILD.sub(_ESCAPED, word)} %" for word in wanted]
    return tx.all(sql, *patterns, "\n", workspace, *sources, limit)


def index_gaps(tx: Transaction, workspace: str) -> int:
    """How many items were cut into terms by an older rule; more than none means that a reindex is due."""
    return int(tx.value("SELECT count(*) FROM item_terms WHERE workspace = ? AND stale = 1", workspace))


def vector_lags(tx: Transaction, workspace: str) -> dict[str, int]:
    """How many items wait for a vector, for each model that has made any here."""
    sql = (
        "SELECT model, (SELECT count(*) FROM item_terms WHERE item_terms.workspace = vector_progress.workspace"
        " AND item_terms.change > vector_progress.change AND terms IS NOT NULL) AS waiting"
        " FROM vector_progress WHERE workspace = ? ORDER BY model"
    )
    return {row["model"]: int(row["waiting"]) for row in tx.all(sql, workspace)}


def last_change(tx: Transaction, workspace: str) -> int:
    """The number of the newest write to this workspace's index."""
    return int(tx.value("SELECT coalesce(max(change), 0) FROM item_terms WHERE workspace = ?", workspace))


def changed_items(tx: Transaction, workspace: str, after: int, most: int) -> list[Row]:
    """Items written after a change, in the order of their changes; `terms` is null for those that are gone."""
    return tx.all(_CHANGED, workspace, after, most)


def items_as_of(tx: Transaction, workspace: str, column: str, moment: int) -> list[Row]:
    """Every item as it stood at a seq (`column` seq) or a time (`column` ts_ms)."""
    until = "until_seq" if column == "seq" else "until_ms"
    now = f"SELECT {_READ}, 0 AS past FROM item JOIN item_terms ON item_terms.id = item.id"
    past = f"SELECT {_READ.replace('item_terms.', 'item.')}, 1 AS past FROM item_past item"
    found = tx.all(
        f"{now} WHERE item.workspace = ? AND item.{column} <= ?"
        f" UNION ALL {past} WHERE item.workspace = ? AND item.{column} <= ? AND item.{until} > ?"
        " ORDER BY id, past, seq",
        workspace,
        moment,
        workspace,
        moment,
        moment,
    )
    # A version that was live then says more than the one that replaced it.
    return list({row["id"]: row for row in found}.values())


def items_by_id(tx: Transaction, ids: list[int]) -> dict[int, Row]:
    rows = tx.all(f"SELECT * FROM item WHERE id IN ({placeholders(len(ids))})", *ids) if ids else []
    return {row["id"]: row for row in rows}


def items_of_past(tx: Transaction, ids: list[int], column: str, moment: int) -> dict[int, Row]:
    """Items as they stood at a seq or a time."""
    if not ids:
        return {}
    until = "until_seq" if column == "seq" else "until_ms"
    sql = (
        f"SELECT * FROM item_past WHERE id IN ({placeholders(len(ids))}) AND {column} <= ? AND {until} > ? ORDER BY seq"
    )
    return {**items_by_id(tx, ids), **{row["id"]: row for row in tx.all(sql, *ids, moment, moment)}}


def links_of(tx: Transaction, ids: list[int]) -> list[Row]:
    """What these items point to."""
    if not ids:
        return []
    marks = placeholders(len(ids))
    sql = f"SELECT id, relation, target FROM item_link WHERE id IN ({marks}) ORDER BY id, relation, target"
    return tx.all(sql, *ids)


def links_to(tx: Transaction, workspace: str, refs: list[str]) -> list[Row]:
    """What points to these refs."""
    if not refs:
        return []
    sql = (
        "SELECT id, relation, target FROM item_link WHERE workspace = ?"
        f" AND target IN ({placeholders(len(refs))}) ORDER BY id, relation, target"
    )
    return tx.all(sql, workspace, *refs)


def item_terms(item: Item) -> str:
    """The terms of each field, one line for each."""
    fields = (item.title or "", (item.body or "")[:BODY_LIMIT], " ".join(item.tags), item.speaker or "")
    lines = [" ".join(terms(field)) for field in fields]
    if item.body and asks(item.body):
        lines[1] += f" {QUESTION}"
    return "\n".join(lines)


def headed(item: Item) -> Item:
    """With the speaker and the moment that a transcript line names, where the caller gave none."""
    if not item.body or (item.speaker is not None and item.event_ts_ms is not None):
        return item
    speaker, moment = read_heading(item.body)
    return replace(item, speaker=item.speaker or speaker, event_ts_ms=item.event_ts_ms or moment)


def recut(tx: Transaction, workspace: str, row: Row) -> None:
    """Cut a stored item into terms again."""
    words = item_terms(
        Item(
            row["ref"],
            row["source"],
            row["seq"],
            row["ts_ms"],
            title=row["title"],
            body=row["body"],
            tags=tuple((row["tags"] or "").split("\n")),
            speaker=row["speaker"],
        )
    )
    tx.run(_UPDATE_TERMS, workspace, words, row["id"])


_COLUMNS = "source, kind, branch, doc, seq, ts_ms, event_ts_ms, title, body, tags, status, speaker, review_by, digest"
_INSERT = f"INSERT INTO item (id, workspace, ref, {_COLUMNS}) VALUES ({placeholders(3 + len(_COLUMNS.split(', ')))})"
_UPDATE = f"UPDATE item SET {', '.join(f'{name} = ?' for name in _COLUMNS.split(', '))} WHERE id = ?"
_NEXT_CHANGE = "(SELECT coalesce(max(change), 0) + 1 FROM item_terms WHERE workspace = ?)"
_INSERT_TERMS = f"INSERT INTO item_terms (id, workspace, change, stale, terms) VALUES (?, ?, {_NEXT_CHANGE}, 0, ?)"
_UPDATE_TERMS = f"UPDATE item_terms SET change = {_NEXT_CHANGE}, stale = 0, terms = ? WHERE id = ?"
_KEEP = (
    f"INSERT INTO item_past (id, workspace, ref, {_COLUMNS}, terms, until_seq, until_ms)"
    f" SELECT item.id, item.workspace, ref, {_COLUMNS}, coalesce(item_terms.terms, ''), ?, ?"
    " FROM item JOIN item_terms ON item_terms.id = item.id"
)
_READ = (
    "item.id AS id, item_terms.terms AS terms, item.ref, item.source, item.kind, item.status, item.branch, item.doc,"
    " item.seq AS seq, item.ts_ms, item.event_ts_ms, item.speaker, item.digest"
)
_CHANGED = (
    f"SELECT {_READ.replace('item.id AS id', 'item_terms.id AS id')}, item_terms.change FROM item_terms"
    " LEFT JOIN item ON item.id = item_terms.id"
    " WHERE item_terms.workspace = ? AND item_terms.change > ? ORDER BY item_terms.change LIMIT ?"
)


def _columns(item: Item, digest: str) -> tuple[Any, ...]:
    return (
        item.source,
        item.kind,
        item.branch,
        item.doc,
        item.seq,
        item.ts_ms,
        item.event_ts_ms,
        item.title,
        item.body,
        "\n".join(item.tags) or None,
        item.status,
        item.speaker,
        item.review_by,
        digest,
    )


_NEXT_ID = {
    # A sequence, because a counter row would make the writers of all workspaces wait for each other.
    "postgres": "nextval('item_id')",
    "sqlite": "(SELECT coalesce(max(id), 0) + 1 FROM item_terms)",
}
"""Ids are never used twice: the terms row of an item outlives it."""

_FOUND = {
    engine: (
        f"SELECT CASE WHEN item.id IS NULL THEN {fresh} ELSE item.id END AS id, item.id IS NULL AS fresh,"
        " digest, status FROM (SELECT 1 AS one) here LEFT JOIN item ON item.workspace = ? AND item.ref = ?"
    )
    for engine, fresh in _NEXT_ID.items()
}
"""What stands under a ref, or the id that comes there, in one exchange."""


def _write_links(tx: Transaction, number: int, workspace: str, item: Item) -> None:
    mentions = MENTIONED.findall(f"{item.title or ''}\n{(item.body or '')[:BODY_LIMIT]}")
    pairs = {(relation, target) for relation, target in item.links if target != item.ref}
    named = {target for _, target in pairs}
    pairs |= {("mentions", target) for target in mentions if target != item.ref and target not in named}
    rows = [(number, workspace, relation, target) for relation, target in sorted(pairs)[:MOST_LINKS]]
    if rows:
        tx.many("INSERT INTO item_link (id, workspace, relation, target) VALUES (?, ?, ?, ?)", rows)
