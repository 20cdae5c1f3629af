"""Prompts: the list, and one filled in."""

from __future__ import annotations

from functools import partial
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptRequestParams, PaginatedRequestParams

from clew.errors import ClewError
from clew.faces.mcp.connections import Connections
from clew.faces.mcp.lists import check_cursor
from clew.faces.mcp.request import Request
from clew.faces.mcp.results import complete
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
        session = self._connections.session(request)
        work = partial(self._dispatcher.get_prompt, params.name, params.arguments or {}, session)
        try:
            found = await self._workers.run(work)
        except ClewError as problem:
            raise MCPError(INVALID_PARAMS, problem.message, problem.to_dict()) from problem
        messages = [{"role": role, "content": {"type": "text", "text": text}} for role, text in found.messages]
        return complete(description=found.description, messages=messages)
