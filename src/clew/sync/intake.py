"""Taking in what other stores did: their changes into the log, and what comes of them into memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from clew.errors import ClewError
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.archive import Pending
from clew.memory.files.markdown import parse_file
from clew.memory.governance import proposals
from clew.memory.governance.patches import Op, check_file
from clew.memory.governance.proposals import Staged
from clew.memory.kinds import kind_of
from clew.records.open import tombstone_of
from clew.registry.context import Context
from clew.secrets import redact_text
from clew.store.rows import TableRow, delete, find_many, load, upsert
from clew.sync.bundle_format import Bundle
from clew.sync.change import RecordState, SyncChange, by_record, state_of
from clew.sync.log import ORIGIN, SyncLog, changes_of, end_of
from clew.sync.names import mentioning


@dataclass(frozen=True, slots=True)
class SyncConflict(TableRow):
    """A record that two origins changed differently, and the proposal by which a person sees the other side."""

    TABLE: ClassVar[str] = "sync_conflict"
    KEY: ClassVar[tuple[str, ...]] = ("record",)
    LISTS: ClassVar[frozenset[str]] = frozenset({"heads"})

    record: str
    heads: tuple[str, ...]
    proposal: str


@dataclass
class Intake:
    """What was taken in, what could not be, and what is left to erase when the transaction has ended."""

    changes: int = 0
    records: set[str] = field(default_factory=set)
    conflicts: set[str] = field(default_factory=set)
    to_erase: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def take_bundles(log: SyncLog, bundles: Iterable[Bundle], done: Intake) -> None:
    """Keep what is new in the bundles, each origin in its order. What comes after a gap waits for another time."""
    for bundle in sorted(bundles, key=lambda item: (item.origin, item.first, item.last)):
        known = end_of(log.ctx, bundle.origin)
        if bundle.first > known.seq + 1 or bundle.last <= known.seq:
            continue
        fresh, digest = [], bundle.before
        for line in bundle.changes:
            change = SyncChange.from_line(bundle.origin, digest, line)
            digest = change.digest
            if change.seq == known.seq and digest != known.digest:
                done.problems.append(_forked(bundle.origin, known.seq))
                break
            if change.seq > known.seq:
                fresh.append(change)
        else:
            if bundle.first == known.seq + 1 and bundle.before != known.digest:
                done.problems.append(_forked(bundle.origin, known.seq))
                continue
            if bundle.origin == log.origin:
                log.rename()  # this store was restored from a copy, and has gone on elsewhere before that
            log.take(fresh)
            done.changes += len(fresh)
            done.records.update(change.record for change in fresh)


def _forked(origin: str, seq: int) -> str:
    return (
        f"two stores write under the name {origin} and differ from change {seq} on: one is a copy of the other's data"
        " directory. Nothing of it was taken in"
    )


def bring_in(log: SyncLog, done: Intake) -> None:
    """Make memory say what the changed records say now."""
    by_name = by_record(changes_of(log.ctx, sorted(done.records)))
    found = {record: state_of(group) for record, group in by_name.items()}
    fresh = [record for record, state in sorted(found.items()) if log.names.id_of(record) is None]
    for record in fresh:
        if found[record].text is not None:
            log.names.adopt(record)
    # What mentioned a record before it came says its name here from now on.
    others = sorted(mentioning(log.ctx, fresh) - found.keys()) if fresh else []
    found |= {record: state_of(group) for record, group in by_record(changes_of(log.ctx, others)).items()}
    pending = Pending(log.ctx, ORIGIN)
    for record, state in found.items():
        _bring_in_record(log, record, state, pending, done)
    pending.write()
    proposals.follow_changes(log.ctx, pending.written)
    _show_conflicts(log, found, done)


def _bring_in_record(log: SyncLog, record: str, state: RecordState, pending: Pending, done: Intake) -> None:
    id = log.names.id_of(record)
    block = blocks.find(log.ctx, id) if id else None
    if id is None:
        return
    if state.erased:
        if tombstone_of(log.ctx, id) is None and blocks.last_versions(log.ctx, [id]):
            done.to_erase.append(id)
    elif state.text is None:
        if block is not None:
            blocks.remove(log.ctx, id, origin=ORIGIN)
            pending.written.append(id)
    else:
        text, file = redact_text(log.names.inward(state.text)), _file(id, state.file)
        problem = _unfit(id, text)
        if problem:
            done.problems.append(f"{id}: {problem}")
        elif block is None or (block.text.replace("\r\n", "\n"), block.file) != (text, file):
            pending.put(file, id, text, fresh=block is None)


def _file(id: str, file: str) -> str:
    try:
        return check_file(file)
    except ClewError:
        return kind_of(id).file


def _unfit(id: str, text: str) -> str:
    """Why a text cannot be the block: what comes from elsewhere must not slip in another one."""
    parts = parse_file(text).parts
    if [part.id for part in parts] != [id] or parts[0].text != text or "\x00" in text:
        return "what came for it is not this one record"
    return ""


def _show_conflicts(log: SyncLog, found: dict[str, RecordState], done: Intake) -> None:
    known = {item.record: item for item in find_many(log.ctx.tx, log.ctx.workspace, SyncConflict, found, "record")}
    for record, state in sorted(found.items()):
        old, id = known.get(record), log.names.id_of(record)
        ops = _other_side(log, id, state) if id else ()
        if old is not None and (not ops or old.heads != state.heads):
            _expire(log.ctx, old)
        if id and ops and (old is None or old.heads != state.heads):
            proposal = proposals.stage(log.ctx, _proposal(log, id, record, state, ops))
            upsert(log.ctx.tx, log.ctx.workspace, SyncConflict(record, state.heads, proposal.id))
        if ops:
            done.conflicts.add(id or record)


def _other_side(log: SyncLog, id: str, state: RecordState) -> tuple[Op, ...]:
    """The operations that would make the record say what was not kept."""
    file = _file(id, state.file)
    return tuple(
        Op("update_field", file=file, target=id, field=conflict.field, value=log.names.inward(conflict.other))
        for conflict in state.conflicts
        if isinstance(conflict.other, str) and conflict.other and state.text is not None
    )


def _proposal(log: SyncLog, id: str, record: str, state: RecordState, ops: tuple[Op, ...]) -> Staged:
    fields = ", ".join(dict.fromkeys(op.field for op in ops))
    reason = f"two stores changed {fields} of {id} without knowing of each other; the later change was kept"
    evidence = tuple(f"{op.field}: {op.value}" for op in ops)
    against = (f"{id} ({fields} differs)",)
    return Staged("edit", id, ops, evidence, reason, risk="medium", by=ORIGIN, contradicts=against)


def _expire(ctx: Context, conflict: SyncConflict) -> None:
    proposal = blocks.find(ctx, conflict.proposal)
    if proposal is not None and proposal.status in proposals.OPEN:
        proposals.mark_status(ctx, proposal, statuses.EXPIRED, Reason="the record was changed since")
    delete(ctx.tx, ctx.workspace, conflict)


def settle_conflicts(log: SyncLog) -> None:
    """A person who rejected the other side has decided; say so to the other stores."""
    sql = "SELECT * FROM sync_conflict WHERE workspace = ? ORDER BY record"
    for conflict in [load(SyncConflict, row) for row in log.ctx.tx.all(sql, log.ctx.workspace)]:
        proposal = blocks.find(log.ctx, conflict.proposal)
        if proposal is None or proposal.status not in proposals.OPEN:
            if proposal is not None and proposal.status == statuses.REJECTED:
                log.restate(conflict.record)
            delete(log.ctx.tx, log.ctx.workspace, conflict)
