"""The thread of a job: every event about it, in order, and the marks that events leave on the job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson

from clew.registry.context import Context
from clew.store.database import Row, placeholders
from clew.tasks.jobs.job import Job
from clew.tasks.records import to_json, update

HEARTBEAT, QUESTION, MANAGER, ERROR = "heartbeat", "question", "manager", "error"
CHECKPOINT, PROOF_GATE, PROGRESS = "checkpoint", "proof_gate", "progress"
OWN_VOICE = "runner:"
"""Messages that a runner writes about itself begin with this."""

_MARKS = {
    QUESTION: "question_seq",
    MANAGER: "manager_seq",
    ERROR: "error_seq",
    CHECKPOINT: "checkpoint_seq",
    PROOF_GATE: "proof_gate_seq",
}


@dataclass(frozen=True, slots=True)
class Said:
    """Something about to be said about a job."""

    kind: str
    message: str
    refs: tuple[str, ...] = ()
    percent: int | None = None
    meta: dict[str, Any] | None = None
    runner: str | None = None
    claim_revision: int | None = None


def say(ctx: Context, job: Job, said: Said) -> tuple[Job, dict[str, Any], bool]:
    """Write an event and the job with it; a heartbeat after a heartbeat replaces that one.

    The job, the event as callers see it, and whether it is a new event.
    """
    last = _newest(ctx, job) if said.kind == HEARTBEAT else None
    if last is not None and last["kind"] == HEARTBEAT:
        row = _rewrite(ctx, last, said)
        job = replace(job, updated_at_ms=ctx.now_ms)
    else:
        row = _append(ctx, job, said)
        job = marked(replace(job, updated_at_ms=ctx.now_ms), row)
    update(ctx, job)
    return job, event_json(row), last is None or last["kind"] != HEARTBEAT


def marked(job: Job, row: Row) -> Job:
    """The job with the marks that an event leaves on it."""
    seq, kind = row["seq"], row["kind"]
    marks = {"last_seq": seq}
    if kind != HEARTBEAT:
        marks["noted_seq"] = seq
        if not row["message"].startswith(OWN_VOICE):
            marks["spoken_seq"] = seq
    if kind in _MARKS:
        marks[_MARKS[kind]] = seq
    if kind == MANAGER and any(ref != job.id for ref in orjson.loads(row["refs"])):
        marks["proof_seq"] = seq  # the job's own id proves nothing
    return replace(job, **marks)


def event_json(row: Row, with_meta: bool = True) -> dict[str, Any]:
    shown = {
        "seq": row["seq"],
        "job_id": row["job"],
        "ref": f"{row['job']}@{row['seq']}",
        "ts_ms": row["ts_ms"],
        "kind": row["kind"],
        "message": row["message"],
        "percent": row["percent"],
        "refs": orjson.loads(row["refs"]),
    }
    if with_meta and row["meta"] is not None:
        shown["meta"] = orjson.loads(row["meta"])
    return shown


def newest_events(ctx: Context, job: Job, limit: int, before: int | None = None) -> list[Row]:
    """Newest first, older than `before`."""
    older = " AND seq < ?" if before is not None else ""
    params = (job.id, before, limit) if before is not None else (job.id, limit)
    sql = f"SELECT * FROM job_event WHERE workspace = ? AND job = ?{older} ORDER BY seq DESC LIMIT ?"
    return ctx.tx.all(sql, ctx.workspace, *params)


def events_since(ctx: Context, job: Job, after: int, limit: int) -> list[Row]:
    """Oldest first, newer than `after`."""
    sql = "SELECT * FROM job_event WHERE workspace = ? AND job = ? AND seq > ? ORDER BY seq LIMIT ?"
    return ctx.tx.all(sql, ctx.workspace, job.id, after, limit)


def events_at(ctx: Context, seqs: list[int]) -> dict[int, Row]:
    if not seqs:
        return {}
    sql = f"SELECT * FROM job_event WHERE workspace = ? AND seq IN ({placeholders(len(seqs))})"
    return {row["seq"]: row for row in ctx.tx.all(sql, ctx.workspace, *seqs)}


def _newest(ctx: Context, job: Job) -> Row | None:
    return ctx.tx.one("SELECT * FROM job_event WHERE workspace = ? AND seq = ?", ctx.workspace, job.last_seq)


def _append(ctx: Context, job: Job, said: Said) -> Row:
    row: Row = {
        "workspace": ctx.workspace,
        "seq": ctx.ws.next_seq(),
        "job": job.id,
        "ts_ms": ctx.now_ms,
        "kind": said.kind,
        "message": said.message,
        "percent": said.percent,
        "refs": to_json(list(said.refs)),
        "meta": to_json(said.meta) if said.meta is not None else None,
        "runner": said.runner,
        "claim_revision": said.claim_revision,
    }
    ctx.tx.run(f"INSERT INTO job_event ({', '.join(row)}) VALUES ({placeholders(len(row))})", *row.values())
    return row


def _rewrite(ctx: Context, last: Row, said: Said) -> Row:
    row = {
        **last,
        "ts_ms": ctx.now_ms,
        "message": said.message,
        "percent": said.percent,
        "refs": to_json(list(said.refs)),
        "meta": to_json(said.meta) if said.meta is not None else None,
        "runner": said.runner,
        "claim_revision": said.claim_revision,
    }
    ctx.tx.run(
        "UPDATE job_event SET ts_ms = ?, message = ?, percent = ?, refs = ?, meta = ?, runner = ?, claim_revision = ?"
        " WHERE workspace = ? AND seq = ?",
        *(row[name] for name in ("ts_ms", "message", "percent", "refs", "meta", "runner", "claim_revision")),
        ctx.workspace,
        row["seq"],
    )
    return row
