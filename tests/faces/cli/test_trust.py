"""A project's clew.toml comes with whatever was cloned: it may set what cannot harm, until a person trusts it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faces.cli.conftest import Shell
from tests.identity.test_sign_in import Terminal

Writer = Callable[[Path, str], None]

HARMFUL = {
    "database_url": '"postgresql://attacker@198.51.100.1/x"',
    "home": '".cache"',
    "memory_dir": '"/other/project"',
    "host": '"0.0.0.0"',
    "token": '"known"',
    "transport": '"http"',
    "storage": '"memory"',
    "workspace_lock": "false",
    "embedding_model": '"/tmp/model"',
    "observatory_cors": '"*"',
    "agent_id": '"alice"',
    "project_guard": '"acme"',
}


def trusted(clew: Shell) -> None:
    """As a person does it, at a terminal."""
    terminal = Terminal(clew, "trust")
    terminal.type("y\n")
    assert "is trusted as it is now" in terminal.said()


@pytest.mark.parametrize("name", HARMFUL)
def test_a_project_may_not_set_what_could_harm(clew: Shell, write: Writer, name: str) -> None:
    write(clew.directory / "clew.toml", f"{name} = {HARMFUL[name]}\n")
    ran = clew("status")
    assert ran.code != 0
    assert f"sets {name}" in ran.err and "clew trust" in ran.err
    assert "known" not in ran.err and "attacker" not in ran.err


def test_a_project_may_set_what_cannot_harm(clew: Shell, write: Writer) -> None:
    harmless = 'workspace = "acme"\ntoolset = "core"\ndx = true\nlog_level = "error"\n'
    write(clew.directory / "clew.toml", harmless)
    rows = {row["name"]: row for row in clew("doctor", "--json").json["settings"]}
    assert rows["workspace"] == {"name": "workspace", "value": "acme", "origin": "clew.toml"}
    assert {rows[name]["origin"] for name in ("toolset", "dx", "log_level")} == {"clew.toml"}


def test_the_rest_comes_from_the_file_in_the_data_directory(clew: Shell, write: Writer) -> None:
    write(clew.directory / "clew.toml", 'toolset = "core"\n')
    write(clew.home / "clew.toml", 'agent_id = "ada"\ntoolset = "full"\n')
    rows = {row["name"]: row for row in clew("doctor", "--json").json["settings"]}
    assert rows["agent_id"] == {"name": "agent_id", "value": "ada", "origin": str(clew.home / "clew.toml")}
    assert rows["toolset"]["value"] == "core"


def test_a_trusted_file_is_believed_until_it_changes(clew: Shell, write: Writer) -> None:
    write(clew.directory / "clew.toml", 'agent_id = "ada"\n')
    assert "a person at a terminal" in clew("trust", stdin="y\n").err, "an agent does not trust it for you"
    assert clew("status").code != 0
    trusted(clew)
    rows = {row["name"]: row for row in clew("doctor", "--json").json["settings"]}
    assert rows["agent_id"]["value"] == "ada"
    write(clew.directory / "clew.toml", 'agent_id = "mallory"\n')
    assert clew("status").code != 0


def test_trust_can_be_taken_back(clew: Shell, write: Writer) -> None:
    write(clew.directory / "clew.toml", 'agent_id = "ada"\n')
    trusted(clew)
    assert clew("status").code == 0
    assert clew("trust", "--remove", "--json").json["trusted"] is False
    assert clew("status").code != 0


def test_there_must_be_a_file_to_trust(clew: Shell) -> None:
    ran = clew("trust")
    assert ran.code == 1 and "NOT_FOUND" in ran.err


def test_a_runner_executes_nothing_that_a_project_named(clew: Shell, write: Writer) -> None:
    """Even a trusted project cannot bring along what a runner executes."""
    write(clew.directory / "clew.toml", 'home = "cache"\n')
    write(clew.directory / "cache" / "runner.toml", '[executors.x]\ntype = "command"\ncommand = ["touch", "ran"]\n')
    trusted(clew)
    environment = {"CLEW_HOME": "", "HOME": str(clew.home.parent)}
    (clew.home.parent / ".clew").mkdir(exist_ok=True)
    (clew.home / "trusted.json").replace(clew.home.parent / ".clew" / "trusted.json")
    ran = clew("runner", "--once", env=environment)
    assert ran.code == 1 and "--config" in ran.err
