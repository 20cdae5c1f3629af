"""Tools that the conformance suite calls by name; no part of the product."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

from clew.faces.mcp.protocol import Request, complete, is_stateless

Call = Callable[[Request, types.CallToolRequestParams], Awaitable[Any]]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
OK_FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
WORD_FORM = {"type": "object", "properties": {"response": {"type": "string"}}, "required": ["response"]}
DEFAULTS_FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
ENUMS_FORM = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {
            "type": "string",
            "oneOf": [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2"]}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]},
        },
    },
}
SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def content(*blocks: dict[str, Any], error: bool = False) -> dict[str, Any]:
    return complete(content=list(blocks), isError=error)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def embedded(uri: str, mime_type: str, value: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": value}}


def answers(*blocks: dict[str, Any], error: bool = False) -> Call:
    async def call(request: Request, params: types.CallToolRequestParams) -> Any:
        return content(*blocks, error=error)

    return call


def form(message: str, schema: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def question(prompt: str, max_tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def need(state: str | None = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests or None, request_state=state)


async def log(request: Request, message: str) -> None:
    level = (request.meta or {}).get("io.modelcontextprotocol/logLevel")
    if is_stateless(request) and level is None:
        return
    params = types.LoggingMessageNotificationParams(level="info", data=message)
    notice = types.LoggingMessageNotification(params=params)
    await request.session.send_notification(notice, request.request_id)


async def ask(request: Request, asked: Any, result: Any) -> Any:
    related = ServerMessageMetadata(related_request_id=request.request_id)
    return await request.session.send_request(asked, result, 10, related)


async def with_logging(request: Request, params: types.CallToolRequestParams) -> Any:
    for message in ("started", "working", "done"):
        await log(request, f"Tool execution {message}")
        await asyncio.sleep(0.05)
    return content(text("logged three times"))


async def with_progress(request: Request, params: types.CallToolRequestParams) -> Any:
    for step in (0, 50, 100):
        await request.session.report_progress(step, 100, f"Completed step {step} of 100")
        await asyncio.sleep(0.05)
    return content(text(str((request.meta or {}).get("progress_token"))))


async def sampling(request: Request, params: types.CallToolRequestParams) -> Any:
    asked = question((params.arguments or {})["prompt"])
    reply = await ask(request, asked, types.CreateMessageResult)
    return content(text(f"LLM response: {reply.content.text}"))


def elicitation(message: str | None, schema: dict[str, Any]) -> Call:
    async def call(request: Request, params: types.CallToolRequestParams) -> Any:
        shown = message or (params.arguments or {})["message"]
        reply = await ask(request, form(shown, schema), types.ElicitResult)
        return content(text(f"action={reply.action}, content={json.dumps(reply.content or {})}"))

    return call


async def reconnection(request: Request, params: types.CallToolRequestParams) -> Any:
    if request.close_sse_stream is not None:
        await request.close_sse_stream()
    await asyncio.sleep(0.2)
    return content(text("Reconnection test completed"))


async def missing_capability(request: Request, params: types.CallToolRequestParams) -> Any:
    capabilities = request.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "this tool needs sampling",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return content(text("sampling is declared"))


async def streaming_elicitation(request: Request, params: types.CallToolRequestParams) -> Any:
    if params.input_responses and "word" in params.input_responses:
        return content(text("elicitation done"))
    return need(word=form("Say a word", WORD_FORM))


async def logging_tool(request: Request, params: types.CallToolRequestParams) -> Any:
    await log(request, "test_logging_tool ran")
    return content(text("logged"))


def need_one(key: str, asked: Any, done: str) -> Call:
    async def call(request: Request, params: types.CallToolRequestParams) -> Any:
        if params.input_responses and key in params.input_responses:
            return content(text(done))
        return need(**{key: asked})

    return call


async def need_state(request: Request, params: types.CallToolRequestParams) -> Any:
    if params.input_responses and params.request_state == "nonce":
        return content(text("state-ok: confirmation received"))
    return need("nonce", confirm=form("Please confirm", OK_FORM))


async def need_many(request: Request, params: types.CallToolRequestParams) -> Any:
    if {"user_name", "greeting", "client_roots"} <= (params.input_responses or {}).keys():
        return content(text("All inputs received."))
    return need(
        "many",
        user_name=form("What is your name?", NAME_FORM),
        greeting=question("Generate a greeting", 50),
        client_roots=types.ListRootsRequest(),
    )


async def need_rounds(request: Request, params: types.CallToolRequestParams) -> Any:
    replies = params.input_responses or {}
    if params.request_state == "1" and "step1" in replies:
        return need("2", step2=form("Step 2: which colour?", NAME_FORM))
    if params.request_state == "2" and "step2" in replies:
        return content(text("both steps answered"))
    return need("1", step1=form("Step 1: what is your name?", NAME_FORM))


async def need_untampered(request: Request, params: types.CallToolRequestParams) -> Any:
    if params.request_state is None:
        return need("round-1", confirm=form("Please confirm", OK_FORM))
    return content(text(f"state-ok: {params.request_state}"))


async def need_capabilities(request: Request, params: types.CallToolRequestParams) -> Any:
    capabilities = request.session.client_capabilities
    requests: dict[str, Any] = {}
    if capabilities is None or capabilities.sampling is not None:
        requests["sample"] = question("Say hello", 50)
    if capabilities is None or capabilities.elicitation is not None:
        requests["ask"] = form("What is your name?", NAME_FORM)
    return need("gated", **requests)


def trigger(bus: InMemorySubscriptionBus, event: Any) -> Call:
    async def call(request: Request, params: types.CallToolRequestParams) -> Any:
        await bus.publish(event)
        return content(text("announced"))

    return call


def argument(name: str, **extra: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string", **extra}}, "required": [name]}


def fixture_tools(bus: InMemorySubscriptionBus) -> dict[str, tuple[dict[str, Any], Call]]:
    """Tool name -> (input schema, handler)."""
    plain: dict[str, Call] = {
        "test_simple_text": answers(text("This is a simple text response for testing.")),
        "test_image_content": answers(IMAGE),
        "test_audio_content": answers({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}),
        "test_embedded_resource": answers(
            embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        ),
        "test_multiple_content_types": answers(
            text("Multiple content types test:"),
            IMAGE,
            embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ),
        "test_error_handling": answers(text("This tool intentionally returns an error for testing"), error=True),
        "test_tool_with_logging": with_logging,
        "test_tool_with_progress": with_progress,
        "test_elicitation_sep1034_defaults": elicitation("Please provide user information", DEFAULTS_FORM),
        "test_elicitation_sep1330_enums": elicitation("Please choose", ENUMS_FORM),
        "test_reconnection": reconnection,
        "test_missing_capability": missing_capability,
        "test_streaming_elicitation": streaming_elicitation,
        "test_logging_tool": logging_tool,
        "test_trigger_tool_change": trigger(bus, ToolsListChanged()),
        "test_trigger_prompt_change": trigger(bus, PromptsListChanged()),
        "test_input_required_result_elicitation": need_one(
            "user_name", form("What is your name?", NAME_FORM), "Hello!"
        ),
        "test_input_required_result_sampling": need_one(
            "capital_question", question("What is the capital of France?"), "The model answered."
        ),
        "test_input_required_result_list_roots": need_one(
            "client_roots", types.ListRootsRequest(), "The client listed its roots."
        ),
        "test_input_required_result_request_state": need_state,
        "test_input_required_result_multiple_inputs": need_many,
        "test_input_required_result_multi_round": need_rounds,
        "test_input_required_result_tampered_state": need_untampered,
        "test_input_required_result_capabilities": need_capabilities,
    }
    return {
        **{name: (NO_ARGUMENTS, call) for name, call in plain.items()},
        "test_sampling": (argument("prompt"), sampling),
        "test_elicitation": (argument("message"), elicitation(None, WORD_FORM)),
        "test_x_mcp_header": (
            {
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            },
            answers(text("region received")),
        ),
        "json_schema_2020_12_tool": (SCHEMA_2020_12, answers(text("ok"))),
    }
