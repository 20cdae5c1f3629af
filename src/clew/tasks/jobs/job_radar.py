"""tasks_jobs_radar: jobs in the order of their needs, runners with their leases, and contradictions between both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import invalid, shorten
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.envelope import item_lines
from clew.registry.operation import MAX_NUMBER, Name, View, operation
from clew.store.database import placeholders
from clew.store.rows import find_many, select
from clew.tasks.jobs.attention import INBOX_ORDER, OPEN, Attention, attention_of, last_seq
from clew.tasks.jobs.inspection import MOST, JobFilter, clamped, conditions, longer_list
from clew.tasks.jobs.job import QUEUED, RUNNING, Job, Refs, Spoken, job_by_id, job_json
from clew.tasks.jobs.queue import EXPIRED
from clew.tasks.jobs.runners import (
    IDLE,
    LIVE,
    OFFLINE,
    RunnerLease,
    active_leases,
    expired_leases,
    runner_command,
    runner_status,
    state_of,
)
from clew.tasks.jobs.thread import JobEvent, events_at, place, post_message
from clew.tasks.views.state_line import counted_runners, free

MOST_ISSUES = 20
_RANK = {"error": 0, "warn": 1, "stale": 2}


@dataclass(frozen=True, slots=True)
class JobIssue:
    severity: str
    kind: str
    message: str
    runner: str | None = None
    job: str | None = None

    @property
    def order(self) -> tuple[Any, ...]:
        return (_RANK[self.severity], self.kind, self.runner or "", self.job or "")

    def to_json(self) -> Json:
        shown = {**picked(self, "severity", "kind", "message"), "runner_id": self.runner, "job_id": self.job}
        return {name: value for name, value in shown.items() if value is not None}


def diagnostics(ctx: Context, leases: Sequence[RunnerLease]) -> Json:
    """Contradictions between leases and jobs, the worst first, at most MOST_ISSUES."""
    found = sorted([*_of_leases(ctx, leases), *_of_jobs(ctx, leases)], key=lambda issue: issue.order)
    return {
        "issues": [issue.to_json() for issue in found[:MOST_ISSUES]],
        "count": min(len(found), MOST_ISSUES),
        "has_more": len(found) > MOST_ISSUES,
    }


def _of_leases(ctx: Context, leases: Sequence[RunnerLease]) -> Iterator[JobIssue]:
    named = Counter(lease.active_job for lease in leases if lease.active_job)
    jobs = {job.id: job for job in find_many(ctx.tx, ctx.workspace, Job, sorted(named))}
    for lease in leases:
        active = lease.active_job
        if active is None:
            if lease.status == LIVE:
                message = f"{lease.runner} says it works and names no job"
                yield JobIssue("warn", "live_missing_active_job", message, lease.runner)
            continue
        if lease.status == IDLE:
            message = f"{lease.runner} says it is idle and names {active}"
            yield JobIssue("warn", "idle_has_active_job", message, lease.runner, active)
        if named[active] > 1:
            message = f"{named[active]} runners say they work on {active}"
            yield JobIssue("error", "duplicate_active_job", message, lease.runner, active)
        yield from _of_active(lease, active, jobs.get(active))


def _of_active(lease: RunnerLease, active: str, job: Job | None) -> Iterator[JobIssue]:
    if job is None:
        yield JobIssue("error", "active_job_unknown", f"{active} does not exist", lease.runner, active)
    elif job.status != RUNNING:
        yield JobIssue("warn", "active_job_not_running", f"{active} is {job.status}", lease.runner, active)
    elif job.runner != lease.runner:
        message = f"{active} is claimed by {job.runner}, not by {lease.runner}"
        yield JobIssue("error", "job_runner_mismatch", message, lease.runner, active)


def _of_jobs(ctx: Context, leases: Sequence[RunnerLease]) -> Iterator[JobIssue]:
    held = {lease.runner for lease in leases}
    # SQL allows no empty list; NOT IN ('') holds for every runner.
    marks = placeholders(len(held)) or "''"
    lost = f"{EXPIRED} OR runner IS NULL OR runner NOT IN ({marks})"
    where = f"status = '{RUNNING}' AND ({lost}) ORDER BY number LIMIT ?"
    # One more than is shown, to compute has_more.
    params = (ctx.now_ms, *sorted(held), MOST_ISSUES + 1)
    for job in select(ctx.tx, ctx.workspace, Job, where, *params):
        if job.expired(ctx.now_ms):
            message = f"the claim of {job.runner or 'nobody'} on {job.id} has expired; a runner may reclaim it"
            yield JobIssue("stale", "job_claim_expired", message, job.runner, job.id)
        if job.runner not in held:
            message = f"{job.id} runs under {job.runner or 'nobody'}, who has no active lease"
            yield JobIssue("warn", "job_runner_offline", message, job.runner, job.id)


LINES_RUNNERS, LINES_OFFLINE, LINES_ISSUES = 15, 10, 5


def radar_lines(result: Json, default_workspace: str) -> list[str]:
    """A filter or a budget may have removed any list; only the status shows that no runner is alive."""
    runners = result.get("runner_leases", {}).get("runners", [])
    gone = result.get("runner_leases_offline", {}).get("runners", [])
    issues = result.get("runner_diagnostics", {}).get("issues", [])
    start = [f"CMD: {result['runner_bootstrap']['cmd']}"] if "runner_bootstrap" in result else []
    offline = result.get("runner_status", {}).get("status") == "offline"
    return [
        place(result, default_workspace) + _header(result),
        *start,
        *item_lines(result, runners[:LINES_RUNNERS], _runner),
        *(["runner offline (no active lease)"] if offline else []),
        *item_lines(result, gone[:LINES_OFFLINE], _gone),
        *item_lines(result, issues[:LINES_ISSUES], _issue),
        *item_lines(result, result.get("jobs", ()), _row),
        *longer_list(result),
    ]


def _header(result: Json) -> str:
    status = result.get("runner_status", {"status": "offline"})
    filters = "".join(f" {name}={value}" for name, value in result.get("filters", {}).items())
    more = " has_more=true" if result.get("has_more") else ""
    runners = f"runner={status['status']} runners={counted_runners(status)}"
    return f"jobs_radar count={result.get('count', 0)} {runners}{filters}{more}"


def _runner(lease: Json) -> str:
    job = lease["active_job_id"]
    works = f" job={job} | open id={job}" if job else ""
    return f"runner {lease['status']} {lease['runner_id']} | open id=runner:{lease['runner_id']}{works}"


def _gone(lease: Json) -> str:
    job, id = lease["active_job_id"], lease["runner_id"]
    worked = f" last_job={job} | open id={job}" if job else ""
    return f"runner offline {id} last={lease['last_status']} | open id=runner:{id}{worked}"


def _issue(issue: Json) -> str:
    sign = "~" if issue["severity"] == "stale" else "!"
    runner = f" runner={issue['runner_id']}" if "runner_id" in issue else ""
    job = f" job={issue['job_id']}" if "job_id" in issue else ""
    target = issue.get("job_id") or f"runner:{issue.get('runner_id')}"
    return f"{sign} diag {issue['kind']}{runner}{job} | open id={target} | {free(issue['message'], 120)}"


def _row(job: Json) -> str:
    last = job.get("last")
    ref = last["ref"] if last else job["job_id"]
    mark = f" {job['mark']}" if job["mark"] else ""
    runs = f" runner={job['runner_state']}:{shorten(job['runner'] or '-', 60)}" if "runner_state" in job else ""
    title = free(job["title"], 80)
    reply = f' | reply reply_job={job["job_id"]} reply_message="..."' if job["attention"]["needs_manager"] else ""
    remark = f" | {last['kind']}: {free(last['message'], 80)}" if last else ""
    return f"{ref}{mark} {job['job_id']} ({job['status']}) {title}{runs} | open id={ref}{reply}{remark}"


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
    once=("reply_job", "reply_message", "reply_refs"),
)


@operation(
    "tasks_jobs_radar",
    mode="own",
    writes=True,
    budget=RADAR_BUDGET,
    example={},
    view=View(lines=radar_lines, in_lines=("core", "daily")),
)
def tasks_jobs_radar(ctx: Context, args: JobsRadar) -> Json:
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
        asking = job_by_id(bound, args.reply_job, "reply_job")
        job, event = post_message(bound, asking, args.reply_message, args.reply_refs)
        return {"reply": {"event": event, "job": job_json(job)}, **_radar(bound, args)}


def _radar(ctx: Context, args: JobsRadar) -> Json:
    filters, where, params = conditions(ctx, args)
    if "status" not in filters:
        where += f" AND {OPEN}"
    limit = clamped(args.limit, 1, MOST)
    params += [ctx.now_ms, limit + 1]
    jobs = select(ctx.tx, ctx.workspace, Job, f"{where} ORDER BY {INBOX_ORDER} LIMIT ?", *params)
    leases = active_leases(ctx)
    status = runner_status(ctx, leases)
    given = {**filters, "stale_after_s": args.stale_after_s}
    shown: Json = {
        "workspace": ctx.workspace,
        "filters": {name: value for name, value in given.items() if value is not None},
        "runner_status": status.to_json(),
        "runner_leases": _leases_json(leases, args),
        "runner_diagnostics": diagnostics(ctx, leases),
        "jobs": _rows(ctx, jobs[:limit], leases),
        "count": min(len(jobs), limit),
        "has_more": len(jobs) > limit,
    }
    offline = _offline_json(ctx, clamped(args.offline_limit, 0, MOST_RUNNERS))
    if offline is not None:
        shown["runner_leases_offline"] = offline
    if status.status == OFFLINE and _waiting(ctx):
        shown["runner_bootstrap"] = runner_command(ctx)
    return shown


def _rows(ctx: Context, jobs: Sequence[Job], leases: Sequence[RunnerLease]) -> list[Json]:
    alive = {lease.runner: lease for lease in leases}
    marks = {job.id: attention_of(job, ctx.now_ms) for job in jobs}
    seqs = {job.id: last_seq(job, marks[job.id]) for job in jobs}
    # One query for the events of all jobs, instead of one for each row.
    events = events_at(ctx, list(seqs.values()))
    return [_job_json(job, marks[job.id], events.get(seqs[job.id]), alive) for job in jobs]


def _job_json(job: Job, marks: Attention, event: JobEvent | None, alive: dict[str, RunnerLease]) -> Json:
    row = {**job_json(job), "attention": marks.to_json(), "mark": marks.mark}
    if event is not None:
        row["last"] = {"ref": f"{job.id}@{event.seq}", **picked(event, "seq", "ts_ms", "kind", "message", "refs")}
    if job.status == RUNNING:
        row["runner_state"] = state_of(alive, job.runner)
    return row


def _leases_json(leases: Sequence[RunnerLease], args: JobsRadar) -> Json:
    wanted = [lease for lease in leases if args.runners_status in (None, lease.status)]
    limit = clamped(args.runners_limit, 1, MOST_RUNNERS)
    runners = [lease.to_json() for lease in wanted[:limit]]
    return {"runners": runners, "count": len(runners), "has_more": len(wanted) > limit}


def _offline_json(ctx: Context, limit: int) -> Json | None:
    gone = expired_leases(ctx, limit + 1) if limit else []
    if not gone:
        return None
    runners = [{**lease.to_json(), "status": OFFLINE, "last_status": lease.status} for lease in gone[:limit]]
    return {"runners": runners, "count": len(runners), "has_more": len(gone) > limit}


def _waiting(ctx: Context) -> bool:
    sql = f"SELECT 1 AS waits FROM job WHERE workspace = ? AND status = '{QUEUED}' LIMIT 1"
    return ctx.tx.one(sql, ctx.workspace) is not None
