"""`POST /call`: requests of another Clew without a store (`CLEW_SERVER`), with its token.

One body is one call: the operation, resource or prompt, the caller, and the path of the project on that machine. The
response contains every format that an interface there may need. A caller with a token can report anything, proofs
included, like a user of this machine; a decision requires a person's own token with the scope `approve`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, request_response

from clew import __version__
from clew.canonical import sha256_hex
from clew.errors import ClewError
from clew.faces.http import PRINCIPAL, TokenGate
from clew.faces.web.bearer import bearers_of
from clew.ids import check_workspace
from clew.registry.accounts import came_with
from clew.registry.catalogue import catalogue
from clew.registry.connection import CallerPlace, Connection
from clew.registry.credentials import Principal
from clew.registry.people import RULE
from clew.registry.workers import Workers
from clew.setting_readers import TOOLSET_WORDS

if TYPE_CHECKING:
    from clew.app import Clew

PATH = "/call"
Short = Annotated[str, Field(max_length=500)]
Path = Annotated[str, Field(max_length=4096)]


class Place(BaseModel):
    root: Path
    workspaces: Annotated[list[Short], Field(max_length=100)] = []
    written: dict[str, list[Path]] | None = None


class RemoteCall(BaseModel):
    kind: Literal["call", "resource", "prompt", "complete"] = "call"
    name: Annotated[str, Field(max_length=10_000)]
    """The name of an operation or a prompt; the URI of a resource."""
    arguments: Any = None
    workspace: Short = ""
    toolset: str = "agent"
    client: Short | None = None
    agent_id: Short | None = None
    handle: Short | None = None
    number: int | None = None
    witness: Literal["hook", "prove"] | None = None
    is_person: bool = False
    place: Place
    left_ms: Annotated[int, Field(ge=0, le=600_000)] | None = None
    """Timeout in milliseconds; not a time of day, because the two clocks may differ."""

    def connection(self, principal: Principal) -> Connection:
        return Connection(
            toolset=self.toolset if self.toolset in TOOLSET_WORDS.values() else "agent",
            workspace_override=check_workspace(self.workspace) if self.workspace else None,
            agent_id=self.agent_id,
            handle=_own_handle(principal, self.handle),
            client=self.client,
            number=self.number,
            durable=self.handle is not None,
            place=CallerPlace(self.place.root, tuple(self.place.workspaces), self.place.written),
            principal=principal,
            person=self._person(principal),
            witness=self.witness,
        )

    def _person(self, principal: Principal) -> str:
        if not self.is_person:
            return ""
        if principal.decides:
            return principal.decides
        raise ClewError(
            "NOT_ALLOWED",
            "this token is not a person's with the scope approve",
            "Set CLEW_PERSON_TOKEN to one: clew token create NAME --person --scope approve, on the server.",
            details={"rule": RULE},
        )


def _own_handle(principal: Principal, handle: str | None) -> str | None:
    """The caller's name for its connection; with another token it is another connection."""
    return sha256_hex(f"{principal.token}\0{principal.name}\0{handle}".encode(), 32) if handle is not None else None


class RemoteCalls:
    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self._workers = Workers()

    async def answer(self, request: Request) -> Response:
        try:
            asked = RemoteCall.model_validate_json(await request.body())
        except ValidationError as problem:
            return JSONResponse({"error": f"no call of Clew {__version__}: {problem.errors()[0]['msg']}"}, 400)
        principal: Principal = request.scope[PRINCIPAL]
        came_with(request.headers.get("x-request-id", "")[:128], request.headers.get("traceparent"))
        entry = catalogue().find(asked.name) if asked.kind == "call" else None
        work = partial(self._work, asked, principal)
        answer = await self._workers.run(work, caller=principal, operation=entry.name if entry else "")
        return Response(orjson.dumps(answer), media_type="application/json", headers={"Cache-Control": "no-store"})

    def _work(self, asked: RemoteCall, principal: Principal) -> dict[str, Any]:
        try:
            connection = asked.connection(principal)
            return self._reply(asked, connection)
        except ClewError as problem:
            return {"error": problem.to_dict()}

    def _reply(self, asked: RemoteCall, connection: Connection) -> dict[str, Any]:
        dispatcher, given = self._clew.dispatcher, asked.arguments
        if asked.kind == "resource":
            return {"resource": dispatcher.read_resource(asked.name, connection)._asdict()}
        if asked.kind == "prompt":
            return {"prompt": dispatcher.get_prompt(asked.name, given or {}, connection)._asdict()}
        if asked.kind == "complete":
            words = (str(given[name]) for name in ("kind", "argument", "value"))
            kind, argument, value = words
            return {"values": dispatcher.complete(kind, asked.name, argument, value, connection)}
        if asked.left_ms is not None and isinstance(given, dict):
            given = {**given, "until_ms": dispatcher.clock() + asked.left_ms}
        answer = dispatcher.call(asked.name, given, connection)
        return {
            "ok": answer.ok,
            "envelope": answer.envelope,
            "text": answer.text,
            "structured": True if answer.structured is answer.envelope else answer.structured,
            "lines": answer.lines,
            "resources": answer.resources,
            "written": answer.written,
            "number": connection.number,
            "workspace": connection.workspace_override,
            "returned": connection.returned,
        }


def remote_route(clew: Clew) -> Route:
    answer = RemoteCalls(clew).answer
    return Route(PATH, endpoint=TokenGate(request_response(answer), bearers_of(clew)), methods=["POST"])
