"""The author of each item that a search found: named in the record, else the agent of the first event about it."""

from __future__ import annotations

from collections.abc import Iterable

from clew.ledger.thought_record import thinkers
from clew.memory import blocks
from clew.memory.standing_records import A_PERSON
from clew.registry.context import Context
from clew.store.database import Row
from clew.store.events import first_agents


def authors_of(ctx: Context, rows: Iterable[Row]) -> dict[str, str]:
    """Ref -> author, for those rows of the index that have one."""
    found = {row["ref"]: str(row["speaker"] or "") for row in rows}
    unsaid = [row for row in rows if not row["speaker"]]
    kept = [row["ref"] for row in unsaid if row["source"] == "block"]
    thoughts = {row["seq"]: row["ref"] for row in unsaid if row["source"] == "thought"}
    others = [row["ref"] for row in unsaid if row["source"] not in ("block", "thought")]
    found |= {block.id: _keeper(block) for block in (blocks.current(ctx, ids=kept) if kept else [])}
    found |= {thoughts[seq]: agent for seq, agent in thinkers(ctx, list(thoughts)).items()}
    found |= first_agents(ctx.tx, ctx.workspace, others)
    return {ref: author for ref, author in found.items() if author}


def _keeper(block: blocks.Block) -> str:
    """The author of a block. A hand edit is a person's work, although an agent's call reads it into the store."""
    return A_PERSON if block.origin == "edit" else str(block.get("Author") or block.agent or "")
