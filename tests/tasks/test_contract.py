"""The contract of every task operation: its example runs, it answers in the promised shape, and it bears anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.app import Clew, open_clew
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection
from clew.settings import load_settings
from tests.conftest import Caller
from tests.registry.test_door import hostile_call
from tests.tasks.conftest import OTHER, STEP

STEP_ANSWER = {"task", "revision", "step", "event"}
LEASE_ANSWER = {"task", "step", "lease", "now_seq"}
ROW = {"id", "kind", "title", "revision", "criteria_confirmed", "tests_auto_confirmed"}

SHAPES: dict[str, set[str]] = {
    "tasks_batch": {"workspace", "atomic", "compact", "operations"},
    "tasks_block": STEP_ANSWER | {"blocked", "reason"},
    "tasks_bootstrap": {"workspace", "plan", "task", "steps", "events"},
    "tasks_close_step": {"task", "revision", "step", "events"},
    "tasks_close_task": {"applied", "task", "revision", "diff", "can_close"},
    "tasks_complete": {"task", "event"},
    "tasks_context": {"workspace", "counts", "by_status", "plans", "tasks", "plans_pagination", "tasks_pagination"},
    "tasks_contract": {"plan", "event"},
    "tasks_create": {"id", "qualified_id", "kind", "revision", "event"},
    "tasks_decompose": {"task", "revision", "steps", "event"},
    "tasks_define": STEP_ANSWER,
    "tasks_delete": {"task", "revision", "step", "event"},
    "tasks_delta": {"workspace", "events", "pagination"},
    "tasks_done": STEP_ANSWER,
    "tasks_edit": {"id", "kind", "revision", "event"},
    "tasks_evidence_capture": STEP_ANSWER | {"evidence"},
    "tasks_focus_clear": {"workspace", "previous", "cleared"},
    "tasks_focus_get": {"workspace", "focus"},
    "tasks_focus_set": {"workspace", "focus", "previous"},
    "tasks_history": {"workspace", "operations"},
    "tasks_lint": {"workspace", "target", "summary", "issues", "patches", "actions", "context_health"},
    "tasks_note": STEP_ANSWER,
    "tasks_patch": STEP_ANSWER,
    "tasks_plan": {"plan", "event"},
    "tasks_progress": STEP_ANSWER | {"completed"},
    "tasks_redo": {"workspace", "operation", "event", "revision"},
    "tasks_scaffold": {"workspace", "template", "plan", "events"},
    "tasks_step_lease_claim": LEASE_ANSWER | {"event"},
    "tasks_step_lease_get": LEASE_ANSWER,
    "tasks_step_lease_release": LEASE_ANSWER | {"event"},
    "tasks_step_lease_renew": LEASE_ANSWER | {"event"},
    "tasks_storage": {"workspace", "storage_dir", "defaults"},
    "tasks_task_add": {"task", "revision", "node", "event"},
    "tasks_task_define": {"task", "revision", "node", "event"},
    "tasks_task_delete": {"task", "revision", "node", "event"},
    "tasks_templates_list": {"workspace", "templates"},
    "tasks_undo": {"workspace", "operation", "event", "revision"},
    "tasks_verify": STEP_ANSWER,
}
FIRST: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "tasks_done": [("tasks_verify", {"path": "s:0", "checkpoints": "gate"})],
    "tasks_undo": [("tasks_block", {"path": "s:0"})],
    "tasks_redo": [("tasks_block", {"path": "s:0"}), ("tasks_undo", {})],
    "tasks_task_define": [("tasks_task_add", {"parent_step": "s:0", "title": "Node"})],
    "tasks_task_delete": [("tasks_task_add", {"parent_step": "s:0", "title": "Node"})],
    "tasks_step_lease_renew": [("tasks_step_lease_claim", {"path": "s:0", "agent_id": "builder"})],
    "tasks_step_lease_release": [("tasks_step_lease_claim", {"path": "s:0", "agent_id": "builder"})],
    "tasks_lint": [("tasks_focus_set", {})],
}
"""What must have happened before an operation's example makes sense."""


@pytest.mark.parametrize("name", SHAPES)
def test_the_example_runs_and_answers_in_shape(call: Caller, task: str, name: str) -> None:
    for before, arguments in FIRST.get(name, []):
        call(before, task=task, **arguments)
    entry = catalogue().find(name)
    assert entry is not None
    answer = call.answer(name, **entry.example)
    assert answer.ok, answer.envelope["error"]
    result = answer.envelope["result"]
    assert SHAPES[name] <= set(result)
    if isinstance(result.get("event"), dict):
        assert set(result["event"]) == {"event_id", "ts", "ts_ms", "task_id", "path", "type", "payload"}
    assert answer.envelope["intent"] in {name, name.removeprefix("tasks_")}


def test_rows_of_plans_and_tasks_say_what_they_are(call: Caller, task: str) -> None:
    listed = call("tasks_context")
    assert ROW | {"status", "plan_progress", "contract_versions_count"} <= set(listed["plans"][0])
    assert ROW | {"status", "parent", "progress", "steps_count", "status_code"} <= set(listed["tasks"][0])
    before = call("tasks_block", task=task, path="s:0")
    assert before["event"]["payload"] == {
        "task": task,
        "step_id": "STEP-00000001",
        "path": "s:0",
        "blocked": True,
        "reason": None,
    }
    operation = call("tasks_undo", task=task)["operation"]
    fields = "seq ts ts_ms task path intent payload before after undoable undone".split()  # noqa: SIM905
    assert set(operation) == set(fields)
    assert {"step_id", "path", "task", "proof_tests_mode", "completed_at_ms"} <= set(operation["before"])


def test_writes_are_told_from_reads(call: Caller) -> None:
    reads = {"context", "delta", "focus_get", "history", "lint", "step_lease_get", "storage", "templates_list"}
    for name in SHAPES:
        entry = catalogue().find(name)
        assert entry is not None
        assert entry.read_only == (name.removeprefix("tasks_") in reads), name
    assert {name for name in SHAPES if catalogue().find(name).destructive} == {"tasks_delete", "tasks_task_delete"}  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Clew:
    """One store with some work in it for all hostile calls."""
    home: Path = tmp_path_factory.mktemp("tasks-door")
    clew = open_clew(load_settings({"home": home, "workspace": "ws", "workspace_lock": False}, {}, home))
    steps = [STEP, OTHER]
    clew.dispatcher.call("tasks_bootstrap", {"plan_title": "P", "task_title": "T", "steps": steps}, Connection())
    clew.dispatcher.call("tasks_focus_set", {"task": "TASK-001"}, Connection())
    return clew


def state(clew: Clew) -> list[Any]:
    with clew.database.read() as tx:
        tables = ("work", "step", "task_operation", "evidence", "event", "counter", "entry", "item")
        return [tx.value(f"SELECT count(*) FROM {table}") for table in tables]


@given(data=st.data())
@settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_no_argument_breaks_a_task_operation(shared: Clew, data: st.DataObject) -> None:
    before = state(shared)
    entry, answer = hostile_call(shared, data, SHAPES)
    if not answer.ok and not (entry.name == "tasks_batch" and answer.envelope["error"]["code"] == "BATCH_FAILED"):
        assert state(shared) == before
