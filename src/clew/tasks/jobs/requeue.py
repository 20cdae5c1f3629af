"""Putting a job back into the queue: for another attempt, or because its runner has to stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import ClewError, invalid, suggest
from clew.registry.context import Context
from clew.registry.operation import Meta, Text, operation
from clew.tasks.jobs.claims import check_claim
from clew.tasks.jobs.job import (
    MAX_MESSAGE,
    QUEUED,
    TERMINAL,
    ClaimRevision,
    Job,
    OfJob,
    Refs,
    RunnerId,
    clean_refs,
    cut,
    index_job,
    job_by_id,
    job_json,
    merge_meta,
    prompt_and_meta,
)
from clew.tasks.jobs.thread import Said, say


class JobsRequeue(OfJob):
    synonyms: ClassVar[dict[str, str]] = {"runner": "runner_id"}

    reason: Annotated[Text | None, Field(description="Why it is tried again.")] = None
    refs: Refs = []
    meta: Meta | None = None
    runner_id: Annotated[RunnerId | None, Field(description="Holder of the claim, to give a running job back.")] = None
    claim_revision: ClaimRevision | None = None


@operation("tasks_jobs_requeue", writes=True, example={"job": "JOB-001", "reason": "The disk was full."})
def tasks_jobs_requeue(ctx: Context, args: JobsRequeue) -> dict[str, Any]:
    """Queue an ended job for another attempt; the holder of a claim gives a running one back.

    The next attempt starts afresh: runner, claim, summary and completion are cleared, the thread stays.
    """
    job = _to_requeue(ctx, args)
    runner, claim = job.runner, job.revision
    merge_meta(ctx, job, args.meta)
    queued = replace(
        job,
        status=QUEUED,
        revision=job.revision + 1,
        runner=None,
        claim_expires_at_ms=None,
        summary=None,
        completed_at_ms=None,
    )
    held = args.runner_id is not None
    message = cut(ctx, args.reason or f"requeued from {job.status}", MAX_MESSAGE, "reason")
    said = Said(
        "requeued",
        message,
        tuple(clean_refs(args.refs)),
        None,
        args.meta,
        runner if held else None,
        claim if held else None,
    )
    queued, event, _ = say(ctx, queued, said)
    index_job(ctx, queued, prompt_and_meta(ctx, queued)[0])
    payload = {"from": job.status, "runner": said.runner, "claim_revision": said.claim_revision}
    ctx.emit("jobs", "job_requeued", job.id, payload)
    return {"workspace": ctx.workspace, "job": job_json(queued), "event": event}


def _to_requeue(ctx: Context, args: JobsRequeue) -> Job:
    if (args.runner_id is None) != (args.claim_revision is None):
        raise invalid("claim_revision", "runner_id and claim_revision belong together", "Give both, or neither.")
    if args.runner_id is not None and args.claim_revision is not None:
        return check_claim(ctx, args.job, args.runner_id, args.claim_revision)
    job = job_by_id(ctx, args.job)
    if job.status in TERMINAL:
        return job
    waiting = "It waits already." if job.status == QUEUED else "It is being worked on; only its runner gives it back."
    raise ClewError(
        "CONFLICT",
        f"{job.id} is {job.status}, and only an ended job is requeued",
        waiting,
        suggestions=[suggest("tasks_jobs_open", "Shows the job and its last events.", "high", job=job.id)],
    )
