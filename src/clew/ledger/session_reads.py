"""Reading sessions: list, get, search."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import shorten
from clew.ledger.chains import Chain, chains_of
from clew.ledger.finding import items_holding
from clew.ledger.inputs import Cursor, LedgerBounded, SessionRef, Tags, Words
from clew.ledger.listing import Query, find_sessions
from clew.ledger.rows import Thought, following_thoughts, thought_json, thoughts_where
from clew.ledger.sessions import WORK, LedgerSession, session_json, session_named, work_tags
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.registry.paging import page_json
from clew.store.database import placeholders

MATCHES = 200
SHOWN_MATCHES = 3
SNIPPET = 160
BRANCHES = 200

SESSIONS_BUDGET = Budget(
    (
        Trim("sessions", drop="last", floor=1, count="count", more="hasMore"),
        Trim("sessions", drop="last", count="count", more="hasMore"),
    ),
    16_000,
    keep=("total",),
)
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


@operation("session_list", aliases=("session.list",), budget=SESSIONS_BUDGET)
def session_list(ctx: Context, args: SessionList) -> dict[str, Any]:
    """List sessions by tags, project, task and words, page by page."""
    work = {name: getattr(args, name) for name in WORK}
    query = Query(
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


@operation(
    "session_get",
    aliases=("session.get",),
    budget=THOUGHTS_BUDGET,
    example={"sessionId": "00000000-0000-4000-8000-000000000000"},
)
def session_get(ctx: Context, args: SessionGet) -> dict[str, Any]:
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


def page(cursor: int | None, limit: int, shown: list[Thought], more: bool) -> dict[str, Any]:
    return page_json(cursor, limit, len(shown), shown[-1].seq if more and shown else None)


def branches_json(chains: list[Chain]) -> dict[str, dict[str, Any]]:
    return {
        chain.chain: {
            "forks": chain.origin_number,
            **({"fromBranch": chain.origin_chain} if chain.origin_chain else {}),
            **({"name": chain.label} if chain.label else {}),
            "range": [chain.lowest, chain.highest],
            "length": chain.length,
        }
        for chain in chains
    }


class SessionSearch(LedgerBounded):
    query: Annotated[Words, Field(min_length=1, description="Words of a thought, a title, a description or a tag.")]
    limit: Annotated[int, Field(ge=1, le=100, description="Most sessions to return.")] = 20


@operation("session_search", aliases=("session.search",), budget=SESSIONS_BUDGET, example={"query": "latency"})
def session_search(ctx: Context, args: SessionSearch) -> dict[str, Any]:
    """Find sessions by what was thought in them, or by title, description and tags."""
    hits = _thought_hits(ctx, args.query)
    by_words = find_sessions(ctx, Query(search=args.query, limit=args.limit + 1)).sessions
    ranked = _ranked(ctx, hits, by_words)
    shown = ranked[: args.limit]
    return {
        "query": args.query,
        "sessions": [_hit_json(session, hits.get(session.id, [])) for session in shown],
        "count": len(shown),
        "hasMore": len(ranked) > len(shown),
    }


Hit = tuple[float, Thought]


def _thought_hits(ctx: Context, query: str) -> dict[str, list[Hit]]:
    """Thoughts that hold the words, best first, by session."""
    items = items_holding(ctx, query, MATCHES, "thought")
    if not items:
        return {}
    scores = {item["seq"]: float(item["score"]) for item in items}
    found = thoughts_where(ctx, f"thought.seq IN ({placeholders(len(scores))})", *scores, limit=MATCHES)
    hits: dict[str, list[Hit]] = {}
    for thought in sorted(found, key=lambda item: (-scores[item.seq], item.seq)):
        hits.setdefault(thought.session, []).append((scores[thought.seq], thought))
    return hits


def _ranked(ctx: Context, hits: dict[str, list[Hit]], by_words: list[LedgerSession]) -> list[LedgerSession]:
    """Sessions whose title or tags hold the query first, then by their best thought."""
    known = {session.id: session for session in by_words}
    for key in hits:
        if key not in known:
            known[key] = session_named(ctx, key)
    best = {key: found[0][0] for key, found in hits.items()}
    named = {session.id for session in by_words}
    return sorted(known.values(), key=lambda item: (item.id not in named, -best.get(item.id, 0.0), item.id))


def _hit_json(session: LedgerSession, hits: list[Hit]) -> dict[str, Any]:
    matches = [
        {
            "thoughtNumber": thought.point.number,
            **({"branchId": thought.point.chain} if thought.point.chain else {}),
            "snippet": shorten(" ".join(thought.text.split()), SNIPPET),
        }
        for _, thought in hits[:SHOWN_MATCHES]
    ]
    return {**session_json(session), "matches": matches, "matchCount": len(hits)}
