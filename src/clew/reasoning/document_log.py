"""The log of a document: which entries a branch shows, the position of its head, and how a ref is resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import orjson

from clew.canonical import Json
from clew.clock import rfc3339
from clew.errors import ClewError, suggest, unknown_id
from clew.ids import DOC_ENTRY, check_name
from clew.reasoning.branches import END, Branch, branch_by_id, chain, checked_out, find_branch
from clew.reasoning.documents import NOTES, branch_name
from clew.registry.context import Context
from clew.store.database import Row
from clew.store.rows import TableRow, first, insert, select


@dataclass(frozen=True, slots=True)
class LogPoint:
    """A position in a log: a branch and the seq of an entry; None means the head of the log."""

    branch: Branch
    seq: int | None


@dataclass(frozen=True, slots=True)
class NoteTag(TableRow):
    TABLE: ClassVar[str] = "note_tag"
    KEY: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    branch: int
    doc: str
    seq: int
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class HeadMove(TableRow):
    """An entry of the reflog."""

    TABLE: ClassVar[str] = "reflog"
    KEY: ClassVar[tuple[str, ...]] = ("seq",)

    seq: int
    branch: int
    doc: str
    old_seq: int | None
    new_seq: int
    message: str
    ts_ms: int


@dataclass(frozen=True, slots=True)
class LogCut(TableRow):
    """A reset: it hides the entries above `low` up to `high`."""

    TABLE: ClassVar[str] = "log_cut"
    KEY: ClassVar[tuple[str, ...]] = ("branch", "doc", "high")

    branch: int
    doc: str
    low: int
    high: int


def log_entries(
    ctx: Context, branch: Branch, doc: str, limit: int, at: int | None = None, before: int | None = None
) -> list[Row]:
    """The notes of a log, newest first, starting at the entry `at`, only those before seq `before`."""
    # A branch shows its own entries and, up to its cutoff, those of its bases; resets hide ranges of seqs in all of
    # them. Both are known before anything is read, so a page costs one short query for each visible range.
    # `before` is exclusive and `at` inclusive; combined into one upper bound, the database seeks once.
    last = min([END if at is None else at, *([] if before is None else [before - 1])])
    hidden = list(_cuts(ctx, branch, doc, min(value for value in (END, at, before) if value is not None)))
    rows: list[Row] = []
    stretches = [
        (link.branch, *part) for link in chain(ctx, branch, last) for part in _visible_ranges(hidden, link.cutoff)
    ]
    for number, low, high in stretches:
        if len(rows) >= limit:
            break
        sql = (
            "SELECT * FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND kind = 'note' AND seq > ?"
            " AND seq <= ? ORDER BY seq DESC LIMIT ?"
        )
        rows += ctx.tx.all(sql, ctx.workspace, number, doc, low, high, limit - len(rows))
    return rows


def _cuts(ctx: Context, branch: Branch, doc: str, at: int) -> Iterator[tuple[int, int]]:
    """The ranges that were hidden when the entry `at` was written, newest first.

    The last reset before it hid one range. Ranges hidden in the log to which that reset went back stay hidden.
    """
    where = "branch = ? AND doc = ? AND high < ? ORDER BY high DESC"
    for cut in select(ctx.tx, ctx.workspace, LogCut, where, branch.id, doc, at):
        # Below `low` the log is the one to which this reset went back. A reset inside of the hidden range was undone
        # by it and no longer counts.
        if cut.high < at:
            yield cut.low, cut.high
            at = cut.low


def _visible_ranges(hidden: list[tuple[int, int]], high: int) -> Iterator[tuple[int, int]]:
    """The ranges of seqs up to `high` that are not hidden, newest first."""
    for low, end in hidden:
        if end < high:
            yield end, high
        high = min(high, low)
    yield 0, high


def head(ctx: Context, branch: Branch, doc: str = NOTES) -> int | None:
    rows = log_entries(ctx, branch, doc, 1)
    return rows[0]["seq"] if rows else None


def visible(ctx: Context, branch: Branch, doc: str, seq: int) -> bool:
    """Whether a note belongs to a branch's view, even if a reset hides it."""
    row = ctx.tx.one("SELECT * FROM entry WHERE workspace = ? AND seq = ?", ctx.workspace, seq)
    if row is None or row["doc"] != doc or row["kind"] != "note":
        return False
    return any(link.branch == row["branch"] and seq <= link.cutoff for link in chain(ctx, branch))


def rewind(ctx: Context, branch: Branch, doc: str, seq: int) -> None:
    """Make `seq` the head, by hiding everything written since."""
    # Up to now: notes written after the reset have higher seqs and stay visible.
    insert(ctx.tx, ctx.workspace, LogCut(branch.id, doc, low=seq, high=ctx.ws.seq))


def move(ctx: Context, branch: Branch, doc: str, old: int | None, new: int, message: str) -> None:
    """Record the movement of a head in the reflog."""
    seq = ctx.ws.next_seq()
    moved = HeadMove(seq, branch.id, doc, old_seq=old, new_seq=new, message=message, ts_ms=ctx.now_ms)
    insert(ctx.tx, ctx.workspace, moved)


def resolve_ref(ctx: Context, ref: str | None, field: str = "ref") -> LogPoint:
    """The position that a branch, a tag, a seq or `notes@<seq>` names; without a ref, the head of the checkout."""
    if ref is None:
        return LogPoint(checked_out(ctx), None)
    name = check_name(ref, field)
    # A branch takes precedence over a tag of the same name, and a name over a number.
    branch = find_branch(ctx, name)
    if branch is not None:
        return LogPoint(branch, None)
    tag = tag_named(ctx, name)
    if tag is not None:
        return LogPoint(branch_by_id(ctx, tag.branch), tag.seq)
    seq = _number(name)
    if seq is not None and visible(ctx, checked_out(ctx), NOTES, seq):
        return LogPoint(checked_out(ctx), seq)
    raise unknown_id(
        "reference",
        name,
        "Name a branch, a tag, or the seq of a note on the checked-out branch.",
        [suggest("log", "Shows the notes and their seqs."), suggest("tag_list", "Shows the tags.", "medium")],
    )


def _number(name: str) -> int | None:
    match = DOC_ENTRY.fullmatch(name)
    digits = match.group(2) if match and match.group(1) == NOTES else name
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


def point_seq(ctx: Context, point: LogPoint, field: str) -> int:
    """The seq of the entry at a position; refused for an empty log."""
    seq = point.seq if point.seq is not None else head(ctx, point.branch)
    if seq is None:
        message = f"{field}: branch {point.branch.name} has no notes yet"
        hints = [{"kind": "state", "field": field}]
        ways = [suggest("commit", "Writes a first note.", artifact="First note.", message="Start")]
        raise ClewError("INVALID_INPUT", message, "Write a note first.", hints, ways)
    return seq


def commit_json(ctx: Context, row: Row) -> Json:
    return {
        "seq": row["seq"],
        "ts": rfc3339(row["ts_ms"]),
        "ts_ms": row["ts_ms"],
        "branch": branch_name(ctx, row["branch"]),
        "doc": row["doc"],
        "message": row["title"],
        "artifact": row["content"],
        "format": row["format"],
        "meta": orjson.loads(row["meta"]) if row["meta"] else None,
    }


SHOW_TAGS = suggest("tag_list", "Shows the tags.")


def tag_named(ctx: Context, name: str) -> NoteTag | None:
    """The tag of that name; one on a deleted branch no longer exists, as in `tag_list`."""
    on_branch = "branch.workspace = note_tag.workspace AND branch.id = note_tag.branch"
    kept = f"EXISTS (SELECT 1 FROM branch WHERE {on_branch} AND branch.deleted_at_ms IS NULL)"
    return first(ctx.tx, ctx.workspace, NoteTag, f"name = ? AND {kept}", name)
