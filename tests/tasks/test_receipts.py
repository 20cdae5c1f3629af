"""Receipts: their grades, what they make of a step, which ways of closing prove nothing, and their chain."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.project_files import FRESH_NS, FileSnapshot, changed_files, take_snapshot
from clew.registry.connection import Connection
from tests.conftest import Caller

STEP = {"title": "Parse", "success_criteria": ["rows are read"], "tests": ["make test"]}
PLAIN = {"title": "Write", "success_criteria": ["rows are written"]}


@pytest.fixture
def task(call: Caller) -> str:
    plan = call("tasks_create", title="Importer")["id"]
    return str(call("tasks_create", title="Read files", parent=plan, steps=[STEP, PLAIN])["id"])


@pytest.fixture
def project(call: Caller) -> Path:
    root = call.clew.settings.project_root
    for number in range(10):
        (root / f"f{number}.py").write_text(f"x = {number}\n")
        os.utime(root / f"f{number}.py", (1_000_000_000, 1_000_000_000))
    return root


def prove(clew: Clew, task: str, path: str, command: str = "make test", code: int = 0, **more: Any) -> dict[str, Any]:
    """What `clew prove` keeps of a run."""
    session = Connection(toolset="full", durable=False, local=True, witness="prove")
    given = {"task": task, "path": path, "command": command, "exit_code": code, **more}
    answer = clew.dispatcher.call("tasks_receipt_record", given, session)
    assert answer.ok, answer.envelope["error"]
    result: dict[str, Any] = answer.envelope["result"]
    return result


def covering(snapshot: FileSnapshot) -> dict[str, Any]:
    return {"files": snapshot.files, "stamps": snapshot.stamps}


def state(call: Caller, task: str, path: str = "s:0") -> str:
    steps = call("tasks_proofs", task=task)["steps"]
    return str(next(step["state"] for step in steps if step["path"] == path))


def close(call: Caller, task: str, path: str = "s:0", **more: Any) -> None:
    call("tasks_macro_close_step", task=task, path=path, **more)


def test_a_seen_run_of_the_named_command_proves(call: Caller, task: str) -> None:
    kept = prove(call.clew, task, "s:0", output_tail="12 passed", duration_ms=5, git_dirty=False)
    assert (kept["receipt"]["grade"], kept["proof"]["state"]) == ("seen", "proven")
    close(call, task)
    assert state(call, task) == "proven"
    shown = call("open", id="RCPT-001")["receipt"]
    assert (shown["command"], shown["output_tail"], shown["intact"]) == ("make test", "12 passed", True)


def test_what_a_client_records_is_claimed(call: Caller, task: str) -> None:
    kept = call("tasks_receipt_record", task=task, path="s:0", command="make test", exit_code=0)
    assert (kept["receipt"]["grade"], kept["proof"]["state"]) == ("claimed", "claimed")


def test_a_claim_cannot_take_back_what_was_seen(call: Caller, task: str) -> None:
    prove(call.clew, task, "s:0", code=1)
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=["CMD: make test"])
    assert state(call, task) == "failed"
    assert call.error("tasks_close_step", task=task, path="s:0", checkpoints="gate")["code"] == "PROOF_REQUIRED"
    prove(call.clew, task, "s:0")
    close(call, task)
    assert state(call, task) == "proven"


def test_an_output_that_says_it_failed_is_believed_before_the_exit_code(call: Caller, task: str) -> None:
    assert prove(call.clew, task, "s:0", output_tail="3 failed, 9 passed")["receipt"]["grade"] == "failed"


def test_a_run_again_that_ends_otherwise_disputes_the_old_receipt(call: Caller, task: str) -> None:
    first = prove(call.clew, task, "s:0")["receipt"]["id"]
    again = prove(call.clew, task, "s:0", code=1, again=first)
    assert again["disputes"] == first and again["proof"]["state"] == "failed"


def require(call: Caller, task: str, path: str = "s:0") -> None:
    op = {"op": "set", "field": "proof_tests_mode", "value": "require"}
    call("tasks_patch", task=task, path=path, ops=[op])


def test_a_strict_task_wants_required_proof_to_be_seen(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, reasoning_mode="strict")
    call("think_card", target=task, step="s:0", card={"type": "decision", "title": "Use csv", "text": "It fits."})
    require(call, task)
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=["CMD: make test"])
    assert call.error("tasks_close_step", task=task, path="s:0", checkpoints="gate")["code"] == "PROOF_REQUIRED"
    override = {"reason": "no machine to run it on", "risk": "it may not build"}
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate", override=override)
    proof = call("tasks_proofs", task=task)["steps"][0]
    assert (proof["state"], "no machine" in proof["reason"]) == ("overridden", True)
    prove(call.clew, task, "s:0")
    assert state(call, task) == "proven"


def test_completing_on_stale_required_proof_needs_an_override(call: Caller, task: str, project: Path) -> None:
    require(call, task)
    prove(call.clew, task, "s:0", **covering(take_snapshot(project, ["f1.py"])))
    close(call, task)
    close(call, task, "s:1")
    (project / "f1.py").write_text("changed\n")
    error = call.error("tasks_complete", task=task)
    assert error["code"] == "PROOF_REQUIRED" and "STALE" in error["message"]
    call("tasks_complete", task=task, override={"reason": "docs only", "risk": "none seen"})
    assert state(call, task) == "overridden"


@pytest.mark.parametrize("with_git", [False, True])
def test_each_changed_file_makes_exactly_the_receipts_stale_that_cover_it(
    call: Caller, project: Path, with_git: bool
) -> None:
    if with_git:
        subprocess.run(["git", "init", "-q", str(project)], check=True)
    steps = [{"title": f"Step {number}", "success_criteria": ["ok"]} for number in range(20)]
    task = call("tasks_macro_start", task_title="Twenty", steps=steps)["task_id"]
    covers = {f"s:{n}": [f"f{n % 10}.py", f"f{(n * 3 + 1) % 10}.py"] for n in range(20)}
    for path, files in covers.items():
        prove(call.clew, task, path, f"check {path}", **covering(take_snapshot(project, files)))
    for number in range(10):
        name = f"f{number}.py"
        before = (project / name).read_text()
        (project / name).write_text("other\n")
        stale = {step["path"] for step in call("tasks_proofs", task=task)["steps"] if step["state"] == "stale"}
        assert stale == {path for path, files in covers.items() if name in files}
        (project / name).write_text(before)
        assert {step["state"] for step in call("tasks_proofs", task=task)["steps"]} == {"proven"}


def test_a_receipt_without_files_is_stale_on_another_commit(call: Caller, task: str, project: Path) -> None:
    (project / ".git" / "refs" / "heads").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (project / ".git" / "refs" / "heads" / "main").write_text("a" * 40 + "\n")
    prove(call.clew, task, "s:0", git_commit="a" * 40)
    assert state(call, task) == "proven"
    (project / ".git" / "refs" / "heads" / "main").write_text("b" * 40 + "\n")
    assert state(call, task) == "stale"


# Each leaves the step closed or open; in no case may it look proven.
Way = Callable[[Caller, str], object]


def _capture(**given: Any) -> Way:
    def way(call: Caller, task: str) -> None:
        call.answer("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", **given)
        call.answer("tasks_close_step", task=task, path="s:0", checkpoints="gate")

    return way


def _macro(**given: Any) -> Way:
    def way(call: Caller, task: str) -> None:
        call.answer("tasks_macro_close_step", task=task, path="s:0", **given)

    return way


def _other_step(call: Caller, task: str) -> None:
    receipt = prove(call.clew, task, "s:1")["receipt"]["id"]
    _macro(proof=receipt)(call, task)


def _another_command(call: Caller, task: str) -> None:
    prove(call.clew, task, "s:0", "ls src")
    _macro()(call, task)


def _cannot_fail(command: str) -> Way:
    def way(call: Caller, task: str) -> None:
        prove(call.clew, task, "s:0", command)
        _macro()(call, task)

    return way


def _unnamed(*runs: dict[str, Any]) -> Way:
    """Runs for a step that names no command, so that any run that could have failed would do."""

    def way(call: Caller, task: str) -> None:
        call("tasks_define", task=task, path="s:0", tests=["It reads every row"])
        for run in runs:
            prove(call.clew, task, "s:0", **run)
        _macro()(call, task)

    return way


def _failed_then_claimed(call: Caller, task: str) -> None:
    prove(call.clew, task, "s:0", code=2)
    _macro(proof="CMD: make test, exit 0")(call, task)


def _old_commit(call: Caller, task: str) -> None:
    root = call.clew.settings.project_root
    (root / "old.py").write_text("old")
    prove(call.clew, task, "s:0", **covering(take_snapshot(root, ["old.py"])))
    (root / "old.py").write_text("new")
    _macro()(call, task)


def _deleted(call: Caller, task: str) -> None:
    root = call.clew.settings.project_root
    (root / "old.py").write_text("old")
    prove(call.clew, task, "s:0", **covering(take_snapshot(root, ["old.py"])))
    (root / "old.py").unlink()
    _macro()(call, task)


def _relinked(call: Caller, task: str) -> None:
    root = call.clew.settings.project_root
    for name in ("one", "two"):
        (root / name).write_text(name)
    (root / "link.py").symlink_to("one")
    prove(call.clew, task, "s:0", **covering(take_snapshot(root, ["link.py"])))
    (root / "link.py").unlink()
    (root / "link.py").symlink_to("two")
    _macro()(call, task)


def _recorded_by_a_client(call: Caller, task: str) -> None:
    call("tasks_receipt_record", task=task, path="s:0", command="make test", exit_code=0, output_tail="ok")
    _macro()(call, task)


def _edited_row(sql: str) -> Way:
    def way(call: Caller, task: str) -> None:
        prove(call.clew, task, "s:0", code=1)
        with call.clew.database.write() as tx:
            tx.run(sql)
        _macro()(call, task)

    return way


def _undo_and_redo(call: Caller, task: str) -> None:
    _macro()(call, task)
    call("tasks_undo", task=task)
    call.answer("tasks_redo", task=task)


def _batch(call: Caller, task: str) -> None:
    step = {"task": task, "path": "s:0"}
    operations = [{"name": "tasks_close_step", "args": {**step, "checkpoints": "gate"}}]
    call.answer("tasks_batch", operations=operations, atomic=True)


def _taken_back(*codes: int) -> Way:
    """Runs that Clew saw, of which the last is disowned before the step is closed."""

    def way(call: Caller, task: str) -> None:
        last = [prove(call.clew, task, "s:0", code=code)["receipt"]["id"] for code in codes][-1]
        call("retract", id=last, why="It ran elsewhere")
        _macro()(call, task)

    return way


def _taken_back_afterwards(call: Caller, task: str) -> None:
    prove(call.clew, task, "s:0")
    _macro()(call, task)
    call("retract", id="EV-001", why="It ran elsewhere")


def _closed(*proofs: Any) -> Way:
    """The tool of agents, once for each proof: what it refuses is left out."""

    def way(call: Caller, task: str) -> None:
        for proof in proofs:
            call.answer("close", task=task, step="s:0", proof=proof)

    return way


WAYS: dict[str, Way] = {
    "nothing": _macro(),
    "a word": _macro(proof="lol"),
    "a command never run": _macro(proof="CMD: make test"),
    "a link": _macro(proof="LINK: https://ci.example/1"),
    "a list": _macro(proof=["make test", "https://ci.example/1"]),
    "a note": _macro(note="All good.\nCMD: make test"),
    "failures in words": _macro(proof="12 FAILED, 0 passed"),
    "an exit code in words": _macro(proof="make test, exit code 1"),
    "a traceback": _macro(proof="make test\nTraceback (most recent call last):"),
    "an exit code": _macro(proof={"items": [{"command": "make test", "exit_code": 1}]}),
    "an exit code of 0": _macro(proof={"items": [{"command": "make test", "exit_code": 0}]}),
    "output that failed": _macro(proof={"items": [{"command": "make test", "exit_code": 0, "stdout": "2 failed"}]}),
    "a form": _macro(proof="CMD: <fill: what you ran>"),
    "a notebook run that is not there": _macro(
        proof="CMD: notebook_run_cell notebookId=NB-999 cellId=CELL-0001 # run 77, exit 0, output sha256:" + "0" * 64
    ),
    "a receipt that is not there": _macro(proof="RCPT-999"),
    "a receipt of another step": _other_step,
    "evidence that calls itself seen": _capture(
        items=[{"command": "make test", "exit_code": 0, "grade": "seen", "source": "prove"}]
    ),
    "evidence with made-up digests": _capture(
        items=[{"command": "make test", "exit_code": 0, "output_digest": "sha256:1", "files": {"a.py": "sha256:2"}}]
    ),
    "an attachment": _capture(attachments=["https://ci.example/1"]),
    "another checkpoint": _capture(checks=["CMD: make test"]),
    "a client's own record": _recorded_by_a_client,
    "another command": _another_command,
    "true": _cannot_fail("true"),
    "make test || true": _cannot_fail("make test || true"),
    "echo": _cannot_fail("echo 12 passed"),
    "the command and something else": _cannot_fail("make test; true"),
    "the command named in an echo": _cannot_fail("echo make test"),
    "the command in another folder": _cannot_fail("cd docs && make test"),
    "nothing to be done": _unnamed({"output_tail": "make: Nothing to be done for 'test'."}),
    "the named command with nothing to do": lambda call, task: (
        prove(call.clew, task, "s:0", output_tail="make: 'test' is up to date."),
        _macro()(call, task),
    ),
    "an unnamed pipe": _unnamed({"command": "pytest -q | tail -1", "output_tail": "1 passed"}),
    "an unnamed look": _unnamed({"command": "ls src"}),
    "tests collected only": _unnamed({"command": "pytest --collect-only", "output_tail": "3 tests collected"}),
    "no test selected": _unnamed({"command": "pytest -k nothing", "output_tail": "4 deselected in 0.1s"}),
    "a failure and then something that cannot fail": _unnamed({"code": 1}, {"command": "true"}),
    "a run that covers nothing at all": _unnamed({"files": {}}),
    "covered files that are gone": lambda call, task: _deleted(call, task),
    "a link that leads elsewhere now": lambda call, task: _relinked(call, task),
    "a receipt of an earlier step": lambda call, task: (
        _macro(path="s:1", proof=prove(call.clew, task, "s:1")["receipt"]["id"]),
        _macro(proof="RCPT-001")(call, task),
    ),
    "a failed run and then a claim": _failed_then_claimed,
    "an old state of the files": _old_commit,
    "an edited grade": _edited_row("UPDATE proof_receipt SET grade = 'seen'"),
    "an edited exit code": _edited_row("UPDATE proof_receipt SET grade = 'seen', exit_code = 0"),
    "an edited digest": _edited_row("UPDATE proof_receipt SET grade = 'seen', digest = 'x'"),
    "undo and redo": _undo_and_redo,
    "a batch": _batch,
    "override of a task that is not strict": _macro(override={"reason": "trust me", "risk": "none"}),
    "a run that was taken back": _taken_back(0),
    "a failed run that was taken back": _taken_back(1),
    "a refuted run whose refutation was taken back": _taken_back(0, 1),
    "evidence that was taken back afterwards": _taken_back_afterwards,
    "a report of true": _closed({"command": "true", "exit_code": 0}),
    "words of an agent": _closed("tests passed"),
    "a report of another command": _closed({"command": "make lint", "exit_code": 0}),
    "one report after the other": _closed("tests passed", {"command": "make test", "exit_code": 0}, "seen by me"),
    "confirmations only": lambda call, task: call("tasks_verify", task=task, path="s:0", checkpoints="all"),
}


@pytest.mark.parametrize("name", WAYS)
def test_no_way_of_closing_looks_proven_without_proof(call: Caller, task: str, name: str) -> None:
    WAYS[name](call, task)
    found = state(call, task)
    assert found in {"claimed", "unproven", "failed", "stale", "overridden"}
    closed = call("tasks_proofs", task=task)["steps"][0]["completed"]
    line = str(call.answer("tasks_snapshot", task=task, fmt="lines").text)
    assert not closed or f"| proof s:0 {found}" in line, "and whoever looks is told"


def test_grades_are_shown_wherever_a_proof_is(call: Caller, task: str, project: Path) -> None:
    prove(call.clew, task, "s:0", **covering(take_snapshot(project, ["f1.py"])))
    close(call, task)
    close(call, task, "s:1", proof="CMD: make docs")
    grades = {"s:0": "proven", "s:1": "claimed"}
    for changed in (False, True):
        if changed:
            (project / "f1.py").write_text("changed\n")
            grades["s:0"] = "stale"
        told = "1 proven; s:1 claimed" if not changed else "s:0 stale, s:1 claimed"
        assert f"| proof {told} |" in str(call.answer("tasks_snapshot", task=task, fmt="lines").text)
        snapshot, handoff = call("tasks_snapshot", task=task), call("tasks_handoff", task=task)
        for radar in (snapshot["capsule"]["radar"], handoff["radar"], call("tasks_radar", task=task)["radar"]):
            assert radar["proof"] == told
        for path, line in zip(grades, handoff["handoff"]["done"], strict=True):
            assert line.startswith(path) and line.endswith(f", {grades[path]})")
        lines, shown = call.answer("resume", task=task, fmt="lines").text, call("resume", task=task)
        for text in (str(lines), shown["text"]):
            assert (
                "1 stale (files changed since: s:0)" in text
            ) is changed and "2 of 2 done: 1 seen, 1 claimed (s:1)" in text
        states = {step["path"]: step["state"] for step in call("tasks_proofs", task=task)["steps"]}
        assert states == grades
    found = {hit["_id"]: hit["status"] for hit in call("recall", query="make test docs", limit=20)["results"]}
    assert (found["EV-001"], found["EV-002"]) == ("seen", "claimed")
    assert call("open", id="RCPT-001")["summary"] == "seen: make test"


@pytest.mark.parametrize("name", ["failures in words", "an exit code in words", "a traceback", "an exit code"])
def test_a_failed_run_leaves_the_step_open(call: Caller, task: str, name: str) -> None:
    WAYS[name](call, task)
    assert not call("tasks_proofs", task=task)["steps"][0]["completed"]


COLUMNS = {"grade": "'claimed'", "command": "'other'", "exit_code": "7", "files": "'{}'", "ts_ms": "1", "prev": "'0'"}


@pytest.mark.parametrize("column", COLUMNS)
def test_one_changed_value_in_a_receipt_is_found(call: Caller, task: str, column: str) -> None:
    for _ in range(3):
        prove(call.clew, task, "s:0")
    assert call("tasks_chain_verify")["intact"]
    with call.clew.database.write() as tx:
        tx.run(f"UPDATE proof_receipt SET {column} = {COLUMNS[column]} WHERE number = 2")
    found = call("tasks_chain_verify")
    assert [item["where"] for item in found["breaks"]] == ["RCPT-002"]


KEYS = {"proof_receipt": ("number", 2), "event": ("seq", 2)}


@pytest.mark.parametrize("table", KEYS)
def test_one_changed_byte_in_any_column_is_found(call: Caller, task: str, table: str) -> None:
    for number in range(3):
        prove(
            call.clew, task, "s:0", output_tail=f"{number} passed", git_commit="a" * 40, git_dirty=False, duration_ms=9
        )
    key, wanted = KEYS[table]
    with call.clew.database.read() as tx:
        row = tx.one(f"SELECT * FROM {table} WHERE workspace = 'ws' AND {key} = ?", wanted)
    assert row is not None and call("tasks_chain_verify")["intact"]
    unnoticed = [column for column in row if not _is_noticed(call, table, key, wanted, column, row[column])]
    assert unnoticed == []
    assert call("tasks_chain_verify")["intact"], "everything was put back"


def _is_noticed(call: Caller, table: str, key: str, wanted: int, column: str, value: Any) -> bool:
    """Change one value by one byte, ask, and put it back."""
    other = value + 1000 if isinstance(value, int) else (value[:-1] + chr(ord(value[-1]) ^ 4) if value else "x")
    if value is None:
        other = 1 if column in NUMBERS else "x"
    place = (other, "ws") if column == key else (wanted, "ws") if column != "workspace" else (wanted, other)
    _set(call, table, key, column, other, wanted, "ws")
    noticed = not call("tasks_chain_verify")["intact"]
    _set(call, table, key, column, value, *place)
    return noticed


NUMBERS = {"exit_code", "duration_ms", "git_dirty", "seq", "ts_ms", "number"}


def _set(call: Caller, table: str, key: str, column: str, value: Any, at: int, workspace: str) -> None:
    with call.clew.database.write() as tx:
        tx.run(f"UPDATE {table} SET {column} = ? WHERE workspace = ? AND {key} = ?", value, workspace, at)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_removed_receipt_is_missed(call: Caller, task: str, number: int) -> None:
    for _ in range(3):
        prove(call.clew, task, "s:0")
    with call.clew.database.write() as tx:
        tx.run("DELETE FROM proof_receipt WHERE number = ?", number)
    assert not call("tasks_chain_verify")["intact"]


@pytest.mark.parametrize("change", ["payload = '{}'", "type = 'step_done'", "agent = 'mallory'", "ts_ms = ts_ms + 1"])
def test_one_changed_value_in_an_event_is_found(call: Caller, task: str, change: str) -> None:
    with call.clew.database.write() as tx:
        tx.run(f"UPDATE event SET {change} WHERE seq = 2")
    found = call("tasks_chain_verify")
    assert [item["where"] for item in found["breaks"]] == ["evt_0000000000000002"]


def test_a_removed_event_is_missed_wherever_it_stood(call: Caller, task: str) -> None:
    with call.clew.database.write() as tx:
        last = tx.value("SELECT max(seq) FROM event")
        tx.run("DELETE FROM event WHERE seq = ?", last)
    assert [item["where"] for item in call("tasks_chain_verify")["breaks"]] == [f"evt_{last:016d}"]


def test_what_is_undone_inside_a_call_leaves_the_chain_whole(call: Caller, task: str) -> None:
    steps = [{"title": "Look", "success_criteria": ["seen"]}]
    think = {"frame": "What is slow?", "status": {"decision": "open"}}
    answer = call.answer("tasks_bootstrap", plan_title="P", task_title="T", steps=steps, think=think)
    assert [item["code"] for item in answer.envelope["warnings"]] == ["THINK_PIPELINE_FAILED"]
    call.error("tasks_macro_close_step", task=task, path="s:0", note="x", proof="2 failed")
    prove(call.clew, task, "s:0")
    assert call("tasks_chain_verify")["intact"]


def test_receipts_outlive_their_task(call: Caller, task: str) -> None:
    prove(call.clew, task, "s:0")
    call("tasks_delete", task=task)
    assert call("open", id="RCPT-001")["receipt"]["intact"]
    assert call("tasks_chain_verify")["intact"]


def test_a_snapshot_is_of_the_content(project: Path) -> None:
    found = take_snapshot(project, ["f1.py", "missing.py"])
    assert found.files == {"f1.py": "sha256:" + hashlib.sha256(b"x = 1\n").hexdigest()}


def test_only_files_are_read_and_large_ones_by_their_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.project_files.MOST_BYTES", 10)
    os.mkfifo(tmp_path / "pipe")  # reading it would wait for a writer that never comes
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_text("x" * 11)
    odd = os.fsdecode(b"\xff.py")
    (tmp_path / odd).write_text("x")
    found = take_snapshot(tmp_path, ["pipe", "folder", "large", odd])
    assert list(found.files) == ["large"]
    assert changed_files(tmp_path, found.files, {}) == []
    (tmp_path / "large").write_text("y" * 11)
    os.utime(tmp_path / "large", (1, 1))
    assert changed_files(tmp_path, found.files, found.stamps) == ["large"]


def test_ten_thousand_untouched_files_are_looked_at_in_a_moment(tmp_path: Path) -> None:
    names = [f"d{number % 100}/f{number}.py" for number in range(10_000)]
    for folder in range(100):
        (tmp_path / f"d{folder}").mkdir()
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    time.sleep(2 * FRESH_NS / 1e9)  # the files settle: younger ones are read, whatever their stamp
    found = take_snapshot(tmp_path, names)
    (tmp_path / names[7]).write_bytes(b"y")
    took = []
    for _ in range(5):
        begun = time.process_time()  # what it costs, however busy the machine is otherwise
        assert changed_files(tmp_path, found.files, found.stamps) == [names[7]]
        took.append(time.process_time() - begun)
    assert min(took) < 0.3, "0.03 s, and room for a slow machine"
