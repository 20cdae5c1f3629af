"""Delegated work beside a plan or task: the job that wants attention, the inbox, and who could run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.registry.context import Context


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
    return None
