"""What one caller can do to a server: guess tokens, leave requests half sent, use up files, nest ids."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from websockets.sync.client import connect

from clew.faces.http import ARRIVAL, Brake
from clew.faces.web.bearer import MOST_WRONG
from tests.faces.web.server import Server


def log_in(server: Server, token: str) -> int:
    request = Request(server.address + "/page/login", json.dumps({"token": token}).encode(), {"x-clew-page": "1"})
    try:
        with urlopen(request, timeout=60) as response:
            return int(response.status)
    except HTTPError as refused:
        return refused.code


def test_guessing_the_token_is_slowed_down(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_TOKEN="correct horse")
    try:
        assert [log_in(server, f"guess {number}") for number in range(Brake.MOST)] == [401] * Brake.MOST
        assert log_in(server, "correct horse") == 429
        # Who has the token needs no login.
        assert server.call("status", {"Authorization": "Bearer correct horse"})["success"]
    finally:
        server.stop()


def ask(server: Server, token: str, **headers: str) -> int:
    request = Request(server.address + "/mcp", b"{}", {"authorization": f"Bearer {token}", **headers})
    try:
        with urlopen(request, timeout=60) as response:
            return int(response.status)
    except HTTPError as refused:
        return refused.code


def test_wrong_bearers_are_slowed_down_and_known_clients_go_on(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_TOKEN="correct horse")
    try:
        known = ask(server, "correct horse")
        assert known not in (401, 429)
        assert [ask(server, f"guess {number}") for number in range(MOST_WRONG)] == [401] * MOST_WRONG
        assert ask(server, "one more") == 429
        assert ask(server, "correct horse") == known, "a client that was let in before goes on"
    finally:
        server.stop()


def test_the_brake_holds_before_the_right_token_was_ever_seen(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_TOKEN="correct horse")
    try:
        for number in range(MOST_WRONG):
            ask(server, f"guess {number}")
        assert ask(server, "correct horse") == 429, "a guess that is right must not look different"
    finally:
        server.stop()


def test_a_forged_address_does_not_pass_the_brake(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_TOKEN="correct horse")
    try:
        answers = [
            ask(server, f"guess {number}", **{"x-forwarded-for": f"192.0.2.{number}"}) for number in range(MOST_WRONG)
        ]
        assert answers == [401] * MOST_WRONG
        assert ask(server, "one more", **{"x-forwarded-for": "198.51.100.7"}) == 429
    finally:
        server.stop()


def test_behind_a_trusted_proxy_each_client_has_a_brake_of_its_own(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_TOKEN="correct horse", CLEW_TRUSTED_PROXIES="127.0.0.0/8")
    try:
        for number in range(MOST_WRONG):
            # The first address is what the client claims; the last is what the proxy saw.
            ask(server, f"guess {number}", **{"x-forwarded-for": f"203.0.113.{number}, 192.0.2.1"})
        assert ask(server, "one more", **{"x-forwarded-for": "192.0.2.1"}) == 429
        assert ask(server, "correct horse", **{"x-forwarded-for": "192.0.2.2"}) not in (401, 429)
    finally:
        server.stop()


def test_a_request_that_never_ends_is_given_up(tmp_path: Path) -> None:
    server = Server(tmp_path / "home")
    address = (str(urlsplit(server.address).hostname), int(urlsplit(server.address).port or 0))
    halves = [
        b"",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /page/call HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
    ]
    try:
        begun = time.monotonic()
        sockets = [socket.create_connection(address, timeout=ARRIVAL + 30) for _ in halves]
        for half, caller in zip(halves, sockets, strict=True):
            caller.sendall(half)
        for caller in sockets:
            while caller.recv(4096):  # until the server closes it
                pass
            caller.close()
        assert time.monotonic() - begun >= ARRIVAL - 1
        assert server.call("status")["success"]
    finally:
        server.stop()


def test_running_out_of_files_does_not_flood_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        log.open("w") as written,
        subprocess.Popen(
            [sys.executable, "-m", "clew", "serve", "--http", "--port", "0", "--json"],
            env={**os.environ, "CLEW_HOME": str(tmp_path / "home")},
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        ) as server,
    ):
        assert server.stdout is not None
        parts = urlsplit(json.loads(server.stdout.readline())["mcp"])
        callers = [socket.create_connection((str(parts.hostname), int(parts.port or 0))) for _ in range(100)]
        time.sleep(3)  # the flood came in the seconds of being out of files: there is no event to wait for
        for caller in callers:
            caller.close()
        server.terminate()
    assert len(log.read_text().splitlines()) < 100


def test_a_deeply_nested_id_does_not_end_the_socket(tmp_path: Path) -> None:
    server = Server(tmp_path / "home")
    try:
        with connect(server.socket_address + "/ws") as client:
            nested = "[" * 300 + "]" * 300
            client.send(f'{{"action": "subscribe", "channel": "events", "id": {nested}}}')
            assert json.loads(client.recv(timeout=60))["event"] == "subscribed"
            client.send("ping")
            assert client.recv(timeout=60) == "pong"
    finally:
        server.stop()


def test_the_page_opens_without_a_store(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "clew.db").write_bytes(b"this is no database" * 500)
    server = Server(home, CLEW_WORKSPACE_LOCK="false")
    try:
        with urlopen(server.address + "/page/state", timeout=60) as response:
            state = json.loads(response.read())
        assert state["workspaces"] == ["ws"] and state["problem"]
    finally:
        server.stop()


@pytest.mark.parametrize("token", ['with "quotes"', "back\\slash", "plain"])
def test_no_form_of_the_token_gets_into_the_log(token: str) -> None:
    script = (
        "import logging, sys, json; from clew.logs import configure_logs; from clew.settings import load_settings\n"
        "configure_logs(load_settings({'token': sys.argv[1]})); log = logging.getLogger('t')\n"
        "log.error('given: %s', sys.argv[1]); log.error(json.dumps(sys.argv[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, token], capture_output=True, text=True, timeout=60)
    lines = [json.loads(line)["message"] for line in done.stderr.splitlines()]
    assert len(lines) == 2, done.stderr
    for line in lines:
        assert "<redacted>" in line and token not in line and json.dumps(token)[1:-1] not in line


def test_the_debug_log_holds_no_content_and_no_secret(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with (tmp_path / "log").open("w") as log:
        server = Server(home, log=log, CLEW_LOG_LEVEL="debug", CLEW_EMBEDDING_MODEL="none")
        try:
            with connect(server.socket_address + "/ws") as socket:
                socket.send(json.dumps({"action": "subscribe", "channel": "events"}))
                assert "subscribed" in str(socket.recv(timeout=60))
                server.call("notes_commit", content="quokka marmalade ghp_" + "a1B2" * 9)
                heard = ""
                while "note_committed" not in heard:
                    heard = str(socket.recv(timeout=60))
            told = over_mcp(server.address, {"name": "recall", "arguments": {"query": "quokka", "sources": ["all"]}})
            assert "marmalade" in told
        finally:
            server.stop()
    text = (tmp_path / "log").read_text()
    assert '"level": "info"' in text
    assert "marmalade" not in text and "a1B2" not in text


def over_mcp(address: str, params: dict[str, object]) -> str:
    """What a tool answers over MCP, with the handshake of the older era."""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, object]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params},
    ]
    told = ""
    for message in messages:
        with urlopen(Request(address + "/mcp", json.dumps(message).encode(), headers), timeout=60) as response:
            headers["mcp-session-id"] = response.headers.get("mcp-session-id") or headers["mcp-session-id"]
            told = response.read().decode()
    return told
