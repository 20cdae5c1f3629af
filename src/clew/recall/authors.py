"""The author of each search result: named in the record, else the agent of the first event about it."""

from __future__ import annotations

from collections.abc import Iterable

from clew.ledger.thought_record import thinkers
from clew.memory import blocks
from clew.memory.block_items import speaker_of
from clew.memory.durable_records import A_PERSON
from clew.registry.callers import families
from clew.registry.context import Context
from clew.store.database import Row
from clew.store.events import first_agents


def authors_of(ctx: Context, rows: Iterable[Row]) -> dict[str, str]:
    """Ref -> author, for those rows of the index that have one.

    The author of a record is known from the connection. A text may begin like a line of a talk (`User: ...`), and the
    index takes that for its speaker; the speaker is only a fallback if no other author is known.
    """
    blocks_found: list[str] = []
    thoughts: dict[int, str] = {}
    others: list[str] = []
    found: dict[str, str] = {}
    for row in rows:
        ref = row["ref"]
        found[ref] = str(row["speaker"] or "")
        if row["source"] == "block":
            blocks_found.append(ref)
        elif row["source"] == "thought":
            thoughts[row["seq"]] = ref
        else:
            others.append(ref)
    known = _keepers(ctx, blocks_found)
    known |= {thoughts[seq]: agent for seq, agent in thinkers(ctx, list(thoughts)).items()}
    known |= first_agents(ctx.tx, ctx.workspace, others)
    clients = families(ctx) if known else {}
    return {ref: clients.get(author, author) for ref, speaker in found.items() if (author := known.get(ref) or speaker)}


def _keepers(ctx: Context, ids: list[str]) -> dict[str, str]:
    return {block.id: _keeper(block) for block in blocks.current(ctx, ids=ids)} if ids else {}


def _keeper(block: blocks.Block) -> str:
    """The speaker in a conversation; else the author. A manual edit is a person's work, although an agent's
    call imports it."""
    spoken = speaker_of(block)
    if spoken:
        return spoken
    return A_PERSON if block.origin == "edit" else str(block.get("Author") or block.agent or "")
