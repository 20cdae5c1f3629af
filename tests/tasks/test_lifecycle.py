"""Plans and tasks: created, edited, patched, parked, completed, deleted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller, TickingClock
from tests.suggestions import run_suggestions
from tests.tasks.conftest import OTHER, STEP


def close_all(call: Caller, task: str) -> None:
    for path in ("s:0", "s:1"):
        call("tasks_close_step", task=task, path=path, checkpoints="gate")


def row(call: Caller, task: str) -> dict[str, Any]:
    found: dict[str, Any] = call("tasks_context", task=task)["tasks"][0]
    return found


def test_an_edit_changes_everything_at_once_with_one_event(call: Caller, task: str) -> None:
    edited = call(
        "tasks_edit", task=task, title="Read all", tags=["IO", "io "], new_domain="import", reasoning_mode="deep"
    )
    assert edited["event"]["type"] == "task_edited"
    assert edited["event"]["payload"]["patch"].keys() == {"domain", "reasoning_mode", "tags", "title"}
    assert [r["title"] for r in call("tasks_context", domain="import", tags=["io"])["tasks"]] == ["Read all"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"task": "TASK-001", "contract": "x"},
        {"plan": "PLAN-001", "reasoning_mode": "strict"},
        {"task": "TASK-001"},
        {"task": "TASK-001", "depends_on": ["TASK-001"]},
        {"task": "TASK-001", "depends_on": ["nonsense"]},
        {"task": "TASK-001", "title": " "},
    ],
)
def test_an_edit_that_makes_no_sense_changes_nothing(call: Caller, task: str, arguments: dict[str, Any]) -> None:
    before = call("tasks_context")
    assert call.error("tasks_edit", **arguments)["code"] == "INVALID_INPUT"
    assert call("tasks_context") == before


def test_dependencies_never_form_a_circle(call: Caller, task: str) -> None:
    other = call("tasks_create", title="Second", parent="PLAN-001")["id"]
    call("tasks_edit", task=other, depends_on=[task])
    assert call.error("tasks_edit", task=task, depends_on=[other])["code"] == "INVALID_INPUT"
    assert call.error("tasks_edit", task=task, depends_on=["TASK-099"])["code"] == "UNKNOWN_ID"


def test_patches_edit_lists_scalars_and_proof_modes(call: Caller, task: str) -> None:
    ops = [
        {"op": "append", "field": "blockers", "value": ["no key", " "]},
        {"op": "set", "field": "next_action", "value": "ask for the key"},
        {"op": "set", "field": "proof_tests_mode", "value": "require"},
        {"op": "remove", "field": "tests", "value": "make test"},
    ]
    patched = call("tasks_patch", task=task, path="s:0", ops=ops)
    assert patched["step"]["path"] == "s:0"
    after = call("tasks_history", task=task, limit=1)["operations"][0]["after"]
    assert (after["blockers"], after["next_action"], after["tests"]) == (["no key"], "ask for the key", [])
    assert after["proof_tests_mode"] == "require"


@pytest.mark.parametrize(
    "op",
    [
        {"op": "append", "field": "title", "value": "x"},
        {"op": "set", "field": "colour", "value": "x"},
        {"op": "set", "field": "proof_tests_mode", "value": "maybe"},
        {"op": "set", "field": "title", "value": 3},
        {"op": "remove", "field": "tests", "value": "absent"},
    ],
)
def test_a_patch_that_does_not_fit_is_refused(call: Caller, task: str, op: dict[str, Any]) -> None:
    assert call.error("tasks_patch", task=task, path="s:0", ops=[op])["code"] == "INVALID_INPUT"


def test_a_task_is_done_only_when_its_steps_are(call: Caller, task: str) -> None:
    assert call.error("tasks_complete", task=task)["code"] == "INVALID_INPUT"
    close_all(call, task)
    done = call("tasks_complete", task=task)
    assert done["task"]["status"] == "DONE"
    assert done["task"]["criteria_confirmed"] and done["task"]["progress"] == 100
    again = call.answer("tasks_complete", task=task)
    assert again.envelope["result"]["event"] is None
    assert again.envelope["warnings"][0]["code"] == "ALREADY_DONE"


def test_a_done_task_is_not_reopened_behind_its_back(call: Caller, task: str) -> None:
    close_all(call, task)
    call("tasks_complete", task=task)
    for name, arguments in (
        ("tasks_progress", {"path": "s:0", "completed": False}),
        ("tasks_decompose", {"steps": [OTHER]}),
    ):
        answer = call.answer(name, task=task, **arguments)
        assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    run_suggestions(call.clew, answer, call.session)
    call("tasks_progress", task=task, path="s:0", completed=False)


def test_parked_tasks_leave_the_list_and_come_back_when_due(call: Caller, task: str, clock: TickingClock) -> None:
    parked = call("tasks_complete", task=task, status="PARKED", parked_for_s=60)
    wake = parked["task"]["parked_until_ts_ms"]
    listed = call("tasks_context")
    assert (listed["tasks"], listed["hidden"], listed["by_status"]["PARKED"]) == ([], 1, 1)
    assert [r["id"] for r in call("tasks_context", tasks_status="PARKED")["tasks"]] == [task]
    assert [r["id"] for r in call("tasks_context", include_all=True)["tasks"]] == [task]
    clock.now_ms = wake
    assert [r["id"] for r in call("tasks_context")["tasks"]] == [task]


@pytest.mark.parametrize(
    "arguments",
    [
        {"task": "TASK-001", "status": "PARKED", "parked_for_s": 5, "parked_until_ts_ms": 9},
        {"task": "TASK-001", "status": "ACTIVE", "parked_for_s": 5},
        {"plan": "PLAN-001", "status": "PARKED", "parked_for_s": 5},
        {"task": "TASK-001", "status": "ASLEEP"},
    ],
)
def test_wake_times_belong_to_parked_tasks_only(call: Caller, task: str, arguments: dict[str, Any]) -> None:
    assert call.error("tasks_complete", **arguments)["code"] == "INVALID_INPUT"


def test_close_task_shows_first_and_then_does_all_or_nothing(call: Caller, task: str) -> None:
    patch = {"kind": "task_detail", "ops": [{"op": "set", "field": "context", "value": "shipped"}]}
    shown = call("tasks_close_task", task=task, patches=[patch])
    assert (
        not shown["applied"]
        and not shown["can_close"]
        and set(shown["open_steps"])
        == {
            "STEP-00000001",
            "STEP-00000002",
        }
    )
    revision = shown["revision"]
    assert call.error("tasks_close_task", task=task, apply=True, patches=[patch])["code"] == "INVALID_INPUT"
    assert row(call, task)["revision"] == revision
    close_all(call, task)
    preview = call.answer("tasks_close_task", task=task, patches=[patch])
    assert preview.envelope["result"]["diff"][0]["after"] == {"context": "shipped"}
    run_suggestions(call.clew, preview, call.session)
    assert row(call, task)["status"] == "DONE"


def test_deleting_a_step_takes_what_is_below_and_never_reuses_its_path(call: Caller, task: str) -> None:
    call("tasks_decompose", task=task, parent="s:1", steps=[STEP])
    deleted = call("tasks_delete", task=task, path="s:1")
    assert deleted["event"]["payload"]["steps"] == ["STEP-00000002", "STEP-00000003"]
    assert call("tasks_decompose", task=task, steps=[STEP])["steps"][0]["path"] == "s:2"
    assert call.error("tasks_note", task=task, path="s:1", note="n")["code"] == "UNKNOWN_ID"


def test_a_deleted_task_is_gone_and_its_notes_are_not(call: Caller, task: str) -> None:
    call("tasks_focus_set", task=task)
    call("tasks_note", path="s:0", note="remember me")
    deleted = call("tasks_delete")
    assert (deleted["id"], deleted["event"]["type"]) == (task, "task_deleted")
    assert call("tasks_focus_get")["focus"] is None
    assert call.error("tasks_note", task=task, path="s:0", note="n")["code"] == "UNKNOWN_ID"
    kept = call("show", branch="task/TASK-001", doc_kind="notes")["entries"]
    assert [entry["content"] for entry in kept] == ["remember me"]
    assert call("tasks_create", title="Next", parent="PLAN-001")["id"] == "TASK-002"


def test_a_plan_with_tasks_is_not_deleted(call: Caller, task: str) -> None:
    answer = call.answer("tasks_delete", plan="PLAN-001")
    assert answer.envelope["error"]["code"] == "CONFLICT"
    run_suggestions(call.clew, answer, call.session)
    call("tasks_delete", task=task)
    assert call("tasks_delete", plan="PLAN-001")["kind"] == "plan"


def test_a_plan_s_checklist_moves_on(call: Caller, task: str) -> None:
    assert call("tasks_plan", plan="PLAN-001", steps=["design", " ", "build"])["plan"]["plan_progress"] == "0/2"
    assert call("tasks_plan", plan="PLAN-001", advance=True)["plan"]["plan_progress"] == "1/2"
    call("tasks_plan", plan="PLAN-001", advance=True)
    assert call("tasks_plan", plan="PLAN-001", advance=True)["plan"]["plan_progress"] == "3/2"
    assert call.error("tasks_plan", plan="PLAN-001")["code"] == "INVALID_INPUT"
    assert call.error("tasks_plan", target=task, advance=True)["code"] == "INVALID_INPUT"


def test_a_contract_counts_its_versions(call: Caller, task: str) -> None:
    first = call("tasks_contract", plan="PLAN-001", current="no data is lost", contract_data={"loss": 0})
    assert first["plan"]["contract_versions_count"] == 1
    cleared = call("tasks_contract", plan="PLAN-001", clear=True)["plan"]
    assert (cleared["contract"], cleared["contract_data"], cleared["contract_versions_count"]) == (None, None, 2)
    assert call.error("tasks_contract", plan="PLAN-001")["code"] == "INVALID_INPUT"


def test_task_nodes_live_inside_a_step(call: Caller, task: str) -> None:
    added = call("tasks_task_add", task=task, parent_step="s:0", title="Quotes", risks=["escapes", ""])
    assert added["node"] == {"node_id": "NODE-00000001", "path": "s:0.t:0"}
    call("tasks_task_define", task=task, path="s:0.t:0", status="DONE", blocked=True)
    call(
        "tasks_patch",
        task=task,
        kind="task",
        path="s:0.t:0",
        ops=[{"op": "append", "field": "risks", "value": "newlines"}],
    )
    after = call("tasks_history", task=task, limit=1)["operations"][0]["after"]
    assert (after["risks"], after["status"], after["blocked"]) == (["escapes", "newlines"], "DONE", True)
    call("tasks_task_delete", task=task, path="s:0.t:0")
    assert call.error("tasks_task_define", task=task, path="s:0.t:0", status="TODO")["code"] == "UNKNOWN_ID"
    assert call("tasks_task_add", task=task, parent_step="s:0", title="Again")["node"]["path"] == "s:0.t:1"


def test_lists_page_without_gaps_and_count_everything(call: Caller, task: str) -> None:
    for number in range(4):
        call("tasks_create", title=f"T{number}", parent="PLAN-001")
    seen, cursor = [], 0
    while cursor is not None:
        page = call("tasks_context", tasks_limit=2, tasks_cursor=cursor, plans_limit=0)
        seen += [r["id"] for r in page["tasks"]]
        cursor = page["tasks_pagination"]["next_cursor"]
    assert seen == [f"TASK-{number:03d}" for number in range(1, 6)]
    assert page["counts"] == {"plans": 1, "tasks": 5}
    small = call("tasks_context", max_chars=900)
    assert small["budget"]["used_chars"] <= 900
    assert small["tasks_pagination"]["has_more"]
    cursor = small["tasks_pagination"]["next_cursor"]
    assert cursor == len(small["tasks"])


def test_filters_of_the_list_really_filter(call: Caller, task: str) -> None:
    plan = call("tasks_create", title="Other")["id"]
    other = call("tasks_create", title="X", parent=plan)["id"]
    call("tasks_complete", task=other, status="ACTIVE")

    def ids(**given: Any) -> list[str]:
        return [row["id"] for row in call("tasks_context", **given)["tasks"]]

    assert ids(tasks_status="ACTIVE") == [other]
    assert ids(tasks_parent=plan) == [other]
    assert ids(plan="PLAN-001") == [task]
    assert ids(tags=["none"]) == []
    call("tasks_complete", plan=plan, status="DONE")
    assert [r["id"] for r in call("tasks_context", plans_status="DONE")["plans"]] == [plan]


def test_templates_make_plans_and_tasks(call: Caller) -> None:
    ids = [template["id"] for template in call("tasks_templates_list")["templates"]]
    assert ids == ["basic-plan", "principal-plan", "basic-task", "principal-task"]
    plan = call("tasks_scaffold", template="principal-plan", title="Big")["plan"]["id"]
    assert call("tasks_context", plan=plan)["plans"][0]["plan_progress"] == "0/9"
    made = call("tasks_scaffold", template="principal-task", kind="task", title="Do", parent=plan)
    assert len(made["steps"]) == 5
    assert call.error("tasks_scaffold", template="basic-plan", kind="task", title="x")["code"] == "UNKNOWN_ID"
    on_the_fly = call("tasks_scaffold", template="basic-task", title="Do", plan_title="New")
    assert on_the_fly["events"][0]["type"] == "plan_created"


def test_bootstrap_creates_what_is_missing(call: Caller) -> None:
    made = call("tasks_bootstrap", plan_title="Importer", plan_template="basic-plan", task_title="Read", steps=[OTHER])
    assert made["plan"] == {"id": "PLAN-001", "qualified_id": "ws:PLAN-001", "created": True}
    assert [event["type"] for event in made["events"]] == ["plan_created", "task_created", "steps_added"]
    again = call("tasks_bootstrap", plan="PLAN-001", plan_title="Importer", task_title="Write", template="basic-task")
    assert again["plan"]["created"] is False and len(again["steps"]) == 3
    titled = call("tasks_bootstrap", plan="Exporter", task_title="Write", steps=[STEP])
    assert titled["plan"]["id"] == "PLAN-002"
    call("tasks_focus_set", task="TASK-001")
    assert call("tasks_bootstrap", task_title="More", steps=[STEP])["plan"]["id"] == "PLAN-001"


@pytest.mark.parametrize(
    "arguments",
    [
        {"task_title": "x", "steps": [STEP]},
        {"plan_title": "P", "task_title": "x"},
        {"plan": "TASK-001", "task_title": "x", "steps": [STEP]},
        {"target": "TASK-001", "task_title": "x", "steps": [STEP]},
        {"plan_title": "P", "task_title": "x", "steps": [STEP], "template": "basic-task"},
        {"plan": "PLAN-001", "plan_title": "Other", "task_title": "x", "steps": [STEP]},
        {"plan": "PLAN-001", "plan_template": "basic-plan", "task_title": "x", "steps": [STEP]},
        {"plan_title": "P", "task_title": "x", "steps": [{**STEP, "tests": [" "]}]},
        {"plan_title": "P", "task_title": "x", "steps": [{**STEP, "success_criteria": []}]},
    ],
)
def test_a_bootstrap_that_makes_no_sense_leaves_nothing_behind(call: Caller, arguments: dict[str, Any]) -> None:
    call("tasks_create", title="Importer")
    assert call.error("tasks_bootstrap", **arguments)["code"] == "INVALID_INPUT"
    assert call("tasks_context")["counts"] == {"plans": 1, "tasks": 0}
    assert len(call("tasks_delta")["events"]) == 1


def test_storage_names_the_place_and_the_documents(call: Caller) -> None:
    shown = call("tasks_storage")
    assert shown["storage_dir"]
    assert shown["defaults"] == {"branch": "main", "docs": {"graph": "graph", "notes": "notes", "trace": "trace"}}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("tasks_edit", {"title": "Read rows"}),
        ("tasks_patch", {"kind": "task_detail", "ops": [{"op": "set", "field": "priority", "value": "HIGH"}]}),
        ("tasks_patch", {"path": "s:0", "ops": [{"op": "set", "field": "next_action", "value": "open it"}]}),
        ("tasks_complete", {"status": "ACTIVE"}),
        ("tasks_define", {"path": "s:0", "title": "Parse rows"}),
        ("tasks_note", {"path": "s:0", "note": "half"}),
        ("tasks_verify", {"path": "s:0", "checkpoints": "gate"}),
        ("tasks_block", {"path": "s:0", "reason": "no disk"}),
        ("tasks_evidence_capture", {"path": "s:0", "checks": ["CMD: make test"]}),
        ("tasks_decompose", {"steps": [{"title": "More", "success_criteria": ["it is there"]}]}),
        ("tasks_task_add", {"parent_step": "s:0", "title": "Detail"}),
        ("tasks_delete", {"path": "s:1"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_change_raises_the_revision_by_one(call: Caller, task: str, name: str, arguments: dict[str, Any]) -> None:
    def revision() -> int:
        return int(call("tasks_radar", task=task)["target"]["revision"])

    before = revision()
    call(name, task=task, **arguments)
    assert revision() == before + 1
    assert call.error(name, task=task, **arguments, expected_revision=before)["code"] == "REVISION_MISMATCH"


def test_a_plan_says_how_many_tasks_it_has_whatever_page_is_shown(call: Caller) -> None:
    crowd = call("tasks_create", kind="plan", title="A crowd")["id"]
    for number in range(25):
        call("tasks_create", title=f"One of many, {number}", parent=crowd)
    late = call("tasks_create", kind="plan", title="Late")["id"]
    done = call("tasks_create", title="The last task", parent=late)["id"]
    call("tasks_complete", task=done, status="DONE")
    plans = {row["id"]: row for row in call("tasks_context", tasks_limit=5)["plans"]}
    assert (plans[crowd]["tasks_done"], plans[crowd]["tasks_count"]) == (0, 25)
    assert (plans[late]["tasks_done"], plans[late]["tasks_count"]) == (1, 1)
