"""The same work over stdio, by `clew call` and inside: every task operation, the same answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.faces.cli.main import run
from tests.conftest import ROOT, Caller
from tests.faces.mcp.process import environment
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


def plain(value: Any) -> Any:
    """Without what depends on the moment or the machine."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in VARYING}
    return [plain(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def expected(call: Caller) -> list[Any]:
    return [plain(call(name, **arguments)) for name, arguments in SCRIPT]


@pytest.fixture(params=["sqlite"])
def engine(request: pytest.FixtureRequest) -> str:
    """The faces know no engine, so one is enough here."""
    return str(request.param)


def over_stdio(home: Path) -> list[Any]:
    """One server process; each line is a call."""
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
    ]
    for number, (name, arguments) in enumerate(SCRIPT, 1):
        messages.append({"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", "serve", "--toolset", "full"],
        cwd=ROOT,
        env=environment(home, CLEW_WORKSPACE="ws"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    answers = []
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        if "id" in message:
            answers.append(json.loads(process.stdout.readline()))
    process.communicate(timeout=20)
    return [answer["result"]["structuredContent"]["result"] for answer in answers[1:]]


def by_command(home: Path, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """Each call opens the store anew, as a shell does."""
    results = []
    for name, arguments in SCRIPT:
        code = run(["--home", str(home), "--workspace", "ws", "call", name, json.dumps(arguments), "--json"])
        printed = capsys.readouterr()
        assert code == 0, printed
        results.append(json.loads(printed.out)["result"])
    return results


def test_the_script_leaves_nothing_out() -> None:
    assert {name for name, _ in SCRIPT} == set(SHAPES)


def test_over_stdio_every_operation_answers_as_inside(expected: list[Any], tmp_path: Path) -> None:
    assert plain(over_stdio(tmp_path / "stdio")) == expected


def test_by_command_every_operation_answers_as_inside(
    expected: list[Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLEW_TOOLSET", "full")
    assert plain(by_command(tmp_path / "command", capsys)) == expected
