"""Steps: they are added, defined, noted, confirmed and closed, and every act leaves its mark."""

from __future__ import annotations

from typing import Any

from clew.reasoning.graph import edges_at, nodes
from clew.reasoning.scope import scope_of
from clew.registry.context import Context
from tests.conftest import Caller
from tests.tasks.conftest import STEP


def trace(call: Caller, task: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = call("show", target=task, limit=200)["entries"]
    return entries


def test_a_task_comes_with_its_branch_and_documents(call: Caller, task: str) -> None:
    names = [branch["name"] for branch in call("branch_list")["branches"]]
    assert "plan/PLAN-001" in names and "task/TASK-001" in names
    docs = [doc["doc"] for doc in call("docs_list", ref="task/TASK-001")["docs"]]
    assert {"TASK-001-graph", "TASK-001-trace"} <= set(docs)


def test_created_steps_with_tests_are_defined_in_events_of_their_own(call: Caller, task: str) -> None:
    made = call(
        "tasks_create", title="Write", parent="PLAN-001", steps=[{**STEP, "tests": ["make test"], "blockers": [" "]}]
    )
    assert [event["type"] for event in made["events"]] == ["task_created", "steps_added", "step_defined"]
    assert made["qualified_id"] == "ws:TASK-002"
    assert made["revision"] == 2
    assert made["steps"] == [{"step_id": "STEP-00000003", "path": "s:0"}]


def test_a_task_needs_a_plan_that_exists(call: Caller) -> None:
    assert call.error("tasks_create", title="x", kind="task")["code"] == "INVALID_INPUT"
    assert call.error("tasks_create", title="x", parent="PLAN-009")["code"] == "UNKNOWN_ID"
    assert call.error("tasks_create", title="  ")["code"] == "INVALID_INPUT"


def test_a_step_closes_only_with_its_gate_confirmed(call: Caller, task: str) -> None:
    answer = call.answer("tasks_done", task=task, path="s:0")
    error = answer.envelope["error"]
    assert error["code"] == "CHECKPOINTS_NOT_CONFIRMED"
    assert error["message"] == "missing: criteria=true tests=true security=false perf=false docs=false"
    way = answer.envelope["suggestions"][0]
    call(way["target"], **way["params"])
    assert call("tasks_done", task=task, path="s:0")["event"]["type"] == "step_done"


def test_close_step_writes_exactly_two_events(call: Caller, task: str) -> None:
    closed = call("tasks_close_step", task=task, step_id="STEP-00000001", checkpoints="gate")
    assert [event["type"] for event in closed["events"]] == ["step_verified", "step_done"]


def test_a_denied_checkpoint_keeps_the_step_open(call: Caller, task: str) -> None:
    values = {"criteria": True, "tests": {"confirmed": True}, "security": False}
    error = call.error("tasks_close_step", task=task, path="s:0", checkpoints=values)
    assert error["details"]["missing"] == ["security"]
    # Nothing of the failed call stays, not even the confirmations.
    assert call.error("tasks_done", task=task, path="s:0")["details"]["missing"] == ["criteria", "tests"]


def test_every_event_is_in_the_trace_once(call: Caller, task: str) -> None:
    call("tasks_note", task=task, path="s:0", note="half way")
    call("tasks_close_step", task=task, path="s:0", checkpoints="all")
    types = [entry["event_type"] for entry in trace(call, task)]
    assert types == ["task_created", "steps_added", "step_defined", "step_noted", "step_verified", "step_done"]


def test_a_note_is_mirrored_into_the_task_s_notes(call: Caller, task: str) -> None:
    noted = call("tasks_note", task=task, path="s:0", note="half way")
    entry = call("show", target=task, doc_kind="notes")["entries"][-1]
    assert entry["content"] == "half way"
    assert entry["meta"]["event_id"] == noted["event"]["event_id"]
    assert entry["meta"]["step"] == {"task_id": task, "step_id": "STEP-00000001", "path": "s:0"}


def test_new_criteria_must_be_confirmed_anew(call: Caller, task: str) -> None:
    call("tasks_verify", task=task, path="s:0", checkpoints="gate")
    call("tasks_define", task=task, path="s:0", success_criteria=["all rows are read"])
    assert call.error("tasks_done", task=task, path="s:0")["details"]["missing"] == ["criteria"]


def test_blank_lines_are_dropped(call: Caller, task: str) -> None:
    call("tasks_define", task=task, path="s:0", blockers=[" ", "no key ", ""])
    assert call("open", id="STEP-00000001")["step"]["blockers"] == ["no key"]


def test_a_done_step_cannot_be_left_unconfirmed(call: Caller, task: str) -> None:
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    answer = call.answer("tasks_define", task=task, path="s:0", tests=["other"])
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    way = answer.envelope["suggestions"][0]
    call(way["target"], **way["params"])
    call("tasks_define", task=task, path="s:0", tests=["other"])


def test_revisions_guard_against_lost_changes(call: Caller, task: str) -> None:
    revision = call("tasks_note", task=task, path="s:0", note="n")["revision"]
    assert call.error("tasks_note", task=task, path="s:0", note="n", expected_revision=0)["code"] == "REVISION_MISMATCH"
    assert call("tasks_note", task=task, path="s:0", note="n", expected_version=revision)["revision"] == revision + 1


def test_steps_below_steps_have_paths_that_are_never_given_twice(call: Caller, task: str) -> None:
    below = call("tasks_decompose", task=task, parent="s:0", steps=[STEP, STEP])["steps"]
    assert [step["path"] for step in below] == ["s:0.s:0", "s:0.s:1"]


def test_without_a_target_the_focus_is_meant(call: Caller, task: str) -> None:
    assert call.error("tasks_note", path="s:0", note="n")["code"] == "INVALID_INPUT"
    call("tasks_focus_set", task=task)
    assert call("tasks_note", path="s:0", note="n")["task"] == task
    assert call("tasks_focus_clear")["previous"] == task
    assert call("tasks_focus_get")["focus"] is None


def test_a_focus_must_exist(call: Caller, task: str) -> None:
    assert call.error("tasks_focus_set", task="TASK-009")["code"] == "UNKNOWN_ID"
    assert call.error("tasks_focus_set", plan="TASK-001")["code"] == "INVALID_INPUT"
    assert call("tasks_focus_set", target={"id": "PLAN-001", "kind": "plan"})["focus"] == "PLAN-001"


def test_a_foreign_lease_bars_every_change(call: Caller, task: str) -> None:
    call("tasks_step_lease_claim", task=task, path="s:0", agent_id="anna")
    for name, arguments in CHANGES.items():
        error = call.error(name, task=task, path="s:0", agent_id="bert", **arguments)
        assert error["code"] == "STEP_LEASE_HELD", name
        assert call.error(name, task=task, path="s:0", **arguments)["code"] == "STEP_LEASE_HELD"
    call("tasks_note", task=task, path="s:0", note="mine", agent_id="Anna")


CHANGES: dict[str, dict[str, Any]] = {
    "tasks_define": {"title": "T"},
    "tasks_note": {"note": "n"},
    "tasks_verify": {"checkpoints": "gate"},
    "tasks_close_step": {"checkpoints": "gate"},
    "tasks_block": {},
    "tasks_progress": {"completed": False},
}


def test_a_lease_ends_by_events_not_by_time(call: Caller, task: str) -> None:
    call("tasks_step_lease_claim", task=task, path="s:0", agent_id="anna", ttl_seq=2)
    assert call("tasks_step_lease_get", task=task, path="s:0")["lease"]["holder_agent_id"] == "anna"
    call("notes_commit", content="one", branch="main")
    assert call.error("tasks_block", task=task, path="s:0")["code"] == "STEP_LEASE_HELD"
    call("notes_commit", content="two", branch="main")
    assert call("tasks_step_lease_get", task=task, path="s:0")["lease"] is None
    call("tasks_block", task=task, path="s:0", reason="key lost")


def test_a_lease_is_taken_over_only_by_force(call: Caller, task: str) -> None:
    call("tasks_step_lease_claim", task=task, path="s:0", agent_id="anna")
    assert call.error("tasks_step_lease_claim", task=task, path="s:0", agent_id="bert")["code"] == "STEP_LEASE_HELD"
    taken = call("tasks_step_lease_claim", task=task, path="s:0", agent_id="bert", force=True)
    assert taken["event"]["type"] == "step_lease_taken_over"
    assert taken["event"]["payload"]["takeover_from"] == "anna"
    error = call.error("tasks_step_lease_renew", task=task, path="s:0", agent_id="anna")
    assert error["code"] == "STEP_LEASE_NOT_HELD"
    before = taken["lease"]["expires_seq"]
    assert call("tasks_step_lease_claim", task=task, path="s:0", agent_id="bert")["lease"]["expires_seq"] == before
    forced = call("tasks_step_lease_claim", task=task, path="s:0", agent_id="bert", force=True)
    assert forced["lease"]["expires_seq"] > before
    assert call("tasks_step_lease_release", task=task, path="s:0", agent_id="bert")["lease"] is None


def test_steps_stand_in_the_task_s_graph(call: Caller, task: str) -> None:
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    with Context(call.clew.dispatcher, call.session, "ws", None).reading() as ctx:
        scope = scope_of(ctx, task)
        status = {item.id: item.status for item in nodes(ctx, scope.branch, scope.graph).nodes}
        edges = edges_at(ctx, scope.branch, scope.graph, ["task:TASK-001"])
    assert status == {"task:TASK-001": "TODO", "step:STEP-00000001": "done", "step:STEP-00000002": "open"}
    assert sorted(edge.key for edge in edges) == [
        ("task:TASK-001", "contains", "step:STEP-00000001"),
        ("task:TASK-001", "contains", "step:STEP-00000002"),
    ]
