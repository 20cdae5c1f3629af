"""blame: what touched a file or one of its lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import open_clew
from clew.settings import load_settings
from tests.conftest import Caller
from tests.history.transcripts import EDITED, claude
from tests.importers.fixtures import git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "relay"
    (project / "src" / "relay").mkdir(parents=True)
    git(project, "init", "-q", "-b", "main")
    for number, line in enumerate(("deadline = 10", "margin = 2")):
        with (project / EDITED).open("a") as file:
            file.write(f"{line}\n")
        git(project, "add", ".")
        git(project, "commit", "-q", "-m", f"Add line {number}")
    return project


@pytest.fixture
def call(database_flags: dict[str, Any], project: Path, tmp_path: Path, monkeypatch: Any) -> Iterator[Caller]:
    home = tmp_path / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    claude(home, project, "s-1")
    flags = {"workspace": "ws", "workspace_lock": False, "embedding_model": "none", **database_flags}
    clew = open_clew(load_settings(flags, {}, project))
    yield Caller(clew)
    clew.close()


def test_a_file_shows_its_commits_records_and_sessions(call: Caller) -> None:
    call("remember", kind="decision", text="Renew at half of the deadline", why="skew", about=[EDITED])
    call("remember", kind="decision", text="Log in JSON", why="grep", about=["src/relay/log.py"])
    call("history_import", dry_run=False)
    result = call("blame", file=EDITED)
    assert [item["subject"] for item in result["commits"]] == ["Add line 1", "Add line 0"]
    assert [(item["id"], item["label"]) for item in result["records"]] == [("D-1", "in force")]
    assert [item["session"] for item in result["sessions"]] == ["claude_code:s-1"]
    shown = call.answer("blame", file=EDITED, fmt="lines").text
    assert "D-1 (decision, in force): Renew at half of the deadline" in shown


def test_a_line_shows_its_own_commit(call: Caller) -> None:
    for given in ({"file": f"{EDITED}:1"}, {"file": EDITED, "line": 1}):
        assert [item["subject"] for item in call("blame", **given)["commits"]] == ["Add line 0"]
    assert call("blame", file=f"{EDITED}:99")["commits"] == []
    assert call.error("blame", file="src/gone.py:1")["code"] == "NOT_FOUND"


def test_a_run_that_covered_the_file_is_shown(call: Caller) -> None:
    call("start", title="Lease", steps=["test it"])
    call(
        "tasks_receipt_record", task="TASK-001", path="s:0", command="pytest -q", exit_code=0, files={EDITED: "0" * 64}
    )
    (run,) = call("blame", file=EDITED)["runs"]
    assert (run["of"], run["command"]) == ("TASK-001 s:0", "pytest -q")


def test_a_file_of_which_nothing_is_known(call: Caller) -> None:
    assert "nothing is known about src/new.py" in call.answer("blame", file="src/new.py", fmt="lines").text
