"""start and close: a task in one call, steps that close with proof or openly without, and nobody else's focus."""

from __future__ import annotations

from typing import Any

import pytest

from clew.app import Clew
from clew.surroundings import clew_command
from tests.conftest import Caller
from tests.people import person
from tests.tasks.test_receipts import prove as seen

STEPS = ["parser; reads quotes; test: pytest -q", {"title": "docs", "test": "make docs"}, "release"]


def connected(clew: Clew, client: str, handle: str) -> Caller:
    caller = Caller(clew, "agent")
    caller.session.client, caller.session.handle = client, handle
    return caller


def at_page(clew: Clew) -> Caller:
    """A person who signed in at the page."""
    caller = Caller(clew, "agent")
    caller.session = person()
    return caller


@pytest.fixture
def agent(clew: Clew) -> Caller:
    return connected(clew, "coder", "one")


def test_a_task_starts_in_one_call_with_steps_as_an_agent_writes_them(agent: Caller) -> None:
    lines = agent.lines("start", title="Parse .env files", steps=STEPS)
    assert lines[0] == "TASK-001 started (PLAN-001)"
    assert lines[1] == "s:0 parser | s:1 docs | s:2 release"
    run = clew_command("prove --task TASK-001 -- pytest -q")
    assert lines[2] == f"next: s:0 parser; in a shell: {run}; then close step=s:0"
    assert len("\n".join(lines)) <= 300


def test_a_task_without_steps_is_its_own_step(agent: Caller) -> None:
    assert [step["title"] for step in agent("start", title="Fix the typo")["steps"]] == ["Fix the typo"]


def test_a_second_task_joins_the_plan_of_the_first(agent: Caller) -> None:
    first = agent("start", title="One", plan="Importer")
    second = agent("start", title="Two")
    named = agent("start", title="Three", plan="importer".title())
    assert first["plan"] == second["plan"] == named["plan"] == "PLAN-001"


@pytest.mark.parametrize(
    "proof",
    [
        {"command": "pytest -q", "exit_code": 1},
        {"command": "pytest -q", "exit_code": 0, "output": "12 FAILED, 0 passed"},
        "12 FAILED, 0 passed",
    ],
)
def test_a_failed_run_closes_nothing(agent: Caller, proof: Any) -> None:
    agent("start", title="Parse", steps=STEPS)
    assert agent.error("close", proof=proof)["code"] == "PROOF_REQUIRED"
    assert agent("close", unproven="tried by hand")["closed"] == 1


def test_nothing_proves_nothing_and_no_reason_is_put_into_anyones_mouth(agent: Caller) -> None:
    agent("start", title="Parse", steps=STEPS)
    answer = agent.answer("close", step="s:0")
    assert answer.envelope["error"]["code"] == "PROOF_REQUIRED"
    for way in answer.envelope["suggestions"]:
        assert agent.answer(way["target"], **way["params"]).ok
    assert agent.lines("resume")[1] == "0 of 3 done", "a suggestion pasted unread closes nothing"
    closed = agent("close", step="s:0", unproven="prose, nothing to run")
    assert (closed["state"], closed["proof"]) == ("unproven", "UNPROVEN: prose, nothing to run")


def test_a_reported_run_counts_as_claimed(agent: Caller) -> None:
    agent("start", title="Parse", steps=STEPS)
    lines = agent.lines("close", proof={"command": "pytest -q", "exit_code": 0})
    assert lines[0].startswith("TASK-001 s:0 closed 1/3: CLAIMED: pytest -q -> exit 0")
    assert lines[1] == f"next: s:1 docs; in a shell: {clew_command('prove --task TASK-001 -- make docs')}"
    assert len("\n".join(lines)) <= 300


def test_a_reported_run_keeps_the_files_that_it_covers(agent: Caller) -> None:
    root = agent.clew.settings.project_root
    (root / "parser.py").write_text("x = 1\n")
    agent("start", title="Parse", steps=STEPS)
    files = ["parser.py", "./parser.py", str(root / "parser.py"), "../secret", "gone.py"]
    agent("close", proof={"command": "pytest -q", "exit_code": 0, "files": files})
    (evidence,) = agent("tasks_proofs", task="TASK-001")["evidence"]
    assert list(evidence["files"]) == ["parser.py"]
    assert agent("open", id="RCPT-001")["receipt"]["files"] == ["parser.py"]


def test_the_last_step_ends_the_task(agent: Caller) -> None:
    agent("start", title="Parse", steps=["only"])
    assert agent.lines("close", unproven="prose")[1] == "TASK-001 done"


def test_strict_work_wants_runs_that_clew_saw(agent: Caller) -> None:
    agent("start", title="Parse", steps=STEPS, strict=True)
    error = agent.error("close", proof={"command": "pytest -q", "exit_code": 0})
    assert error["code"] in ("PROOF_REQUIRED", "REASONING_REQUIRED")


def test_strict_work_is_done_with_the_agents_own_tools(agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader; test: make check", "docs", "words"], strict=True)
    seen(agent.clew, "TASK-001", "s:0", "make check")
    lacking = agent.error("close")
    assert lacking["code"] == "REASONING_REQUIRED" and "remember kind=decision step=s:0" in lacking["recovery"]
    agent("remember", kind="decision", text="Read line by line", why="files are large")
    assert agent("close")["state"] == "proven"
    guess = agent("remember", kind="hypothesis", text="Nobody reads the old docs")["id"]
    agent("remember", kind="test", text="Looked at a month of page views", rests_on=[guess])
    claimed = agent.error("close", proof={"command": "make docs", "exit_code": 0})
    assert claimed["code"] == "PROOF_REQUIRED" and "where Clew sees it" in claimed["recovery"]
    assert agent("close", unproven="the user reads it first")["state"] == "overridden"
    assert agent.error("close", proof="12 FAILED, 0 passed")["message"].startswith("s:2 ")
    assert "s:1 docs (overridden: the user reads it first" in "\n".join(agent.lines("resume"))


@pytest.mark.parametrize("named", ["s:1", "S:1", "1", "s1", "step 1"])
def test_a_step_may_be_named_in_several_ways(agent: Caller, named: str) -> None:
    agent("start", title="Parse", steps=STEPS)
    assert agent("close", step=named, unproven="seen")["step"] == "s:1"


def test_two_agents_never_act_on_each_others_focus(clew: Clew) -> None:
    one, two = connected(clew, "claude", "one"), connected(clew, "codex", "two")
    one("start", title="First", steps=["a", "b"])
    refused = two.answer("close", unproven="mine?")
    assert not refused.ok
    two("start", title="Second", steps=["c", "d"])
    assert two("close", unproven="done")["task"] == "TASK-002"
    assert one("close", unproven="done")["task"] == "TASK-001"
    way = refused.envelope["suggestions"][0]
    assert way["params"]["task"] == "TASK-001"


def test_the_focus_of_the_workspace_stays_where_it_is(agent: Caller) -> None:
    agent("start", title="Parse", steps=STEPS)
    assert agent("tasks_focus_get")["focus"] is None


def test_operations_of_the_seeds_mean_what_the_caller_started_where_no_focus_is_set(clew: Clew, agent: Caller) -> None:
    agent("start", title="Parse", steps=STEPS)
    assert agent("tasks_proofs")["target"]["id"] == "TASK-001"
    stranger = connected(clew, "codex", "two")
    assert stranger.error("tasks_proofs")["code"] == "INVALID_INPUT"
