"""What the holder of a claim says: progress while it works, and how it ended."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, invalid, shorten, suggest
from clew.registry.context import Context
from clew.registry.operation import Name, Text, operation
from clew.tasks.jobs.claims import check_claim, lease_ttl
from clew.tasks.jobs.job import (
    MAX_MESSAGE,
    MAX_SUMMARY,
    QUEUED,
    RUNNING,
    TERMINAL,
    Claimed,
    Job,
    LeaseTtl,
    Spoken,
    check_status,
    clean_refs,
    cut,
    index_job,
    job_json,
    merge_meta,
    prompt_and_meta,
)
from clew.tasks.jobs.salvage import proofs, with_salvage
from clew.tasks.jobs.thread import MANAGER, PROGRESS, Said, say
from clew.tasks.records import load

_KIND = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_ENDS = {"DONE": "completed", "FAILED": "failed", "CANCELED": "canceled"}
_RESERVED = frozenset({"created", "claimed", "reclaimed", "requeued", MANAGER, *_ENDS.values()})


class JobsReport(Claimed):
    message: Spoken
    kind: Annotated[Name, Field(description="progress, checkpoint, question, error, proof_gate or heartbeat.")] = (
        PROGRESS
    )
    percent: Annotated[int | None, Field(ge=0, le=100, description="How far the work is.")] = None
    lease_ttl_ms: LeaseTtl = None


@operation(
    "tasks_jobs_report",
    writes=True,
    example={"job": "JOB-001", "runner_id": "host:1", "claim_revision": 1, "message": "Half of the rows are read."},
)
def tasks_jobs_report(ctx: Context, args: JobsReport) -> dict[str, Any]:
    """Report on a job you hold; each report renews the claim.

    Heartbeats in a row are kept as one event. `meta` is added to the job's meta.
    """
    ttl = lease_ttl(args.lease_ttl_ms)
    kind = _report_kind(args.kind)
    job = check_claim(ctx, args.job, args.runner_id, args.claim_revision)
    said = Said(
        kind,
        cut(ctx, args.message, MAX_MESSAGE, "message"),
        tuple(clean_refs(args.refs)),
        args.percent,
        args.meta,
        job.runner,
        job.revision,
    )
    merge_meta(ctx, job, args.meta)
    job, event, is_new = say(ctx, replace(job, claim_expires_at_ms=ctx.now_ms + ttl), said)
    if is_new:
        payload = {"kind": kind, "runner": job.runner, "claim_revision": job.revision, "ref": event["ref"]}
        ctx.emit("jobs", "job_reported", job.id, payload)
    return {"workspace": ctx.workspace, "job": job_json(job), "event": event}


class JobsComplete(Claimed):
    status: Annotated[Name, Field(description="DONE, FAILED or CANCELED.")]
    summary: Annotated[Text | None, Field(description="What came of it, in a few sentences.")] = None
    require_proof: Annotated[bool, Field(description="Refuse DONE without a ref that leads to evidence.")] = False


@operation(
    "tasks_jobs_complete",
    writes=True,
    example={"job": "JOB-001", "runner_id": "host:1", "claim_revision": 1, "status": "DONE", "refs": ["CARD-1"]},
)
def tasks_jobs_complete(ctx: Context, args: JobsComplete) -> dict[str, Any]:
    """End a job you hold as DONE, FAILED or CANCELED, with refs to where the evidence is."""
    status = check_status(args.status, TERMINAL)
    job = check_claim(ctx, args.job, args.runner_id, args.claim_revision)
    summary = cut(ctx, args.summary or "", MAX_SUMMARY, "summary") or None
    refs = clean_refs(args.refs)
    found = with_salvage(args.summary or "", refs, job.id) if status == "DONE" else _with_own(refs, job.id)
    if args.require_proof and status == "DONE" and not proofs(found):
        raise _no_proof(job)
    merge_meta(ctx, job, args.meta)
    message = shorten(summary or status, MAX_MESSAGE)
    said = Said(_ENDS[status], message, tuple(found), None, args.meta, job.runner, job.revision)
    ended, event = end_job(ctx, job, status, summary, said)
    return {"workspace": ctx.workspace, "job": job_json(ended), "event": event}


def end_job(ctx: Context, job: Job, status: str, summary: str | None, said: Said) -> tuple[Job, dict[str, Any]]:
    """The job at its end: whatever claim there was is void from now on."""
    ended = replace(
        job,
        status=status,
        revision=job.revision + 1,
        summary=summary,
        claim_expires_at_ms=None,
        completed_at_ms=ctx.now_ms,
    )
    ended, event, _ = say(ctx, ended, said)
    index_job(ctx, ended, prompt_and_meta(ctx, ended)[0])
    payload = {"runner": said.runner, "claim_revision": said.claim_revision, "refs": list(said.refs)}
    ctx.emit("jobs", f"job_{said.kind}", job.id, payload)
    return ended, event


def cancel_jobs_of(ctx: Context, task: str) -> list[str]:
    """End the jobs that wait or run for a task that is going away; a runner at work is refused from then on."""
    sql = f"SELECT * FROM job WHERE workspace = ? AND task = ? AND status IN ('{QUEUED}', '{RUNNING}') ORDER BY number"
    jobs = [load(Job, row) for row in ctx.tx.all(sql, ctx.workspace, task)]
    reason = f"{task} was deleted"
    for job in jobs:
        end_job(ctx, job, "CANCELED", reason, Said(_ENDS["CANCELED"], reason, (task, job.id)))
    return [job.id for job in jobs]


def _no_proof(job: Job) -> ClewError:
    return ClewError(
        "PROOF_REQUIRED",
        f"{job.id} is done without a ref that leads to evidence",
        "Give a card, note or task, CMD: what was run or LINK: where it can be seen; a job or an area proves nothing.",
        suggestions=[suggest("tasks_jobs_open", "Shows the job and its last events.", "high", job=job.id)],
    )


def _with_own(refs: list[str], job_id: str) -> list[str]:
    """The job's id is always among the refs, so that one gets from the event to the job."""
    return list(dict.fromkeys([*refs[:31], job_id]))


def _report_kind(given: str) -> str:
    kind = given.strip().lower()
    if not _KIND.fullmatch(kind) or kind in _RESERVED:
        raise invalid(
            "kind",
            f"{shorten(given, 40)!r} is no kind of report",
            "Use progress, checkpoint, question, error, proof_gate or heartbeat.",
            expected="progress, checkpoint, question, error, proof_gate, heartbeat",
        )
    return kind
