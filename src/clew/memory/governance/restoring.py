"""Restoring a block that was withdrawn, replaced or removed from its file."""

from __future__ import annotations

from collections.abc import Sequence

from clew.errors import ClewError, suggest
from clew.ids import PROPOSAL, kind_by_form
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.markdown import set_field
from clew.memory.governance import proposals
from clew.memory.governance.patches import Op, restored_text
from clew.memory.governance.proposals import UNNAMED, Staged
from clew.memory.governance.submission import ending_of, waits_for
from clew.memory.kinds import kind_of
from clew.registry.context import Context
from clew.registry.people import check_person
from clew.registry.record import Restoration, restorer

ORIGIN = "restore"


@restorer("block")
def restore_block(ctx: Context, id: str, why: str, was: str | None) -> Restoration:
    """Restore a block to its last version in force; staged if approval is needed."""
    if PROPOSAL.fullmatch(id):
        return Restoration(proposals.reopen(ctx, id).status)
    bring_back(ctx, id, why)
    return Restoration(live_status(ctx, id))


def stage_if_needed(
    ctx: Context, id: str, why: str, withdraw: Sequence[str], yielding: Sequence[str]
) -> Restoration | None:
    """A proposal to restore a block, to withdraw what holds in its place and to mark what it had
    replaced as replaced again: all of it or nothing. None if no approval is needed for any of them."""
    found = {block.id: block for block in blocks.current(ctx, ids=[id, *withdraw, *yielding])}
    asked = found if id in found else {id: last_said(ctx, id), **found}
    waiting = next((reason for block in asked.values() if block and (reason := waits_for(ctx, block))), None)
    if waiting is None:
        return None
    if id not in found:
        check_person(ctx, f"restoring {id} after its removal ({waiting})", f"restore {id}")
        return None
    status = live_status(ctx, id)
    ops = [Op("set_status", target=other, status=ending_of(found[other].kind)) for other in withdraw if other in found]
    ops.append(Op("restore_block", target=id, status=status, history=_line(ctx, status, why)))
    ops += [Op("replace_block", target=other, value=id) for other in yielding if other in found]
    proposal = proposals.stage(ctx, Staged("edit", id, tuple(ops), (why,), why, by=ctx.agent or UNNAMED))
    return Restoration(found[id].status, proposal.id, waiting)


def bring_back(ctx: Context, id: str, why: str, cause: str | None = None) -> Block:
    """Write the block again, as one in force."""
    known = last_said(ctx, id)
    if known is None:
        way = suggest("recall", "Finds records by their words.", query=id)
        raise ClewError("UNKNOWN_ID", f"there was never a block {id}", "Copy the id.", suggestions=[way])
    status = live_status(ctx, id)
    text = restored_text(known.text.replace("\r\n", "\n"), status, _line(ctx, status, why))
    written = blocks.write(ctx, id, text, origin=ORIGIN, cause=cause, file=known.file)
    proposals.follow_changes(ctx, [id])
    return written


def give_way(ctx: Context, id: str, successor: str) -> Block:
    """Mark a block as replaced by a record that was restored."""
    block = blocks.get(ctx, id)
    text = set_field(block.text.replace("\r\n", "\n"), "Status", statuses.SUPERSEDED)
    if kind_by_form(successor) == "block":
        text = set_field(text, "SupersededBy", successor)
    written = blocks.write(ctx, id, text, origin=ORIGIN, cause=successor)
    proposals.follow_changes(ctx, [id])
    return written


def last_said(ctx: Context, id: str) -> Block | None:
    """The last text of a block, also if it was removed from its file."""
    return next((version for version in reversed(blocks.history(ctx, id)) if not version.gone), None)


def has_held(ctx: Context, id: str) -> bool:
    """Whether any version of a block was in force or open; one without a status always was."""
    return any(not item.gone and item.kind.state(item.status).is_live for item in blocks.history(ctx, id))


def live_status(ctx: Context, id: str) -> str:
    """The status with which a block was last in force; by default the first such status of its kind."""
    versions = reversed(blocks.history(ctx, id))
    held = (item.status for item in versions if not item.gone and item.kind.state(item.status).is_live)
    return next((status for status in held if status), kind_of(id).live[0])


def _line(ctx: Context, status: str, why: str) -> str:
    return f"{blocks.day_of(ctx.now_ms)} {status}: {why}"
