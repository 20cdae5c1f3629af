"""The HTTP routes of the page: its calls, the optional read API, and the list of all routes for a server to mount.

Calls of the page and of the API run the same operations with the same checks as the other interfaces.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

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
from clew.faces.web.remote_calls import remote_route
from clew.faces.web.socket import Sockets
from clew.faces.web.wire_shapes import ask, page_connection, readable, snapshot
from clew.kinds import statuses
from clew.registry.accounts import came_with
from clew.registry.callers import ConnectedClients, client_families
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection
from clew.registry.credentials import Principal
from clew.registry.workers import Workers

if TYPE_CHECKING:
    from clew.app import Clew

JSON = "application/json"
MOST_PROJECTS = 100
AT_WORK_MS = 10 * 60_000
"""An agent that wrote within this time counts as active."""
ALL, ABANDONED = "all", "abandoned"
"""Statuses that clients of the Observatory also request. No session is ever abandoned: any of them can be resumed."""


class Calls:
    def __init__(self, clew: Clew, gate: PageGate) -> None:
        self._clew = clew
        self._gate = gate
        self._workers = Workers()

    async def call(self, request: Request) -> Response:
        """Accept `{name, arguments}` and return the response envelope of the operation."""
        # The cheap checks come first: the body is not read for a foreign site or without the token.
        if not self._gate.is_ours(request):
            return refusal(403, "this request does not come from the page")
        principal = await self._gate.principal(request)
        if principal is None:
            return refusal(401, "the token is needed")
        try:
            body = orjson.loads(await request.body())
        except orjson.JSONDecodeError:
            return refusal(400, "the body is not JSON")
        if not isinstance(body, dict) or not isinstance(body.get("name"), str):
            return refusal(400, "expected {name, arguments}")
        work = partial(self._answer, body["name"], body.get("arguments"), page_connection(principal))
        entry = catalogue().find(body["name"])
        came_with(request.headers.get("x-request-id", "")[:128], request.headers.get("traceparent"))
        return await self._workers.run(work, caller=principal, operation=entry.name if entry else "")

    def _answer(self, name: str, arguments: Any, connection: Connection) -> Response:
        answer = self._clew.dispatcher.call(name, arguments, connection)
        # The page uses `written` to undo exactly this call, whatever was written since.
        content = orjson.dumps({**answer.envelope, "lines": answer.lines, "written": answer.written})
        return Response(content, media_type=JSON, headers={"Cache-Control": "no-store"})

    async def state(self, request: Request) -> Response:
        """The state that the page needs to start. Without the token it is only that one is required."""
        principal = await self._gate.principal(request)
        settings = self._clew.settings
        known: dict[str, Any] = {
            "version": __version__,
            "open": principal is not None,
            "token_needed": settings.token is not None or settings.jwt_issuer is not None,
            "person": (principal.decides if principal is not None else "") or None,
        }
        if principal is not None:
            try:
                workspaces = await anyio.to_thread.run_sync(self._workspaces, principal)
                clients = await anyio.to_thread.run_sync(self._clients)
            except ClewError as error:  # the page still opens, and each of its calls reports the error of the store
                workspaces, clients = [settings.workspace], []
                known["problem"] = error.message
            known |= {
                "workspace": settings.workspace if settings.workspace in workspaces else workspaces[0],
                "workspaces": workspaces,
                "operations": [entry.name for entry in catalogue().operations],
                "assets": tag(),
                "locked": settings.workspace_lock,
                "home": str(settings.home),
                "project": str(settings.project_root),
                "command": shlex.join(this_command()),
                "clients": clients,
                "connect": _connect_lines(f"{request.base_url}mcp", settings.token_variable),
            }
        return Response(orjson.dumps(known), media_type=JSON, headers={"Cache-Control": "no-store"})

    async def projects(self, request: Request) -> Response:
        """Every workspace that the caller may read, each with its pending items and figures."""
        principal = await self._gate.principal(request)
        if principal is None:
            return refusal(401, "the token is needed")
        rows = await self._workers.run(partial(self._projects, principal), caller=principal, operation="projects")
        return JSONResponse({"projects": rows}, headers={"Cache-Control": "no-store"})

    def _projects(self, principal: Principal) -> list[dict[str, Any]]:
        connection = page_connection(principal)
        rows = [self._project(connection, name) for name in self._workspaces(principal)[:MOST_PROJECTS]]
        return sorted(rows, key=lambda row: (-row["inbox"], -(row["last_ms"] or 0), row["workspace"]))

    def _project(self, connection: Connection, workspace: str) -> dict[str, Any]:
        def asked(name: str, **arguments: Any) -> dict[str, Any]:
            answer = self._clew.dispatcher.call(name, {"workspace": workspace, **arguments}, connection)
            return answer.envelope["result"] if answer.ok else {}

        inbox = asked("inbox_list", limit=1)
        agents = asked("agents_active", limit=20).get("agents", [])
        proofs = asked("insight", days=1).get("proofs", {})
        moments = [agent["last"]["ts_ms"] for agent in agents]
        now = self._clew.dispatcher.clock()
        busy = [agent["agent"] for agent in agents if agent["agent"] and now - agent["last"]["ts_ms"] < AT_WORK_MS]
        return {
            "workspace": workspace,
            "inbox": sum(inbox.get("counts", {}).values()),
            "agents": busy,
            "last_ms": max(moments, default=None),
            "closed": proofs.get("done", 0),
            "proven": proofs.get("proven", 0),
        }

    def _workspaces(self, principal: Principal) -> list[str]:
        """The workspaces that this caller may access: a lock, an allowlist or a token hides the others."""
        from clew.store.events import positions

        settings = self._clew.dispatcher.settings_for(page_connection(principal))
        if settings.workspace_lock:
            return [settings.workspace]
        with self._clew.database.read() as tx:
            found = {*positions(tx), settings.workspace}
        allowed = {*settings.workspace_allowlist, settings.workspace}
        return sorted(found & allowed if settings.workspace_allowlist else found)

    def _clients(self) -> list[str]:
        """The clients that wrote here or are connected: the page names an agent by its client, not its connection."""
        connected = self._clew.database.resources.of(ConnectedClients).names
        with self._clew.database.read() as tx:
            return sorted({*client_families(tx), *connected})


class ApiCaller(NamedTuple):
    """The caller of the read API, and the workspace."""

    principal: Principal
    workspace: str


class Api:
    def __init__(self, clew: Clew, gate: PageGate, sockets: Sockets) -> None:
        self._clew = clew
        self._gate = gate
        self._sockets = sockets

    async def health(self, request: Request) -> Response:
        known: dict[str, Any] = {"status": "ok", "connections": self._sockets.count}
        principal = await self._gate.principal(request)
        if principal is not None:
            known |= await anyio.to_thread.run_sync(self._active, principal, request.query_params.get("workspace"))
        return JSONResponse(known, headers=self._gate.cors(request))

    def _active(self, principal: Principal, wanted: str | None) -> dict[str, int]:
        try:
            workspace = readable(self._clew, principal, wanted)
            active = ask(self._clew, "session_list", workspace, status=statuses.ACTIVE, limit=1)
            return {"activeSessions": active["total"]}
        except ClewError:  # this server is healthy, whatever its store or the name of a workspace
            return {}

    async def sessions(self, request: Request) -> Response:
        query = request.query_params
        arguments: dict[str, Any] = {
            "limit": _number(query.get("limit"), 50),
            "offset": _number(query.get("offset"), 0),
        }
        wanted = query.get("status") or ALL
        if wanted == ABANDONED:
            return await self._read(request, lambda _: {"sessions": [], "count": 0, "total": 0, "hasMore": False})
        if wanted != ALL:
            arguments["status"] = wanted
        return await self._read(request, lambda who: ask(self._clew, "session_list", who.workspace, **arguments))

    async def session(self, request: Request) -> Response:
        wanted = request.path_params["id"]
        return await self._read(request, lambda who: snapshot(self._clew, who.workspace, wanted))

    async def operation(self, request: Request) -> Response:
        """Handle `GET /api/operations/show?doc_kind=notes&limit=5`; only read operations are available."""
        name = request.path_params["name"]
        entry = catalogue().find(name)
        if entry is None or not entry.read_only:
            return refusal(404, f"no read operation is called {name[:80]}")
        known = entry.input_schema.get("properties", {})
        arguments = {key: _value(text, known.get(key, {})) for key, text in request.query_params.items()}
        return await self._read(request, lambda who: self._envelope(entry.name, arguments, who))

    def _envelope(self, name: str, arguments: dict[str, Any], who: ApiCaller) -> dict[str, Any]:
        return self._clew.dispatcher.call(name, arguments, page_connection(who.principal)).envelope

    async def _read(self, request: Request, work: Callable[[ApiCaller], Any]) -> Response:
        cors = self._gate.cors(request)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=cors)
        principal = await self._gate.principal(request)
        if principal is None:
            return refusal(401, "the token is needed")
        wanted = request.query_params.get("workspace")
        try:
            caller = ApiCaller(principal, readable(self._clew, principal, wanted))
            result = await anyio.to_thread.run_sync(work, caller)
        except ClewError as error:
            status = 404 if error.code in {"UNKNOWN_ID", "SESSION_NOT_FOUND"} else 400
            return JSONResponse({"error": error.message, "code": error.code}, status, cors)
        return Response(orjson.dumps(result), media_type=JSON, headers={**cors, "Cache-Control": "no-store"})


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
    """A query value: unchanged if the schema expects text (a title may be 2024, a branch `true`), else JSON."""
    if any(form.get("type") == "string" for form in (schema, *schema.get("anyOf", ()))):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def web_routes(clew: Clew) -> list[BaseRoute]:
    """The page at `/`, its calls, the socket at `/` and `/ws`, and the read API if it is enabled."""
    gate = PageGate(clew)
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
        Route("/page/projects", calls.projects, methods=["GET"]),
        Route("/api/health", api.health, methods=["GET"]),
        remote_route(clew),
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
