"""Resources, their templates and prompts: the lists, reading and watching one, filling one in, completing arguments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    ResourceTemplateReference,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from clew.errors import ClewError
from clew.faces.mcp.connections import Connections, Offered
from clew.faces.mcp.protocol import Request, check_cursor, complete, is_stateless
from clew.faces.mcp.subscriptions import Watches
from clew.faces.mcp.workers import Workers
from clew.registry.catalogue import Catalogue, PromptEntry, ResourceEntry
from clew.registry.dispatch import Dispatcher
from clew.registry.toolsets import TOOLSETS

# The handshake era's own code for it; the stateless era retired the number.
_NOT_FOUND_BEFORE_2026 = -32002


def resource_of(entry: ResourceEntry) -> dict[str, Any]:
    address = {"uriTemplate": entry.uri} if entry.template else {"uri": entry.uri}
    return {
        **address,
        "name": entry.name,
        "title": entry.title,
        "description": entry.summary,
        "mimeType": entry.mime_type,
    }


class Resources(Offered):
    def __init__(
        self,
        catalogue: Catalogue,
        dispatcher: Dispatcher,
        connections: Connections,
        workers: Workers,
        watches: Watches,
    ) -> None:
        super().__init__(catalogue, dispatcher, connections, workers)
        self._watches = watches

    async def list(self, request: Request, params: PaginatedRequestParams) -> dict[str, Any]:
        check_cursor(params.cursor)
        found = [resource_of(entry) for entry in self._listed() if not entry.template]
        return complete(resources=found)

    def _listed(self) -> Iterator[ResourceEntry]:
        """Those of the server's toolset; every other one can be read as well."""
        scheme = TOOLSETS[self._connections.toolset].resources
        return (entry for entry in self._catalogue.resources if entry.uri.startswith(scheme))

    async def list_templates(self, request: Request, params: PaginatedRequestParams) -> dict[str, Any]:
        check_cursor(params.cursor)
        found = [resource_of(entry) for entry in self._listed() if entry.template]
        return complete(resourceTemplates=found)

    async def read(self, request: Request, params: ReadResourceRequestParams) -> dict[str, Any]:
        connection = self._connections.of(request)
        try:
            found = await self._workers.run(partial(self._dispatcher.read_resource, params.uri, connection))
        except ClewError as problem:
            raise _failure(request, params.uri, problem) from problem
        return complete(contents=[{"uri": found.uri, "mimeType": found.mime_type, "text": found.text}])

    async def subscribe(self, request: Request, params: SubscribeRequestParams) -> dict[str, Any]:
        link = self._connections.link(request)
        release = await self._watches.add(params.uri, self._connections.of(request))
        if params.uri in link.watched:
            release()  # asked for twice; one watch is enough
        else:
            link.watched[params.uri] = release
        return {}

    async def unsubscribe(self, request: Request, params: UnsubscribeRequestParams) -> dict[str, Any]:
        release = self._connections.link(request).watched.pop(params.uri, None)
        if release is not None:
            release()
        return {}


def _failure(request: Request, uri: str, problem: ClewError) -> MCPError:
    unknown = problem.code in {"UNKNOWN_ID", "NOT_FOUND"}
    code = _NOT_FOUND_BEFORE_2026 if unknown and not is_stateless(request) else INVALID_PARAMS
    return MCPError(code, problem.message, {"uri": uri, **problem.to_dict()})


def prompt_of(entry: PromptEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "description": entry.summary,
        "arguments": [dict(argument) for argument in entry.arguments],
    }


class Prompts(Offered):
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
