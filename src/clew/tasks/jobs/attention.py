"""Attention: which jobs need a person, derived from the marks that events leave on a job; the inbox order.

`work_state` summarises the jobs and runners related to a plan or task for the state line.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.canonical import Json, as_json, picked
from clew.registry.context import Context
from clew.store.rows import first
from clew.tasks.jobs.job import QUEUED, RUNNING, Job
from clew.tasks.jobs.queue import EXPIRED
from clew.tasks.jobs.runners import OFFLINE, RunnerStatus, runner_command, runner_status
from clew.tasks.jobs.thread import events_at

# These conditions repeat `attention_of` in SQL, so that the database sorts and limits the inbox; 0 sorts first. Marks
# are seqs of a job's events: a question whose seq is higher than that of the last answer is still open.
HAS_ERROR = f"CASE WHEN status = '{RUNNING}' AND error_seq > checkpoint_seq THEN 0 ELSE 1 END"
NEEDS_MANAGER = f"CASE WHEN status IN ('{RUNNING}', '{QUEUED}') AND question_seq > manager_seq THEN 0 ELSE 1 END"
NEEDS_PROOF = (
    f"CASE WHEN status = '{RUNNING}' AND proof_gate_seq > checkpoint_seq AND proof_gate_seq > proof_seq"
    " THEN 0 ELSE 1 END"
)
STALE = f"CASE WHEN status = '{RUNNING}' AND {EXPIRED} THEN 0 ELSE 1 END"
RUNNING_FIRST = f"CASE status WHEN '{RUNNING}' THEN 0 WHEN '{QUEUED}' THEN 1 ELSE 2 END"

OPEN = f"status IN ('{RUNNING}', '{QUEUED}')"
INBOX_ORDER = f"{HAS_ERROR}, {NEEDS_MANAGER}, {NEEDS_PROOF}, {STALE}, {RUNNING_FIRST}, updated_at_ms DESC, number"
"""Jobs that need a person come first. Takes one parameter: the current time."""


@dataclass(frozen=True, slots=True)
class Attention:
    needs_manager: bool
    needs_proof: bool
    has_error: bool
    stale: bool

    @property
    def mark(self) -> str:
        """The most important need as one character: `!`, `?`, `~`, or nothing."""
        if self.has_error:
            return "!"
        if self.needs_manager:
            return "?"
        return "!" if self.needs_proof else "~" if self.stale else ""

    def to_json(self) -> Json:
        return as_json(self)


def attention_of(job: Job, now_ms: int) -> Attention:
    running = job.status == RUNNING
    return Attention(
        needs_manager=job.active and job.question_seq > job.manager_seq,
        needs_proof=running and job.proof_gate_seq > max(job.checkpoint_seq, job.proof_seq),
        has_error=running and job.error_seq > job.checkpoint_seq,
        stale=job.expired(now_ms),
    )


def last_seq(job: Job, attention: Attention) -> int:
    """The seq of the event to show: the one that needs attention, else the newest that is not a heartbeat."""
    if attention.has_error:
        return job.error_seq
    if attention.needs_manager:
        return job.question_seq
    if attention.needs_proof:
        return job.proof_gate_seq
    # A mark of 0 means that there is no such event.
    return job.spoken_seq or job.noted_seq or job.last_seq


@dataclass(frozen=True, slots=True)
class JobState:
    """The job in the state line."""

    job: Job
    attention: Attention
    last_message: str | None = None

    def to_json(self) -> Json:
        marks = picked(self.attention, "has_error", "needs_manager", "needs_proof")
        named = {"job_id": self.job.id, "status": self.job.status}
        return {**named, "attention": marks, "last": self.last_message}


@dataclass(frozen=True, slots=True)
class WorkState:
    runner: RunnerStatus
    job: JobState | None = None
    running: int = 0
    queued: int = 0
    start_command: str | None = None
    """How to start a runner, if jobs wait and no runner is alive."""

    def to_json(self) -> Json:
        """The part of `capsule.where` about delegated work."""
        shown: Json = {
            "inbox": picked(self, "running", "queued"),
            "runner_status": self.runner.counts(),
        }
        if self.job is not None:
            shown["job"] = self.job.to_json()
        if self.start_command is not None:
            shown["runner_bootstrap"] = {"cmd": self.start_command}
        return shown


def work_state(ctx: Context, target: str) -> WorkState:
    """The jobs of the workspace as seen from `target`."""
    sql = f"SELECT status, count(*) AS n FROM job WHERE workspace = ? AND {OPEN} GROUP BY status"
    counts = {row["status"]: row["n"] for row in ctx.tx.all(sql, ctx.workspace)}
    runner, queued = runner_status(ctx), counts.get(QUEUED, 0)
    start = runner_command(ctx)["cmd"] if queued and runner.status == OFFLINE else None
    job = _job_of(ctx, target) if counts else None
    return WorkState(runner, job, counts.get(RUNNING, 0), queued, start)


def _job_of(ctx: Context, target: str) -> JobState | None:
    """The most urgent job of the task, or of the plan's tasks: running ones first."""
    tasks = "SELECT id FROM work WHERE workspace = ? AND parent = ?"
    where = f"{OPEN} AND (task = ? OR task IN ({tasks})) ORDER BY {RUNNING_FIRST}, {INBOX_ORDER}"
    params = (target, ctx.workspace, target, ctx.now_ms)
    job = first(ctx.tx, ctx.workspace, Job, where, *params)
    if job is None:
        return None
    attention = attention_of(job, ctx.now_ms)
    last = events_at(ctx, [last_seq(job, attention)])
    message = next((event.message for event in last.values()), None)
    return JobState(job, attention, message)
