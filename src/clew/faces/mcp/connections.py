"""Who is calling: one `Connection` for each wire with a handshake or pipe, one for each stateless request over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mcp.server.connection import Connection as Wire
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import CallToolRequestParams, LoggingLevel

from clew.faces.mcp.protocol import Request, client_name, is_stateless, principal_of, session_kept, wire_of
from clew.faces.mcp.sampling import can_list_roots, can_sample, handshake_roots, handshake_sampler, stateless_sampler
from clew.registry.connection import Connection
from clew.settings import Settings

if TYPE_CHECKING:
    from clew.registry.catalogue import Catalogue
    from clew.registry.dispatch import Dispatcher
    from clew.registry.workers import Workers

_KEY = "clew"


@dataclass
class Handshake:
    """What a connection with a handshake keeps between its requests."""

    wire: Wire
    connection: Connection
    log_level: LoggingLevel | None = None
    watched: dict[str, Callable[[], None]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def deliver(self, event: ServerEvent) -> None:
        """Passes a change notice on; called by the bus, on the event loop."""
        match event:
            case ResourceUpdated(uri) if uri in self.watched:
                notice = self.wire.send_resource_updated(uri)
            case ToolsListChanged():
                notice = self.wire.send_tool_list_changed()
            case PromptsListChanged():
                notice = self.wire.send_prompt_list_changed()
            case ResourcesListChanged():
                notice = self.wire.send_resource_list_changed()
            case _:
                return
        # The bus calls without waiting. The set keeps the task from being collected before it has run.
        task = asyncio.get_running_loop().create_task(notice)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def release(self) -> None:
        while self.watched:
            self.watched.popitem()[1]()


class Origin:
    """What a connection brings along from a server that it had before, and who keeps it in case it needs another."""

    def __init__(self, kept: Mapping[str, Any], keep: Callable[[dict[str, Any]], None]) -> None:
        self._kept = dict(kept)
        self._keep = keep

    def give_back(self, connection: Connection) -> None:
        connection.restore(self._kept)

    def note(self, connection: Connection) -> None:
        """Hand on what changed, before the answer that it came with."""
        kept = connection.kept()
        if connection.durable and kept != self._kept:
            self._kept = kept
            # Before the answer goes out: a client that has the answer must be able to go on with another server.
            self._keep(kept)


class Connections:
    def __init__(
        self, settings: Settings, bus: InMemorySubscriptionBus, origin: Origin | None = None, is_pipe: bool = False
    ) -> None:
        self._settings = settings
        self._bus = bus
        self._origin = origin
        # Over a pipe there is one client, whichever era of the protocol it speaks: the pipe is the connection.
        self._pipe = self._durable(None) if is_pipe else None

    @property
    def toolset(self) -> str:
        return self._settings.toolset

    def link(self, request: Request) -> Handshake:
        wire = wire_of(request)
        link = wire.state.get(_KEY)
        if not isinstance(link, Handshake):
            link = self._connect(wire)
            wire.state[_KEY] = link
        return link

    def _connect(self, wire: Wire) -> Handshake:
        link = Handshake(wire, self._pipe or self._durable(wire.session_id))
        wire.exit_stack.callback(self._bus.subscribe(link.deliver))
        wire.exit_stack.callback(link.release)
        return link

    def of(self, request: Request, params: CallToolRequestParams | None = None) -> Connection:
        connection = self._stateless(request, params) if is_stateless(request) else self._with_handshake(request)
        # Of each request, because a token is looked up at each. A session is bound to the one that opened it.
        connection.principal = principal_of(request)
        return connection

    def _with_handshake(self, request: Request) -> Connection:
        connection = self.link(request).connection
        if (shared := session_kept(request)) is not None:
            connection.go_on(shared[0])
        # The name comes with the handshake, which is over at the first call and not yet when the wire is made.
        if connection.client is None:
            connection.client = client_name(request)
        if connection.sampler is None and connection.roots is None:
            connection.sampler = handshake_sampler() if can_sample(request) else None
            connection.roots = handshake_roots() if can_list_roots(request) else None
        return connection

    def _stateless(self, request: Request, params: CallToolRequestParams | None) -> Connection:
        connection = self._pipe or self._new_connection(durable=False)
        connection.client = connection.client or client_name(request)
        if params is not None and can_sample(request):
            # Replies and state belong to this request alone; calls of one pipe may run at the same time.
            return replace(connection, sampler=stateless_sampler(params), resume=params.request_state)
        return connection

    def _durable(self, handle: str | None) -> Connection:
        """A connection that is remembered between its calls."""
        connection = self._new_connection(durable=True)
        # Callers are kept apart by it; two clients of one name must not share a focus.
        connection.handle = handle or uuid4().hex  # stdio has no session id
        if self._origin is not None:
            self._origin.give_back(connection)
            self._origin.note(connection)
        return connection

    def _new_connection(self, durable: bool) -> Connection:
        return Connection(toolset=self._settings.toolset, agent_id=self._settings.agent_id, durable=durable)

    async def note(self, request: Request, connection: Connection) -> None:
        """After a call: it may have moved the connection."""
        if (shared := session_kept(request)) is not None:
            await shared[1](connection.kept())
        if self._pipe is not None and connection is not self._pipe:
            self._pipe.take_over(connection)
        if self._origin is not None:
            self._origin.note(connection)

    def log_level(self, request: Request) -> LoggingLevel | None:
        return None if is_stateless(request) else self.link(request).log_level


def caller_of(request: Request, connection: Connection) -> Hashable:
    """Whose call this is, as far as seats are shared out: a connection, or all stateless calls of one client."""
    if connection.handle is not None:
        return connection.handle
    sent = getattr(request, "request", None)
    headers, client = getattr(sent, "headers", {}), getattr(sent, "client", None)
    return (headers.get("authorization"), client.host if client is not None else None, connection.client)


class Offered:
    """Something that the protocol lists and serves: tools, resources, prompts."""

    def __init__(
        self, catalogue: Catalogue, dispatcher: Dispatcher, connections: Connections, workers: Workers
    ) -> None:
        self._catalogue = catalogue
        self._dispatcher = dispatcher
        self._connections = connections
        self._workers = workers
