from __future__ import annotations

import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from clew.faces.mcp.server import ClewServer
from tests.faces.mcp.conftest import ERAS, text_of

# Nothing here depends on the engine.
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("engine", ["sqlite"])]


@pytest.mark.parametrize("era", ERAS)
async def test_resources_are_listed_apart_from_templates_and_read(server: ClewServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        assert "probe://written" in listed and "probe://item/{id}" not in listed
        assert "probe://item/{id}" in [template.uri_template for template in templates]
        read = await client.read_resource("probe://item/a%20b")
        assert [(c.uri, c.mime_type, text_of(c)) for c in read.contents] == [
            ("probe://item/a%20b", "text/plain", "item a b")
        ]


@pytest.mark.parametrize(("era", "code"), [("legacy", -32002), ("auto", -32602)])
async def test_an_unknown_resource_is_named_in_the_error(server: ClewServer, era: str, code: int) -> None:
    async with Client(server, mode=era) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource("probe://nowhere")
        assert refused.value.error.code == code
        assert refused.value.error.data["uri"] == "probe://nowhere"


@pytest.mark.parametrize("era", ERAS)
async def test_prompts_are_listed_and_filled_in(server: ClewServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        prompt = next(p for p in (await client.list_prompts()).prompts if p.name == "probe_hello")
        assert prompt.arguments is not None and prompt.arguments[0].required
        filled = await client.get_prompt("probe_hello", {"who": "Ariadne"})
        assert [text_of(message.content) for message in filled.messages] == ["Hello, Ariadne."]
        for name in ("probe_hello", "no_such_prompt"):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, {})
            assert refused.value.error.code == -32602


@pytest.mark.parametrize("era", ERAS)
async def test_arguments_are_completed(server: ClewServer, era: str) -> None:
    async with Client(server, mode=era) as client:
        template = ResourceTemplateReference(type="ref/resource", uri="probe://item/{id}")
        prompt = PromptReference(type="ref/prompt", name="probe_hello")
        unknown = PromptReference(type="ref/prompt", name="no_such_prompt")
        assert (await client.complete(template, {"name": "id", "value": "al"})).completion.values == ["alpha"]
        assert (await client.complete(prompt, {"name": "who", "value": "x"})).completion.values == ["x!"]
        assert (await client.complete(unknown, {"name": "who", "value": "x"})).completion.values == []
