"""A client that does not read: the server keeps little for it, and says that something is missing."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import ClientConnection, connect

from clew.app import open_clew
from clew.settings import load_settings
from tests.conftest import Caller
from tests.faces.web.server import Server

LONG = "x" * 1_000_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "home", CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


def reluctant(address: str) -> ClientConnection:
    """Takes next to nothing from the wire until it is asked for."""
    parts = urlsplit(address)
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.connect((parts.hostname or "", parts.port or 0))
    return connect(f"{address}/ws", sock=wire, max_queue=1, max_size=None)


def heard(client: ClientConnection) -> tuple[str, dict[str, Any]]:
    message = json.loads(client.recv(timeout=60))
    return message["event"], message["data"]


def flood(writer: Caller, session: str, client: ClientConnection, other: ClientConnection, count: int) -> int:
    """Writes so much while the client does not read; how many events it got before it was told, 0 if it got all."""
    for _ in range(count):
        writer("thought", thought=LONG, nextThoughtNeeded=True, sessionId=session)
        assert heard(other)[0] == "thought:added", "who reads is not held up by who does not"
    for number in range(1, count + 1):
        if heard(client)[0] == "behind":
            return number
    return 0


def test_a_slow_client_is_told_and_starts_over(server: Server, tmp_path: Path) -> None:
    settings = load_settings({"home": tmp_path / "home", "workspace": "ws", "embedding_model": "none"}, {}, tmp_path)
    clew = open_clew(settings)
    writer = Caller(clew)
    session = writer("start_new", title="Flood")["sessionId"]
    wish = {"action": "subscribe", "channel": "reasoning", "sessionId": session}
    with reluctant(server.socket_address) as client, connect(f"{server.socket_address}/ws", max_size=None) as other:
        for each in (client, other):
            each.send(json.dumps(wish))
            assert [heard(each)[0], heard(each)[0]] == ["subscribed", "session:snapshot"]
        # How much the system itself keeps between the two is its own affair, so more is tried when all of it fits.
        told = next(filter(None, (flood(writer, session, client, other, count) for count in (16, 40, 100))))
        assert told
        client.send(json.dumps(wish | {"outline": True}))
        while (found := heard(client))[0] != "session:outline":
            pass
        stored = writer("session_outline", sessionId=session, limit=500)["thoughts"]
        numbers = [thought["thoughtNumber"] for thought in found[1]["thoughts"]]
        assert numbers == [thought["thoughtNumber"] for thought in stored]
    clew.close()
