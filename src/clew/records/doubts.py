"""Durable records that may contradict each other: reported while both hold, until they are marked as coexisting.

`open` reads verdicts that are stored by the digests of two statements: it needs no model, and nothing
to update when a statement changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.ids import kind_by_form
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions import detection
from clew.memory.contradictions.detection import Clashing, NewStatement
from clew.memory.files.markdown import set_field
from clew.memory.governance.proposals import follow_changes
from clew.memory.kinds import prefix_of
from clew.registry.callers import is_own
from clew.registry.context import Context

ORIGIN = "keep"


def doubts_about(ctx: Context, id: str) -> list[Block]:
    """Records in force that may contradict this one. Certain contradictions have a separate entry."""
    own = blocks.find(ctx, id) if kind_by_form(id) == "block" else None
    if own is None or own.status != statuses.ACTIVE:
        return []
    return [found.block for found in _against(ctx, own) if not found.sure and not _settles(found.block, id)]


def said_by(block: Block) -> str:
    return block.get("Statement") or block.headline


def _against(ctx: Context, own: Block) -> list[Clashing]:
    statement = NewStatement(prefix_of(own.id), said_by(own))
    return detection.clashing(ctx, own.id, statement, (*own.replaces, *own.beside))


def _settles(other: Block, id: str) -> bool:
    """Whether the other record states that it replaces this one, or coexists with it."""
    return id in (*other.replaces, *other.beside)


def keep_beside(ctx: Context, id: str, beside: Sequence[str]) -> list[str]:
    """Note in a record of the caller's that it coexists with others; returns the ids that were added.

    A certain contradiction to another author's record is left alone: a person decides about it.
    """
    own = blocks.get(ctx, id)
    if own.status != statuses.ACTIVE or not _is_callers(ctx, id):
        return []
    sure = {found.block.id for found in _against(ctx, own) if found.sure}
    new = [other for other in dict.fromkeys(beside) if other not in (id, *own.beside)]
    new = [other for other in new if other not in sure or _is_callers(ctx, other)]
    if new:
        text = set_field(own.text, "HoldsBeside", ", ".join([*own.beside, *new]))
        blocks.write(ctx, id, text, origin=ORIGIN, cause=id)
        follow_changes(ctx, [id])
    return new


def _is_callers(ctx: Context, id: str) -> bool:
    """Whether the caller wrote the whole record. A hand edit belongs to a person, whichever call read it."""
    return all(version.origin != "edit" and is_own(ctx, version.agent) for version in blocks.history(ctx, id))
