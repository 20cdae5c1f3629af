"""Asking the client's model in the middle of a call, in both protocol eras.

The handshake era has requests from server to client: the sampler blocks its worker thread until the
reply is there. The stateless era has none: the call ends with what it needs, and the client calls again
with the replies.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CallToolRequestParams,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ListRootsRequest,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    SamplingMessage,
    TextContent,
)
from pydantic import ValidationError

from clew.faces.mcp.protocol import Request, current
from clew.registry.connection import InputFailed, InputReply, InputRequest, InputRequired, Roots, Sampler, outside


def can_sample(request: Request) -> bool:
    capabilities = request.session.client_capabilities
    return capabilities is not None and capabilities.sampling is not None


def can_list_roots(request: Request) -> bool:
    capabilities = request.session.client_capabilities
    return capabilities is not None and capabilities.roots is not None


def handshake_roots() -> Roots:
    loop = asyncio.get_running_loop()

    def roots(timeout: float) -> list[dict[str, Any]]:
        reply = asyncio.run_coroutine_threadsafe(_ask_roots(current.get(), timeout), loop)
        try:
            with outside():
                return reply.result(timeout + 1)
        except FutureTimeout:
            reply.cancel()
            raise InputFailed(f"no reply within {timeout:g} s") from None

    return roots


async def _ask_roots(request: Request, timeout: float) -> list[dict[str, Any]]:
    related = ServerMessageMetadata(related_request_id=request.request_id)
    try:
        result = await request.session.send_request(ListRootsRequest(), ListRootsResult, timeout, related)
    except MCPError as problem:
        raise InputFailed(problem.error.message) from problem
    except ValidationError as problem:
        raise InputFailed("the client's reply is not a list of roots") from problem
    return [{"uri": str(root.uri), "name": root.name} for root in result.roots]


def handshake_sampler() -> Sampler:
    loop = asyncio.get_running_loop()

    def sample(asked: InputRequest, timeout: float) -> InputReply:
        reply = asyncio.run_coroutine_threadsafe(_ask(current.get(), asked, timeout), loop)
        try:
            with outside():
                return reply.result(timeout + 1)
        except FutureTimeout:
            reply.cancel()
            raise InputFailed(f"no reply within {timeout:g} s") from None

    return sample


async def _ask(request: Request, asked: InputRequest, timeout: float) -> InputReply:
    related = ServerMessageMetadata(related_request_id=request.request_id)
    try:
        result = await request.session.send_request(_message(asked), CreateMessageResult, timeout, related)
    except MCPError as problem:
        raise InputFailed(problem.error.message) from problem
    except ValidationError as problem:
        raise InputFailed("the client's reply is not a sampling result") from problem
    return _reply(result)


def stateless_sampler(params: CallToolRequestParams) -> Sampler:
    replies = params.input_responses or {}

    def sample(asked: InputRequest, timeout: float) -> InputReply:
        if asked.key not in replies:
            raise InputRequired(asked)
        result = replies[asked.key]
        if not isinstance(result, CreateMessageResult):
            raise InputFailed("the client's reply is not a sampling result")
        return _reply(result)

    return sample


def input_required(needed: InputRequired) -> dict[str, Any]:
    message = _message(needed.request).model_dump(by_alias=True, mode="json", exclude_none=True)
    result: dict[str, Any] = {"resultType": "input_required", "inputRequests": {needed.request.key: message}}
    if needed.state is not None:
        result["requestState"] = needed.state
    return result


def _message(asked: InputRequest) -> CreateMessageRequest:
    preferences = ModelPreferences(
        hints=[ModelHint(name=name) for name in asked.models] or None,
        intelligence_priority=asked.intelligence,
        cost_priority=asked.cost,
    )
    return CreateMessageRequest(
        params=CreateMessageRequestParams(
            messages=[SamplingMessage(role="user", content=TextContent(type="text", text=asked.prompt))],
            system_prompt=asked.system,
            max_tokens=asked.max_tokens,
            model_preferences=preferences if preferences.model_dump(exclude_none=True) else None,
        )
    )


def _reply(result: CreateMessageResult) -> InputReply:
    if not isinstance(result.content, TextContent):
        raise InputFailed(f"the client replied with {result.content.type}, not with text")
    return InputReply(text=result.content.text, model=result.model)
