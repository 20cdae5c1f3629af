"""Handing work over in one call, and bringing the results together in another."""

from __future__ import annotations

from clew.app import Clew
from clew.store.events import events_after
from tests.conftest import Caller
from tests.tasks.jobs.conftest import Runner


def test_delegating_makes_a_strict_task_with_cockpit_anchor_and_job(call: Caller) -> None:
    done = call("tasks_macro_delegate", task_title="Job Queue: measure", description="Where do writers wait?")
    task, job = done["task_id"], done["job"]["job_id"]
    assert done["cockpit"]["anchor_id"] == "a:job-queue"
    assert call("anchors_list")["anchors"][0]["title"] == "Job Queue"
    card = call("open", id=done["cockpit"]["card_id"])["card"]
    assert card["type"] == "note" and {"pinned", "v:canon", "a:job-queue"} <= set(card["tags"])
    assert "Where do writers wait?" in card["text"]
    assert call("tasks_resume", task=task)["target"]["reasoning_mode"] == "strict"
    opened = call("tasks_jobs_open", job=job, include_prompt=True, include_meta=True)
    assert (opened["job"]["task"], opened["job"]["anchor"]) == (task, "a:job-queue")
    assert opened["meta"] == {"skill_profile": "strict", "skill_max_chars": 1200}
    assert done["cockpit"]["card_id"] in opened["prompt"]


def test_delegating_without_a_job_and_without_an_area(call: Caller) -> None:
    done = call("tasks_macro_delegate", task_title="…", job=False, cockpit="Look at the lock first.")
    assert done["job"] is None and done["cockpit"]["anchor_id"] == "a:core"
    assert call("open", id=done["cockpit"]["card_id"])["card"]["text"] == "Look at the lock first."
    assert call("tasks_jobs_list")["count"] == 0


def test_a_given_anchor_may_be_an_alias_or_a_few_words(call: Caller) -> None:
    call("macro_anchor_note", anchor="a:storage", content="x", title="Storage", kind="component", aliases=["a:db"])
    assert call("tasks_macro_delegate", task_title="One", anchor="a:db")["cockpit"]["anchor_id"] == "a:storage"
    done = call("tasks_macro_delegate", task_title="Two", anchor="Search Index", anchor_kind="data")
    assert done["cockpit"]["anchor_id"] == "a:search-index"


def test_delegating_is_one_transaction(clew: Clew, call: Caller) -> None:
    before = call("tasks_context")["counts"]
    assert call.error("tasks_macro_delegate", task_title="X", job_priority="urgent")["code"] == "INVALID_INPUT"
    assert call("tasks_context")["counts"] == before
    assert call("anchors_list")["count"] == 0
    with clew.database.read() as tx:
        types = {event.type for event in events_after(tx, "ws", 0)}
    assert "task_created" not in types


def test_the_snapshot_names_the_job_the_inbox_and_the_runners(call: Caller) -> None:
    done = call("tasks_macro_delegate", task_title="Core: do it")
    first = call.lines("tasks_snapshot")
    assert " | job=JOB-001(QUEUED): Core: do it | inbox running=0 queued=1 | runner=offline runners=none | " in first[0]
    assert first[1].startswith("CMD: ") and first[1].endswith(" runner")
    runner = Runner(call, "JOB-001")
    assert " | runner=offline! runners=none | " in call.lines("tasks_snapshot")[0]
    call("tasks_runner_heartbeat", runner_id="host:1", status="live", active_job_id="JOB-001")
    runner.report("which?", kind="question")
    call("tasks_jobs_create", title="other", prompt="do")
    line = call.lines("tasks_snapshot")[0]
    assert (
        " | job=JOB-001(RUNNING?): which? | inbox running=1 queued=1"
        f" | runner=live runners=live:1 idle:0 offline:0 | ref={done['cockpit']['card_id']} | "
    ) in line
    runner.complete("CANCELED")
    assert "job=" not in call.lines("tasks_snapshot")[0]


def test_one_job_for_each_area(call: Caller, task: str) -> None:
    done = call("tasks_macro_fanout_jobs", task=task, anchors=["a:two", "A:one", "a:two"], prompt="List what is slow.")
    assert [job["anchor"] for job in done["jobs"]] == ["a:one", "a:two"]
    opened = call("tasks_jobs_open", job="JOB-001", include_prompt=True)
    assert opened["job"]["title"] == "a:one — Read files"
    assert opened["prompt"].startswith("List what is slow.") and "CONTEXT" in opened["prompt"]
    assert opened["events"][0]["ref"] == done["jobs"][0]["created_ref"]
    many = [f"a:area-{number}" for number in range(11)]
    assert call.error("tasks_macro_fanout_jobs", task=task, anchors=many, prompt="x")["code"] == "INVALID_INPUT"
    assert call("tasks_jobs_list")["count"] == 2


def test_a_report_gathers_jobs_and_marks_missing_proof(call: Caller, task: str) -> None:
    call(
        "tasks_macro_fanout_jobs", task=task, anchors=["a:one", "a:two", "a:three"], prompt="Look.", title_prefix="Scan"
    )
    Runner(call, "JOB-001").complete("DONE", summary="fine", refs=["CMD: make bench"])
    Runner(call, "JOB-002").complete("DONE", summary="trust me")
    done = call("tasks_macro_merge_report", task=task, jobs=["JOB-002", "JOB-001", "JOB-003", "JOB-001"])
    rows = {row["job_id"]: row for row in done["jobs"]}
    assert rows["JOB-001"]["completion_refs"] == ["CMD: make bench"] and not rows["JOB-001"]["missing_proof"]
    assert rows["JOB-002"]["missing_proof"] and rows["JOB-003"]["status"] == "QUEUED"
    published = call("open", id=done["published_card_id"])["card"]
    assert done["published_card_id"] == f"CARD-PUB-{done['card_id']}"
    assert published["type"] == "update" and "pinned" in published["tags"]
    assert "JOB-002 DONE" in published["text"] and "MISSING_PROOF" in published["text"]
    assert call.error("tasks_macro_merge_report", task=task, jobs=["JOB-404"])["code"] == "UNKNOWN_ID"
