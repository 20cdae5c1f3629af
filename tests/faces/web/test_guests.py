"""Pages of other sites that the setting names: they may read the API and follow the socket, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.faces.web.server import Server

GUEST = "https://dashboard.example.org"
STRANGER = "https://evil.example.org"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home: Path = tmp_path_factory.mktemp("guests")
    server = Server(home, CLEW_OBSERVATORY_HTTP_API="true", CLEW_OBSERVATORY_CORS=GUEST)
    yield server
    server.stop()


def status(server: Server, path: str, origin: str, body: bytes | None = None) -> tuple[int, str | None]:
    headers = {"Origin": origin, "x-clew-page": "1", "content-type": "application/json"}
    try:
        with urlopen(Request(server.address + path, body, headers), timeout=60) as response:
            return response.status, response.headers["access-control-allow-origin"]
    except HTTPError as refused:
        refused.close()
        return refused.code, refused.headers["access-control-allow-origin"]


@pytest.mark.parametrize("path", ["/api/health", "/api/sessions", "/api/operations/session_list"])
def test_a_guest_reads_the_api_and_a_stranger_does_not(server: Server, path: str) -> None:
    assert status(server, path, GUEST) == (200, GUEST)
    assert status(server, path, STRANGER) == (403, None)
    assert status(server, path, "null") == (403, None)


@pytest.mark.parametrize("path", ["/", "/ws"])
def test_a_guest_follows_the_socket_and_a_stranger_does_not(server: Server, path: str) -> None:
    with connect(server.socket_address + path, additional_headers={"Origin": GUEST}) as socket:
        socket.send("ping")
        assert socket.recv(timeout=60) == "pong"
    with pytest.raises(InvalidStatus):
        connect(server.socket_address + path, additional_headers={"Origin": STRANGER})


@pytest.mark.parametrize(
    "path", ["/", "/page/state", "/page/call", "/page/login", "/mcp", "/health", "/static/clew.svg"]
)
def test_a_guest_gets_nowhere_else(server: Server, path: str) -> None:
    body = b'{"name": "notes_commit", "arguments": {"content": "x"}}' if path.startswith(("/page/c", "/mcp")) else None
    assert status(server, path, GUEST, body) == (403, None)


def test_everybody_may_look_when_the_setting_says_so(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_OBSERVATORY_CORS="*")
    try:
        assert status(server, "/api/health", STRANGER) == (200, STRANGER)
        assert status(server, "/page/call", STRANGER, b"{}") == (403, None)
    finally:
        server.stop()
