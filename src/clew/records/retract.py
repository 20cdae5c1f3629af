"""retract: one call that takes back any record, whichever store keeps it. Nothing is lost; both ends say so."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import kind_by_form
from clew.index.item_reads import item_named
from clew.index.items import mark_item
from clew.memory.files.markdown import clean
from clew.records.links import keep_retraction, kind_of, links_of, retracted_among
from clew.records.open import Open, bare_id, find_record, unknown_record
from clew.records.work import step_named
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Title, operation
from clew.registry.record import Retracted, Retraction, retracter, writer
from clew.secrets import screened
from clew.store.workspaces import declare_events
from clew.surroundings import clew_command

declare_events({"record_retracted": "A record of whatever store was taken back, with a reason."})

MOST_RESTING = 50
MOST_CHARS = 400
"""What an agent is told when nothing is wrong fits into this."""


class Retract(Input):
    synonyms: ClassVar[dict[str, str]] = {
        "reason": "why",
        "superseded_by": "replaced_by",
        **dict.fromkeys(("ref", "record_id", "record", "block_id", "card_id"), "id"),
    }

    id: Annotated[Name, Field(min_length=1, description="What no longer holds: any id that open takes.")]
    why: Annotated[Title, Field(min_length=1, description="The reason; whoever meets the record is told.")]
    replaced_by: Annotated[Name | None, Field(description="Id of what holds instead.")] = None


def retract_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    """At most 400 characters, however long the reason and the ids are."""
    instead = f" -> {result['replaced_by']}" if result.get("replaced_by") else ""
    run = clew_command(f"approve {result['waits_for']}")
    waits = f" waits for a person ({run})" if result.get("waits_for") else ""
    head = f"{result['status']} {result['id']} ({result['kind']}){instead}{waits}: "
    lines = [head + shorten(result["why"], max(20, 200 - len(head)))]
    if result.get("note"):
        lines.append(f"note: {shorten(result['note'], 90)}")
    resting, total = result["rested_on_it"], result["rested_count"]
    if not total:
        return lines
    # What the first lines and the frame of this one leave; ids are named as long as they fit.
    room = MOST_CHARS - sum(len(line) + 1 for line in lines) - len(f"rested on it ({total}): , ...")
    named: list[str] = []
    for id in resting:
        room -= len(id) + 2
        if room < 0:
            break
        named.append(id)
    more = ["..."] if len(named) < total else []
    return [*lines, f"rested on it ({total}): {', '.join([*named, *more])}"]


@operation(
    "retract",
    writes=True,
    mode="own",
    portal=True,
    lines=retract_lines,
    example={"id": "CARD-1", "why": "The measurement was wrong."},
)
def retract(ctx: Context, args: Retract) -> dict[str, Any]:
    """Take back any record by its id: a decision, card, thought, step, task, evidence, receipt or proposal.

    Nothing is deleted: the record says from now on that it no longer holds, why, and what holds instead; what rested on
    it is listed. A closed step or task is open again; a step whose proof is taken back says so. A block of another
    author is staged for review.
    """
    id = bare_id(ctx, args.id)
    with ctx.reading() as reading:
        id = step_named(reading, id) or id
    said = retraction(ctx, id, args.why, args.replaced_by)
    with writing_about(ctx, id) as bound:
        _check_holds(bound, id, said)
        resting = links_of(bound, id, MOST_RESTING).resting()
        kind, done = retract_within(bound, id, said)
        fallen = retracted_among(bound, resting)
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
        "waits_for": done.proposal,
        "note": done.note,
        "rested_on_it": shown,
        "rested_count": len(shown),
    }


def retract_within(ctx: Context, id: str, said: Retraction) -> tuple[str, Retracted]:
    """Take a record back in the transaction that is open; its kind, and what became of it."""
    kind = _checked(ctx, id, said)
    done = _take_back(ctx, kind, id, said)
    keep_retraction(ctx, id, kind, said, done)
    ctx.emit("records", "record_retracted", id, {"kind": kind, "status": done.status, "why": said.why})
    return kind, done


def retraction(ctx: Context, id: str, why: str, replaced_by: str | None) -> Retraction:
    """The reason on one line and without secrets, for it is shown wherever the record is."""
    why, masked = screened(" ".join(clean(why).split()))
    if not why:
        raise invalid("why", "must not be blank", "Say why it no longer holds.", kind="non_empty")
    if masked:
        ctx.warn("SECRET_MASKED", f"{masked} secret(s) in why were not stored", "Keep secrets out of memory.")
    instead = bare_id(ctx, replaced_by, "replaced_by") if replaced_by is not None else None
    if instead == id:
        raise invalid("replaced_by", "a record cannot replace itself", "Name another record, or leave it out.")
    return Retraction(why, instead)


def writing_about(ctx: Context, *ids: str) -> AbstractContextManager[Context]:
    """A transaction in which records may be taken back: that of a block looks after its files too."""
    kinds = (kind_by_form(id) for id in ids)
    own = next(
        (found for found in (writer.find(kind) for kind in kinds if kind is not None) if found is not None), None
    )
    return own(ctx) if own is not None else ctx.writing()


def _checked(ctx: Context, id: str, said: Retraction) -> str:
    """The kind of the record; refused when there is none, or nothing that could replace it."""
    kind = kind_of(ctx, id)
    if kind is None or not _is_there(ctx, id):
        raise unknown_record(id)
    if said.replaced_by is not None and not _is_there(ctx, said.replaced_by):
        raise unknown_record(said.replaced_by)
    return kind


GONE = frozenset({"retracted", "superseded", "revoked", "rejected", "disowned"})
"""Statuses of what no longer holds, whatever its kind."""


def _check_holds(ctx: Context, id: str, said: Retraction) -> None:
    """Refuse a successor that does not hold itself: then nothing would."""
    instead = said.replaced_by
    row = item_named(ctx.tx, ctx.workspace, instead) if instead is not None else None
    if row is None or instead is None:
        return
    if row["status"] == "proposed":
        raise ClewError(
            "CONFLICT",
            f"replaced_by: {instead} is only proposed, and waits for a person",
            f"A person approves it by `clew approve {instead}`, which replaces the old record too; or retract without"
            " replaced_by.",
            suggestions=[suggest("open", "Shows what waits, and why.", "high", id=instead)],
        )
    if row["status"] in GONE:
        raise _gone(ctx, id, said, instead, row["status"])


def _gone(ctx: Context, id: str, said: Retraction, instead: str, status: str) -> ClewError:
    ended = retracted_among(ctx, [instead]).get(instead)
    heir = {"replaced_by": ended.replaced_by} if ended is not None and ended.replaced_by not in (None, id) else {}
    way = f"Name {heir['replaced_by']}, which holds in its place" if heir else "Name what holds, or leave it out"
    return ClewError(
        "CONFLICT",
        f"replaced_by: {instead} is {status} itself",
        f"{way}.",
        suggestions=[suggest("retract", f"{way}.", "high", id=id, why=said.why, **heir)],
    )


def _is_there(ctx: Context, id: str) -> bool:
    """Whether open would show it. What opening it would remark on is no business of this call."""
    quiet = Context(ctx.dispatcher, ctx.connection, ctx.workspace, ctx.agent, ws=ctx.ws)
    return find_record(quiet, id, Open(id=id, limit=1)) is not None


def _take_back(ctx: Context, kind: str, id: str, said: Retraction) -> Retracted:
    """In the way of its domain; a record whose domain has none is marked as disowned where it is found."""
    own = retracter.find(kind)
    if own is not None:
        return own(ctx, id, said)
    mark_item(ctx.tx, ctx.workspace, id, "disowned")
    return Retracted("disowned")
