"""Shifts: by how much the places behind a change have moved. Kept apart, so that no change writes every place."""

from __future__ import annotations

import bisect
from itertools import accumulate

from clew.registry.context import Context
from clew.store.database import Row

MOST_SHIFTS = 256
"""Every read of places sums the shifts of the file, so they are written into the places before there are many."""


class Shifts:
    """The shifts of one file, summed."""

    def __init__(self, rows: list[Row]) -> None:
        self.ordinals = [row["ordinal"] for row in rows]
        self.bytes = list(accumulate((row["bytes"] for row in rows), initial=0))
        self.lines = list(accumulate((row["lines"] for row in rows), initial=0))

    def before(self, ordinal: int) -> tuple[int, int]:
        """How far a place with this ordinal has moved."""
        count = bisect.bisect_left(self.ordinals, ordinal)
        return self.bytes[count], self.lines[count]


def shifts(ctx: Context, file: str) -> Shifts:
    sql = "SELECT ordinal, bytes, lines FROM shift WHERE workspace = ? AND file = ? ORDER BY ordinal"
    return Shifts(ctx.tx.all(sql, ctx.workspace, file))


def shift(ctx: Context, file: str, ordinal: int, bytes_grown: int, lines_grown: int) -> None:
    """Move every place behind an ordinal."""
    if not bytes_grown and not lines_grown:
        return
    ctx.tx.run(
        "INSERT INTO shift (workspace, file, ordinal, bytes, lines) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (workspace, file, ordinal) DO UPDATE SET bytes = shift.bytes + excluded.bytes,"
        " lines = shift.lines + excluded.lines",
        ctx.workspace,
        file,
        ordinal,
        bytes_grown,
        lines_grown,
    )
    count = ctx.tx.value("SELECT count(*) FROM shift WHERE workspace = ? AND file = ?", ctx.workspace, file)
    if count > MOST_SHIFTS:
        settle(ctx, file)


def settle(ctx: Context, file: str) -> None:
    """Write the shifts into the places they move."""
    moved = shifts(ctx, file)
    edges = [*moved.ordinals, None]
    for index, low in enumerate(moved.ordinals):
        high = edges[index + 1]
        bound = "" if high is None else " AND ordinal <= ?"
        params = [moved.bytes[index + 1], moved.lines[index + 1], ctx.workspace, file, low]
        ctx.tx.run(
            "UPDATE place SET at_byte = at_byte + ?, at_line = at_line + ?"
            f" WHERE workspace = ? AND file = ? AND ordinal > ?{bound}",
            *params,
            *([] if high is None else [high]),
        )
    ctx.tx.run("DELETE FROM shift WHERE workspace = ? AND file = ?", ctx.workspace, file)
