"""MCP over Streamable HTTP: `/mcp` for both protocol eras, together with the routes of other faces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import uvicorn
from anyio import to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route, request_response
from starlette.types import ASGIApp, Receive, Scope, Send

from clew import __version__
from clew.errors import ClewError
from clew.faces.http import (
    BODY_LIMIT,
    PRINCIPAL,
    CallLimit,
    Challenge,
    Guests,
    HostGate,
    Hosts,
    HttpServer,
    ImpatientProtocol,
    Recognize,
    TokenGate,
    TooManyCalls,
    base_address,
    bind_next,
    check_address,
    most_connections,
    plain_challenge,
    refuse_for_now,
)
from clew.faces.mcp.front_door import PATH, door_of
from clew.faces.mcp.http_sessions import SharedOutSessions
from clew.faces.mcp.operating import operating_routes
from clew.faces.mcp.server import ClewServer, build_server
from clew.faces.mcp.session_book import SessionBook
from clew.faces.web.bearer import AGENT, bearers_of
from clew.logs import configure_logs
from clew.registry.accounts import spans
from clew.registry.credentials import Principal
from clew.store.database import probe

if TYPE_CHECKING:
    from clew.app import Clew

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
    check_address(host, clew.settings.token, clew.settings.jwt_issuer)
    configure_logs(clew.settings)
    send_rest = _export_spans()
    door = door_of(clew.settings)
    hosts = Hosts(host, clew.settings.allowed_hosts)
    server = build_server(clew)
    guests = Guests(clew.settings.observatory_cors)
    routes = [ready_route(clew), *operating_routes(clew), *_older_routes(clew), *door.routes, *extra_routes]
    book = SessionBook(clew) if clew.dispatcher.keeps_store else None
    app = http_app(server, bearers_of(clew), hosts, routes, guests=guests, challenge=door.challenge, book=book)
    listener = bind_next(host, port, tries)
    if on_ready is not None:
        on_ready(base_address(listener))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        # Without a proxy that is trusted by name, anybody could choose the address that he seems to come from.
        proxy_headers=bool(clew.settings.trusted_proxies),
        forwarded_allow_ips=list(clew.settings.trusted_proxies),
        server_header=False,
        timeout_graceful_shutdown=FAREWELL,
        http=ImpatientProtocol,
        limit_concurrency=most_connections(),
        # Small messages, mostly on this machine: packing them costs more than it saves.
        ws_per_message_deflate=False,
    )
    HttpServer(config, server.end_streams, send_rest).run(sockets=[listener])


def _export_spans() -> Callable[[], None]:
    """Send spans where the variables of OpenTelemetry say so; returns what sends the last ones."""
    if "OTEL_EXPORTER_OTLP_ENDPOINT" not in os.environ:
        return lambda: None
    from clew.traces import configured_exporter

    spans.exporter = configured_exporter()
    return spans.exporter.flush if spans.exporter is not None else lambda: None


def _older_routes(clew: Clew) -> list[BaseRoute]:
    if not clew.settings.contract.serves_older_http:
        return []
    # Imported here: no other client asks for it, and the start of every server would pay for loading it.
    from clew.faces.mcp.sse import sse_routes

    return sse_routes(clew)


def http_app(
    server: ClewServer,
    recognize: Recognize | None,
    hosts: Hosts,
    extra_routes: Iterable[BaseRoute] = (),
    *,
    guests: Guests | None = None,
    challenge: Challenge = plain_challenge,
    book: SessionBook | None = None,
    event_store: EventStore | None = None,
    retry_interval: int | None = None,
) -> Starlette:
    manager = SharedOutSessions(
        server,
        event_store,
        retry_interval=retry_interval,
        max_request_body_size=BODY_LIMIT,
        max_sessions=MOST_SESSIONS,
        book=book,
    )
    sessions = OwnedSessions(StreamableHTTPASGIApp(manager))
    routes = [
        Route(PATH, endpoint=TokenGate(sessions, recognize or _everybody, challenge)),
        Route("/health", health),
        *extra_routes,
    ]
    gates = [
        Middleware(HostGate, hosts=hosts, guests=guests or Guests()),
        Middleware(RequestBodyLimitMiddleware, max_body_size=BODY_LIMIT),
        Middleware(CallLimit),
    ]
    refusals = {TooManyCalls: refuse_for_now}
    return Starlette(routes=routes, middleware=gates, exception_handlers=refusals, lifespan=lambda _: manager.run())


async def _everybody(_: HTTPConnection) -> Principal:
    return AGENT


class OwnedSessions:
    """Tells the SDK whose request it is, so that a session opened with a token is used with that token only."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal: Principal | None = scope.get(PRINCIPAL)
        if principal is not None and principal.token:
            access = AccessToken(token=principal.token, client_id=principal.token, scopes=sorted(principal.scopes))
            scope = {**scope, "user": AuthenticatedUser(access)}
        await self._app(scope, receive, send)


def ready_route(clew: Clew) -> Route:
    """Whether the store can be written: it is, so that a file that was taken away or a full disk shows."""

    async def ready(_: Request) -> JSONResponse:
        try:
            await to_thread.run_sync(probe, clew.database)
        except ClewError as problem:
            return JSONResponse({"status": "unavailable", "code": problem.code}, 503)
        return JSONResponse({"status": "ready"})

    return Route("/ready", endpoint=TokenGate(request_response(ready), bearers_of(clew)))


async def health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok", "transport": "streamable-http", "server": "clew", "version": __version__})
