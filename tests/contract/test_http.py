"""The contracts over HTTP: servers as the originals' clients start them, and what they answer at the port."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp_types import TextContent

from tests.contract.mind_mem import make_workspace
from tests.contract.wire import PATIENCE
from tests.faces.mcp.process import ROOT, environment

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
}
BOTH = "application/json, text/event-stream"


@contextmanager
def listening(home: Path, toolset: str, *words: str, here: Path = ROOT) -> Iterator[str]:
    """The address of a server at a free port."""
    command = [sys.executable, "-m", "clew", "serve", "--toolset", toolset, "--transport", "http", "--port", "0"]
    known = environment(home, CLEW_EMBEDDING_MODEL="none")
    server = subprocess.Popen([*command, "--json", *words], stdout=subprocess.PIPE, text=True, cwd=here, env=known)
    try:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["mcp"].removesuffix("/mcp")
    finally:
        server.kill()
        server.communicate()


def asked(url: str, body: dict[str, object] | None = None, **headers: str) -> tuple[int, str, str]:
    """Status, type and text of an answer."""
    data = json.dumps(body).encode() if body is not None else None
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **names})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers["Content-Type"], refused.read().decode()


@pytest.fixture(scope="module")
def thoughtbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with listening(tmp_path_factory.mktemp("thoughtbox"), "thoughtbox") as address:
        yield address


@pytest.fixture(scope="module")
def mind_mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    workspace = tmp_path_factory.mktemp("theirs")
    make_workspace(workspace)
    with listening(tmp_path_factory.mktemp("home"), "mind-mem", "--token", "right", here=workspace) as address:
        yield address


@pytest.mark.parametrize(
    ("accept", "status", "type"),
    [
        (BOTH, 200, "text/event-stream"),
        ("*/*", 200, "text/event-stream"),
        ("application/json", 406, "application/json"),
    ],
)
def test_answers_are_event_streams_for_those_who_take_them(
    thoughtbox: str, accept: str, status: int, type: str
) -> None:
    answered = asked(f"{thoughtbox}/mcp", HELLO, Accept=accept)
    assert (answered[0], answered[1].split(";")[0]) == (status, type)
    assert status != 200 or '"name":"thoughtbox-server"' in answered[2]


def test_health_says_what_another_address_said(thoughtbox: str) -> None:
    status, _, text = asked(f"{thoughtbox}/health")
    assert status == 200
    health = json.loads(text)
    assert {"status", "server", "version", "transport"} <= health.keys() and health["server"] == "clew"
    assert asked(f"{thoughtbox}/info")[0] == 404


@pytest.mark.parametrize(
    ("bearer", "own", "status"),
    [("right", "", 200), ("", "right", 200), ("wrong", "right", 200), ("right", "wrong", 200), ("wrong", "wrong", 401)],
)
def test_either_header_with_the_token_lets_in(mind_mem: str, bearer: str, own: str, status: int) -> None:
    sent = {**({"Authorization": f"Bearer {bearer}"} if bearer else {}), **({"X_MindMem_Token": own} if own else {})}
    answered = asked(f"{mind_mem}/mcp", HELLO, Accept=BOTH, **sent)
    assert answered[0] == status
    assert status != 200 or '"name":"mind-mem"' in answered[2]


def test_a_client_of_the_older_transport_is_served(mind_mem: str) -> None:
    """Mind-Mem 1.0.3 speaks nothing else over HTTP; two clients at once, and one goes on when the other has left."""

    async def talk() -> list[str]:
        headers = {"X-MindMem-Token": "right"}
        async with sse_client(f"{mind_mem}/sse", headers) as streams, ClientSession(*streams) as stays:
            name = (await stays.initialize()).server_info.name
            async with sse_client(f"{mind_mem}/sse", headers) as others, ClientSession(*others) as leaves:
                await leaves.initialize()
                listed = await leaves.list_tools()
            found = await stays.call_tool("recall", {"query": "sessions Redis"})
            assert isinstance(found.content[0], TextContent)
            return [name, str(len(listed.tools)), json.loads(found.content[0].text)[0]["_id"]]

    assert anyio.run(talk) == ["mind-mem", "16", "D-20260801-003"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"X_MindMem_Token": "right", "Origin": "http://elsewhere.example"}, 403),
        ({"X_MindMem_Token": "right", "Host": "elsewhere.example"}, 421),
    ],
)
def test_the_older_transport_lets_in_whom_the_newer_one_lets_in(
    mind_mem: str, headers: dict[str, str], status: int
) -> None:
    assert asked(f"{mind_mem}/sse", None, **headers)[0] == status
    assert asked(f"{mind_mem}/messages/?session_id=0", HELLO, **headers)[0] == status


def test_only_clients_of_mind_mem_have_the_older_transport(thoughtbox: str) -> None:
    assert asked(f"{thoughtbox}/sse")[0] == 404


def test_a_path_that_is_a_slip_makes_no_workspace(tmp_path: Path) -> None:
    slip = tmp_path / "nothere"
    known = environment(tmp_path / "home", MIND_MEM_WORKSPACE=str(slip))
    command = [sys.executable, "-m", "clew", "serve", "--toolset", "mind-mem"]
    ended = subprocess.run(
        command, input="", capture_output=True, text=True, cwd=tmp_path, env=known, timeout=PATIENCE, check=False
    )
    assert ended.returncode != 0
    assert f"Workspace not found at {slip}" in ended.stderr
    assert not slip.exists()
