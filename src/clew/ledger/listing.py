"""Finding sessions by tags, words and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.ledger.sessions import LedgerSession, from_row, session_json, work_tags
from clew.registry.context import Context
from clew.store.database import placeholders

ORDERS = {"createdAt": "created_at_ms", "updatedAt": "updated_at_ms", "title": "title"}


@dataclass(frozen=True, slots=True)
class Query:
    tags: tuple[str, ...] = ()
    """All of them, whatever their case."""
    search: str | None = None
    limit: int = 20
    offset: int = 0
    sort_by: str = "updatedAt"
    descending: bool = True
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    sessions: list[LedgerSession]
    total: int
    has_more: bool


def find_sessions(ctx: Context, query: Query) -> Found:
    where, params = _condition(ctx, query)
    direction = "DESC" if query.descending else "ASC"
    rows = ctx.tx.all(
        f"SELECT * FROM ledger_session WHERE {where} ORDER BY {ORDERS[query.sort_by]} {direction}, id {direction}"
        " LIMIT ? OFFSET ?",
        *params,
        query.limit,
        query.offset,
    )
    total = int(ctx.tx.value(f"SELECT count(*) FROM ledger_session WHERE {where}", *params))
    return Found([from_row(row) for row in rows], total, total > query.offset + len(rows))


def _condition(ctx: Context, query: Query) -> tuple[str, list[Any]]:
    parts, params = ["workspace = ? AND deleted_at_ms IS NULL"], [ctx.workspace]
    for tag in query.tags:
        parts.append("id IN (SELECT session FROM ledger_tag WHERE workspace = ? AND tag = ?)")
        params += [ctx.workspace, tag.strip().casefold()]
    if query.status:
        parts.append("status = ?")
        params.append(query.status)
    if query.search and query.search.strip():
        parts.append("words LIKE ? ESCAPE '!'")
        params.append(f"%{escaped(query.search.strip().casefold())}%")
    return " AND ".join(parts), params


def escaped(text: str) -> str:
    """For LIKE: what the caller types is taken literally."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def related(ctx: Context, session: LedgerSession, limit: int) -> list[dict[str, Any]]:
    """Other sessions of the same project, task or aspect; those that share most come first."""
    tags = [tag.casefold() for tag in work_tags(dict(session.work))]
    if not tags:
        return []
    rows = ctx.tx.all(
        "SELECT session, count(*) AS shared FROM ledger_tag"
        f" WHERE workspace = ? AND tag IN ({placeholders(len(tags))}) AND session <> ?"
        " GROUP BY session ORDER BY shared DESC, session LIMIT ?",
        ctx.workspace,
        *tags,
        session.id,
        limit * 4,
    )
    ids = [row["session"] for row in rows]
    if not ids:
        return []
    found = ctx.tx.all(
        "SELECT * FROM ledger_session WHERE workspace = ? AND deleted_at_ms IS NULL"
        f" AND id IN ({placeholders(len(ids))})",
        ctx.workspace,
        *ids,
    )
    known = {row["id"]: from_row(row) for row in found}
    shown = [known[key] for key in ids if key in known][:limit]
    return [
        {name: value for name, value in session_json(item).items() if name in {"id", "title", "thoughtCount", "status"}}
        for item in shown
    ]
