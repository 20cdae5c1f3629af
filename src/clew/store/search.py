"""The search index: one item for anything that can be found, written with the thing itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from clew.store.database import Row, Transaction
from clew.store.terms import terms

BODY_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class Item:
    """What a search may return. `ref` is the id that `open` takes; it is unique in its workspace."""

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

    def digest(self) -> str:
        text = "\x1f".join((self.title or "", self.body or "", " ".join(self.tags)))
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def index_item(tx: Transaction, workspace: str, item: Item) -> None:
    """Make an item findable, replacing what stood under its ref."""
    old = tx.one("SELECT id, digest FROM item WHERE workspace = ? AND ref = ?", workspace, item.ref)
    digest = item.digest()
    if old is None:
        number = _next_id(tx)
        tx.run(_INSERT, number, workspace, item.ref, *_columns(item, digest))
        _write_terms(tx, number, workspace, item)
        return
    tx.run(_UPDATE, *_columns(item, digest), old["id"])
    if old["digest"] != digest:
        _drop_terms(tx, old["id"])
        _write_terms(tx, old["id"], workspace, item)


def unindex_item(tx: Transaction, workspace: str, ref: str) -> bool:
    old = tx.one("SELECT id FROM item WHERE workspace = ? AND ref = ?", workspace, ref)
    if old is None:
        return False
    tx.run("DELETE FROM item WHERE id = ?", old["id"])
    _drop_terms(tx, old["id"])
    return True


def unindex_where(tx: Transaction, workspace: str, condition: str, *params: Any) -> int:
    """Drop every item that a condition on the item table names."""
    rows = tx.all(f"SELECT id FROM item WHERE workspace = ? AND {condition}", workspace, *params)
    for row in rows:
        tx.run("DELETE FROM item WHERE id = ?", row["id"])
        _drop_terms(tx, row["id"])
    return len(rows)


def matching(tx: Transaction, workspace: str, words: list[str], limit: int, sources: tuple[str, ...] = ()) -> list[Row]:
    """Items that hold any of the words, those with the rarest and most words first."""
    if not words:
        return []
    found = _matching_sqlite if tx.engine == "sqlite" else _matching_postgres
    return found(tx, workspace, words, limit, sources)


def index_gaps(tx: Transaction, workspace: str) -> int:
    """How many items have no terms row; more than none means that a reindex is due."""
    if tx.engine == "sqlite":
        # A contentless table answers for rowids it holds.
        sql = "SELECT count(*) FROM item WHERE workspace = ? AND id NOT IN (SELECT rowid FROM item_terms)"
    else:
        sql = "SELECT count(*) FROM item WHERE workspace = ? AND id NOT IN (SELECT id FROM item_terms)"
    return int(tx.value(sql, workspace))


_COLUMNS = "source, kind, branch, doc, seq, ts_ms, event_ts_ms, title, body, tags, status, digest"
_INSERT = f"INSERT INTO item (id, workspace, ref, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE = f"UPDATE item SET {', '.join(f'{name.strip()} = ?' for name in _COLUMNS.split(','))} WHERE id = ?"


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
        " ".join(item.tags) or None,
        item.status,
        digest,
    )


def _next_id(tx: Transaction) -> int:
    """Ids are unique over all workspaces: they are row ids of the terms table."""
    if tx.engine == "postgres":
        # A sequence, because a counter row would make the writers of all workspaces wait for each other.
        return int(tx.value("SELECT nextval('item_id')"))
    return int(tx.value("SELECT coalesce(max(id), 0) + 1 FROM item"))


def _write_terms(tx: Transaction, number: int, workspace: str, item: Item) -> None:
    title = " ".join(terms(item.title or ""))
    body = " ".join(terms((item.body or "")[:BODY_LIMIT]))
    tags = " ".join(terms(" ".join(item.tags)))
    if tx.engine == "sqlite":
        sql = "INSERT INTO item_terms (rowid, scope, title, body, tags) VALUES (?, ?, ?, ?, ?)"
        tx.run(sql, number, _scope(tx, workspace), title, body, tags)
    else:
        sql = (
            "INSERT INTO item_terms (id, workspace, terms) VALUES (?, ?,"
            " setweight(array_to_tsvector(?), 'A') || setweight(array_to_tsvector(?), 'D'))"
        )
        tx.run(sql, number, workspace, _lexemes(f"{title} {tags}"), _lexemes(body))


def _lexemes(text: str) -> list[str]:
    return sorted(set(text.split()))


def _drop_terms(tx: Transaction, number: int) -> None:
    key = "rowid" if tx.engine == "sqlite" else "id"
    tx.run(f"DELETE FROM item_terms WHERE {key} = ?", number)


def _scope(tx: Transaction, workspace: str) -> str:
    """One term that stands for the workspace, so that the index itself keeps workspaces apart."""
    return f"w{tx.value('SELECT number FROM workspace WHERE id = ?', workspace)}"


def _matching_sqlite(
    tx: Transaction, workspace: str, words: list[str], limit: int, sources: tuple[str, ...]
) -> list[Row]:
    choice = " OR ".join(f'"{word}"' for word in dict.fromkeys(word.replace('"', "") for word in words) if word)
    query = f"scope : {_scope(tx, workspace)} AND {{title body tags}} : ({choice})"
    only = f"AND item.source IN ({', '.join('?' * len(sources))})" if sources else ""
    return tx.all(
        "SELECT item.*, -bm25(item_terms, 0.0, 2.0, 1.0, 1.5) AS score"
        " FROM item_terms JOIN item ON item.id = item_terms.rowid"
        f" WHERE item_terms MATCH ? {only} ORDER BY score DESC, item.ref LIMIT ?",
        query,
        *sources,
        limit,
    )


def _matching_postgres(
    tx: Transaction, workspace: str, words: list[str], limit: int, sources: tuple[str, ...]
) -> list[Row]:
    choice = " | ".join(
        "'" + word.replace("'", "''").replace("\\", "\\\\") + "'" for word in dict.fromkeys(words) if word
    )
    only = f"AND item.source IN ({', '.join('?' * len(sources))})" if sources else ""
    return tx.all(
        "SELECT item.*, ts_rank(item_terms.terms, ?::tsquery) AS score"
        " FROM item_terms JOIN item ON item.id = item_terms.id"
        f" WHERE item_terms.workspace = ? AND item_terms.terms @@ ?::tsquery {only}"
        " ORDER BY score DESC, item.ref LIMIT ?",
        choice,
        workspace,
        choice,
        *sources,
        limit,
    )
