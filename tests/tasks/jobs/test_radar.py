"""The radar tells at a glance who is alive, who needs an answer and what to paste."""

from __future__ import annotations

import re
from typing import Any

import pytest

from clew.app import Clew
from clew.store.events import events_after
from tests.conftest import Caller, TickingClock
from tests.tasks.jobs.conftest import Runner


def row(call: Caller, job: str = "JOB-001") -> dict[str, Any]:
    return next(job_row for job_row in call("tasks_jobs_radar")["jobs"] if job_row["job_id"] == job)


def line(call: Caller, job: str = "JOB-001") -> str:
    return next(text for text in call.lines("tasks_jobs_radar", fmt="lines") if f" {job} (" in text)


@pytest.mark.parametrize(("toolset", "lines"), [("core", True), ("daily", True), ("full", False)])
def test_lines_in_small_toolsets_and_json_in_full(clew: Clew, job: str, toolset: str, lines: bool) -> None:
    caller = Caller(clew, toolset)
    assert caller.answer("tasks_jobs_radar").text.startswith("jobs_radar count=1" if lines else "{")
    assert caller.answer("tasks_jobs_radar", fmt="json").text.startswith("{")


def test_a_question_needs_the_manager_until_he_answers(call: Caller, runner: Runner) -> None:
    runner.report("which data set?", kind="question")
    runner.report("reading on meanwhile")
    runner.report("alive", kind="heartbeat")
    found = row(call)
    assert found["attention"] == {"needs_manager": True, "needs_proof": False, "has_error": False, "stale": False}
    assert found["last"]["message"] == "which data set?"
    ref = found["last"]["ref"]
    assert line(call) == (
        f"{ref} ? JOB-001 (RUNNING) Measure runner=offline:host:1 | open id={ref}"
        ' | reply reply_job=JOB-001 reply_message="..." | question: which data set?'
    )
    call("tasks_jobs_radar", reply_job="JOB-001", reply_message="The small one.")
    assert not row(call)["attention"]["needs_manager"]
    assert call("tasks_jobs_tail", job="JOB-001")["events"][-1]["kind"] == "manager"


def test_a_proof_gate_shows_without_a_reply_hint_until_proof_comes(call: Caller, runner: Runner) -> None:
    runner.report("DONE needs proof", kind="proof_gate")
    runner.report("more of the same")
    assert row(call)["attention"]["needs_proof"]
    assert " ! JOB-001 " in line(call) and "reply_job" not in line(call)
    call("tasks_jobs_message", job="JOB-001", message="just keep going")
    call("tasks_jobs_message", job="JOB-001", message="look at JOB-001", refs=["JOB-001"])
    assert row(call)["attention"]["needs_proof"], "the job's own id and a mere sentence prove nothing"
    call("tasks_jobs_message", job="JOB-001", message="it is in CARD-7", refs=["JOB-001"])
    assert not row(call)["attention"]["needs_proof"]
    assert call("tasks_jobs_tail", job="JOB-001")["events"][-1]["refs"] == ["CARD-7", "JOB-001"]


def test_an_error_shows_until_a_checkpoint(call: Caller, runner: Runner) -> None:
    runner.report("which?", kind="question")
    runner.report("the compiler is gone", kind="error")
    runner.report("trying on")
    assert " ! JOB-001 " in line(call) and "reply_job=JOB-001" in line(call)
    runner.report("compiles again", kind="checkpoint")
    assert not row(call)["attention"]["has_error"]


def test_marks_outlive_any_number_of_reports(call: Caller, runner: Runner) -> None:
    runner.report("which?", kind="question")
    for number in range(60):
        runner.report(f"noise {number}")
    assert row(call)["attention"]["needs_manager"]


def test_an_expired_claim_is_stale(call: Caller, runner: Runner, clock: TickingClock) -> None:
    assert not row(call)["attention"]["stale"]
    clock.now_ms += 180_000
    assert row(call)["attention"]["stale"]
    assert " ~ JOB-001 " in line(call)
    issues = call("tasks_jobs_radar")["runner_diagnostics"]["issues"]
    assert {issue["kind"] for issue in issues} == {"job_claim_expired", "job_runner_offline"}


def test_whoever_needs_someone_comes_first(call: Caller, clock: TickingClock) -> None:
    """Queued, running, stale, waiting for proof, waiting for an answer, failed: the order is the reverse."""
    for number in range(6):
        call("tasks_jobs_create", title=f"job {number}", prompt="do")
    stale = Runner(call, "JOB-003", lease_ttl_ms=1_000)
    clock.now_ms += 2_000
    Runner(call, "JOB-004").report("no proof", kind="proof_gate")
    Runner(call, "JOB-005").report("which?", kind="question")
    Runner(call, "JOB-006").report("broken", kind="error")
    Runner(call, "JOB-002").report("fine")
    assert stale.claim["claim_revision"] == 1
    order = [job["job_id"] for job in call("tasks_jobs_radar")["jobs"]]
    assert order == ["JOB-006", "JOB-005", "JOB-004", "JOB-003", "JOB-002", "JOB-001"]
    assert call("tasks_jobs_radar", limit=2)["has_more"]


def test_a_mark_is_not_lost_behind_a_thousand_quiet_jobs(call: Caller) -> None:
    for number in range(230):
        call("tasks_jobs_create", title=f"job {number}", prompt="do")
    Runner(call, "JOB-001").report("which?", kind="question")
    for number in range(2, 30):
        call("tasks_jobs_message", job=f"JOB-{number:03d}", message="soon")
    assert call("tasks_jobs_radar", limit=1)["jobs"][0]["job_id"] == "JOB-001"


def test_terminal_jobs_vanish_and_can_be_asked_for(call: Caller, runner: Runner) -> None:
    runner.complete("FAILED", summary="no way")
    assert call("tasks_jobs_radar")["jobs"] == []
    assert call("tasks_jobs_radar", status="FAILED")["jobs"][0]["summary"] == "no way"


def test_runners_are_listed_live_first_and_those_that_went_away(call: Caller, clock: TickingClock) -> None:
    call("tasks_runner_heartbeat", runner_id="gone:1", status="live", active_job_id="JOB-009", lease_ttl_ms=1_000)
    clock.now_ms += 5_000
    call("tasks_runner_heartbeat", runner_id="b:1", status="idle")
    call("tasks_jobs_create", title="Measure", prompt="do")
    Runner(call, "JOB-001", "a:1")
    call("tasks_runner_heartbeat", runner_id="a:1", status="live", active_job_id="JOB-001")
    lines = call.lines("tasks_jobs_radar", fmt="lines")
    assert lines[:4] == [
        "jobs_radar count=1 runner=live runners=live:1 idle:1 offline:1",
        "runner live a:1 | open id=runner:a:1 job=JOB-001 | open id=JOB-001",
        "runner idle b:1 | open id=runner:b:1",
        "runner offline gone:1 last=live | open id=runner:gone:1 last_job=JOB-009 | open id=JOB-009",
    ]
    assert "runner_leases_offline" not in call("tasks_jobs_radar", offline_limit=0)
    few = call("tasks_jobs_radar", runners_status="idle")["runner_leases"]
    tight = call.lines("tasks_jobs_radar", fmt="lines", max_chars=400)
    assert "runner=live" in tight[0] and not any("no active lease" in text for text in tight)
    assert [lease["runner_id"] for lease in few["runners"]] == ["b:1"]


def test_a_lease_of_a_clock_that_was_set_back_is_over_everywhere(call: Caller, clock: TickingClock) -> None:
    call("tasks_runner_heartbeat", runner_id="a:1", status="live")
    clock.now_ms -= 30 * 86_400_000
    assert "runners=live:0 idle:0 offline:1" in call.lines("tasks_jobs_radar", fmt="lines")[0]


def test_a_job_without_a_lease_behind_it_reads_offline_even_when_runners_are_cut(call: Caller, runner: Runner) -> None:
    for number in range(4):
        call("tasks_runner_heartbeat", runner_id=f"r:{number}", status="idle")
    shown = call("tasks_jobs_radar", runners_limit=1)
    assert shown["runner_leases"]["has_more"] and len(shown["runner_leases"]["runners"]) == 1
    assert shown["jobs"][0]["runner_state"] == "offline"
    call("tasks_runner_heartbeat", runner_id="host:1", status="live", active_job_id="JOB-001")
    for number in range(4):
        call("tasks_runner_heartbeat", runner_id=f"q:{number}", status="live")
    assert call("tasks_jobs_radar", runners_limit=1)["jobs"][0]["runner_state"] == "live"


def test_the_command_to_start_a_runner_shows_only_while_jobs_wait_and_none_is_there(call: Caller, job: str) -> None:
    commands = [text for text in call.lines("tasks_jobs_radar", fmt="lines") if text.startswith("CMD: ")]
    assert len(commands) == 1 and re.search(r'--workspace "ws" runner$', commands[0])
    call("tasks_runner_heartbeat", runner_id="r:1", status="idle")
    assert "runner_bootstrap" not in call("tasks_jobs_radar")
    Runner(call, job)
    assert "runner_bootstrap" not in call("tasks_jobs_radar")


def test_contradictions_between_leases_and_claims_are_named(call: Caller, runner: Runner) -> None:
    call("tasks_jobs_create", title="queued", prompt="do")
    beats: list[dict[str, Any]] = [
        {"runner_id": "r:1", "status": "live"},
        {"runner_id": "r:2", "status": "idle", "active_job_id": "JOB-001"},
        {"runner_id": "r:3", "status": "live", "active_job_id": "JOB-777"},
        {"runner_id": "r:4", "status": "live", "active_job_id": "JOB-002"},
    ]
    for beat in beats:
        call("tasks_runner_heartbeat", **beat)
    call("tasks_runner_heartbeat", runner_id="host:1", status="live", active_job_id="JOB-001")
    issues = call("tasks_jobs_radar")["runner_diagnostics"]["issues"]
    found = {(issue["kind"], issue.get("runner_id"), issue.get("job_id")) for issue in issues}
    assert found == {
        ("live_missing_active_job", "r:1", None),
        ("idle_has_active_job", "r:2", "JOB-001"),
        ("job_runner_mismatch", "r:2", "JOB-001"),
        ("duplicate_active_job", "r:2", "JOB-001"),
        ("duplicate_active_job", "host:1", "JOB-001"),
        ("active_job_unknown", "r:3", "JOB-777"),
        ("active_job_not_running", "r:4", "JOB-002"),
    }
    lines = call.lines("tasks_jobs_radar", fmt="lines")
    assert sum(text.startswith("! diag ") for text in lines) == 5


def test_a_reply_needs_both_halves_and_a_job_that_listens(call: Caller, runner: Runner) -> None:
    assert call.error("tasks_jobs_radar", reply_job="JOB-001")["code"] == "INVALID_INPUT"
    assert call.error("tasks_jobs_radar", reply_message="hm")["code"] == "INVALID_INPUT"
    assert call.error("tasks_jobs_radar", reply_refs=["CARD-1"])["code"] == "INVALID_INPUT"
    runner.complete()
    assert call.error("tasks_jobs_radar", reply_job="JOB-001", reply_message="late")["code"] == "CONFLICT"


def test_a_tight_budget_keeps_ids_over_messages(call: Caller) -> None:
    for number in range(5):
        call("tasks_jobs_create", title=f"job {number} " + "t" * 150, prompt="do")
        Runner(call, f"JOB-{number + 1:03d}").report("m" * 300)
    shown = call("tasks_jobs_radar", max_chars=2600)
    assert shown["truncated"] and shown["budget"]["used_chars"] <= 2600
    assert [job["job_id"] for job in shown["jobs"]] and all("seq" in job["last"] for job in shown["jobs"])
    assert shown["count"] == len(shown["jobs"])


def test_heartbeats_leave_an_event_only_when_they_say_something_new(clew: Clew, call: Caller) -> None:
    for _ in range(5):
        call("tasks_runner_heartbeat", runner_id="r:1", status="idle")
    call("tasks_runner_heartbeat", runner_id="r:1", status="live", active_job_id="JOB-001")
    with clew.database.read() as tx:
        events = [event for event in events_after(tx, "ws", 0) if event.type == "runner_changed"]
    assert [event.payload["status"] for event in events] == ["idle", "live"]
    lease = call("open", id="runner:r:1")["lease"]
    assert lease["created_at_ms"] < lease["updated_at_ms"]
