"""Standing records: rules, preferences, decisions, rejected alternatives, lessons and facts, and how one is kept.

A record that contradicts nothing and replaces nothing of another author is applied at once, with a receipt that can be
rolled back. Anything else stands in its file as `proposed`, so that a person sees it and recall finds it, and a
proposal with the reason waits for somebody other than its author.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from clew.errors import ClewError, invalid, shorten
from clew.memory import blocks, validator
from clew.memory.block_items import sentence
from clew.memory.blocks import Block
from clew.memory.contradictions import detection
from clew.memory.contradictions.detection import Clashing
from clew.memory.contradictions.signatures import signatures
from clew.memory.files.governed_write import governed
from clew.memory.files.markdown import Value, clean, print_block
from clew.memory.governance import policy, proposals, receipts
from clew.memory.governance.draft_checks import drafted
from clew.memory.governance.patches import UNTAGGED, Op
from clew.memory.governance.proposals import UNNAMED, Staged
from clew.memory.guards.check import Check
from clew.memory.kinds import RECORDED_DECISIONS, STANDING, kind_of, prefix_of
from clew.memory.marks import mark, says_the_same
from clew.registry.callers import is_own
from clew.registry.context import Context
from clew.registry.record import Telling, teller
from clew.secrets import screened

Kind = Literal["rule", "preference", "decision", "rejected", "lesson", "fact"]
A_PERSON = "a person"
"""Whoever edits the files by hand gives no name."""
PREFIXES: dict[str, str] = {"decision": "D", **{name: prefix for prefix, (name, _) in STANDING.items()}}


@dataclass(frozen=True, slots=True)
class Record:
    """What is to be kept. `replaces` are ids of blocks; `about` names files or areas; `rests_on` ids of anything."""

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
    guard: Check | None = None
    """The check that a rule or decision is to carry; it guards nothing until a person approves it."""
    beside: tuple[str, ...] = ()
    """Ids of blocks that it seems to contradict and, as the author says, does not."""
    near: tuple[str, ...] = ()
    """Ids of blocks about the same thing, however they are worded."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a record."""

    id: str
    kind: Kind
    state: Literal["kept", "proposed"]
    written: bool
    """False when a record of this kind says exactly this already; `id` is that one."""
    receipt_ts: str | None = None
    """With which rollback_proposal takes the record back, when it was kept at once."""
    proposal_id: str | None = None
    reason: str = ""
    """Why it was staged."""
    contradicts: tuple[Clashing, ...] = ()
    may_contradict: tuple[Clashing, ...] = ()
    """What may speak against it: for the author to judge, who has both at hand. It keeps nothing from being kept."""
    repeats: tuple[Block, ...] = ()
    """Records that say nearly the same, live or proposed."""
    restates: str | None = None
    """The author's own record that waited, said again with what it replaces; the caller takes it back."""


def keep(
    ctx: Context,
    kind: Kind,
    text: str,
    why: str = "",
    title: str = "",
    replaces: Sequence[str] = (),
    about: Sequence[str] = (),
    rests_on: Sequence[str] = (),
    review_by: str | None = None,
    task: str | None = None,
    step: str | None = None,
) -> Kept:
    """Keep a record in a transaction of its own: hand edits are read before it and the files rendered after it."""
    record = Record(kind, text, why, title, tuple(replaces), tuple(about), tuple(rests_on), review_by, task, step)
    with governed(ctx) as bound:
        return keep_within(bound, record)


def read_ahead(ctx: Context, kind: str, text: str, near: Sequence[str]) -> None:
    """Compare a record with its neighbours before the transaction that keeps it.

    Reading pairs takes time, in which no other writer should wait; what was read is known when the record is kept.
    """
    with ctx.reading() as bound:
        detection.clashing(bound, f"{PREFIXES[kind]}-0", clean(text), near=near)


def keep_within(ctx: Context, record: Record) -> Kept:
    """Keep a record inside the caller's transaction, which must be a governed one."""
    record = _screened(ctx, record)
    if record.kind != "rejected":
        proposals.check_not_rejected(ctx, record.text)
    same = _same(ctx, record)
    if same is not None and not _is_restated(ctx, same, record):
        return _existing(same, record.kind)
    kept = _store(ctx, record, [blocks.get(ctx, id) for id in record.replaces], [same.id] if same else [])
    return replace(kept, restates=same.id if same is not None else None)


def _store(ctx: Context, record: Record, replaced: Sequence[Block], restated: Sequence[str]) -> Kept:
    for block in replaced:
        _check_replaced(block)
    prefix = PREFIXES[record.kind]
    shared = prefix == "D" and _passes_there(ctx, record)
    id = blocks.dated_id(ctx, prefix) if shared else blocks.short_id(ctx, prefix)
    # What the record replaces or restates is no contradiction to it, and no repetition.
    without = (*(block.id for block in replaced), *restated)
    clashing = detection.clashing(ctx, id, record.text, (*without, *_own_beside(ctx, record)), record.near)
    contradicts = tuple(item for item in clashing if item.sure)
    may_contradict = tuple(item for item in clashing if not item.sure)
    told = {*without, *record.beside, *(item.block.id for item in clashing)}
    repeats = tuple(block for block in detection.similar(ctx, id, record.text) if block.id not in told)
    reason = _obstacle(ctx, replaced, contradicts)
    if reason:
        proposal = _stage(ctx, id, record, replaced, reason, shared)
        return Kept(id, record.kind, "proposed", True, None, proposal.id, reason, contradicts, may_contradict, repeats)
    file = RECORDED_DECISIONS if prefix == "D" and not shared else kind_of(id).file
    ops = [Op("append_block", file=file, patch=_text(ctx, id, record, "active"))]
    draft = drafted(ctx, [*ops, *_replacing(id, replaced)])
    receipt = receipts.apply_record(ctx, id, draft)
    return Kept(id, record.kind, "kept", True, receipt.ts, may_contradict=may_contradict, repeats=repeats)


def _own_beside(ctx: Context, record: Record) -> list[str]:
    """Of the records that are said to hold beside it, the author's own. About those of others a person decides."""
    return [id for id in record.beside if not _foreign(ctx, blocks.get(ctx, id))]


def _passes_there(ctx: Context, record: Record) -> bool:
    """Whether a decision gets an id that Mind-Mem takes, in the file that it searches.

    Only in a workspace that Mind-Mem made, and only if its validator takes the text. Nobody who remembers something has
    to know its rules: what it would refuse is kept as everywhere else, in a file that it does not look into.
    """
    if not validator.made_elsewhere(ctx):
        return False
    id = "D-00000000-000"  # stands for the one it will get, which no rule depends on
    found = validator.refused(ctx, id, kind_of(id).file, _text(ctx, id, record, "active"))
    if found:
        said = f"Kept in {RECORDED_DECISIONS}, where Mind-Mem does not search: the decision {found[0].problem}"
        ctx.warn("KEPT_ASIDE", said, f"Nothing has to be done; for Mind-Mem to find it, say it anew: {found[0].hint}")
    return not found


def _screened(ctx: Context, record: Record) -> Record:
    """The record without secrets and control characters; one without words is refused."""
    if record.kind not in PREFIXES:
        raise invalid(
            "kind", f"{shorten(str(record.kind), 40)!r} is not a kind of record", f"Use {', '.join(PREFIXES)}."
        )
    masked = {name: screened(clean(getattr(record, name))) for name in ("text", "why", "title")}
    count = sum(found for _, found in masked.values())
    if count:
        ctx.warn("SECRET_MASKED", f"{count} secret(s) were not stored", "Keep secrets out of memory.")
    text, why, title = (masked[name][0] for name in ("text", "why", "title"))
    if not text:
        raise invalid("text", "must not be empty", "Say what is to be kept.", kind="non_empty")
    about = tuple(item for item in (" ".join(clean(item).split()) for item in record.about) if item)
    rests_on = tuple(item for item in ("".join(clean(item).split()) for item in record.rests_on) if item)
    return replace(record, text=text, why=why, title=title, about=about, rests_on=rests_on)


def _same(ctx: Context, record: Record) -> Block | None:
    """A record of this kind that says exactly this, but for case and fillers, and holds or waits."""
    found = blocks.with_mark(ctx, PREFIXES[record.kind], mark(record.text))
    live = [block for block in found if block.status in ("active", "proposed") and block.id not in record.replaces]
    return next((block for block in live if says_the_same(block.headline, record.text)), None)


def _is_restated(ctx: Context, same: Block, record: Record) -> bool:
    """Whether the author of a record that waits says it again, now with what it replaces or holds beside."""
    return same.status == "proposed" and bool(record.replaces or record.beside) and not _foreign(ctx, same)


def _existing(same: Block, kind: Kind) -> Kept:
    waits = same.status == "proposed"
    proposal = same.get("Proposal") or None
    return Kept(
        same.id, kind, "proposed" if waits else "kept", False, None, proposal if waits else None, repeats=(same,)
    )


def _check_replaced(replaced: Block) -> None:
    if prefix_of(replaced.id) not in PREFIXES.values():
        raise ClewError(
            "CONFLICT", f"{replaced.id} is a {replaced.kind.name}, which no record replaces", "Name a standing record."
        )
    if replaced.status not in ("active", "proposed"):
        successor = replaced.get("SupersededBy")
        by = f" by {successor}" if successor else ""
        raise ClewError(
            "CONFLICT",
            f"{replaced.id} is {replaced.status or 'not active'}{by} already",
            f"Replace {successor} instead." if successor else "Keep the record without replaces.",
        )


def _obstacle(ctx: Context, replaced: Sequence[Block], contradicts: tuple[Clashing, ...]) -> str:
    """Why the record must be reviewed first; empty when nothing speaks against it."""
    loaded = policy.load(ctx)
    if contradicts:
        first = contradicts[0]
        return f"contradicts {first.block.id} ({first.reason})"
    for block in replaced:
        if any(item.enforcement == "invariant" for item in signatures(block.text)):
            return f"replaces {block.id}, which is an invariant"
        if _foreign(ctx, block):
            return f"replaces {block.id} of {author_of(block)}"
    if loaded.governance.governance_mode == "detect_only":
        return "mode detect_only: nothing is applied without review"
    return "governance review=all: every record is reviewed" if loaded.governance.review == "all" else ""


def _foreign(ctx: Context, block: Block) -> bool:
    """Whether anybody but the caller wrote a part of a record. A hand edit is a person's, whoever reads it in."""
    versions = blocks.history(ctx, block.id)
    return any(version.origin == "edit" or not is_own(ctx, version.agent) for version in versions)


def author_of(block: Block) -> str:
    return A_PERSON if block.origin == "edit" else block.get("Author") or block.agent or UNNAMED


def _stage(ctx: Context, id: str, record: Record, replaced: Sequence[Block], reason: str, shared: bool) -> Block:
    """Write the record as proposed and a proposal that makes it active."""
    proposal_id = blocks.dated_id(ctx, "P")
    text = _text(ctx, id, record, "proposed", proposal_id)
    file = RECORDED_DECISIONS if record.kind == "decision" else kind_of(id).file
    written = blocks.write(ctx, id, text, origin="keep", cause=proposal_id, file=file)
    proposals.follow_changes(ctx, [id])
    home = (Op("move_block", file=written.file, target=id, value=kind_of(id).file),) if shared else ()
    ops = (Op("set_status", file=written.file, target=id, status="active"), *home, *_replacing(id, replaced))
    evidence = (record.why or shorten(record.text, 300), *record.rests_on)
    by = ctx.agent or UNNAMED
    return proposals.stage(ctx, Staged("record", id, ops, evidence, reason, risk="medium", by=by), proposal_id)


def _replacing(id: str, replaced: Sequence[Block]) -> tuple[Op, ...]:
    return tuple(Op("replace_block", file=block.file, target=block.id, value=id) for block in replaced)


def _text(ctx: Context, id: str, record: Record, status: str, proposal: str | None = None) -> str:
    """The block as it stands in its file. A decision has the fields that every decision has."""
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
        "Author": ctx.agent,
        "Proposal": proposal,
        "Sources": ["remember"] if decision else None,
        **(record.guard.to_fields() if record.guard is not None else {}),
    }
    return print_block(id, fields)


@teller("block")
def block_tellings(ctx: Context, ids: list[str]) -> dict[str, Telling]:
    return {block.id: Telling(sentence(block)) for block in blocks.current(ctx, ids=ids)}
