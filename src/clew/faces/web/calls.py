"""The page's own door to the registry: the same operations, the same checks, the same answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import Response

from clew import __version__
from clew.faces.web.gate import Gate, refusal
from clew.registry.catalogue import catalogue
from clew.registry.session import Session

if TYPE_CHECKING:
    from clew.app import Clew

JSON = "application/json"


class Calls:
    def __init__(self, clew: Clew, gate: Gate) -> None:
        self._clew = clew
        self._gate = gate

    async def call(self, request: Request) -> Response:
        """`{name, arguments}` in, the envelope out."""
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
        return await anyio.to_thread.run_sync(self._answer, body["name"], body.get("arguments"))

    def _answer(self, name: str, arguments: Any) -> Response:
        answer = self._clew.dispatcher.call(name, arguments, page_session())
        content = orjson.dumps({**answer.envelope, "lines": answer.lines})
        return Response(content, media_type=JSON, headers={"Cache-Control": "no-store"})

    async def state(self, request: Request) -> Response:
        """What the page must know before it can ask anything."""
        is_open = self._gate.is_open(request)
        settings = self._clew.settings
        known: dict[str, Any] = {"version": __version__, "open": is_open, "token_needed": settings.token is not None}
        if is_open:
            known |= {
                "workspace": settings.workspace,
                "workspaces": await anyio.to_thread.run_sync(self._workspaces),
                "operations": [entry.name for entry in catalogue().operations],
            }
        return Response(orjson.dumps(known), media_type=JSON, headers={"Cache-Control": "no-store"})

    def _workspaces(self) -> list[str]:
        """Those that calls may name: what cannot be looked at is not offered."""
        from clew.store.events import positions

        settings = self._clew.settings
        if settings.workspace_lock:
            return [settings.workspace]
        with self._clew.database.read() as tx:
            found = {*positions(tx), settings.workspace}
        allowed = {*settings.workspace_allowlist, settings.workspace}
        return sorted(found & allowed if settings.workspace_allowlist else found)


def page_session() -> Session:
    """People see everything; nothing is remembered between calls."""
    return Session(toolset="full", durable=False, client="observatory")
