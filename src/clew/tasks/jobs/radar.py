"""The radar: which jobs need someone, which runners are alive, and what to paste next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import invalid
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import MAX_NUMBER, Name, operation
from clew.tasks.jobs.attention import INBOX_ORDER, attention_of, last_seq
from clew.tasks.jobs.bootstrap import runner_command
from clew.tasks.jobs.diagnostics import diagnostics
from clew.tasks.jobs.job import QUEUED, RUNNING, Job, Refs, Spoken, job_by_id, job_json
from clew.tasks.jobs.listing import MOST, JobFilter, clamped, conditions
from clew.tasks.jobs.messages import post_message
from clew.tasks.jobs.radar_lines import radar_lines
from clew.tasks.jobs.runners import OFFLINE, Lease, active_leases, expired_leases, runner_status, state_of
from clew.tasks.jobs.thread import event_json, events_at
from clew.tasks.records import load

MOST_RUNNERS = 50
Count = Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]


class JobsRadar(JobFilter):
    runners_limit: Annotated[Count, Field(description="Most runners; 1 to 50.")] = 10
    runners_status: Annotated[Literal["idle", "live"] | None, Field(description="Only runners in this state.")] = None
    offline_limit: Annotated[Count, Field(description="Most runners that went away; 0 to 50.")] = 3
    stale_after_s: Annotated[Count | None, Field(description="Accepted and not used: claims say when they end.")] = None
    reply_job: Annotated[Name | None, Field(description="Job to answer first.")] = None
    reply_message: Annotated[Spoken | None, Field(description="The answer.")] = None
    reply_refs: Annotated[Refs, Field(description="What the answer points to.")] = []


RADAR_BUDGET = Budget(
    (
        Clip("jobs[].last.message", 160),
        Clip("jobs[].summary", 120),
        Drop("runner_leases_offline"),
        Trim(
            "runner_diagnostics.issues",
            drop="last",
            floor=5,
            count="runner_diagnostics.count",
            more="runner_diagnostics.has_more",
        ),
        Clip("jobs[].last.message", 60),
        Drop("jobs[].summary"),
        Clip("jobs[].title", 60),
        Trim("runner_leases.runners", drop="last", floor=3, count="runner_leases.count", more="runner_leases.has_more"),
        Trim("jobs", drop="last", floor=3, count="count", more="has_more"),
        Drop("jobs[].last.refs"),
        Drop("runner_diagnostics"),
        Drop("runner_leases"),
        Clip("jobs[].last.message", 20),
        Trim("jobs", drop="last", count="count", more="has_more"),
    ),
    keep=("workspace", "count", "runner_status", "has_more"),
)


@operation(
    "tasks_jobs_radar",
    tier="daily",
    mode="own",
    writes=True,
    lines=radar_lines,
    portal=("core", "daily"),
    budget=RADAR_BUDGET,
    example={},
)
def tasks_jobs_radar(ctx: Context, args: JobsRadar) -> dict[str, Any]:
    """Show jobs that wait or run, those that need an answer first, and which runners are alive.

    With reply_job and reply_message it answers that job first, in the same transaction.
    """
    if args.reply_job is None and args.reply_message is None:
        if args.reply_refs:
            raise invalid("reply_refs", "needs reply_job and reply_message", "Give both, or leave reply_refs out.")
        with ctx.reading() as bound:
            return _radar(bound, args)
    if args.reply_job is None or args.reply_message is None:
        raise invalid("reply_job", "reply_job and reply_message belong together", "Give both, or neither.")
    with ctx.writing() as bound:
        post_message(bound, job_by_id(bound, args.reply_job, "reply_job"), args.reply_message, args.reply_refs)
        return _radar(bound, args)


def _radar(ctx: Context, args: JobsRadar) -> dict[str, Any]:
    filters, where, params = conditions(ctx, args)
    if "status" not in filters:
        where += f" AND status IN ('{RUNNING}', '{QUEUED}')"
    limit = clamped(args.limit, 1, MOST)
    sql = f"SELECT * FROM job WHERE workspace = ?{where} ORDER BY {INBOX_ORDER} LIMIT ?"
    jobs = [load(Job, row) for row in ctx.tx.all(sql, ctx.workspace, *params, ctx.now_ms, limit + 1)]
    leases = active_leases(ctx)
    status = runner_status(ctx, leases)
    told = {**filters, "stale_after_s": args.stale_after_s}
    shown: dict[str, Any] = {
        "workspace": ctx.workspace,
        "filters": {name: value for name, value in told.items() if value is not None},
        "runner_status": status.to_json(),
        "runner_leases": _leases_json(leases, args),
        "runner_diagnostics": diagnostics(ctx, leases),
        "jobs": _rows(ctx, jobs[:limit], leases),
        "count": min(len(jobs), limit),
        "has_more": len(jobs) > limit,
        "truncated": False,
    }
    offline = _offline_json(ctx, clamped(args.offline_limit, 0, MOST_RUNNERS))
    if offline is not None:
        shown["runner_leases_offline"] = offline
    if status.status == OFFLINE and _waiting(ctx):
        shown["runner_bootstrap"] = runner_command(ctx)
    return shown


def _rows(ctx: Context, jobs: Sequence[Job], leases: Sequence[Lease]) -> list[dict[str, Any]]:
    alive = {lease.runner: lease for lease in leases}
    marks = {job.id: attention_of(job, ctx.now_ms) for job in jobs}
    seqs = {job.id: last_seq(job, marks[job.id]) for job in jobs}
    events = events_at(ctx, list(seqs.values()))
    rows = []
    for job in jobs:
        row = {**job_json(job), "attention": marks[job.id].to_json(), "mark": marks[job.id].mark}
        event = events.get(seqs[job.id])
        if event is not None:
            named = event_json(event)
            row["last"] = {name: named[name] for name in ("ref", "seq", "ts_ms", "kind", "message", "refs")}
        if job.status == RUNNING:
            row["runner_state"] = state_of(alive, job.runner)
        rows.append(row)
    return rows


def _leases_json(leases: Sequence[Lease], args: JobsRadar) -> dict[str, Any]:
    wanted = [lease for lease in leases if args.runners_status in (None, lease.status)]
    limit = clamped(args.runners_limit, 1, MOST_RUNNERS)
    runners = [lease.to_json() for lease in wanted[:limit]]
    return {"runners": runners, "count": len(runners), "has_more": len(wanted) > limit}


def _offline_json(ctx: Context, limit: int) -> dict[str, Any] | None:
    gone = expired_leases(ctx, limit + 1) if limit else []
    if not gone:
        return None
    runners = [lease.to_json() for lease in gone[:limit]]
    return {"runners": runners, "count": len(runners), "has_more": len(gone) > limit}


def _waiting(ctx: Context) -> bool:
    sql = f"SELECT 1 AS waits FROM job WHERE workspace = ? AND status = '{QUEUED}' LIMIT 1"
    return ctx.tx.one(sql, ctx.workspace) is not None
