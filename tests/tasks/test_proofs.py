"""Evidence of a task, and proofs that went stale because a file under them changed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from tests.conftest import Caller


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def project(caller: Caller) -> Path:
    place = caller.clew.settings.project_root
    (place / "cache.py").write_text("ttl = 1\n")
    return place


@pytest.fixture
def caller(clew: Clew) -> Caller:
    return Caller(clew)


@pytest.fixture
def task(caller: Caller) -> str:
    steps = [{"title": "Cache", "success_criteria": ["fast"], "tests": ["make test"]}]
    found: str = caller("tasks_macro_start", plan_title="Speed", task_title="Cache", steps=steps)["task_id"]
    return found


def prove(caller: Caller, task: str, files: dict[str, str], command: str = "make test") -> None:
    proof = {"command": command, "exit_code": 0, "files": files}
    caller("tasks_evidence_capture", task=task, path="s:0", artifacts=[proof])


def proofs(caller: Caller, task: str, **arguments: Any) -> list[tuple[bool, bool, list[str]]]:
    found = caller("tasks_proofs", task=task, **arguments)["evidence"]
    return [(item["judged"], item["stale"], item["changed"]) for item in found]


@pytest.mark.parametrize("form", ["{}", "sha256:{}"])
def test_a_proof_goes_stale_when_its_file_changes(caller: Caller, task: str, project: Path, form: str) -> None:
    prove(caller, task, {"cache.py": form.format(sha("ttl = 1\n"))})
    assert proofs(caller, task) == [(True, False, [])]
    (project / "cache.py").write_text("ttl = 2\n")
    assert proofs(caller, task) == [(True, True, ["cache.py"])]
    (project / "cache.py").unlink()
    assert proofs(caller, task) == [(True, True, ["cache.py"])]


def test_a_git_id_is_understood(caller: Caller, task: str, project: Path) -> None:
    data = b"ttl = 1\n"
    prove(caller, task, {"cache.py": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()})
    assert proofs(caller, task) == [(True, False, [])]


def test_running_the_command_again_replaces_the_stale_proof(caller: Caller, task: str, project: Path) -> None:
    prove(caller, task, {"cache.py": sha("ttl = 1\n")})
    (project / "cache.py").write_text("ttl = 2\n")
    prove(caller, task, {"cache.py": sha("ttl = 2\n")})
    found = caller("tasks_proofs", task=task)
    assert found["stale"] == []
    assert [item["judged"] for item in found["evidence"]] == [True, False]


def test_what_cannot_be_judged_is_not(caller: Caller, task: str) -> None:
    prove(caller, task, {"cache.py": "v17", "../outside": sha("x")})
    assert proofs(caller, task) == [(False, False, [])]


def test_the_callers_digests_count_when_given(caller: Caller, task: str) -> None:
    prove(caller, task, {"cache.py": "v17"})
    assert proofs(caller, task, files={"cache.py": "v17"}) == [(True, False, [])]
    assert proofs(caller, task, files={"cache.py": "v18"}) == [(True, True, ["cache.py"])]


def test_another_workspace_is_not_judged_by_these_files(caller: Caller) -> None:
    steps = [{"title": "Cache", "success_criteria": ["fast"]}]
    told = {"plan_title": "Speed", "task_title": "Cache", "steps": steps, "workspace": "elsewhere"}
    task = caller("tasks_macro_start", **told)["task_id"]
    proof = {"command": "make test", "exit_code": 0, "files": {"cache.py": sha("other")}}
    caller("tasks_evidence_capture", task=task, path="s:0", artifacts=[proof], workspace="elsewhere")
    assert proofs(caller, task, workspace="elsewhere") == [(False, False, [])]
