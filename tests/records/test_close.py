"""close: what a report is worth, how a better proof is added later, and what becomes of a step whose proof is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.surroundings import clew_command, surrounded
from tests.conftest import Caller
from tests.records.test_work import connected
from tests.tasks.test_receipts import prove as seen

TEST = "/opt/venv/bin/python -m pytest -q test_log.py -k parse"
STEPS = [f"parser; test: {TEST}", "docs"]
RAN = {"command": TEST, "exit_code": 0, "output": "5 passed in 3.29s"}


@pytest.fixture
def agent(clew: Clew) -> Caller:
    caller = connected(clew, "coder", "one")
    caller("start", title="Merge logs", steps=STEPS)
    return caller


def told(agent: Caller, name: str, /, **arguments: Any) -> str:
    return "\n".join(agent.lines(name, **arguments))


def step_id(agent: Caller, path: str = "s:0") -> str:
    return str(agent("open", id=path)["id"])


def test_a_named_step_is_that_of_the_only_open_task(clew: Clew, agent: Caller) -> None:
    other = connected(clew, "codex", "two")
    assert "task: you have not started" in other.error("close", proof=RAN)["message"], "no step, no task: not meant"
    assert told(other, "close", step="s:0", proof=RAN).startswith("TASK-001 s:0 closed 1/2")
    agent("start", title="Another", steps=["one"])
    third = connected(clew, "gemini", "three")
    assert "task: you have not started" in third.error("close", step="s:1", unproven="prose")["message"]


IDLE = ["true", ":", "echo 12 passed", "exit 0", "cd src && true", "sh -c 'exit 0'", "/bin/true", "sudo true"]


@pytest.mark.parametrize("command", IDLE)
@pytest.mark.parametrize("form", ["run", "text"])
def test_a_command_that_cannot_fail_is_no_proof(agent: Caller, command: str, form: str) -> None:
    proof = {"command": command, "exit_code": 0} if form == "run" else command
    refused = agent.error("close", step="s:0", proof=proof)
    assert refused["code"] == "PROOF_REQUIRED" and f"`{command}` passes whatever is done" in refused["message"]
    assert f"prove --step {step_id(agent)} -- {TEST}" in refused["recovery"]
    assert "proof={command, exit_code, output}" in refused["recovery"] and "unproven" in refused["recovery"]
    assert agent("open", id="s:0")["proof"] == "UNPROVEN", "and nothing of it is kept"


def test_a_run_of_true_that_clew_saw_proves_nothing_either(agent: Caller) -> None:
    seen(agent.clew, "TASK-001", "s:0", "true")
    assert "`true` passes whatever is done" in agent.error("close", step="s:0")["message"]


def test_a_reported_failure_is_not_taken_back_by_something_that_cannot_fail(agent: Caller) -> None:
    arguments = {"task": "TASK-001", "path": "s:1", "checkpoint": "tests"}
    for item in ({"command": "make docs", "exit_code": 2}, {"command": "true", "exit_code": 0}):
        agent("op_call", name="tasks_evidence_capture", arguments={**arguments, "items": [item]})
    assert "FAILED (reported): make docs" in agent.error("close", step="s:1")["message"]


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_words_about_a_failure_are_refused_and_not_kept(agent: Caller, closed: bool) -> None:
    agent.answer("close", step="s:0", proof={**RAN, "exit_code": 1})
    if closed:
        agent("close", step="s:0", unproven="no time")
    refused = agent.error("close", step="s:0", proof="trust me", note="fine")
    assert refused["code"] == "PROOF_REQUIRED" and "exit 1" in refused["message"]
    for view in (told(agent, "open", id="s:0"), told(agent, "resume")):
        assert "trust me" not in view and "fine" not in view
    assert agent("close", step="s:0", proof=RAN)["state"] == "claimed"


@pytest.mark.parametrize("text", ["date parsing checked by hand", "true for every row of the table"])
def test_a_sentence_that_begins_like_a_command_is_a_claim(agent: Caller, text: str) -> None:
    assert agent("close", step="s:1", proof=text)["state"] == "claimed"


def test_another_command_than_the_step_names_is_warned_of_and_stays_visible(agent: Caller) -> None:
    shown = told(agent, "close", step="s:0", proof={"command": "make lint", "exit_code": 0})
    assert f"CLAIMED: make lint -> exit 0, not the step's test: {TEST}" in shown
    assert f"PROOF_WEAK the step names `{TEST}`; this was `make lint`" in shown
    assert f"prove --step {step_id(agent)} -- {TEST}" in shown
    for view in (told(agent, "open", id="s:0"), told(agent, "resume")):
        assert "not the step's test" in view


def test_a_run_of_the_named_test_is_claimed_without_a_warning(agent: Caller) -> None:
    shown = told(agent, "close", step="s:0", proof=RAN)
    assert "CLAIMED" in shown and "Clew did not see the run" in shown and "WARNING" not in shown


@pytest.mark.parametrize("command", ["pytest -q | tail -3", "pytest -q || true", "pytest --collect-only"])
def test_a_run_whose_exit_code_shows_little_says_so(agent: Caller, command: str) -> None:
    shown = told(agent, "close", step="s:1", proof={"command": command, "exit_code": 0})
    assert f"PROOF_WEAK `{command}` shows little" in shown
    assert agent("open", id="s:1")["proof"].startswith(f"CLAIMED: {command} -> exit 0, it")


def test_words_close_a_step_and_the_answer_says_what_to_give_instead(agent: Caller) -> None:
    shown = told(agent, "close", step="s:0", proof="tests passed")
    assert "s:0 closed 1/2: CLAIMED: tests passed" in shown
    assert f"PROOF_WEAK `tests passed` names no command with its exit code; the step names `{TEST}`" in shown
    assert "proof={command, exit_code, output}" in shown and "prove --step" in shown and "LINK" not in shown


def test_the_words_of_the_contract_stay_behind_its_own_names(agent: Caller) -> None:
    answer = Caller(agent.clew).answer(
        "tasks_macro_close_step", task="TASK-001", path="s:0", proof="CMD: make test", checkpoints="gate"
    )
    assert [item["message"] for item in answer.envelope["warnings"]] == ["the proof has no LINK receipt"]


def test_a_better_proof_is_added_to_a_done_step(agent: Caller) -> None:
    agent("close", step="s:0", proof="tests passed")
    shown = told(agent, "close", step="s:0", proof=RAN)
    assert shown.startswith(f"proof of s:0 is now CLAIMED: {TEST} -> exit 0") and "(was CLAIMED: tests passed" in shown
    receipt = seen(agent.clew, "TASK-001", "s:0", TEST)["receipt"]["id"]
    assert told(agent, "close", step="s:0", proof=receipt).startswith(f"proof of s:0 is now PROVEN: {TEST}")
    told(agent, "close", step="s:0", proof="looked at it again")
    assert agent("open", id="s:0")["proof"].startswith("PROVEN"), "the better grade wins"


def test_a_weaker_claim_does_not_take_the_place_of_a_better_one(agent: Caller) -> None:
    agent("close", step="s:0", proof=RAN)
    for weaker in ("tests passed", {"command": "make lint", "exit_code": 0}):
        assert agent("close", step="s:0", proof=weaker)["proof"].startswith(f"CLAIMED: {TEST} -> exit 0")


def test_a_step_closed_without_proof_is_proven_later(agent: Caller) -> None:
    agent("close", step="s:0", unproven="no machine here")
    assert "(was UNPROVEN: no machine here)" in told(agent, "close", step="s:0", proof=RAN)


def test_a_done_step_is_closed_again_only_with_proof_and_the_way_to_reopen_is_named(agent: Caller) -> None:
    agent("close", step="s:0", proof="tests passed")
    id = step_id(agent)
    refused = agent.error("close", step="s:0")
    assert "is done already: CLAIMED: tests passed" in refused["message"]
    assert f"retract id={id}" in refused["recovery"] and "proof={command" in refused["recovery"]
    failed = agent.error("close", step="s:0", proof={"command": TEST, "exit_code": 1})
    assert failed["code"] == "PROOF_REQUIRED" and "FAILED (reported)" in agent("open", id="s:0")["proof"]
    first = agent("op_search", query="reopen a closed step")["operations"][0]
    assert first["name"] == "retract"
    agent("retract", id=id, why="The test was never run.")
    assert agent("open", id=id)["status"] == "open" and "reopened: The test was never run." in told(
        agent, "open", id=id
    )
    agent("close", step="s:0", proof=RAN)
    assert "reopened:" not in told(agent, "open", id=id)


def test_a_run_that_is_reported_as_failed_closes_nothing_and_stays_on_the_step(agent: Caller) -> None:
    refused = agent.error("close", step="s:0", proof={"command": TEST, "exit_code": 1}, note="the last row is lost")
    assert refused["code"] == "PROOF_REQUIRED" and f"FAILED (reported): {TEST} -> exit 1" in refused["message"]
    assert "The failure is kept" in refused["recovery"] and "unproven with a reason" in refused["recovery"]
    opened = told(agent, "open", id="s:0")
    assert f"proof: FAILED (reported): {TEST} -> exit 1" in opened and "note: the last row is lost" in opened
    assert "s:0 parser: open, failed" in told(agent, "open", id="TASK-001")
    other = connected(agent.clew, "coder", "two")
    assert f"so far FAILED (reported): {TEST} -> exit 1" in told(other, "resume", task="TASK-001")
    assert "CLAIMED" in told(agent, "close", step="s:0", proof=RAN), "the same command passes, so the failure is over"


def test_a_step_is_closed_in_spite_of_a_reported_failure_only_with_a_reason_that_tells_it(agent: Caller) -> None:
    agent.error("close", step="s:1", proof={"command": "make docs", "exit_code": 2})
    shown = told(agent, "close", step="s:1", unproven="the theme is broken upstream")
    assert "closed 1/2: UNPROVEN: the theme is broken upstream; reported as failed: make docs -> exit 2" in shown
    assert "1 unproven (s:1)" in told(agent, "resume")


def test_a_strict_step_is_not_closed_in_spite_of_a_reported_failure(agent: Caller) -> None:
    agent("start", title="Release", steps=["tag; test: make tag"], strict=True)
    agent("remember", kind="decision", text="Tag by hand", why="It is rare", step="s:0")
    failed = {"command": "make tag", "exit_code": 1}
    for arguments in ({"proof": failed}, {"unproven": "never mind"}):
        refused = agent.error("close", step="s:0", **arguments)
        assert "FAILED (reported)" in refused["message"] and "unproven" not in refused["recovery"]


def test_what_was_only_claimed_is_said_to_be_unproven_afterwards(agent: Caller) -> None:
    agent("close", step="s:0", proof="I looked at it")
    agent("close", step="s:0", proof={"command": "make lint", "exit_code": 0})
    shown = told(agent, "close", step="s:0", unproven="nobody has run it")
    assert shown.startswith("proof of s:0 is now UNPROVEN: nobody has run it (was CLAIMED: make lint -> exit 0")
    assert "s:0 parser: done, unproven" in told(agent, "open", id="TASK-001")
    assert "claimed" not in told(agent, "resume") and "1 unproven (s:0)" in told(agent, "resume")
    assert "now CLAIMED" in told(agent, "close", step="s:0", proof=RAN)
    assert "unproven, with the reason, takes the claim back" in agent.error("close", step="s:0")["recovery"]


def test_words_do_not_take_back_a_run_that_clew_saw_and_the_way_that_does_is_named(agent: Caller) -> None:
    seen(agent.clew, "TASK-001", "s:0", TEST)
    agent("close", step="s:0")
    answer = agent.answer("close", step="s:0", unproven="it ran elsewhere")
    assert answer.envelope["error"]["code"] == "CONFLICT" and agent("open", id="s:0")["proof"].startswith("PROVEN")
    first = answer.envelope["suggestions"][0]
    agent(first["target"], **first["params"])
    assert "UNPROVEN" in agent("open", id="s:0")["proof"]


def test_a_strict_step_without_its_claim_is_open_again(agent: Caller) -> None:
    agent("start", title="Release", steps=["tag"], strict=True)
    agent("remember", kind="decision", text="Tag by hand", why="It is rare", step="s:0")
    assert agent("close", step="s:0", unproven="no machine")["status"] == "done"
    shown = told(agent, "close", step="s:0", task="TASK-002", unproven="still none")
    assert "more than a claim: OVERRIDDEN" in shown


def test_a_step_whose_only_proof_is_taken_back_stays_done_and_says_that_nothing_proves_it(agent: Caller) -> None:
    agent("close", step="s:0", proof={"command": "make lint", "exit_code": 0})
    shown = told(agent, "retract", id="RCPT-001", why="It proves nothing about the parser.")
    assert "s:0 stays done, UNPROVEN now; close step=s:0 with proof mends it" in shown and len(shown) <= 400
    why = "disowned RCPT-001: It proves nothing about the parser."
    assert agent("open", id="s:0")["proof"] == f"UNPROVEN: {why}"
    assert "1 unproven (s:0)" in told(agent, "resume") and "claimed" not in told(agent, "resume")
    assert not agent("open", id="EV-001")["evidence"]["proves"]
    assert "EV-001 (about)" in told(agent, "open", id="s:0")
    assert told(agent, "close", step="s:0", proof=RAN).startswith("proof of s:0 is now CLAIMED")


def test_the_run_before_counts_again_unless_it_was_refuted(agent: Caller) -> None:
    agent("close", step="s:0", proof={"command": "make lint", "exit_code": 0})
    agent("close", step="s:0", proof=RAN)
    shown = told(agent, "retract", id="RCPT-002", why="Another checkout.")
    assert "s:0 stays done, now CLAIMED: make lint" in shown
    for code in (0, 1):
        seen(agent.clew, "TASK-001", "s:1", "make docs", code)
    agent("retract", id="RCPT-005", why="It was late.")
    assert agent("open", id="s:1")["proof"].startswith("UNPROVEN: disowned RCPT-005")


@pytest.mark.parametrize("way", ["strict", "required"])
def test_a_step_that_demands_proof_is_open_again_when_its_proof_is_taken_back(agent: Caller, way: str) -> None:
    if way == "strict":
        agent("start", title="Release", steps=["tag; test: make tag"], strict=True)
        agent("remember", kind="decision", text="Tag by hand", why="It is rare", step="s:0")
    else:
        agent("start", title="Release", steps=["tag; test: make tag"])
        op = {"op": "set", "field": "proof_tests_mode", "value": "require"}
        agent("op_call", name="tasks_patch", arguments={"task": "TASK-002", "path": "s:0", "ops": [op]})
    seen(agent.clew, "TASK-002", "s:0", "make tag")
    assert agent("close", task="TASK-002", proof="RCPT-001")["status"] == "done"
    shown = told(agent, "retract", id="RCPT-001", why="It ran elsewhere.")
    assert "s:0 is open again" in shown
    assert "0 of 1 done" in told(agent, "resume", task="TASK-002")


def test_steps_and_evidence_agree_about_what_changed(agent: Caller) -> None:
    root = agent.clew.settings.project_root
    (root / "log.py").write_text("x = 1\n")
    agent("close", step="s:0", proof={**RAN, "files": ["log.py"]})
    assert "changed" not in told(agent, "op_read", name="tasks_proofs", arguments={"task": "TASK-001"})
    (root / "log.py").write_text("x = 2\n")
    found = agent("tasks_proofs", task="TASK-001")
    assert (found["stale"], found["steps"][0]["changed"], found["steps"][1]["changed"]) == (["EV-001"], ["log.py"], [])
    shown = told(agent, "op_read", name="tasks_proofs", arguments={"task": "TASK-001"})
    assert "1 file changed since" in shown and "changed since: log.py" in shown and "stale: EV-001" in shown
    assert "1 stale (files changed since: s:0)" in told(agent, "resume")


def test_a_recorded_receipt_is_answered_in_two_lines(agent: Caller) -> None:
    given = {"task": "TASK-001", "path": "s:0", "command": TEST, "exit_code": 0, "output_tail": "5 passed"}
    lines = agent.lines("op_call", name="tasks_receipt_record", arguments=given)
    assert lines == [
        f"RCPT-001 claimed: {TEST} -> exit 0",
        "TASK-001 s:0 is claimed: Clew did not see the run",
    ]


def test_advice_for_the_shell_runs_where_no_clew_is_on_the_path(agent: Caller, tmp_path: Path) -> None:
    with surrounded({"PATH": str(tmp_path)}, tmp_path):
        own = clew_command("prove")
        assert own.startswith("/") and own.endswith(("/clew prove", " -m clew prove"))
        advised = [told(agent, "resume"), agent.error("close", step="s:0")["recovery"]]
        assert all(own in text for text in advised)
        rule = {"kind": "rule", "text": "Never force", "guard": {"commands": ["git push * --force"]}}
        assert clew_command("guards approve R-1") in told(agent, "remember", **rule)
        assert clew_command("guards approve R-1") in agent.error("guard_approve", id="R-1")["recovery"]
    (tmp_path / "clew").write_text("#!/bin/sh\n")
    (tmp_path / "clew").chmod(0o755)
    with surrounded({"PATH": str(tmp_path)}, tmp_path):
        assert "next: clew prove --task TASK-001" in told(agent, "resume")


@pytest.mark.parametrize("proof", [TEST, {"command": TEST}])
def test_an_exit_code_that_was_not_said_is_not_made_up(agent: Caller, proof: Any) -> None:
    shown = told(agent, "close", step="s:0", proof=proof)
    assert "exit 0" not in shown and "PROOF_WEAK" in shown
