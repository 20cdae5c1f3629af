"""A whole conversation with a real process, over both transports, in both protocol eras."""

from __future__ import annotations

import pytest
from mcp import Client, StdioServerParameters

from clew import __version__
from tests.faces.mcp.conftest import ERAS, text_of

pytestmark = pytest.mark.anyio


async def converse(client: Client, era: str) -> None:
    assert client.protocol_version == ("2025-11-25" if era == "legacy" else "2026-07-28")
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("clew", __version__)
    assert client.instructions is not None and "op_search" in client.instructions
    capabilities = client.server_capabilities
    assert capabilities.tools is not None and capabilities.tools.list_changed
    assert capabilities.resources is not None and capabilities.resources.subscribe
    assert capabilities.prompts is not None and capabilities.completions is not None

    listed = await client.list_tools()
    assert listed.tools == (await client.list_tools(cache_mode="bypass")).tools
    assert (await client.list_resource_templates()).resource_templates is not None
    written = await client.call_tool("notes_commit", {"content": "the thread leads back"})
    assert not written.is_error
    read = await client.call_tool("show", {"doc_kind": "notes"})
    assert read.structured_content is not None and read.structured_content["success"]
    assert "the thread leads back" in text_of(read.content[0])
    refused = await client.call_tool("notes_commit", {"contant": "typo", "colour": "red"})
    assert refused.is_error
    assert refused.structured_content is not None
    assert refused.structured_content["error"]["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("era", ERAS)
async def test_over_stdio(stdio: StdioServerParameters, era: str) -> None:
    async with Client(stdio, mode=era) as client:
        await converse(client, era)


@pytest.mark.parametrize("era", ERAS)
async def test_over_http(address: str, era: str) -> None:
    async with Client(f"{address}/mcp", mode=era) as client:
        await converse(client, era)


async def test_a_connection_is_remembered_and_a_stateless_request_is_not(address: str) -> None:
    for era, durable in (("legacy", True), ("auto", False)):
        async with Client(f"{address}/mcp", mode=era) as client:
            answer = await client.call_tool("probe_noop", {})
            assert answer.structured_content is not None
            result = answer.structured_content["result"]
            assert (result["durable"], result["client"]) == (durable, "mcp")
