"""A project with memory, and a resident server for it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew, open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings
from tests.conftest import Caller
from tests.faces.hooks.stub import ClaudeCode
from tests.faces.resident.shims import ending
from tests.waiting import until


def project(place: Path, **flags: Any) -> Clew:
    settings = load_settings({"home": place / "home", "embedding_model": "none", **flags}, {}, place / "project")
    return open_clew(settings)


def filled(place: Path) -> str:
    """A project with a decision, a task in focus, and a guard that a person has approved."""
    (place / "project").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(place / "project")], check=True)
    (place / "project" / "parser.py").write_text("timeout = 1\n")
    clew = project(place)
    call = Caller(clew, "agent")
    call("remember", text="The retry queue uses exponential backoff with jitter", kind="decision", why="herds")
    guard = {"commands": ["git push * --force"], "action": "ask", "message": "Use --force-with-lease."}
    rule = str(call("remember", text="A shared branch is never rewritten", kind="rule", guard=guard)["id"])
    task = str(call("start", title="Parse env files", steps=["parser; test: pytest -q"])["task"])
    Caller(clew)("tasks_focus_set", task=task)
    shell = Connection(toolset="full", client="clew-cli", durable=False, local=True, person="@ines")
    assert clew.dispatcher.call("guard_approve", {"id": rule}, shell).ok
    clew.close()
    return task


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """One project with a resident server for all tests here; sessions do not meet."""
    place = tmp_path_factory.mktemp("served")
    task = filled(place)
    with ending(place / "home"):
        client = ClaudeCode(place / "home", place / "project", "warm-up")
        until(lambda: client.fire("session-start", source="startup").context)
        yield place, task
