"""tasks_jobs_list, tasks_jobs_open and tasks_jobs_tail: reading jobs and their events."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json
from clew.ids import check_anchor
from clew.reasoning.anchors.registry import canonical
from clew.reasoning.branches import END
from clew.reasoning.scope import Target
from clew.registry.budget import Budget, Clip, Drop, Follow, Trim
from clew.registry.context import Context
from clew.registry.envelope import item_lines
from clew.registry.operation import MAX_NUMBER, Bounded, Name, View, Whole, operation
from clew.store.rows import select
from clew.tasks.jobs.job import Format, Job, JobBrief, JobId, brief_of, check_status, job_by_id, job_json
from clew.tasks.jobs.queue import TaskLink
from clew.tasks.jobs.runners import runner_status
from clew.tasks.jobs.thread import event_json, events_since, newest_events, place
from clew.tasks.targets import explicit_target
from clew.tasks.views.state_line import free

MOST = 200


class JobFilter(Bounded):
    status: Annotated[Name | None, Field(description="Only QUEUED, RUNNING, DONE, FAILED or CANCELED ones.")] = None
    task: TaskLink = None
    target: Target = None
    anchor: Annotated[Name | None, Field(description="Only those of this area.")] = None
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most jobs; 1 to 200.")] = 25
    fmt: Format = None


def conditions(ctx: Context, args: JobFilter) -> tuple[dict[str, str], str, list[Any]]:
    """The given filters, and the same as an SQL condition with its parameters."""
    given = {
        "status": check_status(args.status) if args.status is not None else None,
        "task": explicit_target(args),
        "anchor": canonical(ctx, check_anchor(args.anchor)) if args.anchor is not None else None,
    }
    filters = {name: value for name, value in given.items() if value is not None}
    where = " AND ".join(["TRUE", *(f"{name} = ?" for name in filters)])
    return filters, where, list(filters.values())


def clamped(given: int, low: int, high: int) -> int:
    return min(max(given, low), high)


def list_lines(result: Json, default_workspace: str) -> list[str]:
    if "jobs" not in result:
        return [f"{place(result, default_workspace)}jobs"]
    remark = "".join(f" {name}={value}" for name, value in result["filters"].items())
    more = " has_more=true" if result["has_more"] else ""
    lines = [f"{place(result, default_workspace)}jobs count={result['count']}{remark}{more}"]
    lines += item_lines(result, result["jobs"], _job_line)
    return [*lines, *longer_list(result)]


def longer_list(result: Json) -> list[str]:
    """How to see more jobs. Their order changes all the time, so the list has no pages; its limit grows."""
    if not result.get("has_more") or result.get("truncated") or not 0 < result.get("count", 0) < MOST:
        return []
    return [f"MORE: limit={min(2 * result['count'], MOST)}"]


def _job_line(job: Json) -> str:
    links = "".join(f" | {name}={job[name]}" for name in ("task", "anchor") if job.get(name))
    return f"{job['job_id']} ({job['status']}) {free(job['title'], 80)}{links}"


LIST_BUDGET = Budget(
    (
        Clip("jobs[].summary", 120),
        Drop("runner_status"),
        Clip("jobs[].title", 60),
        Drop("jobs[].summary"),
        Trim("jobs", drop="last", count="count", more="has_more"),
    ),
    keep=("workspace", "count", "has_more"),
)


@operation("tasks_jobs_list", budget=LIST_BUDGET, example={"status": "QUEUED"}, view=View(lines=list_lines))
def tasks_jobs_list(ctx: Context, args: JobFilter) -> Json:
    """List jobs, those changed last first."""
    filters, where, params = conditions(ctx, args)
    limit = clamped(args.limit, 1, MOST)
    where += " ORDER BY updated_at_ms DESC, number LIMIT ?"
    # One more than is shown detects whether there are more.
    jobs = select(ctx.tx, ctx.workspace, Job, where, *params, limit + 1)
    return {
        "workspace": ctx.workspace,
        "filters": filters,
        "runner_status": runner_status(ctx).to_json(),
        "jobs": [job_json(job) for job in jobs[:limit]],
        "count": min(len(jobs), limit),
        "has_more": len(jobs) > limit,
    }


def event_line(event: Json) -> str:
    refs = f" | refs: {', '.join(event['refs'][:3])}" if event.get("refs") else ""
    return f"- {event['ref']} {event['kind']}: {free(event['message'], 160)}{refs}"


def open_lines(result: Json, default_workspace: str) -> list[str]:
    if "job" not in result:
        return [f"{place(result, default_workspace)}job"]
    job = result["job"]
    links = " | ".join(f"{name}={job[name]}" for name in ("task", "anchor", "runner") if job.get(name))
    named = f"job {job['job_id']} ({job.get('status', '?')}) {free(job.get('title') or '')}"
    lines = [place(result, default_workspace) + named, links]
    for name, limit in (("summary", 140), ("prompt", 160)):
        text = job.get(name) or result.get(name)
        lines.append(f"{name}: {free(text, limit)}" if text else "")
    if result.get("events"):
        lines += ["events:", *item_lines(result, result["events"], event_line)]
    if result.get("has_more_events") and result.get("events"):
        lines.append(f"MORE: before_seq={result['events'][-1]['seq']}")
    return lines


def _next_before(whole: int | None, result: Json) -> int | None:
    """The cursor for older events if a budget removed some: before the oldest that is shown."""
    events = result.get("events")
    return int(events[-1]["seq"]) if events else None


_OLDER = Follow("next_before_seq", _next_before)

OPEN_BUDGET = Budget(
    (
        Clip("prompt", 4000),
        Drop("meta"),
        Drop("events[].meta"),
        Clip("prompt", 400),
        Clip("events[].message", 120),
        Trim("events", drop="last", floor=1, count="count", more="has_more_events", follow=_OLDER),
        Drop("prompt"),
        Drop("job.summary"),
        Clip("events[].message", 20),
        Trim("events", drop="last", count="count", more="has_more_events", follow=_OLDER),
    ),
    keep=("job", "workspace"),
)


class JobsOpen(Bounded):
    job: JobId
    include_prompt: Annotated[bool, Field(description="Show the order.")] = False
    include_events: Annotated[bool, Field(description="Show the newest events.")] = True
    include_meta: Annotated[bool, Field(description="Show the runner's settings and notes.")] = False
    max_events: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most events; 0 to 200.")] = 10
    before_seq: Annotated[Whole | None, Field(description="Only events older than this.")] = None
    fmt: Format = None


@operation("tasks_jobs_open", budget=OPEN_BUDGET, example={"job": "JOB-001"}, view=View(lines=open_lines))
def tasks_jobs_open(ctx: Context, args: JobsOpen) -> Json:
    """Show a job: its state and newest events; prompt and meta on request."""
    job = job_by_id(ctx, args.job)
    shown: Json = {"workspace": ctx.workspace, "job": job_json(job)}
    brief = brief_of(ctx, job) if args.include_prompt or args.include_meta else JobBrief(job.id)
    if args.include_prompt:
        shown["prompt"] = brief.prompt
    if args.include_meta:
        shown["meta"] = brief.meta
    if args.include_events:
        limit = clamped(args.max_events, 0, MOST)
        rows = newest_events(ctx, job, limit + 1, END if args.before_seq is None else args.before_seq)
        shown["events"] = [event_json(row, args.include_meta) for row in rows[:limit]]
        shown["count"] = min(len(rows), limit)
        shown["has_more_events"] = len(rows) > limit > 0
        shown["next_before_seq"] = shown["events"][-1]["seq"] if shown["has_more_events"] else None
    return shown


def tail_lines(result: Json, default_workspace: str) -> list[str]:
    if "job_id" not in result or "after_seq" not in result:
        return [f"{place(result, default_workspace)}job tail"]
    events, after = result.get("events", []), result["after_seq"]
    following = result.get("next_after_seq", after)
    more = result.get("has_more", True) or result["truncated"]
    head = f"job {result['job_id']} tail after_seq={after} next_after_seq={following} count={len(events)}"
    lines = [place(result, default_workspace) + head + (" has_more=true" if more else "")]
    shown = ["events:", *item_lines(result, events, event_line)] if events else []
    return [*lines, *shown, *([f"MORE: after_seq={following}"] if more else [])]


def _next_after(whole: int, result: Json) -> int:
    """Where to continue if a budget removed the newest events."""
    events = result.get("events")
    return int(events[-1]["seq"]) if events else int(result["after_seq"])


TAIL_BUDGET = Budget(
    (
        Drop("events[].meta"),
        Clip("events[].message", 120),
        Clip("events[].message", 40),
        Drop("count"),
        Drop("workspace"),
        Trim("events", drop="last", follow=Follow("next_after_seq", _next_after), more="has_more"),
        Drop("events"),  # a reader of a thread can do without an event, not without its position
        Drop("has_more"),
    ),
    keep=("job_id", "after_seq"),  # not next_after_seq: no event was shown, so reading must continue at after_seq
)


class JobsTail(Bounded):
    job: JobId
    after_seq: Annotated[Whole, Field(description="Only events newer than this; next_after_seq of the last call.")] = 0
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most events; 1 to 200.")] = 20
    fmt: Format = None


@operation(
    "tasks_jobs_tail", budget=TAIL_BUDGET, example={"job": "JOB-001", "after_seq": 0}, view=View(lines=tail_lines)
)
def tasks_jobs_tail(ctx: Context, args: JobsTail) -> Json:
    """Follow a job's events from a place on, oldest first."""
    job = job_by_id(ctx, args.job)
    limit = clamped(args.limit, 1, MOST)
    rows = events_since(ctx, job, args.after_seq, limit + 1)
    events = [event_json(row) for row in rows[:limit]]
    return {
        "workspace": ctx.workspace,
        "job_id": job.id,
        "after_seq": args.after_seq,
        "next_after_seq": events[-1]["seq"] if events else args.after_seq,
        "events": events,
        "count": len(events),
        "has_more": len(rows) > limit,
    }
