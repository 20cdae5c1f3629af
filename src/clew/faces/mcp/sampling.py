"""Asking the client's model in the middle of a call, in both protocol eras.

The handshake era has requests from server to client: the sampler blocks its worker thread until the
reply is there. The stateless era has none: the call ends with what it needs, and the client calls again
with the replies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

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

CONTEXT_DECLARED = "2025-11-25"
"""The first version of the protocol in which a client declares that it adds context."""


def can_sample(request: Request) -> bool:
    capabilities = request.session.client_capabilities
    return capabilities is not None and capabilities.sampling is not None


def can_list_roots(request: Request) -> bool:
    capabilities = request.session.client_capabilities
    return capabilities is not None and capabilities.roots is not None


Reply = TypeVar("Reply")


def handshake_roots() -> Roots:
    loop = asyncio.get_running_loop()

    def roots(timeout: float) -> list[dict[str, Any]]:
        return _awaited(_ask_roots(current.get(), timeout), loop, timeout)

    return roots


def _awaited(asked: Coroutine[Any, Any, Reply], loop: asyncio.AbstractEventLoop, timeout: float) -> Reply:
    """What the client replies, awaited by the thread of a call. The asking itself runs in the loop of the server."""
    reply = asyncio.run_coroutine_threadsafe(asked, loop)
    try:
        with outside():
            # The question has the same limit; the second more lets its own error arrive first.
            return reply.result(timeout + 1)
    except FutureTimeout:
        reply.cancel()
        raise InputFailed(f"no reply within {timeout:g} s") from None


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
        return _awaited(_ask(current.get(), asked, timeout), loop, timeout)

    return sample


def adds_context(request: Request) -> bool:
    """Whether the client may be asked to add context: since 2025-11-25 it says so, before every client was asked."""
    capabilities = request.session.client_capabilities
    declared = capabilities is not None and capabilities.sampling is not None and capabilities.sampling.context
    return bool(declared is not None and declared) or request.session.protocol_version < CONTEXT_DECLARED


async def _ask(request: Request, asked: InputRequest, timeout: float) -> InputReply:
    related = ServerMessageMetadata(related_request_id=request.request_id)
    message = _message(asked, asked.with_context and adds_context(request))
    try:
        result = await request.session.send_request(message, CreateMessageResult, timeout, related)
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


def _message(asked: InputRequest, with_context: bool = False) -> CreateMessageRequest:
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
            include_context="thisServer" if with_context else None,
            model_preferences=preferences if preferences.model_dump(exclude_none=True) else None,
        )
    )


def _reply(result: CreateMessageResult) -> InputReply:
    if not isinstance(result.content, TextContent):
        raise InputFailed(f"the client replied with {result.content.type}, not with text")
    return InputReply(text=result.content.text, model=result.model)
