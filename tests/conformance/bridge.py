"""HTTP in front, shims behind: `python -m tests.conformance.bridge`.

The conformance suite speaks HTTP only. What belongs to HTTP (sessions, headers, streams, hosts) is the SDK's here;
every message goes as it came to a `clew serve` and so to the resident server: one shim for each session of the
handshake era, and one for all exchanges of the era after it, whose requests get numbers of their own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.server import streamable_http_manager
from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from clew.faces.http import Hosts, base_address, bind
from clew.faces.mcp.endpoint import http_app
from tests.conformance.fixtures import Events

LONGEST_LINE = 1 << 24
STANDALONE = ("notifications/resources/", "notifications/tools/", "notifications/prompts/")
"""Notices that belong to no request."""


class Shim:
    """One `clew serve`, spoken to in messages."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._input = process.stdin
        self._output = BufferedByteReceiveStream(process.stdout)

    async def send(self, message: Mapping[str, Any]) -> None:
        await self._input.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        try:
            while True:
                yield json.loads(await self._output.receive_until(b"\n", LONGEST_LINE))
        except (anyio.IncompleteRead, anyio.ClosedResourceError):
            return


@asynccontextmanager
async def started_shim() -> AsyncIterator[Shim]:
    async with await anyio.open_process([sys.executable, "-m", "clew", "serve"], stderr=None) as process:
        try:
            yield Shim(process)
        finally:
            assert process.stdin is not None
            with anyio.CancelScope(shield=True), anyio.move_on_after(30):
                await process.stdin.aclose()
                await process.wait()


class Session:
    """A session of the handshake era: its messages are handed over in both directions.

    A pipe does not say to which request a notice or a question belongs, and a stream of HTTP has to know it: it is the
    request of the same progress token, else the newest that is not answered.
    """

    def __init__(self, shim: Shim) -> None:
        self._shim = shim
        self._unanswered: dict[types.RequestId, types.JSONRPCRequest] = {}

    async def take(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, types.JSONRPCRequest):
            self._unanswered[message.id] = message
        await self._shim.send(message.model_dump(mode="json", by_alias=True, exclude_unset=True))
        # Ending a stream and going on in the next one is a matter of HTTP alone.
        if isinstance(message, types.JSONRPCRequest) and (message.params or {}).get("name") == "test_reconnection":
            assert isinstance(item.metadata, ServerMessageMetadata)
            if item.metadata.close_sse_stream is not None:
                await item.metadata.close_sse_stream()

    async def give(self, outgoing: Any) -> None:
        async for found in self._shim.messages():
            message = types.jsonrpc_message_adapter.validate_python(found, by_name=False)
            related = None if "method" not in found else self._request_of(found)
            if "method" not in found:
                self._unanswered.pop(found["id"], None)
            await outgoing.send(SessionMessage(message, ServerMessageMetadata(related_request_id=related)))

    def _request_of(self, notice: dict[str, Any]) -> types.RequestId | None:
        if notice["method"].startswith(STANDALONE):
            return None
        token = notice.get("params", {}).get("progressToken")
        asked = [id for id, request in self._unanswered.items() if token in (None, token_of(request.params))]
        return asked[-1] if asked else None


def token_of(params: Mapping[str, Any] | None) -> Any:
    return ((params or {}).get("_meta") or {}).get("progressToken")


async def serve_session(server: Any, incoming: Any, outgoing: Any, **_: Any) -> None:
    """In the place of the SDK's own loop."""
    async with started_shim() as shim, anyio.create_task_group() as tasks:
        session = Session(shim)
        tasks.start_soon(session.give, outgoing)
        try:
            async for item in incoming:
                await session.take(item)
        except anyio.ClosedResourceError:
            pass
        tasks.cancel_scope.cancel()


class Exchange:
    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self.context = context
        self.reply: dict[str, Any] = {}
        self.answered = anyio.Event()


class Exchanges:
    """The requests of the stateless era, over one shim."""

    def __init__(self, shim: Shim) -> None:
        self._shim = shim
        self._numbers = count(1)
        self._open: dict[int, Exchange] = {}

    async def ask(self, context: ServerRequestContext[Any, Any]) -> dict[str, Any]:
        number, exchange = next(self._numbers), Exchange(context)
        self._open[number] = exchange
        try:
            await self._shim.send({"id": number, "method": context.method, "params": context.params})
            await exchange.answered.wait()
        except anyio.get_cancelled_exc_class():
            # Over HTTP a client cancels by leaving; over a pipe it has to say so.
            with anyio.CancelScope(shield=True):
                await self._shim.send({"method": "notifications/cancelled", "params": {"requestId": number}})
            raise
        finally:
            del self._open[number]
        if "error" in exchange.reply:
            raise MCPError.from_error_data(types.ErrorData.model_validate(exchange.reply["error"]))
        return dict(exchange.reply["result"])

    async def listen(self) -> None:
        async for found in self._shim.messages():
            if "method" in found:
                await self._notify(found["method"], found.get("params") or {})
            elif exchange := self._open.get(found["id"]):
                exchange.reply = found
                exchange.answered.set()

    async def _notify(self, method: str, params: dict[str, Any]) -> None:
        subscription = (params.get("_meta") or {}).get(SUBSCRIPTION_ID_META_KEY)
        exchange = self._open.get(subscription) if subscription is not None else self._newest(params)
        if exchange is None:
            return
        if subscription is not None:
            id = exchange.context.request_id
            params = {**params, "_meta": {**params["_meta"], SUBSCRIPTION_ID_META_KEY: id}}
        await exchange.context.session._request_outbound.notify(method, params)

    def _newest(self, params: dict[str, Any]) -> Exchange | None:
        token = params.get("progressToken")
        asked = [
            exchange
            for exchange in self._open.values()
            if exchange.context.method != "subscriptions/listen" and token in (None, token_of(exchange.context.params))
        ]
        return asked[-1] if asked else None


@asynccontextmanager
async def opened_exchanges(_: Any) -> AsyncIterator[Exchanges]:
    async with started_shim() as shim, anyio.create_task_group() as tasks:
        exchanges = Exchanges(shim)
        tasks.start_soon(exchanges.listen)
        yield exchanges
        tasks.cancel_scope.cancel()


async def hand_over(context: ServerRequestContext[Exchanges, Any], call_next: CallNext) -> Any:
    """In the place of every handler, but for the one request that a pipe must answer otherwise.

    Over HTTP `initialize` is a method of another era, and unknown in this one. A pipe serves one era only, so there the
    SDK answers which versions it would serve; `test_conformance` asks that of a shim itself.
    """
    if context.method == "initialize":
        return await call_next(context)
    return await context.lifespan_context.ask(context)


async def unused(*_: Any) -> Any:
    """The SDK looks for the schemas of tools only where it finds a handler of the list."""
    raise AssertionError("every request is handed over")


def main() -> None:
    vars(streamable_http_manager)["serve_loop"] = serve_session
    server: Any = Server("bridge", lifespan=opened_exchanges)
    server.middleware.append(hand_over)
    server.add_request_handler("tools/list", types.PaginatedRequestParams, unused)
    app = http_app(server, None, Hosts("127.0.0.1"), event_store=Events(), retry_interval=100)
    listener = bind("127.0.0.1", 0)
    print(base_address(listener), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
