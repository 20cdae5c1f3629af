"""tasks_jobs_create and tasks_jobs_requeue: putting jobs into the queue. Nothing is executed here."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import ClewError, invalid, suggest
from clew.ids import check_anchor
from clew.reasoning.anchors.registry import ensure_anchor
from clew.reasoning.scope import Target
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, Text, operation
from clew.store.rows import insert
from clew.tasks.jobs.claims import check_claim
from clew.tasks.jobs.job import (
    DEFAULT_KIND,
    MAX_MESSAGE,
    MAX_PROMPT,
    MAX_TITLE,
    QUEUED,
    TERMINAL,
    TIMES,
    ClaimRevision,
    Job,
    JobBrief,
    OfJob,
    Refs,
    RunnerId,
    brief_of,
    check_kind,
    check_priority,
    clean_refs,
    cut,
    index_job,
    job_by_id,
    job_json,
    merge_meta,
)
from clew.tasks.jobs.thread import Remark, say
from clew.tasks.plans import find_work
from clew.tasks.targets import explicit_target
from clew.tasks.texts import heading

TaskLink = Annotated[Name | None, Field(description="Task id such as TASK-001.")]
Priority = Annotated[Name, Field(description="LOW, MEDIUM or HIGH.")]
Kind = Annotated[Name, Field(description="Which executor of a runner is to take it.")]


class JobsCreate(Input):
    title: Annotated[Text, Field(min_length=1, description="What is to be done, in one line.")]
    prompt: Annotated[Text, Field(min_length=1, description="The order, as the runner will read it.")]
    kind: Kind = DEFAULT_KIND
    priority: Priority = "MEDIUM"
    task: TaskLink = None
    target: Target = None
    anchor: Annotated[Name | None, Field(description="Area it belongs to, such as a:storage.")] = None
    meta: Meta | None = None


@operation(
    "tasks_jobs_create", writes=True, example={"title": "Measure the importer", "prompt": "Time it on 1,000 rows."}
)
def tasks_jobs_create(ctx: Context, args: JobsCreate) -> Json:
    """Queue a job for a runner; nothing is executed here."""
    job, event = create_job(
        ctx,
        args.title,
        args.prompt,
        kind=args.kind,
        priority=args.priority,
        task=explicit_target(args),
        anchor=args.anchor,
        meta=args.meta,
    )
    named = {"workspace": ctx.workspace, "job_id": job.id}
    about = picked(job, "status", "title", "task", "anchor", *TIMES)
    return {**named, **about, "job": job_json(job), "event": event}


def create_job(
    ctx: Context,
    title: str,
    prompt: str,
    *,
    kind: str = DEFAULT_KIND,
    priority: str = "MEDIUM",
    task: str | None = None,
    anchor: str | None = None,
    meta: Json | None = None,
) -> tuple[Job, Json]:
    """Queue a job with its prompt; returns the job and its first event."""
    order = cut(ctx, prompt, MAX_PROMPT, "prompt")
    if not order:
        raise invalid("prompt", "must not be blank", "Say what is to be done.", kind="non_empty")
    number = ctx.ws.count("job")
    job = Job(
        id=f"JOB-{number:03d}",
        number=number,
        title=cut(ctx, heading(title), MAX_TITLE, "title"),
        kind=check_kind(kind),
        priority=check_priority(priority),
        task=_known_task(ctx, task),
        anchor=ensure_anchor(ctx, check_anchor(anchor)) if anchor is not None else None,
        created_at_ms=ctx.now_ms,
        updated_at_ms=ctx.now_ms,
    )
    insert(ctx.tx, ctx.workspace, job)
    insert(ctx.tx, ctx.workspace, JobBrief(job.id, order, meta or {}))
    # The event before the index: `say` sets the job's last seq, which the search item carries.
    job, event, _ = say(ctx, job, Remark("created", job.title))
    index_job(ctx, job, order)
    ctx.emit("jobs", "job_created", job.id, {"kind": job.kind, "priority": job.priority, "task": job.task})
    return job, event


def _known_task(ctx: Context, task: str | None) -> str | None:
    """The task as given. An unknown one only gives a warning: work may be delegated before the task is created."""
    if task is not None and find_work(ctx, task) is None:
        ctx.warn("TASK_UNKNOWN", f"{task} does not exist (yet)", "Check the id with tasks_context.")
    return task


class JobsRequeue(OfJob):
    synonyms: ClassVar[dict[str, str]] = {"runner": "runner_id"}

    reason: Annotated[Text | None, Field(description="Why it is tried again.")] = None
    refs: Refs = []
    meta: Meta | None = None
    runner_id: Annotated[RunnerId | None, Field(description="Holder of the claim, to give a running job back.")] = None
    claim_revision: ClaimRevision | None = None


@operation("tasks_jobs_requeue", writes=True, example={"job": "JOB-001", "reason": "The disk was full."})
def tasks_jobs_requeue(ctx: Context, args: JobsRequeue) -> Json:
    """Queue an ended job for another attempt; the holder of a claim gives a running one back.

    The next attempt starts afresh: runner, claim, summary and completion are cleared, the thread stays.
    """
    job = _to_requeue(ctx, args)
    merge_meta(ctx, job, args.meta)
    # A new revision voids the claim of the attempt before; a late report of its runner is refused.
    cleared: Json = dict.fromkeys(("runner", "claim_expires_at_ms", "summary", "completed_at_ms"))
    queued = replace(job, status=QUEUED, revision=job.revision + 1, **cleared)
    message = cut(ctx, args.reason or f"requeued from {job.status}", MAX_MESSAGE, "reason")
    remark = Remark("requeued", message, tuple(clean_refs(args.refs)), meta=args.meta)
    if args.runner_id is not None:
        remark = replace(remark, runner=job.runner, claim_revision=job.revision)
    queued, event, _ = say(ctx, queued, remark)
    index_job(ctx, queued, brief_of(ctx, queued).prompt)
    payload = {"from": job.status, "runner": remark.runner, "claim_revision": remark.claim_revision}
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
    message = f"{job.id} is {job.status}, and only an ended job is requeued"
    ways = [suggest("tasks_jobs_open", "Shows the job and its last events.", "high", job=job.id)]
    raise ClewError("CONFLICT", message, waiting, suggestions=ways)
