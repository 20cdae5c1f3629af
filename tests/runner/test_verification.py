"""A job of kind verify runs the proofs of a task again, as far as the runner's owner allows."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.registry.connection import Connection
from clew.runner.configuration import Configuration
from clew.runner.slots import run
from tests.conftest import Caller


@pytest.fixture
def task(call: Caller) -> str:
    steps = [{"title": f"Step {number}", "success_criteria": ["ok"]} for number in range(2)]
    return str(call("tasks_macro_start", task_title="Importer", steps=steps)["task_id"])


def prove(clew: Clew, task: str, path: str, command: str) -> None:
    session = Connection(toolset="full", durable=False, witness="prove")
    given = {"task": task, "path": path, "command": command, "exit_code": 0}
    assert clew.dispatcher.call("tasks_receipt_record", given, session).ok


def verify(call: Caller, task: str, directory: Path, allow: list[str]) -> dict[str, Any]:
    own = {"type": "verify", "kinds": ["verify"], "allow": allow}
    configuration = Configuration.model_validate({"executors": {"verify": own}, "directory": str(directory)})
    job = call("tasks_jobs_create", kind="verify", task=task, title="Again", prompt="Run the proofs again.")["job_id"]
    assert run(call.clew, configuration, threading.Event(), once=True) == 1
    found: dict[str, Any] = call("tasks_jobs_open", job=job)["job"]
    return found


def test_proofs_that_hold_are_seen_again(call: Caller, task: str, tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    prove(call.clew, task, "s:0", "test -f there")
    ended = verify(call, task, tmp_path, ["test -f *"])
    assert (ended["status"], ended["summary"]) == ("DONE", "1 of 1 commands passed")
    again = call("open", id="RCPT-002")["receipt"]
    assert (again["grade"], again["source"], again["again"]) == ("seen", "runner", "RCPT-001")


def test_a_proof_that_no_longer_holds_is_disputed(call: Caller, task: str, tmp_path: Path) -> None:
    prove(call.clew, task, "s:0", "test -f there")
    ended = verify(call, task, tmp_path, ["test *"])
    assert (ended["status"], ended["summary"]) == ("FAILED", "0 of 1 commands passed; disputed: RCPT-001")
    assert call("tasks_proofs", task=task)["steps"][0]["state"] == "failed"


@pytest.mark.parametrize(
    "command", ["touch mark", "test -d . ; touch mark", "test -d $(touch mark)", "test -d .\ntouch mark"]
)
def test_what_the_owner_did_not_allow_is_not_run(call: Caller, task: str, tmp_path: Path, command: str) -> None:
    prove(call.clew, task, "s:0", command)
    ended = verify(call, task, tmp_path, ["test *"])
    assert ended["status"] == "FAILED"
    assert not (tmp_path / "mark").exists()


def test_where_nothing_was_seen_nothing_is_verified(call: Caller, task: str, tmp_path: Path) -> None:
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=["CMD: test -d ."])
    prove(call.clew, task, "s:1", "test -d . ; true")
    ended = verify(call, task, tmp_path, ["*"])
    assert ended["status"] == "FAILED" and ended["summary"].startswith("nothing to run again")


def test_what_needs_a_shell_may_be_allowed_word_for_word(call: Caller, task: str, tmp_path: Path) -> None:
    prove(call.clew, task, "s:0", "test -d . && touch mark")
    assert verify(call, task, tmp_path, ["test -d . && touch mark"])["status"] == "DONE"
    assert (tmp_path / "mark").exists()
