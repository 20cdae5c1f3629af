"""Work in the terminal: the tree, the next command, the handoff."""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.faces.cli.conftest import Shell

STEPS = json.dumps([{"title": f"{verb} rows", "success_criteria": ["every row"]} for verb in ("Read", "Write")])


@pytest.fixture
def started(clew: Shell) -> Shell:
    clew("call", "tasks_macro_start", "task_title=Importer: rows", "description=Rows get lost.", f"steps:={STEPS}")
    clew("call", "tasks_macro_close_step", "proof=make test", "note=one down")
    clew("call", "tasks_block", "task=TASK-001", "path=s:1", "reason=no access")
    return clew


def test_the_tree_shows_plans_tasks_and_steps_with_their_gates(started: Shell) -> None:
    out = started("tasks").out
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0].startswith("PLAN-001 Inbox")
    assert "TASK-001 Importer: rows  TODO 1/2  <- focus" in lines[1]
    assert "[x] s:0 Read rows" in lines[2]
    assert "[!] s:1 Write rows  blocked: no access  needs criteria, tests" in lines[3]
    assert "\x1b[" not in out


def test_the_tree_as_json_nests_steps_in_tasks_in_plans(started: Shell) -> None:
    tree = started("tasks", "PLAN-001", "--json").json
    assert tree["focus"] == "TASK-001"
    assert [step["path"] for step in tree["plans"][0]["tasks"][0]["steps"]] == ["s:0", "s:1"]


def test_no_step_of_a_plan_with_very_many_is_dropped_without_a_word(clew: Shell) -> None:
    steps = json.dumps([f"Row {number}" for number in range(200)])
    for number in range(6):
        clew("call", "tasks_macro_start", f"task_title=Part {number}", f"steps:={steps}")
    tasks = clew("tasks", "--json").json["plans"][0]["tasks"]
    assert [len(task["steps"]) for task in tasks] == [200] * 6


def test_canceled_work_is_shown_on_request(started: Shell) -> None:
    started("call", "tasks_complete", "task=TASK-001", "status=CANCELED")
    assert "TASK-001" not in started("tasks").out
    assert "TASK-001" in started("tasks", "--all").out


def test_next_prints_a_command_that_runs(started: Shell) -> None:
    started("call", "tasks_block", "task=TASK-001", "path=s:1", "blocked=false")
    for _ in range(5):
        out = started("next", "TASK-001").out
        command = out.splitlines()[-1]
        if not command.startswith("clew call "):
            break
        ran = started(*shlex.split(command)[1:])
        assert ran.code == 0, ran.err
    assert out.splitlines()[-1] == "next  nothing; it is done"


def test_next_says_what_is_stuck_and_answers_in_json(started: Shell) -> None:
    assert "stuck s:1: no access" in started("next").out
    answer = started("next", "TASK-001", "--json").json
    assert answer["action"]["tool"] and answer["radar"]["blockers"] == ["s:1: no access"]


def test_next_without_work_says_how_to_start(clew: Shell) -> None:
    ran = clew("next")
    assert ran.code == 1
    assert "clew call tasks_macro_start" in ran.err
    assert "tasks_macro_start" in clew("tasks").out


def test_the_handoff_is_markdown_fit_to_paste(started: Shell) -> None:
    out = started("handoff", "TASK-001").out
    assert out.startswith("# TASK-001: Importer: rows\n\nStatus TODO")
    assert "\n> Rows get lost.\n" in out
    assert "\n## Done\n\n- s:0 Read rows (proof: tests, claimed)\n" in out
    assert "\n## Risks\n\n- blocked: s:1: no access\n" in out
    assert "CMD: make test [proof]" in out
    assert started("handoff", "--json").json["handoff"]["remaining"] == ["s:1 Write rows (needs criteria, tests)"]


def test_unknown_work_is_refused_with_a_way_on(started: Shell) -> None:
    for command in ("tasks", "next", "handoff"):
        ran = started(command, "TASK-099")
        assert ran.code == 1
        assert "clew call" in ran.err


def test_a_handoff_to_a_client_is_its_first_prompt(started: Shell) -> None:
    out = started("handoff", "TASK-001", "--to", "claude-code").out
    program, prompt = shlex.split(out)
    assert program == "claude" and "# TASK-001: Importer: rows" in prompt and "`resume`" in prompt
    assert shlex.split(started("handoff", "--to", "gemini").out)[:2] == ["gemini", "--prompt-interactive"]
    refused = started("handoff", "--to", "zed")
    assert refused.code == 2 and "codex" in refused.err


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own needs Unix")
def test_at_a_terminal_the_client_is_started_with_it(started: Shell, tmp_path: Path) -> None:
    from tests.identity.test_sign_in import Terminal

    heard, programs = tmp_path / "heard", tmp_path / "programs"
    programs.mkdir()
    (programs / "codex").write_text(f'#!/bin/sh\nprintf "%s" "$1" > {heard}\n')
    (programs / "codex").chmod(0o755)
    Terminal(started, "handoff", "TASK-001", "--to", "codex", PATH=f"{programs}:{os.environ['PATH']}").said()
    assert "# TASK-001: Importer: rows" in heard.read_text()
