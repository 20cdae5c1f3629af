"""What is said about a job, and what stays of it."""

from __future__ import annotations

from clew.app import Clew
from tests.conftest import Caller, TickingClock
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
        "MORE: limit=2",
    ]


def test_every_list_of_jobs_says_how_it_grows(call: Caller) -> None:
    """It has no pages: jobs change places in it."""
    for title in ("one", "two"):
        call("tasks_jobs_create", title=title, prompt="do")
    for name in ("tasks_jobs_list", "tasks_jobs_radar"):
        assert call.lines(name, fmt="lines", limit=1)[-1] == "MORE: limit=2"
        assert not any(line.startswith("MORE:") for line in call.lines(name, fmt="lines", limit=2))
        (way,) = call.answer(name, limit=1).envelope["suggestions"]
        assert (way["reason"], way["params"]) == ("The same with a longer list.", {"limit": 2})


def test_the_id_of_a_job_goes_last(call: Caller) -> None:
    call("tasks_jobs_create", title="one", prompt="do")
    for room in range(50, 400, 10):
        assert call("tasks_jobs_open", job="JOB-001", max_chars=room)["job"]["job_id"] == "JOB-001", room
    assert call("tasks_jobs_open", job="JOB-001", max_chars=100)["events"], "its newest event comes second"


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


def test_a_small_budget_hides_no_event_from_who_reads_on(call: Caller, runner: Runner) -> None:
    for number in range(12):
        runner.report(f"step {number} {'x' * 90}", kind="checkpoint")
    whole = [event["seq"] for event in call("tasks_jobs_tail", job="JOB-001", limit=200)["events"]]
    forwards: list[int] = []
    page = call("tasks_jobs_tail", job="JOB-001", max_chars=700)
    while page["events"]:
        forwards += [event["seq"] for event in page["events"]]
        assert page["has_more"] == (forwards[-1] != whole[-1])
        page = call("tasks_jobs_tail", job="JOB-001", after_seq=page["next_after_seq"], max_chars=700)
    backwards: list[int] = []
    page = call("tasks_jobs_open", job="JOB-001", max_chars=900)
    while True:
        backwards += [event["seq"] for event in page["events"]]
        assert page["count"] == len(page["events"])
        if not page["has_more_events"]:
            break
        page = call("tasks_jobs_open", job="JOB-001", before_seq=backwards[-1], max_chars=900)
    assert forwards == whole == backwards[::-1]


def test_a_list_of_jobs_cut_by_a_budget_says_that_there_are_more(call: Caller) -> None:
    for number in range(6):
        call("tasks_jobs_create", title=f"Job {number} {'x' * 80}", prompt="do")
    shown = call("tasks_jobs_list", max_chars=900)
    assert 0 < shown["count"] == len(shown["jobs"]) < 6
    assert shown["has_more"] and shown["truncated"]


def test_jobs_open_under_the_names_of_the_contract(call: Caller) -> None:
    call("tasks_jobs_create", title="Measure", prompt="Time it.", task="TASK-001", anchor="a:core")
    runner = Runner(call, "JOB-001")
    event = runner.report("half", kind="checkpoint")
    opened = call("open", id="JOB-001", limit=1)
    assert (opened["job"]["id"], opened["job"]["task_id"], opened["job"]["anchor_id"]) == (
        "JOB-001",
        "TASK-001",
        "a:core",
    )
    assert opened["has_more_events"] and "prompt" not in opened and not opened["truncated"]
    assert call("open", id="JOB-001", include_drafts=True)["prompt"] == "Time it."
    one = call("open", id=event["ref"], limit=1)
    assert one["event"]["message"] == "half"
    assert [before["kind"] for before in one["context"]["events"]] == ["claimed"]
    assert one["context"]["has_more_events"]


def test_a_runner_opens_with_what_is_left_of_its_lease(call: Caller, clock: TickingClock) -> None:
    call("tasks_runner_heartbeat", runner_id="host:1", status="idle", lease_ttl_ms=5_000, meta={"pid": 7})
    opened = call("open", id="runner:host:1")
    assert (opened["status"], opened["meta"], opened["lease"]["lease_active"]) == ("idle", {"pid": 7}, True)
    assert 0 < opened["lease"]["expires_in_ms"] < 5_000
    clock.now_ms += 10_000
    gone = call("open", id="runner:host:1")
    assert (gone["status"], gone["lease"]["lease_active"], gone["lease"]["expires_in_ms"]) == ("offline", False, 0)


def test_deleting_a_task_cancels_the_jobs_that_wait_or_run_for_it(call: Caller) -> None:
    call("tasks_create", title="Importer")
    call("tasks_create", title="Read files", parent="PLAN-001")
    for _ in range(3):
        call("tasks_jobs_create", title="Measure", prompt="Time it.", task="TASK-001")
    call("tasks_jobs_create", title="Other", prompt="Time it.")
    Runner(call, "JOB-001").complete(summary="LINK: https://ci.test/1")
    held = Runner(call, "JOB-002")
    assert call("tasks_delete", task="TASK-001")["jobs_canceled"] == ["JOB-002", "JOB-003"]
    assert call.error("tasks_jobs_report", **held.claim, message="still here")["code"] == "CONFLICT"
    found = {job["job_id"]: job["status"] for job in call("tasks_jobs_list")["jobs"]}
    assert found == {"JOB-001": "DONE", "JOB-002": "CANCELED", "JOB-003": "CANCELED", "JOB-004": "QUEUED"}
    assert call("open", id="JOB-003")["events"][0]["message"] == "TASK-001 was deleted"
    assert call("tasks_jobs_claim", runner_id="host:2")["job"]["job_id"] == "JOB-004"
