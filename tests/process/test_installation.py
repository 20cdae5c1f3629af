"""The built wheel in an empty home, as a newcomer has it: connected, used, started by a client's entry, taken back."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from benchmarks.first_decision import DECISION, MOST_COMMANDS, QUESTION, Newcomer, build_wheel, first_decision

from clew.faces.hooks.client_events import entries_of
from tests.faces.connect import homes


@pytest.mark.timeout(900)
def test_from_the_wheel_to_the_first_recalled_decision_and_back(tmp_path: Path) -> None:
    """One journey, because installing is most of its time: each part looks at another side of it."""
    newcomer = Newcomer(tmp_path)
    homes.make(newcomer.home)
    found = first_decision(newcomer, build_wheel(tmp_path))
    for command, seconds in newcomer.times:
        print(f"{seconds:6.1f} s  {command}")
    assert DECISION in found
    assert len(newcomer.times) <= MOST_COMMANDS
    every_client_got_an_entry_by_its_own_rules(newcomer)
    the_entry_starts_a_server_that_recalls_the_decision(newcomer)
    hooks_name_the_installed_launcher_which_ends_with_0(newcomer)
    doctor_is_content(newcomer)
    the_command_of_the_distributions_name_is_there(newcomer)
    a_second_run_changes_nothing_and_removing_restores_every_byte(newcomer)


def started(newcomer: Newcomer, entry: dict[str, Any], calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Start a server as a client does that read this entry, and ask."""
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        *({"id": number, "method": "tools/call", "params": call} for number, call in enumerate(calls, 1)),
    ]
    with subprocess.Popen(
        [entry["command"], *entry["args"]],
        cwd=newcomer.folder / "work",
        env={**newcomer.environment(), **entry.get("env", {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        answers = []
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            if "id" in message:
                answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        server.wait(60)
    return answers


def every_client_got_an_entry_by_its_own_rules(newcomer: Newcomer) -> None:
    for client, rule in homes.RULES.items():
        entry = homes.server_of(newcomer.home, client)
        assert rule.check(entry), client
        command: Any = entry.get("cmd", entry.get("command"))
        assert (command if isinstance(command, str) else command[0]) == str(newcomer.clew)


def the_entry_starts_a_server_that_recalls_the_decision(newcomer: Newcomer) -> None:
    entry = homes.server_of(newcomer.home, "cursor")
    opened, recalled = started(newcomer, entry, [{"name": "recall", "arguments": {"query": QUESTION}}])
    assert opened["result"]["serverInfo"]["name"] == "clew"
    assert DECISION in recalled["result"]["content"][0]["text"]


def hooks_name_the_installed_launcher_which_ends_with_0(newcomer: Newcomer) -> None:
    hooks = json.loads((newcomer.home / ".claude" / "settings.json").read_text())["hooks"]
    ours = [hooks[entry.name][-1]["hooks"][0]["command"] for entry in entries_of("claude")]
    launcher = newcomer.clew.with_name("clew-hook")
    assert launcher.is_file()
    # Before it stand the settings of this environment that a client would not find, such as a certificate file.
    assert all(re.fullmatch(rf"(CLEW_\w+=\S+ )*{re.escape(str(launcher))} .+", command) for command in ours), ours
    ran = subprocess.run(
        ours[0], shell=True, input="{}", env=newcomer.environment(), capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0


def doctor_is_content(newcomer: Newcomer) -> None:
    answer = json.loads(newcomer.run(str(newcomer.clew), "doctor", "--json"))
    states = {item["check"]: item for item in answer["findings"]}
    assert {states[client]["state"] for client in homes.RULES} == {"ok"}, states
    assert "hooks" in states["claude"]["detail"]


def a_second_run_changes_nothing_and_removing_restores_every_byte(newcomer: Newcomer) -> None:
    connected = homes.tree(newcomer.home)
    assert "Nothing to change" in newcomer.run(str(newcomer.clew), "connect", "--yes")
    assert homes.tree(newcomer.home) == connected
    newcomer.run(str(newcomer.clew), "connect", "--remove", "--yes")
    assert homes.tree(newcomer.home) == homes.tree(homes.make(newcomer.folder / "before"))


def the_command_of_the_distributions_name_is_there(newcomer: Newcomer) -> None:
    """What `uvx clew-memory serve` starts."""
    entry = {"command": str(newcomer.clew.with_name("clew-memory")), "args": ["serve"]}
    [opened] = started(newcomer, entry, [])
    assert opened["result"]["serverInfo"]["name"] == "clew"
