"""Operations as MCP tools: which are listed, their definitions, and calls to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams, PaginatedRequestParams

from clew.faces.mcp.connections import Connections, Offered
from clew.faces.mcp.protocol import ProgressReport, Request, check_cursor, complete, current, narrate
from clew.faces.mcp.sampling import input_required
from clew.faces.mcp.workers import Workers
from clew.registry.catalogue import Catalogue, OperationEntry, ResourceEntry, listed
from clew.registry.dispatch import Dispatcher
from clew.registry.envelope import Answer
from clew.setting_readers import TOOLSETS

NAMES = list(dict.fromkeys(TOOLSETS.values()))


def toolset_of(params: Mapping[str, Any] | None, default: str) -> str:
    if params is None or "toolset" not in params:
        return default
    asked = params["toolset"]
    if not isinstance(asked, str):
        raise _refusal(f"toolset must be a string, not {type(asked).__name__}")
    if asked not in TOOLSETS:
        raise _refusal(f"toolset {asked[:40]!r} is unknown")
    return TOOLSETS[asked]


def _refusal(problem: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"{problem}; use {', '.join(NAMES[:-1])} or {NAMES[-1]}", {"toolsets": NAMES})


def tool_of(entry: OperationEntry) -> dict[str, Any]:
    """Without an output schema: whoever declares one must answer with structured content, and lines have none."""
    return {
        "name": entry.name,
        "description": f"{entry.summary}\n{entry.description}".strip(),
        "inputSchema": listed(entry.input_schema),
        "annotations": annotations_of(entry),
    }


def annotations_of(entry: OperationEntry) -> dict[str, bool]:
    """The last two hints mean nothing on a tool that only reads, so it goes without them."""
    hints = {"readOnlyHint": entry.read_only, "openWorldHint": False}
    if not entry.read_only:
        hints |= {"destructiveHint": entry.destructive, "idempotentHint": entry.idempotent}
    return hints


def link_of(entry: ResourceEntry) -> dict[str, Any]:
    return {
        "type": "resource_link",
        "uri": entry.uri,
        "name": entry.name,
        "title": entry.title,
        "mimeType": entry.mime_type,
    }


def result_of(answer: Answer, resources: Iterable[ResourceEntry] = ()) -> dict[str, Any]:
    """Text, and the same JSON as structured content where the text is a JSON object.

    Claude Code and VS Code give a model the structured content instead of the text, so an answer in lines goes
    without it: the model would never see the lines.
    """
    both = {} if answer.structured is None else {"structuredContent": answer.structured}
    links = [link_of(entry) for entry in resources if entry.uri in answer.resources]
    return complete(content=[{"type": "text", "text": answer.text}, *links], **both, isError=not answer.ok)


class Tools(Offered):
    def __init__(
        self, catalogue: Catalogue, dispatcher: Dispatcher, connections: Connections, workers: Workers
    ) -> None:
        super().__init__(catalogue, dispatcher, connections, workers)
        self._lists: dict[str, dict[str, Any]] = {}

    async def list(self, request: Request, params: PaginatedRequestParams) -> dict[str, Any]:
        check_cursor(params.cursor)
        return self._listed(toolset_of(request.params, self._connections.toolset))

    def _listed(self, toolset: str) -> dict[str, Any]:
        if toolset not in self._lists:
            self._lists[toolset] = complete(tools=[tool_of(entry) for entry in self._catalogue.listed(toolset)])
        return self._lists[toolset]

    def input_schema(self, name: str) -> dict[str, Any] | None:
        entry = self._catalogue.find(name)
        return entry.input_schema if entry is not None else None

    async def call(self, request: Request, params: CallToolRequestParams) -> dict[str, Any]:
        current.set(request)
        connection = self._connections.of(request, params)
        progress = ProgressReport(request)
        work = partial(self._dispatcher.call, params.name, params.arguments, connection, progress)
        answer = await self._workers.run(work)
        await progress.delivered()
        self._connections.note(connection)
        if answer.input_required is not None:
            return input_required(answer.input_required)
        await narrate(request, self._connections.log_level(request), params.name, answer)
        return result_of(answer, self._catalogue.resources)
