"""The radar as lines: a header, how to start a runner, who is alive, what contradicts, then the jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clew.errors import shorten
from clew.tasks.jobs.messages import place
from clew.tasks.views.lines import free

MOST_RUNNERS, MOST_OFFLINE, MOST_ISSUES = 15, 10, 5


def radar_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    return [
        place(result, default_workspace) + _header(result),
        *_start(result),
        *_runners(result),
        *_offline(result),
        *_issues(result),
        *(_row(job) for job in result.get("jobs", ())),
    ]


def _header(result: dict[str, Any]) -> str:
    status = result.get("runner_status", {"status": "offline"})
    counts = {name: status.get(f"{name}_count", 0) for name in ("live", "idle", "offline")}
    told = " ".join(f"{name}:{count}" for name, count in counts.items()) if any(counts.values()) else "none"
    filters = "".join(f" {name}={value}" for name, value in result.get("filters", {}).items())
    more = " has_more=true" if result.get("has_more") else ""
    return f"jobs_radar count={result.get('count', 0)} runner={status['status']} runners={told}{filters}{more}"


def _start(result: dict[str, Any]) -> Iterator[str]:
    if "runner_bootstrap" in result:
        yield f"CMD: {result['runner_bootstrap']['cmd']}"


def _runners(result: dict[str, Any]) -> Iterator[str]:
    runners = result.get("runner_leases", {}).get("runners", [])
    for lease in runners[:MOST_RUNNERS]:
        job = lease["active_job_id"]
        works = f" job={job} | open id={job}" if job else ""
        yield f"runner {lease['status']} {lease['runner_id']} | open id=runner:{lease['runner_id']}{works}"
    # A filter or a budget may have taken the list away; the counts tell whether anyone is there.
    if result.get("runner_status", {}).get("status") == "offline":
        yield "runner offline (no active lease)"


def _offline(result: dict[str, Any]) -> Iterator[str]:
    for lease in result.get("runner_leases_offline", {}).get("runners", [])[:MOST_OFFLINE]:
        job, id = lease["active_job_id"], lease["runner_id"]
        worked = f" last_job={job} | open id={job}" if job else ""
        yield f"runner offline {id} last={lease['status']} | open id=runner:{id}{worked}"


def _issues(result: dict[str, Any]) -> Iterator[str]:
    for issue in result.get("runner_diagnostics", {}).get("issues", [])[:MOST_ISSUES]:
        sign = "~" if issue["severity"] == "stale" else "!"
        runner = f" runner={issue['runner_id']}" if "runner_id" in issue else ""
        job = f" job={issue['job_id']}" if "job_id" in issue else ""
        target = issue.get("job_id") or f"runner:{issue.get('runner_id')}"
        message = free(issue["message"], 120)
        yield f"{sign} diag {issue['kind']}{runner}{job} | open id={target} | {message}"


def _row(job: dict[str, Any]) -> str:
    last = job.get("last")
    ref = last["ref"] if last else job["job_id"]
    mark = f" {job['mark']}" if job["mark"] else ""
    runs = f" runner={job['runner_state']}:{shorten(job['runner'] or '-', 60)}" if "runner_state" in job else ""
    title = free(job["title"], 80)
    reply = f' | reply reply_job={job["job_id"]} reply_message="..."' if job["attention"]["needs_manager"] else ""
    said = f" | {last['kind']}: {free(last['message'], 80)}" if last else ""
    return f"{ref}{mark} {job['job_id']} ({job['status']}) {title}{runs} | open id={ref}{reply}{said}"
