"""Critique by the client's own model, through a real client, in both eras of the protocol."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import CreateMessageRequestParams, CreateMessageResult, ErrorData, ListRootsResult, Root, TextContent

from clew.app import Clew
from clew.faces.mcp.server import ClewServer, build_server
from clew.ledger import critique
from clew.registry.connection import InputReply, InputRequest
from tests.faces.mcp.conftest import ERAS
from tests.ledger.conftest import Thinker
from tests.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server(clew: Clew) -> ClewServer:
    return build_server(clew)


class Critic:
    """A client's model that keeps what it was asked."""

    def __init__(self, reply: str = "What if it is the network?") -> None:
        self.reply = reply
        self.asked: list[CreateMessageRequestParams] = []

    async def __call__(self, context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        self.asked.append(params)
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text=self.reply), model="critic-7"
        )


async def gate(client: Client, operation: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool("thoughtbox_gateway", {"operation": operation, "fmt": "json", **arguments})
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    result: dict[str, Any] = answer.structured_content["result"]
    return result


@pytest.mark.parametrize("era", ERAS)
async def test_a_critique_is_asked_for_stored_and_told(server: ClewServer, era: str) -> None:
    critic = Critic()
    async with Client(server, mode=era, sampling_callback=critic) as client:
        key = (await gate(client, "start_new", cipher=True))["sessionId"]
        for number in range(1, 8):
            await gate(client, "thought", sessionId=key, thought=f"step {number}", nextThoughtNeeded=True)
        told = await gate(
            client, "thought", sessionId=key, thought="it is the disk", nextThoughtNeeded=True, critique=True
        )
        assert told["thoughtNumber"] == 8
        said = told["critique"]
        assert (said["status"], said["text"], said["model"]) == ("ok", critic.reply, "critic-7")
        read = await gate(client, "session", subOperation="get", sessionId=key)
        assert read["session"]["thoughtCount"] == 8
        assert read["thoughts"][-1]["critique"] == said
        figures = await gate(client, "session", subOperation="analyze", sessionId=key)
        assert figures["quality"]["critiqueRequests"] == 1
    (asked,) = critic.asked
    content = asked.messages[0].content
    assert isinstance(content, TextContent)
    assert content.text.startswith("Thought 3: step 3\n\n")
    assert "\n\nCurrent Thought: it is the disk\n\n" in content.text
    assert asked.max_tokens == 1000
    assert asked.system_prompt == critique.SYSTEM
    preferences = asked.model_preferences
    assert preferences is not None and preferences.hints
    assert (preferences.intelligence_priority, preferences.cost_priority) == (0.9, 0.3)
    assert preferences.hints[0].name == "claude-sonnet-4-5-20250929"


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_without_a_model_is_told_so_and_the_thought_is_kept(server: ClewServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        key = (await gate(client, "start_new", cipher=True))["sessionId"]
        told = await gate(client, "thought", sessionId=key, thought="x", nextThoughtNeeded=True, critique=True)
        assert (told["critique"]["status"], told["critique"]["code"]) == ("unavailable", "SAMPLING_NOT_SUPPORTED")
        assert told["thoughtNumber"] == 1


async def test_a_model_that_refuses_fails_the_critique_not_the_thought(server: ClewServer) -> None:
    async def refuse(context: Any, params: CreateMessageRequestParams) -> ErrorData:
        return ErrorData(code=-1, message="the user said no")

    async with Client(server, mode="legacy", sampling_callback=refuse) as client:
        await gate(client, "start_new", cipher=True)
        told = await gate(client, "thought", thought="x", nextThoughtNeeded=False, critique=True)
        assert told["critique"]["status"] == "failed"
        assert "the user said no" in told["critique"]["reason"]
        assert told["sessionClosed"]


async def test_the_ledger_goes_on_while_a_model_thinks(server: ClewServer) -> None:
    asked, release = anyio.Event(), anyio.Event()

    async def slow(context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        asked.set()
        await release.wait()
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="late"), model="m")

    told: list[dict[str, Any]] = []
    async with Client(server, mode="legacy", sampling_callback=slow) as client, anyio.create_task_group() as group:
        key = (await gate(client, "start_new", cipher=True))["sessionId"]

        async def think() -> None:
            told.append(await gate(client, "thought", thought="slow", nextThoughtNeeded=True, critique=True))

        group.start_soon(think)
        await asked.wait()
        assert (await gate(client, "thought", thought="meanwhile", nextThoughtNeeded=True))["thoughtNumber"] == 2
        assert (await gate(client, "session", subOperation="get", sessionId=key))["session"]["thoughtCount"] == 2
        release.set()
    assert told[0]["critique"]["text"] == "late"


async def test_the_clients_roots_can_be_bound(server: ClewServer) -> None:
    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///work/acme", name=None)])  # type: ignore[arg-type]

    async with Client(server, mode="legacy", list_roots_callback=roots) as client:
        found = await gate(client, "list_roots")
        assert found["roots"] == [{"uri": "file:///work/acme", "name": "acme"}]
        await gate(client, "bind_root", rootUri="file:///work/acme")
        assert (await gate(client, "start_new"))["session"]["tags"] == ["project:acme"]


def test_nothing_is_locked_while_the_model_is_asked(clew: Clew) -> None:
    """The sampler is called outside of any transaction: another connection writes meanwhile."""
    thinker, other = Thinker(clew), Thinker(clew)
    key = thinker.do("start_new", cipher=True)["sessionId"]

    def sample(request: InputRequest, timeout: float) -> InputReply:
        done = threading.Thread(target=lambda: other.think("from elsewhere", sessionId=key))
        done.start()
        done.join(PATIENCE)
        assert not done.is_alive()
        return InputReply("fine", "m")

    thinker.session.sampler = sample
    assert thinker.think("mine", critique=True)["critique"]["status"] == "ok"
    assert [item["thought"] for item in thinker("read_thoughts")["thoughts"]] == ["mine", "from elsewhere"]


def test_an_empty_reply_is_a_failure(clew: Clew) -> None:
    thinker = Thinker(clew)
    thinker.session.sampler = lambda request, timeout: InputReply("  ", "m")
    assert thinker.think("mine", critique=True)["critique"]["status"] == "failed"


def test_a_reply_that_cannot_be_stored_as_it_is_costs_nothing(clew: Clew) -> None:
    thinker = Thinker(clew)
    thinker.session.sampler = lambda asked, seconds: InputReply("half \ud800 and \x00 nothing", "critic-7")
    thinker.do("start_new", cipher=True)
    said = thinker.do("thought", thought="one", nextThoughtNeeded=True, critique=True)
    assert (said["thoughtNumber"], said["critique"]["text"]) == (1, "half ? and \ufffd nothing")
