"""No way past a guard by what an agent can write, end or outrun: it is refused, or put before the user."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from clew.faces.hooks.client_events import CLIENTS, GUARDING, UNCHECKED, entries_of, entry_for, reply_of
from clew.faces.hooks.launcher import LAST_WORD, PATIENCE
from clew.guarded_places import FOLDER, read_place
from clew.registry.connection import Connection
from tests.conftest import Caller
from tests.faces.hooks.conftest import filled, project
from tests.faces.hooks.stub import ClaudeCode, Codex, Heard
from tests.faces.resident.shims import ending, resident, residents
from tests.waiting import until

FORCE = "git push --force"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A project with an approved guard, and no server running."""
    filled(tmp_path)
    with ending(tmp_path / "home"):
        yield tmp_path


def decided(place: Path) -> Heard:
    """What is answered once something is: a server may only just be starting."""
    found: list[Heard] = []
    until(lambda: found.append(claude(place).wants(FORCE)) or found[-1].decision)  # type: ignore[func-returns-value]
    return found[-1]


def claude(place: Path, session: str = "s-1", **env: str) -> ClaudeCode:
    # As clients start it: with the limits of its own, not those of a patient test.
    return ClaudeCode(place / "home", place / "project", session, None, **env)


def test_a_cold_start_leaves_no_guard_open(place: Path) -> None:
    """Refused by the guard itself, or on a machine too slow for that by the hook; never let through."""
    asked = claude(place).wants(FORCE)
    assert asked.decision == "ask" and asked.seconds < 60
    assert Codex(place / "home", place / "project", "s-2", None).wants(FORCE).decision == "deny"
    until(lambda: "R-1" in claude(place).wants(FORCE).reason)
    assert claude(place).wants("git push --force-with-lease").decision == ""


def test_a_session_that_starts_cold_is_told_where_the_work_stands(place: Path) -> None:
    client = ClaudeCode(place / "home", place / "project", "cold", "30")
    assert "TASK-001" in client.fire("session-start", source="startup").context


def test_a_server_that_an_agent_ends_is_started_again(place: Path) -> None:
    assert claude(place).wants(FORCE).decision == "ask"
    for _ in range(3):
        for process in until(lambda: residents(place / "home")):
            os.kill(process, signal.SIGKILL)
        assert claude(place).wants(FORCE).decision == "ask"


def test_a_server_that_is_stopped_lets_nothing_through(place: Path) -> None:
    until(lambda: "R-1" in claude(place).wants(FORCE).reason)
    stuck = psutil.Process(resident(place / "home"))
    stuck.suspend()
    try:
        heard = claude(place).wants("make release")
        assert (heard.decision, heard.reason) == ("ask", UNCHECKED["reason"])
    finally:
        stuck.resume()


SETTINGS = [
    "resident = false",
    "workspace = [",
    'token = "abc"',
    'workspace = "another"',
    "hooks = false",
    'home = "/tmp/nowhere"',
    "no_such_setting = 1",
    "\0",
]


@pytest.mark.parametrize("text", SETTINGS)
def test_a_file_in_the_project_disarms_nothing(place: Path, text: str) -> None:
    (place / "project" / "clew.toml").write_text(text)
    until(lambda: "R-1" in claude(place).wants(FORCE).reason)
    assert claude(place).wants("git status").decision == ""


def edited(place: Path, change: Callable[[str], str]) -> None:
    [rules] = (place / "home").glob("workspaces/*/memory/knowledge/RULES.md")
    rules.write_text(change(rules.read_text()))


EDITS: list[Callable[[str], str]] = [
    lambda text: "",
    lambda text: text.replace("Status: active", "Status: dropped"),
    lambda text: text.replace("GuardAction: ask", "GuardAction: inform"),
    lambda text: text.replace("git push * --force", "nothing at all"),
    lambda text: "\n".join(line for line in text.splitlines() if not line.startswith("Guard")),
]


@pytest.mark.parametrize("change", EDITS)
def test_an_edit_of_the_rules_disarms_nothing(place: Path, change: Callable[[str], str]) -> None:
    until(lambda: "R-1" in claude(place).wants(FORCE).reason)
    edited(place, change)
    clew = project(place)
    Caller(clew)("scan")
    clew.close()
    assert "R-1" in claude(place).wants(FORCE).reason


def test_an_agent_that_takes_the_rule_back_disarms_nothing(place: Path) -> None:
    clew = project(place)
    Caller(clew, "agent").answer("retract", id="R-1", why="in my way")
    clew.close()
    until(lambda: "R-1" in (heard := claude(place).wants(FORCE)).reason and heard.decision == "ask")


def test_a_memory_folder_that_cannot_be_read_disarms_nothing(place: Path) -> None:
    until(lambda: "R-1" in claude(place).wants(FORCE).reason)
    [rules] = (place / "home").glob("workspaces/*/memory/knowledge/RULES.md")
    Path(os.fsdecode(bytes(rules.parent) + b"/\xff\xfe.md")).write_text("x")
    assert "R-1" in claude(place).wants(FORCE).reason


def test_settings_of_the_person_that_are_refused_put_it_before_the_user(place: Path) -> None:
    (place / "home" / "clew.toml").write_text("no_such_setting = 1")
    heard = decided(place)
    assert (heard.decision, heard.reason) == ("ask", UNCHECKED["reason"])


def test_a_store_that_cannot_be_read_puts_it_before_the_user(place: Path) -> None:
    (place / "home" / "clew.db").write_bytes(b"no database" * 1000)
    heard = decided(place)
    assert (heard.decision, heard.reason) == ("ask", UNCHECKED["reason"])


def test_another_folder_than_the_project_disarms_nothing(place: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    client = claude(place, CLAUDE_PROJECT_DIR=str(place / "project"))
    told = {"tool_name": "Bash", "tool_input": {"command": FORCE}, "cwd": str(tmp_path / "elsewhere")}
    until(lambda: "R-1" in client.fire(GUARDING, **told).reason)


def test_without_guards_nothing_is_waited_for_and_nothing_asked(place: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    client = ClaudeCode(place / "home", tmp_path / "other", "free", None)
    assert client.wants(FORCE).decision == ""
    assert read_place(str(place / "home"), str(tmp_path / "other")) is None


def test_what_is_noted_for_hooks_follows_the_store(place: Path) -> None:
    noted = read_place(str(place / "home"), str(place / "project"))
    assert noted is not None and noted.strictest == "ask" and noted.workspaces == ("project",)
    shutil.rmtree(place / "home" / FOLDER)
    until(lambda: claude(place).fire("session-start", source="startup").context)
    again = read_place(str(place / "home"), str(place / "project"))
    assert again is not None and again.is_strict
    clew = project(place)
    shell = Connection(toolset="full", client="clew-cli", durable=False, local=True, person="@ines")
    assert clew.dispatcher.call("guard_revoke", {"id": "R-1"}, shell).ok
    clew.close()
    after = read_place(str(place / "home"), str(place / "project"))
    assert after is not None and after.strictest == ""


def test_every_client_waits_longer_than_the_hook_does() -> None:
    for client in CLIENTS:
        for entry in entries_of(client):
            if entry.event in (GUARDING, "session-start"):
                assert entry.seconds >= PATIENCE + LAST_WORD


@pytest.mark.parametrize("client", [it for it in CLIENTS if entry_for(it, GUARDING)])
def test_every_client_is_told_that_guards_could_not_be_checked(client: str) -> None:
    printed, code, error = reply_of(client, GUARDING, UNCHECKED)
    assert "could not be checked" in str(printed) + error and (code == 2) == (client == "windsurf")
