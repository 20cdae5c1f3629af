"""Lists of current blocks: pages along one index, and counts along another, at any number of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clew.memory.blocks import LIVE, Block, from_row
from clew.memory.kinds import IN_USE
from clew.registry.context import Context
from clew.store.conditions import Position, holding
from clew.store.database import placeholders

_LIVE = f"{LIVE} AND {IN_USE}"


@dataclass(frozen=True, slots=True)
class BlockFilter:
    """Which blocks to list; prefixes of None are all. Private and archived blocks are never listed."""

    prefixes: tuple[str, ...] | None = None
    status: str | None = None
    words: tuple[str, ...] = ()
    """Each must occur in the text or the id; case-insensitive."""
    ids: tuple[str, ...] | None = None


def page(ctx: Context, wanted: BlockFilter, after: Position | None, offset: int, limit: int) -> list[Block]:
    """Matching blocks, most recently changed first, after a cursor or an offset."""
    sql, params = _condition(ctx, wanted, walk=True)
    if after is not None:
        condition, values = after.behind("id")
        sql, params = f"{sql} AND {condition}", [*params, *values]
    query = f"SELECT * FROM block WHERE {sql} ORDER BY seq DESC, id LIMIT ? OFFSET ?"
    return [from_row(row) for row in ctx.tx.all(query, *params, limit, 0 if after is not None else offset)]


def oldest(ctx: Context, prefix: str, statuses: Sequence[str], most: int) -> list[Block]:
    """Blocks of a kind with one of these statuses, those that have had it longest first."""
    sql = f"SELECT * FROM block WHERE {_LIVE} AND prefix = ? AND status = ? ORDER BY seq LIMIT ?"
    asked = ctx.tx.batch(sql, [(ctx.workspace, prefix, status, most) for status in statuses])
    found = [from_row(row) for rows in asked for row in rows]
    return sorted(found, key=lambda block: block.seq)[:most]


def counts(ctx: Context, wanted: BlockFilter) -> dict[str, int]:
    """The number of matching blocks, by status."""
    sql, params = _condition(ctx, wanted, walk=False)
    query = f"SELECT prefix, status, count(*) AS blocks FROM block WHERE {sql} GROUP BY prefix, status"
    found: dict[str, int] = {}
    for row in ctx.tx.all(query, *params):
        found[row["status"] or ""] = found.get(row["status"] or "", 0) + int(row["blocks"])
    return dict(sorted(found.items()))


def _condition(ctx: Context, wanted: BlockFilter, *, walk: bool) -> tuple[str, list[Any]]:
    parts, params = [_LIVE], [ctx.workspace]
    if wanted.prefixes is not None and len(wanted.prefixes) == 1:
        parts.append("prefix = ?")
        params += wanted.prefixes
    elif wanted.prefixes is not None:
        # As an expression the planner cannot start from the prefix: it would sort all blocks to find the newest.
        column = "nullif(prefix, '')" if walk else "prefix"
        parts.append(f"{column} IN ({placeholders(len(wanted.prefixes))})")
        params += wanted.prefixes
    if wanted.status is not None:
        parts.append("status = ?" if wanted.status else "(status IS NULL OR status = '')")
        params += [wanted.status] if wanted.status else []
    if wanted.ids is not None:
        parts.append(f"id IN ({placeholders(len(wanted.ids))})" if wanted.ids else "1 = 0")
        params += wanted.ids
    for word in wanted.words:
        condition, values = holding("id || ' ' || text", word)
        parts.append(condition)
        params += values
    return " AND ".join(parts), params
