"""Everything the page needs, as routes that any HTTP server of ours can take along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route, WebSocketRoute

from clew.faces.web.api import Api, Calls
from clew.faces.web.assets import Static
from clew.faces.web.gate import PageGate
from clew.faces.web.live import Live
from clew.faces.web.socket import Sockets

if TYPE_CHECKING:
    from clew.app import Clew


def web_routes(clew: Clew) -> list[BaseRoute]:
    """The page at `/`, its calls, the socket at `/` and `/ws`, and the read API when it is switched on."""
    gate = PageGate(clew.settings)
    live = Live(clew)
    sockets = Sockets(clew, gate, live)
    calls = Calls(clew, gate)
    api = Api(clew, gate, sockets)
    static = Static()
    routes: list[BaseRoute] = [
        WebSocketRoute("/", sockets.serve),
        WebSocketRoute("/ws", sockets.serve),
        Route("/page/login", gate.login, methods=["POST"]),
        Route("/page/logout", gate.logout, methods=["POST"]),
        Route("/page/state", calls.state, methods=["GET"]),
        Route("/page/call", calls.call, methods=["POST"]),
        Route("/api/health", api.health, methods=["GET"]),
    ]
    if clew.settings.observatory_http_api:
        routes += [
            Route("/api/sessions", api.sessions, methods=["GET", "OPTIONS"]),
            Route("/api/sessions/{id}", api.session, methods=["GET", "OPTIONS"]),
            Route("/api/operations/{name}", api.operation, methods=["GET", "OPTIONS"]),
        ]
    return [
        *routes,
        Route("/observatory", static.page),
        Route("/", static.page),
        Route("/static/{path:path}", static.file),
    ]
