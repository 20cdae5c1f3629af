"""Calls that take their time: progress, cancellation, questions to the client's model, log messages."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CreateMessageRequestParams,
    CreateMessageResult,
    ErrorData,
    InputRequiredResult,
    LoggingMessageNotificationParams,
    TextContent,
)

from clew.faces.mcp.server import ClewServer
from tests.faces.mcp.conftest import ERAS
from tests.waiting import PATIENCE

pytestmark = pytest.mark.anyio


def result(answer: Any) -> Any:
    assert answer.structured_content is not None
    return answer.structured_content["result"]


async def written(client: Client) -> int:
    count: int = result(await client.call_tool("probe_written", {}))["count"]
    return count


async def leave_a_slow_call(client: Client) -> None:
    seen: list[tuple[float, float | None, str | None]] = []
    started = anyio.Event()

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))
        if progress == 3:
            started.set()

    async def slow() -> None:
        await client.call_tool("probe_slow", {}, progress_callback=progress)
        raise AssertionError("the cancelled call returned")

    async with anyio.create_task_group() as group:
        group.start_soon(slow)
        await started.wait()
        group.cancel_scope.cancel()
    assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def check_that_its_work_stays(client: Client, before: int) -> None:
    assert await written(client) == before
    await client.call_tool("probe_release", {})
    with anyio.fail_after(PATIENCE):
        while await written(client) == before:
            await anyio.lowlevel.checkpoint()
    assert await written(client) == before + 1


@pytest.mark.parametrize("era", ERAS)
async def test_progress_comes_in_order_and_a_cancelled_call_ends_at_once(
    stdio: StdioServerParameters, era: str
) -> None:
    async with Client(stdio, mode=era) as client:
        await leave_a_slow_call(client)
        await check_that_its_work_stays(client, 0)


@pytest.mark.parametrize("era", ERAS)
async def test_so_it_is_over_http(address: str, era: str) -> None:
    async with Client(f"{address}/mcp", mode=era) as client:
        before = await written(client)
        await leave_a_slow_call(client)
        await check_that_its_work_stays(client, before)


async def test_a_server_with_slow_calls_still_answers_others(server: ClewServer) -> None:
    started = anyio.Event()

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        started.set()

    async with Client(server) as client, anyio.create_task_group() as group:
        group.start_soon(partial(client.call_tool, "probe_slow", {}, progress_callback=progress))
        await started.wait()
        assert result(await client.call_tool("probe_noop", {}))["client"]
        await client.call_tool("probe_release", {})


async def critic(context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
    asked = params.messages[0].content
    assert isinstance(asked, TextContent) and params.system_prompt == "Be brief."
    reply = TextContent(type="text", text=f"about {asked.text}: no")
    return CreateMessageResult(role="assistant", content=reply, model="critic-1")


@pytest.mark.parametrize("era", ERAS)
async def test_an_operation_can_ask_the_clients_model(server: ClewServer, era: str) -> None:
    async with Client(server, mode=era, sampling_callback=critic) as client:
        answer = result(await client.call_tool("probe_ask", {"question": "bees"}))
        assert (answer["status"], answer["text"], answer["model"]) == ("ok", "about bees: no", "critic-1")
        assert answer["resumed"] == (None if era == "legacy" else "written")
        assert await written(client) == 1


@pytest.mark.parametrize("era", ERAS)
async def test_it_can_over_http_too(address: str, era: str) -> None:
    async with Client(f"{address}/mcp", mode=era, sampling_callback=critic) as client:
        assert result(await client.call_tool("probe_ask", {"question": "ants"}))["text"] == "about ants: no"


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_without_a_model_is_not_asked(server: ClewServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        assert result(await client.call_tool("probe_ask", {"question": "bees"})) == {"status": "unavailable"}


async def test_a_model_that_refuses_fails_the_question_not_the_call(server: ClewServer) -> None:
    async def refuse(context: Any, params: CreateMessageRequestParams) -> ErrorData:
        return ErrorData(code=-1, message="the user said no")

    async with Client(server, mode="legacy", sampling_callback=refuse) as client:
        answer = result(await client.call_tool("probe_ask", {"question": "bees"}))
        assert answer == {"status": "failed", "why": "the user said no"}


async def test_the_state_of_a_round_is_sealed(server: ClewServer) -> None:
    async with Client(server, mode="auto", sampling_callback=critic) as client:
        first = await client.session.call_tool("probe_ask", {"question": "bees"}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult) and first.request_state is not None
        assert "written" not in first.request_state
        forged = CallToolRequest(
            params=CallToolRequestParams(
                name="probe_ask", arguments={"question": "wasps"}, request_state=first.request_state
            )
        )
        with pytest.raises(MCPError) as refused:
            await client.session.send_request(forged, InputRequiredResult)
        assert refused.value.error.code == -32602


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("era", ERAS)
async def test_log_messages_come_only_to_who_asked(server: ClewServer, era: str) -> None:
    heard: list[LoggingMessageNotificationParams] = []

    async def listen(params: LoggingMessageNotificationParams) -> None:
        heard.append(params)

    async with Client(server, mode=era, logging_callback=listen) as client:
        await client.call_tool("no_such_tool", {})
        assert heard == []
        if era == "legacy":
            await client.session.set_logging_level("warning")
            await client.call_tool("branch_list", {})
            await client.call_tool("no_such_tool", {})
        else:
            quiet: Any = {"io.modelcontextprotocol/logLevel": "error"}
            await client.call_tool("branch_list", {}, meta=quiet)
            await client.call_tool("no_such_tool", {}, meta=quiet)
        assert [(message.level, message.data["operation"]) for message in heard] == [("error", "no_such_tool")]
