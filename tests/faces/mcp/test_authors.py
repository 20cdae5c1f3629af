"""Nobody is unknown: a caller without an agent id is known by its client's name and the number of its connection."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from mcp_types import Implementation

from clew.faces.mcp.server import ClewServer

pytestmark = pytest.mark.anyio


async def author(client: Client, **given: str) -> Any:
    """Who the log says has written the note that this writes."""
    await client.call_tool("notes_commit", {"content": "a note", **given})
    log = await client.call_tool("events_list", {"limit": 50})
    assert log.structured_content is not None
    events = log.structured_content["result"]["events"]
    return max((event for event in events if event["type"] == "note_committed"), key=lambda event: event["seq"])[
        "agent"
    ]


def claude(server: ClewServer, mode: str = "legacy") -> Client:
    return Client(server, mode=mode, client_info=Implementation(name="Claude Code!", version="1"))


async def test_each_connection_of_a_client_is_an_author_of_its_own(server: ClewServer) -> None:
    async with claude(server) as first, claude(server) as second:
        assert await author(first) == "claude-code-1"
        assert await author(second) == "claude-code-2"
        assert await author(first) == "claude-code-1"


async def test_a_request_without_a_connection_has_the_clients_name(server: ClewServer) -> None:
    async with claude(server, "2026-07-28") as client:
        assert await author(client) == "claude-code"


async def test_a_given_agent_id_goes_before_the_clients_name(server: ClewServer) -> None:
    async with claude(server) as client:
        assert await author(client, agent_id="alice") == "alice"
        assert await author(client) == "claude-code-1"
