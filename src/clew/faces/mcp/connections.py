"""Who is calling: one session for each connection with a handshake, one for each stateless request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import CallToolRequestParams, LoggingLevel

from clew.faces.mcp.protocol import Request, client_name, connection_of, is_stateless
from clew.faces.mcp.sampling import can_list_roots, can_sample, handshake_roots, handshake_sampler, stateless_sampler
from clew.registry.session import Session
from clew.settings import Settings

_KEY = "clew"


@dataclass
class Link:
    """What a connection with a handshake keeps between its requests."""

    connection: Connection
    session: Session
    log_level: LoggingLevel | None = None
    watched: dict[str, Callable[[], None]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def deliver(self, event: ServerEvent) -> None:
        """Passes a change notice on; called by the bus, on the event loop."""
        match event:
            case ResourceUpdated(uri) if uri in self.watched:
                notice = self.connection.send_resource_updated(uri)
            case ToolsListChanged():
                notice = self.connection.send_tool_list_changed()
            case PromptsListChanged():
                notice = self.connection.send_prompt_list_changed()
            case ResourcesListChanged():
                notice = self.connection.send_resource_list_changed()
            case _:
                return
        task = asyncio.get_running_loop().create_task(notice)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def release(self) -> None:
        while self.watched:
            self.watched.popitem()[1]()


class Connections:
    def __init__(self, settings: Settings, bus: InMemorySubscriptionBus) -> None:
        self._settings = settings
        self._bus = bus

    @property
    def toolset(self) -> str:
        return self._settings.toolset

    def link(self, request: Request) -> Link:
        connection = connection_of(request)
        link = connection.state.get(_KEY)
        if not isinstance(link, Link):
            link = self._connect(connection)
            connection.state[_KEY] = link
        return link

    def _connect(self, connection: Connection) -> Link:
        link = Link(connection, self._new_session(durable=True))
        link.session.handle = connection.session_id or uuid4().hex  # stdio has no id of its own
        connection.exit_stack.callback(self._bus.subscribe(link.deliver))
        connection.exit_stack.callback(link.release)
        return link

    def session(self, request: Request, params: CallToolRequestParams | None = None) -> Session:
        if is_stateless(request):
            return self._stateless_session(request, params)
        session = self.link(request).session
        if session.client is None:
            session.client = client_name(request)
            session.sampler = handshake_sampler() if can_sample(request) else None
            session.roots = handshake_roots() if can_list_roots(request) else None
        return session

    def _stateless_session(self, request: Request, params: CallToolRequestParams | None) -> Session:
        session = self._new_session(durable=False)
        session.client = client_name(request)
        if params is not None and can_sample(request):
            session.sampler = stateless_sampler(params)
            session.resume = params.request_state
        return session

    def _new_session(self, durable: bool) -> Session:
        return Session(toolset=self._settings.toolset, agent_id=self._settings.agent_id, durable=durable)

    def log_level(self, request: Request) -> LoggingLevel | None:
        return None if is_stateless(request) else self.link(request).log_level
