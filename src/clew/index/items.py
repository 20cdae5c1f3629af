"""The items of the search index: the indexed fields of a thing that can be found, and how they are written.

An item is written in the transaction of the thing itself. Items are added, changed and removed; their past versions
stay. At the end are consistency checks that must return 0 if the index agrees with the data; `clew doctor` runs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from clew.canonical import digest
from clew.ids import MENTIONED
from clew.index.dates import find_moment
from clew.index.terms import terms
from clew.store.database import Row, Transaction, placeholders, transferred
from clew.store.workspaces import last_write

BODY_LIMIT = 20_000
MOST_LINKS = 64
QUESTION = "?"
"""The last term of a text that ends as a question; no word produces this term."""


@dataclass(frozen=True, slots=True)
class Item:
    """A possible search result. `ref` is the id that `open` takes; it is unique in its workspace.

    `event_ts_ms` is when the thing happened, `ts_ms` when it was recorded. `links` are (relation, ref) pairs such as
    ("supersedes", "D-20260213-001"); ids that the text mentions are detected automatically.
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
        return digest(text)

    def targets(self) -> list[tuple[str, str]]:
        """Relation and ref of all outgoing links: the explicit ones, then the ids that its text mentions."""
        words = f"{self.title or ''}\n{(self.body or '')[:BODY_LIMIT]}".split()
        # No id contains a space, and each contains one of these characters, as few other words do.
        mentions = [id for word in words if "-" in word or ":" in word for id in MENTIONED.findall(word)]
        pairs = {(relation, target) for relation, target in self.links if target != self.ref}
        named = {target for _, target in pairs}
        pairs |= {("mentions", target) for target in mentions if target != self.ref and target not in named}
        return sorted(pairs)[:MOST_LINKS]


def item_terms(item: Item) -> str:
    """The terms of each field, one line for each."""
    fields = (item.title or "", (item.body or "")[:BODY_LIMIT], " ".join(item.tags), item.speaker or "")
    lines = [" ".join(terms(field)) if field else "" for field in fields]
    if item.body and asks(item.body):
        lines[1] += f" {QUESTION}"
    return "\n".join(lines)


def headed(item: Item) -> Item:
    """With the speaker and the time of a transcript line as defaults, if the caller gave none."""
    if not item.body or (item.speaker is not None and item.event_ts_ms is not None):
        return item
    speaker, moment = read_heading(item.body)
    speaker, moment = item.speaker or speaker, item.event_ts_ms or moment
    if (speaker, moment) == (item.speaker, item.event_ts_ms):
        return item
    return replace(item, speaker=speaker, event_ts_ms=moment)


# A transcript line may contain speaker and time: `[8 May 2023, 13:56] Caroline: Hello`.
_HEAD = 80
_DATED = re.compile(r"\s*[\[(]([^\])\n]{6,60})[\])]\s*")
_BARE_DATE = re.compile(
    r"\s*((?:19|20)\d\d[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?)[\s,:|-]+"
)
_SPEAKER = re.compile(
    r"(?:\*\*)?([A-Z][\w.'’-]{0,30}(?: [A-Z][\w.'’-]{0,30}){0,2}|user|assistant|human|system)(?:\*\*)?:\s"
)
_TRAILING = re.compile(r"(?:\s*[\[(][^\[\]()]*[\])])+\s*$")
_LABELS = """
answer because cmd command context date decision done error evidence example fact fixme goal how http hypothesis
link next note notes plan question rationale reason result risk status step summary test title todo update warning
what when why
"""
LABELS = frozenset(_LABELS.split())


def read_heading(body: str) -> tuple[str | None, int | None]:
    """The speaker and the time at the beginning of a text; None if missing."""
    head = body[:_HEAD]
    dated = _DATED.match(head) or _BARE_DATE.match(head)
    moment = find_moment(dated.group(1)) if dated else None
    rest = body[dated.end() : dated.end() + _HEAD] if dated and moment is not None else head
    spoken = _SPEAKER.match(rest)
    if spoken is None or spoken.group(1).lower() in LABELS:
        return None, moment
    return spoken.group(1), moment


def asks(body: str) -> bool:
    """Whether a text ends as a question; remarks in brackets at its end do not count."""
    tail = body[-400:].rstrip()
    if tail.endswith(("]", ")")):
        tail = _TRAILING.sub("", tail)
    return tail.endswith(("?", "？"))


CHUNK = 500
"""How many items are looked up by their refs in one query."""


def index_item(tx: Transaction, workspace: str, item: Item) -> None:
    """Add an item to the index, replacing the one with its ref."""
    index_items(tx, workspace, (item,))


def index_items(tx: Transaction, workspace: str, items: Iterable[Item]) -> None:
    """Add items to the index, each as if it were added alone after the one before it."""
    for chunk in _chunks(items):
        entries = _entries(tx, workspace, chunk)
        for sql, rows in _writes(workspace, entries):
            if rows:
                tx.many(sql, rows)


def mark_item(tx: Transaction, workspace: str, ref: str, status: str | None) -> bool:
    """Change the status of a stored item; false if there is none. Everything else is kept, its links included.

    Its position in its document is kept too, so only the past version records until when it had the old status.
    """
    row = tx.one("SELECT * FROM item WHERE workspace = ? AND ref = ?", workspace, ref)
    if row is None:
        return False
    if row["status"] != status:
        seq, ts_ms = last_write(tx, workspace)
        tx.run(_KEEP, max(seq + 1, row["seq"]), max(ts_ms + 1, row["ts_ms"]), workspace, row["id"])
        tx.run("UPDATE item SET status = ? WHERE workspace = ? AND id = ?", status, workspace, row["id"])
        recut(tx, workspace, [row])
    return True


def unindex_item(tx: Transaction, workspace: str, ref: str) -> bool:
    return unindex_items(tx, workspace, (ref,)) > 0


def unindex_items(tx: Transaction, workspace: str, refs: Iterable[str]) -> int:
    """Remove the items with these refs, in this order; returns their number."""
    wanted = list(dict.fromkeys(refs))
    if not wanted:
        return 0
    found = tx.all(IDS_OF[tx.engine], orjson.dumps(wanted).decode(), workspace)
    return _drop(tx, workspace, [row for row in found if row["id"] is not None])


def unindex_where(tx: Transaction, workspace: str, condition: str, *params: Any) -> int:
    """Remove every item that matches a condition on the item table."""
    sql = f"SELECT id FROM item WHERE workspace = ? AND {condition} ORDER BY id"
    return _drop(tx, workspace, tx.all(sql, workspace, *params))


def _drop(tx: Transaction, workspace: str, rows: list[Row]) -> int:
    if not rows:
        return 0
    seq, ts_ms = last_write(tx, workspace)
    ids = [row["id"] for row in rows]
    tx.many(_KEEP, [(seq + 1, ts_ms + 1, workspace, id) for id in ids])
    tx.many("DELETE FROM item WHERE workspace = ? AND id = ?", [(workspace, id) for id in ids])
    tx.many(_DROP_LINKS, [(workspace, id) for id in ids])
    _set_terms(tx, workspace, [(id, None) for id in ids])
    return len(ids)


def recut(tx: Transaction, workspace: str, rows: list[Row]) -> None:
    """Rebuild the terms of stored items."""
    _set_terms(tx, workspace, [(row["id"], item_terms(_stored(row))) for row in rows])


def redigest(tx: Transaction, workspace: str, rows: list[Row]) -> None:
    """Update the digests of stored items from their texts, so that their vectors are rebuilt."""
    sql = "UPDATE item SET digest = ? WHERE workspace = ? AND id = ?"
    tx.many(sql, [(_stored(row).digest(), workspace, row["id"]) for row in rows])


def _stored(row: Row) -> Item:
    """The fields of a stored item from which its terms are built."""
    return Item(
        row["ref"],
        row["source"],
        row["seq"],
        row["ts_ms"],
        title=row["title"],
        body=row["body"],
        tags=tuple((row["tags"] or "").split("\n")) if row["tags"] else (),
        speaker=row["speaker"],
    )


class NumberedItem(NamedTuple):
    """An item with its id, the number of its change, and the stored item with its ref."""

    item: Item
    digest: str
    id: int
    change: int
    fresh: bool
    differs: bool
    since: int
    """The seq of the stored item with its ref."""

    @property
    def moved(self) -> bool:
        """Written again with the same text: unchanged, but from a later seq on."""
        return not self.fresh and not self.differs and self.item.seq > self.since

    def columns(self) -> tuple[Any, ...]:
        item = self.item
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
            self.digest,
        )


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """In their order, without duplicate refs in a chunk."""
    chunk: dict[str, Item] = {}
    for item in items:
        if item.ref in chunk or len(chunk) == CHUNK:
            yield list(chunk.values())
            chunk = {}
        chunk[item.ref] = headed(item)
    if chunk:
        yield list(chunk.values())


def _entries(tx: Transaction, workspace: str, items: list[Item]) -> list[NumberedItem]:
    refs = orjson.dumps([item.ref for item in items]).decode()
    found = tx.all(_FOUND[tx.engine], workspace, refs, workspace)
    return [_entry(item, row, place) for place, (item, row) in enumerate(zip(items, found, strict=True), 1)]


def _entry(item: Item, found: Row, place: int) -> NumberedItem:
    digest = item.digest()
    differs = found["digest"] != digest or found["status"] != item.status
    return NumberedItem(
        item, digest, found["id"], found["change"] + place, bool(found["fresh"]), differs, found["seq"] or 0
    )


def _writes(workspace: str, entries: list[NumberedItem]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Statements in execution order, each with its rows of parameters."""
    known = [entry for entry in entries if not entry.fresh]
    fresh = [entry for entry in entries if entry.fresh]
    # The past version is copied from the stored item, so this comes before the update.
    yield from _writes_of_the_past(workspace, known)
    yield _UPDATE, [(*entry.columns(), workspace, entry.id) for entry in known]
    yield _UPDATE_TERMS, [(entry.change, item_terms(entry.item), workspace, entry.id) for entry in known]
    yield _DROP_LINKS, [(workspace, entry.id) for entry in known]
    yield _INSERT, [(entry.id, workspace, entry.item.ref, *entry.columns()) for entry in fresh]
    yield _INSERT_TERMS, [(entry.id, workspace, entry.change, item_terms(entry.item)) for entry in fresh]
    yield _INSERT_LINK, [(entry.id, workspace, *target) for entry in entries for target in entry.item.targets()]


def _writes_of_the_past(workspace: str, known: list[NumberedItem]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    moved = [entry for entry in known if entry.moved]
    yield _KEEP, [(entry.item.seq, entry.item.ts_ms, workspace, entry.id) for entry in known if entry.differs]
    yield (
        _PROLONG,
        [(entry.item.seq, entry.item.ts_ms, workspace, entry.since, entry.id, entry.digest) for entry in moved],
    )
    yield _KEEP_ONCE, [(entry.item.seq, entry.item.ts_ms, workspace, entry.id, entry.item.seq) for entry in moved]


def _set_terms(tx: Transaction, workspace: str, terms: list[tuple[int, str | None]]) -> None:
    tx.many(_SET_TERMS, [(workspace, words, workspace, id) for id, words in terms])


_COLUMNS = "source, kind, branch, doc, seq, ts_ms, event_ts_ms, title, body, tags, status, speaker, review_by, digest"
_HERE = "workspace = ? AND id = ?"
_INSERT = f"INSERT INTO item (id, workspace, ref, {_COLUMNS}) VALUES ({placeholders(3 + len(_COLUMNS.split(', ')))})"
_UPDATE = f"UPDATE item SET {', '.join(f'{name} = ?' for name in _COLUMNS.split(', '))} WHERE {_HERE}"
_INSERT_TERMS = "INSERT INTO item_terms (id, workspace, change, stale, terms) VALUES (?, ?, ?, 0, ?)"
_UPDATE_TERMS = f"UPDATE item_terms SET change = ?, stale = 0, terms = ? WHERE {_HERE}"
_LAST_CHANGE = "(SELECT coalesce(max(change), 0) FROM item_terms WHERE workspace = ?)"
_SET_TERMS = f"UPDATE item_terms SET change = {_LAST_CHANGE} + 1, stale = 0, terms = ? WHERE {_HERE}"
_DROP_LINKS = f"DELETE FROM item_link WHERE {_HERE}"
_INSERT_LINK = "INSERT INTO item_link (id, workspace, relation, target) VALUES (?, ?, ?, ?)"
_KEEP = (
    f"INSERT INTO item_past (id, workspace, ref, {_COLUMNS}, terms, until_seq, until_ms)"
    f" SELECT item.id, item.workspace, ref, {_COLUMNS}, coalesce(item_terms.terms, ''), ?, ?"
    " FROM item JOIN item_terms ON item_terms.workspace = item.workspace AND item_terms.id = item.id"
    " WHERE item.workspace = ? AND item.id = ?"
)
_PROLONG = (
    "UPDATE item_past SET until_seq = ?, until_ms = ? WHERE workspace = ? AND until_seq = ? AND id = ? AND digest = ?"
    " AND EXISTS (SELECT 1 FROM item WHERE item.workspace = item_past.workspace AND item.id = item_past.id"
    " AND coalesce(item.status, '') = coalesce(item_past.status, ''))"
)
"""An item that is written repeatedly without a change has one past version, not one for each write."""
_KEEP_ONCE = (
    f"{_KEEP} AND NOT EXISTS (SELECT 1 FROM item_past kept WHERE kept.workspace = item.workspace"
    " AND kept.until_seq = ? AND kept.id = item.id)"
)

_NEXT_ID = {
    "sqlite": "(SELECT coalesce(max(id), 0) + 1 FROM item_terms) + wanted.key",
    # A sequence, because a counter row would make the writers of all workspaces wait for each other.
    "postgres": "nextval('item_id')",
}
"""Ids are never reused: the terms row of an item outlives it."""

_STANDING = {
    "sqlite": "json_each(?) wanted LEFT JOIN item ON item.workspace = ? AND item.ref = wanted.value",
    # Selects the first ref from the wanted one on, because only one index supports that. With `ref = ?` the planner
    # takes any index that begins with the workspace while it has no statistics, and reads all of it again and again.
    "postgres": (
        "json_array_elements_text(?::json) WITH ORDINALITY AS wanted (value, key) LEFT JOIN LATERAL"
        " (SELECT id, ref, digest, status, seq FROM item WHERE workspace = ? AND ref >= wanted.value"
        " ORDER BY ref LIMIT 1) item ON item.ref = wanted.value"
    ),
}
"""The refs of a JSON list, each with the item that has it."""

IDS_OF = {engine: f"SELECT item.id FROM {standing} ORDER BY wanted.key" for engine, standing in _STANDING.items()}
"""The id of each ref, or none. With an inner join SQLite would begin with all items of the store."""

_FOUND = {
    engine: (
        f"SELECT CASE WHEN item.id IS NULL THEN {_NEXT_ID[engine]} ELSE item.id END AS id, item.id IS NULL AS fresh,"
        f" digest, status, seq, {_LAST_CHANGE} AS change FROM {standing} ORDER BY wanted.key"
    )
    for engine, standing in _STANDING.items()
}
"""The stored item of each ref, or the new id for it, in one round trip."""


_ASKED = {
    "items that no search can find": (
        "SELECT count(*) FROM item WHERE workspace = ? AND NOT EXISTS"
        " (SELECT 1 FROM item_terms WHERE item_terms.workspace = item.workspace AND item_terms.id = item.id"
        " AND item_terms.terms IS NOT NULL)"
    ),
    "entries of the index whose item is gone": (
        "SELECT count(*) FROM item_terms WHERE workspace = ? AND terms IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM item WHERE item.workspace = item_terms.workspace AND item.id = item_terms.id)"
    ),
    "models that are ahead of the index": (
        "SELECT count(*) FROM vector_progress WHERE workspace = ? AND change >"
        " (SELECT coalesce(max(change), 0) FROM item_terms WHERE item_terms.workspace = vector_progress.workspace)"
    ),
    "items that a model passed over": (
        "SELECT count(*) FROM vector_progress JOIN item_terms ON item_terms.workspace = vector_progress.workspace"
        " AND item_terms.change <= vector_progress.change WHERE vector_progress.workspace = ?"
        " AND item_terms.terms IS NOT NULL AND NOT EXISTS (SELECT 1 FROM item_vector WHERE"
        " item_vector.workspace = item_terms.workspace AND item_vector.model = vector_progress.model"
        " AND item_vector.id = item_terms.id)"
    ),
}


def disagreements(tx: Transaction, workspace: str) -> list[str]:
    """The inconsistencies, each with its count; empty if there are none."""
    found = {what: int(tx.value(sql, workspace)) for what, sql in _ASKED.items()}
    return [f"{count} {what}" for what, count in found.items() if count]


@transferred("item_ids")
def continue_ids(tx: Transaction) -> None:
    """After a copy to PostgreSQL, advance the sequence past every id that was used."""
    if tx.engine == "postgres":
        tx.value("SELECT setval('item_id', (SELECT coalesce(max(id), 0) + 1 FROM item_terms), false)")
