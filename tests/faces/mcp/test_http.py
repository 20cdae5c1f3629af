"""The HTTP server as a process."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from clew import __version__
from clew.faces.http import SESSIONS_OF_A_HOST, CallLimit, Hosts, bind
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


HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "guest", "version": "1"}}
OPENING = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
LISTING = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def headers_of(caller: str, opened: httpx2.Response | None = None) -> dict[str, str]:
    session = {"mcp-session-id": opened.headers["mcp-session-id"]} if opened is not None else {}
    return {"accept": "application/json, text/event-stream", "authorization": f"Bearer {caller}", **session}


def test_there_is_a_most_of_sessions_and_others_go_on(server: ClewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MOST_SESSIONS", 2)
    app = endpoint.http_app(server, None, Hosts("127.0.0.1"))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        opened = [client.post("/mcp", json=OPENING, headers=headers_of(name)) for name in ("one", "two")]
        refused = client.post("/mcp", json=OPENING, headers=headers_of("three"))
        listed = client.post("/mcp", json=LISTING, headers=headers_of("one", opened[0]))
        client.delete("/mcp", headers=headers_of("one", opened[0]))
        again = client.post("/mcp", json=OPENING, headers=headers_of("three"))
    assert [answer.status_code for answer in (*opened, refused, listed, again)] == [200, 200, 503, 200, 200]
    assert "Too many open sessions" in refused.text


def test_who_opens_sessions_without_end_ends_his_own(server: ClewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MOST_SESSIONS", 8)
    app = endpoint.http_app(server, None, Hosts("127.0.0.1"))

    def used(caller: str, opened: httpx2.Response) -> int:
        return client.post("/mcp", json=LISTING, headers=headers_of(caller, opened)).status_code

    with TestClient(app, base_url="http://127.0.0.1") as client:
        other = client.post("/mcp", json=OPENING, headers=headers_of("other"))
        first, second = [client.post("/mcp", json=OPENING, headers=headers_of("greedy")) for _ in range(2)]
        assert used("greedy", first) == 200  # so that the second is the one that was idle longest
        for _ in range(20):
            last = client.post("/mcp", json=OPENING, headers=headers_of("greedy"))
            assert (last.status_code, used("greedy", first)) == (200, 200)
        assert (used("greedy", second), used("greedy", last), used("other", other)) == (404, 200, 200)


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


def answering_late(begun: asyncio.Semaphore, release: asyncio.Event) -> ASGIApp:
    """Says that a call has begun, and answers it once it may."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.release()
        await release.wait()
        await PlainTextResponse("done")(scope, receive, send)

    return app


@pytest.mark.anyio
async def test_one_who_has_too_many_calls_under_way_is_refused_and_others_are_not() -> None:
    begun, release = asyncio.Semaphore(0), asyncio.Event()
    transport = httpx2.ASGITransport(CallLimit(answering_late(begun, release), most=2))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        mine, other = {"mcp-session-id": "mine"}, {"mcp-session-id": "other"}
        under_way = [asyncio.create_task(client.post("/mcp", headers=mine)) for _ in range(2)]
        for _ in under_way:
            await begun.acquire()
        refused = await client.post("/mcp", headers=mine)
        under_way += [asyncio.create_task(client.post("/mcp", headers=other))]
        await begun.acquire()
        release.set()
        answered = [await task for task in under_way] + [await client.post("/mcp", headers=mine)]
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert "under way" in refused.json()["error"]
    assert [answer.status_code for answer in answered] == [200] * 4


@pytest.mark.anyio
async def test_a_session_that_is_made_up_for_each_call_escapes_no_limit() -> None:
    begun, release = asyncio.Semaphore(0), asyncio.Event()
    most = 2 * SESSIONS_OF_A_HOST
    transport = httpx2.ASGITransport(CallLimit(answering_late(begun, release), most=2))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        sent = [asyncio.create_task(client.post("/mcp", headers={"mcp-session-id": str(n)})) for n in range(most)]
        for _ in sent:
            await begun.acquire()
        refused = await client.post("/mcp", headers={"mcp-session-id": "one more"})
        release.set()
        answered = [await task for task in sent]
    assert refused.status_code == 429
    assert [answer.status_code for answer in answered] == [200] * most
