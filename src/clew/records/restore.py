"""restore: reinstates a record that was withdrawn, replaced or removed from its file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import ClewError, shorten, suggest
from clew.ids import PROPOSAL, kind_by_form
from clew.kinds import statuses
from clew.kinds.kind import BLOCK
from clew.kinds.state import LIVE, State
from clew.memory.governance.restoring import has_held, last_said, stage_if_needed
from clew.records.focus import step_named
from clew.records.links import kind_of, lift_retractions, retraction_of
from clew.records.open import Open, bare_id, find_record, unknown_record
from clew.records.retract import retract_within, retraction, writing_about
from clew.records.succession import (
    LONGEST,
    earlier,
    heir_of,
    later,
    predecessors,
    replace_again,
    state_of,
    states_of,
)
from clew.records.verdicts import verdict_of
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Title, View, operation
from clew.registry.record import Restoration, restorer
from clew.surroundings import clew_command


class Restore(Input):
    synonyms: ClassVar[dict[str, str]] = {
        "reason": "why",
        **dict.fromkeys(("ref", "record_id", "record", "block_id", "card_id", "task", "step"), "id"),
    }

    id: Annotated[Name, Field(min_length=1, description="What is to hold again: any id that open takes.")]
    why: Annotated[Title, Field(description="The reason.")] = ""


def restore_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    if result.get("waits_for"):
        run = clew_command(f"approve {result['waits_for']}")
        return [f"proposed: {result['id']} is restored when a person agrees ({run}): {result['note']}"]
    if not result["written"]:
        return [f"{result['id']} is {result['label']}: nothing to restore"]
    gone = ", ".join(result["withdrawn"])
    again = ", ".join(result["replaced"])
    parts = [
        f"{result['id']} is {result['label']} again",
        f"withdrawn {gone}, which had taken its place" if gone else "",
        f"{again} {'is' if len(result['replaced']) == 1 else 'are'} replaced by it again" if again else "",
    ]
    return ["; ".join(part for part in parts if part)]


@operation(
    "restore",
    writes=True,
    mode="own",
    example={"id": "CARD-1", "why": "It was right after all."},
    view=View(in_lines=True, lines=restore_lines),
)
def restore(ctx: Context, args: Restore) -> dict[str, Any]:
    """Bring back any record that was withdrawn or replaced: it holds again.

    What had taken its place is withdrawn; what it had replaced itself is replaced again. A rule, a preference
    and what is a person's is staged for review.
    """
    id = bare_id(ctx, args.id)
    with ctx.reading() as reading:
        id = step_named(reading, id) or id
        line = _line_of(reading, id)
    why = shorten(" ".join(args.why.split()), 300) or f"{id} holds again"
    with writing_about(ctx, id, *line) as bound:
        return {"workspace": ctx.workspace, "id": id, **_restored(bound, id, why)}


def _line_of(ctx: Context, id: str) -> list[str]:
    """The records before and after one in its line of replacements, whose files may have to be written."""
    return [*earlier(ctx, id), *later(ctx, id)]


def _restored(ctx: Context, id: str, why: str) -> dict[str, Any]:
    state = _state(ctx, id)
    if state is State.PROPOSED:
        raise ClewError(
            "CONFLICT",
            f"{id} is proposed and waits for a person",
            f"A person approves it: {clew_command(f'approve {id}')}.",
            suggestions=[suggest("open", "Shows what waits, and why.", "high", id=id)],
        )
    if state in LIVE:
        return {"written": False, "label": verdict_of(ctx, id).label, "withdrawn": [], "replaced": []}
    _check_held(ctx, id)
    _check_single_successor(ctx, id, why)
    staged = _staged(ctx, id, why)
    if staged is not None:
        return {"written": True, "waits_for": staged.proposal, "note": staged.note or ""}
    gone = _withdraw_successors(ctx, id, why)
    done = _bring_back(ctx, id, why) if _state(ctx, id) not in LIVE else Restoration(None)
    again = replace_again(ctx, id)
    return {
        "written": True,
        "label": verdict_of(ctx, id).label,
        "status": done.status,
        "withdrawn": gone,
        "replaced": again,
    }


def _state(ctx: Context, id: str) -> State:
    known = state_of(ctx, id)
    if known is not None:
        return known
    # Records that are not in the search index: a job, an anchor, a block that was removed from its file.
    opened = find_record(ctx, id, Open(id=id, limit=1))
    if opened is None:
        raise unknown_record(id)
    return State.WITHDRAWN


def _check_held(ctx: Context, id: str) -> None:
    """Refuse a record that was never in force: restoring it would make a decision that is up to a person."""
    if kind_by_form(id) != BLOCK or PROPOSAL.fullmatch(id) or has_held(ctx, id):
        return
    block = last_said(ctx, id)
    if block is None:
        return
    if block.status == statuses.REJECTED and block.get("Proposal"):
        proposal = block.get("Proposal")
        raise ClewError(
            "CONFLICT",
            f"{id} never held: {proposal} was rejected",
            "Take the proposal up again, so that a person decides anew.",
            suggestions=[suggest("reopen_proposal", "It waits for a person again.", "high", proposal_id=proposal)],
        )
    given = {"text": block.headline, "kind": block.kind.name}
    raise ClewError(
        "CONFLICT",
        f"{id} never held: it was withdrawn while it waited",
        "Remember it anew.",
        suggestions=[suggest("remember", "Keeps the same text as a new record.", "high", **given)],
    )


def _check_single_successor(ctx: Context, id: str, why: str) -> None:
    """Refuse if another record has replaced a predecessor of this one: then two would be in force there."""
    for old in predecessors(ctx, id):
        heir = heir_of(ctx, old)
        if heir is not None and heir != id and heir not in later(ctx, id):
            raise ClewError(
                "CONFLICT",
                f"{id} had replaced {old}, whose place {heir} has taken since",
                f"Retract {heir} with replaced_by={id} after it is withdrawn, or keep {heir}.",
                suggestions=[suggest("retract", f"Withdraws {heir}; then restore {id}.", "high", id=heir, why=why)],
            )


def _staged(ctx: Context, id: str, why: str) -> Restoration | None:
    """The proposal for the whole restore, if any part needs approval."""
    if kind_by_form(id) != BLOCK or PROPOSAL.fullmatch(id):
        return None
    behind, before = later(ctx, id), predecessors(ctx, id)
    states = states_of(ctx, [*behind, *before])
    withdrawn = [other for other in behind if states.get(other) in (*LIVE, State.REPLACED)]
    yielding = [old for old in before if states.get(old) in LIVE]
    return stage_if_needed(ctx, id, why, withdrawn, yielding)


def _withdraw_successors(ctx: Context, id: str, why: str) -> list[str]:
    """Withdraw the current successors of the record, until the record is in force itself."""
    gone: list[str] = []
    while len(gone) < LONGEST:
        heir = heir_of(ctx, id)
        if heir is None or heir in gone or states_of(ctx, [heir])[heir] not in LIVE:
            return gone
        retract_within(ctx, heir, retraction(ctx, heir, why, None))
        gone.append(heir)
    return gone


def _bring_back(ctx: Context, id: str, why: str) -> Restoration:
    kind = kind_by_form(id) or kind_of(ctx, id)
    bring = restorer.find(kind or "")
    if bring is None:
        raise ClewError(
            "CONFLICT",
            f"a {kind} cannot be restored",
            "Write it anew.",
            suggestions=[suggest("open", "Shows what it said.", "high", id=id)],
        )
    ended = retraction_of(ctx, id)
    done = bring(ctx, id, why, ended.was if ended is not None else None)
    lift_retractions(ctx, id)
    ctx.emit("records", "record_restored", id, {"why": why})
    return done
