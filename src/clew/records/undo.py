"""undo: reverts the caller's own last write, whatever it was, and reports what it did."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.clock import rfc3339
from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import normal_id
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.sync import sync
from clew.registry.context import Context
from clew.registry.operation import Input, Name, View, operation
from clew.registry.people import RULE
from clew.registry.write_log import (
    LoggedWrite,
    is_own_write,
    mark_undone,
    own_writes,
    undoer,
    write_of,
)
from clew.store.erasing import RECORD_ERASED
from clew.store.events import EventRow

SHOWN = 10
MOST_SHOWN, MOST_NAMED = 6, 4
NOISE = frozenset(
    {
        *("checkout_changed", "focus_changed", "workspace_created", "runner_changed", "index_rebuilt"),
        *("memory_edited", "memory_scanned", "memory_file_written", "guard_denied", "proof_outdated"),
        *("step_lease_claimed", "step_lease_renewed", "step_lease_released", "step_lease_taken_over"),
        *("session_started", "mindpack_updated", "write_undone", "records_unlinked"),
    }
)
"""A write with only these events changed nothing that its author would consider a change."""
REASONS = (
    (("note_committed", "notes_merged", "step_noted", "trace_step_added"), "a log is only appended to"),
    (("task_deleted", "step_deleted", "task_node_deleted"), "what was deleted is gone; tasks_history shows it"),
    (("task_node_added",), "tasks_task_delete removes it"),
    (("undo_applied",), "tasks_redo does it again"),
    (("redo_applied",), "tasks_undo takes it back"),
    (("evidence_captured",), "a run happened; retract takes its receipt back"),
    (("guard_approved", "guard_revoked", "guard_overridden"), "a person decides about checks: clew guards"),
    (("job_", "runner_"), "a job goes on by itself; cancel or requeue it"),
    (("branch_", "head_", "graph_merged", "graph_conflict_", "tag_"), "branches and merges have ways of their own"),
    (("anchor",), "the earlier form of an area is not kept"),
    (("comment_",), "it may have been read; say it anew"),
    (("approval_changed", "governance_changed"), "governance sets it back"),
    (("dispute_decided",), "decide with another verdict"),
    ((RECORD_ERASED,), "what was erased is gone for good"),
    (("workspace_imported", "session_imported"), "retract what came with it, by its id"),
    (("thought_critiqued", "memory_file_removed"), "its earlier form is not kept"),
    (("session_", "notebook_", "pattern_", "scratchpad_"), "its earlier form is not kept"),
)
"""Why events with these prefixes cannot be undone."""
_EVENT = re.compile(r"(?:evt_)?0*(\d{1,18})")


class UndoWrite(Input):
    synonyms: ClassVar[dict[str, str]] = dict.fromkeys(("id", "ref", "record"), "event")

    event: Annotated[
        Name | None,
        Field(description="An event as a history names it, or a record that you changed; default: your last write."),
    ] = None
    list: Annotated[bool, Field(description="Show your last ten writes instead.")] = False


def undo_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    if "writes" in result:
        rows = [f"{row['event']} {row['operation']}, {row['ts'][:16]}: {row['says']}" for row in result["writes"]]
        return rows or ["nothing to undo: no write of yours is left"]
    told = result["done"]
    more = f" and {len(told) - MOST_SHOWN} more" if len(told) > MOST_SHOWN else ""
    lines = [f"undone {result['operation']} ({result['says']}): {'; '.join(told[:MOST_SHOWN])}{more}"]
    return [*lines, *(f"kept: {line}" for line in result["kept"])]


@operation("undo", writes=True, mode="own", view=View(in_lines=True, lines=undo_lines))
def undo(ctx: Context, args: UndoWrite) -> dict[str, Any]:
    """Undo your own last write, whatever it was: a record, step, task, retraction, link or approval.

    Says what it put back. What somebody else changed since is never touched: then it refuses and names it.
    """
    sync(ctx)
    if args.list:
        with ctx.reading() as reading:
            writes = [write for write in own_writes(reading) if _changes(reading, write)][:SHOWN]
            return {"workspace": ctx.workspace, "writes": [_row(reading, write) for write in writes]}
    with governed_transaction(ctx) as bound:
        write = _chosen(bound, args.event)
        said = _says(write.events(bound))
        done, kept = _undone(bound, write)
        bound.emit("records", "write_undone", None, {"event": write.event, "operation": write.operation})
        mark_undone(bound, write)
    return {
        "workspace": ctx.workspace,
        "event": f"evt_{write.event:016d}",
        "operation": write.operation,
        "says": said,
        "done": done,
        "kept": kept,
    }


def _chosen(ctx: Context, event: str | None) -> LoggedWrite:
    if event is None:
        found = next((write for write in own_writes(ctx) if _changes(ctx, write)), None)
        if found is None:
            raise ClewError(
                "CONFLICT",
                "nothing to undo: no write of yours is left",
                "restore brings back a record that was withdrawn or replaced.",
                suggestions=[suggest("resume", "Shows where the work is.", "medium")],
            )
        return found
    match = _EVENT.fullmatch(event.strip().lower())
    write = write_of(ctx, int(match[1])) if match is not None else _last_about(ctx, event)
    if write is None:
        raise invalid(
            "event",
            f"{shorten(event, 40)!r} is no event of a write, and no record that you changed",
            "Copy it from undo list=true.",
            [suggest("undo", "Lists your last writes.", "high", list=True)],
        )
    if write.undone_event is not None:
        raise ClewError(
            "CONFLICT",
            f"{event} is undone already",
            "Nothing to do.",
            suggestions=[suggest("undo", "Lists your last writes.", "high", list=True)],
        )
    if not is_own_write(ctx, write):
        raise ClewError(
            "NOT_ALLOWED",
            f"{event} was written by {write.agent or 'somebody'}",
            "Its author undoes it, or a person at the page or the shell.",
            suggestions=[suggest("undo", "Lists your own last writes.", "high", list=True)],
            details={"rule": RULE},
        )
    return write


def _undone(ctx: Context, write: LoggedWrite) -> tuple[list[str], list[str]]:
    """What was restored, and what was not, with the reason."""
    events = [event for event in write.events(ctx) if event.type not in NOISE and not _is_scope(event)]
    erased = [event for event in events if event.type == RECORD_ERASED]
    if erased:  # its empty rows must not be restored
        raise _cannot(write, erased[:1])
    found = [put_back(ctx, write) for put_back in undoer.all()]
    done = [line for each in found for line in each.done]
    handled = frozenset[str]().union(*(each.handled for each in found))
    if not handled:
        raise _cannot(write, events)
    return done or ["as it was before"], [_reason(event) for event in events if event.type not in handled]


def _cannot(write: LoggedWrite, events: list[EventRow]) -> ClewError:
    why = _reason(events[0]) if events else "it changed nothing that is kept"
    return ClewError(
        "CONFLICT",
        f"{write.operation} cannot be undone: {why}",
        "Change it in its own way, or undo an earlier write by its event.",
        suggestions=[suggest("undo", "Lists your last writes.", "high", list=True)],
    )


def _reason(event: EventRow) -> str:
    named = f"{event.type.replace('_', ' ')} {event.subject or ''}".strip()
    why = next((text for types, text in REASONS if event.type.startswith(types)), "its earlier form is not kept")
    return f"{named}: {why}"


def _is_scope(event: EventRow) -> bool:
    """Whether it is the branch that is created with a task or session."""
    return event.type == "branch_created" and str(event.subject).startswith(("plan/", "task/", "session/"))


def _last_about(ctx: Context, record: str) -> LoggedWrite | None:
    """The caller's last write that changed a record; its effects elsewhere are undone with it."""
    id = normal_id(record.strip())
    return next((write for write in own_writes(ctx) if any(e.subject == id for e in write.events(ctx))), None)


def _changes(ctx: Context, write: LoggedWrite) -> bool:
    return any(event.type not in NOISE and not _is_scope(event) for event in write.events(ctx))


def undo_events(ctx: Context, about: list[EventRow]) -> dict[tuple[str, int], str]:
    """For entries of a record's history, by type and time, the event by which `undo` reverts their write."""
    return {(event.type, event.ts_ms): event.id for event in about if _is_undoable(ctx, event)}


def _is_undoable(ctx: Context, event: EventRow) -> bool:
    if event.type in NOISE or any(event.type.startswith(types) for types, _ in REASONS):
        return False
    write = write_of(ctx, event.seq)
    return write is not None and write.undone_event is None and write.operation != "undo"


def _row(ctx: Context, write: LoggedWrite) -> dict[str, Any]:
    return {
        "event": f"evt_{write.event:016d}",
        "operation": write.operation,
        "ts": rfc3339(write.ts_ms),
        "says": _says(write.events(ctx)),
    }


def _says(events: list[EventRow]) -> str:
    """The records of a write, each once; bookkeeping records only if there are no others."""
    told = [event for event in events if event.subject and event.type not in NOISE and not _is_scope(event)]
    own = [event for event in told if not str(event.subject).startswith(("AR-", "SIG-", "P-", "C-"))] or told
    named = list(dict.fromkeys(f"{event.subject}{f' {event.path}' if event.path else ''}" for event in own))
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return f"{', '.join(named[:MOST_NAMED])}{more}" or "no record"
