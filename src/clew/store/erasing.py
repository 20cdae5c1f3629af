"""Erases a text from every table: first the record's own rows, then every copy of their texts.

Rows stay, with their ids, numbers and times; only their texts are removed. The digest of an event or receipt stays
too, so the chain of digests still holds; the event that records the erasure names each such row with the digest of
what is left of it, and `verify` accepts a row that differs only where a later event of the chain names it so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import orjson

from clew.canonical import canonical, sha256_hex
from clew.hooks import HookPoint
from clew.store.database import Row, Transaction
from clew.store.redaction import Redactor, emptied, leaves
from clew.store.text_columns import ABOUT, OWNED, REMOVED, SAME_NUMBER, TEXT_TABLES, TextTable
from clew.store.workspaces import EVENT_COLUMNS, declare_events, write_meta

RECORD_ERASED = "record_erased"
declare_events({RECORD_ERASED: "A person erased the text of a record everywhere; digests of what is left are named."})
packed_texts: HookPoint[Callable[[Transaction, str, Redactor, Erasure, bool], None]] = HookPoint("packed_texts")
"""Provided by modules that store texts opaque to SQL: removes texts from them, or with `dry` only reports where."""
ABOUT_SUBJECTS = frozenset({"event", "entry"})


@dataclass(frozen=True)
class ChangedRow:
    before: Row
    after: Row


@dataclass
class Erasure:
    """The changes, by table."""

    changed: dict[str, list[ChangedRow]] = field(default_factory=dict)

    def add(self, table: str, row: ChangedRow) -> None:
        self.changed.setdefault(table, []).append(row)

    def rows(self, table: str) -> list[ChangedRow]:
        return self.changed.get(table, [])

    def counts(self) -> dict[str, int]:
        return {table: len(rows) for table, rows in sorted(self.changed.items())}


def own_rows(tx: Transaction, workspace: str, kind: str, id: str, key: str | int) -> Iterator[tuple[str, Row]]:
    """The rows of a record, and the rows elsewhere that duplicate them; `key` is its id in its own tables."""
    wanted = [(table, condition, key) for table, condition in OWNED.get(kind, ())]
    for table, condition, value in (*wanted, *((table, condition, id) for table, condition in ABOUT)):
        for row in _select(tx, workspace, table, condition, value):
            yield table, row
            if "seq" not in row:
                continue
            for other in SAME_NUMBER.get(table, ()):
                yield from ((other, same) for same in _select(tx, workspace, other, "seq = ?", row["seq"]))


def _select(tx: Transaction, workspace: str, table: str, condition: str, id: str | int) -> list[Row]:
    return tx.all(
        f"SELECT * FROM {table} WHERE workspace = ? AND ({condition})", workspace, *[id] * condition.count("?")
    )


def texts_of(rows: Iterable[tuple[str, Row]]) -> list[str]:
    """The texts of the rows, without duplicates."""
    found: dict[str, None] = {}
    for table, row in rows:
        for column in TEXT_TABLES[table].texts:
            found.update(dict.fromkeys(leaves(row[column] or "")))
    return [text for text in found if text.strip()]


def empty_rows(tx: Transaction, workspace: str, rows: Iterable[tuple[str, Row]], done: Erasure) -> None:
    """Remove every text from the rows of a record."""
    for table, row in rows:
        spec = TEXT_TABLES[table]
        _update(tx, workspace, table, row, {name: emptied(row[name]) for name in spec.texts}, done)


def remove_rows(tx: Transaction, workspace: str, id: str) -> None:
    for table, condition in REMOVED:
        tx.run(f"DELETE FROM {table} WHERE workspace = ? AND {condition}", workspace, id)


def erase_copies(
    tx: Transaction, workspace: str, redactor: Redactor, own: Sequence[str], done: Erasure, *, dry: bool = False
) -> None:
    """Remove the texts from every other row; from events of the `own` ids short texts too."""
    for table, spec in TEXT_TABLES.items():
        for row in _candidates(tx, workspace, table, spec, redactor, own):
            ours = table in ABOUT_SUBJECTS and row["subject"] in own
            values = {name: redactor.without(row[name], ours) for name in spec.texts if row[name]}
            if dry and any(values[name] != row[name] for name in values):
                done.add(table, ChangedRow(row, {**row, **values}))
            elif not dry:
                _update(tx, workspace, table, row, values, done)
    for erase_packed in packed_texts.all():
        erase_packed(tx, workspace, redactor, done, dry)


def _candidates(
    tx: Transaction, workspace: str, table: str, spec: TextTable, redactor: Redactor, own: Sequence[str]
) -> list[Row]:
    """The rows that may contain one of the texts: those with a word of each, all rows if a text has none."""
    probes = redactor.probes
    if probes is not None:
        tests = [f"lower({name}) LIKE ?" for name in spec.texts for _ in probes]
        values = [f"%{probe}%" for _ in spec.texts for probe in probes]
        if table in ABOUT_SUBJECTS:
            tests += ["subject = ?" for _ in own]
            values += own
        if not tests:
            return []
        where = f" AND ({' OR '.join(tests)})"
    else:
        where, values = "", []
    return tx.all(f"SELECT * FROM {table} WHERE workspace = ?{where}", workspace, *values)


def _update(tx: Transaction, workspace: str, table: str, row: Row, values: Row, done: Erasure) -> None:
    changes = {name: value for name, value in values.items() if value != row[name]}
    if not changes:
        return
    key = TEXT_TABLES[table].key
    where = " AND ".join(["workspace = ?", *(f"{name} = ?" for name in key)])
    found = [workspace, *(row[name] for name in key)]
    if set(changes) & set(key):
        tx.run(f"DELETE FROM {table} WHERE {where}", *found)
    else:
        sets = ", ".join(f"{name} = ?" for name in changes)
        tx.run(f"UPDATE {table} SET {sets} WHERE {where}", *changes.values(), *found)
    done.add(table, ChangedRow(row, {**row, **changes}))


def forget_kept_state(tx: Transaction) -> None:
    """Invalidate the caches of all processes: see `EPOCH`."""
    write_meta(tx, "epoch", uuid4().hex)


def event_digest(row: Row) -> str:
    """The digest of the present content of an event, without its position in the chain."""
    return sha256_hex(canonical([row[name] for name in EVENT_COLUMNS]))


def erased_digests(tx: Transaction, workspace: str, what: str) -> dict[str, str]:
    """The digests that erasures left, of `events` by number or of `receipts` by id; the last erasure counts."""
    sql = "SELECT payload FROM event WHERE workspace = ? AND type = ? ORDER BY seq"
    found: dict[str, str] = {}
    for row in tx.all(sql, workspace, RECORD_ERASED):
        found.update(orjson.loads(row["payload"]).get(what, {}))
    return found
