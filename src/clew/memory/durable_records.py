"""Durable records: rules, preferences, decisions, rejected alternatives, lessons and facts, and how
they are stored.

A record that contradicts nothing and replaces only what agents wrote is applied at once, with a receipt
that can be rolled back. Any other is written to its file as `proposed`, where people see it and recall
finds it, with a proposal that gives the reason and waits for a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from clew.errors import ClewError, invalid, shorten
from clew.kinds import statuses
from clew.kinds.builtin import RECORDED_DECISIONS
from clew.kinds.catalogue import durable_kinds
from clew.memory import blocks, validator
from clew.memory.block_items import sentence
from clew.memory.blocks import Block
from clew.memory.contradictions import detection, verdicts
from clew.memory.contradictions.assertions import HEARD
from clew.memory.contradictions.detection import Clashing, NewStatement
from clew.memory.contradictions.signatures import signatures
from clew.memory.contradictions.verdicts import Odds
from clew.memory.files.markdown import Value, clean, listed, print_block
from clew.memory.governance import policy, proposals, receipts
from clew.memory.governance.draft_checks import drafted
from clew.memory.governance.ownership import whose
from clew.memory.governance.patches import UNTAGGED, Op
from clew.memory.governance.proposals import UNNAMED, Staged
from clew.memory.guards.check import Check
from clew.memory.kinds import kind_of, prefix_of
from clew.memory.marks import mark, says_the_same
from clew.registry.callers import author_name, is_own
from clew.registry.context import Context
from clew.registry.record import Preview, previewer
from clew.secrets import screened

Kind = str
"""The name of a kind of durable record."""
A_PERSON = "a person"
"""The author of hand edits, which have no name."""
PREFIXES: dict[str, str] = {kind.name: kind.prefix for kind in durable_kinds()}


@dataclass(frozen=True, slots=True)
class Record:
    """A record to store. `replaces` are ids of blocks; `about` names files or areas; `rests_on` ids of any kind."""

    kind: Kind
    text: str
    why: str = ""
    title: str = ""
    replaces: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    review_by: str | None = None
    task: str | None = None
    step: str | None = None
    check: Check | None = None
    """The check that a rule or decision defines; it is not enforced until a person approves it."""
    beside: tuple[str, ...] = ()
    """Ids of blocks that it appears to contradict but, according to the author, coexists with."""
    origin: str = ""
    """The source of an imported record."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The outcome of storing a record."""

    id: str
    kind: Kind
    state: Literal["kept", "proposed"]
    written: bool
    """False if a record of this kind already says exactly this; `id` is that one."""
    receipt_ts: str | None = None
    """The receipt that rollback_proposal takes to undo it, if it was applied at once."""
    proposal_id: str | None = None
    reason: str = ""
    """Why it was staged."""
    contradicts: tuple[Clashing, ...] = ()
    may_contradict: tuple[Clashing, ...] = ()
    """Possible contradictions, for the author to judge, who can see both. They do not block the record."""
    repeats: tuple[Block, ...] = ()
    """Near duplicates, active or proposed."""
    related: tuple[Block, ...] = ()
    """Others about the same subject."""
    restates: str | None = None
    """The author's own staged record, now repeated with what it replaces; the caller withdraws it."""


def read_ahead(ctx: Context, kind: str, text: str) -> Odds:
    """Have the pair model compare a record with its nearest neighbours before the transaction that
    stores it, because that is slow and would block other writers."""
    return detection.read_ahead(ctx, [NewStatement(PREFIXES[kind], clean(text))])


def keep_within(ctx: Context, record: Record, odds: Odds) -> Kept:
    """Store a record inside the caller's transaction, which must be a governed one; `odds` are the
    results of `read_ahead`."""
    record = _screened(ctx, record)
    if record.kind != "rejected":
        proposals.check_not_rejected(ctx, record.text)
    same = _same(ctx, record)
    if same is not None and not _is_restated(ctx, same, record):
        return _existing(same, record.kind)
    verdicts.keep(ctx, odds)
    replaced = [blocks.get(ctx, id) for id in record.replaces]
    kept = _store(ctx, _about_the_same(record, replaced), replaced, [same.id] if same else [])
    return replace(kept, restates=same.id if same is not None else None)


def _about_the_same(record: Record, replaced: Sequence[Block]) -> Record:
    """A record that names no file gets those of the records it replaces, so that it is still found by file."""
    named = [name for block in replaced for name in listed(block.get("About"))]
    return record if record.about else replace(record, about=tuple(dict.fromkeys(named)))


def propose_within(ctx: Context, record: Record) -> Kept | None:
    """Stage a record that was imported from elsewhere; None if a person has rejected this very statement."""
    record = _screened(ctx, record)
    if proposals.rejected(ctx, record.text) is not None:
        return None
    same = _same(ctx, record)
    if same is not None:
        return _existing(same, record.kind)
    id = blocks.short_id(ctx, PREFIXES[record.kind])
    reason = f"read from {record.origin}"
    proposal = _stage(ctx, id, record, (), reason, shared=False)
    return Kept(id, record.kind, "proposed", True, None, proposal.id, reason)


def _store(ctx: Context, record: Record, replaced: Sequence[Block], restated: Sequence[str]) -> Kept:
    for block in replaced:
        _check_replaced(block)
    prefix = PREFIXES[record.kind]
    shared = prefix == "D" and _passes_there(ctx, record)
    id = blocks.dated_id(ctx, prefix) if shared else blocks.short_id(ctx, prefix)
    # A record does not contradict or repeat what it replaces or restates.
    without = (*(block.id for block in replaced), *restated)
    statement = NewStatement(prefix, record.text)
    clashing = detection.clashing(ctx, id, statement, (*without, *_own_beside(ctx, record)))
    contradicts = tuple(item for item in clashing if item.sure)
    may_contradict = tuple(item for item in clashing if not item.sure)
    told = {*without, *record.beside, *(item.block.id for item in clashing)}
    repeats, related = detection.similar(ctx, record.text, {id, *told})
    reason = _obstacle(ctx, replaced, contradicts)
    if reason:
        proposal = _stage(ctx, id, record, replaced, reason, shared, contradicts)
        proposed = Kept(id, record.kind, "proposed", True, None, proposal.id, reason, contradicts)
        return replace(proposed, may_contradict=may_contradict, repeats=repeats, related=related)
    file = RECORDED_DECISIONS if prefix == "D" and not shared else kind_of(id).file
    ops = [Op("append_block", file=file, patch=_text(ctx, id, record, "active"))]
    draft = drafted(ctx, [*ops, *_replacing(id, replaced)])
    receipt = receipts.apply_record(ctx, id, draft)
    kept = Kept(id, record.kind, "kept", True, receipt.ts)
    return replace(kept, may_contradict=may_contradict, repeats=repeats, related=related)


def _own_beside(ctx: Context, record: Record) -> list[str]:
    """Of the records it is said to coexist with, the author's own. About those of others a person decides."""
    return [id for id in record.beside if not _foreign(ctx, blocks.get(ctx, id))]


def _passes_there(ctx: Context, record: Record) -> bool:
    """Whether a decision gets an id that Mind-Mem accepts, in the file that it searches.

    Only in a workspace that Mind-Mem created, and only if its validator accepts the text. Callers need
    not know its rules: what it would refuse is stored as everywhere else, in a file that it does not
    read.
    """
    if not validator.made_elsewhere(ctx):
        return False
    id = "D-00000000-000"  # a placeholder for the real id, which no rule depends on
    found = validator.refused(ctx, id, kind_of(id).file, _text(ctx, id, record, "active"))
    if found:
        said = f"Kept in {RECORDED_DECISIONS}, where Mind-Mem does not search: the decision {found[0].problem}"
        ctx.warn("KEPT_ASIDE", said, f"Nothing has to be done; for Mind-Mem to find it, say it anew: {found[0].hint}")
    return not found


def _screened(ctx: Context, record: Record) -> Record:
    """The record without secrets and control characters; refused if no text remains."""
    if record.kind not in PREFIXES:
        raise invalid(
            "kind", f"{shorten(str(record.kind), 40)!r} is not a kind of record", f"Use {', '.join(PREFIXES)}."
        )
    masked = {name: screened(clean(getattr(record, name))) for name in ("text", "why", "title")}
    ctx.note_masked(sum(found for _, found in masked.values()))
    text, why, title = (masked[name][0] for name in ("text", "why", "title"))
    if not text:
        raise invalid("text", "must not be empty", "Say what is to be kept.", kind="non_empty")
    about = tuple(item for item in (" ".join(clean(item).split()) for item in record.about) if item)
    rests_on = tuple(item for item in ("".join(clean(item).split()) for item in record.rests_on) if item)
    return replace(record, text=text, why=why, title=title, about=about, rests_on=rests_on)


def _same(ctx: Context, record: Record) -> Block | None:
    """A record of this kind that says exactly this, except for case and filler words, and is active or staged."""
    found = blocks.with_mark(ctx, PREFIXES[record.kind], mark(record.text))
    live = [block for block in found if block.status in HEARD and block.id not in record.replaces]
    return next((block for block in live if says_the_same(block.headline, record.text)), None)


def _is_restated(ctx: Context, same: Block, record: Record) -> bool:
    """Whether the author repeats a staged record, now with what it replaces or coexists with."""
    return same.status == statuses.PROPOSED and bool(record.replaces or record.beside) and not _foreign(ctx, same)


def _existing(same: Block, kind: Kind) -> Kept:
    waits = same.status == statuses.PROPOSED
    proposal = same.get("Proposal") or None
    return Kept(
        same.id, kind, "proposed" if waits else "kept", False, None, proposal if waits else None, repeats=(same,)
    )


def _check_replaced(replaced: Block) -> None:
    if prefix_of(replaced.id) not in PREFIXES.values():
        raise ClewError(
            "CONFLICT", f"{replaced.id} is a {replaced.kind.name}, which no record replaces", "Name a standing record."
        )
    if replaced.status not in (statuses.ACTIVE, statuses.PROPOSED):
        successor = replaced.get("SupersededBy")
        by = f" by {successor}" if successor else ""
        raise ClewError(
            "CONFLICT",
            f"{replaced.id} is {replaced.status or 'not active'}{by} already",
            f"Replace {successor} instead." if successor else "Keep the record without replaces.",
        )


def _obstacle(ctx: Context, replaced: Sequence[Block], contradicts: tuple[Clashing, ...]) -> str:
    """Why the record must be reviewed first; empty if there is no reason."""
    loaded = policy.load(ctx)
    if contradicts:
        first = contradicts[0]
        return f"contradicts {first.block.id} ({first.reason})"
    for block in replaced:
        if any(item.enforcement == "invariant" for item in signatures(block.text)):
            return f"replaces {block.id}, which is an invariant"
        owner = whose(ctx, block)
        if owner:
            return f"replaces {block.id}, which is {owner}"
    if loaded.governance.governance_mode == "detect_only":
        return "mode detect_only: nothing is applied without review"
    return "governance review=all: every record is reviewed" if loaded.governance.review == "all" else ""


def _foreign(ctx: Context, block: Block) -> bool:
    """Whether anyone but the caller wrote part of a record. A hand edit belongs to a person, whichever
    call read it."""
    versions = blocks.history(ctx, block.id)
    return any(version.origin == "edit" or not is_own(ctx, version.agent) for version in versions)


def _stage(
    ctx: Context,
    id: str,
    record: Record,
    replaced: Sequence[Block],
    reason: str,
    shared: bool,
    contradicts: Sequence[Clashing] = (),
) -> Block:
    """Write the record as proposed, and a proposal that makes it active."""
    proposal_id = blocks.dated_id(ctx, "P")
    text = _text(ctx, id, record, "proposed", proposal_id)
    file = RECORDED_DECISIONS if record.kind == "decision" else kind_of(id).file
    written = blocks.write(ctx, id, text, origin="keep", cause=proposal_id, file=file)
    proposals.follow_changes(ctx, [id])
    home = (Op("move_block", file=written.file, target=id, value=kind_of(id).file),) if shared else ()
    ops = (Op("set_status", file=written.file, target=id, status=statuses.ACTIVE), *home, *_replacing(id, replaced))
    evidence = (record.why or shorten(record.text, 300), *record.rests_on)
    by = ctx.agent or UNNAMED
    against = tuple(f"{item.block.id} ({item.reason})" for item in contradicts)
    staged = Staged("record", id, ops, evidence, reason, risk="medium", by=by, contradicts=against)
    return proposals.stage(ctx, staged, proposal_id)


def _replacing(id: str, replaced: Sequence[Block]) -> tuple[Op, ...]:
    return tuple(Op("replace_block", file=block.file, target=block.id, value=id) for block in replaced)


def _text(ctx: Context, id: str, record: Record, status: str, proposal: str | None = None) -> str:
    """The text of the block. A decision has the fields that every decision has."""
    decision = record.kind == "decision"
    fields: dict[str, Value | None] = {
        "Date": blocks.day_of(ctx.now_ms),
        "Status": status,
        "Scope": "global" if decision else None,
        "Title": record.title,
        "Statement": record.text,
        "Rationale": record.why or ("not given" if decision else None),
        "About": ", ".join(record.about),
        "Supersedes": ", ".join(record.replaces) or ("none" if decision else None),
        "Tags": UNTAGGED if decision else None,
        "HoldsBeside": ", ".join(record.beside),
        "RestsOn": ", ".join(record.rests_on),
        "ReviewBy": record.review_by,
        "Task": record.task,
        "Step": record.step,
        "Author": author_name(ctx),
        "Proposal": proposal,
        "Sources": [record.origin or "remember"] if decision or record.origin else None,
        **(record.check.to_fields() if record.check is not None else {}),
    }
    return print_block(id, fields)


@previewer("block")
def block_previews(ctx: Context, ids: list[str]) -> dict[str, Preview]:
    return {block.id: Preview(sentence(block)) for block in blocks.current(ctx, ids=ids)}
