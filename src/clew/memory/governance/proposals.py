"""Proposals: changes to memory that wait for approval. Stage, reject, defer and reopen them; look up
rejected values.

Each has a fingerprint over its operations, so that an approval always applies to what was proposed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from clew.clock import rfc3339
from clew.errors import ClewError, shorten, suggest, unknown_id
from clew.kinds import statuses
from clew.kinds.state import State
from clew.memory import blocks, signals
from clew.memory.blocks import Block
from clew.memory.contradictions import detection
from clew.memory.files.markdown import parse_block, print_block, set_field
from clew.memory.files.repository import GIT
from clew.memory.governance import policy
from clew.memory.governance.draft_checks import drafted
from clew.memory.governance.patches import (
    Op,
    check,
    digest,
    fingerprint,
    fingerprints,
    printed,
    read,
    with_files,
)
from clew.memory.kinds import PROPOSED_FILES, kind_of
from clew.memory.marks import mark
from clew.registry.context import Context
from clew.registry.record import withdrawn
from clew.store.rows import TableRow, find, find_many, insert_absent
from clew.store.workspaces import declare_events

declare_events(
    {
        "proposal_staged": "A change to governed memory was proposed.",
        "proposal_applied": "A proposal was applied; its receipt can be rolled back.",
        "proposal_rejected": "A proposal was rejected; its value stays rejected.",
        "proposal_deferred": "A proposal was put off.",
        "proposal_rolled_back": "An applied proposal was taken back.",
        "proposal_reopened": "A proposal that was put off, rejected or rolled back waits for a decision again.",
    }
)

OPEN = (statuses.STAGED, statuses.DEFERRED)
UNNAMED = "an unnamed agent"
RISKS = ("low", "medium", "high")
_RISK_OF = {"append_block": "low", "append_list_item": "low", "supersede_decision": "high"}


@dataclass(frozen=True)
class Staged:
    """A proposal before it is written."""

    type: str
    target: str
    ops: tuple[Op, ...]
    evidence: tuple[str, ...]
    rationale: str = ""
    risk: str | None = None
    signal: str | None = None
    by: str = ""
    """The component of Clew that created it, if no caller asked for it."""
    contradicts: tuple[str, ...] = ()
    """The records in force that it contradicts, as `D-3 (reason)`."""


def risk_of(ops: tuple[Op, ...]) -> str:
    """The highest risk of any operation: adding is low, changing is medium, superseding is high."""
    return max((_RISK_OF.get(op.op, "medium") for op in ops), key=RISKS.index)


def stage(ctx: Context, staged: Staged, id: str | None = None) -> Block:
    """Write the proposal after trying its operations on a copy."""
    # Operations that cannot be applied are refused now, while the author can still correct them.
    ops = list(completed(ctx, staged.ops))
    files = drafted(ctx, ops).files()
    id = id or blocks.dated_id(ctx, "P")
    print_of = fingerprint(staged.type, staged.target, ops)
    text = print_block(
        id,
        {
            "ProposalId": id,
            "Type": staged.type,
            "TargetBlock": staged.target,
            "Risk": staged.risk or risk_of(staged.ops),
            "Status": "staged",
            "Created": rfc3339(ctx.now_ms),
            "Rationale": staged.rationale,
            "Evidence": list(staged.evidence),
            "Rollback": "rollback_proposal with the receipt of the apply",
            "FilesTouched": files,
            "Signal": staged.signal,
            "ProposedBy": staged.by or ctx.agent,
            "Contradicts": list(staged.contradicts),
            "Fingerprint": print_of,
            "Digest": digest(staged.type, staged.target, ops),
            "Ops": printed(ops),
        },
    )
    block = blocks.write(ctx, id, text, origin="propose", file=PROPOSED_FILES[staged.type])
    ctx.emit("memory", "proposal_staged", id, {"type": staged.type, "target": staged.target, "fingerprint": print_of})
    return block


def next_step(id: str) -> str:
    """The next step that a response suggests for an open proposal."""
    return f"Call approve_apply with proposal_id={id} (a dry run), then with dry_run=false."


def completed(ctx: Context, ops: Sequence[Op]) -> tuple[Op, ...]:
    """The operations as a proposal stores them: validated, tried on a copy, and each with its file."""
    for op in ops:
        check(op)
    return with_files(drafted(ctx, list(ops)), ops)


def get(ctx: Context, id: str) -> Block:
    found = blocks.find(ctx, id)
    if found is None:
        way = suggest("list_proposals", "Lists the proposals there are.")
        raise unknown_id("proposal", id, "Use an id that list_proposals shows.", [way])
    return found


def proposer(ctx: Context, proposal: Block) -> str | None:
    """Who proposed it: the author of the first version, because later ones are written by the deciding
    person or agent."""
    return proposal.get("ProposedBy") or blocks.history(ctx, proposal.id)[0].agent


def ops_of(proposal: Block) -> list[Op]:
    """The operations, if the fingerprint still matches them.

    A proposal of ours has Mind-Mem's fingerprint, so that Mind-Mem accepts it, and a digest over the
    parts that the fingerprint leaves out. If the fingerprint itself is our digest, no second one is
    needed.
    """
    found = read(proposal.fields.get("Ops"))
    named = (proposal.get("Type"), proposal.get("TargetBlock"))
    expected = digest(*named, found)
    stored, whole = proposal.get("Fingerprint"), proposal.get("Digest")
    # An edited proposal must not be approved under its old fingerprint: the person would agree to something else.
    if stored and stored != expected and (stored not in fingerprints(*named, found) or (whole and whole != expected)):
        raise ClewError(
            "CONFLICT",
            f"{proposal.id}: its fingerprint {shorten(stored, 40)} does not cover its operations ({expected} would)",
            f"Whoever edited the proposal sets Fingerprint: {expected}, or proposes the change anew.",
            details={"rule": "fingerprint", "expected": expected},
        )
    return found


def changes_status(proposal: Block) -> bool:
    """Whether it sets the status of its target; one whose operations cannot be parsed changes nothing."""
    try:
        found = read(proposal.fields.get("Ops"))
    except ClewError:
        return False
    return any(op.op == "set_status" and op.target == proposal.get("TargetBlock") for op in found)


def twin(ctx: Context, whole: str) -> Block | None:
    """An open proposal with this digest, which would do exactly the same."""
    return next((block for block in blocks.with_mark(ctx, "P", whole) if block.status in OPEN), None)


def check_open(ctx: Context, proposal: Block) -> None:
    """Refuse a proposal that cannot be decided now: applied, rejected, or deferred to a later time."""
    if proposal.status == statuses.STAGED:
        return
    if proposal.status == statuses.DEFERRED:
        until = deferred_until(ctx, proposal)
        # A deferral that has ended counts as staged; no job has to change its status.
        if until is None or until <= ctx.now_ms:
            return
        raise ClewError(
            "NOT_ALLOWED",
            f"{proposal.id} is deferred until {rfc3339(until)}: {proposal.get('Reason') or 'no reason given'}",
            "Wait until then.",
            suggestions=[suggest("list_proposals", "Shows what else waits.", "medium")],
            details={"rule": "cooldown", "ends": rfc3339(until)},
        )
    raise ClewError(
        "CONFLICT",
        f"{proposal.id} is {proposal.status}, only a staged proposal can be applied, rejected or deferred",
        "Propose the change anew if it is still wanted.",
        suggestions=[suggest("list_proposals", "Shows what waits.", "medium", status=statuses.STAGED)],
    )


def deferred_until(ctx: Context, proposal: Block) -> int | None:
    """When a deferral ends: its date, or else the cooldown after the version that deferred it."""
    named = _moment(proposal.get("DeferredUntil"))
    if named is not None:
        return named
    days = policy.load(ctx).governance.defer_cooldown_days
    return proposal.ts_ms + int(timedelta(days=days).total_seconds() * 1000)


def created_ms(proposal: Block) -> int:
    """When it was created; without a date, the time of its newest version."""
    return _moment(proposal.get("Created")) or proposal.ts_ms


def made_on(proposal: Block) -> str:
    """The day it was created, from its date or its id. Ours have the time, Mind-Mem's only the day."""
    day = proposal.get("Created")[:10].replace("-", "")
    return day if len(day) == 8 and day.isdigit() else proposal.id.split("-")[1]


def _moment(text: str) -> int | None:
    try:
        return int(datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC).timestamp() * 1000)
    except ValueError:
        return None


def mark_status(ctx: Context, proposal: Block, status: str, **notes: str) -> Block:
    """Write the proposal with another status and further fields."""
    text = set_field(proposal.text, "Status", status)
    for name, value in notes.items():
        text = set_field(text, name, value)
    return blocks.write(ctx, proposal.id, text, origin="review", cause=proposal.id)


def statement_of(proposal: Block, record: Block | None = None) -> str:
    """The statement that memory would contain after the proposal: of the new block or record, else the
    change itself."""
    if record is not None:
        return record.headline
    for op in read(proposal.fields.get("Ops")):
        if op.patch:
            headline = blocks.headline(parse_block(op.patch).fields)
            if headline:
                return headline
    return f"{proposal.get('TargetBlock')} {proposal.get('Fingerprint')}"


def reject(ctx: Context, id: str, reason: str) -> Block:
    proposal = get(ctx, id)
    # A deferred proposal may be rejected at any time; only applying it has to wait.
    if proposal.status not in OPEN:
        check_open(ctx, proposal)
    record = record_of(ctx, proposal)
    # A tombstone, so that the same value is refused when it is proposed again, even in other words.
    bury(ctx, statement_of(proposal, record), id, reason, by=ctx.agent)
    reject_record(ctx, record, id)
    done = mark_status(ctx, proposal, statuses.REJECTED, Reason=reason, RejectedAt=rfc3339(ctx.now_ms))
    signals.set_status(ctx, proposal.get("Signal"), statuses.REJECTED, id)
    ctx.emit("memory", "proposal_rejected", id, {"reason": reason})
    return done


def record_of(ctx: Context, proposal: Block) -> Block | None:
    """The record that a proposal of type `record` is about. It is in its file already, with status proposed."""
    return blocks.find(ctx, proposal.get("TargetBlock")) if proposal.get("Type") == "record" else None


def reject_record(ctx: Context, record: Block | None, cause: str) -> None:
    if record is not None and record.status == statuses.PROPOSED:
        text = set_field(record.text, "Status", statuses.REJECTED)
        blocks.write(ctx, record.id, text, origin="review", cause=cause)


def follow_changes(ctx: Context, ids: Sequence[str], written: Mapping[str, Block] | None = None) -> None:
    """Update what depends on changed blocks, in the same transaction: after an approval, a hand edit or a rollback.

    `written` has the newest version of each, if the caller has just created them; without it they are read.
    """
    if not ids:
        return
    seq = ctx.ws.seq
    _follow_edits(ctx, ids)
    _follow_withdrawals(ctx, ids)
    if written is None or any("Proposal" in block.fields for block in written.values()):
        ids = [*ids, *_follow_hand_approvals(ctx, ids)]
    # Rejections and approvals write blocks, maybe newer versions of these: every block takes a seq.
    detection.follow(ctx, ids, written if ctx.ws.seq == seq else None)


def _follow_hand_approvals(ctx: Context, ids: Sequence[str]) -> list[str]:
    """Treat `Status: active`, written by a person into a proposed record, as approval. Returns other
    changed blocks."""
    changed = []
    for record in blocks.current(ctx, ids=ids, status=statuses.ACTIVE, field="Proposal"):
        # Only a hand edit approves here. Every other way to `active` has already marked the proposal.
        named = record.get("Proposal") if record.origin in ("edit", GIT) else ""
        proposal = blocks.find(ctx, named) if named else None
        if proposal is None or proposal.status not in OPEN or proposal.get("TargetBlock") != record.id:
            continue
        mark_status(ctx, proposal, statuses.APPLIED, ApprovedBy="a person, by hand")
        for replaced in blocks.current(ctx, ids=record.replaces, status=statuses.ACTIVE):
            text = set_field(set_field(replaced.text, "Status", statuses.SUPERSEDED), "SupersededBy", record.id)
            blocks.write(ctx, replaced.id, text, origin="review", cause=proposal.id)
            changed.append(replaced.id)
    return changed


def _follow_withdrawals(ctx: Context, ids: Sequence[str]) -> None:
    """Restore what ended records had replaced, whether they ended by a call, an approval or a hand edit."""
    standing = [id for id in ids if kind_of(id).is_durable]
    newest = blocks.last_versions(ctx, standing)
    for block in newest:
        _expire_own_proposal(ctx, block)
    over = [block.id for block in newest if _is_withdrawn(block)]
    ended = [id for id in over if _held_before(ctx, id)]
    for restore in withdrawn.all() if ended else ():
        restore(ctx, ended)


def _expire_own_proposal(ctx: Context, record: Block) -> None:
    """Close the proposal of a record that was withdrawn or replaced before approval."""
    if "Proposal" not in record.fields or not record.kind.state(record.status).is_over:
        return
    proposal = blocks.find(ctx, record.get("Proposal"))
    if proposal is not None and proposal.status in OPEN and proposal.get("TargetBlock") == record.id:
        mark_status(ctx, proposal, statuses.EXPIRED, Reason=f"{record.id} is {record.status}")


def _is_withdrawn(block: Block) -> bool:
    state = block.kind.state(block.status)
    return block.gone or (state.is_over and state is not State.REPLACED)


def _held_before(ctx: Context, id: str) -> bool:
    """Whether the version before the last held; a record that was imported as withdrawn has none."""
    versions = blocks.history(ctx, id, newest=2)
    return len(versions) == 2 and not versions[0].gone and versions[0].kind.state(versions[0].status).is_live


_SIGNAL_AFTER = {"applied": "accepted", "rejected": "rejected", statuses.ROLLED_BACK: "resolved", "expired": "resolved"}
"""The status of the signal behind a proposal that ended."""


def _follow_edits(ctx: Context, ids: Sequence[str]) -> None:
    """Handle a status that a person or Mind-Mem wrote into a proposal: the signal behind it ends too,
    and `Status: rejected` is a full rejection. It is not attributed to the caller whose call read the
    file."""
    for id in ids:
        proposal = blocks.find(ctx, id) if id.startswith("P-") else None
        if proposal is None or proposal.origin != "edit" or proposal.status not in _SIGNAL_AFTER:
            continue
        signals.set_status(ctx, proposal.get("Signal"), _SIGNAL_AFTER[proposal.status], id)
        if proposal.status == statuses.REJECTED:
            _follow_rejection(ctx, proposal)


def _follow_rejection(ctx: Context, proposal: Block) -> None:
    record = record_of(ctx, proposal)
    try:
        statement = statement_of(proposal, record)
    except ClewError:
        return  # its operations cannot be parsed, so there is no value that could be proposed again
    bury(ctx, statement, proposal.id, proposal.get("Reason") or "its file says so")
    reject_record(ctx, record, proposal.id)
    ctx.emit("memory", "proposal_rejected", proposal.id, {"reason": proposal.get("Reason"), "by_hand": True})


def defer(ctx: Context, id: str, reason: str, days: int | None) -> Block:
    proposal = get(ctx, id)
    if proposal.status not in OPEN:
        check_open(ctx, proposal)
    length = policy.load(ctx).governance.defer_cooldown_days if days is None else days
    until = rfc3339(ctx.now_ms + length * 86_400_000)
    done = mark_status(ctx, proposal, statuses.DEFERRED, Reason=reason, DeferredUntil=until)
    ctx.emit("memory", "proposal_deferred", id, {"reason": reason, "until": until})
    return done


REOPENED_FROM = (statuses.DEFERRED, statuses.REJECTED, statuses.ROLLED_BACK)


def reopen(ctx: Context, id: str) -> Block:
    """Stage a proposal again: a rejection loses its tombstone, a deferral ends."""
    proposal = get(ctx, id)
    if proposal.status not in REOPENED_FROM:
        raise ClewError(
            "CONFLICT",
            f"{id} is {proposal.status}; only what was put off, rejected or rolled back can be taken up again",
            "Roll an applied proposal back first.",
            suggestions=[suggest("list_proposals", "Shows what waits.", "medium", status=statuses.STAGED)],
        )
    if proposal.status == statuses.REJECTED:
        ctx.tx.run("DELETE FROM tombstone WHERE workspace = ? AND proposal = ?", ctx.workspace, id)
        record = record_of(ctx, proposal)
        if record is not None and record.status == statuses.REJECTED:
            blocks.write(ctx, record.id, set_field(record.text, "Status", statuses.PROPOSED), origin="review", cause=id)
        signals.set_status(ctx, proposal.get("Signal"), statuses.PENDING, id)
    cleared = {name: "none" for name in ("Reason", "DeferredUntil") if proposal.get(name)}
    done = mark_status(ctx, proposal, statuses.STAGED, **cleared)
    ctx.emit("memory", "proposal_reopened", id, {"was": proposal.status})
    return done


@dataclass(frozen=True)
class Tombstone(TableRow):
    """A value that was rejected."""

    TABLE: ClassVar[str] = "tombstone"
    KEY: ClassVar[tuple[str, ...]] = ("mark",)

    mark: str
    proposal: str
    statement: str
    reason: str
    agent: str | None
    seq: int
    created_at_ms: int


def bury(ctx: Context, statement: str, proposal: str, reason: str, by: str | None = None) -> None:
    # An earlier tombstone stays, because later proposals are refused with the first reason.
    value = Tombstone(mark(statement), proposal, statement, reason, by, ctx.ws.seq, ctx.now_ms)
    insert_absent(ctx.tx, ctx.workspace, value)


def rejected(ctx: Context, statement: str) -> Tombstone | None:
    """The tombstone of a value, if it was rejected."""
    return find(ctx.tx, ctx.workspace, Tombstone, mark(statement))


def rejected_among(ctx: Context, statements: Sequence[str]) -> set[str]:
    """Which of these values were rejected, in one round trip."""
    marks = {statement: mark(statement) for statement in statements}
    buried = {found.mark for found in find_many(ctx.tx, ctx.workspace, Tombstone, marks.values())}
    return {statement for statement in statements if marks[statement] in buried}


def check_not_rejected(ctx: Context, statement: str) -> None:
    """Refuse a value that was rejected before, and report when, by whom and why."""
    found = rejected(ctx, statement)
    if found is None:
        return
    when = rfc3339(found.created_at_ms)
    by = f" by {found.agent}" if found.agent else ""
    raise ClewError(
        "NOT_ALLOWED",
        f"rejected value: {found.proposal} ({shorten(found.statement, 120)}) was rejected on {when}{by}:"
        f" {shorten(found.reason, 300)}",
        "A rejected value stays rejected. Propose something else, or a person writes it into the file by hand.",
        suggestions=[suggest("list_proposals", "Shows what was rejected and why.", "medium", status=statuses.REJECTED)],
        details={"rule": "rejected_value", "proposal_id": found.proposal, "rejected_at": when, "ends": None},
    )
