"""The queue of records that are yet to be compared with their neighbours, in order of change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from clew.hooks import HookPoint
from clew.memory.contradictions.assertions import Assertion
from clew.registry.context import Context

queued: HookPoint[Callable[[Context, list[str]], None]] = HookPoint("queued")
"""Called with the ids of queued records, after the commit."""


class Waiting(NamedTuple):
    id: str
    seq: int


def add(ctx: Context, assertions: Iterable[Assertion]) -> None:
    """Queue records for comparison after the commit."""
    rows = [(ctx.workspace, assertion.id, assertion.block.seq) for assertion in assertions]
    if rows:
        ctx.tx.many(_ADD, rows)
        ids = [id for _, id, _ in rows]
        for compare in queued.all():
            ctx.after_commit(partial(compare, ctx, ids))


def oldest(ctx: Context, most: int) -> list[Waiting]:
    sql = "SELECT id, seq FROM judgement_queue WHERE workspace = ? ORDER BY seq, id LIMIT ?"
    return [Waiting(id, seq) for id, seq in ctx.tx.tuples(sql, ctx.workspace, most)]


def count(ctx: Context) -> int:
    return int(ctx.tx.value("SELECT count(*) FROM judgement_queue WHERE workspace = ?", ctx.workspace))


def remove(ctx: Context, done: Sequence[Waiting]) -> None:
    """Remove those that have not changed again meanwhile."""
    sql = "DELETE FROM judgement_queue WHERE workspace = ? AND id = ? AND seq = ?"
    ctx.tx.many(sql, [(ctx.workspace, *item) for item in done])


_ADD = (
    "INSERT INTO judgement_queue (workspace, id, seq) VALUES (?, ?, ?)"
    " ON CONFLICT (workspace, id) DO UPDATE SET seq = excluded.seq"
)
