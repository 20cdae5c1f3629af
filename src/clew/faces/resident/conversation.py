"""One MCP client of the resident server, over the socket of its shim."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from clew.app import Clew
from clew.faces.mcp.connections import Origin
from clew.faces.mcp.stdio import converse
from clew.faces.resident.listener import AdmittedClient

_CHUNK = 1 << 16
_READ_AHEAD = 64


class Arrivals:
    """The lines of a client, until it leaves or this server ends."""

    def __init__(
        self, reader: asyncio.StreamReader, farewell: Callable[[int], None], alive: Callable[[], None]
    ) -> None:
        """`alive` answers a shim that asks whether we still work."""
        self._reader = reader
        self._farewell = farewell
        self._alive = alive
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
                    await self._take(b"".join(parts))
                    parts = [other]
        await self._lines.put(None)

    async def _take(self, line: bytes) -> None:
        # The shim's own line is no message: it is not counted, and does not wait behind those that are.
        if line.startswith(b"!"):
            self._alive()
        else:
            await self._lines.put(line)


class Departures:
    """Answers to a client. One that has left is noticed by its end of input, not here."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, message: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(message)

    async def flush(self) -> None:
        with suppress(ConnectionError):
            await self._writer.drain()

    def tell(self, **control: Any) -> None:
        if not self._writer.is_closing():
            self._writer.write(b"!" + json.dumps(control).encode() + b"\n")


class Conversation:
    """One MCP client, from its greeting to its end of input."""

    def __init__(
        self, clew: Clew, client: AdmittedClient, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._clew = clew
        self._departures = Departures(writer)
        tell = self._departures.tell
        self._arrivals = Arrivals(reader, lambda seen: tell(bye=seen), lambda: tell(alive=True))
        self._origin = Origin(client.handshake.kept, lambda kept: self._departures.tell(kept=kept))

    async def run(self) -> None:
        await converse(self._clew, self._arrivals, self._departures, self._origin)

    def end(self) -> None:
        self._arrivals.end()
