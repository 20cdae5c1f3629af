"""MCP over standard input and output.

Lines are read and written here, and the SDK is given messages. They get two things that its own transport leaves out:
a line that is no message is answered with its JSON-RPC error, and requests read before the end of the input are still
answered, so that a shell can pipe them in: `printf ... | clew serve`.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import select
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import orjson
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from clew.faces.mcp.connections import Origin
from clew.faces.mcp.server import build_server
from clew.logs import configure_logs
from clew.registry.arguments import encodable
from clew.shim.framing import Framing, messages
from clew.shim.place import KEPT

if TYPE_CHECKING:
    from clew.app import Clew


class MessageOutput(Protocol):
    """Where messages go: `write` takes one at once and never blocks, `flush` waits while too many are on their way."""

    def write(self, message: bytes) -> None: ...

    async def flush(self) -> None: ...


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
        # The event is set even without a waiter; `settled` creates a new one before it looks.
        if not self._ids:
            self._settled.set()

    async def settled(self) -> None:
        self._settled = anyio.Event()
        if self._ids:
            # The input has ended, so no message will cancel a call that hangs; after the grace the process ends all the
            # same.
            with anyio.move_on_after(_GRACE):
                await self._settled.wait()


class Incoming:
    """The messages of the client, as the SDK reads them. Nothing buffers between them and the lines.

    The SDK's own transport reads in a task, and hands each message over through a stream that wakes another one; a
    small call would pay a third of its time for that.
    """

    def __init__(self, lines: AsyncIterator[bytes], answers: Outgoing, debts: Debts) -> None:
        self._lines = lines
        self._answers = answers
        self._debts = debts
        self._over = False

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        if self._over:
            # The SDK asks once more after the end where nothing came before it, and lines end only once.
            raise StopAsyncIteration
        async for line in self._lines:
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except Exception as problem:  # whatever it is, it costs this line and not the connection
                await self._answers.send(SessionMessage(_refusal(problem)))
                continue
            self._debts.note(message)
            return SessionMessage(message)
        self._over = True
        await self._debts.settled()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing to close: who made the lines ends them."""

    async def __aenter__(self) -> Incoming:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Outgoing:
    """The messages to the client, written where they are sent, in the order in which they are sent."""

    def __init__(self, output: MessageOutput, debts: Debts) -> None:
        self._output = output
        self._debts = debts
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        if self._closed:
            raise anyio.ClosedResourceError
        self._output.write(written(item.message))
        self._debts.note(item.message)
        await self._output.flush()

    async def aclose(self) -> None:
        self._closed = True

    async def __aenter__(self) -> Outgoing:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def written(message: JSONRPCMessage) -> bytes:
    """A message as one line, to the byte what the SDK's own transport writes; large ones take a third of its time."""
    if isinstance(message, JSONRPCResponse):
        answer = {"jsonrpc": message.jsonrpc, "id": message.id, "result": message.result}
        with suppress(orjson.JSONEncodeError):  # a number of more than 64 bits, or what is no JSON
            return orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE)
    return message.__pydantic_serializer__.to_json(message, by_alias=True, exclude_unset=True) + b"\n"


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
        output = StdioOutput(sink, framing)
        await converse(clew, Lines(source, framing), output, _origin())
        output.close()


def _origin() -> Origin | None:
    """A connection that a resident server had before, when the shim has to serve it by itself from now on."""
    kept = os.environ.pop(KEPT, None)
    return Origin(json.loads(kept), lambda _: None) if kept else None


async def converse(
    clew: Clew, lines: AsyncIterator[bytes], output: MessageOutput, origin: Origin | None = None
) -> None:
    """Serves the client whose messages `lines` gives, until they end and those that were read are answered."""
    server = build_server(clew, origin=origin, is_pipe=True)
    debts = Debts()
    answers = Outgoing(output, debts)
    await server.run(Incoming(lines, answers, debts), answers, server.create_initialization_options())


# Standard input and output as asynchronous messages.
#
# The SDK hands every read, write and flush to a thread and waits for it. Here one thread reads ahead and small writes
# go out directly, which makes a call a third cheaper.

_READ_AHEAD = 64
_BACKLOG = 1 << 22
# POSIX: a pipe that reports itself writable takes this much without blocking.
_SMALL = getattr(select, "PIPE_BUF", 512)


@contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """Private copies of stdin and stdout; other code that prints or reads meanwhile gets stderr and an empty input."""
    sys.stdout.flush()
    pair = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    # A library that prints, or a child that reads, would otherwise speak into the protocol.
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield pair
    finally:
        sys.stdout.flush()
        for number, private in enumerate(pair):
            os.dup2(private, number)
            # Not closed: the reading thread may still wait on it, and the number must not be reused under it.


class Lines:
    """Messages read by a thread of their own, a bounded number ahead."""

    def __init__(self, source: int, framing: Framing) -> None:
        self._source = source
        self._framing = framing
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(_READ_AHEAD)
        self._ready: deque[bytes | None] = deque()
        self._arrived = asyncio.Event()
        threading.Thread(target=self._read, name="clew-stdin", daemon=True).start()

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> bytes:
        while not self._ready:
            self._arrived.clear()
            await self._arrived.wait()
        line = self._ready.popleft()
        if line is None:
            raise StopAsyncIteration
        self._room.release()
        return line

    def _read(self) -> None:
        for line in messages(self._source, self._framing):
            # A client that sends a million requests at once waits in its pipe, not in our memory.
            self._room.acquire()
            self._hand_over(line)
        self._hand_over(None)

    def _hand_over(self, line: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._take, line)
        except RuntimeError:
            pass  # the loop is closed, lines are not awaited any more

    def _take(self, line: bytes | None) -> None:
        self._ready.append(line)
        self._arrived.set()


class StdioOutput:
    """Writes messages in order; what a pipe cannot take at once goes to a thread, so that nothing here ever blocks."""

    def __init__(self, sink: int, framing: Framing) -> None:
        self._sink = sink
        self._framing = framing
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._queued = 0  # bytes; counted by the loop only
        self._written = 0  # bytes; counted by the thread only
        self._thread: threading.Thread | None = None
        self._broken = False

    def write(self, message: bytes) -> None:
        data = self._framing.frame(message)
        # Only when the thread has nothing left: otherwise this message would overtake one that still waits.
        if self._queued == self._written and len(data) <= _SMALL and _writable(self._sink):
            self._put(data)
        else:
            self._hand_over(data)

    async def flush(self) -> None:
        """Waits while the client is far behind."""
        while self._queued - self._written > _BACKLOG and not self._broken:
            await asyncio.sleep(0.01)

    def close(self) -> None:
        """Waits until everything is written, or the client is gone."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(5)

    def _hand_over(self, data: bytes) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._drain, name="clew-stdout", daemon=True)
            self._thread.start()
        self._queued += len(data)
        self._queue.put(data)

    def _drain(self) -> None:
        while (data := self._queue.get()) is not None:
            self._put(data)
            self._written += len(data)

    def _put(self, data: bytes) -> None:
        try:
            while data and not self._broken:
                data = data[os.write(self._sink, data) :]
        except OSError:
            self._broken = True  # the client has left; its end of input will reach the server


def _writable(sink: int) -> bool:
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sink, select.POLLOUT)
    return bool(poll.poll(0))
