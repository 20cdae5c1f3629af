"""Lint: every patch runs as it stands and removes its issue."""

from __future__ import annotations

from typing import Any

from clew.tasks.texts import anchor_for
from tests.conftest import Caller
from tests.suggestions import run_suggestions


def lint(call: Caller, **target: str) -> dict[str, Any]:
    return call("tasks_lint", **target)


def codes(result: dict[str, Any]) -> list[str]:
    return [issue["code"] for issue in result["issues"]]


def fix(call: Caller, **target: str) -> list[str]:
    """Apply the first patch again and again; returns the ids in the order applied."""
    applied: list[str] = []
    while patches := lint(call, **target)["patches"]:
        patch = patches[0]
        assert patch["id"] not in applied, "a patch did not remove its issue"
        call(patch["apply"]["tool"], **patch["apply"]["arguments"])
        applied.append(patch["id"])
    return applied


def test_a_task_s_weak_points_are_found_and_mended(call: Caller, task: str) -> None:
    call("tasks_decompose", task=task, steps=[{"title": "Research limits", "success_criteria": ["known"]}])
    call("tasks_decompose", task=task, steps=[{"title": "Verify it", "success_criteria": ["known"], "tests": ["x"]}])
    call("tasks_block", task=task, path="s:1", reason="waiting")
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="docs", checks=["LINK: /x"])
    call("tasks_patch", task=task, path="s:0", ops=[{"op": "unset", "field": "success_criteria"}])
    found = lint(call, task=task)
    assert set(codes(found)) == {
        "BLOCKED_STEPS",
        "MISSING_ANCHOR",
        "MISSING_CRITERIA",
        "MISSING_DOCS",
        "MISSING_NEXT_ACTION",
        "MISSING_PROOF_PLAN",
        "MISSING_TESTS",
        "RESEARCH_MISSING_STOP_CRITERIA",
    }
    proof = next(patch for patch in found["patches"] if patch["id"].endswith("require_proof_tests"))
    assert proof["apply"]["arguments"]["step_id"] == "STEP-00000004"
    assert "patch:step:STEP-00000001:seed_success_criteria" in [patch["id"] for patch in found["patches"]]
    assert len(fix(call, task=task)) == 17
    assert codes(lint(call, task=task)) == ["MISSING_PROOF_TESTS"]


def test_lint_changes_nothing_and_says_the_same_twice(call: Caller, task: str) -> None:
    first, second = call.answer("tasks_lint", task=task), call.answer("tasks_lint", task=task)
    assert first.text == second.text
    ids = [patch["id"] for patch in first.envelope["result"]["patches"]]
    assert ids == sorted(ids)


def test_a_task_without_steps_gets_some(call: Caller) -> None:
    call("tasks_create", title="P")
    call("tasks_create", title="research: caches", parent="PLAN-001")
    found = lint(call, task="TASK-001")
    assert (found["issues"][0]["code"], found["issues"][0]["severity"]) == ("NO_STEPS", "error")
    assert found["summary"]["errors"] == 1
    assert "patch:task:seed_steps:v1" in fix(call, task="TASK-001")


def test_an_active_task_without_open_steps_is_completed(call: Caller, task: str) -> None:
    call("tasks_complete", task=task, status="ACTIVE")
    for path in ("s:0", "s:1"):
        call("tasks_close_step", task=task, path=path, checkpoints="gate")
    assert "ACTIVE_NO_OPEN_STEPS" in codes(lint(call, task=task))
    assert f"patch:task:{task}:mark_done" in fix(call, task=task)


def test_a_plan_with_too_many_active_tasks_is_thinned_around_the_focus(call: Caller, task: str) -> None:
    for number in range(2, 6):
        call("tasks_create", title=f"T{number}", parent="PLAN-001")
    for number in range(1, 6):
        call("tasks_complete", task=f"TASK-{number:03d}", status="ACTIVE")
    call("tasks_focus_set", task="TASK-001")
    found = lint(call, plan="PLAN-001")
    assert set(codes(found)) == {"ACTIVE_LIMIT_EXCEEDED", "ACTIVE_TASKS_MISSING_ANCHOR", "NO_CHECKLIST", "TRACE_ONLY"}
    action = found["actions"][0]["apply"]
    assert len(call(action["tool"], **action["arguments"])["tasks"]) == 5
    applied = fix(call, plan="PLAN-001")
    assert "patch:plan:active_limit:park:TASK-001" not in applied
    assert [r["id"] for r in call("tasks_context", tasks_status="ACTIVE")["tasks"]] == [
        "TASK-001",
        "TASK-002",
        "TASK-003",
    ]


def test_lint_fits_any_budget(call: Caller, task: str) -> None:
    for limit in (100, 400, 1500):
        assert lint(call, task=task, max_chars=limit)["budget"]["used_chars"] <= limit  # type: ignore[arg-type]


def test_diagnostics_includes_what_lint_says(call: Caller, task: str) -> None:
    answer = call.answer("diagnostics", target=task)
    assert "MISSING_ANCHOR" in codes(answer.envelope["result"])
    run_suggestions(call.clew, answer, call.session)


def test_an_anchor_comes_from_the_words_before_the_colon() -> None:
    assert anchor_for("Storage engine: fix migrations") == "a:storage-engine"
    assert anchor_for("Café au lait") == "a:cafe-au-lait"
    assert anchor_for("исследование") == "a:core"
    assert anchor_for("x" * 100) == "a:" + "x" * 64
