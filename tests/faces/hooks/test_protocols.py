"""`clew-hook` as clients start it: every event of Claude Code, Codex and Cursor, with a server and without one."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, get_args

import pytest

from clew.faces.hooks import launcher
from clew.faces.hooks.client_events import CLIENTS as NAMES
from clew.faces.hooks.client_events import ENTRIES, EVENTS, entries_of, reply_of
from clew.faces.hooks.payload import arguments_of
from clew.faces.hooks.where import directory_of
from clew.hook_events.event import Event
from clew.shim.place import PROTOCOL, package_stamp
from tests.conftest import Caller
from tests.faces.hooks.conftest import filled, project
from tests.faces.hooks.stub import CLIENTS, LAUNCHER, ClaudeCode, Codex, Cursor, StubClient
from tests.faces.resident.shims import Shim, ending, resident, residents
from tests.waiting import until

FAILURE = "E       KeyError: 'timeout'\nFAILED tests/test_parser.py::test_load - KeyError: 'timeout'\n1 failed"


@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: kind.name)
def test_a_whole_session_of_each_client(kind: type[Any], served: tuple[Path, str]) -> None:
    place, task = served
    client = kind(place / "home", place / "project", f"whole-{kind.name}")
    start = client.fire("session-start", source="startup")
    assert task in start.context and len(start.context.encode()) <= 1800
    assert client.fire("session-start", source="startup").context == "", "installed twice"
    assert "exponential backoff with jitter" in start.context
    assert client.fire("prompt", prompt="Why does the retry queue use exponential backoff?").context == ""
    refused = client.wants("cd api && git push origin --force")
    assert refused.decision == ("ask" if kind is ClaudeCode else "deny")
    assert "R-1" in refused.reason and "guards override R-1" in refused.reason
    assert client.wants("git push --force-with-lease").decision == ""
    client.edits("parser.py", "timeout = 1", "timeout = 2")
    client.runs("pytest -q", error=FAILURE)
    client.edits("parser.py", "timeout = 2", "timeout = 3")
    assert client.runs("pytest -q", "3 passed").code == 0
    client.fire("pre-compact", trigger="auto")
    assert client.fire("stop", stop_hook_active=False).decision == ""
    assert client.fire("session-end", reason="other").code == 0


def test_what_a_client_ran_is_seen_and_known_in_the_next_session(served: tuple[Path, str]) -> None:
    place, task = served
    client = Codex(place / "home", place / "project", "seen-1")
    client.runs("pytest -q", error=FAILURE.replace("timeout", "quota"))
    client.edits("parser.py", "quota = 1", "quota = 2\nload = 3")
    client.runs("pytest -q", "3 passed")
    clew = project(place)
    proof = Caller(clew)("tasks_proofs", task=task)["steps"][0]
    receipt = Caller(clew)("open", id=proof["receipt"])["receipt"]
    clew.close()
    assert (receipt["source"], receipt["grade"]) == ("hook", "seen")
    told = Cursor(place / "home", place / "project", "seen-2").runs(
        "pytest -q", error=FAILURE.replace("timeout", "quota")
    )
    assert "editing parser.py" in told.context


def test_a_hook_of_another_installation_is_answered_while_a_session_is_open(tmp_path: Path) -> None:
    """A plugin's server comes from `uvx` and its hook from pipx: the two are the same program in two places."""
    task = filled(tmp_path)
    shutil.copytree(LAUNCHER.parents[2], tmp_path / "copy" / "clew")
    other = tmp_path / "copy" / "clew" / "faces" / "hooks" / "launcher.py"
    home, work = tmp_path / "home", tmp_path / "project"
    with ending(home), Shim(home, cwd=work, CLEW_WORKSPACE="") as first, Shim(home, cwd=work) as second:
        first.open()
        second.open()
        served = resident(home)
        client = ClaudeCode(home, work, "another")
        client.launcher = other
        assert task in client.fire("session-start", source="startup").context
        assert client.wants("git push --force").decision == "ask"
        assert resident(home) == served


def test_sub_agents_and_stops_that_go_on_are_left_alone(served: tuple[Path, str]) -> None:
    place, _ = served
    client = ClaudeCode(place / "home", place / "project", "sub")
    assert client.fire("session-start", source="startup", agent_id="a-1", agent_type="Explore").context == ""
    assert client.fire("stop", stop_hook_active=True).notice == ""
    assert client.fire("prompt", prompt="Why does the retry queue use exponential backoff", source="sdk").context == ""


def test_another_project_of_the_same_home_hears_nothing_of_this_one(served: tuple[Path, str], tmp_path: Path) -> None:
    place, _ = served
    (tmp_path / "other").mkdir()
    client = ClaudeCode(place / "home", tmp_path / "other", "elsewhere")
    heard = (
        client.fire("session-start", source="startup"),
        client.fire("prompt", prompt="retry queue exponential backoff"),
    )
    assert [(it.context, it.code) for it in heard] == [("", 0), ("", 0)]


def test_cursor_running_claudes_hook_is_answered_as_cursor_and_once(served: tuple[Path, str]) -> None:
    place, task = served
    client = Cursor(place / "home", place / "project", "twice")
    twin = Cursor(place / "home", place / "project", "twice")
    twin.name = "claude"
    first = client.fire("session-start")
    payload = json.dumps(client.base("session-start")).encode()
    second = subprocess.run(
        [sys.executable, "-I", "-S", str(LAUNCHER), "session-start", "--client", "claude"],
        input=payload,
        capture_output=True,
        env=client.env,
        timeout=60,
        check=True,
    )
    assert task in first.context and second.stdout == b""


ALL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session-start", {"source": "startup"}),
    ("prompt", {"prompt": "Why does the retry queue use exponential backoff?"}),
    ("pre-tool", {"tool_name": "Bash", "tool_input": {"command": "git push --force"}}),
    (
        "post-tool",
        {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "", "stderr": ""}},
    ),
    ("tool-failed", {"tool_name": "Bash", "tool_input": {"command": "ls"}, "error": "Exit code 2\nno"}),
    ("pre-compact", {"trigger": "auto"}),
    ("stop", {}),
    ("task-completed", {"task_id": "1", "task_subject": "x"}),
    ("session-end", {"reason": "other"}),
)


def silent(client: StubClient, guarded: str = "") -> None:
    """Nothing is said at any event; `guarded` is what is decided where guards would have had a say."""
    for event, payload in ALL:
        heard = client.fire(event, **payload)
        decision = guarded if event == "pre-tool" else ""
        assert (heard.context, heard.decision, heard.notice, heard.code) == ("", decision, "", 0), event


def test_without_an_installation_nothing_happens_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    silent(ClaudeCode(tmp_path / "home", tmp_path / "project", "s", None))
    assert not (tmp_path / "home").exists()


def test_what_an_absent_server_missed_is_taken_over_by_the_next_command(tmp_path: Path) -> None:
    task = filled(tmp_path)
    client = ClaudeCode(tmp_path / "home", tmp_path / "project", "absent")
    # Open to others, so no server is started there and none is trusted.
    (tmp_path / "home" / "resident").mkdir(mode=0o777)
    (tmp_path / "home" / "resident").chmod(0o777)
    with ending(tmp_path / "home"):
        assert (
            client.runs("pytest -q && echo token=abc123DEF456", error=f"<private>hidden</private>{FAILURE}").context
            == ""
        )
        assert client.fire("session-end", reason="other").code == 0
        spool = tmp_path / "home" / "spool" / "moments.jsonl"
        text = spool.read_text()
        assert len(text.splitlines()) == 2 and "hidden" not in text and "abc123DEF456" not in text
        assert spool.stat().st_mode & 0o077 == 0
        done = subprocess.run(
            [sys.executable, "-m", "clew", "resume"], cwd=client.project, env=client.env, capture_output=True, text=True
        )
        assert done.returncode == 0 and task in done.stdout, done.stderr
        assert not spool.exists()
        clew = project(tmp_path)
        with clew.database.read() as tx:
            assert tx.value("SELECT count(*) FROM agent_deed WHERE exit_code = 1") == 1
            assert tx.value("SELECT count(*) FROM agent_session WHERE ended_ms IS NOT NULL") == 1
        clew.close()


def test_a_killed_server_is_missed_by_nobody_and_comes_back(tmp_path: Path) -> None:
    task = filled(tmp_path)
    with ending(tmp_path / "home"):
        client = ClaudeCode(tmp_path / "home", tmp_path / "project", "killed")
        until(lambda: client.fire("session-start", source="startup").context)
        os.kill(resident(tmp_path / "home"), 9)
        until(lambda: not residents(tmp_path / "home"))
        assert client.runs("pytest -q", error=FAILURE).code == 0
        later = ClaudeCode(tmp_path / "home", tmp_path / "project", "after")
        until(lambda: task in later.fire("session-start", source="startup").context)
        until(lambda: not (tmp_path / "home" / "spool" / "moments.jsonl").exists())


def test_a_server_that_never_answers_is_left_in_time(tmp_path: Path) -> None:
    filled(tmp_path)
    folder = tmp_path / "home" / "resident"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as deaf:
        path = f"/tmp/clew-deaf-{os.getpid()}"
        deaf.bind(path)
        deaf.listen(64)
        told = {"protocol": PROTOCOL, "pid": os.getpid(), "stamp": package_stamp(), "secret": "x", "socket": path}
        (folder / "address.json").write_text(json.dumps(told))
        try:
            silent(ClaudeCode(tmp_path / "home", tmp_path / "project", "slow", None), guarded="ask")
        finally:
            Path(path).unlink()
    assert residents(tmp_path / "home") == [], "one that is only slow is not started again"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"session_id": 5}', b"x" * 3_000_000])
def test_whatever_comes_in_the_hook_ends_with_0(served: tuple[Path, str], data: bytes) -> None:
    place, _ = served
    for event in ("session-start", "pre-tool", "no-such-event", ""):
        heard = ClaudeCode(place / "home", place / "project", "odd").send(event, data)
        assert (heard.code, heard.context) == (0, "")


def test_a_client_that_keeps_the_pipe_open_is_answered(served: tuple[Path, str]) -> None:
    place, task = served
    client = ClaudeCode(place / "home", place / "project", "open-pipe")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(LAUNCHER), "session-start", "--client", "claude"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=client.env,
        cwd=client.project,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps({**client.base("session-start"), "source": "startup"}).encode())
    process.stdin.flush()
    ended = threading.Timer(50, process.kill)
    ended.start()
    text = process.stdout.read().decode()
    ended.cancel()
    assert process.wait(60) == 0 and task in text
    process.stdin.close()
    process.stdout.close()


def test_the_hook_imports_next_to_nothing(served: tuple[Path, str]) -> None:
    """Every tool call of an agent waits for these imports; `json` and `socket` would double them."""
    place, task = served
    client = ClaudeCode(place / "home", place / "project", "imports")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(LAUNCHER), "session-start", "--client", "claude"],
        input=json.dumps({**client.base("session-start"), "source": "startup"}).encode(),
        capture_output=True,
        env=client.env,
        cwd=client.project,
        timeout=60,
        check=True,
    )
    assert task in done.stdout.decode()
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "clew.faces.hooks.quick" in loaded
    heavy = "json re enum socket threading signal dataclasses typing pathlib pydantic asyncio subprocess"
    assert not set(heavy.split()) & loaded


def test_the_table_names_every_event_and_the_command_stays_stable() -> None:
    assert {entry.event for entry in ENTRIES} == set(EVENTS)
    assert get_args(Event) == EVENTS, "the hook names the moments without importing what answers them"
    assert all(entries_of(name) for name in NAMES)
    first = entries_of("claude")[0]
    assert first.command == "clew-hook session-start --client claude"


def test_a_stop_that_is_set_to_block_is_put_in_each_clients_words() -> None:
    answer = {"decision": "block", "reason": "TASK-001 s:0 is not proven"}
    assert reply_of("claude", "stop", answer)[0] == {"decision": "block", "reason": "TASK-001 s:0 is not proven"}
    assert reply_of("cursor", "stop", answer)[0] == {"followup_message": "TASK-001 s:0 is not proven"}
    assert reply_of("claude", "task-completed", answer) == ({}, 2, "TASK-001 s:0 is not proven")
    assert reply_of("codex", "stop", {"notice": "x"})[0] == {"systemMessage": "x"}


def test_payloads_are_read_under_the_names_that_clients_use(tmp_path: Path) -> None:
    base = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "make"}}
    text = arguments_of("codex", "post-tool", {**base, "tool_response": "Process exited with code 3\nOutput: no"})
    assert text is not None and text["exit_code"] == 3
    unknown = arguments_of("gemini", "post-tool", {**base, "tool_name": "run_shell_command", "tool_response": "done"})
    assert unknown is not None and unknown["exit_code"] is None
    stopped = {"stdout": "", "stderr": "", "interrupted": True}
    cut = arguments_of("claude", "post-tool", {**base, "tool_response": stopped})
    assert cut is not None and cut["exit_code"] is None
    assert arguments_of("claude", "pre-tool", {**base, "tool_name": "Read"}) is None
    several = {
        "file_path": "a.py",
        "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}],
    }
    many = arguments_of("claude", "pre-tool", {**base, "tool_name": "MultiEdit", "tool_input": several})
    assert many is not None and (many["text"], many["before"]) == ("b\nd", "a\nc")
    inner = tmp_path / "src"
    inner.mkdir()
    assert directory_of({"cwd": str(inner)}, {"CLAUDE_PROJECT_DIR": str(tmp_path)}, "/") == str(tmp_path)
    assert launcher.age() >= 0


def test_exit_codes_are_found_where_each_client_puts_them(tmp_path: Path) -> None:
    gemini = {"session_id": "s", "tool_name": "run_shell_command", "tool_input": {"command": "pytest -q"}}

    def ended(tail: str) -> Any:
        told = {**gemini, "tool_response": {"llmContent": f"Output: {'x' * 900}\n{tail}"}}
        found = arguments_of("gemini", "post-tool", told)
        assert found is not None
        return found["exit_code"]

    assert ended("Process Group PGID: 77") == 0
    assert ended("Exit Code: 1\nProcess Group PGID: 77") == 1
    assert ended("Signal: 9\nProcess Group PGID: 77") is None
    assert ended("Exit Code: 1") is None

    transcript = tmp_path / "rollout.jsonl"
    lines = [
        {"call_id": "call_1", "output": {"exit_code": 0}},
        {"call_id": "call_2", "output": {"text": '"exit_code": 0', "metadata": {"exit_code": 1}}},
    ]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    codex = {
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": {"command": "pytest -q"},
        "tool_response": "1 failed",
    }
    for id, code in (("call_1", 0), ("call_2", 1), ("call_3", None)):
        told = {**codex, "tool_use_id": id, "transcript_path": str(transcript)}
        found = arguments_of("codex", "post-tool", told)
        assert found is not None and found["exit_code"] == code
