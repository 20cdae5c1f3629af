"""Documents: append-only logs addressed by branch and name. Append entries, and read them from the newest backwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from clew.canonical import Json, canonical_or_none
from clew.clock import rfc3339
from clew.index.items import Item, index_item, index_items
from clew.reasoning.branches import Branch, BranchPart, branch_by_id, chain
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.store.database import Row, placeholders

NOTES, GRAPH, TRACE = "notes", "graph", "trace"


@dataclass(frozen=True, slots=True)
class Range:
    """Entries of one branch with `low < seq <= high`."""

    branch: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class LogSlice:
    """Some entries, oldest first, and whether there are older ones."""

    entries: list[Row]
    has_more: bool

    def page(self, cursor: int | None, limit: int) -> Json:
        next_cursor = self.entries[0]["seq"] if self.has_more and self.entries else None
        return page_json(cursor, limit, len(self.entries), next_cursor)


def append(
    ctx: Context,
    branch: int,
    doc: str,
    *,
    content: str | None,
    kind: str = "note",
    doc_kind: str = NOTES,
    title: str | None = None,
    format: str | None = None,
    meta: Json | None = None,
    source: str | None = None,
    event_type: str | None = None,
    subject: str | None = None,
    path: str | None = None,
    item_source: str | None = "note",
) -> Row:
    """Append an entry; with `item_source` it also gets a search item of that source."""
    touch_document(ctx, branch, doc, doc_kind)
    row: Row = {
        "workspace": ctx.workspace,
        "seq": ctx.ws.next_seq(),
        "branch": branch,
        "doc": doc,
        "kind": kind,
        "ts_ms": ctx.now_ms,
        "title": title,
        "format": format,
        "meta": canonical_or_none(meta),
        "content": content,
        "source": source,
        "event_type": event_type,
        "subject": subject,
        "path": path,
        "agent": ctx.agent,
    }
    columns = ", ".join(row)
    ctx.tx.run(f"INSERT INTO entry ({columns}) VALUES ({', '.join('?' * len(row))})", *row.values())
    if item_source is not None:
        index_item(ctx.tx, ctx.workspace, entry_item(row, item_source))
    return row


def insert_entries(ctx: Context, rows: Sequence[Row]) -> None:
    """Store entries with their existing numbers; notes are indexed for search."""
    for first in rows[:1]:
        sql = f"INSERT INTO entry ({', '.join(first)}, workspace) VALUES ({placeholders(len(first) + 1)})"
        ctx.tx.many(sql, [(*row.values(), ctx.workspace) for row in rows])
    index_items(ctx.tx, ctx.workspace, [entry_item(row, "note") for row in rows if row["kind"] == "note"])


def insert_documents(ctx: Context, rows: Sequence[tuple[int, str, str, int, int]]) -> None:
    """Insert documents as (branch, name, kind, created, updated); existing ones are not changed."""
    sql = (
        "INSERT INTO document (workspace, branch, doc, kind, created_at_ms, updated_at_ms) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (workspace, branch, doc) DO NOTHING"
    )
    ctx.tx.many(sql, [(ctx.workspace, *row) for row in rows])


def touch_document(ctx: Context, branch: int, doc: str, kind: str) -> None:
    """Create or touch the document. Once per transaction is enough, because a transaction has one timestamp."""
    if ("document", branch, doc) in ctx.memo:
        return
    ctx.memo["document", branch, doc] = True
    sql = (
        "INSERT INTO document (workspace, branch, doc, kind, created_at_ms, updated_at_ms) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (workspace, branch, doc) DO UPDATE SET updated_at_ms = excluded.updated_at_ms"
    )
    ctx.tx.run(sql, ctx.workspace, branch, doc, kind, ctx.now_ms, ctx.now_ms)


def has_entries(ctx: Context, branch: int, doc: str) -> bool:
    """Whether the document has entries on this branch itself, not on its bases."""
    sql = "SELECT 1 FROM entry WHERE workspace = ? AND branch = ? AND doc = ? LIMIT 1"
    return ctx.tx.value(sql, ctx.workspace, branch, doc) is not None


def last_titled(ctx: Context, branch: int, doc: str, title: str) -> str | None:
    """The content of the newest entry with this title."""
    sql = (
        "SELECT content FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND title = ?"
        " ORDER BY seq DESC LIMIT 1"
    )
    content = ctx.tx.value(sql, ctx.workspace, branch, doc, title)
    return None if content is None else str(content)


def noted_about(ctx: Context, branch: int, doc: str, subject: str, path: str, limit: int) -> list[str]:
    """The notes about one path of a subject, newest first."""
    sql = (
        "SELECT content FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND subject = ? AND path = ?"
        " AND event_type IS NULL AND title IS NULL AND content IS NOT NULL ORDER BY seq DESC LIMIT ?"
    )
    return [str(row["content"]) for row in ctx.tx.all(sql, ctx.workspace, branch, doc, subject, path, limit)]


def noted_by_path(ctx: Context, branch: int, doc: str, subject: str, limit: int) -> dict[str, list[Row]]:
    """The newest notes about a subject by path, each with its author and time."""
    sql = (
        "SELECT path, content, agent, ts_ms FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND subject = ?"
        " AND path IS NOT NULL AND event_type IS NULL AND title IS NULL AND content IS NOT NULL"
        " ORDER BY seq DESC LIMIT ?"
    )
    found: dict[str, list[Row]] = {}
    for row in ctx.tx.all(sql, ctx.workspace, branch, doc, subject, limit):
        found.setdefault(row["path"], []).append({"text": row["content"], "by": row["agent"], "ts_ms": row["ts_ms"]})
    return found


def last_event_seq(ctx: Context, branch: int, doc: str, path: str, types: tuple[str, ...]) -> int:
    """The seq of the newest event of these types about a path; 0 if there is none."""
    sql = (
        "SELECT max(seq) FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND path = ?"
        f" AND event_type IN ({placeholders(len(types))})"
    )
    return int(ctx.tx.value(sql, ctx.workspace, branch, doc, path, *types) or 0)


def entry_item(row: Row, source: str) -> Item:
    """The search item of an entry."""
    named = {name: row[name] for name in ("seq", "ts_ms", "title", "branch", "doc")}
    ref = f"{row['doc']}@{row['seq']}"
    return Item(ref=ref, source=source, kind=row["format"], body=row["content"], **named)


ENTRY_OF_THOUGHT = " JOIN entry ON entry.workspace = thought.workspace AND entry.seq = thought.seq"


def view(ctx: Context, branch: Branch, as_of: int | None = None) -> list[Range]:
    """The ranges that a branch shows, newest first."""
    return [Range(link.branch, 0, link.cutoff) for link in chain(ctx, branch, as_of)]


def difference(shown: list[BranchPart], hidden: list[BranchPart]) -> list[Range]:
    """The ranges of one view that another view does not show, newest first."""
    # A branch that both views have is hidden up to the other view's cutoff.
    known = {link.branch: link.cutoff for link in hidden}
    ranges = [Range(link.branch, known.get(link.branch, 0), link.cutoff) for link in shown]
    return [span for span in ranges if span.low < span.high]


def tail(ctx: Context, ranges: list[Range], doc: str, cursor: int | None, limit: int) -> LogSlice:
    """The newest `limit` entries before `cursor`, oldest first; none for a limit of 0."""
    if limit <= 0:
        return LogSlice([], False)
    rows: list[Row] = []
    for span in ranges:
        high = span.high if cursor is None else min(span.high, cursor - 1)
        # Ranges are newest first and never overlap, so later ones are read only as far as room is left.
        rows += newest_entries(ctx, Range(span.branch, span.low, high), doc, limit + 1 - len(rows))
        if len(rows) > limit:
            break
    return LogSlice(rows[:limit][::-1], len(rows) > limit)


def newest_entries(ctx: Context, span: Range, doc: str, limit: int) -> list[Row]:
    """The newest entries of one branch within a range, newest first."""
    sql = (
        "SELECT * FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND seq > ? AND seq <= ?"
        " ORDER BY seq DESC LIMIT ?"
    )
    return ctx.tx.all(sql, ctx.workspace, span.branch, doc, span.low, span.high, limit)


def entry_json(ctx: Context, row: Row, names: dict[int, str] | None = None) -> Json:
    """An entry as JSON."""
    shared = {
        "seq": row["seq"],
        "ts": rfc3339(row["ts_ms"]),
        "ts_ms": row["ts_ms"],
        "branch": branch_name(ctx, row["branch"], names),
        "doc": row["doc"],
        "kind": row["kind"],
    }
    if row["kind"] == "event" and row["source"] is None:
        return {**shared, "event_type": row["event_type"], "key": row["subject"]}  # a change of the graph itself
    if row["kind"] == "event":
        about = {"event_type": row["event_type"], "task_id": row["subject"], "path": row["path"]}
        return {**shared, "event_id": row["source"], **about}
    meta = orjson.loads(row["meta"]) if row["meta"] else None
    return {**shared, "title": row["title"], "format": row["format"], "meta": meta, "content": row["content"]}


def entries_json(ctx: Context, rows: list[Row]) -> list[Json]:
    names: dict[int, str] = {}
    return [entry_json(ctx, row, names) for row in rows]


def branch_name(ctx: Context, number: int, names: dict[int, str] | None = None) -> str:
    if names is None:
        return branch_by_id(ctx, number).name
    if number not in names:
        names[number] = branch_by_id(ctx, number).name
    return names[number]
