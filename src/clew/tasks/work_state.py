"""Delegated work beside a plan or task: the job that wants attention, the inbox, and who could run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.registry.context import Context
from clew.tasks.jobs.attention import INBOX_ORDER, RUNNING_FIRST, attention_of, last_seq
from clew.tasks.jobs.bootstrap import runner_command
from clew.tasks.jobs.job import QUEUED, RUNNING, Job
from clew.tasks.jobs.runners import OFFLINE, runner_status
from clew.tasks.jobs.thread import events_at
from clew.tasks.records import load


@dataclass(frozen=True, slots=True)
class JobState:
    """The one job that the state line names."""

    job_id: str
    status: str
    has_error: bool = False
    needs_manager: bool = False
    needs_proof: bool = False
    last_message: str | None = None

    def to_json(self) -> dict[str, Any]:
        attention = {
            "has_error": self.has_error,
            "needs_manager": self.needs_manager,
            "needs_proof": self.needs_proof,
        }
        return {"job_id": self.job_id, "status": self.status, "attention": attention, "last": self.last_message}


@dataclass(frozen=True, slots=True)
class RunnerState:
    status: str
    live: int = 0
    idle: int = 0
    offline: int = 0

    def to_json(self) -> dict[str, Any]:
        counts = {"live_count": self.live, "idle_count": self.idle, "offline_count": self.offline}
        return {"status": self.status, **counts}


@dataclass(frozen=True, slots=True)
class WorkState:
    runner: RunnerState
    job: JobState | None = None
    running: int = 0
    queued: int = 0
    start_command: str | None = None
    """How to start a runner, when jobs wait and none is there."""

    def to_json(self) -> dict[str, Any]:
        """The part of `capsule.where` that speaks of delegated work."""
        shown: dict[str, Any] = {
            "inbox": {"running": self.running, "queued": self.queued},
            "runner_status": self.runner.to_json(),
        }
        if self.job is not None:
            shown["job"] = self.job.to_json()
        if self.start_command is not None:
            shown["runner_bootstrap"] = {"cmd": self.start_command}
        return shown


def work_state(ctx: Context, target: str) -> WorkState | None:
    """The state of the workspace's jobs as seen from `target`; None where no job and no runner was ever there."""
    counts = _inbox(ctx)
    status = runner_status(ctx)
    runner = RunnerState(status.status, status.live, status.idle, status.offline)
    if not counts and runner == RunnerState(OFFLINE):
        return None
    running, queued = counts.get(RUNNING, 0), counts.get(QUEUED, 0)
    start = runner_command(ctx)["cmd"] if queued and status.status == OFFLINE else None
    return WorkState(runner, _job_of(ctx, target), running, queued, start)


def _inbox(ctx: Context) -> dict[str, int]:
    sql = f"SELECT status, count(*) AS n FROM job WHERE workspace = ? AND status IN ('{RUNNING}', '{QUEUED}')"
    return {row["status"]: row["n"] for row in ctx.tx.all(f"{sql} GROUP BY status", ctx.workspace)}


def _job_of(ctx: Context, target: str) -> JobState | None:
    """The job of the task, or of a task of the plan, that is nearest to its end or to trouble."""
    row = ctx.tx.one(
        f"SELECT * FROM job WHERE workspace = ? AND status IN ('{RUNNING}', '{QUEUED}') AND (task = ? OR task IN"
        " (SELECT id FROM work WHERE workspace = ? AND parent = ?))"
        f" ORDER BY {RUNNING_FIRST}, {INBOX_ORDER} LIMIT 1",
        ctx.workspace,
        target,
        ctx.workspace,
        target,
        ctx.now_ms,
    )
    if row is None:
        return None
    job = load(Job, row)
    attention = attention_of(job, ctx.now_ms)
    last = events_at(ctx, [last_seq(job, attention)])
    return JobState(
        job.id,
        job.status,
        attention.has_error,
        attention.needs_manager,
        attention.needs_proof,
        next((event["message"] for event in last.values()), None),
    )
