"""Attention: what about a job wants a person, read from the marks its events left; for SQL and for Python."""

from __future__ import annotations

from dataclasses import dataclass

from clew.tasks.jobs.claims import EXPIRED
from clew.tasks.jobs.job import QUEUED, RUNNING, Job

HAS_ERROR = f"CASE WHEN status = '{RUNNING}' AND error_seq > checkpoint_seq THEN 0 ELSE 1 END"
NEEDS_MANAGER = f"CASE WHEN status IN ('{RUNNING}', '{QUEUED}') AND question_seq > manager_seq THEN 0 ELSE 1 END"
NEEDS_PROOF = (
    f"CASE WHEN status = '{RUNNING}' AND proof_gate_seq > checkpoint_seq AND proof_gate_seq > proof_seq"
    " THEN 0 ELSE 1 END"
)
STALE = f"CASE WHEN status = '{RUNNING}' AND {EXPIRED} THEN 0 ELSE 1 END"
RUNNING_FIRST = f"CASE status WHEN '{RUNNING}' THEN 0 WHEN '{QUEUED}' THEN 1 ELSE 2 END"

INBOX_ORDER = f"{HAS_ERROR}, {NEEDS_MANAGER}, {NEEDS_PROOF}, {STALE}, {RUNNING_FIRST}, updated_at_ms DESC, number"
"""Whoever needs someone comes first. Takes one parameter: the present time."""


@dataclass(frozen=True, slots=True)
class Attention:
    needs_manager: bool
    needs_proof: bool
    has_error: bool
    stale: bool

    @property
    def mark(self) -> str:
        """The one sign for it: `!`, `?`, `~`, or nothing."""
        if self.has_error:
            return "!"
        if self.needs_manager:
            return "?"
        return "!" if self.needs_proof else "~" if self.stale else ""

    def to_json(self) -> dict[str, bool]:
        return {
            "needs_manager": self.needs_manager,
            "needs_proof": self.needs_proof,
            "has_error": self.has_error,
            "stale": self.stale,
        }


def attention_of(job: Job, now_ms: int) -> Attention:
    running = job.status == RUNNING
    return Attention(
        needs_manager=job.active and job.question_seq > job.manager_seq,
        needs_proof=running and job.proof_gate_seq > max(job.checkpoint_seq, job.proof_seq),
        has_error=running and job.error_seq > job.checkpoint_seq,
        stale=job.expired(now_ms),
    )


def last_seq(job: Job, attention: Attention) -> int:
    """The event to show: what raised the mark, else the newest that says something, else the newest."""
    if attention.has_error:
        return job.error_seq
    if attention.needs_manager:
        return job.question_seq
    if attention.needs_proof:
        return job.proof_gate_seq
    return job.spoken_seq or job.noted_seq or job.last_seq
