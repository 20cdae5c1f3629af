"""Who may work on a job, in which order, and what a claim that ended may still do: nothing."""

from __future__ import annotations

from typing import Any

import pytest

from clew.app import Clew
from tests.conftest import Caller, TickingClock
from tests.suggestions import run_suggestions
from tests.tasks.jobs.conftest import Runner


def test_a_claim_turns_a_queued_job_into_a_running_one_and_gives_the_token(call: Caller, job: str) -> None:
    claimed = call("tasks_jobs_claim", job=job, runner_id="host:1")["job"]
    assert (claimed["status"], claimed["runner"], claimed["revision"]) == ("RUNNING", "host:1", 1)
    assert claimed["claim_expires_at_ms"] - claimed["updated_at_ms"] == 180_000


def test_a_running_job_is_not_claimed_again(clew: Clew, call: Caller, runner: Runner) -> None:
    answer = call.answer("tasks_jobs_claim", job="JOB-001", runner_id="host:2", allow_stale=True)
    assert answer.envelope["error"]["code"] == "CONFLICT"
    run_suggestions(clew, answer, call.session)
    assert call("tasks_jobs_open", job="JOB-001")["job"]["runner"] == "host:1"


def test_the_next_job_is_the_most_urgent_then_the_oldest(call: Caller) -> None:
    for priority in ("low", "normal", "HIGH", "Medium", "high"):
        call("tasks_jobs_create", title=priority, prompt="do", priority=priority)
    order = [call("tasks_jobs_claim", runner_id="host:1")["job"]["job_id"] for _ in range(5)]
    assert order == ["JOB-003", "JOB-005", "JOB-002", "JOB-004", "JOB-001"]
    assert call("tasks_jobs_claim", runner_id="host:1")["job"] is None


def test_a_runner_takes_only_the_kinds_it_names(call: Caller) -> None:
    call("tasks_jobs_create", title="a", prompt="do", kind="agent", priority="high")
    call("tasks_jobs_create", title="b", prompt="do", kind="check")
    assert call("tasks_jobs_claim", runner_id="host:1", kinds=["check"])["job"]["job_id"] == "JOB-002"
    assert call("tasks_jobs_claim", runner_id="host:1", kinds=["check"])["job"] is None


def test_an_expired_claim_is_taken_over_only_on_request(call: Caller, runner: Runner, clock: TickingClock) -> None:
    clock.now_ms += 200_000
    assert "allow_stale" in call.error("tasks_jobs_claim", job="JOB-001", runner_id="host:2")["recovery"]
    taken = call("tasks_jobs_claim", runner_id="host:2", allow_stale=True)
    assert (taken["job"]["runner"], taken["job"]["revision"]) == ("host:2", 2)
    assert taken["event"]["kind"] == "reclaimed"
    assert taken["event"]["meta"] == {"previous_runner_id": "host:1", "reason": "ttl_expired"}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("tasks_jobs_report", {"message": "still here"}),
        ("tasks_jobs_report", {"message": "alive", "kind": "heartbeat"}),
        ("tasks_jobs_complete", {"status": "DONE", "summary": "done twice"}),
        ("tasks_jobs_requeue", {"reason": "stopping"}),
    ],
)
def test_a_dead_claim_writes_nothing(
    clew: Clew, call: Caller, runner: Runner, clock: TickingClock, name: str, more: dict[str, Any]
) -> None:
    clock.now_ms += 200_000
    call("tasks_jobs_claim", job="JOB-001", runner_id="host:1", allow_stale=True)  # the same name, a newer claim
    before = call("tasks_jobs_open", job="JOB-001", max_events=200)
    answer = call.answer(name, **runner.claim, **more)
    assert answer.envelope["error"]["code"] == "CONFLICT"
    run_suggestions(clew, answer, call.session)
    assert call("tasks_jobs_open", job="JOB-001", max_events=200) == before


def test_a_claim_is_of_one_runner_whoever_knows_its_number(call: Caller, runner: Runner) -> None:
    for name, more in (("tasks_jobs_report", {"message": "mine"}), ("tasks_jobs_complete", {"status": "DONE"})):
        assert call.error(name, **{**runner.claim, "runner_id": "host:2"}, **more)["code"] == "CONFLICT"
    assert call("tasks_jobs_open", job="JOB-001")["job"]["status"] == "RUNNING"


def test_a_claim_that_expired_and_was_not_taken_still_holds(runner: Runner, clock: TickingClock) -> None:
    clock.now_ms += 200_000
    assert runner.complete()["job"]["status"] == "DONE"


def test_a_report_renews_the_claim(call: Caller, runner: Runner, clock: TickingClock) -> None:
    clock.now_ms += 170_000
    runner.report("half", percent=50, lease_ttl_ms=60_000)
    job = call("tasks_jobs_open", job="JOB-001")["job"]
    assert job["claim_expires_at_ms"] - job["updated_at_ms"] == 60_000
    assert job["revision"] == 1


@pytest.mark.parametrize("ttl", [0, -5])
def test_a_lease_of_no_time_is_refused(call: Caller, job: str, ttl: int) -> None:
    assert call.error("tasks_jobs_claim", job=job, runner_id="host:1", lease_ttl_ms=ttl)["code"] == "INVALID_INPUT"
    assert call("tasks_jobs_open", job=job)["job"]["status"] == "QUEUED"


def test_leases_are_kept_within_bounds(call: Caller, job: str) -> None:
    claimed = call("tasks_jobs_claim", job=job, runner_id="host:1", lease_ttl_ms=1)["job"]
    assert claimed["claim_expires_at_ms"] - claimed["updated_at_ms"] == 1_000
    beat = call("tasks_runner_heartbeat", runner_id="host:1", status="live", lease_ttl_ms=-4)["lease"]
    assert beat["lease_expires_at_ms"] - beat["updated_at_ms"] == 1_000


def test_ended_jobs_start_again_from_the_queue(call: Caller, runner: Runner) -> None:
    runner.complete("FAILED", summary="no disk", meta={"tries": 1})
    again = call("tasks_jobs_requeue", job="JOB-001", reason="disk is back", refs=["notes@1"])
    assert again["job"]["status"] == "QUEUED"
    assert [again["job"][name] for name in ("runner", "summary", "claim_expires_at_ms", "completed_at_ms")] == [
        None
    ] * 4
    assert again["event"]["kind"] == "requeued"
    assert Runner(call, "JOB-001").claim["claim_revision"] == again["job"]["revision"] + 1


def test_only_the_holder_gives_a_running_job_back(call: Caller, runner: Runner) -> None:
    assert call.error("tasks_jobs_requeue", job="JOB-001")["code"] == "CONFLICT"
    assert call("tasks_jobs_requeue", **runner.claim, reason="stopping")["job"]["status"] == "QUEUED"
    assert call.error("tasks_jobs_requeue", job="JOB-001", runner_id="host:1")["code"] == "INVALID_INPUT"


def test_a_job_that_nobody_holds_cannot_be_ended(call: Caller, job: str) -> None:
    error = call.error("tasks_jobs_complete", job=job, runner_id="host:1", claim_revision=0, status="DONE")
    assert error["code"] == "CONFLICT"
