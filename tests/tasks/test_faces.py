"""The same work over stdio, by `clew call` and inside: every task operation, the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Caller
from tests.faces.script import by_command, over_stdio, plain
from tests.tasks.conftest import OTHER, STEP
from tests.tasks.test_contract import SHAPES

STEP_0 = {"task": "TASK-001", "path": "s:0"}
NODE = {"task": "TASK-001", "path": "s:0.t:0"}
LEASED = {**STEP_0, "agent_id": "anna"}

SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("tasks_create", {"title": "Importer"}),
    ("tasks_create", {"title": "Read", "parent": "PLAN-001", "steps": [STEP, OTHER]}),
    ("tasks_focus_set", {"task": "TASK-001"}),
    ("tasks_focus_get", {}),
    ("tasks_plan", {"plan": "PLAN-001", "steps": ["design", "build"], "advance": True}),
    ("tasks_contract", {"plan": "PLAN-001", "current": "No row is lost."}),
    ("tasks_edit", {"title": "Read files", "tags": ["io"]}),
    ("tasks_decompose", {"steps": [OTHER], "parent": "s:0"}),
    ("tasks_define", {**STEP_0, "title": "Parse all"}),
    ("tasks_patch", {**STEP_0, "ops": [{"op": "set", "field": "next_action", "value": "begin"}]}),
    ("tasks_note", {**STEP_0, "note": "half way"}),
    ("tasks_block", {**STEP_0, "reason": "no key"}),
    ("tasks_undo", {}),
    ("tasks_redo", {}),
    ("tasks_task_add", {"parent_step": "s:0", "title": "Quotes"}),
    ("tasks_task_define", {**NODE, "status": "DONE"}),
    ("tasks_task_delete", NODE),
    ("tasks_step_lease_claim", LEASED),
    ("tasks_step_lease_get", STEP_0),
    ("tasks_step_lease_renew", LEASED),
    ("tasks_step_lease_release", LEASED),
    ("tasks_evidence_capture", {**STEP_0, "checkpoint": "tests", "checks": ["CMD: make test"]}),
    ("tasks_verify", {**STEP_0, "checkpoints": "gate"}),
    ("tasks_done", STEP_0),
    ("tasks_progress", {**STEP_0, "completed": False}),
    ("tasks_close_step", {**STEP_0, "checkpoints": "gate"}),
    ("tasks_batch", {"atomic": True, "operations": [{"tool": "tasks_note", "args": {"path": "s:1", "note": "x"}}]}),
    ("tasks_delete", {"path": "s:0.s:0"}),
    ("tasks_close_task", {}),
    ("tasks_complete", {"status": "ACTIVE"}),
    ("tasks_lint", {}),
    ("tasks_history", {"limit": 3}),
    ("tasks_delta", {"limit": 3}),
    ("tasks_context", {}),
    ("tasks_bootstrap", {"plan": "PLAN-001", "task_title": "Write", "template": "basic-task"}),
    ("tasks_scaffold", {"template": "principal-task", "title": "Prove", "parent": "PLAN-001"}),
    ("tasks_templates_list", {}),
    ("tasks_focus_clear", {}),
    ("tasks_storage", {}),
]
VARYING = {"ts", "ts_ms", "created_at_ms", "updated_at_ms", "completed_at_ms", "storage_dir", "used_chars"}


@pytest.fixture
def expected(call: Caller) -> list[Any]:
    return [plain(call(name, **arguments), VARYING) for name, arguments in SCRIPT]


@pytest.fixture(params=["sqlite"])
def engine(request: pytest.FixtureRequest) -> str:
    """The faces know no engine, so one is enough here."""
    return str(request.param)


def test_the_script_leaves_nothing_out() -> None:
    assert {name for name, _ in SCRIPT} == set(SHAPES)


def test_over_stdio_every_operation_answers_as_inside(expected: list[Any], tmp_path: Path) -> None:
    assert plain(over_stdio(SCRIPT, tmp_path / "stdio"), VARYING) == expected


def test_by_command_every_operation_answers_as_inside(
    expected: list[Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLEW_TOOLSET", "full")
    assert plain(by_command(SCRIPT, tmp_path / "command", capsys), VARYING) == expected
