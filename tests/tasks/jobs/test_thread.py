"""What is said about a job, and what stays of it."""

from __future__ import annotations

from clew.app import Clew
from tests.conftest import Caller
from tests.suggestions import run_suggestions
from tests.tasks.jobs.conftest import Runner


def kinds(call: Caller) -> list[str]:
    return [event["kind"] for event in call("tasks_jobs_tail", job="JOB-001", limit=200)["events"]]


def test_heartbeats_in_a_row_are_one_event_with_the_newest_text(call: Caller, runner: Runner) -> None:
    first = runner.report("one", kind="heartbeat")
    assert runner.report("two", kind="heartbeat")["seq"] == first["seq"]
    runner.report("rows are read")
    runner.report("three", kind="heartbeat")
    runner.report("four", kind="heartbeat")
    events = call("tasks_jobs_tail", job="JOB-001")["events"]
    assert [(event["kind"], event["message"]) for event in events[2:]] == [
        ("heartbeat", "two"),
        ("progress", "rows are read"),
        ("heartbeat", "four"),
    ]


def test_the_meta_of_a_report_is_added_to_the_jobs_meta(call: Caller) -> None:
    call("tasks_jobs_create", title="x", prompt="do", meta={"skill_profile": "strict", "slice": 1})
    Runner(call, "JOB-001").report("beat", kind="heartbeat", meta={"slice": 2, "pid": 7})
    opened = call("tasks_jobs_open", job="JOB-001", include_meta=True)
    assert opened["meta"] == {"skill_profile": "strict", "slice": 2, "pid": 7}


def test_a_runner_cannot_speak_as_the_manager(call: Caller, runner: Runner) -> None:
    for kind in ("manager", "completed", "claimed", "Not a kind"):
        assert call.error("tasks_jobs_report", **runner.claim, message="x", kind=kind)["code"] == "INVALID_INPUT"
    assert kinds(call) == ["created", "claimed"]


def test_long_texts_are_cut_and_the_caller_is_told(call: Caller, runner: Runner) -> None:
    answer = call.answer("tasks_jobs_report", **runner.claim, message="x" * 900)
    assert len(answer.envelope["result"]["event"]["message"]) == 400
    assert [warning["code"] for warning in answer.envelope["warnings"]] == ["TEXT_CUT"]
    assert len(runner.complete(summary="y" * 2000)["job"]["summary"]) == 800


def test_a_thread_is_followed_without_losing_a_place(call: Caller, runner: Runner) -> None:
    for number in range(5):
        runner.report(f"step {number}", kind="checkpoint")
    seen: list[str] = []
    after, more = 0, True
    while more:
        page = call("tasks_jobs_tail", job="JOB-001", after_seq=after, limit=2)
        seen += [event["message"] for event in page["events"]]
        after, more = page["next_after_seq"], page["has_more"]
    assert seen[2:] == [f"step {number}" for number in range(5)]
    assert call("tasks_jobs_tail", job="JOB-001", after_seq=after)["next_after_seq"] == after
    assert call.error("tasks_jobs_tail", job="JOB-001", after_seq=-1)["code"] == "INVALID_INPUT"


def test_a_tight_budget_keeps_the_place_in_a_thread(call: Caller, runner: Runner) -> None:
    for number in range(20):
        runner.report(f"step {number} " + "x" * 200)
    page = call("tasks_jobs_tail", job="JOB-001", max_chars=700)
    assert page["truncated"] and page["events"]
    assert page["next_after_seq"] == page["events"][-1]["seq"]
    tiny = call("tasks_jobs_tail", job="JOB-001", max_chars=80)
    assert {"job_id", "after_seq", "next_after_seq"} <= set(tiny)
    assert tiny["next_after_seq"] == 0 or tiny.get("events")


def test_older_events_are_paged_by_before_seq(call: Caller, runner: Runner) -> None:
    for number in range(5):
        runner.report(f"step {number}")
    first = call("tasks_jobs_open", job="JOB-001", max_events=3)
    assert [event["message"] for event in first["events"]] == ["step 4", "step 3", "step 2"]
    assert first["has_more_events"]
    older = call("tasks_jobs_open", job="JOB-001", before_seq=first["events"][-1]["seq"])
    assert [event["message"] for event in older["events"]][:2] == ["step 1", "step 0"]
    assert not older["has_more_events"]


def test_jobs_open_in_lines(call: Caller, runner: Runner) -> None:
    runner.report("which data set?", kind="question", refs=["CARD-1", "notes@2", "a:core", "TASK-001"])
    lines = call.lines("tasks_jobs_open", job="JOB-001", fmt="lines", include_prompt=True, max_events=1)
    assert lines[:4] == ["job JOB-001 (RUNNING) Measure", "runner=host:1", "prompt: Time it.", "events:"]
    assert lines[4].endswith("question: which data set? | refs: CARD-1, notes@2, a:core")
    assert lines[5].startswith("MORE: before_seq=")


def test_a_message_is_posted_in_two_lines(call: Caller, job: str) -> None:
    lines = call.lines("tasks_jobs_message", job=job, message="Use the smaller set", fmt="lines")
    seq = call("tasks_jobs_tail", job=job)["next_after_seq"]
    assert lines == [f"job {job} message posted | ref={job}@{seq} kind=manager", "Use the smaller set"]


def test_nobody_writes_to_a_job_that_has_ended(clew: Clew, call: Caller, runner: Runner) -> None:
    runner.complete("CANCELED")
    answer = call.answer("tasks_jobs_message", job="JOB-001", message="hello?")
    assert answer.envelope["error"]["code"] == "CONFLICT"
    run_suggestions(clew, answer, call.session)


def test_open_shows_jobs_events_and_runners_and_leaves_the_focus(call: Caller, task: str) -> None:
    call("tasks_focus_set", task=task)
    call("tasks_jobs_create", title="Measure", prompt="Time it.", task=task, anchor="a:speed")
    runner = Runner(call, "JOB-001")
    event = runner.report("done soon")
    assert call("open", id="JOB-001")["job"]["task"] == task
    assert "prompt" not in call("open", id="JOB-001")
    assert call("open", id="JOB-001", include_drafts=True)["prompt"] == "Time it."
    assert call("open", id=event["ref"])["event"]["message"] == "done soon"
    assert call("open", id="runner:host:1")["jobs"][0]["job_id"] == "JOB-001"
    assert call("tasks_focus_get")["focus"] == task
    for unknown in ("JOB-999", "JOB-001@99999", "runner:nobody"):
        assert call.error("open", id=unknown)["code"] == "UNKNOWN_ID"


def test_a_job_registers_its_anchor_and_is_found_by_its_list(call: Caller) -> None:
    call("tasks_jobs_create", title="one", prompt="do", anchor="A:Speed")
    call("tasks_jobs_create", title="two", prompt="do")
    assert [anchor["id"] for anchor in call("anchors_list")["anchors"]] == ["a:speed"]
    listed = call("tasks_jobs_list", anchor="a:speed")
    assert [job["job_id"] for job in listed["jobs"]] == ["JOB-001"]
    assert listed["runner_status"]["status"] == "offline"
    assert call.lines("tasks_jobs_list", fmt="lines", limit=1) == [
        "jobs count=1 has_more=true",
        "JOB-002 (QUEUED) two",
    ]


def test_jobs_are_listed_newest_change_first_and_filtered(call: Caller) -> None:
    for title in ("one", "two", "three"):
        call("tasks_jobs_create", title=title, prompt="do", task="TASK-001")
    Runner(call, "JOB-001").report("moved")
    assert [job["job_id"] for job in call("tasks_jobs_list")["jobs"]] == ["JOB-001", "JOB-003", "JOB-002"]
    assert call("tasks_jobs_list", status="running", task="TASK-001")["count"] == 1
    assert call.error("tasks_jobs_list", status="asleep")["code"] == "INVALID_INPUT"


def test_bad_jobs_are_refused_and_change_nothing(call: Caller) -> None:
    bad = [
        {"title": " ", "prompt": "do"},
        {"title": "x", "prompt": "  "},
        {"title": "x", "prompt": "do", "priority": "urgent"},
        {"title": "x", "prompt": "do", "kind": "k" * 65},
        {"title": "x", "prompt": "do", "anchor": "not an anchor"},
        {"title": "x", "prompt": "do", "task": "somewhere"},
        {"title": "x", "prompt": "do", "command": "rm -rf /"},
    ]
    for arguments in bad:
        assert call.error("tasks_jobs_create", **arguments)["code"] == "INVALID_INPUT"
    assert call("tasks_jobs_list")["count"] == 0
