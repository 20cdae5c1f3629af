"""The author of each item that a search found: named in the record, else the agent of the first event about it."""

from __future__ import annotations

from collections.abc import Iterable

from clew.ledger.thought_record import thinkers
from clew.memory import blocks
from clew.memory.block_items import speaker_of
from clew.memory.standing_records import A_PERSON
from clew.registry.context import Context
from clew.store.database import Row
from clew.store.events import first_agents


def authors_of(ctx: Context, rows: Iterable[Row]) -> dict[str, str]:
    """Ref -> author, for those rows of the index that have one.

    Who wrote a record is known from the connection. A text may begin like a line of a talk (`User: ...`), and the
    index takes that for its speaker; as an author it counts only where nobody else is known.
    """
    rows = list(rows)
    found = {row["ref"]: str(row["speaker"] or "") for row in rows}
    kept = [row["ref"] for row in rows if row["source"] == "block"]
    thoughts = {row["seq"]: row["ref"] for row in rows if row["source"] == "thought"}
    others = [row["ref"] for row in rows if row["source"] not in ("block", "thought")]
    known = {block.id: _keeper(block) for block in (blocks.current(ctx, ids=kept) if kept else [])}
    known |= {thoughts[seq]: agent for seq, agent in thinkers(ctx, list(thoughts)).items()}
    known |= first_agents(ctx.tx, ctx.workspace, others)
    found |= {ref: author for ref, author in known.items() if author}
    return {ref: author for ref, author in found.items() if author}


def _keeper(block: blocks.Block) -> str:
    """Who speaks in a talk; else the author. A hand edit is a person's work, although an agent's call reads it in."""
    spoken = speaker_of(block)
    if spoken:
        return spoken
    return A_PERSON if block.origin == "edit" else str(block.get("Author") or block.agent or "")
