"""The job board: everything a runner reads and writes, through the dispatcher like any other caller."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import Any

from clew.registry.connection import Connection
from clew.registry.dispatch import Dispatcher

PASSING = frozenset({"STORE_LOCKED", "STORE_UNAVAILABLE", "STORE_FULL"})
"""Store errors that may pass; the call is repeated after each pause of PATIENCE (seconds)."""
PATIENCE = (0.1, 0.5, 2.0)


class Refused(Exception):
    """An operation answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class ClaimLost(Exception):
    """Somebody else holds the job, or it has ended: nothing more may be written for it."""


@dataclass(frozen=True)
class Claim:
    job: dict[str, Any]
    runner: str

    @property
    def id(self) -> str:
        return str(self.job["job_id"])

    def to_arguments(self) -> dict[str, Any]:
        return {"job": self.id, "runner_id": self.runner, "claim_revision": self.job["revision"]}


class Board:
    def __init__(self, dispatcher: Dispatcher, runner: str, lease_ms: int) -> None:
        self.runner = runner
        dispatcher.settle()
        self.workspace = dispatcher.settings.workspace
        self._dispatcher = dispatcher
        self._lease_ms = lease_ms
        self._connection = Connection(toolset="full", client="clew-runner", durable=False)

    def claim(self, kinds: list[str] | None) -> Claim | None:
        """Claim the next queued job, or one whose runner has fallen silent."""
        wanted = {"allow_stale": True, "announce": True, "kinds": kinds}
        job = self.call("tasks_jobs_claim", runner_id=self.runner, lease_ttl_ms=self._lease_ms, **wanted)["job"]
        return Claim(job, self.runner) if job else None

    def beat(self, active: str | None = None, lease_ms: int | None = None) -> None:
        """Renew the lease that shows this runner as alive."""
        status = "live" if active else "idle"
        lease = lease_ms or self._lease_ms
        arguments = {"runner_id": self.runner, "status": status, "active_job_id": active, "lease_ttl_ms": lease}
        self.call("tasks_runner_heartbeat", **arguments)

    def report(self, claim: Claim, kind: str, message: str, **more: Any) -> None:
        arguments = {"kind": kind, "message": message or kind, "lease_ttl_ms": self._lease_ms, **more}
        self._call_with_claim("tasks_jobs_report", claim, arguments)

    def complete(self, claim: Claim, status: str, summary: str, refs: list[str], require_proof: bool = False) -> None:
        arguments = {"status": status, "summary": summary, "refs": refs, "require_proof": require_proof}
        self._call_with_claim("tasks_jobs_complete", claim, arguments)

    def prove(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Record the receipt of a command that this runner ran. `witness` marks it as seen, not claimed."""
        connection = Connection(toolset="full", client="clew-runner", durable=False, witness="runner")
        answer = self._dispatcher.call("tasks_receipt_record", arguments, connection)
        if not answer.ok:
            raise Refused(answer.envelope["error"]["code"], answer.envelope["error"]["message"])
        result: dict[str, Any] = answer.envelope["result"]
        return result

    def release(self, claim: Claim, reason: str) -> None:
        """Give the job back into the queue."""
        self._call_with_claim("tasks_jobs_requeue", claim, {"reason": reason})

    def order(self, claim: Claim) -> tuple[str, dict[str, Any]]:
        """The job's prompt and meta."""
        opened = self.call("tasks_jobs_open", job=claim.id, include_prompt=True, include_meta=True, max_events=0)
        return opened["prompt"], opened["meta"]

    def thread(self, claim: Claim, limit: int) -> list[dict[str, Any]]:
        """The newest events, oldest first."""
        events: list[dict[str, Any]] = self.call("tasks_jobs_open", job=claim.id, max_events=limit)["events"]
        return events[::-1]

    def text(self, name: str, **arguments: Any) -> str | None:
        """The answer of an operation in lines; None if it is refused, because a prompt can do without that part."""
        answer = self._dispatcher.call(name, {**arguments, "fmt": "lines"}, self._connection)
        return answer.text if answer.ok else None

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call an operation, again after a passing store error.

        An answer may be lost after the write has happened; the request id keeps the repetition from doing it twice.
        """
        arguments = {**arguments, "request_id": uuid.uuid4().hex}
        answer = self._dispatcher.call(name, arguments, self._connection)
        for pause in PATIENCE:
            if answer.ok or answer.envelope["error"]["code"] not in PASSING:
                break
            time.sleep(pause)
            answer = self._dispatcher.call(name, arguments, self._connection)
        if not answer.ok:
            raise Refused(answer.envelope["error"]["code"], answer.envelope["error"]["message"])
        result: dict[str, Any] = answer.envelope["result"]
        return result

    def _call_with_claim(self, name: str, claim: Claim, arguments: dict[str, Any]) -> None:
        try:
            self.call(name, **claim.to_arguments(), **arguments)
        except Refused as refusal:
            if refusal.code == "CONFLICT":
                raise ClaimLost(str(refusal)) from None
            raise
