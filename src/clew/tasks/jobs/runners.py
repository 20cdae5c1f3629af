"""Runner leases: a runner renews its lease while it is alive; an expired lease means that it is offline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clew.canonical import Json, picked
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, operation
from clew.store.rows import TableRow, find, select, upsert
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
class RunnerLease(TableRow):
    TABLE: ClassVar[str] = "runner_lease"
    KEY: ClassVar[tuple[str, ...]] = ("runner",)
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"meta"})
    KEPT: ClassVar[frozenset[str]] = frozenset({"created_at_ms"})

    runner: str
    status: str
    active_job: str | None
    lease_expires_at_ms: int
    created_at_ms: int
    updated_at_ms: int
    meta: Json | None = None

    def holds(self, now_ms: int) -> bool:
        return now_ms < self.lease_expires_at_ms <= now_ms + LONGEST_TTL

    def to_json(self) -> Json:
        times = picked(self, "lease_expires_at_ms", "created_at_ms", "updated_at_ms")
        return {"runner_id": self.runner, "status": self.status, "active_job_id": self.active_job, **times}


class RunnerHeartbeat(Input):
    synonyms: ClassVar[dict[str, str]] = {"runner": "runner_id"}

    runner_id: RunnerId
    status: Annotated[Literal["idle", "live"], Field(description="live while it works on a job.")]
    active_job_id: Annotated[Name | None, Field(description="The job it works on.")] = None
    lease_ttl_ms: LeaseTtl = None
    meta: Meta | None = None


@operation("tasks_runner_heartbeat", writes=True, idempotent=True, example={"runner_id": "host:1", "status": "idle"})
def tasks_runner_heartbeat(ctx: Context, args: RunnerHeartbeat) -> Json:
    """Say that a runner is alive, for as long as the lease lasts, and what it works on."""
    runner = check_runner(args.runner_id, limit=MAX_LEASE_RUNNER)
    active = args.active_job_id.strip().upper() if args.active_job_id and args.active_job_id.strip() else None
    ttl = min(max(args.lease_ttl_ms or DEFAULT_TTL, SHORTEST_TTL), LONGEST_TTL)
    lease = renew_lease(ctx, runner, args.status, active, ttl, args.meta)
    return {"workspace": ctx.workspace, "lease": lease.to_json()}


def renew_lease(
    ctx: Context, runner: str, status: str, active: str | None, ttl: int, meta: Json | None = None
) -> RunnerLease:
    """Renew a runner's lease. Only a change of state emits an event, because leases are renewed thousands of times
    and the jobs have events of their own.
    """
    before = find_lease(ctx, runner)
    now = ctx.now_ms
    lease = RunnerLease(runner, status, active, now + ttl, before.created_at_ms if before else now, now, meta)
    upsert(ctx.tx, ctx.workspace, lease)
    if before is None or not before.holds(now) or before.status != status:
        ctx.emit("jobs", "runner_changed", runner, {"status": status, "active_job": active})
    return lease


def find_lease(ctx: Context, runner: str) -> RunnerLease | None:
    return find(ctx.tx, ctx.workspace, RunnerLease, runner)


_HOLDS = "lease_expires_at_ms > ? AND lease_expires_at_ms <= ?"
"""`RunnerLease.holds`: an expiry later than any lease lasts comes from a clock that was set back."""


def _held(ctx: Context) -> tuple[int, int]:
    """The parameters of `_HOLDS`."""
    return ctx.now_ms, ctx.now_ms + LONGEST_TTL


def active_leases(ctx: Context) -> list[RunnerLease]:
    """Valid leases: live runners first, then by latest expiry."""
    order = "CASE status WHEN 'live' THEN 0 ELSE 1 END, lease_expires_at_ms DESC, runner"
    return select(ctx.tx, ctx.workspace, RunnerLease, f"{_HOLDS} ORDER BY {order}", *_held(ctx))


def expired_leases(ctx: Context, limit: int) -> list[RunnerLease]:
    """Expired leases, newest first."""
    where = f"NOT ({_HOLDS}) ORDER BY updated_at_ms DESC, runner LIMIT ?"
    return select(ctx.tx, ctx.workspace, RunnerLease, where, *_held(ctx), limit)


def count_expired(ctx: Context) -> int:
    sql = f"SELECT count(*) FROM runner_lease WHERE workspace = ? AND NOT ({_HOLDS})"
    return int(ctx.tx.value(sql, ctx.workspace, *_held(ctx)))


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

    def to_json(self) -> Json:
        if self.foremost is None:
            return self.counts()
        names = ("runner_id", "active_job_id", "lease_expires_at_ms")
        first = self.foremost.to_json()
        return {**self.counts(), **{name: first[name] for name in names}}

    def counts(self) -> Json:
        counts = picked(self, "live", "idle", "offline")
        return {"status": self.status, **{f"{name}_count": count for name, count in counts.items()}}


def runner_status(ctx: Context, leases: Sequence[RunnerLease] | None = None) -> RunnerStatus:
    held = active_leases(ctx) if leases is None else leases
    live = sum(lease.status == LIVE for lease in held)
    return RunnerStatus(live, len(held) - live, count_expired(ctx), held[0] if held else None)


def state_of(leases: dict[str, RunnerLease], runner: str | None) -> str:
    """The state of a runner by its lease: live, idle or offline."""
    lease = leases.get(runner or "")
    return lease.status if lease is not None else OFFLINE
