"""The HTTP routes of the page: its calls, the optional read API, and the list of all routes for a server to mount.

Calls of the page and of the API run the same operations with the same checks as any other face.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from clew import __version__
from clew.errors import ClewError
from clew.faces.connect.clients import CLIENTS
from clew.faces.connect.servers import Target, this_command
from clew.faces.web.assets import Static, tag
from clew.faces.web.gate import PageGate, refusal
from clew.faces.web.live import Live
from clew.faces.web.socket import Sockets
from clew.faces.web.wire_shapes import ask, page_connection, snapshot
from clew.ids import AGENT
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection

if TYPE_CHECKING:
    from clew.app import Clew

JSON = "application/json"
AUTHOR_HEADER = "x-clew-author"
"""Names the person at the page, who becomes the author of what the call writes."""
ALL, ABANDONED = "all", "abandoned"
"""What clients of the Observatory also ask for as a status. No session is ever given up: any of them can be resumed."""


class Calls:
    def __init__(self, clew: Clew, gate: PageGate) -> None:
        self._clew = clew
        self._gate = gate

    async def call(self, request: Request) -> Response:
        """Take `{name, arguments}` and answer with the envelope of the operation."""
        # The cheap checks come first: nothing of the body is read for a foreign site or without the token.
        if not self._gate.is_ours(request):
            return refusal(403, "this request does not come from the page")
        if not self._gate.is_open(request):
            return refusal(401, "the token is needed")
        try:
            body = orjson.loads(await request.body())
        except orjson.JSONDecodeError:
            return refusal(400, "the body is not JSON")
        if not isinstance(body, dict) or not isinstance(body.get("name"), str):
            return refusal(400, "expected {name, arguments}")
        author = request.headers.get(AUTHOR_HEADER) or None
        if author is not None and AGENT.fullmatch(author) is None:
            return refusal(400, f"{AUTHOR_HEADER}: small letters, digits, dots and hyphens")
        # The page has asked the person about exactly this call. A confirmation needs a name, so that it can be
        # traced later, and a login, because agents know the token too.
        confirmed = body.get("confirmed") is True and author is not None and self._gate.is_person(request)
        connection = page_connection(author, confirmed)
        return await anyio.to_thread.run_sync(self._answer, body["name"], body.get("arguments"), connection)

    def _answer(self, name: str, arguments: Any, connection: Connection) -> Response:
        answer = self._clew.dispatcher.call(name, arguments, connection)
        content = orjson.dumps({**answer.envelope, "lines": answer.lines})
        return Response(content, media_type=JSON, headers={"Cache-Control": "no-store"})

    async def state(self, request: Request) -> Response:
        """What the page needs to start. Without the token it only learns that one is needed."""
        is_open = self._gate.is_open(request)
        settings = self._clew.settings
        known: dict[str, Any] = {"version": __version__, "open": is_open, "token_needed": settings.token is not None}
        if is_open:
            try:
                workspaces = await anyio.to_thread.run_sync(self._workspaces)
            except ClewError as error:  # the page still opens, and each of its calls says what is wrong with the store
                workspaces = [settings.workspace]
                known["problem"] = error.message
            known |= {
                "workspace": settings.workspace,
                "workspaces": workspaces,
                "operations": [entry.name for entry in catalogue().operations],
                "assets": tag(),
                "locked": settings.workspace_lock,
                "home": str(settings.home),
                "project": str(settings.project_root),
                "command": shlex.join(this_command()),
                "connect": _connect_lines(f"{request.base_url}mcp", settings.token_variable),
            }
        return Response(orjson.dumps(known), media_type=JSON, headers={"Cache-Control": "no-store"})

    def _workspaces(self) -> list[str]:
        """The workspaces that calls may name: a lock or an allowlist hides the others."""
        from clew.store.events import positions

        settings = self._clew.settings
        if settings.workspace_lock:
            return [settings.workspace]
        with self._clew.database.read() as tx:
            found = {*positions(tx), settings.workspace}
        allowed = {*settings.workspace_allowlist, settings.workspace}
        return sorted(found & allowed if settings.workspace_allowlist else found)


class Api:
    def __init__(self, clew: Clew, gate: PageGate, sockets: Sockets) -> None:
        self._clew = clew
        self._gate = gate
        self._sockets = sockets

    async def health(self, request: Request) -> Response:
        known: dict[str, Any] = {"status": "ok", "connections": self._sockets.count}
        if self._gate.is_open(request):
            known |= await anyio.to_thread.run_sync(self._active, self._workspace(request))
        return JSONResponse(known, headers=self._gate.cors(request))

    def _active(self, workspace: str) -> dict[str, int]:
        try:
            return {"activeSessions": ask(self._clew, "session_list", workspace, status="active", limit=1)["total"]}
        except ClewError:  # this server is well, whatever its store or the name of a workspace
            return {}

    async def sessions(self, request: Request) -> Response:
        query = request.query_params
        arguments: dict[str, Any] = {
            "limit": _number(query.get("limit"), 50),
            "offset": _number(query.get("offset"), 0),
        }
        wanted = query.get("status") or ALL
        if wanted == ABANDONED:
            return await self._read(request, lambda: {"sessions": [], "count": 0, "total": 0, "hasMore": False})
        if wanted != ALL:
            arguments["status"] = wanted
        return await self._read(request, lambda: ask(self._clew, "session_list", self._workspace(request), **arguments))

    async def session(self, request: Request) -> Response:
        wanted = request.path_params["id"]
        return await self._read(request, lambda: snapshot(self._clew, self._workspace(request), wanted))

    async def operation(self, request: Request) -> Response:
        """Answer `GET /api/operations/show?doc_kind=notes&limit=5`; only operations that read are offered."""
        name = request.path_params["name"]
        entry = catalogue().find(name)
        if entry is None or not entry.read_only:
            return refusal(404, f"no read operation is called {name[:80]}")
        known = entry.input_schema.get("properties", {})
        arguments = {key: _value(text, known.get(key, {})) for key, text in request.query_params.items()}
        return await self._read(request, lambda: self._envelope(entry.name, arguments))

    def _envelope(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._clew.dispatcher.call(name, arguments, page_connection()).envelope

    async def _read(self, request: Request, work: Any) -> Response:
        cors = self._gate.cors(request)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=cors)
        if not self._gate.is_open(request):
            return refusal(401, "the token is needed")
        try:
            result = await anyio.to_thread.run_sync(work)
        except ClewError as error:
            status = 404 if error.code in {"UNKNOWN_ID", "SESSION_NOT_FOUND"} else 400
            return JSONResponse({"error": error.message, "code": error.code}, status, cors)
        return Response(orjson.dumps(result), media_type=JSON, headers={**cors, "Cache-Control": "no-store"})

    def _workspace(self, request: Request) -> str:
        return request.query_params.get("workspace") or self._clew.settings.workspace


def _connect_lines(url: str, token: str) -> list[dict[str, Any]]:
    """Lines that connect each client to this server, at the address by which the browser reached it."""
    target = Target(this_command(), url, token)
    return [
        {"client": client.title, "lines": [client.by_hand(target)]}
        for client in CLIENTS.values()
        if client.by_hand and client.reaches(target)
    ]


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else default


def _value(text: str, schema: dict[str, Any]) -> Any:
    """A query value: unchanged where the schema takes text (a title may be 2024, a branch `true`), else JSON."""
    if any(form.get("type") == "string" for form in (schema, *schema.get("anyOf", ()))):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


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
