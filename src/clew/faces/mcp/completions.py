"""Completion of prompt arguments and of the variables of resource templates."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from mcp_types import CompleteRequestParams, PromptReference, ResourceTemplateReference

from clew.errors import ClewError
from clew.faces.mcp.connections import Connections
from clew.faces.mcp.request import Request
from clew.faces.mcp.results import complete
from clew.faces.mcp.workers import Workers
from clew.registry.dispatch import Dispatcher

_LIMIT = 100


class Completions:
    def __init__(self, dispatcher: Dispatcher, connections: Connections, workers: Workers) -> None:
        self._dispatcher = dispatcher
        self._connections = connections
        self._workers = workers

    async def complete(self, request: Request, params: CompleteRequestParams) -> dict[str, Any]:
        session = self._connections.session(request)
        kind, ref = _reference(params.ref)
        asked = params.argument
        work = partial(self._dispatcher.complete, kind, ref, asked.name, asked.value, session)
        try:
            values = await self._workers.run(work)
        except ClewError:
            values = []  # an unknown reference completes to nothing; only its use is an error
        return complete(completion={"values": values[:_LIMIT], "hasMore": len(values) > _LIMIT})


def _reference(ref: PromptReference | ResourceTemplateReference) -> tuple[Literal["prompt", "resource"], str]:
    return ("prompt", ref.name) if isinstance(ref, PromptReference) else ("resource", ref.uri)
