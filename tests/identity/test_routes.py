"""Every address of a server, asked by principals that are fenced elsewhere: nothing is read or written across.

test_fences.py asks the same of every operation, resource and prompt; here it is what stands before them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from clew.app import Clew, open_clew
from clew.faces.mcp.endpoint import ready_route
from clew.faces.mcp.operating import operating_routes
from clew.faces.mcp.sse import sse_routes
from clew.faces.web.api import web_routes
from clew.registry.catalogue import catalogue
from clew.registry.credentials import Scope
from clew.settings import load_settings
from tests.conftest import Caller
from tests.contract import lived_in
from tests.faces.web.server import Server
from tests.identity.http_client import ACCEPT, Program
from tests.identity.test_fences import CANARY, NAMES, OTHERS, OWN, SCOPES, marked, state
from tests.identity.test_tokens import SHARED, bearer, revoke, token

OPEN = {"/", "/ws", "/observatory", "/static/{path:path}", "/livez", "/readyz", "/api/health", "/health", "/page/login"}
"""Addresses that answer without a credential. What they say must be worth nothing."""
ASKED = {
    *("/mcp", "/page/call", "/page/state", "/page/projects", "/page/logout", "/call", "/ready", "/metrics"),
    *("/api/sessions", "/api/sessions/{id}", "/api/operations/{name}", "/sse", "/messages"),
}
READS: dict[str, dict[str, Any]] = {
    "resume": {},
    "recall": {"query": "salaries"},
    "session_list": {},
    "workspace_list": {},
    "events_list": {},
}
WRITES: dict[str, dict[str, Any]] = {
    "notes_commit": {"content": "planted"},
    "remember": {"kind": "fact", "text": "planted"},
}


@dataclass(frozen=True)
class Place:
    server: Server
    store: Clew
    session: str
    """Of the other workspace."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("routes") / "home"
    flags = {"home": home, "workspace": OWN, "workspace_lock": False, "embedding_model": "none"}
    with closing(open_clew(load_settings(flags, {}, home))) as store:
        call = Caller(store)
        for workspace in (OTHERS, OWN):
            for name, arguments in (("init", {}), *lived_in.HISTORY):
                given = marked(arguments) if workspace == OTHERS else arguments
                assert call.answer(name, **{**given, "workspace": workspace}).ok, name
        session = call("session_list", workspace=OTHERS, limit=1)["sessions"][0]["id"]
        server = Server(
            home,
            CLEW_TOKEN=SHARED,
            CLEW_EMBEDDING_MODEL="none",
            CLEW_WORKSPACE_LOCK="false",
            CLEW_OBSERVATORY_HTTP_API="true",
            CLEW_TOOLSET="mind-mem",  # its contract serves the older transport too
        )
        yield Place(server, store, session)
        server.stop()


def test_every_address_is_known_here(place: Place) -> None:
    """A new one fails this test until it is asked below."""
    store = place.store
    object.__setattr__(store.settings, "observatory_http_api", True)
    routes = [*web_routes(store), *operating_routes(store), *sse_routes(store), ready_route(store)]
    assert {route.path for route in routes} | {"/mcp", "/health"} == OPEN | ASKED  # type: ignore[attr-defined]


def test_without_a_credential_no_address_says_anything(place: Place) -> None:
    with httpx2.Client(base_url=place.server.address, timeout=60, headers={**ACCEPT, "x-clew-page": "1"}) as client:
        for path in sorted(OPEN | ASKED):
            address = path.replace("{id}", place.session).replace("{name}", "resume").replace("{path:path}", "x")
            for method, body in (("GET", None), ("POST", {}), ("DELETE", None)):
                said = client.request(method, address, json=body)
                assert CANARY not in said.text and OTHERS not in said.text, (method, path)
                assert path in OPEN or said.status_code in {307, 401, 405} or said.json().keys() <= QUIET, (
                    method,
                    path,
                )
    with pytest.raises(InvalidStatus):
        connect(place.server.socket_address + "/ws")


QUIET = {"version", "open", "token_needed", "person", "ok"}
"""What the page and whoever signs out learn without a token."""


def ways(place: Place, client: httpx2.Client) -> Iterator[tuple[str, httpx2.Response]]:
    """What a client asks that would like to know what the other workspace holds, or to write there."""
    for path in ("/page/state", "/page/projects", "/metrics", "/ready", "/api/health"):
        for address in (path, f"{path}?workspace={OTHERS}"):
            yield address, client.get(address)
    for workspace in ("", OTHERS):
        query = f"?workspace={workspace}" if workspace else ""
        yield "sessions", client.get(f"/api/sessions{query}")
        yield "session", client.get(f"/api/sessions/{quote(place.session, safe='')}{query}")
        named = {"workspace": workspace} if workspace else {}
        for name, given in {**READS, **WRITES}.items():
            arguments = {**given, **named}
            for call in (
                {"name": name, "arguments": arguments},
                {"name": "op_call", "arguments": {"name": name, "arguments": arguments}},
            ):
                yield f"page {name}", client.post("/page/call", json=call)
                yield f"call {name}", client.post("/call", json=remote("call", **call, **named))
            yield f"api {name}", client.get(f"/api/operations/{name}", params={k: str(v) for k, v in arguments.items()})
        for entry in catalogue().resources:
            uri = entry.uri.replace("{sessionId}", place.session)
            yield f"resource {uri}", client.post("/call", json=remote("resource", name=uri, **named))
        for prompt in catalogue().prompts:
            given = {argument["name"]: place.session for argument in prompt.arguments}
            yield (
                f"prompt {prompt.name}",
                client.post("/call", json=remote("prompt", name=prompt.name, arguments=given, **named)),
            )
        completed = {"kind": "prompt", "argument": "sessionId", "value": ""}
        for prompt in catalogue().prompts:
            yield (
                "complete",
                client.post("/call", json=remote("complete", name=prompt.name, arguments=completed, **named)),
            )


def remote(kind: str, **given: Any) -> dict[str, Any]:
    """As another Clew sends it that keeps no store, and that lies about where it is and who asks."""
    place = {"root": "/work/web", "workspaces": [OTHERS]}
    return {"kind": kind, "place": place, "witness": "prove", "agent_id": "@ines", "client": "observatory", **given}


@pytest.mark.parametrize(("name", "scopes"), list(itertools.product(NAMES, SCOPES)))
def test_no_address_reads_or_writes_across(place: Place, name: str, scopes: tuple[Scope, ...]) -> None:
    before = state(place.store, OTHERS)
    secret = token(place.store, name, *sorted(scopes), workspaces=(OWN,))
    headers = {**bearer(secret), "x-clew-page": "1"}
    answered = 0
    with httpx2.Client(base_url=place.server.address, timeout=60, headers=headers) as client:
        for way, said in ways(place, client):
            assert CANARY not in said.text, (way, said.text[:2000])
            answered += said.status_code == 200
    program = Program(place.server.address, **bearer(secret))
    for asked, given in {**READS, **WRITES}.items():
        for arguments in (given, {**given, "workspace": OTHERS}):
            call = {"name": "op_call", "arguments": {"name": asked, "arguments": arguments}}
            said = program.post({"id": 4, "method": "tools/call", "params": call})
            assert CANARY not in said.text and said.status_code == 200, asked
    for entry in catalogue().resources:
        uri = entry.uri.replace("{sessionId}", place.session)
        said = program.post({"id": 5, "method": "resources/read", "params": {"uri": uri}})
        assert CANARY not in said.text, uri
    assert answered > 50
    assert state(place.store, OTHERS) == before


def watching(place: Place, secret: str) -> ClientConnection:
    return connect(place.server.socket_address + "/ws", additional_headers=bearer(secret))


def heard(socket: ClientConnection) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(socket.recv(timeout=60))
    return message


@pytest.mark.parametrize(("name", "scopes"), list(itertools.product(NAMES, SCOPES)))
def test_no_socket_hears_across(place: Place, name: str, scopes: frozenset[Scope]) -> None:
    call = Caller(place.store)
    with watching(place, token(place.store, name, *sorted(scopes), workspaces=(OWN,))) as socket:
        for channel, outline in itertools.product(("reasoning", "sessions", "events"), (False, True)):
            for aimed in ({"workspace": OTHERS}, {"workspace": OTHERS, "sessionId": place.session}):
                ask(socket, action="subscribe", channel=channel, outline=outline, **aimed)
            ask(socket, action="subscribe", channel=channel, outline=outline, sessionId=place.session)
        ask(socket, action="subscribe", channel="events")
        told = heard_until(socket, "pong")
        call("notes_commit", content=f"for nobody else: {CANARY}", workspace=OTHERS)
        call("notes_commit", content="the end", workspace=OWN)
        told += heard_until(socket, "note_committed" if "read" in scopes else "pong")
    assert CANARY not in str(told)
    assert not [message for message in told if message.get("data", {}).get("workspace") == OTHERS]


def ask(socket: ClientConnection, **message: Any) -> None:
    socket.send(json.dumps(message))


def heard_until(socket: ClientConnection, last: str) -> list[dict[str, Any]]:
    """What it hears up to an event, or, after a question of its own, up to the `pong`."""
    if last == "pong":
        ask(socket, action="ping")
    told = [heard(socket)]
    while last not in (told[-1].get("event"), told[-1].get("action")):
        told.append(heard(socket))
    return told


def test_a_socket_ends_with_the_token_that_opened_it(place: Place) -> None:
    call = Caller(place.store)
    with watching(place, token(place.store, "leaver", "read", workspaces=(OWN,))) as socket:
        ask(socket, action="subscribe", channel="events")
        assert heard(socket)["event"] == "subscribed"
        revoke(place.store, "leaver")
        with pytest.raises(ConnectionClosed):
            for number in itertools.count():
                call("notes_commit", content=f"note {number}", workspace=OWN)
                heard(socket)


def test_the_older_transport_keeps_to_the_token_of_each_message(place: Place) -> None:
    secret = token(place.store, "older", "read", workspaces=(OWN,))
    with httpx2.Client(base_url=place.server.address, timeout=60, headers=bearer(secret)) as client:
        assert client.get("/sse", headers=bearer("wrong")).status_code == 401
        with client.stream("GET", "/sse") as stream:
            lines = stream.iter_lines()
            address = next(line for line in lines if line.startswith("data:")).removeprefix("data:").strip()
            for number, message in enumerate(spoken(place)):
                assert client.post(address, json={"jsonrpc": "2.0", **message}).status_code == 202, number
            answers = (json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:"))
            told = list(itertools.islice(answers, 1 + 2 * len(READS)))
    assert CANARY not in str(told)
    assert str(told).count("WORKSPACE_NOT_ALLOWED") >= len(READS)


def spoken(place: Place) -> Iterator[dict[str, Any]]:
    from tests.identity.http_client import HELLO

    yield {"id": 1, "method": "initialize", "params": HELLO}
    yield {"method": "notifications/initialized"}
    for number, (name, given) in enumerate(READS.items()):
        for offset, arguments in enumerate((given, {**given, "workspace": OTHERS})):
            call = {"name": "op_call", "arguments": {"name": name, "arguments": {**arguments, "fmt": "json"}}}
            yield {"id": 10 + 2 * number + offset, "method": "tools/call", "params": call}


def test_the_canary_is_there_to_be_found(place: Place) -> None:
    """Whoever may see it does, at most of the addresses: otherwise the tests above prove nothing."""
    headers = {**bearer(token(place.store, "boss", "read", workspaces=(OTHERS,))), "x-clew-page": "1"}
    with httpx2.Client(base_url=place.server.address, timeout=60, headers=headers) as client:
        seen = {way.partition(" ")[0] for way, said in ways(place, client) if CANARY in said.text}
    assert seen == {"session", "page", "call", "api", "resource", "prompt"}
