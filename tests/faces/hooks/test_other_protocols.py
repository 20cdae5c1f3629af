"""Clients whose hooks can do less than Claude Code's, or do it otherwise: Windsurf, Antigravity and opencode."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.faces.connect.texts import opencode_plugin
from tests.conformance.node import NODE
from tests.conftest import Caller
from tests.faces.hooks.conftest import project
from tests.faces.hooks.stub import LAUNCHER, Antigravity, ClaudeCode, Windsurf

PLAYER = """
import { createInterface } from "node:readline";
const { Clew } = await import(process.argv[2]);
const hooks = await Clew({ directory: process.argv[3] });
for await (const line of createInterface({ input: process.stdin })) {
  const [name, input, output] = JSON.parse(line);
  let refused = null;
  try { await hooks[name](input, output); } catch (problem) { refused = problem.message; }
  console.log(JSON.stringify({ refused, output }));
}
"""


class Opencode:
    """A process that loads the plugin as opencode does and calls its hooks one after the other."""

    def __init__(self, place: Path, scratch: Path, home: Path, hook: str) -> None:
        plugin, player = scratch / "clew-memory.mjs", scratch / "player.mjs"
        plugin.write_text(opencode_plugin(hook))
        player.write_text(PLAYER)
        self.calls = 0
        self.process = subprocess.Popen(
            [NODE, player, plugin, place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=ClaudeCode(home, place, "x").env,
        )

    def call(self, name: str, input: dict[str, Any], output: dict[str, Any] | None = None) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, input, output]) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def tool(self, session: str, tool: str, args: dict[str, Any], **result: Any) -> dict[str, Any]:
        self.calls += 1
        told = {"tool": tool, "sessionID": session, "callID": f"{session}-{self.calls}", "args": args}
        return self.call("tool.execute.after", told, result)

    def __enter__(self) -> Opencode:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture
def launcher(tmp_path: Path) -> str:
    return f"{shlex.quote(sys.executable)} -I -S {shlex.quote(str(LAUNCHER))}"


def test_windsurf_refuses_what_a_guard_denies_and_is_left_alone_otherwise(served: tuple[Path, str]) -> None:
    place, _ = served
    client = Windsurf(place / "home", place / "project", "wind")
    refused = client.act("pre_run_command", command_line="git push origin --force", cwd=str(place / "project"))
    assert refused.code == 2 and "R-1" in refused.reason and "guards override R-1" in refused.reason
    assert client.act("pre_run_command", command_line="git push", cwd=str(place / "project")).code == 0
    edits = [{"old_string": "timeout = 1", "new_string": "timeout = 2"}]
    for action in ("pre_write_code", "post_write_code"):
        path = str(place / "project" / "parser.py")
        assert client.act(action, file_path=path, edits=edits).code == 0
    clew = project(place)
    with clew.database.read() as tx:
        assert tx.value("SELECT count(*) FROM agent_deed WHERE session = 'wind'") == 1, "the edit was noted"
    clew.close()


def test_antigravity_is_told_once_where_the_work_stands(served: tuple[Path, str], tmp_path: Path) -> None:
    place, task = served
    client = Antigravity(place / "home", place / "project", "anti")
    assert task in client.invokes(1, conversationId="anti-1").context
    assert client.invokes(2, conversationId="anti-1").context == ""
    assert client.invokes(1, conversationId="anti-1").context == "", "installed twice"
    assert task in client.invokes(1).context, "an older release names no conversation"
    assert client.invokes(2).context == ""


def test_opencode_plays_a_whole_session(served: tuple[Path, str], tmp_path: Path, launcher: str) -> None:
    place, task = served
    with Opencode(place / "project", tmp_path, place / "home", launcher) as client:
        begun = client.call("experimental.chat.system.transform", {"sessionID": "oc"}, {"system": ["You code.", "b"]})
        first, *rest = begun["output"]["system"]
        assert first.startswith("You code.") and task in first and rest == ["b"], "no block is added"
        again = client.call("experimental.chat.system.transform", {"sessionID": "oc"}, {"system": ["You code."]})
        assert again["output"]["system"] == [first], "it stays in the prompt of its session, once"
        asked = {"parts": [{"type": "text", "text": "Why does the retry queue use exponential backoff?"}]}
        client.call("chat.message", {"sessionID": "oc"}, asked)
        grown = client.call("experimental.chat.system.transform", {"sessionID": "oc"}, {"system": ["You code."]})
        assert "exponential backoff with jitter" in grown["output"]["system"][0]
        wanted = {"tool": "bash", "sessionID": "oc", "callID": "wanted-1"}
        refused = client.call("tool.execute.before", wanted, {"args": {"command": "git push origin --force"}})
        assert "R-1" in refused["refused"]
        assert client.call("tool.execute.before", wanted, {"args": {"command": "ls"}})["refused"] is None
        failed = {"title": "", "output": "E   KeyError: 'oc'", "metadata": {"exit": 1}}
        client.tool("oc", "bash", {"command": "pytest -q"}, **failed)
        client.tool("oc", "edit", {"filePath": "parser.py", "oldString": "a", "newString": "oc = 1"}, output="done")
        client.tool("oc", "bash", {"command": "pytest -q"}, output="3 passed", metadata={"exit": 0})
        client.call("experimental.session.compacting", {"sessionID": "oc"}, {"context": []})
        after = client.call("experimental.chat.system.transform", {"sessionID": "oc"}, {"system": ["You code."]})
        assert task in after["output"]["system"][0], "and is told again after a compaction"
    clew = project(place)
    proof = Caller(clew)("tasks_proofs", task=task)["steps"][0]
    receipt = Caller(clew)("open", id=proof["receipt"])["receipt"]
    clew.close()
    assert (receipt["source"], receipt["grade"]) == ("hook", "seen")


def test_opencode_is_told_where_the_work_stands_when_the_prompt_comes_first(
    served: tuple[Path, str], tmp_path: Path, launcher: str
) -> None:
    """As opencode really calls: the prompt, the title generator, and only then the agent."""
    place, task = served
    transform = "experimental.chat.system.transform"
    with Opencode(place / "project", tmp_path, place / "home", launcher) as client:
        client.call("chat.message", {"sessionID": "oc2"}, {"parts": [{"type": "text", "text": "Go on"}]})
        titles = "You are a title generator. You output ONLY a thread title."
        titled = client.call(transform, {"sessionID": "oc2"}, {"system": [titles]})
        assert titled["output"]["system"] == [titles]
        begun = client.call(transform, {"sessionID": "oc2"}, {"system": ["You code."]})
        assert 'about="where the work stands"' in begun["output"]["system"][0]
        assert begun["output"]["system"][0].count(task) >= 1


def test_opencode_works_where_the_hook_cannot(served: tuple[Path, str], tmp_path: Path) -> None:
    place, _ = served
    with Opencode(place / "project", tmp_path, place / "home", str(tmp_path / "gone")) as client:
        begun = client.call("experimental.chat.system.transform", {"sessionID": "no"}, {"system": ["You code."]})
        assert begun == {"refused": None, "output": {"system": ["You code."]}}
        wanted = {"tool": "bash", "sessionID": "no", "callID": "wanted-1"}
        assert client.call("tool.execute.before", wanted, {"args": {"command": "git push --force"}})["refused"] is None
        assert client.call("chat.message", {}, {"parts": []})["refused"] is None


def test_sub_agents_of_opencode_hear_nothing(served: tuple[Path, str], tmp_path: Path, launcher: str) -> None:
    place, _ = served
    with Opencode(place / "project", tmp_path, place / "home", launcher) as client:
        made = {"type": "session.created", "properties": {"info": {"id": "inner", "parentID": "oc"}}}
        client.call("event", {"event": made})
        begun = client.call("experimental.chat.system.transform", {"sessionID": "inner"}, {"system": ["You code."]})
        assert begun["output"]["system"] == ["You code."]
        wanted = {"tool": "bash", "sessionID": "inner", "callID": "wanted-1"}
        refused = client.call("tool.execute.before", wanted, {"args": {"command": "git push origin --force"}})
        assert "R-1" in refused["refused"], "guards hold for them too"
