"""The whole way, for clients that know only the seed, only the original program, or only the stateless protocol.

Each goes it inside this process on both engines, and with the real server over stdio (where every connection is a
process of its own) and over HTTP.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from clew.faces.mcp.server import ClewServer, build_server
from tests.conftest import ROOT
from tests.faces.mcp.process import environment
from tests.ledger.serving import serving

pytestmark = pytest.mark.anyio

GATEWAY = "thoughtbox_gateway"
Target = ClewServer | StdioServerParameters | str


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["sqlite", "postgres", "stdio", "http"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engine(place: str) -> str:
    return "postgres" if place == "postgres" else "sqlite"


@pytest.fixture
def server(place: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    if place == "stdio":
        arguments = ["-m", "clew", "serve"]
        yield StdioServerParameters(command=sys.executable, args=arguments, env=environment(tmp_path), cwd=ROOT)
    elif place == "http":
        with serving(tmp_path) as (address, _):
            yield address
    else:
        yield build_server(request.getfixturevalue("clew"))


async def text_of(client: Client, **call: Any) -> str:
    """What a client that reads only text gets; it must not be an error."""
    answer = await client.call_tool(GATEWAY, call)
    block = answer.content[0]
    assert isinstance(block, TextContent)
    assert not answer.is_error, block.text
    return block.text


async def json_of(client: Client, **call: Any) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(await text_of(client, **call))
    return value


def thirty_thoughts() -> list[dict[str, Any]]:
    """18 on the main line, 4 of which revise; 4 on each of 3 branches."""
    steps: list[dict[str, Any]] = [{"thought": f"S{n}|O|fact {n}", "thoughtNumber": n} for n in range(1, 11)]
    steps += [
        {"thought": f"better {n}", "thoughtNumber": 10 + n, "isRevision": True, "revisesThought": n}
        for n in range(1, 5)
    ]
    for place, branch in enumerate(("queue", "cron", "push")):
        fork = 3 + place
        steps += [
            {"thought": f"{branch} {n}", "thoughtNumber": fork + n, "branchId": branch, "branchFromThought": fork}
            for n in range(1, 5)
        ]
    steps += [{"thought": f"S{n}|C|S1,S2|so {n}", "thoughtNumber": n} for n in range(15, 19)]
    return [{**step, "totalThoughts": 18, "nextThoughtNeeded": step["thoughtNumber"] != 18} for step in steps]


async def test_a_client_that_knows_only_the_seed_gets_through(server: Target) -> None:
    async with Client(server, mode="legacy") as client:
        assert "entry" in await text_of(client, operation="get_state")
        await text_of(client, operation="start_new", sessionTitle="Move the jobs", domain="planning")
        assert "S2|H|S1" in await text_of(client, operation="cipher")
        told = [await json_of(client, operation="thought", **step) for step in thirty_thoughts()]
        assert [item["thoughtNumber"] for item in told] == [step["thoughtNumber"] for step in thirty_thoughts()]
        session = told[-1]["closedSessionId"]
        figures = await json_of(client, operation="session", subOperation="analyze", sessionId=session)
        assert {name: figures[name] for name in ("linearity", "completion", "branchCount")} == {
            "linearity": 0.77,
            "completion": 1.0,
            "branchCount": 3,
        }
        assert figures["metadata"]["revisionCount"] == 4
        export = await json_of(client, operation="session", subOperation="export", sessionId=session)
        assert len(json.loads(export["content"])["nodes"]) == 30
        listed = await json_of(client, operation="session", subOperation="list", search="jobs", limit=5)
        assert [item["id"] for item in listed["sessions"]] == [session]
        learned = await json_of(client, operation="session", subOperation="extract_learnings", sessionId=session)
        assert learned["extractedCount"] >= 1
    async with Client(server, mode="legacy") as client:
        loaded = await text_of(client, operation="load_context", sessionId=session)
        assert "Next thought number: 19" in loaded
        assert "Branch cron: 4 from S4, next 9" in loaded
        await text_of(client, operation="cipher")
        last = await json_of(
            client, operation="thought", thought="on we go", thoughtNumber=19, totalThoughts=20, nextThoughtNeeded=True
        )
        assert last == {"thoughtNumber": 19, "sessionId": session}


async def test_a_client_that_knows_only_the_original_gets_through(server: Target) -> None:
    async with Client(server, mode="legacy") as client:

        async def call(operation: str, **args: Any) -> str:
            return await text_of(client, operation=operation, args=args)

        async def nested(group: str, operation: str, **args: Any) -> dict[str, Any]:
            return await json_of(client, operation=group, args={"operation": operation, "args": args})

        await call("list_sessions", filters={"limit": 5})
        await call("start_new", newWork={"project": "jobs", "task": "move", "aspect": "design", "domain": "planning"})
        await call("cipher")
        told = []
        for step in thirty_thoughts():
            kept = {name: value for name, value in step.items() if name not in {"thoughtNumber", "totalThoughts"}}
            told.append(
                json.loads(await call("thought", **kept, sessionTitle="T", verbose=step["thought"] == "cron 1"))
            )
        session = told[0]["sessionId"]
        assert [item["thoughtNumber"] for item in told] == [step["thoughtNumber"] for step in thirty_thoughts()]
        assert told[18]["branches"] == ["queue", "cron"]
        assert told[-1]["sessionClosed"] and told[-1]["exportPath"]
        # The final thought closed the session, so reads name it.
        shape = json.loads(await call("get_structure", sessionId=session))
        assert (shape["totalThoughts"], shape["branchCount"], shape["revisionCount"]) == (30, 3, 4)
        assert json.loads(await call("read_thoughts", sessionId=session, branchId="cron"))["count"] == 4
        assert json.loads(await call("read_thoughts", sessionId=session, range=[2, 4]))["count"] == 3
        assert (await nested("session", "analyze", sessionId=session))["structure"]["maxDepth"] == 3
        exported = await nested("session", "export", sessionId=session, format="markdown", includeMetadata=True)
        assert "## Branch cron" in exported["content"]
        assert (await nested("session", "search", query="push 3"))["count"] == 1
        deep = json.loads(await call("deep_analysis", sessionId=session, analysisType="patterns"))
        assert deep["patterns"]["branchCount"] == 3
    async with Client(server, mode="legacy") as client:
        await call("load_context", sessionId=session)
        resumed = await nested("session", "resume", sessionId=session)
        assert (resumed["success"], resumed["thoughtCount"], resumed["nextThoughtNumber"]) == (True, 30, 19)
        await call("cipher")
        assert json.loads(await call("thought", thought="on", nextThoughtNeeded=True))["thoughtNumber"] == 19


async def test_a_stateless_client_carries_the_session_id(server: Target, place: str) -> None:
    async with Client(server, mode="auto") as client:
        started = await client.call_tool(
            GATEWAY, {"operation": "start_new", "sessionTitle": "T", "cipher": True, "fmt": "json"}
        )
        assert started.structured_content is not None
        session = started.structured_content["result"]["sessionId"]
        for step in thirty_thoughts():
            await json_of(client, operation="thought", sessionId=session, **step)
        figures = await json_of(client, operation="session", subOperation="analyze", sessionId=session)
        assert figures["metadata"]["thoughtCount"] == 30
    async with Client(server, mode="auto") as client:
        loaded = await text_of(client, operation="load_context", sessionId=session)
        # Over a pipe the connection has the stage, as after a handshake; elsewhere the session has it.
        assert ("Stage: 1 init_complete" if place == "stdio" else "Stage: 2 cipher_loaded") in loaded
        await text_of(client, operation="cipher", sessionId=session)
        more = await json_of(client, operation="thought", sessionId=session, thought="on", nextThoughtNeeded=True)
        assert more["thoughtNumber"] == 19
