"""A session's shape thought by thought, without the texts: what a picture of any length can be drawn from."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.clock import rfc3339
from clew.ledger.chains import chains_of
from clew.ledger.inputs import Cursor, LedgerBounded, SessionRef, Words
from clew.ledger.sessions import LedgerSession, session_json, session_named
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.registry.paging import page_json
from clew.store.database import Row

OUTLINE_BUDGET = Budget(
    (Trim("thoughts", drop="last", floor=1, page="pagination"), Drop("branchNames")),
    32_000,
    keep=("sessionId",),
)


class SessionOutline(LedgerBounded):
    session_id: SessionRef
    cursor: Cursor = None
    limit: Annotated[int, Field(ge=1, le=2000, description="Most thoughts to return.")] = 500
    chars: Annotated[int, Field(ge=0, le=1000, description="How much of each text to show; 0 shows none.")] = 0
    find: Annotated[Words | None, Field(min_length=1, description="Only thoughts whose text holds this.")] = None


@operation("session_outline", budget=OUTLINE_BUDGET, example={"sessionId": "00000000-0000-4000-8000-000000000000"})
def session_outline(ctx: Context, args: SessionOutline) -> dict[str, Any]:
    """Show the shape of a session, thought by thought: number, branch, kind, what it revises; texts cut or left out."""
    session = session_named(ctx, args.session_id)
    rows = _rows(ctx, session, args)
    shown, more = rows[: args.limit], len(rows) > args.limit
    return {
        "sessionId": session.id,
        "session": session_json(session),
        "thoughts": [_outlined(row) for row in shown],
        # Once is enough: they come with the first page.
        "branchNames": _names(ctx, session) if not args.cursor else {},
        "pagination": page_json(args.cursor, args.limit, len(shown), shown[-1]["seq"] if more else None),
    }


_SHAPE = (
    "thought.chain, thought.number, thought.seq, thought.ts_ms, thought.kind, from_chain, from_number, is_revision,"
    " revises_chain, revises_number, critique"
)
_ENTRY = " JOIN entry ON entry.workspace = thought.workspace AND entry.seq = thought.seq"


def _rows(ctx: Context, session: LedgerSession, args: SessionOutline) -> list[Row]:
    """One more than the limit when there are more. Texts may be large, so they are touched only when asked for."""
    columns = _SHAPE
    params: list[Any] = []
    if args.chars:
        columns += ", substr(entry.content, 1, CAST(? AS INTEGER)) AS opening, length(entry.content) AS length"
        params.append(args.chars)
    params += [ctx.workspace, session.id, args.cursor or 0]
    condition = "thought.workspace = ? AND thought.session = ? AND thought.seq > ?"
    if args.find is not None:
        condition += " AND (entry.content LIKE ? ESCAPE '!' OR lower(entry.content) LIKE ? ESCAPE '!')"
        params += [_holding(args.find), _holding(args.find.lower())]
    entry = _ENTRY if args.chars or args.find is not None else ""
    sql = f"SELECT {columns} FROM thought{entry} WHERE {condition} ORDER BY thought.seq LIMIT ?"
    return ctx.tx.all(sql, *params, args.limit + 1)


def _holding(text: str) -> str:
    escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"


def _outlined(row: Row) -> dict[str, Any]:
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
        "timestamp": rfc3339(row["ts_ms"]),
        "seq": row["seq"],
        "thought": row.get("opening"),
        "length": row.get("length"),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _critique(stored: str | None) -> str | None:
    """How it went; one that was imported says nothing about that, it is simply there."""
    return str(orjson.loads(stored).get("status", "ok")) if stored else None


def _names(ctx: Context, session: LedgerSession) -> dict[str, str]:
    """What branches are called where that is not their id."""
    return {chain.chain: chain.label for chain in chains_of(ctx, session.id) if chain.label}
