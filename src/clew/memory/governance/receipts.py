"""Receipts: applying a proposal and rolling it back, in one transaction each.

A receipt names the version of every changed block before and after, which is all that a rollback needs. Automatic
applies (mode enforce) are at the end of this module.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from clew.clock import rfc3339
from clew.errors import ClewError, suggest, unknown_id
from clew.kinds import statuses
from clew.memory import blocks, signals
from clew.memory.blocks import Block
from clew.memory.contradictions import detection
from clew.memory.files import places
from clew.memory.files.directory import root_of
from clew.memory.files.markdown import Value, parse_block, print_block, set_field, without_field
from clew.memory.governance import policy, proposals
from clew.memory.governance.draft_checks import drafted, new_faults
from clew.memory.governance.patches import ProposalDraft
from clew.memory.governance.policy import Governance
from clew.memory.governance.proposals import ops_of
from clew.memory.kinds import KINDS
from clew.registry.context import Context
from clew.store import rows
from clew.store.database import Row
from clew.store.rows import TableRow, insert, load

TIME_FORMAT = "%Y%m%d-%H%M%S"
APPLIED = "intelligence/applied"
"""The folder with one subfolder per receipt, named by its time."""
WHOLE_BLOCK = 1_000_000
"""Context lines in a receipt's diff: the whole block, so that another store can roll it back."""


@dataclass(frozen=True)
class Receipt(TableRow):
    TABLE: ClassVar[str] = "receipt"
    KEY: ClassVar[tuple[str, ...]] = ("ts",)
    ORDERED: ClassVar[frozenset[str]] = frozenset({"changes"})
    FLAGS: ClassVar[frozenset[str]] = frozenset({"automatic"})

    ts: str
    proposal: str
    changes: list[dict[str, Any]]
    """Each changed block with its versions `before` and `after`. If the store does not have such a
    version, a receipt imported from files has the texts instead (`text`, `after_text`), the file of the
    block (`was`), and the gap after it (`gap`)."""
    automatic: bool
    rolled_back_at_ms: int | None
    seq: int = 0
    agent: str | None = None
    created_at_ms: int = 0

    @property
    def file(self) -> str:
        return f"{APPLIED}/{self.ts}/APPLY_RECEIPT.md"


def apply(ctx: Context, proposal: Block, draft: ProposalDraft, automatic: bool = False) -> Receipt:
    """Write the draft's blocks, the receipt and the proposal's new status."""
    changes = [_write(ctx, change.id, draft, proposal.id) for change in draft.changes.values()]
    # After the blocks, because the receipt names their new versions.
    receipt = keep(ctx, Receipt(_free_ts(ctx), proposal.id, changes, automatic, None))
    _print(ctx, receipt, proposal, draft)
    approver = {"ApprovedBy": ctx.agent} if ctx.agent else {}
    proposals.mark_status(ctx, proposal, statuses.APPLIED, Receipt=receipt.ts, **approver)
    signals.set_status(ctx, proposal.get("Signal"), statuses.ACCEPTED, proposal.id)
    policy.note_apply(ctx)
    payload = {"receipt_ts": receipt.ts, "blocks": [change["id"] for change in changes], "automatic": automatic}
    ctx.emit("memory", "proposal_applied", proposal.id, payload)
    # Last, because what depends on the blocks is derived from their new state and from the proposal's new status.
    proposals.follow_changes(ctx, [change["id"] for change in changes])
    return receipt


def apply_record(ctx: Context, id: str, draft: ProposalDraft) -> Receipt:
    """Write a record that needs no review. It has no proposal and no receipt block, but can be rolled back."""
    ts = _free_ts(ctx)
    changes = [_write(ctx, change.id, draft, f"AR-{ts}") for change in draft.changes.values()]
    receipt = keep(ctx, Receipt(ts, id, changes, False, None))
    proposals.follow_changes(ctx, [change["id"] for change in changes])
    return receipt


def keep(ctx: Context, receipt: Receipt, made_ms: int | None = None) -> Receipt:
    """Store a receipt; `made_ms` is its creation time, if not now."""
    made_ms = ctx.now_ms if made_ms is None else made_ms
    kept = replace(receipt, seq=ctx.ws.seq, agent=ctx.agent, created_at_ms=made_ms)
    insert(ctx.tx, ctx.workspace, kept)
    return kept


def times(ctx: Context) -> set[str]:
    """The timestamps of all receipts of the workspace."""
    return {row["ts"] for row in ctx.tx.all("SELECT ts FROM receipt WHERE workspace = ?", ctx.workspace)}


def printed_sizes(ctx: Context) -> list[tuple[Receipt, int]]:
    """Receipts that are not rolled back, newest first, each with the size of its rendered file."""
    size = "length(CAST({} AS BLOB))" if ctx.tx.engine == "sqlite" else "octet_length({})"
    parts = (size.format(part) for part in ("block_file.preamble", "block.text", "place.gap"))
    sql = (
        f"SELECT receipt.*, {' + '.join(parts)} AS bytes FROM receipt"
        f" JOIN place ON place.workspace = receipt.workspace AND place.id = 'AR-' || receipt.ts"
        " JOIN block_file ON block_file.workspace = receipt.workspace AND block_file.path = place.file"
        " JOIN block ON block.workspace = receipt.workspace AND block.id = place.id AND until IS NULL AND gone = 0"
        " WHERE receipt.workspace = ? AND receipt.rolled_back_at_ms IS NULL ORDER BY receipt.ts DESC"
    )
    return [(load(Receipt, row), row["bytes"]) for row in ctx.tx.all(sql, ctx.workspace)]


def _write(ctx: Context, id: str, draft: ProposalDraft, cause: str) -> dict[str, Any]:
    change = draft.changes[id]
    written = blocks.write(ctx, id, change.text, origin="apply", cause=cause, file=change.file, after=change.after)
    before = change.before.seq if change.before else None
    return {"id": id, "file": change.file, "before": before, "after": written.seq}


def _free_ts(ctx: Context) -> str:
    """The time of the apply in seconds, or the next second that no receipt or folder is named after.

    Mind-Mem names receipts by seconds, so Clew must too. Several applies in one second get names in the
    future, and a folder that Mind-Mem created in this second is never reused.
    """
    now = datetime.fromtimestamp(ctx.now_ms / 1000, UTC).replace(microsecond=0)
    sql = "SELECT max(ts) FROM receipt WHERE workspace = ? AND ts >= ?"
    newest = ctx.tx.value(sql, ctx.workspace, now.strftime(TIME_FORMAT))
    if newest is not None:
        now = datetime.strptime(newest, TIME_FORMAT).replace(tzinfo=UTC) + timedelta(seconds=1)
    root = root_of(ctx)
    while root is not None and (root / APPLIED / now.strftime(TIME_FORMAT)).exists():
        now += timedelta(seconds=1)
    return now.strftime(TIME_FORMAT)


def _print(ctx: Context, receipt: Receipt, proposal: Block, draft: ProposalDraft) -> None:
    id = f"AR-{receipt.ts}"
    text = print_block(
        id,
        {
            "Date": rfc3339(ctx.now_ms),
            "Proposal": proposal.id,
            "Action": ", ".join(op.op for op in proposals.ops_of(proposal)),
            "Result": "applied",
            "Snapshot": receipt.ts,
            "Status": "applied",
            "Automatic": "yes" if receipt.automatic else "",
            "Risk": proposal.get("Risk"),
            "TargetBlock": proposal.get("TargetBlock"),
            "FilesTouched": draft.files(),
            "RollbackPlan": f"rollback_proposal receipt_ts={receipt.ts}",
            "Diff": draft.diff(context=WHOLE_BLOCK),
        },
    )
    blocks.write(ctx, id, text, origin="apply", cause=proposal.id, file=receipt.file)


def find(ctx: Context, ts: str) -> Receipt:
    found = rows.find(ctx.tx, ctx.workspace, Receipt, ts)
    if found is None:
        way = suggest("list_proposals", "Shows applied proposals with their receipts.", "high", status=statuses.APPLIED)
        raise unknown_id("receipt", ts, "Use the receipt_ts that approve_apply returned.", [way])
    return found


def of_cause(ctx: Context, cause: str) -> Receipt | None:
    """The receipt of a version, whose cause is a proposal (P-...) or a receipt (AR-...)."""
    if cause.startswith("AR-"):
        return rows.find(ctx.tx, ctx.workspace, Receipt, cause.removeprefix("AR-"))
    return of_proposal(ctx, cause) if cause.startswith("P-") else None


def of_proposal(ctx: Context, proposal: str) -> Receipt | None:
    sql = "SELECT * FROM receipt WHERE workspace = ? AND proposal = ? ORDER BY ts DESC LIMIT 1"
    row = ctx.tx.one(sql, ctx.workspace, proposal)
    return load(Receipt, row) if row else None


def automatic_since(ctx: Context, since_ms: int) -> list[Row]:
    """Automatic applies since a time, newest first."""
    sql = "SELECT ts, created_at_ms FROM receipt WHERE workspace = ? AND automatic = 1 AND created_at_ms >= ?"
    return ctx.tx.all(f"{sql} ORDER BY created_at_ms DESC, ts DESC", ctx.workspace, since_ms)


def roll_back(ctx: Context, receipt: Receipt, merge: bool, reason: str | None = None) -> list[str]:
    """Undo exactly what the receipt did; returns a log. `merge` keeps later changes of other fields."""
    if receipt.rolled_back_at_ms is not None:
        raise ClewError(
            "CONFLICT",
            f"receipt {receipt.ts} was rolled back on {rfc3339(receipt.rolled_back_at_ms)} already",
            "Nothing is left to take back.",
        )
    # All reversals are computed before the first is written, so that one block that changed since
    # refuses them all. The last change is undone first, because it may build on an earlier one.
    plans = [_reversal(ctx, change, merge) for change in reversed(receipt.changes)]
    log = []
    for id, back in plans:
        if back is None:
            blocks.remove(ctx, id, origin="rollback", cause=receipt.proposal)
            log.append(f"Removed {id}")
        else:
            blocks.write(ctx, id, back.text, origin="rollback", cause=receipt.proposal, file=back.file)
            log.append(f"Restored {id}")
    for change in receipt.changes:
        if change.get("gap"):
            places.put_rules_back(ctx, change["id"], change["gap"])
    close(ctx, receipt, reason)
    proposals.follow_changes(ctx, [id for id, _ in plans])
    return log


@dataclass(frozen=True)
class Side:
    """A block before or after an apply."""

    text: str
    file: str

    @property
    def fields(self) -> dict[str, Value]:
        return parse_block(self.text).fields


def _reversal(ctx: Context, change: dict[str, Any], merge: bool) -> tuple[str, Side | None]:
    """The block's id and its former state; None if the block did not exist before."""
    now = blocks.find(ctx, change["id"])
    before, after = _sides(ctx, change)
    if before is None and after is None:
        said = f"what {change['id']} was before this apply is not known: the receipt has no copy of {change['file']}"
        raise ClewError("CONFLICT", said, "Set it back by propose_edit, or by hand in its file.")
    if now is None and before is not None and after is None:
        return change["id"], before
    # Texts are compared, not versions: a block that was changed and changed back is as the apply left it.
    if now is not None and after is not None and _plain(now.text, now.file) == _plain(after.text, change["file"]):
        return change["id"], before
    # A merge needs all three states; if one is missing, later changes cannot be identified.
    if not merge or now is None or before is None or after is None:
        raise _touched(change["id"], now)
    return change["id"], Side(_without(before, after, now), before.file)


def _sides(ctx: Context, change: dict[str, Any]) -> tuple[Side | None, Side | None]:
    versions = {block.seq: block for block in blocks.history(ctx, change["id"])}
    before, after = versions.get(change["before"]), versions.get(change["after"])
    old = change.get("text") if before is None else before.text
    new = change.get("after_text") if after is None else (None if after.gone else after.text)
    return (
        Side(old, before.file if before else change.get("was") or change["file"]) if old else None,
        Side(new, change["file"]) if new else None,
    )


def _plain(text: str, file: str) -> tuple[str, str]:
    # An editor that only converts line ends has not changed the block.
    return text.replace("\r\n", "\n"), file


def _without(before: Side, after: Side, now: Block) -> str:
    """The current block with the fields that the receipt changed set back; later changes of other fields stay."""
    text = now.text.replace("\r\n", "\n")
    for name in sorted({*before.fields, *after.fields}):
        if before.fields.get(name) == after.fields.get(name):
            continue
        # This field was changed again since. Setting it back would silently undo a later decision.
        if now.fields.get(name) != after.fields.get(name):
            raise _touched(now.id, now, name)
        text = without_field(text, name) if name not in before.fields else set_field(text, name, before.fields[name])
    return text


def _touched(id: str, now: Block | None, field: str | None = None) -> ClewError:
    what = f"field {field} of {id}" if field else id
    how = f"changed again ({now.origin} at {rfc3339(now.ts_ms)})" if now else "removed"
    return ClewError(
        "CONFLICT",
        f"{what} was {how} after this apply; rolling back would undo that too",
        "Undo the later change first, or call again with merge=true to keep later changes of other fields.",
        details={"rule": "later_change", "block_id": id},
    )


def is_taken_back(ctx: Context, version: Block) -> bool:
    """Whether a version of a block was created by an apply whose receipt is rolled back."""
    made = of_cause(ctx, version.cause) if version.origin == "apply" and version.cause else None
    return made is not None and made.rolled_back_at_ms is not None


def taken_back(ctx: Context) -> dict[str, Block]:
    """Blocks in the version of a rolled-back apply: another program undid it, in the files."""
    sql = "SELECT * FROM receipt WHERE workspace = ? AND rolled_back_at_ms IS NOT NULL"
    closed = [load(Receipt, row) for row in ctx.tx.all(sql, ctx.workspace)]
    changed = {change["id"] for receipt in closed for change in receipt.changes}
    return {block.id: block for block in blocks.current(ctx, ids=changed) if is_taken_back(ctx, block)}


def close(ctx: Context, receipt: Receipt, reason: str | None = None) -> None:
    """Mark the receipt, its proposal and the signal behind it as rolled back."""
    sql = "UPDATE receipt SET rolled_back_at_ms = ? WHERE workspace = ? AND ts = ?"
    ctx.tx.run(sql, ctx.now_ms, ctx.workspace, receipt.ts)
    proposal = blocks.find(ctx, receipt.proposal)
    if proposal is not None and proposal.kind is KINDS["P"]:
        proposals.mark_status(ctx, proposal, statuses.ROLLED_BACK)
        signals.set_status(ctx, proposal.get("Signal"), statuses.RESOLVED, proposal.id)
    printed = blocks.find(ctx, f"AR-{receipt.ts}")
    if printed is not None:
        text = set_field(printed.text, "RolledBack", rfc3339(ctx.now_ms))
        for name in ("Result", "Status"):
            text = set_field(text, name, statuses.ROLLED_BACK)
        blocks.write(ctx, printed.id, text, origin="rollback", cause=receipt.proposal)
    why = {"reason": reason} if reason else {}
    ctx.emit("memory", "proposal_rolled_back", receipt.proposal, {"receipt_ts": receipt.ts, **why})


DAY_MS = 86_400_000


def apply_if_allowed(ctx: Context, proposal: Block, confidence: str) -> dict[str, Any]:
    """In mode enforce, apply a proposal if every rule allows it. Returns the fields for the response, else nothing."""
    governance = policy.load(ctx).governance
    if governance.governance_mode != "enforce":
        return {}
    draft = drafted(ctx, ops_of(proposal))
    reason = _obstacle(ctx, proposal, draft, confidence, governance)
    if reason:
        return {"auto_applied": False, "auto_apply_refused": reason}
    receipt = apply(ctx, proposal, draft, automatic=True)
    return {
        "auto_applied": True,
        "receipt_ts": receipt.ts,
        "safety": "Mode enforce: this low-risk proposal was applied by itself. rollback_proposal takes it back.",
        "next_step": f"To take it back: rollback_proposal receipt_ts={receipt.ts}.",
    }


def _obstacle(
    ctx: Context, proposal: Block, draft: ProposalDraft, confidence: str, governance: Governance
) -> str | None:
    if not governance.auto_apply_low_risk:
        return f"rule auto_apply_low_risk: {policy.STATE_FILE} does not allow it"
    if proposal.get("Risk") != "low":
        return f"rule risk: {proposal.get('Risk')} risk waits for approval"
    if confidence == "low":
        return "rule confidence: low confidence waits for approval"
    # The last 24 hours, not this calendar day: at midnight a second full budget would begin at once.
    done = automatic_since(ctx, ctx.now_ms - DAY_MS)
    budget = governance.proposal_budget.per_day
    if len(done) >= budget:
        ends = rfc3339(done[budget - 1]["created_at_ms"] + DAY_MS) if budget else "when per_day is raised"
        return f"rule per_day: {budget} automatic applies in 24 hours are used up; ends {ends}"
    pause = governance.no_touch_minutes * 60_000
    if done and ctx.now_ms - done[0]["created_at_ms"] < pause:
        return f"rule no_touch: ends {rfc3339(done[0]['created_at_ms'] + pause)}"
    faults = new_faults(ctx, draft, waiting=False)
    if faults:
        return f"rule validator: {faults[0].message}"
    objections = detection.objections(ctx, draft)
    return f"rule objection: {objections[0]}" if objections else None
