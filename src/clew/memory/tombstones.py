"""Rejected values: kept by their normal form, so that another wording does not bring them back."""

from __future__ import annotations

from collections.abc import Sequence

from clew.clock import rfc3339
from clew.errors import ClewError, shorten, suggest
from clew.memory.marks import mark
from clew.registry.context import Context
from clew.store.database import Row


def bury(ctx: Context, statement: str, proposal: str, reason: str) -> None:
    ctx.tx.run(
        "INSERT INTO tombstone (workspace, mark, proposal, statement, reason, agent, seq, created_at_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, mark) DO NOTHING",
        ctx.workspace,
        mark(statement),
        proposal,
        statement,
        reason,
        ctx.agent,
        ctx.ws.seq,
        ctx.now_ms,
    )


def rejected(ctx: Context, statement: str) -> Row | None:
    """The tombstone of a value, if it has one."""
    return next(iter(_buried(ctx, [statement])[0]), None)


def rejected_among(ctx: Context, statements: Sequence[str]) -> set[str]:
    """Those of many values that have one."""
    found = _buried(ctx, statements)
    return {statement for statement, rows in zip(statements, found, strict=True) if rows}


def _buried(ctx: Context, statements: Sequence[str]) -> list[list[Row]]:
    sql = "SELECT * FROM tombstone WHERE workspace = ? AND mark = ?"
    return ctx.tx.each(sql, [(ctx.workspace, mark(statement)) for statement in statements])


def check(ctx: Context, statement: str) -> None:
    """Refuse a value that was rejected before, and say when and why."""
    found = rejected(ctx, statement)
    if found is None:
        return
    when = rfc3339(found["created_at_ms"])
    by = f" by {found['agent']}" if found["agent"] else ""
    raise ClewError(
        "NOT_ALLOWED",
        f"rejected value: {found['proposal']} ({shorten(found['statement'], 120)}) was rejected on {when}{by}:"
        f" {shorten(found['reason'], 300)}",
        "A rejected value stays rejected. Propose something else, or a person writes it into the file by hand.",
        suggestions=[suggest("list_proposals", "Shows what was rejected and why.", "medium", status="rejected")],
        details={"rule": "rejected_value", "proposal_id": found["proposal"], "rejected_at": when, "ends": None},
    )
