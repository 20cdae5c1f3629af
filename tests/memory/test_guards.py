"""Guards: what a check fires at, that only a person arms one, and how it is let pass."""

from __future__ import annotations

import time
from typing import Any

import pytest

from clew.errors import ClewError
from clew.memory.guards.approval import objections
from clew.memory.guards.check import Check, GuardedAction, command_matches, path_matches, read_check, text_contains
from clew.memory.guards.shell import simple_commands
from clew.registry.connection import Connection
from tests.conftest import Caller
from tests.memory.conftest import Memory


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("*.sql", "a/b.sql", True),
        ("*.sql", "a/b.sqlx", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.py", "src/b.py", True),
        ("src/**/*.py", "src/a/b/c.py", True),
        ("migrations/", "migrations/a/1.sql", True),
        ("migrations", "old/migrations/1.sql", True),
        ("migrations", "old_migrations/1.sql", False),
        ("/docs", "docs/a.md", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", True),
    ],
)
def test_globs_of_paths(pattern: str, path: str, meant: bool) -> None:
    assert path_matches(pattern, path) == meant


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("git push --force", True),
        ("git push origin main --force", True),
        ("cd api && git push --force origin", True),
        ("sudo -u ci git push --force", True),
        ("bash -c 'git push --force'", True),
        ("echo $(git push --force)", True),
        ("FOO=1 /usr/bin/git push --force", True),
        ("git push --force-with-lease", False),
        ("echo 'git push --force'", False),
        ("git commit -m 'never git push --force'", False),
        ("git push -o 'no --force please'", False),
        ("cat <<EOF\ngit push --force\nEOF", False),
        ("grep -rn 'git push --force' docs", False),
        ("ls # git push --force", False),
    ],
)
def test_a_command_is_meant_and_not_a_text_that_holds_it(line: str, meant: bool) -> None:
    assert any(command_matches("git push * --force", command.named) for command in simple_commands(line)) == meant


def test_files_that_a_command_writes_are_guarded_too() -> None:
    check = Check(paths=("db/*.sql",), action="deny")
    for line in (
        "rm db/1.sql",
        "echo x > db/1.sql",
        "cd db && sed -i s/a/b/ 1.sql",
        "cp x db/1.sql",
        "git rm db/1.sql",
    ):
        assert check.fires(GuardedAction(command=line)), line
    reading = ("cat db/1.sql", "cp db/1.sql /tmp", "grep x db/1.sql > out", "cd docs && rm 1.sql", "psql < db/1.sql")
    for line in reading:
        assert not check.fires(GuardedAction(command=line)), line
    assert check.fires(GuardedAction(command="rm 1.sql", folder="db"))


def test_what_must_and_must_not_stand_there() -> None:
    installs = Check(commands=("pip install",), must=("-c constraints.txt",))
    assert installs.fires(GuardedAction(command="pip install x"))
    assert not installs.fires(GuardedAction(command="pip install -c constraints.txt x"))
    prints = Check(paths=("src/**/*.py",), must_not=("print(",))
    assert prints.fires(GuardedAction(paths=("src/a.py",), text="print(1)"))
    assert not prints.fires(GuardedAction(paths=("src/a.py",), text="log(1)"))
    assert not prints.fires(GuardedAction(paths=("src/a.py",), text="print(2)", before="print(1)"))
    header = Check(paths=("src/**",), must=("Copyright",))
    assert header.fires(GuardedAction(paths=("src/a.py",), text="x = 1", whole=True))
    assert not header.fires(GuardedAction(paths=("src/a.py",), text="x = 1"))


def test_no_pattern_and_no_line_takes_long() -> None:
    """A matcher that goes back over its steps would not end here within the life of the universe."""
    begun = time.monotonic()
    assert not text_contains("a*" * 140 + "b", "a" * 20_000)
    assert not path_matches("**/a" * 60 + "/b", "a/" * 9_000)
    for line in ("(" * 20_000, "$(" * 10_000, "'" * 19_999, "`" * 20_000, "<<A\n" * 5_000, "\\" * 20_000):
        simple_commands(line)
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"must": ["x"]},
        {"paths": ["a"], "action": "explode"},
        {"paths": [1]},
        {"paths": ["x" * 400]},
        {"paths": ["a"], "regex": "x"},
        {"commands": ["a"] * 30 + [str(n) for n in range(30)]},
    ],
)
def test_a_check_that_says_nothing_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ClewError) as refused:
        read_check(given)
    assert refused.value.code == "INVALID_INPUT" and refused.value.recovery


FORCE = GuardedAction(command="git push --force")


def person(call: Caller) -> Caller:
    at_shell = Caller(call.clew)
    at_shell.session = Connection(toolset="full", client="clew-cli", durable=False, local=True, person="@ines")
    return at_shell


def says(call: Caller, action: GuardedAction = FORCE) -> list[tuple[str, str]]:
    with call.clew.dispatcher._context(call.session).reading() as ctx:
        return [(item.id, item.response) for item in objections(ctx, action)]


@pytest.fixture
def rule(call: Caller) -> str:
    kept = call(
        "remember",
        text="Never force-push a shared branch",
        kind="rule",
        guard={"commands": "git push * --force", "action": "deny", "message": "Use --force-with-lease."},
    )
    assert kept["guard"] == "waits"
    return str(kept["id"])


def test_nothing_fires_without_a_persons_approval(call: Caller, rule: str) -> None:
    assert says(call) == []
    assert call.error("guard_approve", id=rule)["code"] == "NOT_ALLOWED"
    assert says(call) == []
    shell = Caller(call.clew)
    shell.session = Connection(toolset="full", client="clew-cli", durable=False, local=True)
    assert shell.error("guard_approve", id=rule)["code"] == "NOT_ALLOWED", "an agent has a shell too"
    shown = person(call)("guard_approve", id=rule)
    assert shown["state"] == "guards"
    assert says(call) == [(rule, "deny")]
    assert says(call, GuardedAction(command="git push --force-with-lease")) == []


def test_the_approved_check_fires_whatever_is_written_later(call: Caller, rule: str) -> None:
    person(call)("guard_approve", id=rule)
    call("guard_propose", id=rule, commands=["make nothing"], action="inform")
    assert says(call) == [(rule, "deny")]
    assert says(call, GuardedAction(command="make nothing")) == []
    assert call("guards")["guards"][0]["state"] == "guards, changed since"
    person(call)("guard_approve", id=rule)
    assert says(call) == []
    assert says(call, GuardedAction(command="make nothing")) == [(rule, "inform")]


def test_an_approved_check_outlives_its_rule_until_a_person_revokes_it(call: Caller, rule: str) -> None:
    """Agents withdraw rules, and edit the files that they stand in."""
    person(call)("guard_approve", id=rule)
    person(call)("retract", id=rule, why="we rebase now")
    assert says(call) == [(rule, "deny")]
    assert call("guards")["guards"][0]["state"] == "guards, rule withdrawn"
    person(call)("guard_revoke", id=rule)
    assert says(call) == []


def test_a_person_lets_a_guard_pass_and_it_is_logged(call: Caller, rule: str, clock: Any) -> None:
    person(call)("guard_approve", id=rule)
    assert call.error("guard_override", id=rule, why="I want to")["code"] == "NOT_ALLOWED"
    person(call)("guard_override", id=rule, why="the history holds a secret", minutes=10)
    assert says(call) == []
    assert call("guards")["overrides"][0]["why"] == "the history holds a secret"
    clock.now_ms += 11 * 60_000
    assert says(call) == [(rule, "deny")]
    person(call)("guard_revoke", id=rule)
    assert says(call) == []


def test_a_check_is_written_in_fields_that_a_person_edits(memory: Memory) -> None:
    guard = {"commands": ["git push * --force"], "action": "deny"}
    rule = str(memory("remember", text="Never force-push", kind="rule", guard=guard)["id"])
    text = memory.read("knowledge/RULES.md")
    assert "GuardCommands: git push * --force" in text and "GuardAction: deny" in text
    memory.edit("knowledge/RULES.md", text.replace("git push * --force", "git push * -f").replace("deny", "ask"))
    person(memory)("guard_approve", id=rule)
    assert says(memory, GuardedAction(command="git push -f")) == [(rule, "ask")]
    assert says(memory) == []


def test_only_rules_and_decisions_carry_checks(call: Caller) -> None:
    refused = call.error("remember", text="Tabs are fine", kind="preference", guard={"paths": "*.py"})
    assert refused["code"] == "INVALID_INPUT"
    assert call.error("guard_propose", id="R-99", paths=["a"])["code"] == "UNKNOWN_ID"
    assert person(call).error("guard_approve", id=str(call("remember", text="Be kind", kind="rule")["id"]))["code"]
