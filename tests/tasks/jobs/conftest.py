"""Jobs as a runner and a manager see them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller


class Runner:
    """The holder of one claim."""

    def __init__(self, call: Caller, job: str, name: str = "host:1", **claim: Any) -> None:
        self.call = call
        claimed = call("tasks_jobs_claim", job=job, runner_id=name, **claim)["job"]
        self.claim = {"job": job, "runner_id": name, "claim_revision": claimed["revision"]}

    def report(self, message: str, kind: str = "progress", **more: Any) -> dict[str, Any]:
        event: dict[str, Any] = self.call("tasks_jobs_report", **self.claim, message=message, kind=kind, **more)[
            "event"
        ]
        return event

    def complete(self, status: str = "DONE", **more: Any) -> dict[str, Any]:
        return self.call("tasks_jobs_complete", **self.claim, status=status, **more)


@pytest.fixture
def job(call: Caller) -> str:
    return str(call("tasks_jobs_create", title="Measure", prompt="Time it.")["job_id"])


@pytest.fixture
def runner(call: Caller, job: str) -> Runner:
    return Runner(call, job)
