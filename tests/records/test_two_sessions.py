"""Two sessions of an agent over real MCP stdio: it works and records, loses its memory, and resumes with one call."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.client import ROOT, StdioServer
from benchmarks.economy import RECORDS, Meter, Project, first_session
from benchmarks.stores import Store

LIMITS = {"resume": 4000, "start": 300, "close": 300, "remember": 300, "think": 200, "retract": 400}
"""Characters of one answer when nothing is wrong."""


@pytest.fixture
def store(engine: str, database_flags: dict[str, Any]) -> Store:
    return Store(engine, database_flags["home"], database_flags.get("database_url", ""))


class Played:
    """What both sessions were told."""

    def __init__(self, first: Meter, tools: str, resumed: str) -> None:
        self.first, self.tools, self.resumed = first, tools, resumed

    def missing(self, *kinds: str) -> list[str]:
        """Texts of records of these kinds that the resume does not tell."""
        wanted = [record for record in RECORDS if record["kind"] in kinds]
        assert wanted
        return [record["text"] for record in wanted if record["text"] not in self.resumed]


@pytest.fixture
def played(store: Store, tmp_path: Path) -> Iterator[Played]:
    project = Project(store, tmp_path / "envmerge")
    with project.connect() as server:
        first = first_session(project, server)
        tools = first.tools()
    with project.connect() as server:
        yield Played(first, tools, Meter(server)("resume"))


def test_one_resume_tells_a_fresh_connection_what_the_first_session_left(played: Played) -> None:
    told = played.resumed
    assert len(RECORDS) == 20 and len(told) <= LIMITS["resume"]
    assert "now s:4 README and release check: usage is shown; test: python -m unittest -q discover" in told
    assert "clew prove --task TASK-001 -- python -m unittest -q discover (in a shell)" in told
    assert played.missing("rule", "preference") == []
    assert played.missing("decision", "rejected") == []
    assert played.missing("question", "hypothesis") == []
    assert "REJECTED python-dotenv: it skips bad lines silently" in told
    assert "4 of 5 done: 2 seen, 1 claimed (s:2), 1 unproven (s:3), 1 stale (files changed since: s:0)" in told
    assert "s:0 parser (seen, stale); s:1 interpolation (seen); s:2 merge (claimed)" in told
    assert "s:3 command line (unproven: tried by hand only)" in told
    assert "To be taken back" not in told
    for name, texts in played.first.answers.items():
        assert max(len(text) for text in texts) <= LIMITS.get(name, 2000), name
    assert played.first.characters < 15_000
    assert len(played.tools) <= 9_000


def test_advice_for_the_shell_carries_the_home_that_only_the_server_was_given(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "a home"
    project.mkdir()
    (project / "reader.py").write_text("ROWS = 1\n")
    given = {"CLEW_HOME": str(home), "CLEW_WORKSPACE": "shop"}
    with StdioServer([sys.executable, "-m", "clew", "serve"], project, **given) as server:
        server.initialize("claude-code")
        told = Meter(server)
        told("start", title="Parse", steps=[f"reader; test: {sys.executable} -m compileall -q ."])
        (advised,) = re.findall(r"next: (.*) \(in a shell\)", told("resume"))
        assert f"--home '{home}' --workspace shop prove --task TASK-001" in advised
        shell = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
        subprocess.run(["sh", "-c", advised], cwd=project, env=shell, check=True, timeout=120)
        assert "PROVEN" in told("close")
    assert not (tmp_path / ".clew").exists()
