"""How much a block matters by use: how often it was shown, how lately, and with how many others."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.clock import rfc3339
from clew.memory import blocks
from clew.memory.files.sync import sync
from clew.memory.files.writes import failing
from clew.recall.answer import DAY_MS
from clew.recall.uses import count_shown_with, flush_uses, shown_with, uses_of
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation

LEAST, MOST = 0.8, 1.5
NEVER_USED = 0.5
SHOWN = 5


class Evolution(Input):
    block_id: Annotated[Name, Field(min_length=1, description="Id of a block, such as D-20260213-001.")]
    action: Annotated[Literal["get", "update"], Field(description="get: show; update: recompute the importance.")] = (
        "get"
    )


@operation("memory_evolution", mode="own", bare=lambda result: result, example={"block_id": "D-20260213-001"})
def memory_evolution(ctx: Context, args: Evolution) -> dict[str, Any]:
    """Show how a block is used: its importance and the blocks it is often found with."""
    sync(ctx)
    flush_uses(ctx.database)
    with failing(block_id=args.block_id), ctx.reading() as bound:
        block = blocks.get(bound, args.block_id)
        used = _used(bound, block.id)
        if args.action == "update":
            return {"block_id": block.id, "action": "updated", **used}
        together = [row for row in shown_with(bound.tx, bound.workspace, block.id, SHOWN * 4) if _is_there(bound, row)]
        return {
            "block_id": block.id,
            **used,
            "co_occurring_blocks": [row["other"] for row in together[:SHOWN]],
            "co_occurrences": {row["other"]: int(row["uses"]) for row in together[:SHOWN]},
        }


def _is_there(ctx: Context, row: dict[str, Any]) -> bool:
    return blocks.find(ctx, row["other"]) is not None


def _used(ctx: Context, id: str) -> dict[str, Any]:
    """Computed from the counts each time, so that every use shows at once and time passes by itself."""
    row = uses_of(ctx.tx, ctx.workspace, id)
    uses, last = (int(row["uses"]), int(row["last_ms"])) if row else (0, None)
    connections = count_shown_with(ctx.tx, ctx.workspace, id)
    days = None if last is None else max(0, ctx.now_ms - last) / DAY_MS
    return {
        "importance": importance(uses, days, connections),
        "accesses": uses,
        "connections": connections,
        "last_used": rfc3339(last) if last is not None else None,
    }


def importance(uses: int, days: float | None, connections: int) -> float:
    recency = NEVER_USED if days is None else math.exp(-days / 30)
    raw = 0.4 * math.log1p(uses) + 0.4 * recency + 0.2 * math.log1p(connections)
    return round(min(max(0.8 + 0.35 * raw, LEAST), MOST), 4)
