"""Removes erased texts from the search index: items and their past versions, terms, vectors, substrings."""

from __future__ import annotations

from collections.abc import Sequence

from clew.index.items import CHUNK, recut, redigest, unindex_items
from clew.index.substrings import forget_substrings, index_substrings
from clew.store.database import Row, Transaction, placeholders
from clew.store.erasing import Erasure
from clew.store.redaction import ERASED, Redactor


def forget_items(tx: Transaction, workspace: str, refs: Sequence[str]) -> None:
    """Delete the items of these refs, their past versions and their vectors."""
    for start in range(0, len(refs), CHUNK):
        part = refs[start : start + CHUNK]
        among = f"workspace = ? AND ref IN ({placeholders(len(part))})"
        known = tx.all(f"SELECT id FROM item WHERE {among}", workspace, *part)
        past = tx.all(f"SELECT DISTINCT id FROM item_past WHERE {among}", workspace, *part)
        unindex_items(tx, workspace, part)
        tx.run(f"DELETE FROM item_past WHERE {among}", workspace, *part)
        _forget_vectors(tx, workspace, [row["id"] for row in (*known, *past)])


def forget_texts(tx: Transaction, workspace: str, workspace_number: int, redactor: Redactor, done: Erasure) -> None:
    """After the rows were changed: rebuild the terms of changed items, and delete data derived from the former
    text."""
    rows = [change.after for change in done.rows("item")]
    bare = [row["ref"] for row in rows if ERASED in (row["body"], row["title"]) and not _says_more(row)]
    forget_items(tx, workspace, bare)
    kept = [row for row in rows if row["ref"] not in set(bare)]
    redigest(tx, workspace, kept)
    recut(tx, workspace, kept)
    _forget_vectors(tx, workspace, [row["id"] for row in kept])
    _forget_past(tx, workspace, redactor)
    for change in done.rows("node"):
        if change.before["folded"] != change.after["folded"]:
            forget_substrings(tx, workspace_number, change.before["seq"], change.before["folded"] or "")
            index_substrings(tx, workspace_number, change.before["seq"], change.after["folded"] or "")


def _says_more(row: Row) -> bool:
    return any(text not in (None, "", ERASED) for text in (row["title"], row["body"]))


def _forget_past(tx: Transaction, workspace: str, redactor: Redactor) -> None:
    """Past versions of items that contain a copy of the text; its past is not shown any more."""
    probes = redactor.probes
    where = " OR ".join("lower(coalesce(title, '') || ' ' || coalesce(body, '')) LIKE ?" for _ in probes or ())
    rows = tx.all(
        f"SELECT id, until_seq, title, body FROM item_past WHERE workspace = ?{f' AND ({where})' if where else ''}",
        workspace,
        *(f"%{probe}%" for probe in probes or ()),
    )
    for row in rows:
        if any(redactor.found_in(text) for text in (row["title"], row["body"]) if text):
            sql = "DELETE FROM item_past WHERE workspace = ? AND id = ? AND until_seq = ?"
            tx.run(sql, workspace, row["id"], row["until_seq"])


def _forget_vectors(tx: Transaction, workspace: str, ids: Sequence[int]) -> None:
    """Of every model."""
    sql = "DELETE FROM item_vector WHERE workspace = ? AND id = ?"
    tx.many(sql, [(workspace, id) for id in ids])
