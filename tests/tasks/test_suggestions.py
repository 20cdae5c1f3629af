"""Every refusal says what to do next, and what it suggests runs as it stands, in every toolset."""

from __future__ import annotations

from typing import Any

import pytest

from clew.registry.connection import Connection
from tests.conftest import Caller
from tests.suggestions import run_suggestions
from tests.tasks.conftest import OTHER, STEP

REQUIRE = {"op": "set", "field": "proof_tests_mode", "value": "require"}
S0 = {"task": "TASK-001", "path": "s:0"}

REFUSALS: dict[str, tuple[list[tuple[str, dict[str, Any]]], str, dict[str, Any]]] = {
    "no target": ([], "tasks_note", {"path": "s:0", "note": "n"}),
    "unknown task": ([], "tasks_note", {"task": "TASK-009", "path": "s:0", "note": "n"}),
    "unknown plan": ([], "tasks_plan", {"plan": "PLAN-009", "advance": True}),
    "a plan where a task is meant": ([], "tasks_note", {"target": "PLAN-001", "path": "s:0", "note": "n"}),
    "a task where a plan is meant": ([], "tasks_plan", {"target": "TASK-001", "advance": True}),
    "two targets": ([], "tasks_lint", {"task": "TASK-001", "plan": "PLAN-001"}),
    "no step": ([], "tasks_done", {"task": "TASK-001"}),
    "unknown step": ([], "tasks_done", {"task": "TASK-001", "path": "s:7"}),
    "malformed path": ([], "tasks_done", {"task": "TASK-001", "path": "first"}),
    "unknown node": ([], "tasks_task_delete", {"task": "TASK-001", "path": "s:0.t:7"}),
    "old revision": ([], "tasks_note", {**S0, "note": "n", "expected_revision": 99}),
    "unconfirmed": ([], "tasks_done", S0),
    "unproven": ([("tasks_patch", {**S0, "ops": [REQUIRE]})], "tasks_close_step", {**S0, "checkpoints": "gate"}),
    "neither": ([("tasks_patch", {**S0, "ops": [REQUIRE]})], "tasks_done", S0),
    "unreasoned": (
        [("tasks_edit", {"task": "TASK-001", "reasoning_mode": "strict"})],
        "tasks_close_step",
        {**S0, "checkpoints": "gate"},
    ),
    "already done": (
        [("tasks_close_step", {**S0, "checkpoints": "gate"})],
        "tasks_close_step",
        {**S0, "checkpoints": "gate"},
    ),
    "done and edited": ([("tasks_close_step", {**S0, "checkpoints": "gate"})], "tasks_define", {**S0, "tests": ["x"]}),
    "open steps": ([], "tasks_complete", {"task": "TASK-001"}),
    "leased": ([("tasks_step_lease_claim", {**S0, "agent_id": "anna"})], "tasks_note", {**S0, "note": "n"}),
    "not leased": ([], "tasks_step_lease_renew", {**S0, "agent_id": "anna"}),
    "nothing to undo": ([], "tasks_undo", {"plan": "PLAN-001"}),
    "placeholder": ([], "tasks_evidence_capture", {**S0, "checks": ["CMD: <fill>"]}),
    "no plan": ([], "tasks_create", {"title": "x", "kind": "task"}),
    "malformed parent": ([], "tasks_create", {"title": "x", "parent": "Importer"}),
    "no home": ([], "tasks_bootstrap", {"task_title": "x", "steps": [OTHER]}),
    "two titles": (
        [],
        "tasks_bootstrap",
        {"plan": "PLAN-001", "plan_title": "Other", "task_title": "x", "steps": [STEP]},
    ),
    "unknown template": ([], "tasks_scaffold", {"template": "grand", "title": "x"}),
    "plan with tasks": ([], "tasks_delete", {"plan": "PLAN-001"}),
    "no such event": ([], "tasks_delta", {"since": "yesterday"}),
    "circle": ([], "tasks_edit", {"task": "TASK-001", "depends_on": ["TASK-001"]}),
    "failed batch": ([], "tasks_batch", {"operations": [{"tool": "tasks_done", "args": S0}]}),
    "unknown focus": ([], "tasks_focus_set", {"task": "TASK-009"}),
    "empty focus": ([], "tasks_focus_set", {}),
    "misspelt": ([], "tasks_note", {**S0, "contant": "n", "colour": "red"}),
}


@pytest.mark.parametrize("toolset", ["core", "daily", "full"])
@pytest.mark.parametrize("case", REFUSALS)
def test_what_a_refusal_suggests_runs(call: Caller, task: str, case: str, toolset: str) -> None:
    before, name, arguments = REFUSALS[case]
    for step, given in before:
        call(step, **given)
    session = Connection(toolset=toolset)
    answer = call.clew.dispatcher.call(name, arguments, session)
    assert not answer.ok
    assert answer.envelope["error"]["message"]
    run_suggestions(call.clew, answer, session)


@pytest.fixture(params=["sqlite"])
def engine(request: pytest.FixtureRequest) -> str:
    """Suggestions are made above the store, so one engine is enough here."""
    return str(request.param)


def test_an_empty_workspace_is_told_how_to_begin(call: Caller) -> None:
    answer = call.answer("tasks_note", path="s:0", note="n")
    assert [item["target"] for item in answer.envelope["suggestions"]] == ["tasks_macro_start"]
