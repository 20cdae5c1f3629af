"""What Clew promises on every system works where Linux's, and then POSIX's, own means are missing.

The processes under test are real. `sitecustomize.py` hides the names from Clew's own modules only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faces.mcp.process import ROOT, environment
from tests.faces.resident.shims import Shim, address, ending

HERE = Path(__file__).parent


@dataclass
class System:
    name: str
    home: Path
    project: Path

    def variables(self, **more: str) -> dict[str, str]:
        paths = os.pathsep.join(map(str, (HERE, ROOT / "src", ROOT)))
        return {"PYTHONPATH": paths, "SYSTEM_UNDER_TEST": self.name, "HOME": str(self.project / "person"), **more}

    def clew(self, *words: str, module: str = "clew", stdin: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", module, *words],
            cwd=self.project,
            env=environment(self.home, **self.variables()),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(params=["macos", "windows"])
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[System]:
    (tmp_path / "project" / "person" / ".cursor").mkdir(parents=True)
    found = System(request.param, tmp_path / "home", tmp_path / "project")
    with ending(found.home):
        yield found


def test_the_command_line_and_the_memory_files(system: System) -> None:
    system.clew("remember", "Use jitter in retries", "--kind", "decision", "--why", "the herd of 3 October")
    file = system.home / "workspaces" / "probe" / "memory" / "knowledge" / "DECISIONS.md"
    file.write_text(file.read_text().replace("Use jitter", "Always use jitter"))
    assert "Always use jitter" in system.clew("recall", "jitter in retries")
    system.clew("start", "Mend the retries", "-s", "look; test: true")
    ran = system.clew("prove", "--", sys.executable, "-c", "print('12 passed')")
    assert "12 passed" in ran and "seen" in ran.lower()
    assert system.clew("prove", "--", sys.executable, "-c", "raise SystemExit(3)", code=3)
    json.loads(system.clew("status", "--json"))
    assert "sqlite" in system.clew("doctor").lower()


def test_stdio_in_the_process_and_through_the_resident_server(system: System) -> None:
    with Shim(system.home, "--no-resident", cwd=system.project, **system.variables()) as alone:
        alone.open().call("remember", kind="note", text="alone")
        assert alone.close() == 0
    with Shim(system.home, cwd=system.project, **system.variables()) as shim:
        shim.open().call("remember", kind="note", text="through the resident server")
        found = address(system.home)
        assert found is not None and ("port" in found) == (system.name == "windows")
        assert shim.close() == 0


def test_http_and_the_page(system: System) -> None:
    command = [sys.executable, "-m", "clew", "serve", "--http", "--port", "0", "--json"]
    variables = environment(system.home, **system.variables())
    process = subprocess.Popen(command, cwd=system.project, env=variables, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        with urllib.request.urlopen(told["health"]) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(told["mcp"].removesuffix("mcp")) as page:
            assert b"<html" in page.read().lower()
    finally:
        process.terminate()
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def test_connect_and_hooks(system: System) -> None:
    system.clew("connect", "cursor", "--yes")
    assert "clew" in (system.project / "person" / ".cursor" / "mcp.json").read_text()
    event = json.dumps({"hook_event_name": "SessionStart", "source": "startup", "session_id": "s", "cwd": "/"})
    system.clew("session-start", module="clew.faces.hooks.launcher", stdin=event)


def test_what_needs_limits_is_refused_clearly_where_there_are_none(system: System) -> None:
    system.clew("call", "notebook_create", "title=Sums", "language=python")
    cell = json.dumps({"notebookId": "NB-001", "cellType": "code", "content": "print(1 + 1)", "filename": "sum.py"})
    added = system.clew("call", "notebook_add_cell", cell)
    id = re.findall(r"CELL-\d+", added)[-1]
    run = ("call", "notebook_run_cell", "notebookId=NB-001", f"cellId={id}")
    if system.name == "windows":
        assert "process groups" in system.clew(*run, code=1)
    else:
        assert "2" in system.clew(*run)
