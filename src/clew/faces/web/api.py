"""The plain HTTP API: health always; read operations when the setting says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from clew.errors import ClewError
from clew.faces.web.calls import JSON, page_session
from clew.faces.web.gate import Gate, refusal
from clew.faces.web.thoughts import ask, snapshot
from clew.registry.catalogue import catalogue

if TYPE_CHECKING:
    from clew.app import Clew
    from clew.faces.web.socket import Sockets


class Api:
    def __init__(self, clew: Clew, gate: Gate, sockets: Sockets) -> None:
        self._clew = clew
        self._gate = gate
        self._sockets = sockets

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "connections": self._sockets.count}, headers=self._gate.cors(request))

    async def sessions(self, request: Request) -> Response:
        query = request.query_params
        arguments: dict[str, Any] = {
            "limit": _number(query.get("limit"), 50),
            "offset": _number(query.get("offset"), 0),
        }
        if query.get("status"):
            arguments["status"] = query["status"]
        return await self._read(request, lambda: ask(self._clew, "session_list", self._workspace(request), **arguments))

    async def session(self, request: Request) -> Response:
        wanted = request.path_params["id"]
        return await self._read(request, lambda: snapshot(self._clew, self._workspace(request), wanted))

    async def operation(self, request: Request) -> Response:
        """`GET /api/operations/show?doc_kind=notes&limit=5`: text where the schema takes text, else JSON."""
        name = request.path_params["name"]
        entry = catalogue().find(name)
        if entry is None or not entry.read_only:
            return refusal(404, f"no read operation is called {name[:80]}")
        known = entry.input_schema.get("properties", {})
        arguments = {key: _value(text, known.get(key, {})) for key, text in request.query_params.items()}
        return await self._read(request, lambda: self._envelope(entry.name, arguments))

    def _envelope(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._clew.dispatcher.call(name, arguments, page_session()).envelope

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


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else default


def _value(text: str, schema: dict[str, Any]) -> Any:
    """A title may be 2024 and a branch may be called true: what takes text gets it as it stands."""
    if any(form.get("type") == "string" for form in (schema, *schema.get("anyOf", ()))):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
