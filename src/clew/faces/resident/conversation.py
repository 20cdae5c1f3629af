"""What a client is answered: an MCP conversation over its socket, or the result of one call.

On the socket of a conversation a line that begins with `{` is a message of MCP. Lines that begin with `!` are for the
shim: `!{"kept": {...}}` is what the connection needs to go on with another server should this one be killed, and
`!{"bye": 7}` says that this server ends, has seen seven messages and answers those; later ones are to be sent again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from clew.app import Clew
from clew.faces.mcp.connections import Origin
from clew.faces.mcp.stdio import converse
from clew.faces.mcp.workers import Workers
from clew.faces.resident.door import Visitor
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection

_CHUNK = 1 << 16
_READ_AHEAD = 64


class Arrivals:
    """The lines of a client, until it leaves or this server ends."""

    def __init__(self, reader: asyncio.StreamReader, farewell: Callable[[int], None]) -> None:
        self._reader = reader
        self._farewell = farewell
        # Bounded: a client that sends faster than it is served waits in its own pipe, not in our memory.
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(_READ_AHEAD)
        self._seen = 0
        self._ending = False
        self._pump = asyncio.get_running_loop().create_task(self._read())

    def __aiter__(self) -> Arrivals:
        return self

    async def __anext__(self) -> bytes:
        line = None if self._ending else await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        self._seen += 1
        return line

    def end(self) -> None:
        """Take no more of them, and tell the client how many were taken."""
        if self._ending:
            return
        self._ending = True
        self._pump.cancel()
        self._farewell(self._seen)
        # Lines that were read and not taken are not counted in the farewell, so the shim sends them again.
        while self._lines.full():
            self._lines.get_nowait()
        self._lines.put_nowait(None)

    async def _read(self) -> None:
        parts: list[bytes] = []
        with suppress(ConnectionError):
            while chunk := await self._reader.read(_CHUNK):
                first, *others = chunk.split(b"\n")
                parts.append(first)
                for other in others:
                    await self._lines.put(b"".join(parts))
                    parts = [other]
        await self._lines.put(None)


class Departures:
    """Answers to a client. One that has left is noticed by its end of input, not here."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        if not self._writer.is_closing():
            self._writer.write(text.encode())

    async def flush(self) -> None:
        with suppress(ConnectionError):
            await self._writer.drain()

    def tell(self, **control: Any) -> None:
        if not self._writer.is_closing():
            self._writer.write(b"!" + json.dumps(control).encode() + b"\n")


class Conversation:
    """One MCP client, from its greeting to its end of input."""

    def __init__(
        self, clew: Clew, visitor: Visitor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._clew = clew
        self._departures = Departures(writer)
        self._arrivals = Arrivals(reader, lambda seen: self._departures.tell(bye=seen))
        self._origin = Origin(visitor.greeting.kept, lambda kept: self._departures.tell(kept=kept))

    async def run(self) -> None:
        await converse(self._clew, self._arrivals, self._departures, self._origin)

    def end(self) -> None:
        self._arrivals.end()


def repeatable_tools() -> list[str]:
    """The tools that only read: a shim may ask again what a killed server left unanswered."""
    return [name for entry in catalogue().operations if entry.read_only for name in (entry.name, *entry.aliases)]


async def answer_call(clew: Clew, visitor: Visitor, workers: Workers) -> dict[str, Any]:
    asked = visitor.greeting
    connection = Connection(
        toolset=asked.toolset,
        agent_id=visitor.settings.agent_id,
        client=asked.client,
        durable=False,
        local=asked.local,
        witness=asked.witness,
    )
    answer = await workers.run(partial(clew.dispatcher.call, asked.name, asked.arguments, connection))
    return {"ok": answer.ok, "text": answer.text, "envelope": answer.envelope}
