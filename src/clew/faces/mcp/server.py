"""The server object: catalogue and dispatcher behind the methods of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp_types import (
    CallToolRequestParams,
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)
from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

from clew import __version__
from clew.faces.mcp.completions import Completions
from clew.faces.mcp.connections import Connections
from clew.faces.mcp.guard import Guard, SealedState
from clew.faces.mcp.instructions import INSTRUCTIONS
from clew.faces.mcp.listening import Listening
from clew.faces.mcp.prompts import Prompts
from clew.faces.mcp.request import Request
from clew.faces.mcp.resources import Resources
from clew.faces.mcp.tools import Tools
from clew.faces.mcp.watches import Watches
from clew.faces.mcp.workers import Workers
from clew.registry.catalogue import Catalogue, catalogue

if TYPE_CHECKING:
    from clew.app import Clew

NAME = "clew"

# Lists change only with the installed version; what is read may change with the next call.
_HOUR = CacheHint(ttl_ms=3_600_000, scope="public")
_CACHE_HINTS: dict[Any, CacheHint] = {
    "tools/list": _HOUR,
    "prompts/list": _HOUR,
    "resources/list": _HOUR,
    "resources/templates/list": _HOUR,
    "server/discover": _HOUR,
    "resources/read": CacheHint(ttl_ms=0, scope="private"),
}


class ClewServer(Server[Any]):
    """The SDK's server, with the change notices declared that it would leave out."""

    bus: InMemorySubscriptionBus
    end_streams: Callable[[], None]

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        every = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(every, experimental_capabilities, extensions)


def build_server(clew: Clew, entries: Catalogue | None = None) -> ClewServer:
    """Cheap: reads the generated index, opens no database, imports no domain module."""
    bus = InMemorySubscriptionBus()
    workers = Workers()
    entries = entries or catalogue()
    connections = Connections(clew.settings, bus)
    watches = Watches(clew.dispatcher, clew.database, workers, bus)
    tools = Tools(entries, clew.dispatcher, connections, workers)
    resources = Resources(entries, clew.dispatcher, connections, workers, watches)
    prompts = Prompts(entries, clew.dispatcher, connections, workers)
    completions = Completions(clew.dispatcher, connections, workers)
    listening = Listening(bus, connections, watches)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            listening.close()
            watches.close()
            workers.close()

    async def set_level(request: Request, params: SetLevelRequestParams) -> dict[str, Any]:
        connections.link(request).log_level = params.level
        return {}

    server = ClewServer(
        NAME,
        version=__version__,
        title="Clew",
        description="A durable memory for AI agents.",
        instructions=INSTRUCTIONS,
        cache_hints=_CACHE_HINTS,
        lifespan=lifespan,
        get_tool_input_schema=tools.input_schema,
    )
    server.bus = bus
    server.end_streams = listening.close
    if isinstance(get_tracer_provider(), ProxyTracerProvider):
        server.middleware.clear()  # nobody collects traces, and every call would pay for making them
    server.middleware += [Guard(connections), SealedState(NAME, clew.settings.token)]
    # Through this door a handler may return a mapping, and none of the methods warns that it is old.
    add = server.add_request_handler
    add("tools/list", PaginatedRequestParams, tools.list)
    add("tools/call", CallToolRequestParams, tools.call)
    add("resources/list", PaginatedRequestParams, resources.list)
    add("resources/templates/list", PaginatedRequestParams, resources.list_templates)
    add("resources/read", ReadResourceRequestParams, resources.read)
    add("resources/subscribe", SubscribeRequestParams, resources.subscribe)
    add("resources/unsubscribe", UnsubscribeRequestParams, resources.unsubscribe)
    add("prompts/list", PaginatedRequestParams, prompts.list)
    add("prompts/get", GetPromptRequestParams, prompts.get)
    add("completion/complete", CompleteRequestParams, completions.complete)
    add("logging/setLevel", SetLevelRequestParams, set_level)
    add("subscriptions/listen", SubscriptionsListenRequestParams, listening.listen)
    return server
