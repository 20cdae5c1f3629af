"""Two servers behind one address, as a proxy has them that sends each request to the next one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faces.web.server import Server
from tests.identity.http_client import Program, stateless_call


@pytest.fixture
def servers(tmp_path: Path, database_flags: dict[str, Any]) -> Iterator[list[Server]]:
    more = {"CLEW_DATABASE_URL": database_flags["database_url"]} if "database_url" in database_flags else {}
    more |= {"CLEW_EMBEDDING_MODEL": "none", "CLEW_WORKSPACE_LOCK": "false"}
    made = [Server(tmp_path / "home", **more) for _ in range(2)]
    yield made
    for server in made:
        server.stop()


def test_a_stateless_client_may_be_sent_to_any_of_them(servers: list[Server]) -> None:
    kept = []
    for number in range(6):
        address = servers[number % 2].address
        answer = stateless_call(address, "remember", kind="note", text=f"note number {number} of six", fmt="json")
        kept.append(answer["result"]["id"])
    for number, id in enumerate(kept):
        assert stateless_call(servers[(number + 1) % 2].address, "open", id=id, fmt="json")["success"]


def test_a_session_goes_on_in_whichever_server_its_next_request_is_sent_to(servers: list[Server]) -> None:
    """A proxy that sends each request to the next server, and has never heard of sessions."""
    program = Program(servers[0].address)  # which sends `initialized` to the first, and everything else around
    kept = []
    for number in range(6):
        program.address = servers[(number + 1) % 2].address
        assert program.post({"id": 3, "method": "tools/list"}).status_code == 200
        answer = program.call("remember", kind="note", text=f"note number {number} of six", fmt="json")
        kept.append(answer["result"]["id"])
    assert len(set(kept)) == 6
    events = program.call("events_list", fmt="json")["result"]["events"]
    assert len({event["agent"] for event in events if event["agent"]}) == 1, "one session is one author"
    for number, id in enumerate(kept):
        program.address = servers[number % 2].address
        assert program.call("open", id=id, fmt="json")["success"]


def test_the_workspace_that_a_session_moved_to_holds_on_the_other_server(servers: list[Server]) -> None:
    program = Program(servers[0].address)
    for number, name in enumerate(("relay", "ws", "relay")):
        program.address = servers[number % 2].address
        assert program.call("init", workspace=name, fmt="json")["success"]
        assert program.call("workspace_use", workspace=name, fmt="json")["success"]
        program.address = servers[(number + 1) % 2].address
        assert program.call("events_list", fmt="json")["result"]["workspace"] == name


def test_a_session_outlives_its_server(servers: list[Server]) -> None:
    program = Program(servers[0].address)
    kept = program.call("remember", kind="note", text="written before the server ended", fmt="json")["result"]["id"]
    servers[0].process.kill()
    servers[0].process.wait(60)
    program.address = servers[1].address
    assert program.call("open", id=kept, fmt="json")["success"]
    program.address = servers[1].address
    assert program.call("remember", kind="note", text="written after it", fmt="json")["success"]


def test_a_session_that_its_client_ended_is_ended_everywhere(servers: list[Server]) -> None:
    program = Program(servers[0].address)
    for server in servers:
        program.address = server.address
        assert program.post({"id": 3, "method": "tools/list"}).status_code == 200
    assert program.http.delete(f"{servers[1].address}/mcp").status_code == 200
    for server in servers:
        program.address = server.address
        refused = program.post({"id": 3, "method": "tools/list"})
        assert (refused.status_code, "Session not found" in refused.text) == (404, True)


def test_a_session_that_nobody_opened_is_not_found(servers: list[Server]) -> None:
    program = Program(servers[0].address)
    program.http.headers["mcp-session-id"] = "0" * 32
    assert program.post({"id": 3, "method": "tools/list"}).status_code == 404


def test_round_robin_loses_no_call_while_one_of_them_is_killed(servers: list[Server]) -> None:
    """Both eras, as a proxy does it that takes a server out which refuses connections."""
    programs = [Program(servers[number % 2].address, f"client-{number}") for number in range(4)]
    alive, kept = [server.address for server in servers], []
    for turn in range(24):
        if turn == 12:
            servers[0].process.kill()
            servers[0].process.wait(60)
            alive.remove(servers[0].address)
        program, address = programs[turn % 4], alive[turn % len(alive)]
        program.address = address
        kept.append(program.call("remember", kind="note", text=f"turn {turn}, session", fmt="json")["result"]["id"])
        stateless = stateless_call(address, "remember", kind="note", text=f"turn {turn}, stateless", fmt="json")
        kept.append(stateless["result"]["id"])
    assert len(set(kept)) == 48
    assert all(stateless_call(alive[0], "open", id=id, fmt="json")["success"] for id in kept)
