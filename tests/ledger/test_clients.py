"""What a client of either protocol era sees beside the tools: resources, templates, prompts, completions, progress."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import Client
from mcp_types import PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from clew.app import Clew
from clew.faces.mcp.server import ClewServer, build_server
from tests.faces.mcp.conftest import ERAS
from tests.ledger.conftest import Thinker

pytestmark = pytest.mark.anyio

GUIDES = {f"thoughtbox://{name}" for name in ("init", "architecture", "cipher", "patterns-cookbook")}
LISTED = GUIDES | {"thoughtbox://session-analysis-guide", "thoughtbox://mental-models", "thoughtbox://sessions"}
TEMPLATES = {
    "thoughtbox://mental-models/{tag}/{model}",
    "thoughtbox://session/{sessionId}",
    "thoughtbox://thoughts/{sessionId}/{type}",
    "thoughtbox://thoughts/{sessionId}/range/{start}-{end}",
    "thoughtbox://references/{sessionId}/{thoughtNumber}",
    "thoughtbox://revisions/{sessionId}/{thoughtNumber}",
}
PROMPTS = {"list_mcp_assets", "interleaved-thinking", "subagent-summarize", "evolution-check"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def engine() -> str:
    """What the store says is tested elsewhere, on both."""
    return "sqlite"


@pytest.fixture
def server(clew: Clew) -> ClewServer:
    return build_server(clew)


@pytest.fixture
def session(clew: Clew) -> str:
    thinker = Thinker(clew)
    for text in ("S1|O|slow", "S2|H|S1|cache", "S3|R|^S2|disk"):
        key = str(thinker.think(text, sessionTitle="Slow search")["sessionId"])
    return key


async def text_at(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


@pytest.mark.parametrize("era", ERAS)
async def test_the_seeds_resources_and_templates_are_listed_and_read(
    server: ClewServer, session: str, era: str
) -> None:
    async with Client(server, mode=era) as client:
        listed = {str(item.uri): item for item in (await client.list_resources()).resources}
        assert set(listed) >= LISTED
        assert listed["thoughtbox://mental-models"].mime_type == "application/json"
        templates = {item.uri_template for item in (await client.list_resource_templates()).resource_templates}
        assert templates >= TEMPLATES
        for uri in sorted(LISTED):
            assert len(await text_at(client, uri)) > 100
        model = await text_at(client, "thoughtbox://mental-models/debugging/five-whys")
        assert model.startswith("---\n") and "\n# Five Whys" in model
        revised = json.loads(await text_at(client, f"thoughtbox://revisions/{session}/2"))
        assert [item["thoughtNumber"] for item in revised["thoughts"]] == [3]
        by_type = json.loads(await text_at(client, f"thoughtbox://thoughts/{session}/H"))
        assert by_type["query"] == "type:H"
        in_range = json.loads(await text_at(client, f"thoughtbox://thoughts/{session}/range/1-2"))
        assert in_range["count"] == 2
        pointing = json.loads(await text_at(client, f"thoughtbox://references/{session}/1"))
        assert [item["thoughtNumber"] for item in pointing["thoughts"]] == [2]


@pytest.mark.parametrize("era", ERAS)
async def test_the_seeds_prompts_are_listed_and_written(server: ClewServer, session: str, era: str) -> None:
    async with Client(server, mode=era) as client:
        assert {item.name for item in (await client.list_prompts()).prompts} >= PROMPTS
        given: dict[str, dict[str, str]] = {
            "list_mcp_assets": {},
            "interleaved-thinking": {"task": "Fix login"},
            "subagent-summarize": {"request": "Read the logs"},
            "evolution-check": {"newThought": "it is DNS", "sessionId": session},
        }
        for name, arguments in given.items():
            (message, *_) = (await client.get_prompt(name, arguments)).messages
            assert isinstance(message.content, TextContent)
            assert all(value in message.content.text for value in arguments.values())


@pytest.mark.parametrize("era", ERAS)
async def test_ids_models_and_tags_are_completed(server: ClewServer, session: str, era: str) -> None:
    async with Client(server, mode=era) as client:

        async def completed(ref: Any, name: str, value: str) -> list[str]:
            return list((await client.complete(ref, {"name": name, "value": value})).completion.values)

        model = ResourceTemplateReference(type="ref/resource", uri="thoughtbox://mental-models/{tag}/{model}")
        assert await completed(model, "tag", "de") == ["debugging", "decision-making"]
        assert await completed(model, "model", "five") == ["five-whys"]
        thoughts = ResourceTemplateReference(type="ref/resource", uri="thoughtbox://thoughts/{sessionId}/{type}")
        assert await completed(thoughts, "sessionId", session[:6]) == [session]
        assert await completed(thoughts, "type", "hyp") == ["H"]
        prompt = PromptReference(type="ref/prompt", name="evolution-check")
        assert await completed(prompt, "sessionId", "slow") == [session]


@pytest.mark.parametrize("era", ERAS)
async def test_a_long_run_tells_how_far_it_is(server: ClewServer, era: str) -> None:
    pytest.importorskip("deno")
    told: list[tuple[float, float | None, str | None]] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with Client(server, mode=era) as client:
        await client.call_tool("notebook_create", {"name": "Long"})
        wait = "await new Promise(done => setTimeout(done, 1300)); console.log('done')"
        await client.call_tool("notebook_add_cell", {"notebookId": "NB-001", "type": "code", "content": wait})
        run = {"notebookId": "NB-001", "cellId": "CELL-0003", "timeoutMs": 60_000}
        answer = await client.call_tool("notebook_run_cell", run, progress_callback=progressed)
    assert answer.structured_content is not None
    assert answer.structured_content["result"]["output"] == "done\n"
    assert told, "a run of more than half a second is reported"
    assert [progress for progress, _, _ in told] == sorted(progress for progress, _, _ in told)
    assert {(total, message) for _, total, message in told} == {(60.0, "cell1.ts is running")}
