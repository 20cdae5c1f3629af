"""Ownership of records: who may replace, withdraw or restore one without approval.

Rules and preferences belong to the user, and what a person wrote, edited or approved belongs to that
person: an agent only proposes to change it. Everything else belongs to the agents of the workspace, any
of which may change it.
"""

from __future__ import annotations

from clew.ids import is_person
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.kinds import KINDS
from clew.registry.callers import is_own
from clew.registry.context import Context

OF_THE_USER = (KINDS["R"], KINDS["U"])
WAITING = (statuses.PROPOSED, statuses.PENDING_REVIEW)


def whose(ctx: Context, block: Block) -> str | None:
    """Why this caller may only propose to change the record, as a description of it; None if it may change it."""
    if ctx.connection.person:
        return None
    versions = blocks.history(ctx, block.id)
    if block.status in WAITING:
        own = bool(versions) and is_own(ctx, versions[0].agent)
        return None if own else "another agent's, and waits for a person"
    if block.kind is KINDS["C"]:
        return "a contradiction, which a person decides"
    if block.kind in OF_THE_USER:
        return f"a {block.kind.name}, which belongs to the user"
    if any(version.origin == "edit" for version in versions):
        return "edited by a person"
    person = next((version.agent for version in reversed(versions) if is_person(version.agent)), None)
    return f"{person}'s" if person else None
