"""Prompts: the list, one filled in, and completion of their arguments and of the variables of resource templates."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    PromptReference,
    ResourceTemplateReference,
)

from clew.errors import ClewError
from clew.faces.mcp.connections import Connections
from clew.faces.mcp.protocol import Request, check_cursor, complete
from clew.faces.mcp.workers import Workers
from clew.registry.catalogue import Catalogue, PromptEntry
from clew.registry.dispatch import Dispatcher


def prompt_of(entry: PromptEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "description": entry.summary,
        "arguments": [dict(argument) for argument in entry.arguments],
    }


class Prompts:
    def __init__(
        self, catalogue: Catalogue, dispatcher: Dispatcher, connections: Connections, workers: Workers
    ) -> None:
        self._catalogue = catalogue
        self._dispatcher = dispatcher
        self._connections = connections
        self._workers = workers

    async def list(self, request: Request, params: PaginatedRequestParams) -> dict[str, Any]:
        check_cursor(params.cursor)
        return complete(prompts=[prompt_of(entry) for entry in self._catalogue.prompts])

    async def get(self, request: Request, params: GetPromptRequestParams) -> dict[str, Any]:
        connection = self._connections.of(request)
        work = partial(self._dispatcher.get_prompt, params.name, params.arguments or {}, connection)
        try:
            found = await self._workers.run(work)
        except ClewError as problem:
            raise MCPError(INVALID_PARAMS, problem.message, problem.to_dict()) from problem
        messages = [{"role": role, "content": {"type": "text", "text": text}} for role, text in found.messages]
        return complete(description=found.description, messages=messages)


_LIMIT = 100


class Completions:
    def __init__(self, dispatcher: Dispatcher, connections: Connections, workers: Workers) -> None:
        self._dispatcher = dispatcher
        self._connections = connections
        self._workers = workers

    async def complete(self, request: Request, params: CompleteRequestParams) -> dict[str, Any]:
        connection = self._connections.of(request)
        kind, ref = _reference(params.ref)
        asked = params.argument
        work = partial(self._dispatcher.complete, kind, ref, asked.name, asked.value, connection)
        try:
            values = await self._workers.run(work)
        except ClewError:
            values = []  # an unknown reference completes to nothing; only its use is an error
        return complete(completion={"values": values[:_LIMIT], "hasMore": len(values) > _LIMIT})


def _reference(ref: PromptReference | ResourceTemplateReference) -> tuple[Literal["prompt", "resource"], str]:
    return ("prompt", ref.name) if isinstance(ref, PromptReference) else ("resource", ref.uri)
