"""Runner leases: a runner renews its lease while it is alive; an expired lease means that it is offline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import Field

from clew.canonical import canonical
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, operation
from clew.store.database import Row
from clew.surroundings import own_program
from clew.tasks.jobs.job import LONGEST_TTL, MAX_LEASE_RUNNER, SHORTEST_TTL, LeaseTtl, RunnerId, check_runner


def runner_command(ctx: Context) -> dict[str, str]:
    """A shell command that starts a runner. It never contains a database address, which may hold a password."""
    home = str(ctx.settings.home)
    program = own_program()
    return {
        "cmd": f'{program} --home "{home}" --workspace "{ctx.workspace}" runner',
        "runner_bin": program,
        "storage_dir": home,
    }


# As in BranchMind's contract: a silent runner counts as offline after 20 seconds.
DEFAULT_TTL = 20_000
LIVE, IDLE, OFFLINE = "live", "idle", "offline"


@dataclass(frozen=True, slots=True)
class RunnerLease:
    runner: str
    status: str
    active_job: str | None
    lease_expires_at_ms: int
    created_at_ms: int
    updated_at_ms: int
    meta: dict[str, Any] | None = None

    def holds(self, now_ms: int) -> bool:
        return now_ms < self.lease_expires_at_ms <= now_ms + LONGEST_TTL

    def to_json(self) -> dict[str, Any]:
        return {
            "runner_id": self.runner,
            "status": self.status,
            "active_job_id": self.active_job,
            "lease_expires_at_ms": self.lease_expires_at_ms,
            "created_at_ms": self.created_at_ms,
            "updated_at_ms": self.updated_at_ms,
        }


class RunnerHeartbeat(Input):
    synonyms: ClassVar[dict[str, str]] = {"runner": "runner_id"}

    runner_id: RunnerId
    status: Annotated[Literal["idle", "live"], Field(description="live while it works on a job.")]
    active_job_id: Annotated[Name | None, Field(description="The job it works on.")] = None
    lease_ttl_ms: LeaseTtl = None
    meta: Meta | None = None


@operation("tasks_runner_heartbeat", writes=True, idempotent=True, example={"runner_id": "host:1", "status": "idle"})
def tasks_runner_heartbeat(ctx: Context, args: RunnerHeartbeat) -> dict[str, Any]:
    """Say that a runner is alive, for as long as the lease lasts, and what it works on."""
    runner = check_runner(args.runner_id, limit=MAX_LEASE_RUNNER)
    active = args.active_job_id.strip().upper() if args.active_job_id and args.active_job_id.strip() else None
    ttl = min(max(args.lease_ttl_ms or DEFAULT_TTL, SHORTEST_TTL), LONGEST_TTL)
    lease = renew_lease(ctx, runner, args.status, active, ttl, args.meta)
    return {"workspace": ctx.workspace, "lease": lease.to_json()}


def renew_lease(
    ctx: Context, runner: str, status: str, active: str | None, ttl: int, meta: dict[str, Any] | None = None
) -> RunnerLease:
    """Renew a runner's lease. Only a change of state emits an event, because leases are renewed thousands of times
    and the jobs have events of their own.
    """
    before = find_lease(ctx, runner)
    now = ctx.now_ms
    lease = RunnerLease(runner, status, active, now + ttl, before.created_at_ms if before else now, now, meta)
    _save(ctx, lease)
    if before is None or not before.holds(now) or before.status != status:
        ctx.emit("jobs", "runner_changed", runner, {"status": status, "active_job": active})
    return lease


def find_lease(ctx: Context, runner: str) -> RunnerLease | None:
    row = ctx.tx.one("SELECT * FROM runner_lease WHERE workspace = ? AND runner = ?", ctx.workspace, runner)
    return _lease(row) if row else None


_HOLDS = "lease_expires_at_ms > ? AND lease_expires_at_ms <= ?"
"""`RunnerLease.holds`: an end further away than any lease lasts comes from a clock that was set back."""


def _now_held(ctx: Context) -> tuple[str, int, int]:
    """The workspace and what `_HOLDS` compares with."""
    return ctx.workspace, ctx.now_ms, ctx.now_ms + LONGEST_TTL


def active_leases(ctx: Context) -> list[RunnerLease]:
    """Leases that hold: live runners first, then those that hold longest."""
    rows = ctx.tx.all(
        f"SELECT * FROM runner_lease WHERE workspace = ? AND {_HOLDS}"
        " ORDER BY CASE status WHEN 'live' THEN 0 ELSE 1 END, lease_expires_at_ms DESC, runner",
        *_now_held(ctx),
    )
    return [_lease(row) for row in rows]


def expired_leases(ctx: Context, limit: int) -> list[RunnerLease]:
    """Leases that do not hold, newest first."""
    rows = ctx.tx.all(
        f"SELECT * FROM runner_lease WHERE workspace = ? AND NOT ({_HOLDS})"
        " ORDER BY updated_at_ms DESC, runner LIMIT ?",
        *_now_held(ctx),
        limit,
    )
    return [_lease(row) for row in rows]


def count_expired(ctx: Context) -> int:
    sql = f"SELECT count(*) FROM runner_lease WHERE workspace = ? AND NOT ({_HOLDS})"
    return int(ctx.tx.value(sql, *_now_held(ctx)))


@dataclass(frozen=True, slots=True)
class RunnerStatus:
    """The runners of the workspace counted by state, and the first of them."""

    live: int
    idle: int
    offline: int
    foremost: RunnerLease | None

    @property
    def status(self) -> str:
        return LIVE if self.live else IDLE if self.idle else OFFLINE

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "status": self.status,
            "live_count": self.live,
            "idle_count": self.idle,
            "offline_count": self.offline,
        }
        if self.foremost is not None:
            shown["runner_id"] = self.foremost.runner
            shown["active_job_id"] = self.foremost.active_job
            shown["lease_expires_at_ms"] = self.foremost.lease_expires_at_ms
        return shown

    def counts(self) -> str:
        """`none`, or `live:1 idle:0 offline:2`."""
        if not (self.live or self.idle or self.offline):
            return "none"
        return f"live:{self.live} idle:{self.idle} offline:{self.offline}"


def runner_status(ctx: Context, leases: Sequence[RunnerLease] | None = None) -> RunnerStatus:
    held = active_leases(ctx) if leases is None else leases
    live = sum(lease.status == LIVE for lease in held)
    return RunnerStatus(live, len(held) - live, count_expired(ctx), held[0] if held else None)


def state_of(leases: dict[str, RunnerLease], runner: str | None) -> str:
    """The state of a runner by its lease: live, idle or offline."""
    lease = leases.get(runner or "")
    return lease.status if lease is not None else OFFLINE


def _save(ctx: Context, lease: RunnerLease) -> None:
    ctx.tx.run(
        "INSERT INTO runner_lease (workspace, runner, status, active_job, lease_expires_at_ms, meta, created_at_ms,"
        " updated_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, runner) DO UPDATE SET"
        " status = excluded.status, active_job = excluded.active_job, meta = excluded.meta,"
        " lease_expires_at_ms = excluded.lease_expires_at_ms, updated_at_ms = excluded.updated_at_ms",
        ctx.workspace,
        lease.runner,
        lease.status,
        lease.active_job,
        lease.lease_expires_at_ms,
        canonical(lease.meta) if lease.meta is not None else None,
        lease.created_at_ms,
        lease.updated_at_ms,
    )


def _lease(row: Row) -> RunnerLease:
    names = ("runner", "status", "active_job", "lease_expires_at_ms", "created_at_ms", "updated_at_ms")
    return RunnerLease(**{name: row[name] for name in names}, meta=orjson.loads(row["meta"]) if row["meta"] else None)
