"""Blocks in the store: the current ones, every earlier version, and the only way to write a new version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from clew.errors import shorten, suggest, unknown_id
from clew.index.items import index_items, unindex_items
from clew.kinds.kind import Kind
from clew.memory.block_items import TALK, iso_date, search_item, searchable
from clew.memory.files import places
from clew.memory.files.markdown import GAP, ParsedBlock, Value, gap_problems, listed, one_line, parse_block
from clew.memory.files.places import BlockText
from clew.memory.files.repository import GIT, id_suffix
from clew.memory.kinds import IN_USE, kind_of, preamble, prefix_of
from clew.memory.marks import mark
from clew.registry.context import Context
from clew.store.database import Row, placeholders
from clew.store.rows import chunks
from clew.store.workspaces import declare_events

declare_events(
    {
        "block_written": "A block of governed memory got a new version.",
        "block_removed": "A block of governed memory was removed; its versions stay.",
    }
)

LIVE = "workspace = ? AND until IS NULL AND gone = 0"
"""SQL: the current version of a block."""
HEADLINES = ("Statement", "Title", "Name", "Excerpt", "Summary", "Text", "Description")


class Block(NamedTuple):
    """One version of a block. A tuple: thousands are read at once, and a frozen dataclass takes three
    times as long."""

    until: int | None
    id: str
    seq: int
    file: str
    status: str | None
    text: str
    origin: str
    cause: str | None
    agent: str | None
    ts_ms: int
    mark: str | None
    review_by: str | None
    gone: bool
    fields: dict[str, Value]

    @property
    def kind(self) -> Kind:
        return kind_of(self.id)

    @property
    def headline(self) -> str:
        return headline(self.fields)

    @property
    def tags(self) -> list[str]:
        return listed(self.fields.get("Tags"))

    @property
    def replaces(self) -> list[str]:
        """Ids of the blocks that this one replaces."""
        return [id for id in listed(self.fields.get("Supersedes")) if id.lower() not in ("none", "-")]

    @property
    def beside(self) -> list[str]:
        """Ids of blocks that this one appears to contradict but, according to its author, coexists with."""
        return listed(self.fields.get("HoldsBeside"))

    def get(self, name: str) -> str:
        """A field as one line, empty if the block does not have it."""
        return one_line(self.fields.get(name))


def current(
    ctx: Context,
    *,
    prefix: str | None = None,
    status: str | Iterable[str] | None = None,
    ids: Iterable[str] | None = None,
    file: str | None = None,
    field: str | None = None,
) -> list[Block]:
    """The current blocks, ordered by id; with `field`, those that have such a field.

    Archived and private blocks are left out, unless their ids or their file are given.
    """
    sql, params = f"SELECT * FROM block WHERE {LIVE}", [ctx.workspace]
    if ids is None and file is None:
        sql += f" AND {IN_USE}"
    # In SQLite the search for a field is case-insensitive.
    named = {"prefix = ?": prefix, "file = ?": file, "fields LIKE ?": f'%"{field}":%' if field else None}
    for condition, value in named.items():
        if value is not None:
            sql += f" AND {condition}"
            params.append(value)
    if status is not None:
        wanted = [status] if isinstance(status, str) else list(status)
        sql += f" AND status IN ({placeholders(len(wanted))})"
        params += wanted
    found = _sorted(ctx.tx.all(sql, *params)) if ids is None else _by_ids(ctx, sql, params, list(dict.fromkeys(ids)))
    return found if field is None else [block for block in found if field in block.fields]


def _sorted(rows: list[Row]) -> list[Block]:
    """Blocks by id. Sorted here: with ORDER BY, SQLite would scan all blocks of the workspace along the
    primary key."""
    return sorted((from_row(row) for row in rows), key=lambda block: block.id)


def _by_ids(ctx: Context, sql: str, params: list[Any], ids: list[str]) -> list[Block]:
    rows = [row for part in chunks(ids) for row in ctx.tx.all(_among(sql, part), *params, *part)]
    return _sorted(rows)


def _among(sql: str, ids: Sequence[str]) -> str:
    return f"{sql} AND id IN ({placeholders(len(ids))})"


def newest(ctx: Context, prefixes: Sequence[str], most: int, besides: Iterable[str] = ()) -> dict[str, list[Block]]:
    """The most recently written current blocks of each kind, plus those of `besides` that are of the
    kind, newest first."""
    sql = f"SELECT * FROM block WHERE {LIVE} AND prefix = ? AND {IN_USE}"
    asked = ctx.tx.batch(f"{sql} ORDER BY seq DESC LIMIT ?", [(ctx.workspace, prefix, most) for prefix in prefixes])
    found = {row["id"]: from_row(row) for rows in asked for row in rows}
    wanted = [id for id in besides if prefix_of(id) in prefixes and id not in found]
    # Named ones are included at any age: a search has found them, so they are relevant.
    found |= {block.id: block for block in (current(ctx, ids=wanted) if wanted else [])}
    ordered = sorted(found.values(), key=lambda block: (-block.seq, block.id))
    return {prefix: [block for block in ordered if prefix_of(block.id) == prefix] for prefix in prefixes}


def find(ctx: Context, id: str) -> Block | None:
    row = ctx.tx.one(f"SELECT * FROM block WHERE {LIVE} AND id = ?", ctx.workspace, id)
    return from_row(row) if row else None


def get(ctx: Context, id: str) -> Block:
    found = find(ctx, id)
    if found is None:
        way = suggest("recall", "Finds blocks by their words.", "medium", query=shorten(id, 200))
        raise unknown_id("block", id, "Look the id up in the file or with recall.", [way])
    return found


def history(ctx: Context, id: str, newest: int | None = None) -> list[Block]:
    """All versions or the newest few, oldest first; a removal is a version with `gone`."""
    limit = f"LIMIT {newest}" if newest is not None else ""
    sql = f"SELECT * FROM block WHERE workspace = ? AND id = ? ORDER BY seq DESC {limit}"
    return [from_row(row) for row in reversed(ctx.tx.all(sql, ctx.workspace, id))]


def last_versions(ctx: Context, ids: Sequence[str]) -> list[Block]:
    """The last version of each block, including removals."""
    return _by_ids(ctx, "SELECT * FROM block WHERE workspace = ? AND until IS NULL", [ctx.workspace], list(ids))


def versions_after(ctx: Context, seq: int, limit: int) -> list[Block]:
    """Versions of any block, in the order in which they were written."""
    sql = "SELECT * FROM block WHERE workspace = ? AND seq > ? ORDER BY seq LIMIT ?"
    return [from_row(row) for row in ctx.tx.all(sql, ctx.workspace, seq, limit)]


def count_versions(ctx: Context, id: str) -> int:
    return int(ctx.tx.value("SELECT count(*) FROM block WHERE workspace = ? AND id = ?", ctx.workspace, id))


def count_by_folder(ctx: Context) -> dict[str, int]:
    """The number of blocks in each folder that the seeds know, and in all others."""
    sql = (
        "SELECT CASE WHEN file LIKE 'decisions/%' THEN 'decisions' WHEN file LIKE 'tasks/%' THEN 'tasks'"
        " WHEN file LIKE 'entities/%' THEN 'entities' ELSE 'other' END AS folder, count(*) AS blocks"
        f" FROM block WHERE {LIVE} AND {IN_USE} GROUP BY 1 ORDER BY 1"
    )
    return {folder: int(count) for folder, count in ctx.tx.tuples(sql, ctx.workspace)}


def count(ctx: Context, prefix: str, status: Iterable[str] | None = None) -> int:
    sql = f"SELECT count(*) FROM block WHERE {LIVE} AND prefix = ? AND {IN_USE}"
    if status is None:
        return int(ctx.tx.value(sql, ctx.workspace, prefix))
    wanted = list(status)
    return int(ctx.tx.value(f"{sql} AND status IN ({placeholders(len(wanted))})", ctx.workspace, prefix, *wanted))


def count_in_file(ctx: Context, file: str) -> Counter[str]:
    """The number of blocks of any kind in a file, by status."""
    sql = f"SELECT status, count(*) FROM block WHERE {LIVE} AND file = ? GROUP BY status"
    return Counter({status or "": int(count) for status, count in ctx.tx.tuples(sql, ctx.workspace, file)})


def with_mark(ctx: Context, prefix: str, value: str) -> list[Block]:
    """Current blocks of a kind whose statement has this normal form (for proposals: this digest)."""
    sql = f"SELECT * FROM block WHERE {LIVE} AND mark = ? AND prefix = ?"
    # Proposals count in any file. Private notes of an agent do not make a statement known to others.
    sql = sql if prefix == "P" else f"{sql} AND {IN_USE}"
    return _sorted(ctx.tx.all(sql, ctx.workspace, value, prefix))


def locate(ctx: Context, ids: Iterable[str]) -> dict[str, tuple[str, int]]:
    """File and line (from 1) of current blocks."""
    return {id: (place.file, place.line + 1) for id, place in places.where(ctx, list(ids)).items()}


def dated_id(ctx: Context, prefix: str) -> str:
    """The next free `PREFIX-YYYYMMDD-NNN` of today. Numbers beyond 999 get a fourth digit."""
    day = day_of(ctx.now_ms).replace("-", "")
    suffix = id_suffix(ctx) if kind_of(f"{prefix}-{day}").is_durable else ""
    while True:
        # The next number may already be used in a file that was edited by hand, so the counter alone is not enough.
        id = f"{prefix}-{day}-{ctx.ws.count(f'{prefix}-{day}'):03d}{suffix}"
        if not _is_taken(ctx, id):
            return id


def _is_taken(ctx: Context, id: str) -> bool:
    """Whether a block has or had this id, or a proposal that Mind-Mem or another store has staged reserves it."""
    sql = (
        "SELECT 1 FROM block WHERE workspace = ? AND id = ?"
        " UNION ALL SELECT 1 FROM block WHERE workspace = ? AND prefix = 'P' AND until IS NULL AND gone = 0"
        " AND status IN ('staged', 'deferred') AND text LIKE ? LIMIT 1"
    )
    return ctx.tx.value(sql, ctx.workspace, id, ctx.workspace, f"%[{id}]%") is not None


def short_id(ctx: Context, prefix: str) -> str:
    """The next free `PREFIX-N`; in a repository with the suffix of this clone."""
    taken = "SELECT 1 FROM block WHERE workspace = ? AND id = ? LIMIT 1"
    while True:
        id = f"{prefix}-{ctx.ws.count(prefix)}{id_suffix(ctx)}"
        if ctx.tx.value(taken, ctx.workspace, id) is None:
            return id


def day_of(ts_ms: int) -> str:
    return datetime.fromtimestamp(ts_ms / 1000, UTC).strftime("%Y-%m-%d")


def write(
    ctx: Context,
    id: str,
    text: str,
    *,
    origin: str,
    cause: str | None = None,
    file: str | None = None,
    after: str | None = None,
) -> Block:
    """Write a new version of a block, or a new block at the end of its file (or after `after`)."""
    old = find(ctx, id)
    target = file or (old.file if old else kind_of(id).file)
    text = places.with_line_ends(ctx, target, text, old.text if old else "")
    # The same text in the same file is no new version, so nothing is added to history or files.
    if old is not None and (old.text, old.file) == (text, target):
        return old
    version = record(ctx, id, text, file=target, origin=origin, cause=cause)
    if old is not None and old.file == target:
        places.rewrite(ctx, id, text)
    else:
        if old is not None:
            # Removed from the old file before it is added to the new one: a block has only one place.
            places.remove(ctx, id)
        _stand(ctx, BlockText(id, text, places.with_line_ends(ctx, target, GAP)), target, after)
    ctx.emit("memory", "block_written", id, {"file": target, "origin": origin, "status": version.status})
    return version


def _stand(ctx: Context, standing: BlockText, file: str, after: str | None) -> None:
    if after is not None:
        places.insert_after(ctx, after, standing)
    else:
        places.append(ctx, file, [standing], preamble(file))


def add_all(ctx: Context, texts: Mapping[str, str], *, file: str, origin: str) -> list[Block]:
    """Append new blocks to a file, in order."""
    like = places.around(ctx, file)
    ended = {id: places.ended_like(like, text) for id, text in texts.items()}
    added = record_all(ctx, ended, file=file, origin=origin)
    gap = places.ended_like(like, GAP)
    places.append(ctx, file, [BlockText(block.id, block.text, gap) for block in added], preamble(file))
    for block in added:
        ctx.emit("memory", "block_written", block.id, {"file": file, "origin": origin, "status": block.status})
    return added


def remove(ctx: Context, id: str, *, origin: str, cause: str | None = None) -> None:
    """Write a version that marks the block as removed."""
    old = get(ctx, id)
    record_removals(ctx, [old], origin=origin, cause=cause)
    places.remove(ctx, id)
    ctx.emit("memory", "block_removed", id, {"file": old.file, "origin": origin})


def record(ctx: Context, id: str, text: str, *, file: str, origin: str, cause: str | None = None) -> Block:
    """Store and index a version. The caller updates the block's place in its file."""
    return record_all(ctx, {id: text}, file=file, origin=origin, cause=cause)[0]


def record_all(
    ctx: Context, texts: Mapping[str, str], *, file: str, origin: str, cause: str | None = None
) -> list[Block]:
    """Store and index versions of many blocks of one file, in few round trips."""
    parsed = {id: parse_block(text) for id, text in texts.items()}
    versions = [_version(ctx, id, texts[id], parsed[id], file, origin, cause) for id in texts]
    _store(ctx, versions, parsed)
    # In the same transaction as the version, so that the search index always matches the store.
    index_items(ctx.tx, ctx.workspace, [search_item(block) for block in versions if searchable(block)])
    unindex_items(ctx.tx, ctx.workspace, [block.id for block in versions if not searchable(block)])
    return versions


def _version(ctx: Context, id: str, text: str, parsed: ParsedBlock, file: str, origin: str, cause: str | None) -> Block:
    return Block(
        id=id,
        seq=ctx.ws.next_seq(),
        until=None,
        gone=False,
        file=file,
        status=one_line(parsed.fields.get("Status")) or None,
        text=text,
        fields=parsed.fields,
        origin=origin,
        cause=cause,
        agent=ctx.agent if origin != GIT else one_line(parsed.fields.get("Author")) or None,
        ts_ms=ctx.now_ms,
        mark=_mark(id, parsed),
        review_by=iso_date(parsed.fields.get("ReviewBy")),
    )


def record_removals(ctx: Context, old: Sequence[Block], *, origin: str, cause: str | None = None) -> list[Block]:
    """Store a removal version for each block."""
    gone = [_removed(ctx, block)._replace(origin=origin, cause=cause) for block in old]
    _store(ctx, gone, {})
    unindex_items(ctx.tx, ctx.workspace, [block.id for block in gone])
    return gone


def _removed(ctx: Context, block: Block) -> Block:
    gone = block._replace(until=None, seq=ctx.ws.next_seq(), mark=None, review_by=None, gone=True, fields={})
    return gone._replace(agent=ctx.agent, ts_ms=ctx.now_ms)


def _store(ctx: Context, versions: list[Block], parsed: Mapping[str, ParsedBlock]) -> None:
    close = "UPDATE block SET until = ? WHERE workspace = ? AND id = ? AND until IS NULL"
    # Closed first: the statement closes the open version, and the new ones are about to be opened.
    ctx.tx.many(close, [(block.seq, ctx.workspace, block.id) for block in versions])
    insert = f"INSERT INTO block ({', '.join(_COLUMNS)}) VALUES ({placeholders(len(_COLUMNS))})"
    ctx.tx.many(insert, [_row(ctx, block, parsed.get(block.id)) for block in versions])


_COLUMNS = ("workspace", "prefix", "problems", *Block._fields[1:])
"""All columns but `until`, which a later version sets."""


def _row(ctx: Context, block: Block, parsed: ParsedBlock | None) -> tuple[Any, ...]:
    problems = orjson.dumps(parsed.problems).decode() if parsed and parsed.problems else None
    *plain, gone, fields = block[1:]
    return (ctx.workspace, prefix_of(block.id), problems, *plain, int(gone), orjson.dumps(fields).decode())


_plain_columns = itemgetter(*Block._fields[:-2])


def from_row(row: Row) -> Block:
    return Block._make((*_plain_columns(row), bool(row["gone"]), orjson.loads(row["fields"])))


def _mark(id: str, parsed: ParsedBlock) -> str | None:
    if prefix_of(id) == "P":
        return one_line(parsed.fields.get("Digest") or parsed.fields.get("Fingerprint")) or None
    said = headline(parsed.fields)
    return mark(said) if said else None


def headline(fields: dict[str, Value]) -> str:
    """The statement of the block, on one line."""
    return next((one_line(fields[name]) for name in HEADLINES if fields.get(name)), "")


def standing(id: str, text: str, gap: str) -> BlockText:
    """A block with its text and the gap after it in a file, and the problems found in the gap."""
    return BlockText(id, text, gap, tuple(gap_problems(gap)))


def turns(ctx: Context, ids: Iterable[str]) -> dict[str, str]:
    """Blocks of a conversation -> the turn (`DiaID`) that each represents."""
    wanted = [id for id in ids if prefix_of(id) in TALK]
    found = current(ctx, ids=wanted) if wanted else []
    return {block.id: block.get("DiaID") for block in found if block.get("DiaID")}


def overdue(ctx: Context, ids: list[str] | None = None) -> dict[str, str]:
    """Blocks past their review date, with that date; recall labels them."""
    sql = f"SELECT id, status, review_by FROM block WHERE {LIVE} AND review_by IS NOT NULL AND review_by < ?"
    key = (ctx.workspace, day_of(ctx.now_ms))
    if ids is None:
        rows = ctx.tx.tuples(f"{sql} AND {IN_USE}", *key)
    else:
        rows = [row for part in chunks(ids) for row in ctx.tx.tuples(_among(sql, part), *key, *part)]
    return {id: date for id, status, date in sorted(rows) if is_overdue(id, status, date, key[1])}


def is_overdue(id: str, status: str | None, review_by: str | None, today: str) -> bool:
    # A decision that no longer holds needs no review.
    return review_by is not None and review_by < today and (not status or status in kind_of(id).live)
