"""The life of a job: queued, claimed by a runner, reported on, ended, and queued again.

A claim is the time-limited right to work on a job. It is fenced by the job's revision: every claim, end and requeue
raises it, and a write with an old one is refused. Nothing is executed here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import check_anchor
from clew.kinds import statuses
from clew.reasoning.anchors.registry import ensure_anchor
from clew.reasoning.scope import Target
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, Text, operation
from clew.store.database import placeholders
from clew.store.rows import first, insert, select
from clew.tasks.jobs.job import (
    DEFAULT_KIND,
    LONGEST_TTL,
    MAX_MESSAGE,
    MAX_PROMPT,
    MAX_SUMMARY,
    MAX_TITLE,
    PRIORITIES,
    QUEUED,
    RUNNING,
    SHORTEST_TTL,
    TERMINAL,
    TIMES,
    Claimed,
    ClaimRevision,
    Job,
    JobBrief,
    LeaseTtl,
    OfJob,
    Refs,
    RunnerId,
    Spoken,
    brief_of,
    check_kind,
    check_priority,
    check_runner,
    check_status,
    clean_refs,
    cut,
    index_job,
    job_by_id,
    job_json,
    merge_meta,
)
from clew.tasks.jobs.runners import LIVE, renew_lease
from clew.tasks.jobs.thread import MANAGER, PROGRESS, Remark, proofs, say, with_salvage
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


# Three minutes, as in BranchMind's contract; every report renews the claim.
DEFAULT_TTL = 180_000
EXPIRED = f"(claim_expires_at_ms IS NULL OR claim_expires_at_ms - ? NOT BETWEEN 1 AND {LONGEST_TTL})"
"""`Job.expired` in SQL; takes one parameter, the present time."""


class JobsClaim(Input):
    synonyms: ClassVar[dict[str, str]] = {"runner": "runner_id"}
    listed: ClassVar[tuple[str, ...]] = ("runner",)

    job: Annotated[Name | None, Field(description="Job id; default: the next one, by priority and then by age.")] = None
    runner_id: RunnerId
    lease_ttl_ms: LeaseTtl = None
    allow_stale: Annotated[bool, Field(description="Also take a running job whose claim has expired.")] = False
    kinds: Annotated[list[Name] | None, Field(max_length=50, description="Without job: only jobs of these kinds.")] = (
        None
    )
    announce: Annotated[bool, Field(description="Renew the runner's own lease too, as live on this job.")] = False


def _nothing_waits(ctx: Context, args: JobsClaim) -> Json | None:
    # Invalid arguments are refused even if no job waits; otherwise a runner would see its mistake only later.
    check_runner(args.runner_id), lease_ttl(args.lease_ttl_ms)
    waits = args.job is not None or next_job(ctx, args.allow_stale, args.kinds) is not None
    return None if waits else _nothing(ctx)


@operation("tasks_jobs_claim", writes=True, idle=_nothing_waits, example={"job": "JOB-001", "runner_id": "host:1"})
def tasks_jobs_claim(ctx: Context, args: JobsClaim) -> Json:
    """Take a queued job to work on it; job.revision in the answer is the token for reports and completion.

    Without `job` the next one is taken; `job` is null in the answer when none waits.
    """
    runner, ttl = check_runner(args.runner_id), lease_ttl(args.lease_ttl_ms)
    named = job_by_id(ctx, args.job) if args.job is not None else None
    job = named or next_job(ctx, args.allow_stale, args.kinds)
    if job is None:
        return _nothing(ctx)
    _check_free(ctx, job, args.allow_stale)
    job, event = claim_job(ctx, job, runner, ttl)
    if args.announce:
        renew_lease(ctx, runner, LIVE, job.id, ttl)
    return {"workspace": ctx.workspace, "job": job_json(job), "event": event}


def _nothing(ctx: Context) -> Json:
    # No error: a queue without jobs is the normal state of a runner.
    return {"workspace": ctx.workspace, "job": None, "event": None}


def lease_ttl(given: int | None) -> int:
    """The time of a lease within bounds; zero and negative values are refused."""
    if given is not None and given <= 0:
        raise invalid("lease_ttl_ms", "must be positive", f"Give {SHORTEST_TTL} to {LONGEST_TTL}.", kind="range", ge=1)
    return min(max(given or DEFAULT_TTL, SHORTEST_TTL), LONGEST_TTL)


def next_job(ctx: Context, allow_stale: bool, kinds: Sequence[str] | None = None) -> Job | None:
    """The next queued job by priority, then by age; with `allow_stale` also a running one whose claim expired."""
    wanted = [check_kind(kind, "kinds") for kind in kinds or ()]
    only = f" AND kind IN ({placeholders(len(wanted))})" if wanted else ""
    found = _first(ctx, QUEUED, only, *wanted)
    if found is None and allow_stale:
        # Abandoned jobs come after all queued ones, because their runner may only be slow and still report.
        found = _first(ctx, RUNNING, f"{only} AND {EXPIRED}", *wanted, ctx.now_ms)
    return found


def _first(ctx: Context, status: str, condition: str, *params: Any) -> Job | None:
    """The first job of a status, by one index lookup for each priority, however long the queue is."""
    where = f"status = ? AND priority = ?{condition} ORDER BY number"
    found = (first(ctx.tx, ctx.workspace, Job, where, status, priority, *params) for priority in PRIORITIES)
    return next((job for job in found if job is not None), None)


def check_claim(ctx: Context, given: str, runner_id: str, claim_revision: int) -> Job:
    """The job, if this runner holds its newest claim. Called inside the transaction that writes."""
    job, runner = job_by_id(ctx, given), check_runner(runner_id)
    # All three are needed: a runner may have lost a job and claimed it again, so that two of its slots have a claim.
    if job.status == RUNNING and job.runner == runner and job.revision == claim_revision:
        return job
    raise ClewError(
        "CONFLICT",
        f"{job.id} is not held by {runner} with claim {claim_revision}: it is {job.status}, revision {job.revision}"
        + (f", runner {job.runner}" if job.runner else ""),
        "Stop working on it: another runner took it, or it has ended. Open the job to see what happened.",
        suggestions=[_look(job)],
        details={"status": job.status, "runner": job.runner, "revision": job.revision},
    )


def _check_free(ctx: Context, job: Job, allow_stale: bool) -> None:
    if job.status == QUEUED or (allow_stale and job.expired(ctx.now_ms)):
        return
    ways = [_look(job)]
    if job.status == RUNNING:
        hint = "Its claim has expired: claim with allow_stale=true." if job.expired(ctx.now_ms) else "Take another job."
    else:
        hint = "Requeue it for another attempt."
        ways.append(suggest("tasks_jobs_requeue", "Puts it back into the queue.", "medium", job=job.id))
    raise ClewError("CONFLICT", f"{job.id} is {job.status}, not {QUEUED}", hint, suggestions=ways)


def claim_job(ctx: Context, job: Job, runner: str, ttl: int) -> tuple[Job, Json]:
    # The revision fences the claim: the former holder has a smaller one, so its writes are refused.
    revision, expires = job.revision + 1, ctx.now_ms + ttl
    held = replace(job, status=RUNNING, runner=runner, revision=revision, claim_expires_at_ms=expires)
    kind, meta = "claimed", None
    if job.status == RUNNING:
        kind, meta = "reclaimed", {"previous_runner_id": job.runner, "reason": "ttl_expired"}
    remark = Remark(kind, f"runner: {kind} by {runner}", meta=meta, runner=runner, claim_revision=revision)
    held, event, _ = say(ctx, replace(held, completed_at_ms=None), remark)
    payload = {"runner": runner, "claim_revision": revision, "previous_runner": job.runner}
    ctx.emit("jobs", f"job_{kind}", job.id, payload)
    return held, event


def _look(job: Job) -> Json:
    return suggest("tasks_jobs_open", "Shows the job and its last events.", "high", job=job.id)


REPORTS = ("progress", "checkpoint", "question", "error", "proof_gate", "heartbeat")
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
def tasks_jobs_report(ctx: Context, args: JobsReport) -> Json:
    """Report on a job you hold; each report renews the claim.

    Heartbeats in a row are kept as one event. `meta` is added to the job's meta.
    """
    ttl = lease_ttl(args.lease_ttl_ms)
    kind = _report_kind(args.kind)
    job = check_claim(ctx, args.job, args.runner_id, args.claim_revision)
    message, refs = cut(ctx, args.message, MAX_MESSAGE, "message"), tuple(clean_refs(args.refs))
    remark = Remark(kind, message, refs, args.percent, args.meta, job.runner, job.revision)
    merge_meta(ctx, job, args.meta)
    job, event, is_new = say(ctx, replace(job, claim_expires_at_ms=ctx.now_ms + ttl), remark)
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
def tasks_jobs_complete(ctx: Context, args: JobsComplete) -> Json:
    """End a job you hold as DONE, FAILED or CANCELED, with refs to where the evidence is."""
    status = check_status(args.status, TERMINAL)
    job = check_claim(ctx, args.job, args.runner_id, args.claim_revision)
    summary = cut(ctx, args.summary or "", MAX_SUMMARY, "summary") or None
    refs = clean_refs(args.refs)
    # Models often name their evidence only in the summary; for DONE it is taken from there.
    found = with_salvage(args.summary or "", refs, job.id) if status == statuses.WORK_DONE else _with_own(refs, job.id)
    if args.require_proof and status == statuses.WORK_DONE and not proofs(found):
        raise _no_proof(job)
    merge_meta(ctx, job, args.meta)
    message = shorten(summary or status, MAX_MESSAGE)
    remark = Remark(_ENDS[status], message, tuple(found), None, args.meta, job.runner, job.revision)
    ended, event = end_job(ctx, job, status, summary, remark)
    return {"workspace": ctx.workspace, "job": job_json(ended), "event": event}


def end_job(ctx: Context, job: Job, status: str, summary: str | None, remark: Remark) -> tuple[Job, Json]:
    """End a job. Any claim on it is void from now on."""
    # Ending also raises the revision, so that a late report with the old one is refused.
    ended = replace(job, status=status, revision=job.revision + 1, summary=summary)
    ended = replace(ended, claim_expires_at_ms=None, completed_at_ms=ctx.now_ms)
    ended, event, _ = say(ctx, ended, remark)
    index_job(ctx, ended, brief_of(ctx, ended).prompt)
    payload = {"runner": remark.runner, "claim_revision": remark.claim_revision, "refs": list(remark.refs)}
    ctx.emit("jobs", f"job_{remark.kind}", job.id, payload)
    return ended, event


def cancel_jobs_of(ctx: Context, task: str) -> list[str]:
    """Cancel the open jobs of a task that is being deleted; reports of their runners are refused from then on."""
    where = f"task = ? AND status IN ('{QUEUED}', '{RUNNING}') ORDER BY number"
    jobs = select(ctx.tx, ctx.workspace, Job, where, task)
    for job in jobs:
        cancel_job(ctx, job, f"{task} was deleted", (task, job.id))
    return [job.id for job in jobs]


def cancel_job(ctx: Context, job: Job, reason: str, refs: tuple[str, ...]) -> None:
    """Cancel a job that is no longer wanted; reports of its runner are refused from then on."""
    summary = shorten(reason, MAX_MESSAGE)
    end_job(ctx, job, "CANCELED", summary, Remark(_ENDS["CANCELED"], summary, refs))


def _no_proof(job: Job) -> ClewError:
    return ClewError(
        "PROOF_REQUIRED",
        f"{job.id} is done without a ref that leads to evidence",
        "Give a card, note or task, CMD: what was run or LINK: where it can be seen; a job or an area proves nothing.",
        suggestions=[_look(job)],
    )


def _with_own(refs: list[str], job_id: str) -> list[str]:
    """The refs with the job's own id, so that an event always leads to its job."""
    # 31 and the job's own id make MAX_REFS.
    return list(dict.fromkeys([*refs[:31], job_id]))


def _report_kind(given: str) -> str:
    kind = given.strip().lower()
    if not _KIND.fullmatch(kind) or kind in _RESERVED:
        *others, last = REPORTS
        recovery = f"Use {', '.join(others)} or {last}."
        raise invalid("kind", f"{shorten(given, 40)!r} is no kind of report", recovery, expected=", ".join(REPORTS))
    return kind


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
    # A new revision voids the claim of the previous attempt; a late report of its runner is refused.
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
