"""Over a pipe the pipe is the connection, also for clients of the stateless protocol, which make no handshake."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.faces.resident.shims import Shim, resident

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2.1.327"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(shim: Shim, name: str, **arguments: Any) -> str:
    answer = shim.ask("tools/call", name=name, arguments=arguments, _meta=META)
    assert not answer["result"]["isError"], answer
    text: str = answer["result"]["content"][0]["text"]
    return text


def start(shim: Shim, title: str) -> None:
    call(shim, "start", title=title, steps=[{"title": "one"}, {"title": "two"}])


@pytest.mark.parametrize("served", ["resident", "alone"])
def test_two_pipes_of_one_client_never_share_a_focus(home: Path, served: str) -> None:
    words = () if served == "resident" else ("--no-resident",)
    with Shim(home, "--toolset", "agent", *words) as first, Shim(home, "--toolset", "agent", *words) as second:
        start(first, "Alpha work")
        start(second, "Beta work")
        assert "TASK-001 Alpha work" in call(first, "resume")
        assert "TASK-001 s:0 closed" in call(first, "close", step="s:0", unproven="test")
        assert "TASK-002 Beta work" in call(second, "resume")
        assert "TASK-002 s:0 closed" in call(second, "close", step="s:0", unproven="test")


def test_a_pipe_keeps_its_focus_when_the_resident_server_is_killed(home: Path) -> None:
    with Shim(home, "--toolset", "agent") as first, Shim(home, "--toolset", "agent") as second:
        start(first, "Alpha work")
        start(second, "Beta work")
        os.kill(resident(home), signal.SIGKILL)
        # Reads are asked again of the next server; of a write that the kill meets nobody could know the outcome.
        assert "TASK-001 Alpha work" in call(first, "resume")
        assert "TASK-002 Beta work" in call(second, "resume")
        assert "TASK-001 s:0 closed" in call(first, "close", step="s:0", unproven="test")
        assert "TASK-002 s:0 closed" in call(second, "close", step="s:0", unproven="test")


def test_calls_made_at_the_same_time_are_of_one_author(home: Path) -> None:
    with Shim(home, "--toolset", "full") as shim:
        for number in range(1, 9):
            arguments = {"content": f"note {number}"}
            shim.send("tools/call", {"name": "notes_commit", "arguments": arguments, "_meta": META}, number)
        assert not any(shim.receive()["result"]["isError"] for _ in range(8))
        shim._next = 8
        answer = shim.ask("tools/call", name="events_list", arguments={"limit": 50, "fmt": "json"}, _meta=META)
        events = answer["result"]["structuredContent"]["result"]["events"]
        assert {event["agent"] for event in events} == {"claude-code-1"}
