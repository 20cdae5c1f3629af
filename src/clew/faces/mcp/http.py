"""MCP over Streamable HTTP: `/mcp` for both protocol eras, beside the routes of other faces."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from clew import __version__
from clew.errors import ClewError
from clew.faces.mcp.security import BODY_LIMIT, Guests, HostGate, Hosts, TokenGate, check_address
from clew.faces.mcp.server import ClewServer, build_server
from clew.logs import configure_logs

if TYPE_CHECKING:
    from clew.app import Clew

PATH = "/mcp"
BACKLOG = 2048
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

    Host, Origin and body size are checked for every route. The token is checked for `/mcp` only: other
    faces hand in their own gate with their routes (`TokenGate` fits an API, not a page for people).
    """
    check_address(host, clew.settings.token)
    configure_logs(clew.settings)
    hosts = Hosts(host, clew.settings.allowed_hosts)
    server = build_server(clew)
    guests = Guests(clew.settings.observatory_cors)
    app = http_app(server, clew.settings.token, hosts, extra_routes, guests=guests)
    listener = bind_next(host, port, tries)
    if on_ready is not None:
        on_ready(base_address(listener))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=FAREWELL,
        # Small messages, mostly on this machine: packing them costs more than it saves.
        ws_per_message_deflate=False,
    )
    HttpServer(config, server.end_streams).run(sockets=[listener])


class HttpServer(uvicorn.Server):
    """Uvicorn, told to end the streams of notices before it waits for open requests."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)


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
        server, event_store, retry_interval=retry_interval, max_request_body_size=BODY_LIMIT
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


async def health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok", "transport": "streamable-http", "server": "clew", "version": __version__})


def bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's algorithm off only on sockets that name it; with it, every
    # answer that is sent in two parts waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        # From here on callers queue: whoever is told the address may use it at once.
        listener.listen(BACKLOG)
    except OSError as problem:
        listener.close()
        raise ClewError(
            "UNAVAILABLE",
            f"cannot listen on {host}:{port}: {problem.strerror or problem}",
            "Choose another port with --port or CLEW_PORT, or stop what uses this one.",
        ) from problem
    return listener


def bind_next(host: str, port: int, tries: int) -> socket.socket:
    """The port itself or a later one; when all of them are taken, whichever the system gives."""
    for candidate in range(port, min(port + tries, 65_536)):
        try:
            return bind(host, candidate)
        except ClewError:
            if tries == 1:
                raise
    return bind(host, 0)


def base_address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
