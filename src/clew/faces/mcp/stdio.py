"""MCP over standard input and output."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from clew.faces.mcp.server import build_server
from clew.logs import configure_logs

if TYPE_CHECKING:
    from contextvars import Context

    from clew.app import Clew

Incoming = SessionMessage | Exception


def run_stdio(clew: Clew) -> None:
    """Serves one client until it closes our input."""
    configure_logs(clew.settings)
    anyio.run(_serve, clew)


async def _serve(clew: Clew) -> None:
    server = build_server(clew)
    async with stdio_server() as (incoming, outgoing):
        answering = AnsweringStream(incoming, outgoing)
        await server.run(answering, outgoing, server.create_initialization_options())


class AnsweringStream:
    """The client's messages; a line that is none gets its JSON-RPC error (the SDK would say nothing)."""

    def __init__(self, incoming: ReadStream[Incoming], outgoing: WriteStream[SessionMessage]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    @property
    def last_context(self) -> Context | None:
        return getattr(self._incoming, "last_context", None)

    async def receive(self) -> Incoming:
        while isinstance(item := await self._incoming.receive(), Exception):
            await self._outgoing.send(SessionMessage(_refusal(item)))
        return item

    def __aiter__(self) -> AnsweringStream:
        return self

    async def __anext__(self) -> Incoming:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._incoming.aclose()

    async def __aenter__(self) -> AnsweringStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _refusal(problem: Exception) -> JSONRPCError:
    if isinstance(problem, ValidationError) and not _is_syntax(problem):
        error = ErrorData(code=INVALID_REQUEST, message="not a JSON-RPC 2.0 message")
    else:
        error = ErrorData(code=PARSE_ERROR, message="not JSON; send one message to a line")
    return JSONRPCError(jsonrpc="2.0", id=None, error=error)


def _is_syntax(problem: ValidationError) -> bool:
    errors: list[Any] = problem.errors(include_url=False, include_input=False, include_context=False)
    return any(error["type"] == "json_invalid" for error in errors)
