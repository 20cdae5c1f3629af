"""Patterns and scratchpad notes in the store. Each write also writes a search item, an event and the old version."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from clew.canonical import Json, canonical, without_none
from clew.clock import iso_millis
from clew.errors import ClewError, invalid, suggest, unknown_id
from clew.ids import CHAIN
from clew.index.items import Item, index_item, unindex_item
from clew.ledger.inputs import slug
from clew.ledger.sessions import escaped
from clew.registry.context import Context
from clew.store.rows import TableRow, delete, find, select, upsert
from clew.store.workspaces import declare_events

declare_events(
    {
        "pattern_created": "A pattern was added to the knowledge zone.",
        "pattern_updated": "A pattern of the knowledge zone was changed.",
        "pattern_deleted": "A pattern was removed; its last version stays stored.",
        "scratchpad_written": "A scratchpad note was written.",
        "scratchpad_deleted": "A scratchpad note was removed; its last version stays stored.",
    }
)


@dataclass(frozen=True)
class Pattern(TableRow):
    TABLE: ClassVar[str] = "pattern"
    LISTS: ClassVar[frozenset[str]] = frozenset({"tags", "sessions"})

    id: str
    title: str
    description: str
    content: str
    tags: tuple[str, ...]
    sessions: tuple[str, ...]
    created_by: str | None
    created_at_ms: int
    updated_at_ms: int

    def to_dict(self, full: bool = True) -> Json:
        shown: Json = {
            "id": self.id,
            "title": self.title,
            "description": self.description,
            "tags": list(self.tags),
            "content": self.content if full else None,
            "derivedFromSessions": list(self.sessions),
            "createdBy": self.created_by,
            "createdAt": iso_millis(self.created_at_ms),
            "updatedAt": iso_millis(self.updated_at_ms),
        }
        return without_none(**shown)


@dataclass(frozen=True)
class GardenNote(TableRow):
    TABLE: ClassVar[str] = "scratchpad"

    id: str
    title: str
    content: str
    created_at_ms: int
    updated_at_ms: int

    def to_dict(self, full: bool = True) -> Json:
        shown = {
            "id": self.id,
            "title": self.title,
            "content": self.content if full else None,
            "uri": f"thoughtbox://knowledge/scratchpad/{self.id}",
            "createdAt": iso_millis(self.created_at_ms),
            "updatedAt": iso_millis(self.updated_at_ms),
        }
        return without_none(**shown)


def find_pattern(ctx: Context, key: str) -> Pattern | None:
    return find(ctx.tx, ctx.workspace, Pattern, key)


def pattern_named(ctx: Context, key: str) -> Pattern:
    found = find_pattern(ctx, key)
    if found is None:
        way = suggest("knowledge_list_patterns", "Shows the patterns there are.")
        raise unknown_id("pattern", key, "Copy the id from the list of patterns.", [way])
    return found


def patterns_beginning(ctx: Context, beginning: str) -> list[Pattern]:
    where = "id LIKE ? ESCAPE '!' ORDER BY id LIMIT 100"
    return select(ctx.tx, ctx.workspace, Pattern, where, f"{escaped(beginning.lower())}%")


def find_note(ctx: Context, key: str) -> GardenNote | None:
    return find(ctx.tx, ctx.workspace, GardenNote, key)


def note_named(ctx: Context, key: str) -> GardenNote:
    # A note is written under a topic, so the same words may be repeated by its reader.
    found = find_note(ctx, key) or find_note(ctx, slug(key))
    if found is None:
        way = suggest("knowledge_list_scratchpad", "Shows the notes there are.")
        raise unknown_id("scratchpad note", key, "Copy the id from the list of notes.", [way])
    return found


def free_id(ctx: Context, title: str, wanted: str | None) -> str:
    """The wanted id, or one derived from the title, with a number added if it is taken."""
    if wanted is not None:
        if not CHAIN.fullmatch(wanted):
            raise invalid("id", "is not a slug", "Use lower-case letters, digits and '-'.", kind="pattern")
        if find_pattern(ctx, wanted) is not None:
            way = suggest("knowledge_get_pattern", "Shows the pattern that exists.", "high", id=wanted)
            said = f"pattern {wanted} exists already"
            raise ClewError("CONFLICT", said, "Update it, or choose another id.", suggestions=[way])
        return wanted
    base = slug(title, 56) or "pattern"
    chosen, number = base, 2
    while find_pattern(ctx, chosen) is not None:
        chosen, number = f"{base}-{number}", number + 1
    return chosen


def write_pattern(ctx: Context, pattern: Pattern) -> Pattern:
    before = find_pattern(ctx, pattern.id)
    # An update that changes nothing writes no version and no event, so that repeating it is harmless.
    if before is not None and replace(pattern, updated_at_ms=before.updated_at_ms) == before:
        return before
    ref, seq = _write(ctx, pattern, before)
    body = f"{pattern.description}\n{pattern.content}"
    item = Item(ref, "pattern", seq, ctx.now_ms, pattern.title, body, tags=pattern.tags)
    index_item(ctx.tx, ctx.workspace, item)
    type = "pattern_updated" if before else "pattern_created"
    ctx.emit("ledger", type, pattern.id, {"title": pattern.title, "sessions": list(pattern.sessions)})
    return pattern


def write_note(ctx: Context, note: GardenNote) -> GardenNote:
    ref, seq = _write(ctx, note, find_note(ctx, note.id))
    item = Item(ref, "note", seq, ctx.now_ms, note.title, note.content, kind="scratchpad")
    index_item(ctx.tx, ctx.workspace, item)
    ctx.emit("ledger", "scratchpad_written", note.id, {"title": note.title})
    return note


def _write(ctx: Context, value: Pattern | GardenNote, before: Pattern | GardenNote | None) -> tuple[str, int]:
    """Store it; returns its reference, and the seq of the change."""
    seq = _keep_version(ctx, before) if before is not None else ctx.ws.next_seq()
    upsert(ctx.tx, ctx.workspace, value)
    return f"{value.TABLE}:{value.id}", seq


def remove(ctx: Context, value: Pattern | GardenNote) -> None:
    # The last version is stored before the row is deleted, as the events require.
    _keep_version(ctx, value)
    delete(ctx.tx, ctx.workspace, value)
    unindex_item(ctx.tx, ctx.workspace, f"{value.TABLE}:{value.id}")
    ctx.emit("ledger", f"{value.TABLE}_deleted", value.id, {"title": value.title})


def _keep_version(ctx: Context, before: Pattern | GardenNote) -> int:
    """Store the version that is about to change; returns the seq of the change."""
    return keep_version(ctx, before.TABLE, before.id, canonical(asdict(before)))


def keep_version(ctx: Context, kind: str, key: str, body: str) -> int:
    seq = ctx.ws.next_seq()
    sql = "INSERT INTO garden_version (workspace, seq, kind, id, body) VALUES (?, ?, ?, ?, ?)"
    ctx.tx.run(sql, ctx.workspace, seq, kind, key, body)
    return seq


def kept_versions(ctx: Context, kind: str) -> dict[str, str]:
    """The newest stored version of each record of a kind."""
    sql = "SELECT id, body FROM garden_version WHERE workspace = ? AND kind = ? ORDER BY seq"
    return dict(ctx.tx.tuples(sql, ctx.workspace, kind))
