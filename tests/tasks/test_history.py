"""History: every act is listed, the last can be taken back and applied again; batches are all or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.suggestions import run_suggestions


def newest(call: Caller, task: str) -> dict[str, Any]:
    found: dict[str, Any] = call("tasks_history", task=task, limit=1)["operations"][0]
    return found


def test_undo_and_redo_walk_the_log_in_order(call: Caller, task: str) -> None:
    call("tasks_define", task=task, path="s:0", title="One")
    call("tasks_block", task=task, path="s:0", reason="wait")
    call("tasks_edit", task=task, title="Renamed")
    undone = [call("tasks_undo", task=task)["operation"]["intent"] for _ in range(3)]
    assert undone == ["task_edit", "step_block_set", "step_define"]
    redone = [call("tasks_redo", task=task)["operation"]["intent"] for _ in range(3)]
    assert redone == ["step_define", "step_block_set", "task_edit"]
    assert call.error("tasks_redo", task=task)["code"] == "INVALID_INPUT"


def test_undo_is_a_new_event_and_a_new_revision(call: Caller, task: str) -> None:
    before = call("tasks_block", task=task, path="s:0", reason="wait")["revision"]
    undone = call("tasks_undo", task=task)
    assert undone["event"]["type"] == "undo_applied"
    assert undone["revision"] == before + 1
    assert newest(call, task)["undone"] is True


def test_a_new_change_ends_redo(call: Caller, task: str) -> None:
    call("tasks_block", task=task, path="s:0")
    call("tasks_undo", task=task)
    call("tasks_define", task=task, path="s:1", title="Else")
    assert call.error("tasks_redo", task=task)["code"] == "INVALID_INPUT"
    assert call("tasks_undo", task=task)["operation"]["intent"] == "step_define"
    assert call("tasks_redo", task=task)["operation"]["intent"] == "step_define"
    assert call.error("tasks_redo", task=task)["code"] == "INVALID_INPUT"


def test_redoing_a_close_passes_the_gate_again(call: Caller, task: str) -> None:
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    call("tasks_undo", task=task)
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="docs", checks=["LINK: /doc"])
    answer = call.answer("tasks_redo", task=task)
    assert answer.envelope["error"]["code"] == "CHECKPOINTS_NOT_CONFIRMED"
    run_suggestions(call.clew, answer, call.session)


def test_what_was_deleted_is_not_undone_piece_by_piece(call: Caller, task: str) -> None:
    call("tasks_define", task=task, path="s:1", title="Kept")
    call("tasks_block", task=task, path="s:0")
    call("tasks_delete", task=task, path="s:0")
    assert call("tasks_undo", task=task)["operation"]["intent"] == "step_define"


def test_a_lease_bars_undo_too(call: Caller, task: str) -> None:
    call("tasks_block", task=task, path="s:0")
    call("tasks_step_lease_claim", task=task, path="s:0", agent_id="anna")
    assert call.error("tasks_undo", task=task, agent_id="bert")["code"] == "STEP_LEASE_HELD"
    call("tasks_undo", task=task, agent_id="anna")


def test_nothing_to_undo_is_said_plainly(call: Caller) -> None:
    plan = call("tasks_create", title="P")["id"]
    answer = call.answer("tasks_undo", plan=plan)
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    run_suggestions(call.clew, answer, call.session)


def test_the_history_of_the_focus_or_of_all(call: Caller, task: str) -> None:
    everything = call("tasks_history")["operations"]
    assert [item["intent"] for item in everything][-2:] == ["task_create", "plan_create"]
    call("tasks_focus_set", plan="PLAN-001")
    assert {item["task"] for item in call("tasks_history")["operations"]} == {"PLAN-001"}


def test_delta_reads_on_from_a_known_event(call: Caller, task: str) -> None:
    first = call("tasks_delta", limit=2)
    assert first["pagination"]["has_more"]
    rest = call("tasks_delta", since=first["pagination"]["next_cursor"])
    types = [event["type"] for event in first["events"] + rest["events"]]
    assert types == ["plan_created", "task_created", "steps_added", "step_defined"]
    assert rest["events"][0]["task"] == task
    assert call.error("tasks_delta", since="yesterday")["code"] == "INVALID_INPUT"


def test_a_small_delta_says_where_to_go_on(call: Caller, task: str) -> None:
    page = call("tasks_delta", max_chars=400)
    rest = call("tasks_delta", since=page["pagination"]["next_cursor"])
    assert len(page["events"]) + len(rest["events"]) == 4


OPERATIONS: list[dict[str, Any]] = [
    {"tool": "tasks_note", "args": {"task": "TASK-001", "path": "s:0", "note": "one"}},
    {"name": "tasks_define", "arguments": {"task": "TASK-001", "path": "s:0", "title": "two"}},
    {"tool": "tasks_done", "args": {"task": "TASK-001", "path": "s:0"}},
]


def test_an_atomic_batch_that_fails_leaves_nothing(call: Caller, task: str) -> None:
    before = (call("tasks_delta"), call("show", target=task, doc_kind="notes"), call("tasks_history"))
    answer = call.answer("tasks_batch", atomic=True, operations=OPERATIONS)
    error = answer.envelope["error"]
    assert (error["code"], error["details"]["failed_index"]) == ("BATCH_FAILED", 2)
    assert (call("tasks_delta"), call("show", target=task, doc_kind="notes"), call("tasks_history")) == before
    run_suggestions(call.clew, answer, call.session)


def test_a_plain_batch_keeps_what_came_before_the_failure(call: Caller, task: str) -> None:
    error = call.error("tasks_batch", operations=OPERATIONS)
    assert error["details"]["completed"] == 2
    assert [item["intent"] for item in call("tasks_history", task=task, limit=2)["operations"]] == [
        "step_define",
        "step_note",
    ]


def test_a_batch_answers_for_each_operation(call: Caller, task: str) -> None:
    done = call("tasks_batch", atomic=True, compact=True, operations=OPERATIONS[:2])
    assert [item["tool"] for item in done["operations"]] == ["tasks_note", "tasks_define"]
    assert done["operations"][1]["response"]["result"]["step"]["path"] == "s:0"


@pytest.mark.parametrize(
    "operation",
    [
        {"tool": "tasks_undo", "args": {}},
        {"tool": "notes_commit", "args": {"content": "x"}},
        {"args": {}},
        {"tool": "tasks_create", "args": {"title": "x", "workspace": "other"}},
        {"tool": "tasks_create", "args": {"title": "x"}, "arguments": {"title": "y"}},
        {"tool": "tasks_create", "name": "tasks_delete", "args": {"title": "x"}},
    ],
)
def test_a_batch_runs_task_operations_of_one_workspace_only(call: Caller, operation: dict[str, Any]) -> None:
    assert call.error("tasks_batch", operations=[operation])["code"] == "INVALID_INPUT"


def test_each_operation_of_a_batch_acts_for_its_own_agent(call: Caller, task: str) -> None:
    call("tasks_step_lease_claim", task=task, path="s:0", agent_id="anna")
    mine = {"tool": "tasks_note", "args": {"task": task, "path": "s:0", "note": "n", "agent_id": "anna"}}
    call("tasks_batch", atomic=True, operations=[mine])
    other = {"tool": "tasks_note", "args": {"task": task, "path": "s:0", "note": "n"}}
    error = call.error("tasks_batch", atomic=True, operations=[mine, other])
    assert error["details"]["error"]["code"] == "STEP_LEASE_HELD"
