"""Where leases and claims contradict each other. Only records are compared; nothing is inferred from time or logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from clew.registry.context import Context
from clew.store.database import placeholders
from clew.tasks.jobs.claims import EXPIRED
from clew.tasks.jobs.job import RUNNING, Job
from clew.tasks.jobs.runners import IDLE, LIVE, Lease
from clew.tasks.records import load

MOST = 20
_RANK = {"error": 0, "warn": 1, "stale": 2}


@dataclass(frozen=True, slots=True)
class Issue:
    severity: str
    kind: str
    message: str
    runner: str | None = None
    job: str | None = None

    @property
    def order(self) -> tuple[Any, ...]:
        return (_RANK[self.severity], self.kind, self.runner or "", self.job or "")

    def to_json(self) -> dict[str, Any]:
        shown = {"severity": self.severity, "kind": self.kind, "message": self.message}
        named = {"runner_id": self.runner, "job_id": self.job}
        return {**shown, **{name: value for name, value in named.items() if value is not None}}


def diagnostics(ctx: Context, leases: Sequence[Lease]) -> dict[str, Any]:
    """A bounded list of contradictions, the worst first."""
    found = sorted([*_of_leases(ctx, leases), *_of_jobs(ctx, leases)], key=lambda issue: issue.order)
    return {
        "issues": [issue.to_json() for issue in found[:MOST]],
        "count": min(len(found), MOST),
        "has_more": len(found) > MOST,
    }


def _of_leases(ctx: Context, leases: Sequence[Lease]) -> Iterator[Issue]:
    jobs = _named_jobs(ctx, leases)
    named = Counter(lease.active_job for lease in leases if lease.active_job)
    for lease in leases:
        active = lease.active_job
        if active is None:
            if lease.status == LIVE:
                message = f"{lease.runner} says it works and names no job"
                yield Issue("warn", "live_missing_active_job", message, lease.runner)
            continue
        if lease.status == IDLE:
            message = f"{lease.runner} says it is idle and names {active}"
            yield Issue("warn", "idle_has_active_job", message, lease.runner, active)
        if named[active] > 1:
            message = f"{named[active]} runners say they work on {active}"
            yield Issue("error", "duplicate_active_job", message, lease.runner, active)
        yield from _of_active(lease, active, jobs.get(active))


def _of_active(lease: Lease, active: str, job: Job | None) -> Iterator[Issue]:
    if job is None:
        yield Issue("error", "active_job_unknown", f"{active} does not exist", lease.runner, active)
    elif job.status != RUNNING:
        yield Issue("warn", "active_job_not_running", f"{active} is {job.status}", lease.runner, active)
    elif job.runner != lease.runner:
        message = f"{active} is claimed by {job.runner}, not by {lease.runner}"
        yield Issue("error", "job_runner_mismatch", message, lease.runner, active)


def _of_jobs(ctx: Context, leases: Sequence[Lease]) -> Iterator[Issue]:
    held = {lease.runner for lease in leases}
    marks = placeholders(len(held)) or "''"
    rows = ctx.tx.all(
        f"SELECT * FROM job WHERE workspace = ? AND status = '{RUNNING}'"
        f" AND ({EXPIRED} OR runner IS NULL OR runner NOT IN ({marks})) ORDER BY number LIMIT ?",
        ctx.workspace,
        ctx.now_ms,
        *sorted(held),
        MOST + 1,
    )
    for job in (load(Job, row) for row in rows):
        if job.expired(ctx.now_ms):
            message = f"the claim of {job.runner or 'nobody'} on {job.id} has expired; a runner may reclaim it"
            yield Issue("stale", "job_claim_expired", message, job.runner, job.id)
        if job.runner not in held:
            message = f"{job.id} runs under {job.runner or 'nobody'}, who has no active lease"
            yield Issue("warn", "job_runner_offline", message, job.runner, job.id)


def _named_jobs(ctx: Context, leases: Sequence[Lease]) -> dict[str, Job]:
    ids = sorted({lease.active_job for lease in leases if lease.active_job})
    if not ids:
        return {}
    sql = f"SELECT * FROM job WHERE workspace = ? AND id IN ({placeholders(len(ids))})"
    return {row["id"]: load(Job, row) for row in ctx.tx.all(sql, ctx.workspace, *ids)}
