"""MCP over the older transport of two addresses, one to listen and one to send: clients of Mind-Mem know no other.

Streamable HTTP has taken its place; the SDK still speaks it. Host, Origin, size and token are checked as for `/mcp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.sse import SseServerTransport
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from clew.faces.http import BODY_LIMIT, TokenGate, refuse
from clew.faces.mcp.server import build_server
from clew.faces.web.bearer import bearers_of

if TYPE_CHECKING:
    from clew.app import Clew

LISTEN, SEND = "/sse", "/messages/"
MOST_STREAMS = 200
"""Clients at a time; each has its own connection and server, and the next one is answered with 503."""


def sse_routes(clew: Clew) -> list[BaseRoute]:
    streams = EventStreams(clew)
    bearers = bearers_of(clew)
    return [
        Route(LISTEN, endpoint=TokenGate(streams.listen, bearers), methods=["GET"]),
        Mount(SEND, app=TokenGate(streams.transport.handle_post_message, bearers)),
    ]


class EventStreams:
    def __init__(self, clew: Clew) -> None:
        self._clew = clew
        self._open = 0
        self.transport = SseServerTransport(SEND, max_request_body_size=BODY_LIMIT)

    async def listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one client until it leaves."""
        if self._open >= MOST_STREAMS:
            return await refuse(scope, receive, send, 503, "too many clients listen already")
        self._open += 1
        try:
            async with self.transport.connect_sse(scope, receive, send) as (arriving, leaving):
                # One server for each, as on standard input: the end of a run closes its resources.
                server = build_server(self._clew)
                await server.run(arriving, leaving, server.create_initialization_options())
        finally:
            self._open -= 1
