"""edit_record: a person changes a record directly. It applies at once, with a receipt that can be rolled back.

Agents propose edits (propose_edit); a person at the page or the shell would be the one to approve such a proposal.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import ClewError, invalid, suggest
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import HEADLINES
from clew.memory.contradictions import detection
from clew.memory.contradictions.detection import NewStatement
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.markdown import clean, listed, one_line, parse_block, set_field
from clew.memory.governance import policy, receipts
from clew.memory.governance.draft_checks import checked
from clew.memory.governance.patches import Op, ProposalDraft
from clew.memory.kinds import check_block_id, prefix_of
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Names, Text, Title, operation
from clew.registry.record import assessor
from clew.secrets import screened

REASONS = ("Rationale", "Context")
"""Fields that may contain the reason."""
NOT_GIVEN = "not given"


class EditRecord(Input):
    synonyms: ClassVar[dict[str, str]] = {"text": "statement", "beside": "coexists_with"}

    id: Annotated[Name, Field(min_length=1, description="The record: a decision, rule, preference, fact, lesson, ...")]
    statement: Annotated[Text | None, Field(description="What it is to say.")] = None
    why: Annotated[Text | None, Field(description="Its reason.")] = None
    review_by: Annotated[
        str | None, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="Date by which to look at it again.")
    ] = None
    status: Annotated[Name | None, Field(description="A status of its kind.")] = None
    reason: Annotated[Title | None, Field(description="Why its status changes.")] = None
    replaces: Annotated[Names, Field(description="Ids of records in force that it takes the place of.")] = []
    coexists_with: Annotated[Names, Field(description="Ids of records that it seems to contradict, and does not.")] = []


@operation(
    "edit_record",
    writes=True,
    mode="own",
    example={"id": "D-20260213-001", "statement": "Prices are integers in cents"},
)
def edit_record(ctx: Context, args: EditRecord) -> dict[str, Any]:
    """Change what a record says, its reason, review date or status, at once; for people. `undo` takes it back.

    What would contradict another record is refused until replaces or coexists_with names that one.
    """
    read_words_ahead(ctx, args.id, args.statement)
    with governed_transaction(ctx) as bound:
        _check_person(bound, args)
        block = blocks.get(bound, check_block_id(args.id, "id"))
        draft = ProposalDraft(bound)
        edit_words(bound, draft, block.id, args.statement, args.why)
        if args.review_by is not None:
            set_words(draft, block.id, "ReviewBy", args.review_by)
        if args.status is not None and args.status != block.status:
            draft.run(status_op(bound, block.id, args.status, clean(args.reason or "")))
        relate(draft, block.id, "Supersedes", args.replaces)
        relate(draft, block.id, "HoldsBeside", args.coexists_with)
        for id in args.replaces:
            draft.run(Op("replace_block", target=blocks.get(bound, id).id, value=block.id))
        if all(change.before and change.before.text == change.text for change in draft.changes.values()):
            raise invalid("statement", "nothing would change", "Change the words, the reason, the date or the status.")
        if args.statement is not None:
            check_clear(bound, draft)
        receipts.apply_record(bound, block.id, checked(bound, draft))
        return {"workspace": bound.workspace, "id": block.id, "status": blocks.get(bound, block.id).status}


def _check_person(ctx: Context, args: EditRecord) -> None:
    said = {"Statement": args.statement, "Rationale": args.why, "ReviewBy": args.review_by}
    ops = [
        {"op": "update_field", "target": args.id, "field": field, "value": value}
        for field, value in said.items()
        if value is not None
    ]
    way = suggest("open", "Shows the record.", "high", id=args.id)
    if ops:
        way = suggest("propose_edit", "Proposes the edit.", "high", ops=ops, rationale=args.why or "edited")
    policy.check_decider(ctx, f"changing {args.id} directly", "observatory", way)


def read_words_ahead(ctx: Context, id: str, statement: str | None) -> None:
    """Run the model on the edited text before the transaction that stores it, so that no other writer waits."""
    if statement is not None:
        detection.keep_ahead(ctx, [NewStatement(prefix_of(id), clean(statement))])


def edit_words(ctx: Context, draft: ProposalDraft, id: str, statement: str | None, why: str | None) -> None:
    """Change the text of a drafted record, in the fields of its kind."""
    if statement is None and why is None:
        return
    fields = parse_block(draft.target(Op("", target=id)).text).fields
    said = next((name for name in HEADLINES if fields.get(name)), HEADLINES[0])
    reason = next((name for name in REASONS if name in fields), REASONS[0])
    if statement is not None:
        set_words(draft, id, said, _screened(ctx, statement, needed=True))
    if why is not None:
        set_words(draft, id, reason, _screened(ctx, why) or NOT_GIVEN)


def set_words(draft: ProposalDraft, id: str, field: str, value: str) -> None:
    change = draft.target(Op("", target=id))
    draft.put(change, set_field(change.text, field, value))


def relate(draft: ProposalDraft, id: str, field: str, others: Names | tuple[str, ...]) -> None:
    """Mark a record as coexisting with others, so that they are never reported as contradictions again."""
    if not others:
        return
    known = listed(parse_block(draft.target(Op("", target=id)).text).fields.get(field))
    named = [other for other in known if other.lower() not in ("none", "-")]
    set_words(draft, id, field, ", ".join(dict.fromkeys([*named, *others])))


def status_op(ctx: Context, id: str, status: str, why: str) -> Op:
    history = f"{blocks.day_of(ctx.now_ms)} {status}: {why}" if why else ""
    return Op("set_status", target=id, status=status, history=history)


def _screened(ctx: Context, value: str, *, needed: bool = False) -> str:
    masked, count = screened(clean(value).strip())
    if count:
        ctx.warn("SECRET_MASKED", f"{count} secret(s) were not stored", "Keep secrets out of memory.")
    if needed and not masked:
        raise invalid("statement", "must not be empty", "Say what the record is to say.", kind="non_empty")
    return masked


def check_clear(ctx: Context, draft: ProposalDraft) -> None:
    """Refuse a change that would put two contradicting records into force: the user has to choose between them."""
    found = {id: reason for change in draft.changes.values() for id, reason in _clashes(ctx, draft, change.id).items()}
    if not found:
        return
    against = ", ".join(f"{id} ({reason})" for id, reason in found.items())
    raise ClewError(
        "CONFLICT",
        f"it would contradict {against}",
        "Say whether it replaces them or both hold.",
        details={"rule": "contradicts", "contradicts": [_opposite(ctx, id, found[id]) for id in found]},
    )


def _opposite(ctx: Context, id: str, reason: str) -> dict[str, str | None]:
    """The other record as shown to the user who has to choose between the two."""
    other = blocks.get(ctx, id)
    said = {"text": other.headline, "why": other.get("Rationale") or None, "by": other.get("Author") or other.agent}
    return {"id": id, "reason": reason, **said}


def _clashes(ctx: Context, draft: ProposalDraft, id: str) -> dict[str, str]:
    """The records in force that a changed block would certainly contradict, and did not contradict before."""
    fields = parse_block(draft.changes[id].text).fields
    if one_line(fields.get("Status")) not in ("", statuses.ACTIVE):
        return {}
    assess = assessor.find("records")
    verdict = assess(ctx, [id]).get(id) if assess is not None else None
    known = verdict.disputed_with if verdict is not None else ()
    settled = {*listed(fields.get("Supersedes")), *listed(fields.get("HoldsBeside")), *draft.changes, *known}
    statement = NewStatement(prefix_of(id), one_line(fields.get("Statement")))
    found = detection.clashing(ctx, id, statement, settled)
    return {item.block.id: item.reason for item in found if item.sure and id not in item.block.beside}
