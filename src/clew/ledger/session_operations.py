"""The operations on sessions: list, get, search, resume, update, complete, delete."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clew.canonical import Json, without_none
from clew.errors import invalid, shorten
from clew.ledger.chains import Chain, chains_of
from clew.ledger.inputs import (
    EXAMPLE,
    Cursor,
    LedgerBounded,
    LedgerInput,
    OneSession,
    SessionRef,
    SessionTitle,
    Tags,
    Words,
    grouped,
    list_budget,
)
from clew.ledger.session_start import CONTEXT_BUDGET, restored
from clew.ledger.sessions import (
    ACTIVE,
    WORK,
    LedgerSession,
    SessionQuery,
    change_columns,
    change_session,
    complete_session,
    find_sessions,
    items_holding,
    session_json,
    session_named,
    tag_list,
    work_tags,
)
from clew.ledger.stages import moved, place_of, seat
from clew.ledger.thought_rows import Thought, following_thoughts, newest_thoughts, thought_json, thoughts_where
from clew.reasoning.branches import branch_by_id, delete_branch
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.store.database import placeholders

MATCHES = 200
SHOWN_MATCHES = 3
SNIPPET = 160
BRANCHES = 200

THOUGHTS_BUDGET = Budget(
    (
        Clip("thoughts[].thought", 4000),
        Trim("thoughts", drop="last", floor=1, page="pagination"),
        Drop("branches"),
        Clip("thoughts[].thought", 200),
        Trim("thoughts", drop="last", page="pagination"),
    ),
    32_000,
    keep=("sessionId",),
)


class SessionList(LedgerBounded):
    project: Annotated[Words | None, Field(description="Only with the tag project:...")] = None
    task: Annotated[Words | None, Field(description="Only with the tag task:...")] = None
    aspect: Annotated[Words | None, Field(description="Only with the tag aspect:...")] = None
    tags: Annotated[Tags, Field(description="Only with all of these tags.")] = []
    search: Annotated[Words | None, Field(description="Part of title, description or tag.")] = None
    status: Annotated[Literal["active", "completed"] | None, Field(description="Only in this state.")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Most sessions to list.")] = 20
    offset: Annotated[int, Field(ge=0, le=1_000_000, description="How many to skip.")] = 0
    sort_by: Literal["createdAt", "updatedAt", "title"] = "updatedAt"
    sort_order: Literal["asc", "desc"] = "desc"


@grouped("session_list", budget=list_budget("sessions"))
def session_list(ctx: Context, args: SessionList) -> Json:
    """List sessions by tags, project, task and words, page by page."""
    work = {name: getattr(args, name) for name in WORK}
    query = SessionQuery(
        (*args.tags, *work_tags(work)),
        args.search,
        args.limit,
        args.offset,
        args.sort_by,
        args.sort_order == "desc",
        args.status,
    )
    found = find_sessions(ctx, query)
    return {
        "sessions": [session_json(session) for session in found.sessions],
        "count": len(found.sessions),
        "total": found.total,
        "hasMore": found.has_more,
    }


class SessionGet(LedgerBounded):
    session_id: SessionRef
    cursor: Cursor = None
    limit: Annotated[int, Field(ge=1, le=500, description="Most thoughts to return.")] = 100


@grouped("session_get", budget=THOUGHTS_BUDGET, example=EXAMPLE)
def session_get(ctx: Context, args: SessionGet) -> Json:
    """Show a session with its branches and thoughts, in the order they were written, page by page."""
    session = session_named(ctx, args.session_id)
    found = following_thoughts(ctx, session.id, args.cursor or 0, args.limit + 1)
    shown = found[: args.limit]
    return {
        "sessionId": session.id,
        "session": session_json(session),
        "thoughts": [thought_json(item) for item in shown],
        "branches": branches_json(chains_of(ctx, session.id, limit=BRANCHES)),
        "pagination": page(args.cursor, args.limit, shown, len(found) > len(shown)),
    }


def page(cursor: int | None, limit: int, shown: list[Thought], more: bool) -> Json:
    return page_json(cursor, limit, len(shown), shown[-1].seq if more and shown else None)


def branches_json(chains: list[Chain]) -> dict[str, Json]:
    return {
        chain.chain: {
            "forks": chain.origin_number,
            **without_none(fromBranch=chain.origin_chain or None),
            **without_none(name=chain.label or None),
            "range": [chain.lowest, chain.highest],
            "length": chain.length,
        }
        for chain in chains
    }


class SessionSearch(LedgerBounded):
    query: Annotated[
        Words, Field(description="Words of a thought, a title, a description or a tag; without any: all sessions.")
    ] = ""
    limit: Annotated[int, Field(ge=1, le=100, description="Most sessions to return.")] = 20


@grouped("session_search", budget=list_budget("sessions"), example={"query": "latency"})
def session_search(ctx: Context, args: SessionSearch) -> Json:
    """Find sessions by what was thought in them, or by title, description and tags."""
    hits = _thought_hits(ctx, args.query) if args.query.strip() else {}
    # One more than the limit detects whether there are more.
    by_words = find_sessions(ctx, SessionQuery(search=args.query.strip() or None, limit=args.limit + 1)).sessions
    ranked = _by_relevance(ctx, hits, by_words)
    shown = ranked[: args.limit]
    return {
        "query": args.query,
        "sessions": [_hit_json(session, hits.get(session.id, [])) for session in shown],
        "count": len(shown),
        "hasMore": len(ranked) > len(shown),
    }


Hit = tuple[float, Thought]


def _thought_hits(ctx: Context, query: str) -> dict[str, list[Hit]]:
    """Thoughts that contain the words, by session, best first."""
    items = items_holding(ctx, query, MATCHES, "thought")
    if not items:
        return {}
    scores = {item["seq"]: float(item["score"]) for item in items}
    found = thoughts_where(ctx, f"thought.seq IN ({placeholders(len(scores))})", *scores, limit=MATCHES)
    hits: dict[str, list[Hit]] = {}
    for thought in sorted(found, key=lambda item: (-scores[item.seq], item.seq)):
        hits.setdefault(thought.session, []).append((scores[thought.seq], thought))
    return hits


def _by_relevance(ctx: Context, hits: dict[str, list[Hit]], by_words: list[LedgerSession]) -> list[LedgerSession]:
    """Sessions whose title or tags match the query first, then the others by their best thought."""
    known = {session.id: session for session in by_words}
    for key in hits:
        if key not in known:
            known[key] = session_named(ctx, key)
    best = {key: found[0][0] for key, found in hits.items()}
    named = {session.id for session in by_words}
    return sorted(known.values(), key=lambda item: (item.id not in named, -best.get(item.id, 0.0), item.id))


def _hit_json(session: LedgerSession, hits: list[Hit]) -> Json:
    matches = [
        {
            "thoughtNumber": thought.point.number,
            **without_none(branchId=thought.point.chain or None),
            "snippet": shorten(" ".join(thought.text.split()), SNIPPET),
        }
        for _, thought in hits[:SHOWN_MATCHES]
    ]
    return {**session_json(session), "matches": matches, "matchCount": len(hits)}


@grouped("session_resume", writes=True, idempotent=True, budget=CONTEXT_BUDGET, example=EXAMPLE)
def session_resume(ctx: Context, args: OneSession) -> Json:
    """Make another session the current one; the notation has to be shown again before its first thought."""
    session = session_named(ctx, args.session_id)
    before = place_of(ctx, session.id)
    place = moved(before, session)
    if before.session != session.id:
        # The seed shows the notation again before the first thought in another session.
        place = replace(place, cipher=False)
    result = {name: value for name, value in restored(ctx, session, place).items() if name != "text"}
    last = newest_thoughts(ctx, session.id, 1)
    message = f"Resumed {session.title!r}: go on with thought {result['nextThoughtNumber']}."
    return result | {
        "success": True,
        "thoughtCount": session.thought_count,
        "lastThought": thought_json(last[0]) if last else None,
        "message": message,
    }


class SessionUpdate(LedgerInput):
    synonyms: ClassVar[dict[str, str]] = {**LedgerInput.synonyms, "sessionTitle": "title", "sessionTags": "tags"}

    session_id: SessionRef
    title: Annotated[SessionTitle | None, Field(description="New title.")] = None
    description: Annotated[str | None, Field(max_length=10_000, description="New description.")] = None
    tags: Annotated[Tags | None, Field(description="All tags from now on.")] = None
    add_tags: Annotated[Tags, Field(description="Tags to add.")] = []
    remove_tags: Annotated[Tags, Field(description="Tags to take away.")] = []


@grouped(
    "session_update",
    "session.rename",
    "session.retag",
    writes=True,
    idempotent=True,
    example={**EXAMPLE, "title": "Search latency"},
)
def session_update(ctx: Context, args: SessionUpdate) -> Json:
    """Rename, describe or retag a session."""
    session = session_named(ctx, args.session_id)
    if args.title is not None and not args.title.strip():
        raise invalid("title", "must not be empty", kind="non_empty")
    gone = {tag.strip().casefold() for tag in args.remove_tags}
    wanted = [*(session.tags if args.tags is None else args.tags), *args.add_tags]
    tags = [tag for tag in tag_list(wanted) if tag.casefold() not in gone]
    title = args.title.strip() if args.title else session.title
    description = session.description if args.description is None else args.description or None
    return {"session": session_json(change_session(ctx, session, title, description, tags))}


@grouped("session_complete", writes=True, idempotent=True, example=EXAMPLE)
def session_complete(ctx: Context, args: OneSession) -> Json:
    """Mark a session as completed without another thought; a later thought or resume goes on with it."""
    session = session_named(ctx, args.session_id)
    if session.status == ACTIVE:
        complete_session(ctx, session)
    return {"session": session_json(session_named(ctx, session.id))}


@grouped("session_delete", writes=True, destructive=True, example=EXAMPLE)
def session_delete(ctx: Context, args: OneSession) -> Json:
    """Remove a session from every view and search; its entries stay in the log."""
    session = session_named(ctx, args.session_id)
    change_columns(ctx, session.id, deleted_at_ms=ctx.now_ms)
    delete_branch(ctx, branch_by_id(ctx, session.branch))  # by its number, because a branch can be renamed
    ctx.tx.run("DELETE FROM ledger_tag WHERE workspace = ? AND session = ?", ctx.workspace, session.id)
    ctx.emit("ledger", "session_deleted", session.id, {"title": session.title, "thoughts": session.thought_count})
    _leave(ctx, session.id)
    return {"sessionId": session.id, "deleted": True, "thoughtCount": session.thought_count}


def _leave(ctx: Context, session: str) -> None:
    """Remove the caller's connection from a deleted session, once the deletion is committed."""
    place = place_of(ctx, None)
    if ctx.connection.durable and place.session == session:
        places, workspace = seat(ctx).places, ctx.workspace
        ctx.after_commit(lambda: places.__setitem__(workspace, replace(place, session=None)))
