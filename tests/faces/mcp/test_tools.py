from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client

from clew.faces.mcp.server import ClewServer
from clew.faces.mcp.tools import tool_of
from clew.registry.catalogue import catalogue
from tests.faces.mcp.conftest import ERAS


def engineless(test: Callable[..., Any]) -> Any:
    """Asynchronous, and run on one engine only, because it does not depend on it."""
    return pytest.mark.anyio(pytest.mark.parametrize("engine", ["sqlite"])(test))


def listing(toolset: str) -> str:
    return json.dumps({"tools": [tool_of(e) for e in catalogue().listed(toolset)]}, separators=(",", ":"))


def test_the_daily_list_is_small() -> None:
    text = listing("daily")
    print(f"tools/list daily: {len(text)} bytes, about {len(text) // 4} tokens (characters / 4)")
    assert len(catalogue().listed("daily")) <= 14
    assert len(text.encode()) <= 20_000


def test_every_tool_is_described_and_annotated() -> None:
    for entry in catalogue().operations:
        tool = tool_of(entry)
        assert tool["description"]
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is entry.read_only and hints["openWorldHint"] is False
        assert ("destructiveHint" in hints) is not entry.read_only
        assert tool["inputSchema"]["type"] == "object"
        assert "workspace" not in tool["inputSchema"].get("required", [])


def test_only_deletions_and_their_like_are_called_destructive() -> None:
    hints = {entry.name: tool_of(entry)["annotations"] for entry in catalogue().operations}
    assert hints["branch_delete"]["destructiveHint"] is True
    assert hints["notes_commit"]["destructiveHint"] is False


@engineless
@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_tool_is_an_error_that_a_model_can_read(server: ClewServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        answer = await client.call_tool("no_such_tool", {})
        assert answer.is_error and answer.structured_content is not None
        assert answer.structured_content["error"]["code"] == "UNKNOWN_TOOL"
        assert answer.structured_content["suggestions"]


@engineless
async def test_a_defect_inside_an_operation_is_an_answer_too(server: ClewServer) -> None:
    async with Client(server) as client:
        answer = await client.call_tool("probe_crash", {})
        assert answer.is_error and answer.structured_content is not None
        assert answer.structured_content["error"]["code"] == "INTERNAL"
        assert "Traceback" not in answer.content[0].text


@engineless
async def test_text_and_structured_content_say_the_same(server: ClewServer) -> None:
    async with Client(server) as client:
        answer = await client.call_tool("branch_list", {})
        assert json.loads(answer.content[0].text) == answer.structured_content


@engineless
async def test_lists_say_how_long_they_are_good(server: ClewServer) -> None:
    async with Client(server, mode="2026-07-28") as client:
        assert (await client.list_tools()).ttl_ms == 3_600_000
        assert (await client.read_resource("probe://written")).ttl_ms == 0
