"""The HTTP server as a process."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from starlette.testclient import TestClient

from clew import __version__
from clew.faces.http import Hosts, bind
from clew.faces.mcp import endpoint
from clew.faces.mcp.server import ClewServer
from tests.faces.mcp.process import running


@pytest.mark.anyio
async def test_a_server_that_is_told_to_stop_ends_its_streams_and_goes(tmp_path: Path) -> None:
    with running("tests.faces.mcp.serve", tmp_path, "http") as server:
        async with (
            Client(f"{server.address}/mcp", mode="auto") as client,
            client.listen(tools_list_changed=True) as stream,
        ):
            server.process.terminate()
            with anyio.fail_after(60):
                assert [event async for event in stream] == []
        server.process.wait(60)


def test_there_is_a_most_of_sessions_and_others_go_on(server: ClewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MOST_SESSIONS", 2)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "guest", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    headers = {"accept": "application/json, text/event-stream"}
    app = endpoint.http_app(server, None, Hosts("127.0.0.1"))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        opened = [client.post("/mcp", json=opening, headers=headers) for _ in range(2)]
        refused = client.post("/mcp", json=opening, headers=headers)
        session = {**headers, "mcp-session-id": opened[0].headers["mcp-session-id"]}
        listed = client.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=session)
        client.delete("/mcp", headers=session)
        again = client.post("/mcp", json=opening, headers=headers)
    assert [answer.status_code for answer in (*opened, refused, listed, again)] == [200, 200, 503, 200, 200]
    assert "Too many open sessions" in refused.text


def test_health_says_what_is_running(address: str) -> None:
    answer = httpx2.get(f"{address}/health").json()
    assert (answer["status"], answer["server"], answer["version"]) == ("ok", "clew", __version__)


def test_ready_says_whether_the_store_can_be_written(tmp_path: Path) -> None:
    with running("tests.faces.mcp.serve", tmp_path, "http") as server:
        assert httpx2.get(f"{server.address}/ready").json() == {"status": "ready"}
        (store,) = tmp_path.rglob("clew.db")
        for path in store.parent.glob("clew.db*"):
            path.unlink()
        answer = httpx2.get(f"{server.address}/ready")
        assert (answer.status_code, answer.json()["code"]) == (503, "STORE_UNAVAILABLE")
        assert httpx2.get(f"{server.address}/ready").json() == {"status": "ready"}


def test_the_stateless_era_has_no_stream_to_get(address: str) -> None:
    headers = {"accept": "text/event-stream", "mcp-protocol-version": "2026-07-28"}
    assert httpx2.get(f"{address}/mcp", headers=headers).status_code == 405


@pytest.mark.anyio
async def test_answers_leave_without_waiting_for_an_acknowledgement() -> None:
    """With Nagle's algorithm on, a call over HTTP takes 40 ms longer."""
    delayed: list[int] = []

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("socket")
        delayed.append(peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = bind("127.0.0.1", 0)
    async with await asyncio.start_server(accept, sock=listener):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        await reader.read()
        writer.close()
    assert delayed == [1]
