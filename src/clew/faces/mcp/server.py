"""The server object: catalogue and dispatcher behind the methods of the protocol; operations as MCP tools: which are
listed, their definitions, and calls to them.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
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
from mcp_types.methods import is_input_required
from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider
from pydantic import ValidationError

from clew import __version__
from clew.faces.mcp.connections import Connections, Origin
from clew.faces.mcp.protocol import Request, client_name, is_stateless, request_id_of, wire_of
from clew.faces.mcp.resources import Completions, Listening, Prompts, Resources, Watches
from clew.registry.accounts import came_with
from clew.registry.callers import ConnectedClients
from clew.registry.catalogue import Catalogue, catalogue
from clew.registry.toolsets import toolset_named
from clew.registry.workers import Workers

if TYPE_CHECKING:
    from mcp.server.request_state import RequestStateBoundary

    from clew.app import Clew
from collections.abc import Iterable, Mapping
from functools import partial

from mcp_types import INVALID_PARAMS

from clew.faces.mcp.connections import Offered, caller_of
from clew.faces.mcp.protocol import ProgressReport, check_cursor, complete, current, narrate
from clew.faces.mcp.sampling import input_required
from clew.registry.catalogue import OperationEntry, ResourceEntry, listed
from clew.registry.dispatch import Dispatcher
from clew.registry.envelope import Answer
from clew.setting_readers import TOOLSET_WORDS

logger = logging.getLogger(__name__)


class ExceptionGuard:
    """Turns an unexpected exception into a plain internal error; the SDK would send its text."""

    def __init__(self, connections: Connections, clients: ConnectedClients) -> None:
        self._connections = connections
        self._clients = clients

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        if not is_stateless(ctx):
            self._admit(ctx)
        self._clients.note(client_name(ctx))
        try:
            return await call_next(ctx)
        # These two are meant for the client; the SDK turns them into errors of the protocol.
        except (MCPError, ValidationError):
            raise
        except Exception:
            logger.exception("request %s failed", ctx.method)
            raise MCPError(INTERNAL_ERROR, "internal error; the server's log has the details") from None

    def _admit(self, request: Request) -> None:
        """Clients that skip parts of the handshake are served all the same (the seeds pin it)."""
        if request.method == "initialize":
            return
        wire = wire_of(request)
        # Without this the SDK would refuse everything until `initialized` has come.
        if not wire.initialize_accepted:
            wire.initialized.set()
        self._connections.link(request)


class SealedState:
    """Seals the state that a client carries from one round of a call to the next.

    The SDK's boundary does the work. It imports a cryptography library, which few servers ever need,
    so it is made when the first state comes by.
    """

    def __init__(self, audience: str, token: str | None) -> None:
        self._audience = audience
        self._token = token
        self._boundary: RequestStateBoundary | None = None

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        if ctx.params is not None and ctx.params.get("requestState") is not None:
            return await self._sealer()(ctx, call_next)
        result = await call_next(ctx)
        if not is_input_required(result):
            return result

        async def as_it_is(_: Any) -> HandlerResult:
            return result

        return await self._sealer()(ctx, as_it_is)

    def _sealer(self) -> RequestStateBoundary:
        if self._boundary is None:
            from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

            security = RequestStateSecurity(keys=[self._key()])
            self._boundary = RequestStateBoundary(security, default_audience=self._audience)
        return self._boundary

    def _key(self) -> bytes:
        """Servers that share a token can continue each other's rounds; others have a key of their own."""
        if self._token is None:
            return os.urandom(32)
        return hashlib.sha256(b"clew request state\0" + self._token.encode()).digest()


class LooseArguments:
    """Arguments that are no object are answered by the door like any other wrong call, so that a model reads why.

    The SDK would refuse them as a fault of the protocol, which models seldom see. Some models send the object as text.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def __call__(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        given = (ctx.params or {}).get("arguments")
        name = (ctx.params or {}).get("name")
        if ctx.method != "tools/call" or given is None or isinstance(given, dict) or not isinstance(name, str):
            return await call_next(ctx)
        return await self._tools.call(ctx, CallToolRequestParams.model_construct(name=name, arguments=given))


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
    """The parts behind the methods, each given the others it needs."""

    def __init__(self, clew: Clew, entries: Catalogue, origin: Origin | None, is_pipe: bool) -> None:
        dispatcher = clew.dispatcher
        self.bus = InMemorySubscriptionBus()
        self.workers = Workers()
        self.connections = Connections(clew.settings, self.bus, origin, is_pipe)
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
            # In a thread: calls that still run are waited for, and the loop may have other clients to serve.
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._end)

    def _end(self) -> None:
        self.watches.close()
        self.workers.close()

    async def set_level(self, request: Request, params: SetLevelRequestParams) -> dict[str, Any]:
        self.connections.link(request).log_level = params.level
        return {}


def build_server(
    clew: Clew, entries: Catalogue | None = None, origin: Origin | None = None, is_pipe: bool = False
) -> ClewServer:
    """Cheap: reads the generated index, opens no database, imports no domain module.

    `is_pipe`: everything this server is asked comes from one client over one pipe.
    """
    parts = Parts(clew, entries or catalogue(), origin, is_pipe)
    toolset = toolset_named(clew.settings.toolset)
    server = ClewServer(
        toolset.server,
        version=__version__,
        title="Clew",
        description="A durable memory for AI agents.",
        instructions="\n\n".join(filter(None, (clew.settings.notice, toolset.instructions))),
        cache_hints=_CACHE_HINTS,
        lifespan=parts.lifespan,
        get_tool_input_schema=parts.tools.input_schema,
    )
    server.bus = parts.bus
    server.end_streams = parts.listening.close
    if isinstance(get_tracer_provider(), ProxyTracerProvider):
        server.middleware.clear()  # traces are not collected, and every call would pay for making them
    server.middleware += [
        ExceptionGuard(parts.connections, clew.database.resources.of(ConnectedClients)),
        SealedState(NAME, clew.settings.token),
        LooseArguments(parts.tools),
    ]
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


NAMES = list(dict.fromkeys(TOOLSET_WORDS.values()))


def toolset_of(params: Mapping[str, Any] | None, default: str) -> str:
    if params is None or "toolset" not in params:
        return default
    asked = params["toolset"]
    if not isinstance(asked, str):
        raise _refusal(f"toolset must be a string, not {type(asked).__name__}")
    if asked not in TOOLSET_WORDS:
        raise _refusal(f"toolset {asked[:40]!r} is unknown")
    return TOOLSET_WORDS[asked]


def _refusal(problem: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"{problem}; use {', '.join(NAMES[:-1])} or {NAMES[-1]}", {"toolsets": NAMES})


def tool_of(entry: OperationEntry) -> dict[str, Any]:
    """Without an output schema: a tool with one must answer with structured content, and lines have none."""
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
        came_with(request_id_of(request), getattr(request.request, "headers", {}).get("traceparent"))
        connection = self._connections.of(request, params)
        progress = ProgressReport(request)
        work = partial(self._dispatcher.call, params.name, params.arguments, connection, progress)
        entry = self._catalogue.find(params.name)
        answer = await self._workers.run(
            work,
            caller=caller_of(request, connection),
            operation=entry.name if entry is not None else "",
            # What one connection writes is written in the order in which it was sent, also when it was sent at once.
            is_ordered=connection.handle is not None and entry is not None and not entry.read_only,
        )
        await progress.delivered()
        await self._connections.note(request, connection)
        if answer.input_required is not None:
            return input_required(answer.input_required)
        await narrate(request, self._connections.log_level(request), params.name, answer)
        return result_of(answer, self._catalogue.resources)
