"""retract: one call that withdraws any record, in any store. Nothing is lost; both ends are marked."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import kind_by_form
from clew.index.items import mark_item
from clew.kinds.kind import BLOCK, CARD, THOUGHT
from clew.kinds.state import LIVE, State
from clew.kinds.statuses import CANCELED, DISOWNED, REOPENED, RESOLVED
from clew.memory.files.markdown import clean
from clew.records.focus import step_named
from clew.records.links import keep_retraction, kind_of, links_of
from clew.records.open import Open, bare_id, find_record, unknown_record
from clew.records.succession import (
    earlier,
    heir_of,
    precedes,
    replaced_among,
    restore_predecessors,
    state_of,
    status_of,
)
from clew.records.verdicts import verdict_of, verdicts
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Names, Title, View, operation
from clew.registry.record import Retracted, Retraction, retracter, writer
from clew.secrets import screened
from clew.store.workspaces import declare_events
from clew.surroundings import clew_command

declare_events(
    {
        "record_retracted": "A record of whatever store was withdrawn, with a reason.",
        "record_restored": "A record that was withdrawn or replaced holds again.",
    }
)

MOST_RESTING = 50
MOST_CHARS = 400
"""Maximum characters of a successful response."""


class Retract(Input):
    synonyms: ClassVar[dict[str, str]] = {
        "reason": "why",
        "superseded_by": "replaced_by",
        **dict.fromkeys(("ref", "record_id", "record", "block_id", "card_id", "task", "step"), "id"),
    }

    @model_validator(mode="before")
    @classmethod
    def _with_the_others(cls, given: Any) -> Any:
        """Several ids in the place of one are withdrawn together."""
        ids = given.get("id") if isinstance(given, dict) else None
        if not isinstance(ids, list) or len(ids) < 2 or not all(isinstance(id, str) for id in ids):
            return given
        also = given.get("also") or []
        return {**given, "id": ids[0], "also": [*ids[1:], *([also] if isinstance(also, str) else also)]}

    id: Annotated[Name, Field(min_length=1, description="What no longer holds: any id that open takes.")]
    why: Annotated[Title, Field(min_length=1, description="The reason; shown with the record.")]
    replaced_by: Annotated[Name | None, Field(description="Id of what holds instead.")] = None
    also: Annotated[Names, Field(description="Ids to withdraw with it.")] = []


def retract_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    """At most 400 characters, however long the reason and the ids are."""
    head = _what_happened(result)
    lines = [f"{head}: {shorten(result['why'], max(20, 200 - len(head)))}"]
    if result.get("note"):
        lines.append(f"note: {shorten(result['note'], 90)}")
    resting, total = result["rested_on_it"], result["rested_count"]
    if not total:
        return lines
    # The room left by the first lines and the frame of this one; ids are listed as long as they fit.
    room = MOST_CHARS - sum(len(line) + 1 for line in lines) - len(f"rested on it ({total}): , ...")
    named: list[str] = []
    for id in resting:
        room -= len(id) + 2
        if room < 0:
            break
        named.append(id)
    more = ["..."] if len(named) < total else []
    return [*lines, f"rested on it ({total}): {', '.join([*named, *more])}"]


def _what_happened(result: dict[str, Any]) -> str:
    id = result["id"]
    if result.get("waits_for"):
        run = clew_command(f"approve {result['waits_for']}")
        return f"proposed: {id} holds until a person agrees ({run})"
    if result.get("replaced_by"):
        how = "answered" if result["status"] == RESOLVED else "replaced"
        return f"{id} is {how} by {result['replaced_by']}"
    if result["status"] == REOPENED:
        return f"reopened {id}"
    if result["status"] == CANCELED:
        return f"canceled {id}"
    restored = result.get("restored") or []
    back = f"; {', '.join(restored)} {'is' if len(restored) == 1 else 'are'} in force again" if restored else ""
    return f"withdrawn {', '.join([id, *result.get('also', [])])}{back}"


@operation(
    "retract",
    writes=True,
    mode="own",
    example={"id": "CARD-1", "why": "The measurement was wrong."},
    view=View(in_lines=True, lines=retract_lines),
)
def retract(ctx: Context, args: Retract) -> dict[str, Any]:
    """Withdraw any record by its id: a decision, card, thought, step, task, evidence, receipt or proposal.

    Nothing is deleted: the record says from now on that it no longer holds, why, and what holds instead; what rested on
    it is listed, and what it had replaced holds again. A closed step or task is open again. A rule, a preference
    and what is a person's is staged for review.
    """
    with ctx.reading() as reading:
        id, also = _meant(reading, args.id), [_meant(reading, other) for other in args.also]
        touched = [item for own in (id, *also) for item in (own, *earlier(reading, own))]
    said = retraction(ctx, id, args.why, args.replaced_by)
    with writing_about(ctx, *touched) as bound:
        for other in dict.fromkeys(also):
            retract_within(bound, other, replace(said, replaced_by=None))
        _check_successor(bound, id, said)
        resting = links_of(bound, id, MOST_RESTING).resting()
        before = replaced_among(bound, earlier(bound, id))
        kind, done = retract_within(bound, id, said)
        restored = [old for old in before if old not in replaced_among(bound, before)]
        known = verdicts(bound, resting)
    # Records that were replaced or withdrawn themselves need no review.
    fallen = {other for other, verdict in known.items() if verdict.state in (State.REPLACED, State.WITHDRAWN)}
    shown = [other for other in resting if other not in fallen and other != said.replaced_by]
    if done.proposal is not None:
        ctx.suggest(suggest("approve_apply", "Shows what it would change.", "high", proposal_id=done.proposal))
    return {
        "workspace": ctx.workspace,
        "id": id,
        "kind": kind,
        "status": done.status,
        "why": said.why,
        "replaced_by": said.replaced_by,
        "also": also,
        "restored": restored,
        "waits_for": done.proposal,
        "note": done.note,
        "rested_on_it": shown,
        "rested_count": len(shown),
    }


def _meant(ctx: Context, given: str) -> str:
    """The id of a record, or of the step that a path names."""
    id = bare_id(ctx, given)
    return step_named(ctx, id) or id


def retract_within(ctx: Context, id: str, said: Retraction) -> tuple[str, Retracted]:
    """Withdraw a record in the open transaction; returns its kind and the outcome."""
    kind = _checked(ctx, id, said)
    was, state = status_of(ctx, id), state_of(ctx, id)
    if state is State.WITHDRAWN and kind in (BLOCK, CARD, THOUGHT):
        done = Retracted(was or "", note="it was withdrawn already")
    else:
        done = _withdraw(ctx, kind, id, said)
    keep_retraction(ctx, id, kind, said, done, was)
    ctx.emit("records", "record_retracted", id, {"kind": kind, "status": done.status, "why": said.why})
    if done.proposal is None and said.replaced_by is None and state in LIVE:
        restore_predecessors(ctx, [id])
    return kind, done


def retraction(ctx: Context, id: str, why: str, replaced_by: str | None) -> Retraction:
    """The reason on one line and without secrets, because it is shown wherever the record is."""
    why, masked = screened(" ".join(clean(why).split()))
    if not why:
        raise invalid("why", "must not be blank", "Say why it no longer holds.", kind="non_empty")
    ctx.note_masked(masked)
    instead = bare_id(ctx, replaced_by, "replaced_by") if replaced_by is not None else None
    if instead == id:
        raise invalid("replaced_by", "a record cannot replace itself", "Name another record, or leave it out.")
    return Retraction(why, instead)


def writing_about(ctx: Context, *ids: str) -> AbstractContextManager[Context]:
    """A transaction in which records may be retracted: for a block it also updates the files."""
    kinds = (kind_by_form(id) for id in ids)
    own = next(
        (found for found in (writer.find(kind) for kind in kinds if kind is not None) if found is not None), None
    )
    return own(ctx) if own is not None else ctx.writing()


def _checked(ctx: Context, id: str, said: Retraction) -> str:
    """The kind of the record; refused if it does not exist, or the replacement does not."""
    kind = kind_of(ctx, id)
    if kind is None or not _is_there(ctx, id):
        raise unknown_record(id)
    if said.replaced_by is not None and not _is_there(ctx, said.replaced_by):
        raise unknown_record(said.replaced_by)
    return kind


def _check_successor(ctx: Context, id: str, said: Retraction) -> None:
    """Refuse a successor that is not in force, a second one, and a predecessor of the record."""
    instead = said.replaced_by
    if instead is None:
        return
    state = state_of(ctx, instead)
    if state is State.PROPOSED:
        raise ClewError(
            "CONFLICT",
            f"replaced_by: {instead} is only proposed, and waits for a person",
            f"A person approves it by `clew approve {instead}`, which replaces the old record too; or retract without"
            " replaced_by.",
            suggestions=[suggest("open", "Shows what waits, and why.", "high", id=instead)],
        )
    if precedes(ctx, instead, id):
        raise _circle(id, said, instead)
    if state is not None and state.is_over:
        raise _gone(ctx, id, said, instead)
    heir = heir_of(ctx, id)
    if heir is not None and heir != instead:
        raise _second_successor(id, said, heir)


def _circle(id: str, said: Retraction, instead: str) -> ClewError:
    way = suggest("retract", f"Withdraws {id}; {instead}, which it replaced, holds again.", "high", id=id, why=said.why)
    return ClewError(
        "CONFLICT",
        f"replaced_by: {id} took the place of {instead} itself",
        f"Retract {id} without replaced_by: {instead} is in force again then.",
        suggestions=[way],
    )


def _second_successor(id: str, said: Retraction, heir: str) -> ClewError:
    again = {"id": heir, "why": said.why, "replaced_by": said.replaced_by}
    return ClewError(
        "CONFLICT",
        f"{id} was replaced by {heir} already, which holds",
        f"Retract {heir} with this successor; what {heir} replaced stays replaced.",
        suggestions=[suggest("retract", f"{said.replaced_by} takes the place of {heir}.", "high", **again)],
    )


def _gone(ctx: Context, id: str, said: Retraction, instead: str) -> ClewError:
    label = verdict_of(ctx, instead).label
    heir = heir_of(ctx, instead)
    given = {"replaced_by": heir} if heir not in (None, id) else {}
    way = f"Name {heir}, which holds in its place" if given else "Leave replaced_by out"
    return ClewError(
        "CONFLICT",
        f"replaced_by: {instead} does not hold itself: {label}",
        f"{way}.",
        suggestions=[suggest("retract", f"{way}.", "high", id=id, why=said.why, **given)],
    )


def _is_there(ctx: Context, id: str) -> bool:
    """Whether open would show it. Warnings from opening it are suppressed."""
    quiet = Context(ctx.dispatcher, ctx.connection, ctx.workspace, ctx.agent, ws=ctx.ws)
    return find_record(quiet, id, Open(id=id, limit=1)) is not None


def _withdraw(ctx: Context, kind: str, id: str, said: Retraction) -> Retracted:
    """Withdraw by the domain's own operation; a record whose domain has none is marked as disowned in the index."""
    own = retracter.find(kind)
    if own is not None:
        return own(ctx, id, said)
    mark_item(ctx.tx, ctx.workspace, id, DISOWNED)
    return Retracted(DISOWNED)
