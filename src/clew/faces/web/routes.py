"""Everything the page needs, as routes that any HTTP server of ours can take along."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from clew.canonical import digest
from clew.faces.web.api import Api, Calls
from clew.faces.web.gate import Gate
from clew.faces.web.live import Live
from clew.faces.web.socket import Sockets

if TYPE_CHECKING:
    from clew.app import Clew


FOLDER = Path(__file__).with_name("static")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}


@cache
def stored_files() -> dict[str, tuple[bytes, str, str]]:
    """Path -> bytes, type, digest. Only what lies here can be asked for, so no path can lead elsewhere."""
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in TYPES:
            data = path.read_bytes()
            tag = f'"{digest(data)}"'
            found[path.relative_to(FOLDER).as_posix()] = (data, TYPES[path.suffix], tag)
    return found


class Static:
    async def page(self, request: Request) -> Response:
        return _file_response(request, "index.html")

    async def file(self, request: Request) -> Response:
        return _file_response(request, request.path_params["path"])


def _file_response(request: Request, name: str) -> Response:
    if name not in stored_files():
        return Response("no such file", 404, HEADERS, "text/plain")
    data, kind, tag = stored_files()[name]
    headers = {**HEADERS, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, 200, headers, kind)


def web_routes(clew: Clew) -> list[BaseRoute]:
    """The page at `/`, its calls, the socket at `/` and `/ws`, and the read API when it is switched on."""
    gate = Gate(clew.settings)
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
