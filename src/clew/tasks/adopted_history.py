"""Taking over what BranchMind stored of the past: events with their ids, the log of operations, notes about steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from clew.canonical import canonical
from clew.reasoning.adopted_log import Adoption, adopt_entries, as_object
from clew.registry.context import Context
from clew.store.database import Row
from clew.store.workspaces import PastEvent, raise_count

HISTORY = ("events", "ops_history", "step_notes")


def adopt_events(ctx: Context, work: Adoption) -> None:
    """Events keep their numbers, so `evt_...` in evidence and traces means the same as before."""
    found = [
        PastEvent(
            int(row["seq"]),
            int(row["ts_ms"]),
            "tasks",
            row.get("event_type") or row.get("type") or "event",
            row.get("task_id"),
            row.get("path"),
            as_object(row.get("payload_json") or row.get("payload")) or {},
        )
        for row in work.rows("events", "seq")
    ]
    ctx.ws.adopt_events(found)
    work.counted("history", found)


def adopt_history(ctx: Context, work: Adoption) -> None:
    _operations(ctx, work)
    _step_notes(ctx, work)


def _operations(ctx: Context, work: Adoption) -> None:
    """The log of changes, to be read. Its snapshots are not in our form, so nothing of it can be undone."""
    rows = [_operation(ctx, row) for row in work.rows("ops_history", "seq")]
    ctx.tx.many(
        "INSERT INTO task_operation (workspace, seq, task, entity, path, intent, payload, before_content,"
        " after_content, undoable, undone, event, agent, ts_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
        rows,
    )
    raise_count(ctx.tx, ctx.workspace, "task_operation", max((int(row[1]) for row in rows), default=0))
    work.counted("operations", rows)


def _operation(ctx: Context, row: Row) -> tuple[Any, ...]:
    before, after = (_json(row.get(f"{name}_json") or row.get(name)) for name in ("before", "after"))
    return (
        ctx.workspace,
        int(row["seq"]),
        row.get("task_id") or "",
        row.get("task_id") or "",
        row.get("path"),
        row["intent"],
        _json(row.get("payload_json") or row.get("payload")) or "{}",
        before,
        after,
        int(bool(row.get("undone"))),
        "imported",
        None,
        int(row["ts_ms"]),
    )


def _json(text: Any) -> str | None:
    value = as_object(text)
    return None if value is None else canonical(value)


def _step_notes(ctx: Context, work: Adoption) -> None:
    """Each was mirrored into the notes of its task; one that was not is added there."""
    scopes = {row["id"]: row for row in work.rows("reasoning_refs", "id")}
    notes = list(work.rows("step_notes", "seq"))
    lost = [row for row in notes if int(row["seq"]) not in work.mirrored and row["task_id"] in scopes]
    adopt_entries(ctx, work, list(_mirrors(ctx, lost, scopes)))
    raise_count(ctx.tx, ctx.workspace, "step_note", max((int(row["seq"]) for row in notes), default=0))
    work.counted("step_notes", notes)


def _mirrors(ctx: Context, notes: list[Row], scopes: dict[str, Row]) -> Iterator[Row]:
    for row in notes:
        scope, path = scopes[row["task_id"]], row.get("path")
        step = {"task_id": row["task_id"], "step_id": row.get("step_id"), "path": path}
        meta = {"source": "tasks_note", **step, "note_seq": int(row["seq"]), "step": step}
        yield {
            "seq": ctx.ws.next_seq(),
            "branch": scope["branch"],
            "doc": scope["notes_doc"],
            "ts_ms": int(row["ts_ms"]),
            "kind": "note",
            "content": row.get("note") or row.get("content") or "",
            "meta_json": orjson.dumps(meta).decode(),
            "task_id": row["task_id"],
            "path": path,
        }
