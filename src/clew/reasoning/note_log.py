"""The log of a branch's notes: what stands in it, where its head is, and what a reset hides from it.

Nothing is ever removed. A reset hides a stretch of the log, from the entry it goes back to up to that moment; notes
written afterwards follow on. Going back to a hidden entry shows the log again as it was when that entry was the newest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from clew.clock import rfc3339
from clew.errors import ClewError, suggest, unknown_id
from clew.ids import DOC_ENTRY, check_name
from clew.reasoning.branches import END, Branch, branch_by_id, chain, checked_out, find_branch
from clew.reasoning.documents import NOTES, branch_name
from clew.registry.context import Context
from clew.store.database import Row


@dataclass(frozen=True, slots=True)
class LogPoint:
    """A place in a log: the branch whose log is meant, and the entry; None is the log's head."""

    branch: Branch
    seq: int | None


def log_entries(
    ctx: Context, branch: Branch, doc: str, limit: int, at: int | None = None, before: int | None = None
) -> list[Row]:
    """The notes of the log newest first, from the entry `at` on, only those before seq `before`."""
    last = min([END if at is None else at, *([] if before is None else [before - 1])])
    hidden = list(_cuts(ctx, branch, doc, min(value for value in (END, at, before) if value is not None)))
    rows: list[Row] = []
    stretches = [(link.branch, *part) for link in chain(ctx, branch, last) for part in _shown(hidden, link.cutoff)]
    for number, low, high in stretches:
        if len(rows) >= limit:
            break
        rows += ctx.tx.all(
            "SELECT * FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND kind = 'note' AND seq > ?"
            " AND seq <= ? ORDER BY seq DESC LIMIT ?",
            ctx.workspace,
            number,
            doc,
            low,
            high,
            limit - len(rows),
        )
    return rows


def _cuts(ctx: Context, branch: Branch, doc: str, at: int) -> Iterator[tuple[int, int]]:
    """The stretches that were hidden when the entry `at` was written, newest first.

    The last reset before it hid one; what was hidden in the log that this reset went back to, is hidden still.
    """
    rows = ctx.tx.all(
        "SELECT low, high FROM log_cut WHERE workspace = ? AND branch = ? AND doc = ? AND high < ? ORDER BY high DESC",
        ctx.workspace,
        branch.id,
        doc,
        at,
    )
    for row in rows:
        if row["high"] < at:
            yield row["low"], row["high"]
            at = row["low"]


def _shown(hidden: list[tuple[int, int]], high: int) -> Iterator[tuple[int, int]]:
    """What the cuts leave of the seqs up to `high`, newest stretch first."""
    for low, end in hidden:
        if end < high:
            yield end, high
        high = min(high, low)
    yield 0, high


def head(ctx: Context, branch: Branch, doc: str = NOTES) -> int | None:
    rows = log_entries(ctx, branch, doc, 1)
    return rows[0]["seq"] if rows else None


def visible(ctx: Context, branch: Branch, doc: str, seq: int) -> bool:
    """Whether a branch shows the note with this seq, hidden by a reset or not."""
    row = ctx.tx.one("SELECT * FROM entry WHERE workspace = ? AND seq = ?", ctx.workspace, seq)
    if row is None or row["doc"] != doc or row["kind"] != "note":
        return False
    return any(link.branch == row["branch"] and seq <= link.cutoff for link in chain(ctx, branch))


def rewind(ctx: Context, branch: Branch, doc: str, seq: int) -> None:
    """Make `seq` the head: everything written since is hidden from the log."""
    ctx.tx.run(
        "INSERT INTO log_cut (workspace, branch, doc, low, high) VALUES (?, ?, ?, ?, ?)",
        ctx.workspace,
        branch.id,
        doc,
        seq,
        ctx.ws.seq,
    )


def move(ctx: Context, branch: Branch, doc: str, old: int | None, new: int, message: str) -> None:
    """Write the movement of a head into the reflog."""
    ctx.tx.run(
        "INSERT INTO reflog (workspace, seq, branch, doc, old_seq, new_seq, message, ts_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ctx.workspace,
        ctx.ws.next_seq(),
        branch.id,
        doc,
        old,
        new,
        message,
        ctx.now_ms,
    )


def resolve_ref(ctx: Context, ref: str | None, field: str = "ref") -> LogPoint:
    """A place named by a branch, a tag, a seq or `notes@<seq>`; the head of the checkout when nothing is named."""
    if ref is None:
        return LogPoint(checked_out(ctx), None)
    name = check_name(ref, field)
    branch = find_branch(ctx, name)
    if branch is not None:
        return LogPoint(branch, None)
    tag = ctx.tx.one(
        "SELECT note_tag.* FROM note_tag JOIN branch ON branch.workspace = note_tag.workspace"
        " AND branch.id = note_tag.branch WHERE note_tag.workspace = ? AND note_tag.name = ?"
        " AND branch.deleted_at_ms IS NULL",
        ctx.workspace,
        name,
    )
    if tag is not None:
        return LogPoint(branch_by_id(ctx, tag["branch"]), tag["seq"])
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
    """The entry at a place; an empty log has none."""
    seq = point.seq if point.seq is not None else head(ctx, point.branch)
    if seq is None:
        raise ClewError(
            "INVALID_INPUT",
            f"{field}: branch {point.branch.name} has no notes yet",
            "Write a note first.",
            [{"kind": "state", "field": field}],
            [suggest("commit", "Writes a first note.", artifact="First note.", message="Start")],
        )
    return seq


def commit_json(ctx: Context, row: Row) -> dict[str, Any]:
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
