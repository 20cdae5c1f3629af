"""Proposals: changes to memory that wait for approval, each with a fingerprint over everything it would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from clew.clock import rfc3339
from clew.errors import ClewError, shorten, suggest, unknown_id
from clew.memory import blocks, signals
from clew.memory.blocks import Block
from clew.memory.contradictions import detection
from clew.memory.files.markdown import parse_block, print_block, set_field
from clew.memory.governance import policy
from clew.memory.governance.patches import (
    Op,
    check,
    digest,
    drafted,
    fingerprint,
    fingerprints,
    printed,
    read,
    with_files,
)
from clew.memory.kinds import PROPOSED_FILES
from clew.memory.marks import mark
from clew.registry.context import Context
from clew.store.database import Row
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

OPEN = ("staged", "deferred")
UNNAMED = "an unnamed agent"
RISKS = ("low", "medium", "high")
_RISK_OF = {"append_block": "low", "append_list_item": "low", "supersede_decision": "high"}


@dataclass(frozen=True)
class Staged:
    """What is to be proposed."""

    type: str
    target: str
    ops: tuple[Op, ...]
    evidence: tuple[str, ...]
    rationale: str = ""
    risk: str | None = None
    signal: str | None = None
    by: str = ""
    """The part of Clew that made it, when no caller asked for it."""


def risk_of(ops: tuple[Op, ...]) -> str:
    """The highest risk of any op: adding is low, changing medium, superseding high."""
    return max((_RISK_OF.get(op.op, "medium") for op in ops), key=RISKS.index)


def stage(ctx: Context, staged: Staged, id: str | None = None) -> Block:
    """Write the proposal after trying its operations on a copy."""
    # What cannot be applied now must not wait for a person: a refusal comes while its author is still there.
    ops = list(completed(ctx, staged.ops))
    changes = drafted(ctx, ops).changes
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
            "FilesTouched": sorted({change.file for change in changes.values()}),
            "Signal": staged.signal,
            "ProposedBy": staged.by,
            "Fingerprint": print_of,
            "Digest": digest(staged.type, staged.target, ops),
            "Ops": printed(ops),
        },
    )
    block = blocks.write(ctx, id, text, origin="propose", file=PROPOSED_FILES[staged.type])
    ctx.emit("memory", "proposal_staged", id, {"type": staged.type, "target": staged.target, "fingerprint": print_of})
    return block


def completed(ctx: Context, ops: Sequence[Op]) -> tuple[Op, ...]:
    """The operations as a proposal holds them: checked, tried on a copy, and each with its file."""
    for op in ops:
        check(op)
    return with_files(drafted(ctx, list(ops)), ops)


def get(ctx: Context, id: str) -> Block:
    found = blocks.find(ctx, id)
    if found is None:
        way = suggest("list_proposals", "Lists the proposals there are.")
        raise unknown_id("proposal", id, "Use an id that list_proposals shows.", [way])
    return found


def ops_of(proposal: Block) -> list[Op]:
    """The operations, provided that the fingerprint still covers them.

    A proposal of ours has Mind-Mem's fingerprint, by which that program takes it, and a digest that covers the parts
    which the fingerprint leaves out. A fingerprint that is a whole digest needs none beside it.
    """
    found = read(proposal.fields.get("Ops"))
    said = (proposal.get("Type"), proposal.get("TargetBlock"))
    expected = digest(*said, found)
    stored, whole = proposal.get("Fingerprint"), proposal.get("Digest")
    # An edited proposal must not be approved under the old fingerprint: the person would agree to something else.
    if stored and stored != expected and (stored not in fingerprints(*said, found) or (whole and whole != expected)):
        raise ClewError(
            "CONFLICT",
            f"{proposal.id}: its fingerprint {shorten(stored, 40)} does not cover its operations ({expected} would)",
            f"Whoever edited the proposal sets Fingerprint: {expected}, or proposes the change anew.",
            details={"rule": "fingerprint", "expected": expected},
        )
    return found


def twin(ctx: Context, whole: str) -> Block | None:
    """An open proposal that would do exactly the same, by its digest."""
    return next((block for block in blocks.with_mark(ctx, "P", whole) if block.status in OPEN), None)


def check_open(ctx: Context, proposal: Block) -> None:
    """Refuse what is not staged: applied, rejected, or deferred and its time not over."""
    if proposal.status == "staged":
        return
    if proposal.status == "deferred":
        until = deferred_until(ctx, proposal)
        # A deferral whose time is over counts as staged, without anybody having to wake it.
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
        suggestions=[suggest("list_proposals", "Shows what waits.", "medium", status="staged")],
    )


def deferred_until(ctx: Context, proposal: Block) -> int | None:
    """When a deferral ends: the date it names, or the cooldown after the version that deferred it."""
    named = _moment(proposal.get("DeferredUntil"))
    if named is not None:
        return named
    days = policy.load(ctx).governance.defer_cooldown_days
    return proposal.ts_ms + int(timedelta(days=days).total_seconds() * 1000)


def created_ms(proposal: Block) -> int:
    """When it was made; a proposal that does not say so is as old as its newest version."""
    return _moment(proposal.get("Created")) or proposal.ts_ms


def made_on(proposal: Block) -> str:
    """The day that a proposal was made on, as it or its id says; ours name the moment, Mind-Mem's only the day."""
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
    """What the proposal would make memory say: the statement of the new block or record, or the whole change."""
    if record is not None:
        return record.headline
    for op in read(proposal.fields.get("Ops")):
        if op.patch:
            said = blocks.headline(parse_block(op.patch).fields)
            if said:
                return said
    return f"{proposal.get('TargetBlock')} {proposal.get('Fingerprint')}"


def reject(ctx: Context, id: str, reason: str) -> Block:
    proposal = get(ctx, id)
    if proposal.status not in OPEN:
        check_open(ctx, proposal)
    record = _record_of(ctx, proposal)
    # The tombstone keeps the same value from being proposed again in other words.
    bury(ctx, statement_of(proposal, record), id, reason)
    _reject_record(ctx, record, id)
    done = mark_status(ctx, proposal, "rejected", Reason=reason, RejectedAt=rfc3339(ctx.now_ms))
    signals.set_status(ctx, proposal.get("Signal"), "rejected", id)
    ctx.emit("memory", "proposal_rejected", id, {"reason": reason})
    return done


def _record_of(ctx: Context, proposal: Block) -> Block | None:
    """The record that a proposal of this type is about; it stands in its file already, as proposed."""
    return blocks.find(ctx, proposal.get("TargetBlock")) if proposal.get("Type") == "record" else None


def _reject_record(ctx: Context, record: Block | None, cause: str) -> None:
    if record is not None and record.status == "proposed":
        text = set_field(record.text, "Status", "rejected")
        blocks.write(ctx, record.id, text, origin="review", cause=cause)


def follow_changes(ctx: Context, ids: Sequence[str]) -> None:
    """Bring what depends on blocks up to date, in the transaction that changed them by approval, hand or rollback."""
    if ids:
        _follow_edits(ctx, ids)
        detection.follow(ctx, [*ids, *_follow_hand_approvals(ctx, ids)])


def _follow_hand_approvals(ctx: Context, ids: Sequence[str]) -> list[str]:
    """A person approves a proposed record by writing `Status: active` into it. Returns what that changed besides."""
    changed = []
    for record in blocks.current(ctx, ids=ids, status="active"):
        # Only a hand edit approves. A record that became active in another way has told its proposal already.
        named = record.get("Proposal") if record.origin == "edit" else ""
        proposal = blocks.find(ctx, named) if named else None
        if proposal is None or proposal.status not in OPEN or proposal.get("TargetBlock") != record.id:
            continue
        mark_status(ctx, proposal, "applied", ApprovedBy="a person, by hand")
        for replaced in blocks.current(ctx, ids=record.replaces, status="active"):
            text = set_field(set_field(replaced.text, "Status", "superseded"), "SupersededBy", record.id)
            blocks.write(ctx, replaced.id, text, origin="review", cause=proposal.id)
            changed.append(replaced.id)
    return changed


def _follow_edits(ctx: Context, ids: Sequence[str]) -> None:
    """A person rejects a proposal by writing so into its file; that buries its value like a call would."""
    for id in ids:
        proposal = blocks.find(ctx, id) if id.startswith("P-") else None
        if proposal is None or proposal.origin != "edit" or proposal.status != "rejected":
            continue
        record = _record_of(ctx, proposal)
        try:
            said = statement_of(proposal, record)
        except ClewError:
            continue  # its operations cannot be read, so it proposes nothing that could come back
        bury(ctx, said, id, proposal.get("Reason") or "rejected by hand")
        _reject_record(ctx, record, id)
        signals.set_status(ctx, proposal.get("Signal"), "rejected", id)
        ctx.emit("memory", "proposal_rejected", id, {"reason": proposal.get("Reason")})


def defer(ctx: Context, id: str, reason: str, days: int | None) -> Block:
    proposal = get(ctx, id)
    if proposal.status not in OPEN:
        check_open(ctx, proposal)
    length = policy.load(ctx).governance.defer_cooldown_days if days is None else days
    until = rfc3339(ctx.now_ms + length * 86_400_000)
    done = mark_status(ctx, proposal, "deferred", Reason=reason, DeferredUntil=until)
    ctx.emit("memory", "proposal_deferred", id, {"reason": reason, "until": until})
    return done


REOPENED_FROM = ("deferred", "rejected", "rolled_back")


def reopen(ctx: Context, id: str) -> Block:
    """Let a proposal wait again: a rejection is taken back with its tombstone, a deferral ends."""
    proposal = get(ctx, id)
    if proposal.status not in REOPENED_FROM:
        raise ClewError(
            "CONFLICT",
            f"{id} is {proposal.status}; only what was put off, rejected or rolled back can be taken up again",
            "Roll an applied proposal back first.",
            suggestions=[suggest("list_proposals", "Shows what waits.", "medium", status="staged")],
        )
    if proposal.status == "rejected":
        ctx.tx.run("DELETE FROM tombstone WHERE workspace = ? AND proposal = ?", ctx.workspace, id)
        record = _record_of(ctx, proposal)
        if record is not None and record.status == "rejected":
            blocks.write(ctx, record.id, set_field(record.text, "Status", "proposed"), origin="review", cause=id)
        signals.set_status(ctx, proposal.get("Signal"), "pending", id)
    cleared = {name: "none" for name in ("Reason", "DeferredUntil") if proposal.get(name)}
    done = mark_status(ctx, proposal, "staged", **cleared)
    ctx.emit("memory", "proposal_reopened", id, {"was": proposal.status})
    return done


def bury(ctx: Context, statement: str, proposal: str, reason: str) -> None:
    ctx.tx.run(
        "INSERT INTO tombstone (workspace, mark, proposal, statement, reason, agent, seq, created_at_ms)"
        # The first rejection stays: its reason is the one that later proposals are answered with.
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, mark) DO NOTHING",
        ctx.workspace,
        mark(statement),
        proposal,
        statement,
        reason,
        ctx.agent,
        ctx.ws.seq,
        ctx.now_ms,
    )


def rejected(ctx: Context, statement: str) -> Row | None:
    """The tombstone of a value, if it has one."""
    return next(iter(_buried(ctx, [statement])[0]), None)


def rejected_among(ctx: Context, statements: Sequence[str]) -> set[str]:
    """Those of many values that were rejected."""
    found = _buried(ctx, statements)
    return {statement for statement, rows in zip(statements, found, strict=True) if rows}


def _buried(ctx: Context, statements: Sequence[str]) -> list[list[Row]]:
    sql = "SELECT * FROM tombstone WHERE workspace = ? AND mark = ?"
    return ctx.tx.each(sql, [(ctx.workspace, mark(statement)) for statement in statements])


def check_not_rejected(ctx: Context, statement: str) -> None:
    """Refuse a value that was rejected before, and say when and why."""
    found = rejected(ctx, statement)
    if found is None:
        return
    when = rfc3339(found["created_at_ms"])
    by = f" by {found['agent']}" if found["agent"] else ""
    raise ClewError(
        "NOT_ALLOWED",
        f"rejected value: {found['proposal']} ({shorten(found['statement'], 120)}) was rejected on {when}{by}:"
        f" {shorten(found['reason'], 300)}",
        "A rejected value stays rejected. Propose something else, or a person writes it into the file by hand.",
        suggestions=[suggest("list_proposals", "Shows what was rejected and why.", "medium", status="rejected")],
        details={"rule": "rejected_value", "proposal_id": found["proposal"], "rejected_at": when, "ends": None},
    )
