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


class Parts:
    """What stands behind the methods, each part given the others it needs."""

    def __init__(self, clew: Clew, entries: Catalogue) -> None:
        dispatcher = clew.dispatcher
        self.bus = InMemorySubscriptionBus()
        self.workers = Workers()
        self.connections = Connections(clew.settings, self.bus)
        self.watches = Watches(dispatcher, clew.database, self.workers, self.bus)
        self.tools = Tools(entries, dispatcher, self.connections, self.workers)
        self.resources = Resources(entries, dispatcher, self.connections, self.workers, self.watches)
        self.prompts = Prompts(entries, dispatcher, self.connections, self.workers)
        self.completions = Completions(dispatcher, self.connections, self.workers)
        self.listening = Listening(self.bus, self.connections, self.watches)

    @asynccontextmanager
    async def lifespan(self, _: Server[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self.listening.close()
            self.watches.close()
            self.workers.close()

    async def set_level(self, request: Request, params: SetLevelRequestParams) -> dict[str, Any]:
        self.connections.link(request).log_level = params.level
        return {}


def build_server(clew: Clew, entries: Catalogue | None = None) -> ClewServer:
    """Cheap: reads the generated index, opens no database, imports no domain module."""
    parts = Parts(clew, entries or catalogue())
    server = ClewServer(
        NAME,
        version=__version__,
        title="Clew",
        description="A durable memory for AI agents.",
        instructions=INSTRUCTIONS,
        cache_hints=_CACHE_HINTS,
        lifespan=parts.lifespan,
        get_tool_input_schema=parts.tools.input_schema,
    )
    server.bus = parts.bus
    server.end_streams = parts.listening.close
    if isinstance(get_tracer_provider(), ProxyTracerProvider):
        server.middleware.clear()  # nobody collects traces, and every call would pay for making them
    server.middleware += [Guard(parts.connections), SealedState(NAME, clew.settings.token)]
    _add_methods(server, parts)
    return server


def _add_methods(server: ClewServer, parts: Parts) -> None:
    """Through this door a handler may return a mapping, and none of the methods warns that it is old."""
    add = server.add_request_handler
    add("tools/list", PaginatedRequestParams, parts.tools.list)
    add("tools/call", CallToolRequestParams, parts.tools.call)
    add("resources/list", PaginatedRequestParams, parts.resources.list)
    add("resources/templates/list", PaginatedRequestParams, parts.resources.list_templates)
    add("resources/read", ReadResourceRequestParams, parts.resources.read)
    add("resources/subscribe", SubscribeRequestParams, parts.resources.subscribe)
    add("resources/unsubscribe", UnsubscribeRequestParams, parts.resources.unsubscribe)
    add("prompts/list", PaginatedRequestParams, parts.prompts.list)
    add("prompts/get", GetPromptRequestParams, parts.prompts.get)
    add("completion/complete", CompleteRequestParams, parts.completions.complete)
    add("logging/setLevel", SetLevelRequestParams, parts.set_level)
    add("subscriptions/listen", SubscriptionsListenRequestParams, parts.listening.listen)
