"""read_thoughts, get_structure and session_outline: thoughts with their texts, or a session's shape without."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.canonical import without_none
from clew.clock import iso_millis
from clew.errors import ClewError, suggest
from clew.ledger.chains import MAIN, Point, chains_of, find_chain, no_thought
from clew.ledger.cipher import kind_letter, read
from clew.ledger.inputs import (
    EXAMPLE,
    Cursor,
    Id,
    Kind,
    LedgerBounded,
    Limit,
    MaybeSession,
    Number,
    SessionRef,
    Words,
)
from clew.ledger.session_operations import THOUGHTS_BUDGET, branches_json, page
from clew.ledger.sessions import COMPLETED, LedgerSession, escaped, session_json, session_named
from clew.ledger.stages import place_of
from clew.ledger.thought_rows import Thought, newest_thoughts, thought_at, thought_json, thoughts_where
from clew.reasoning.documents import ENTRY_OF_THOUGHT
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import operation
from clew.store.database import Row, placeholders

LAST = 5
PAGE, MOST = 100, 500
"""How many thoughts a page of a selection contains, and the maximum for one of the newest."""


def current_session(ctx: Context, args: ReadThoughts | GetStructure, operation: str) -> LedgerSession:
    """The named session, else the caller's current one. After its final thought a caller has none."""
    if args.session_id is not None:
        return session_named(ctx, args.session_id)
    wanted = place_of(ctx, None).session
    session = session_named(ctx, wanted) if wanted is not None else None
    if session is None or session.status == COMPLETED:
        raise _none_active(session, operation, args.model_dump(by_alias=True, exclude_unset=True))
    return session


def _none_active(closed: LedgerSession | None, operation: str, given: dict[str, Any]) -> ClewError:
    again = []
    if closed is not None:
        again = [suggest(operation, "Reads the completed session.", "high", **{**given, "sessionId": closed.id})]
    return ClewError(
        "SESSION_NOT_FOUND",
        f"No active reasoning session: {f'{closed.id} is completed' if closed else 'none was started or loaded'}",
        f"Give sessionId{f' {closed.id} to read it' if closed else ''}, or start or load a session first.",
        suggestions=[*again, suggest("list_sessions", "Shows the sessions there are.")],
    )


RECENT_SESSIONS = 20


def rejected_thoughts(ctx: Context, most: int) -> list[tuple[str, str]]:
    """Ids and texts of rejections in the most recent sessions, newest first, without those that were revised since."""
    recent = _recent_sessions(ctx)
    if not recent:
        return []
    among = f"thought.session IN ({placeholders(len(recent))})"
    # Some more than wanted, because revised rejections are dropped below.
    limit = most + RECENT_SESSIONS
    found = thoughts_where(ctx, f"{among} AND thought.kind = 'X'", *recent, order="thought.seq DESC", limit=limit)
    if not found:
        return []
    revisions = thoughts_where(ctx, f"{among} AND is_revision = 1", *recent, order="thought.seq DESC", limit=1_000)
    revised = {(thought.session, thought.revises) for thought in revisions}
    held = [thought for thought in found if (thought.session, thought.point) not in revised]
    return [(thought.node_id, read(thought.text).content) for thought in held[:most]]


def _recent_sessions(ctx: Context) -> list[str]:
    sql = "SELECT id FROM ledger_session WHERE workspace = ? AND deleted_at_ms IS NULL ORDER BY updated_at_ms DESC, id"
    return [row[0] for row in ctx.tx.tuples(f"{sql} LIMIT ?", ctx.workspace, RECENT_SESSIONS)]


_SETTLED = """
EXISTS (
    SELECT 1 FROM thought_link JOIN thought AS later
    ON later.workspace = thought_link.workspace AND later.seq = thought_link.from_seq
    WHERE thought_link.workspace = thought.workspace AND thought_link.to_seq = thought.seq
    AND (thought_link.relation IN ('revises', 'contradicts') OR later.kind IN ('C', 'X'))
)
"""


def open_hypotheses(ctx: Context, most: int) -> list[tuple[str, str]]:
    """Id and text of hypotheses in the most recent sessions, the newest first.

    One that a later thought revised, contradicted or drew a conclusion from is settled."""
    recent = _recent_sessions(ctx)
    if not recent:
        return []
    condition = f"thought.session IN ({placeholders(len(recent))}) AND thought.kind = 'H' AND NOT {_SETTLED}"
    found = thoughts_where(ctx, condition, *recent, order="thought.seq DESC", limit=most)
    return [(thought.node_id, read(thought.text).content) for thought in found]


Bound = Annotated[int, Field(ge=0, le=999_999_999)]
"""The end of a range: a number, or 0 for its beginning."""


class ReadThoughts(LedgerBounded):
    session_id: MaybeSession = None
    thought_number: Annotated[Number | None, Field(description="One thought, of branchId or of the main line.")] = None
    branch_id: Annotated[Id | None, Field(description="The thoughts of a branch.")] = None
    last: Annotated[Number | None, Field(description="The newest of the main line, or of branchId.")] = None
    range: Annotated[
        list[Bound] | None, Field(min_length=2, max_length=2, description="From and to number, on one chain.")
    ] = None
    type: Annotated[Kind | None, Field(description="Only thoughts of this kind, of all chains.")] = None
    cursor: Cursor = None
    limit: Annotated[Limit | None, Field(description="Most to return; default: 100, with last 500.")] = None

    @property
    def size(self) -> int:
        """The page size."""
        return self.limit or (min(self.last, MOST) if self.last else PAGE)


@operation("read_thoughts", budget=THOUGHTS_BUDGET)
def read_thoughts(ctx: Context, args: ReadThoughts) -> dict[str, Any]:
    """Read thoughts: one, a branch, the last, a range or a kind; without a choice the last five of the main line."""
    session = current_session(ctx, args, "read_thoughts")
    query, found = _select(ctx, session, args)
    shown = found[: args.size]
    return {
        "sessionId": session.id,
        "query": query,
        "count": len(shown),
        "thoughts": [thought_json(thought) for thought in shown],
        "pagination": page(args.cursor, args.size, shown, len(found) > len(shown)),
    }


def _select(ctx: Context, session: LedgerSession, args: ReadThoughts) -> tuple[str, list[Thought]]:
    """The query as text, and the thoughts; one more than the limit if there are more."""
    chain = args.branch_id or MAIN
    where = f"branch:{chain} " if chain else ""
    if chain and find_chain(ctx, session.id, chain) is None:
        raise _no_branch(session.id, chain)
    if args.thought_number is not None:
        found = thought_at(ctx, session.id, Point(chain, args.thought_number))
        if found is None:
            raise no_thought(session.id, Point(chain, args.thought_number), "thoughtNumber")
        return f"{where}thought:{args.thought_number}", [found]
    if args.last is not None:
        before = args.cursor or _before_last(ctx, session, chain, args.last)
        return f"{where}last:{args.last}", _page(ctx, session, args, "chain = ?", chain, after=before)
    if args.range is not None:
        low, high = args.range
        return f"{where}range:{low}-{high}", _page(
            ctx, session, args, "chain = ? AND number BETWEEN ? AND ?", chain, low, high
        )
    if args.type is not None:
        letter = kind_letter(args.type)
        return f"type:{letter}", _page(ctx, session, args, "thought.kind = ?", letter)
    if chain:
        return f"branch:{chain}", _page(ctx, session, args, "chain = ?", chain)
    if args.cursor is not None:
        return "all", _page(ctx, session, args, "1 = 1")
    return f"last:{LAST}", newest_thoughts(ctx, session.id, LAST, MAIN)


def _before_last(ctx: Context, session: LedgerSession, chain: str, count: int) -> int:
    """The seq of the thought before the newest `count` of a chain, 0 if there are no more than these."""
    sql = "SELECT seq FROM thought WHERE workspace = ? AND session = ? AND chain = ? ORDER BY seq DESC LIMIT 1 OFFSET ?"
    return int(ctx.tx.value(sql, ctx.workspace, session.id, chain, count) or 0)


def _page(
    ctx: Context, session: LedgerSession, args: ReadThoughts, condition: str, *params: Any, after: int | None = None
) -> list[Thought]:
    start = after if after is not None else args.cursor or 0
    among = f"thought.session = ? AND thought.seq > ? AND {condition}"
    return thoughts_where(ctx, among, session.id, start, *params, limit=args.size + 1)


def _no_branch(session: str, chain: str) -> ClewError:
    return ClewError(
        "THOUGHT_NOT_FOUND",
        f"branchId: session {session} has no branch {chain[:80]!r}",
        "Read the session's structure to see its branches.",
        [{"kind": "value", "field": "branchId"}],
        [suggest("get_structure", "Shows the chains and their numbers.", "high", sessionId=session)],
    )


class GetStructure(LedgerBounded):
    session_id: MaybeSession = None
    limit: Limit = 100
    offset: Annotated[int, Field(ge=0, le=10_000_000, description="How many branches and revisions to skip.")] = 0


STRUCTURE_BUDGET = Budget(
    (Trim("revisions", drop="last", more="hasMore"),), 16_000, keep=("sessionId", "totalThoughts")
)


@operation("get_structure", budget=STRUCTURE_BUDGET)
def get_structure(ctx: Context, args: GetStructure) -> dict[str, Any]:
    """Show a session's shape: its main line, its branches with their fork points, its revisions."""
    session = current_session(ctx, args, "get_structure")
    main = find_chain(ctx, session.id, MAIN)
    chains = chains_of(ctx, session.id, args.limit, args.offset)
    revisions = thoughts_where(
        ctx,
        "thought.session = ? AND is_revision = 1 AND revises_number IS NOT NULL",
        session.id,
        limit=args.offset + args.limit,
    )[args.offset :]
    return {
        "sessionId": session.id,
        "totalThoughts": session.thought_count,
        "mainChain": {
            "length": main.length if main else 0,
            "head": main.lowest if main else None,
            "tail": main.highest if main else None,
            "newest": main.newest if main else None,
        },
        "branches": branches_json(chains),
        "branchCount": session.branch_count,
        "revisions": [_revision(thought) for thought in revisions],
        "revisionCount": session.revision_count,
        "hasMore": max(session.branch_count, session.revision_count) > args.offset + args.limit,
    }


def _revision(thought: Thought) -> list[Any]:
    """[number, revised number]; if a branch is involved, in the form `alt:S4`."""
    revised = thought.revises
    assert revised is not None
    if thought.point.chain or revised.chain:
        return [thought.point.short, revised.short]
    return [thought.point.number, revised.number]


OUTLINE_BUDGET = Budget(
    (
        Trim("thoughts", drop="last", floor=1, page="pagination"),
        Drop("branchNames"),
        Trim("thoughts", drop="last", page="pagination"),
    ),
    32_000,
    keep=("sessionId",),
)


class SessionOutline(LedgerBounded):
    session_id: SessionRef
    cursor: Cursor = None
    limit: Annotated[int, Field(ge=1, le=2000, description="Most thoughts to return.")] = 500
    chars: Annotated[int, Field(ge=0, le=1000, description="How much of each text to show; 0 shows none.")] = 0
    find: Annotated[Words | None, Field(min_length=1, description="Only thoughts whose text holds this.")] = None


@operation("session_outline", budget=OUTLINE_BUDGET, example=EXAMPLE)
def session_outline(ctx: Context, args: SessionOutline) -> dict[str, Any]:
    """Show the shape of a session, thought by thought: number, branch, kind, what it revises; texts cut or left out."""
    session = session_named(ctx, args.session_id)
    rows = _rows(ctx, session, args)
    shown, more = rows[: args.limit], len(rows) > args.limit
    return {
        "sessionId": session.id,
        "session": session_json(session),
        "thoughts": [_outline(row) for row in shown],
        # Only with the first page: the names do not change while a client reads on.
        "branchNames": _names(ctx, session) if not args.cursor else {},
        "pagination": page_json(args.cursor, args.limit, len(shown), shown[-1]["seq"] if more else None),
    }


_SHAPE = (
    "thought.chain, thought.number, thought.seq, thought.ts_ms, thought.kind, from_chain, from_number, is_revision,"
    " revises_chain, revises_number, critique"
)


def _rows(ctx: Context, session: LedgerSession, args: SessionOutline) -> list[Row]:
    """The rows of a page, and one more if there are more. Texts may be large, so they are read only if requested."""
    columns = _SHAPE
    params: list[Any] = []
    if args.chars:
        columns += ", substr(entry.content, 1, CAST(? AS INTEGER)) AS opening, length(entry.content) AS length"
        params.append(args.chars)
    params += [ctx.workspace, session.id, args.cursor or 0]
    condition = "thought.workspace = ? AND thought.session = ? AND thought.seq > ?"
    if args.find is not None:
        # Both ways, because LIKE is case-sensitive on PostgreSQL and SQLite's lower() knows only ASCII.
        condition += " AND (entry.content LIKE ? ESCAPE '!' OR lower(entry.content) LIKE ? ESCAPE '!')"
        params += [f"%{escaped(way)}%" for way in (args.find, args.find.lower())]
    # Without texts there is no join: the shape of 100,000 thoughts is read from one table.
    entry = ENTRY_OF_THOUGHT if args.chars or args.find is not None else ""
    sql = f"SELECT {columns} FROM thought{entry} WHERE {condition} ORDER BY thought.seq LIMIT ?"
    return ctx.tx.all(sql, *params, args.limit + 1)


def _outline(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "thoughtNumber": row["number"],
        "branchId": row["chain"] or None,
        "type": row["kind"],
        "isRevision": bool(row["is_revision"]) or None,
        "revisesThought": row["revises_number"],
        "revisesBranch": row["revises_chain"] or None,
        "branchFromThought": row["from_number"],
        "branchFromBranch": row["from_chain"] or None,
        "critique": _critique(row["critique"]),
        "timestamp": iso_millis(row["ts_ms"]),
        "seq": row["seq"],
        "thought": row.get("opening"),
        "length": row.get("length"),
    }
    return without_none(**shown)


def _critique(stored: str | None) -> str | None:
    """The status of a critique; an imported one has none and counts as ok."""
    return str(orjson.loads(stored).get("status", "ok")) if stored else None


def _names(ctx: Context, session: LedgerSession) -> dict[str, str]:
    """Names of branches whose label differs from their id."""
    return {chain.chain: chain.label for chain in chains_of(ctx, session.id) if chain.label}
