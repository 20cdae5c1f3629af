"""How often items were shown, and together with which others; and memory_evolution, which shows that."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.clock import rfc3339
from clew.memory import blocks
from clew.memory.files.governed_write import failing
from clew.memory.files.sync import sync
from clew.recall.answer import DAY_MS
from clew.recall.tallies import Tallies, Tally, flush_tallies
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, Name, operation
from clew.store.database import Row, Transaction

MOST_PAIRED = 10
_SHOWN = (
    "INSERT INTO item_use (workspace, ref, uses, last_ms) VALUES (?, ?, ?, ?) ON CONFLICT (workspace, ref) DO UPDATE"
    " SET uses = item_use.uses + excluded.uses, last_ms = excluded.last_ms"
)
_PAIR = (
    "INSERT INTO item_pair (workspace, ref, other, uses) VALUES (?, ?, ?, ?) ON CONFLICT (workspace, ref, other)"
    " DO UPDATE SET uses = item_pair.uses + excluded.uses"
)
LEAST, MOST = 0.8, 1.5
NEVER_USED = 0.5
SHOWN = 5


@dataclass
class Uses(Tally):
    """Uses that are not yet written."""

    shown: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    last: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, workspace: str, refs: list[str], now_ms: int) -> None:
        for ref in refs:
            self.shown[workspace, ref] += 1
            self.last[workspace, ref] = now_ms
        # Pairs grow with the square of the list, so only the first results are paired.
        for ref in refs[:MOST_PAIRED]:
            for other in refs[:MOST_PAIRED]:
                if other != ref:
                    self.pairs[workspace, ref, other] += 1

    def write(self, tx: Transaction) -> None:
        for (workspace, ref), count in sorted(self.shown.items()):
            tx.run(_SHOWN, workspace, ref, count, self.last[workspace, ref])
        for (workspace, ref, other), count in sorted(self.pairs.items()):
            tx.run(_PAIR, workspace, ref, other, count)


def note_use(ctx: Context, refs: list[str], now_ms: int) -> None:
    """Count that these items were shown together."""
    if refs:
        with ctx.database.resources.of(Tallies).of(Uses) as uses:
            uses.add(ctx.workspace, refs, now_ms)


def uses_of(tx: Transaction, workspace: str, ref: str) -> Row | None:
    return tx.one("SELECT uses, last_ms FROM item_use WHERE workspace = ? AND ref = ?", workspace, ref)


def used_refs(ctx: Context) -> set[str]:
    """The refs of all items that were ever shown."""
    rows = ctx.tx.all("SELECT ref FROM item_use WHERE workspace = ?", ctx.workspace)
    return {row["ref"] for row in rows}


def shown_with(tx: Transaction, workspace: str, ref: str, most: int) -> list[Row]:
    """Items that were shown together with an item, the most frequent first."""
    sql = "SELECT other, uses FROM item_pair WHERE workspace = ? AND ref = ? ORDER BY uses DESC, other LIMIT ?"
    return tx.all(sql, workspace, ref, most)


def count_shown_with(tx: Transaction, workspace: str, ref: str) -> int:
    """How many different items were shown together with an item."""
    return int(tx.value("SELECT count(*) FROM item_pair WHERE workspace = ? AND ref = ?", workspace, ref))


class Evolution(Input):
    block_id: Annotated[Name, Field(min_length=1, description="Id of a block, such as D-20260213-001.")]
    action: Annotated[Literal["get", "update"], Field(description="get: show; update: recompute the importance.")] = (
        "get"
    )


@operation("memory_evolution", mode="own", example={"block_id": "D-20260213-001"}, view=BARE)
def memory_evolution(ctx: Context, args: Evolution) -> dict[str, Any]:
    """Show how a block is used: its importance and the blocks it is often found with."""
    sync(ctx)
    flush_tallies(ctx.database)
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
    """Importance, computed from the counts at each call, because it falls with time even when nothing is written."""
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
