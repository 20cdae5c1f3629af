"""The sessions of MCP over HTTP: how they are shared out, and how they go on in another server.

One caller cannot take them all. Who opens more than a share of them ends the session of its own that was idle for the
longest time. A client whose session ended is answered with 404 and opens another, as the protocol asks; many clients do
not, and lose their tools. So a session that another server over the same store has opened, or one that has ended since,
is taken over: what its client said when it opened it is said again here, and the request is answered.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import orjson
from anyio import sleep_forever
from mcp.server.auth.middleware.bearer_auth import (
    AuthenticatedUser,
    AuthorizationContext,
    authorization_context,
)
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http import EventStore, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from clew.canonical import Json
from clew.errors import ClewError
from clew.faces.http import PRINCIPAL
from clew.faces.mcp.protocol import SESSION_KEPT
from clew.faces.mcp.session_book import SessionBook
from clew.registry.credentials import Principal
from clew.registry.mcp_sessions import McpSession

PARTS = 4
"""A caller gets one part of so many."""
SESSION = "mcp-session-id"
Opener = tuple[str, ...]

MOST_HELLO = 32_768
"""Bytes of an opening request that are kept; what clients say of themselves is a tenth of it."""

_opener: ContextVar[Opener] = ContextVar("clew_session_opener", default=())
_id: ContextVar[str | None] = ContextVar("clew_session_id", default=None)
"""The id of the session that is taken over; None while a new one is opened."""


def opener_of(scope: Scope) -> Opener:
    """Whose session it is: behind a proxy that is not trusted all callers have one address, but tokens of their own."""
    client = scope.get("client")
    return (Headers(scope=scope).get("authorization", ""), client[0] if client else "")


def owner_of(scope: Scope) -> str:
    principal: Principal | None = scope.get(PRINCIPAL)
    return principal.token if principal is not None else ""


class SharedOutSessions(StreamableHTTPSessionManager):
    def __init__(
        self,
        app: Server[Any],
        event_store: EventStore | None,
        *,
        retry_interval: int | None,
        max_request_body_size: int,
        max_sessions: int,
        book: SessionBook | None = None,
    ) -> None:
        super().__init__(
            app,
            event_store,
            retry_interval=retry_interval,
            max_request_body_size=max_request_body_size,
            max_sessions=max_sessions,
        )
        self._share = max(1, max_sessions // PARTS)
        self._openers: dict[str, Opener] = {}
        """Who opened each session, those that were used last at the end."""
        self._book = book
        self._taking = asyncio.Lock()
        self._in_book: set[str] = set()
        """Sessions of this server that the book had: one that is no longer in it was ended."""
        self._ended: list[str] = []
        """Sessions that were ended for want of room and are still in the book."""

    async def _handle_stateful_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = Headers(scope=scope).get(SESSION)
        if session is not None and session in self._openers:
            self._openers[session] = self._openers.pop(session)
        _opener.set(opener_of(scope))
        if session is not None and self._book is not None:
            scope = await self._looked_up(session, scope, self._book)
            if scope["method"] == "DELETE" and SESSION_KEPT in scope:
                await self._book.end(session)  # before the answer, after which no server may know it
        await super()._handle_stateful_request(scope, receive, send)

    async def _looked_up(self, id: str, scope: Scope, book: SessionBook) -> Scope:
        """The request with what the store keeps of its session, which runs in this server afterwards if it may."""
        try:
            found = await book.find(id)
        except ClewError:
            return scope  # without its store a server goes on with the sessions that it has
        if found is None:
            await self._drop(id)
            return scope
        if found.owner != owner_of(scope) or id in self._ended:
            return scope
        async with self._taking:
            if id not in self._server_instances:
                await self._take_over(id, found, scope)
        self._in_book.add(id)

        async def note(kept: Json) -> None:
            told = {name: value for name, value in kept.items() if value is not None and name != "handle"}
            if told != found.kept:
                await book.note(id, told)

        return {**scope, SESSION_KEPT: (found.kept, note)}

    async def _drop(self, id: str) -> None:
        transport = self._server_instances.get(id) if id in self._in_book else None
        self._in_book.discard(id)
        if transport is not None:
            await self._discard_session(id, transport)

    async def _take_over(self, id: str, found: McpSession, scope: Scope) -> None:
        """Let the client's own words open the session here, under its id."""
        user = scope.get("user")
        requestor = authorization_context(user) if isinstance(user, AuthenticatedUser) else None
        _id.set(id)
        try:
            transport = self._admit_session(requestor)
        finally:
            _id.set(None)
        if transport is None:
            return
        hello = {"jsonrpc": "2.0", "id": "again", "method": "initialize", "params": found.hello}
        headers = _headers(scope, None)
        await super()._serve_opening_request(transport, {**scope, "headers": headers}, _saying(hello), _nobody)
        if id in self._server_instances:
            known = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            headers = _headers(scope, id)
            await transport.handle_request({**scope, "method": "POST", "headers": headers}, _saying(known), _nobody)

    async def _serve_opening_request(
        self, http_transport: StreamableHTTPServerTransport, scope: Scope, receive: Receive, send: Send
    ) -> None:
        id, book, heard = http_transport.mcp_session_id or "", self._book, bytearray()
        if book is None:
            await super()._serve_opening_request(http_transport, scope, receive, send)
            return

        async def hear() -> Message:
            message = await receive()
            if message["type"] == "http.request" and len(heard) <= MOST_HELLO:
                heard.extend(message.get("body", b""))
            return message

        async def keep_and_send(message: Message) -> None:
            # Before the answer: the client may send its next request to another server.
            if message["type"] == "http.response.start" and message["status"] < 400:
                await self._keep(book, id, owner_of(scope), bytes(heard))
            await send(message)

        await super()._serve_opening_request(http_transport, scope, hear, keep_and_send)

    async def _keep(self, book: SessionBook, id: str, owner: str, heard: bytes) -> None:
        hello = _hello_in(heard)
        if hello is not None:
            ended, self._ended = self._ended, []
            await book.open(id, owner, hello, ended)
            self._in_book.add(id)

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        opener = _opener.get()
        self._openers = {id: by for id, by in self._openers.items() if id in self._server_instances}
        self._in_book &= self._server_instances.keys()
        own = [id for id, by in self._openers.items() if by == opener]
        if len(own) >= self._share and not self._end_one(own):
            return None
        transport = super()._admit_session(requestor)
        if transport is not None and transport.mcp_session_id is not None:
            id = self._renamed(transport, transport.mcp_session_id)
            self._openers[id] = opener
        return transport

    def _renamed(self, transport: StreamableHTTPServerTransport, made: str) -> str:
        id = _id.get()
        if id is None:
            return made
        transport.mcp_session_id = id
        self._server_instances[id] = self._server_instances.pop(made)
        if made in self._session_owners:
            self._session_owners[id] = self._session_owners.pop(made)
        return id

    def _end_one(self, own: list[str]) -> bool:
        """End the first of these that nothing is under way in, also no open stream."""
        for id in own:
            transport = self._server_instances[id]
            if transport.idle_scope is not None and not transport._requests_in_flight:
                transport.idle_scope.cancel()
                self._server_instances.pop(id)
                self._ended.append(id)
                return True
        return False


def _hello_in(heard: bytes) -> Json | None:
    """What the client said of itself, if this is how a session begins."""
    if len(heard) > MOST_HELLO:
        return None
    try:
        message = orjson.loads(heard)
    except orjson.JSONDecodeError:
        return None
    hello = message.get("params") if isinstance(message, dict) and message.get("method") == "initialize" else None
    return hello if isinstance(hello, dict) else None


def _headers(scope: Scope, session: str | None) -> list[tuple[bytes, bytes]]:
    """Those of a request of ours in the client's name."""
    own = (b"content-type", b"accept", b"content-length", b"last-event-id", SESSION.encode())
    kept = [(name, value) for name, value in scope["headers"] if name not in own]
    kept += [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
    return kept + ([(SESSION.encode(), session.encode())] if session is not None else [])


def _saying(message: Json) -> Receive:
    body = [orjson.dumps(message)]

    async def receive() -> Message:
        if not body:
            await sleep_forever()
        return {"type": "http.request", "body": body.pop(), "more_body": False}

    return receive


async def _nobody(_: Message) -> None:
    """Who hears the answers to what is said in the client's name: the client has heard them before."""
