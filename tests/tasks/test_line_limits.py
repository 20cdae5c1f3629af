"""Whatever the words, the view and the budget: lines keep their form, stay few, and hold commands that parse."""

from __future__ import annotations

import pytest

from tests.conftest import Caller
from tests.tasks.portal import check_form, parse_command

VIEWS = ("full", "focus_only", "smart", "explore", "audit")
LIMITS = (None, 0, 70, 250, 500, 800, 1100, 1600, 2600, 4200)


@pytest.fixture
def crowded(call: Caller) -> Caller:
    hostile = 'A: b | c\n"q" {x} é漢字 ' + "long " * 30
    call("tasks_macro_start", task_title=hostile, template="principal-task")
    call("tasks_macro_start", task_title="Zwei")
    call("tasks_scaffold", template="principal-plan", title="Wide | plan")
    for number in range(12):
        kind = ("hypothesis", "test", "decision", "note")[number % 4]
        tags = ([], ["a:x"], ["pinned"], ["v:draft"])[number % 4]
        card = {"type": kind, "title": f"t{number} | x", "text": "\n\n" + "z" * 150, "tags": tags}
        call("think_card", card=card, target=("TASK-001", "TASK-002", "PLAN-001")[number % 3])
        call("notes_commit", content="n | \n" * 9, target="TASK-002")
    call("tasks_jobs_create", title="Look", prompt="p", task="TASK-001")
    return call


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("toolset", ["core", "daily", "full"])
@pytest.mark.parametrize("target", ["TASK-001", "TASK-002", "PLAN-001", "PLAN-002"])
def test_lines_keep_their_form_and_number(crowded: Caller, toolset: str, target: str) -> None:
    crowded.session.toolset = toolset
    for place, limit in enumerate(LIMITS):
        view, extra = VIEWS[place % len(VIEWS)], ({}, {"refs": True}, {"delta": True})[place % 3]
        answer = crowded.answer("tasks_snapshot", target=target, view=view, max_chars=limit, **extra)
        assert answer.ok
        check_form(answer.lines)
        assert "ref=" in answer.lines[0]
        if any(line.startswith("WARNING: BUDGET") for line in answer.lines):
            assert len(answer.lines) <= 5, answer.lines
        for line in answer.lines[1:]:
            if not line.startswith(("REFERENCE: ", "WARNING: ", "CMD: ")):
                parse_command(line)
