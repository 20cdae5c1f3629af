"""Copying notes from one branch into another, each at most once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.errors import ClewError, suggest
from clew.ids import check_name
from clew.reasoning.branches import Branch, Link, branch_by_id, branch_named, chain, checked_out
from clew.reasoning.documents import NOTES, Range, append, difference
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation
from clew.registry.paging import page_json
from clew.store.database import Row

PAGE = 200


class Merge(Input):
    from_: Annotated[Name, Field(alias="from", description="Branch to take notes from.")]
    into: Annotated[Name | None, Field(description="Branch to copy into; default: the base of from.")] = None
    doc: Annotated[Name, Field(description="Document to merge.")] = NOTES
    cursor: Annotated[int | None, Field(ge=0, le=2**53 - 1, description="next_cursor of the call before.")] = None
    limit: Annotated[int, Field(ge=1, le=PAGE, description="Most notes to copy in this call.")] = PAGE
    dry_run: Annotated[bool, Field(description="Only count; write nothing.")] = False
    merge_to_base: Annotated[bool, Field(description="Merge into the base of from.")] = False


@operation("merge", writes=True, idempotent=True, example={"from": "what-if"})
def merge(ctx: Context, args: Merge) -> dict[str, Any]:
    """Copy the notes of a branch into another; repeating it copies nothing twice."""
    source = branch_named(ctx, args.from_, "from")
    into = destination(ctx, source, args.into, args.merge_to_base)
    doc = check_name(args.doc, "doc")
    view = chain(ctx, into)
    notes, has_more = _candidates(ctx, difference(chain(ctx, source), view), doc, args.cursor, args.limit)
    fresh = _once(row for row in notes if not _merged_before(ctx, view, doc, origin(row)))
    if not args.dry_run:
        for row in fresh:
            _copy(ctx, row, source, into, doc)
        if fresh:
            payload = {"from": source.name, "into": into.name, "doc": doc, "merged": len(fresh)}
            ctx.emit("reasoning", "notes_merged", into.name, payload)
    return {
        "workspace": ctx.workspace,
        "from": source.name,
        "into": into.name,
        "doc": doc,
        "merged": len(fresh),
        "skipped": len(notes) - len(fresh),
        "pagination": page_json(args.cursor, args.limit, len(notes), notes[-1]["seq"] if has_more else None),
    }


def destination(ctx: Context, source: Branch, into: str | None, to_base: bool) -> Branch:
    """Where a merge goes: the branch named, else the base, else the checkout."""
    base = branch_by_id(ctx, source.base_id) if source.base_id is not None else None
    chosen = branch_named(ctx, into, "into") if into is not None else base or checked_out(ctx)
    if to_base and base is None:
        raise _refused(f"branch {source.name} has no base to merge into", "merge_to_base")
    if to_base and base is not None and chosen.id != base.id:
        raise _refused(f"merge_to_base means {base.name}, but into says {chosen.name}", "into")
    if chosen.id == source.id:
        raise _refused(f"branch {source.name} cannot be merged into itself", "into")
    return chosen


def origin(row: Row) -> str:
    """The key of a note for good: a copy of a copy keeps the first one's."""
    key = row["source"] or ""
    return key if key.startswith("merge:") else f"merge:{row['seq']}"


def _once(rows: Iterable[Row]) -> list[Row]:
    """Of several copies of one note the first."""
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(origin(row), row)
    return list(found.values())


def _candidates(ctx: Context, ranges: list[Range], doc: str, cursor: int | None, limit: int) -> tuple[list[Row], bool]:
    """Notes in the order they were written, so that the copies keep it."""
    rows: list[Row] = []
    for span in reversed(ranges):
        rows += ctx.tx.all(
            "SELECT * FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND kind = 'note'"
            " AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
            ctx.workspace,
            span.branch,
            doc,
            max(span.low, cursor or 0),
            span.high,
            limit + 1 - len(rows),
        )
    return rows[:limit], len(rows) > limit


def _merged_before(ctx: Context, view: list[Link], doc: str, key: str) -> bool:
    """Whether the destination shows the note already: as a copy, or because it was written there in the first place."""
    sql = (
        "SELECT 1 FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND seq <= ? AND (source = ? OR seq = ?)"
        " LIMIT 1"
    )
    first = int(key.removeprefix("merge:"))
    return any(ctx.tx.value(sql, ctx.workspace, link.branch, doc, link.cutoff, key, first) is not None for link in view)


def _copy(ctx: Context, row: Row, source: Branch, into: Branch, doc: str) -> None:
    meta = orjson.loads(row["meta"]) if row["meta"] else {}
    append(
        ctx,
        into.id,
        doc,
        content=row["content"],
        title=row["title"],
        format=row["format"],
        meta={**meta, "_merge": {"from": source.name, "seq": row["seq"]}},
        source=origin(row),
    )


def _refused(message: str, field: str) -> ClewError:
    return ClewError(
        "INVALID_INPUT",
        message,
        "Name another branch in into.",
        [{"kind": "value", "field": field}],
        [suggest("branch_list", "Shows the branches and their bases.")],
    )
