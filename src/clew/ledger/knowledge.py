"""The operations on patterns (reusable lessons) and on the scratchpad that agents share while they work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid, suggest
from clew.ids import CHAIN
from clew.ledger.garden import (
    GardenNote,
    Pattern,
    find_note,
    find_pattern,
    free_id,
    note_named,
    pattern_named,
    remove,
    write_note,
    write_pattern,
)
from clew.ledger.inputs import Id, LedgerInput, ListPage, NoInput, Tags, Words, grouped, list_budget, slug
from clew.ledger.learnings import KeyMoment, area, found_learnings, with_moments
from clew.ledger.sessions import ORDERS, LedgerSession, items_holding, session_named, tag_list
from clew.registry.context import Context
from clew.registry.operation import StrictModel, Text, Title
from clew.store.rows import select

SEARCHED = 500

PatternId = Annotated[Id, Field(description="Id of the pattern.")]


class LearningRef(StrictModel):
    sessionId: Id
    id: Annotated[Id, Field(description="As session_extract_learnings gave it, such as pattern:S6.")]


class CreatePattern(LedgerInput):
    title: Annotated[Title | None, Field(description="Name of the pattern.")] = None
    description: Annotated[Text | None, Field(description="When to use it, in a sentence.")] = None
    content: Annotated[Text | None, Field(description="The pattern in Markdown.")] = None
    tags: Annotated[Tags, Field(description="Tags to find it by.")] = []
    derived_from_sessions: Annotated[list[Id], Field(max_length=1000, description="Sessions it comes from.")] = []
    created_by: Annotated[Id | None, Field(description="Who found it; default: the calling agent.")] = None
    id: Annotated[Id | None, Field(description="Slug; default: made from the title.")] = None
    from_learning: Annotated[LearningRef | None, Field(description="Take everything not given from a learning.")] = None


@grouped(
    "knowledge_create_pattern",
    writes=True,
    example={"title": "Stale statistics", "description": "Plans go wrong after an upgrade.", "content": "Run ANALYZE."},
)
def knowledge_create_pattern(ctx: Context, args: CreatePattern) -> Json:
    """Keep a pattern for next time: written out, or taken from a session's learning in one call."""
    draft = _draft(ctx, args)
    for name in ("title", "description", "content"):
        if not getattr(draft, name).strip():
            raise invalid(name, "is required", "Give it, or name a learning in fromLearning.", kind="missing_required")
    # Before anything is written, because a pattern must not name a session that does not exist.
    for session in draft.sessions:
        session_named(ctx, session)
    pattern = write_pattern(ctx, replace(draft, id=free_id(ctx, draft.title, args.id)))
    return {"success": True, "pattern": pattern.to_dict(), "uri": f"thoughtbox://knowledge/patterns/{pattern.id}"}


def _draft(ctx: Context, args: CreatePattern) -> Pattern:
    base = _from_learning(ctx, args.from_learning) if args.from_learning else _empty(ctx)
    return replace(
        base,
        title=(args.title or base.title).strip(),
        description=args.description or base.description,
        content=args.content or base.content,
        tags=tuple(tag_list([*args.tags, *base.tags])),
        sessions=tuple(dict.fromkeys([*args.derived_from_sessions, *base.sessions])),
        created_by=args.created_by or ctx.agent,
    )


def _empty(ctx: Context) -> Pattern:
    return Pattern("", "", "", "", (), (), None, ctx.now_ms, ctx.now_ms)


def _from_learning(ctx: Context, ref: LearningRef) -> Pattern:
    session = session_named(ctx, ref.sessionId)
    found = next((item for item in _learnings(ctx, session, ref.id) if item.id == ref.id), None)
    if found is None:
        raise ClewError(
            "UNKNOWN_ID",
            f"session {session.id} has no learning {ref.id[:80]!r}",
            "Copy the id from session_extract_learnings.",
            suggestions=[suggest("session_extract_learnings", "Shows what it teaches.", "high", sessionId=session.id)],
        )
    return replace(
        _empty(ctx),
        title=found.title,
        description=found.lesson,
        content=found.content,
        tags=tuple(dict.fromkeys([found.type, area(session)])),
        sessions=(session.id,),
    )


def _learnings(ctx: Context, session: LedgerSession, wanted: str) -> list[Any]:
    """The learnings of a session; if none has the wanted id, the thought in the id is taken as a key moment."""
    found = found_learnings(ctx, session)
    kind, _, short = wanted.partition(":")
    chain, _, number = short.rpartition(":")
    digits = number.removeprefix("S")
    if any(item.id == wanted for item in found) or not digits.isdecimal() or len(digits) > 9 or int(digits) < 1:
        return found
    type: Literal["revision", "insight"] = "revision" if kind == "anti-pattern" else "insight"
    return with_moments(ctx, session, [KeyMoment(thoughtNumber=int(digits), branchId=chain or None, type=type)])


class OnePattern(LedgerInput):
    id: PatternId


@grouped("knowledge_get_pattern", example={"id": "stale-statistics"})
def knowledge_get_pattern(ctx: Context, args: OnePattern) -> Json:
    """Show a pattern."""
    return {"pattern": pattern_named(ctx, args.id).to_dict()}


class UpdatePattern(LedgerInput):
    id: PatternId
    title: Title | None = None
    description: Text | None = None
    content: Text | None = None
    tags: Annotated[Tags | None, Field(description="All tags from now on.")] = None
    derived_from_sessions: Annotated[list[Id] | None, Field(max_length=1000)] = None


@grouped(
    "knowledge_update_pattern",
    writes=True,
    idempotent=True,
    example={"id": "stale-statistics", "description": "Plans go wrong after a major upgrade."},
)
def knowledge_update_pattern(ctx: Context, args: UpdatePattern) -> Json:
    """Change a pattern; what it said before stays stored."""
    before = pattern_named(ctx, args.id)
    given = {name: getattr(args, name) for name in ("title", "description", "content") if getattr(args, name)}
    tags = before.tags if args.tags is None else tuple(tag_list(args.tags))
    sessions = before.sessions if args.derived_from_sessions is None else tuple(args.derived_from_sessions)
    changed = replace(before, **given, tags=tags, sessions=sessions, updated_at_ms=ctx.now_ms)
    return {"pattern": write_pattern(ctx, changed).to_dict()}


class ListPatterns(ListPage):
    tags: Annotated[Tags, Field(description="Only with all of these tags.")] = []
    search: Annotated[Words | None, Field(description="Words of the pattern; the best match comes first.")] = None
    sort_by: Literal["createdAt", "updatedAt", "title"] = "updatedAt"
    sort_order: Literal["asc", "desc"] = "desc"


@grouped("knowledge_list_patterns", budget=list_budget("patterns"))
def knowledge_list_patterns(ctx: Context, args: ListPatterns) -> Json:
    """List patterns by tags and words, without their content."""
    found = _search(ctx, args.search) if args.search and args.search.strip() else _in_order(ctx, args)
    wanted = {tag.strip().casefold() for tag in args.tags}
    kept = [item for item in found if wanted <= {tag.casefold() for tag in item.tags}]
    return _listed("patterns", kept, args)


def _listed(name: str, found: Sequence[Pattern | GardenNote], args: ListPage) -> Json:
    """A page of a list, without contents."""
    shown = found[args.offset : args.offset + args.limit]
    return {
        name: [item.to_dict(full=False) for item in shown],
        "count": len(shown),
        "total": len(found),
        "hasMore": len(found) > args.offset + len(shown),
    }


def _in_order(ctx: Context, args: ListPatterns) -> list[Pattern]:
    direction = "DESC" if args.sort_order == "desc" else "ASC"
    everything = f"TRUE ORDER BY {ORDERS[args.sort_by]} {direction}, id {direction}"
    return select(ctx.tx, ctx.workspace, Pattern, everything)


def _search(ctx: Context, words: str) -> list[Pattern]:
    items = items_holding(ctx, words, SEARCHED, "pattern")
    found = (find_pattern(ctx, item["ref"].removeprefix("pattern:")) for item in items)
    return [item for item in found if item is not None]


@grouped("knowledge_delete_pattern", writes=True, destructive=True, example={"id": "stale-statistics"})
def knowledge_delete_pattern(ctx: Context, args: OnePattern) -> Json:
    """Remove a pattern from lists and search; its last version stays stored."""
    remove(ctx, pattern_named(ctx, args.id))
    return {"id": args.id, "deleted": True}


@grouped("knowledge_list_tags")
def knowledge_list_tags(ctx: Context, args: NoInput) -> Json:
    """List the tags of patterns with how many have each."""
    patterns = select(ctx.tx, ctx.workspace, Pattern, "TRUE ORDER BY id")
    counts = Counter(tag for pattern in patterns for tag in pattern.tags)
    tags = [{"name": name, "patterns": count} for name, count in sorted(counts.items())]
    return {"tags": tags, "count": len(tags)}


@grouped("knowledge_stats")
def knowledge_stats(ctx: Context, args: NoInput) -> Json:
    """Count what the knowledge zone holds."""
    patterns = int(ctx.tx.value("SELECT count(*) FROM pattern WHERE workspace = ?", ctx.workspace))
    notes = int(ctx.tx.value("SELECT count(*) FROM scratchpad WHERE workspace = ?", ctx.workspace))
    # Apart from versions, the table contains the Thoughtbox graphs that patterns were created from.
    sql = "SELECT count(*) FROM garden_version WHERE workspace = ? AND kind IN ('pattern', 'scratchpad')"
    changes = int(ctx.tx.value(sql, ctx.workspace))
    return {"patterns": patterns, "scratchpad": notes, "earlierVersions": changes}


MOST_CONTENT = 1_000_000


class WriteScratchpad(LedgerInput):
    synonyms: ClassVar[dict[str, str]] = {**LedgerInput.synonyms, "topic": "title"}

    id: Annotated[Id | None, Field(description="Topic slug; default: made from the title.")] = None
    title: Annotated[Title | None, Field(description="Title; needed for a new note.")] = None
    content: Annotated[Text, Field(description="The note in Markdown.")]
    append: Annotated[bool, Field(description="Add to what stands there instead of replacing it.")] = False


@grouped(
    "knowledge_write_scratchpad",
    writes=True,
    example={"title": "Search latency", "content": "Ask the DBA about autovacuum."},
)
def knowledge_write_scratchpad(ctx: Context, args: WriteScratchpad) -> Json:
    """Write a scratchpad note, or add to one; what it said before stays stored."""
    key = args.id or slug(args.title or "")
    if not CHAIN.fullmatch(key):
        raise invalid("id", "is not a slug, and none can be made from the title", "Give id or title.", kind="pattern")
    before = find_note(ctx, key)
    if before is None:
        note = GardenNote(key, args.title or key, args.content, ctx.now_ms, ctx.now_ms)
    else:
        # The transaction that read the note writes it, so that two agents who append concurrently lose nothing.
        content = f"{before.content.rstrip()}\n\n{args.content}" if args.append else args.content
        note = replace(before, title=args.title or before.title, content=content, updated_at_ms=ctx.now_ms)
    if len(note.content) > MOST_CONTENT:
        raise invalid("content", f"the note would be longer than {MOST_CONTENT} characters", "Start another note.")
    return {"success": True, "note": write_note(ctx, note).to_dict()}


class OneNote(LedgerInput):
    synonyms: ClassVar[dict[str, str]] = {**LedgerInput.synonyms, "topic": "id"}

    id: Annotated[Id, Field(description="Topic slug.")]


@grouped("knowledge_read_scratchpad", example={"id": "search-latency"})
def knowledge_read_scratchpad(ctx: Context, args: OneNote) -> Json:
    """Show a scratchpad note."""
    return {"note": note_named(ctx, args.id).to_dict()}


class ListScratchpad(ListPage):
    search: Annotated[Words | None, Field(description="Words of the note; the best match comes first.")] = None


@grouped("knowledge_list_scratchpad", budget=list_budget("notes"))
def knowledge_list_scratchpad(ctx: Context, args: ListScratchpad) -> Json:
    """List scratchpad notes, the last written first, without their content."""
    if args.search and args.search.strip():
        items = items_holding(ctx, args.search, SEARCHED, "note")
        keys = [item["ref"].removeprefix("scratchpad:") for item in items if item["kind"] == "scratchpad"]
        found = [note for note in (find_note(ctx, key) for key in keys) if note is not None]
    else:
        found = select(ctx.tx, ctx.workspace, GardenNote, "TRUE ORDER BY updated_at_ms DESC, id")
    return _listed("notes", found, args)


@grouped("knowledge_delete_scratchpad", writes=True, destructive=True, example={"id": "search-latency"})
def knowledge_delete_scratchpad(ctx: Context, args: OneNote) -> Json:
    """Remove a scratchpad note; its last version stays stored."""
    note = note_named(ctx, args.id)
    remove(ctx, note)
    return {"id": note.id, "deleted": True}
