"""MCP over standard input and output.

The messages of the connection get two things that the SDK leaves out: a line that is no message is answered with its
JSON-RPC error, and requests read before the end of the input are still answered, so that a shell can
pipe them in: `printf ... | clew serve`.
"""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic import ValidationError

from clew.faces.mcp.connections import Origin
from clew.faces.mcp.pipes import Lines, Output, claimed
from clew.faces.mcp.server import build_server
from clew.logs import configure_logs
from clew.registry.arguments import encodable
from clew.shim.framing import Framing
from clew.shim.place import KEPT

if TYPE_CHECKING:
    from contextvars import Context

    from clew.app import Clew


_GRACE = 5.0
# Answered when the listener leaves, not before.
_ENDLESS = frozenset({"subscriptions/listen"})


class Debts:
    """The requests that were read and not answered yet."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._settled = anyio.Event()

    def note(self, message: object) -> None:
        match message:
            case JSONRPCRequest(method=method, id=id) if method not in _ENDLESS:
                self._ids.add(id)
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": int() | str() as id}):
                self._pay(id)
            case JSONRPCResponse(id=id) | JSONRPCError(id=int() | str() as id):
                self._pay(id)

    def _pay(self, id: RequestId) -> None:
        self._ids.discard(id)
        if not self._ids:
            self._settled.set()

    async def settled(self) -> None:
        self._settled = anyio.Event()
        if self._ids:
            with anyio.move_on_after(_GRACE):
                await self._settled.wait()


class Incoming:
    def __init__(self, stream: ReadStream[SessionMessage | Exception], answers: Outgoing, debts: Debts) -> None:
        self._stream = stream
        self._answers = answers
        self._debts = debts

    @property
    def last_context(self) -> Context | None:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            while isinstance(item := await self._stream.receive(), Exception):
                await self._answers.send(SessionMessage(_refusal(item)))
        except anyio.EndOfStream:
            await self._debts.settled()
            raise
        self._debts.note(item.message)
        return item

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Incoming:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Outgoing:
    def __init__(self, stream: WriteStream[SessionMessage], debts: Debts) -> None:
        self._stream = stream
        self._debts = debts

    async def send(self, item: SessionMessage, /) -> None:
        await self._stream.send(item)
        self._debts.note(item.message)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Outgoing:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _refusal(problem: Exception) -> JSONRPCError:
    """What was wrong with a line, with the request's id where it can be made out: its sender waits for it."""
    details: list[Any] = problem.errors(include_url=False) if isinstance(problem, ValidationError) else []
    if any(detail["type"] == "json_invalid" for detail in details):
        error = ErrorData(code=PARSE_ERROR, message="not JSON in UTF-8; send one message to a line")
    else:
        error = ErrorData(code=INVALID_REQUEST, message="not a JSON-RPC 2.0 message")
    return JSONRPCError(jsonrpc="2.0", id=_id_in([detail["input"] for detail in details]), error=error)


def _id_in(inputs: list[Any]) -> RequestId | None:
    for given in inputs:
        message = _loosely_read(given) if isinstance(given, str | bytes) else given
        id = message.get("id") if isinstance(message, dict) else None
        if isinstance(id, int | str) and not isinstance(id, bool) and _sendable(id):
            return id
    return None


def _sendable(id: RequestId) -> bool:
    """Half a surrogate pair was read loosely and cannot be written: trying it would end the connection."""
    return isinstance(id, int) or encodable(id)


def _loosely_read(line: str | bytes) -> Any:
    """Python's own reader takes some lines that the strict one does not, such as half a surrogate pair."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def run_stdio(clew: Clew) -> None:
    """Serves one client until it closes our input."""
    configure_logs(clew.settings)
    anyio.run(_serve, clew)


async def _serve(clew: Clew) -> None:
    with claimed() as (source, sink):
        framing = Framing()
        output = Output(sink, framing)
        # The SDK's loop needs no more of a file than to give lines and to take text.
        await converse(clew, Lines(source, framing), output, _origin())
        output.close()


def _origin() -> Origin | None:
    """A connection that a resident server had before, when the shim has to serve it by itself from now on."""
    kept = os.environ.pop(KEPT, None)
    return Origin(json.loads(kept), lambda _: None) if kept else None


async def converse(clew: Clew, lines: Any, output: Any, origin: Origin | None = None) -> None:
    """Serves the client whose messages `lines` gives, until they end and those that were read are answered."""
    server = build_server(clew, origin=origin)
    async with stdio_server(lines, output) as (incoming, outgoing):
        debts = Debts()
        answers = Outgoing(outgoing, debts)
        await server.run(Incoming(incoming, answers, debts), answers, server.create_initialization_options())
