"""Adds what the conformance suite expects to find to a server; no part of the product."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as types
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore

from clew.faces.mcp.protocol import Request, complete
from clew.faces.mcp.server import ClewServer
from tests.conformance.tools import IMAGE, PIXEL, embedded, fixture_tools, form, need, text

RESOURCES: dict[str, dict[str, str]] = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched resource content"},
}
TEMPLATE = "test://template/{id}/data"
PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}
CONTEXT_FORM = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}


def install(server: ClewServer) -> None:
    _install_tools(server)
    _install_resources(server)
    _install_prompts(server)


def _handler(server: ClewServer, method: str) -> Any:
    entry = server.get_request_handler(method)
    assert entry is not None
    return entry.handler


def _install_tools(server: ClewServer) -> None:
    fixtures = fixture_tools(server.bus)
    own_list, own_call = _handler(server, "tools/list"), _handler(server, "tools/call")
    own_schema = server.get_tool_input_schema

    async def list_tools(request: Request, params: types.PaginatedRequestParams) -> Any:
        extra = [
            {"name": name, "description": f"Conformance fixture {name}.", "inputSchema": schema}
            for name, (schema, _) in fixtures.items()
        ]
        return complete(tools=(await own_list(request, params))["tools"] + extra)

    async def call_tool(request: Request, params: types.CallToolRequestParams) -> Any:
        if params.name in fixtures:
            return await fixtures[params.name][1](request, params)
        return await own_call(request, params)

    def input_schema(name: str) -> Any:
        return fixtures[name][0] if name in fixtures else own_schema and own_schema(name)

    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)
    server.get_tool_input_schema = input_schema


def _install_resources(server: ClewServer) -> None:
    own_list, own_read = _handler(server, "resources/list"), _handler(server, "resources/read")
    own_templates = _handler(server, "resources/templates/list")

    async def list_resources(request: Request, params: types.PaginatedRequestParams) -> Any:
        extra = [{"uri": uri, "name": uri, "mimeType": found["mimeType"]} for uri, found in RESOURCES.items()]
        return complete(resources=(await own_list(request, params))["resources"] + extra)

    async def list_templates(request: Request, params: types.PaginatedRequestParams) -> Any:
        extra = [{"uriTemplate": TEMPLATE, "name": "template", "mimeType": "application/json"}]
        return complete(resourceTemplates=(await own_templates(request, params))["resourceTemplates"] + extra)

    async def read(request: Request, params: types.ReadResourceRequestParams) -> Any:
        if params.uri in RESOURCES:
            return complete(contents=[{"uri": params.uri, **RESOURCES[params.uri]}])
        if found := re.fullmatch(r"test://template/([^/]+)/data", params.uri):
            data = json.dumps({"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"})
            return complete(contents=[{"uri": params.uri, "mimeType": "application/json", "text": data}])
        return await own_read(request, params)

    server.add_request_handler("resources/list", types.PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/templates/list", types.PaginatedRequestParams, list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read)


def _install_prompts(server: ClewServer) -> None:
    own_list, own_get = _handler(server, "prompts/list"), _handler(server, "prompts/get")

    async def list_prompts(request: Request, params: types.PaginatedRequestParams) -> Any:
        extra = [
            {
                "name": name,
                "description": f"Conformance fixture {name}.",
                "arguments": [{"name": key, "description": key, "required": True} for key in arguments],
            }
            for name, arguments in PROMPTS.items()
        ]
        return complete(prompts=(await own_list(request, params))["prompts"] + extra)

    async def get_prompt(request: Request, params: types.GetPromptRequestParams) -> Any:
        if params.name not in PROMPTS:
            return await own_get(request, params)
        blocks = _prompt(params)
        if isinstance(blocks, types.InputRequiredResult):
            return blocks
        return complete(messages=[{"role": "user", "content": block} for block in blocks])

    server.add_request_handler("prompts/list", types.PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)


def _prompt(params: types.GetPromptRequestParams) -> list[dict[str, Any]] | types.InputRequiredResult:
    arguments = params.arguments or {}
    match params.name:
        case "test_prompt_with_arguments":
            return [text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            return [embedded(arguments["resourceUri"], "text/plain", "Embedded."), text("Please process it.")]
        case "test_prompt_with_image":
            return [IMAGE, text("Please analyze the image above.")]
        case "test_input_required_result_prompt" if not params.input_responses:
            return need(user_context=form("What context should the prompt use?", CONTEXT_FORM))
        case "test_input_required_result_prompt":
            return [text("Use the context given.")]
        case _:
            return [text("This is a simple prompt for testing.")]


class Events(EventStore):
    """Keeps the messages of streams in memory, for the scenario that reconnects."""

    def __init__(self) -> None:
        self._events: list[tuple[str, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        if not last_event_id.isdigit() or not 0 < int(last_event_id) <= len(self._events):
            return None
        last = int(last_event_id)
        stream = self._events[last - 1][0]
        for number, (stream_id, message) in enumerate(self._events[last:], last + 1):
            if stream_id == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
