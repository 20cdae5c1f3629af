"""MCP over Streamable HTTP: `/mcp` for both protocol eras, beside the routes of other faces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import uvicorn
from anyio import to_thread
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route, request_response

from clew import __version__
from clew.errors import ClewError
from clew.faces.http import (
    BODY_LIMIT,
    Guests,
    HostGate,
    Hosts,
    HttpServer,
    ImpatientProtocol,
    TokenGate,
    base_address,
    bind_next,
    check_address,
    most_connections,
)
from clew.faces.mcp.server import ClewServer, build_server
from clew.logs import configure_logs
from clew.settings import MIND_MEM
from clew.store.database import probe

if TYPE_CHECKING:
    from clew.app import Clew

PATH = "/mcp"
MOST_SESSIONS = 1_000
"""Connections with a handshake at a time; each keeps some 40 kB for half an hour, and the next is answered with 503."""
FAREWELL = 2
"""Seconds that running requests get when the server is told to stop."""


def run_http(
    clew: Clew,
    host: str,
    port: int,
    extra_routes: Iterable[BaseRoute] = (),
    *,
    tries: int = 1,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serves until the process is told to stop; `on_ready` gets the base address once it is bound.

    With more than one of `tries`, a port that is taken means the next one, and in the end any free one.

    Host, Origin and body size are checked for every route. The token is checked for MCP only: other
    faces hand in their own gate with their routes (`TokenGate` fits an API, not a page for people).
    """
    check_address(host, clew.settings.token)
    configure_logs(clew.settings)
    hosts = Hosts(host, clew.settings.allowed_hosts)
    server = build_server(clew)
    guests = Guests(clew.settings.observatory_cors)
    routes = [ready_route(clew), *_older_routes(clew), *extra_routes]
    app = http_app(server, clew.settings.token, hosts, routes, guests=guests)
    listener = bind_next(host, port, tries)
    if on_ready is not None:
        on_ready(base_address(listener))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=FAREWELL,
        http=ImpatientProtocol,
        limit_concurrency=most_connections(),
        # Small messages, mostly on this machine: packing them costs more than it saves.
        ws_per_message_deflate=False,
    )
    HttpServer(config, server.end_streams).run(sockets=[listener])


def _older_routes(clew: Clew) -> list[BaseRoute]:
    if clew.settings.toolset != MIND_MEM:
        return []
    # Imported here: no other client asks for it, and the start of every server would pay for loading it.
    from clew.faces.mcp.sse import sse_routes

    return sse_routes(clew)


def http_app(
    server: ClewServer,
    token: str | None,
    hosts: Hosts,
    extra_routes: Iterable[BaseRoute] = (),
    *,
    guests: Guests | None = None,
    event_store: EventStore | None = None,
    retry_interval: int | None = None,
) -> Starlette:
    manager = StreamableHTTPSessionManager(
        server,
        event_store,
        retry_interval=retry_interval,
        max_request_body_size=BODY_LIMIT,
        max_sessions=MOST_SESSIONS,
    )
    routes = [
        Route(PATH, endpoint=TokenGate(StreamableHTTPASGIApp(manager), token)),
        Route("/health", health),
        *extra_routes,
    ]
    gates = [
        Middleware(HostGate, hosts=hosts, guests=guests or Guests()),
        Middleware(RequestBodyLimitMiddleware, max_body_size=BODY_LIMIT),
    ]
    return Starlette(routes=routes, middleware=gates, lifespan=lambda _: manager.run())


def ready_route(clew: Clew) -> Route:
    """Whether the store can be written: it is, so that a file that was taken away or a full disk shows."""

    async def ready(_: Request) -> JSONResponse:
        try:
            await to_thread.run_sync(probe, clew.database)
        except ClewError as problem:
            return JSONResponse({"status": "unavailable", "code": problem.code}, 503)
        return JSONResponse({"status": "ready"})

    return Route("/ready", endpoint=TokenGate(request_response(ready), clew.settings.token))


async def health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok", "transport": "streamable-http", "server": "clew", "version": __version__})
