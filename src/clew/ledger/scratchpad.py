"""The scratchpad: notes by topic that agents share while they work."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from clew.errors import invalid
from clew.ids import CHAIN
from clew.ledger.finding import items_holding
from clew.ledger.garden import Note, find_note, note_named, remove, write_note
from clew.ledger.inputs import Id, LedgerBounded, LedgerInput, Words
from clew.ledger.titles import slug
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import Text, Title, operation

LIST_BUDGET = Budget(
    (
        Trim("notes", drop="last", floor=1, count="count", more="hasMore"),
        Trim("notes", drop="last", count="count", more="hasMore"),
    ),
    16_000,
    keep=("total",),
)
SEARCHED = 500
MOST_CONTENT = 1_000_000


class WriteScratchpad(LedgerInput):
    id: Annotated[Id | None, Field(description="Topic slug; default: made from the title.")] = None
    title: Annotated[Title | None, Field(description="Title; needed for a new note.")] = None
    content: Annotated[Text, Field(description="The note in Markdown.")]
    append: Annotated[bool, Field(description="Add to what stands there instead of replacing it.")] = False


@operation(
    "knowledge_write_scratchpad",
    aliases=("knowledge.write_scratchpad",),
    writes=True,
    example={"title": "Search latency", "content": "Ask the DBA about autovacuum."},
)
def knowledge_write_scratchpad(ctx: Context, args: WriteScratchpad) -> dict[str, Any]:
    """Write a scratchpad note, or add to one; what it said before stays stored."""
    key = args.id or slug(args.title or "")
    if not CHAIN.fullmatch(key):
        raise invalid("id", "is not a slug, and none can be made from the title", "Give id or title.", kind="pattern")
    before = find_note(ctx, key)
    if before is None:
        note = Note(key, args.title or key, args.content, ctx.now_ms, ctx.now_ms)
    else:
        content = f"{before.content.rstrip()}\n\n{args.content}" if args.append else args.content
        note = replace(before, title=args.title or before.title, content=content, updated_at_ms=ctx.now_ms)
    if len(note.content) > MOST_CONTENT:
        raise invalid("content", f"the note would be longer than {MOST_CONTENT} characters", "Start another note.")
    return {"note": write_note(ctx, note).to_dict()}


class ReadScratchpad(LedgerInput):
    id: Annotated[Id, Field(description="Topic slug.")]


@operation("knowledge_read_scratchpad", aliases=("knowledge.read_scratchpad",), example={"id": "search-latency"})
def knowledge_read_scratchpad(ctx: Context, args: ReadScratchpad) -> dict[str, Any]:
    """Show a scratchpad note."""
    return {"note": note_named(ctx, args.id).to_dict()}


class ListScratchpad(LedgerBounded):
    search: Annotated[Words | None, Field(description="Words of the note; the best match comes first.")] = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


@operation("knowledge_list_scratchpad", aliases=("knowledge.list_scratchpad",), budget=LIST_BUDGET)
def knowledge_list_scratchpad(ctx: Context, args: ListScratchpad) -> dict[str, Any]:
    """List scratchpad notes, the last written first, without their content."""
    found = _notes(ctx, args.search)
    shown = found[args.offset : args.offset + args.limit]
    return {
        "notes": [note.to_dict(full=False) for note in shown],
        "count": len(shown),
        "total": len(found),
        "hasMore": len(found) > args.offset + len(shown),
    }


def _notes(ctx: Context, search: str | None) -> list[Note]:
    if search and search.strip():
        items = items_holding(ctx, search, SEARCHED, "note")
        keys = [item["ref"].removeprefix("scratchpad:") for item in items if item["kind"] == "scratchpad"]
    else:
        rows = ctx.tx.all(
            "SELECT id FROM scratchpad WHERE workspace = ? ORDER BY updated_at_ms DESC, id", ctx.workspace
        )
        keys = [row["id"] for row in rows]
    found = (find_note(ctx, key) for key in keys)
    return [note for note in found if note is not None]


class DeleteScratchpad(LedgerInput):
    id: Annotated[Id, Field(description="Topic slug.")]


@operation(
    "knowledge_delete_scratchpad",
    aliases=("knowledge.delete_scratchpad",),
    writes=True,
    destructive=True,
    example={"id": "search-latency"},
)
def knowledge_delete_scratchpad(ctx: Context, args: DeleteScratchpad) -> dict[str, Any]:
    """Remove a scratchpad note; its last version stays stored."""
    remove(ctx, "scratchpad", note_named(ctx, args.id))
    return {"id": args.id, "deleted": True}
