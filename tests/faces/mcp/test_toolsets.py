from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import INVALID_PARAMS, ListToolsResult, PaginatedRequestParams, Request

from clew.app import Clew
from clew.faces.mcp.server import ClewServer, build_server
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection
from clew.registry.toolsets import AGENT_TOOLS
from tests.faces.mcp.conftest import ERAS

# Nothing here depends on the engine.
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("engine", ["sqlite"])]


class ToolsetParams(PaginatedRequestParams):
    toolset: Any = None


class ListTools(Request[ToolsetParams, str]):
    method: str = "tools/list"
    params: ToolsetParams


async def names(client: Client, toolset: Any) -> list[str]:
    asked = ListTools(params=ToolsetParams(toolset=toolset))
    result = await client.session.send_request(asked, ListToolsResult)
    return [tool.name for tool in result.tools]


@pytest.mark.parametrize("era", ERAS)
async def test_a_list_may_name_another_toolset_for_one_call(server: ClewServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        usual = [tool.name for tool in (await client.list_tools()).tools]
        full = await names(client, "full")
        assert usual == [entry.name for entry in catalogue().listed("agent")]
        assert full == [entry.name for entry in catalogue().listed("full")]
        assert set(usual) <= set(full)
        assert await names(client, "dx") == [entry.name for entry in catalogue().listed("daily")]
        assert await names(client, "minimal") == await names(client, "core")
        assert [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools] == usual


@pytest.mark.parametrize("wrong", [7, ["full"], "everything", ""])
async def test_a_wrong_toolset_is_refused(server: ClewServer, wrong: Any) -> None:
    async with Client(server, mode="legacy") as client:
        with pytest.raises(MCPError) as refused:
            await client.session.send_request(ListTools(params=ToolsetParams(toolset=wrong)), ListToolsResult)
        assert refused.value.error.code == INVALID_PARAMS


async def test_an_unlisted_operation_and_its_old_names_can_be_called(server: ClewServer) -> None:
    async with Client(server) as client:
        for name in ("branch_list", "branchmind_branch_list", "branchmind/branch_list", "any/branch_list"):
            assert not (await client.call_tool(name, {})).is_error
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert not [name for name in listed if name.startswith("branchmind")]


async def test_a_cursor_that_was_never_handed_out_is_refused(server: ClewServer) -> None:
    async with Client(server) as client:
        with pytest.raises(MCPError) as refused:
            await client.list_tools(cursor="made-up")
        assert refused.value.error.code == INVALID_PARAMS


async def test_a_server_for_agents_says_how_to_use_what_it_lists(make_clew: Callable[..., Clew]) -> None:
    server = build_server(make_clew(toolset="agent"))
    async with Client(server, mode="legacy") as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {entry.name for entry in catalogue().listed("agent")}
    told = set(re.findall(r"`(\w+)`", server.instructions or ""))
    assert told <= set(AGENT_TOOLS) and {"resume", "remember", "recall", "op_search"} <= told


async def test_what_agents_do_not_see_is_suggested_through_what_they_see(make_clew: Callable[..., Clew]) -> None:
    clew = make_clew(toolset="agent")
    answer = clew.dispatcher.call("branch_delete", {"branch": "no-such-branch"}, Connection(toolset="agent"))
    assert not answer.ok
    for suggestion in answer.envelope["suggestions"]:
        assert suggestion["action"] == "call_tool" and suggestion["target"] in AGENT_TOOLS


@pytest.mark.parametrize(
    ("toolset", "server_name", "first", "count", "resources"),
    [
        ("branchmind", "branchmind-rust-mcp", "status", 13, ""),
        ("thoughtbox", "thoughtbox-server", "thoughtbox_gateway", 1, "thoughtbox://"),
        ("mind-mem", "mind-mem", "recall", 16, "mind-mem://"),
    ],
)
async def test_a_set_named_after_a_contract_looks_like_the_original(
    make_clew: Callable[..., Clew], toolset: str, server_name: str, first: str, count: int, resources: str
) -> None:
    server = build_server(make_clew(toolset=toolset))
    async with Client(server, mode="legacy") as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        read = [str(item.uri) for item in (await client.list_resources()).resources]
        assert client.session.initialize_result is not None
        assert client.session.initialize_result.server_info.name == server_name
    assert listed[0] == first and len(listed) == count
    assert read and all(uri.startswith(resources) for uri in read)


async def test_full_lists_everything_and_branchmind_what_the_original_shows(make_clew: Callable[..., Clew]) -> None:
    core = ["status", "tasks_macro_start", "tasks_snapshot", "workspace_use"]
    daily = ["open", "skill", "tasks_jobs_radar", "tasks_lint", "tasks_macro_close_step", "tasks_macro_delegate"]
    daily += ["think_card", "think_playbook", "workspace_reset"]
    server = build_server(make_clew(toolset="branchmind"))
    async with Client(server, mode="legacy") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == core + daily
        assert await names(client, "daily") == core + daily and await names(client, "core") == core
        assert sorted(await names(client, "full")) == sorted(entry.name for entry in catalogue().operations)
