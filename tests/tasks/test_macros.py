"""Macros are one transaction: all of it happens or nothing does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.suggestions import run_suggestions
from tests.tasks.portal import STEP
from tests.tasks.test_receipts import prove


def state(call: Caller, task: str = "TASK-001") -> tuple[Any, ...]:
    """All that a failed call must leave alone."""
    notes = call("show", target=task, doc_kind="notes", limit=200)["entries"]
    trace = call("show", target=task, limit=200)["entries"]
    revision = call("tasks_radar", task=task)["target"]["revision"]
    return notes, trace, revision, call("tasks_delta", limit=500)["events"]


def test_start_makes_the_inbox_once_and_three_basic_steps(call: Caller) -> None:
    first = call("tasks_macro_start", task_title="One")
    call("tasks_focus_clear")
    second = call("tasks_macro_start", task_title="Two")
    assert first["plan_id"] == second["plan_id"] == "PLAN-001"
    assert call("tasks_context", plan="PLAN-001")["plans"][0]["title"] == "Inbox"
    assert [step["path"] for step in first["steps"]] == ["s:0", "s:1", "s:2"]
    assert first["task_qualified_id"] == "ws:TASK-001"
    assert first["resume"]["view"] == "smart" and first["resume"]["focus"] == "TASK-001"


def test_start_stays_in_the_plan_of_the_focus(call: Caller) -> None:
    started = call("tasks_macro_start", task_title="One", plan_title="Importer")
    assert call("tasks_macro_start", task_title="Two")["plan_id"] == started["plan_id"]
    call("tasks_focus_set", plan="PLAN-001")
    assert call("tasks_macro_start", task_title="Three")["plan_id"] == "PLAN-001"


def test_start_takes_a_title_for_a_plan_and_refuses_a_mismatch(call: Caller) -> None:
    assert call("tasks_macro_start", task_title="One", plan="Importer")["plan_id"] == "PLAN-001"
    assert call("tasks_macro_start", task_title="Two", plan="PLAN-001", plan_title="Importer")["plan_id"] == "PLAN-001"
    error = call.error("tasks_macro_start", task_title="Three", plan="PLAN-001", plan_title="Other")
    assert error["code"] == "INVALID_INPUT"
    assert call.error("tasks_snapshot", task="TASK-003")["code"] == "UNKNOWN_ID"


def test_tests_of_a_step_may_be_left_out_and_steps_exclude_a_template(call: Caller) -> None:
    bare = {"title": "Do it", "success_criteria": ["it is done"]}
    assert call("tasks_macro_start", task_title="One", steps=[bare])["steps"][0]["path"] == "s:0"
    error = call.error("tasks_macro_start", task_title="Two", steps=[bare], template="basic-task")
    assert error["code"] == "INVALID_INPUT"


def test_principal_work_begins_strict_and_framed(call: Caller) -> None:
    started = call("tasks_macro_start", task_title="Core: rewrite", description="Why now", template="principal-task")
    assert started["resume"]["target"]["reasoning_mode"] == "strict"
    frame = call("think_query", types="frame", include_drafts=True)["cards"][0]
    assert (frame["title"], frame["text"]) == ("Core: rewrite", "Why now")
    mild = call("tasks_macro_start", task_title="Two", template="principal-task", reasoning_mode="normal")
    assert mild["resume"]["target"]["reasoning_mode"] == "normal"


def test_close_step_takes_the_first_open_one_with_note_and_proof(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP, {**STEP, "title": "Write rows"}])
    proof = ["- make test", "1. https://ci.example/7"]
    answer = call.answer("tasks_macro_close_step", note="done by hand", proof=proof)
    result = answer.envelope["result"]
    assert answer.envelope["warnings"] == []
    assert result["step"]["path"] == "s:0"
    assert result["note_event"]["type"] == "step_noted"
    assert result["evidence_event"]["payload"]["checks"] == 2
    shown = [item["label"] for item in result["resume"]["signals"]["evidence"]]
    assert shown == ["CMD: make test", "LINK: https://ci.example/7"]
    assert result["resume"]["steps"]["completed"] == 1


def test_weak_proof_closes_with_a_warning(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP])
    answer = call.answer("tasks_macro_close_step", proof="make test")
    assert [item["code"] for item in answer.envelope["warnings"]] == ["PROOF_WEAK"]
    other = {"checks": ["CMD: make test"], "attachments": ["https://ci.example/9"]}
    call("tasks_macro_start", task_title="Two", steps=[STEP])
    assert call.answer("tasks_macro_close_step", proof=other).envelope["warnings"] == []


@pytest.fixture
def proving(call: Caller) -> Caller:
    """A task whose step asks for proof."""
    call("tasks_macro_start", task_title="One", steps=[STEP])
    ops = [{"op": "set", "field": "proof_tests_mode", "value": "require"}]
    call("tasks_patch", task="TASK-001", kind="step", path="s:0", ops=ops)
    return call


@pytest.mark.parametrize("proof", [None, "CMD: <fill: what you ran>", ["", "LINK:"], {"checks": ["<fill>"]}])
def test_without_real_proof_nothing_is_kept_not_even_the_note(proving: Caller, proof: Any) -> None:
    before = state(proving)
    answer = proving.answer("tasks_macro_close_step", note="nearly there", proof=proof)
    error = answer.envelope["error"]
    assert error["code"] == "PROOF_REQUIRED"
    assert "tasks_macro_close_step proof=" in error["recovery"] and "<fill:" in error["recovery"]
    assert state(proving) == before
    run_suggestions(proving.clew, answer, proving.session)


def test_receipts_in_the_note_are_proof(proving: Caller) -> None:
    note = "Ran it.\n- CMD: make test\n* https://ci.example/1\nand CMD: not this one"
    result = proving("tasks_macro_close_step", note=note)
    assert result["evidence_event"]["payload"]["checks"] == 2


def test_proof_for_another_checkpoint_makes_it_required(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP])
    before = state(call)
    proof = {"checks": ["CMD: scan", "LINK: https://x.example"], "checkpoint": "security"}
    answer = call.answer("tasks_macro_close_step", note="scanned", proof=proof)
    assert answer.envelope["error"]["code"] == "CHECKPOINTS_NOT_CONFIRMED"
    assert state(call) == before
    way = answer.envelope["suggestions"][0]
    assert way["target"] == "tasks_macro_close_step"
    assert way["params"]["checkpoints"] == {"criteria": True, "tests": True, "security": True}
    assert call(way["target"], **way["params"])["step"]["path"] == "s:0"


def test_a_strict_step_needs_reasoning_and_an_override_is_kept_with_its_reason(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP], reasoning_mode="strict")
    before = state(call)
    answer = call.answer("tasks_macro_close_step", note="trust me", proof="make test")
    assert answer.envelope["error"]["code"] == "REASONING_REQUIRED"
    assert len(answer.lines) <= 3
    assert state(call) == before
    done = call.answer("tasks_macro_close_step", override={"reason": "outage", "risk": "may be wrong"})
    assert "STRICT_OVERRIDE_APPLIED" in done.text
    notes = call("show", target="TASK-001", doc_kind="notes")["entries"]
    assert "outage" in notes[-1]["content"] and "may be wrong" in notes[-1]["content"]


def test_the_next_action_of_strict_work_is_the_thought_that_is_missing(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP], reasoning_mode="strict")
    prove(call.clew, "TASK-001", "s:0")
    own_words = iter([{"type": "hypothesis", "title": "It rests on rows"}, {"type": "test", "title": "Count the rows"}])
    went = []
    for _ in range(8):
        action = call("tasks_snapshot")["capsule"]["action"]
        went.append(action["tool"])
        if action["tool"] == "tasks_macro_finish":
            break
        call(action["tool"], **action["args"])
        if action["tool"] == "open":
            written = [card["id"] for card in call("think_context", target="TASK-001")["cards"]]
            call("think_card", target="TASK-001", step="focus", card=next(own_words), supports=written)
    assert went == ["open", "open", "tasks_macro_close_step", "tasks_macro_finish"]


def test_a_revision_that_moved_stops_the_macro(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP])
    before = state(call)
    error = call.error("tasks_macro_close_step", expected_revision=77, note="x")
    assert error["code"] == "REVISION_MISMATCH"
    assert state(call) == before


def test_without_open_steps_the_macro_finishes_the_task_and_again_changes_nothing(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP])
    call("tasks_macro_close_step")
    done = call("tasks_macro_close_step")
    assert done["step"] is None and done["resume"]["target"]["status"] == "DONE"
    before = state(call)
    call("tasks_macro_close_step")
    assert state(call) == before


def test_finish_refuses_open_steps_and_leaves_no_note(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP])
    before = state(call)
    answer = call.answer("tasks_macro_finish", task="TASK-001", final_note="bye")
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    assert state(call) == before
    run_suggestions(call.clew, answer, call.session)


def test_finish_keeps_the_last_words_and_is_idempotent(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP])
    call("tasks_macro_close_step")
    first = call("tasks_macro_finish", task="TASK-001", final_note="bye", handoff_max_chars=300)
    assert first["complete"]["event"]["type"] == "task_completed"
    assert call("open", id=first["final_note"]["ref"])["entry"]["content"] == "bye"
    assert first["handoff"]["budget"]["used_chars"] <= 300
    before = state(call)
    answer = call.answer("tasks_macro_finish", task="TASK-001", final_note="bye")
    assert [item["code"] for item in answer.envelope["warnings"]] == ["ALREADY_DONE"]
    assert "complete" not in answer.envelope["result"]
    assert state(call) == before


def test_create_done_is_all_or_nothing(call: Caller) -> None:
    result = call("tasks_macro_create_done", task_title="Typo", plan_title="Chores", steps=[STEP])
    assert result["complete"]["task"]["status"] == "DONE"
    assert [event["type"] for event in result["close"]["events"]] == ["step_verified", "step_done"]
    assert call.error("tasks_macro_create_done", task_title="Two", steps=[STEP, STEP])["code"] == "INVALID_INPUT"
    bad = {"title": "x", "success_criteria": [" "]}
    assert call.error("tasks_macro_create_done", task_title="Two", plan_title="New", steps=[bad])["code"]
    assert call("tasks_context")["counts"] == {"plans": 1, "tasks": 1}


def test_a_foreign_lease_bars_the_macro(call: Caller) -> None:
    call("tasks_macro_start", task_title="One", steps=[STEP])
    call("tasks_step_lease_claim", task="TASK-001", path="s:0", agent_id="other")
    before = state(call)
    assert call.error("tasks_macro_close_step", note="mine", agent_id="me")["code"] == "STEP_LEASE_HELD"
    assert state(call) == before
    assert call("tasks_macro_close_step", agent_id="other")["step"]["path"] == "s:0"


def test_steps_may_be_plain_texts_with_or_without_a_test(call: Caller) -> None:
    call("tasks_macro_start", task_title="Reader", steps=["reader", "writer; every row; test: pytest -q"])
    first, second = call("tasks_mirror", task="TASK-001")["steps"]
    assert (first["title"], second["title"]) == ("reader", "writer")
    assert call("open", id=second["step_id"])["step"]["tests"] == ["pytest -q"]
