"""The life of the resident server: it is the only one, lets clients in, and ends when nobody needs it.

It ends when it was idle for the time that its last client's settings name, when its data directory is gone, when a
client comes from newer code than its own, and on SIGTERM. Clients that are connected then go on with the next one.

A client is answered with an MCP conversation over its socket, or with the result of one call. On the socket of a
conversation a line that begins with `{` is a message of MCP. Lines that begin with `!` are for the shim:
`!{"kept": {...}}` is what the connection needs to go on with another server should this one be killed, and
`!{"bye": 7}` says that this server ends, has seen seven messages and answers those; later ones are to be sent again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from clew.app import Clew, open_database
from clew.errors import ClewError
from clew.faces.hooks.service import SILENT, digest, reply_to
from clew.faces.hooks.spool import FOLDER, has_any
from clew.faces.mcp.connections import Origin
from clew.faces.mcp.stdio import converse
from clew.faces.mcp.workers import Workers
from clew.faces.resident.door import Declined, Door, Greeting, Visitor, admit, hook_question, read_greeting
from clew.locks import FileLock
from clew.logs import configure_logs, hide_in_logs
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection
from clew.registry.lookup import find_operation
from clew.settings import Settings, load_settings
from clew.shim.place import folder_of, package_stamp
from clew.store.database import Database

log = logging.getLogger("clew.resident")

_TO_GREET = 10.0
_TO_TAKE_OVER = 20.0
"""Seconds to wait for a server that is about to end."""
_TO_SETTLE = 20.0
"""Seconds that conversations have to answer what they read when the server ends."""
_FIRST_IDLE = 30.0
"""Seconds to wait for the first client, who started us."""
_TICK = 1.0
_LARGEST_LOG = 1_000_000


class Stores:
    """The opened databases, shared by clients that mean the same one with the same model."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str | None], Database] = {}

    def clew(self, settings: Settings) -> Clew:
        # The model is part of the key, because caches beside a database hold vectors of one model.
        key = (settings.database_url or str(settings.database_file), settings.embedding_model)
        if key not in self._open:
            self._open[key] = open_database(settings)
        return Clew(settings, database=self._open[key])

    def close(self) -> None:
        for database in self._open.values():
            try:
                database.close()
            except Exception:
                log.exception("a store could not be closed")


class Resident:
    def __init__(self, home: str) -> None:
        self._home = home
        self._stamp = package_stamp()
        self._stores = Stores()
        self._workers = Workers()
        self._talks: set[Conversation] = set()
        self._visits: set[asyncio.Task[Any]] = set()
        self._idle = _FIRST_IDLE
        self._left_at = time.monotonic()

    def run(self) -> int:
        _tidy_log()
        configure_logs(load_settings({"home": self._home}, {}, Path(self._home)))
        lock = FileLock(Path(folder_of(self._home, make=True), "lock"))
        # The one before us may still be writing its last answers; two servers on one directory would share nothing.
        if not lock.take(_TO_TAKE_OVER):
            log.warning("another resident server runs for %s", self._home)
            return 1
        try:
            asyncio.run(self._serve())
        finally:
            self._stores.close()
            lock.release()
        return 0

    async def _serve(self) -> None:
        self._ending = asyncio.Event()
        self._door = Door(self._home)
        await self._door.open(self._visit, self._stamp)
        _heed_end(asyncio.get_running_loop(), self._ending)
        _announce()
        log.info("serving %s", self._home)
        if Path(self._home, FOLDER).is_dir():
            # Hooks are in use here, and they do not wait until what answers them has been imported.
            self._warming = asyncio.create_task(self._workers.run(partial(find_operation, "moment")))
        await self._until_needless()
        # First the door, then the talks: a client that comes now finds nobody and starts the next server.
        self._door.close()
        await self._settle()

    async def _until_needless(self) -> None:
        while not self._ending.is_set():
            with suppress(TimeoutError):
                # A short idle time is looked at more often than once a second.
                await asyncio.wait_for(self._ending.wait(), min(_TICK, self._idle / 4))
            await self._take_over()
            idle = not self._visits and time.monotonic() - self._left_at >= self._idle
            if idle or not self._door.stands():
                return

    async def _take_over(self) -> None:
        """What hooks could not hand over is taken now."""
        if has_any(self._home):
            try:
                await self._workers.run(partial(digest, Path(self._home), self._stores.clew))
            except Exception:
                log.exception("the spool of hooks could not be taken over")

    async def _settle(self) -> None:
        for talk in list(self._talks):
            talk.end()
        if self._visits:
            await asyncio.wait(self._visits, timeout=_TO_SETTLE)

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        try:
            await self._receive(reader, writer)
            with suppress(ConnectionError):
                await writer.drain()
        except (ConnectionError, TimeoutError, ValueError, KeyError, PermissionError) as problem:
            log.info("a client was sent away: %s", problem)
        except Exception:
            log.exception("a client could not be served")
        finally:
            self._visits.discard(task)
            # Idle time counts from the last one who left, not from the last who came.
            self._left_at = time.monotonic()
            writer.close()

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await asyncio.wait_for(self._door.greeting(reader, writer), _TO_GREET)
        try:
            greeting = read_greeting(line, self._door.secret)
            asked = hook_question(greeting)
            if greeting.kind == "hook" and asked is None:
                writer.write(SILENT)
                return
            visitor = self._admitted(greeting if asked is None else greeting.at(asked.directory))
            clew = self._stores.clew(visitor.settings)
        except (Declined, ClewError) as problem:
            answer = problem.answer if isinstance(problem, Declined) else {"declined": problem.message}
            writer.write(json.dumps(answer).encode() + b"\n")
            return
        # The last client's wish holds; there is one server for all of them.
        self._idle = float(visitor.settings.resident_idle)
        with visitor.surroundings():
            if asked is not None:
                until = visitor.greeting.until_ms
                writer.write(await self._workers.run(partial(reply_to, asked, clew.dispatcher, until)))
                return
            await self._answer(clew, visitor, reader, writer)

    def _admitted(self, greeting: Greeting) -> Visitor:
        if greeting.stamp != self._stamp:
            self._give_way(greeting.stamp)
        if self._ending.is_set():
            # Also for clients of our own code that come while we end: they go to the next server.
            raise Declined(declined="outdated")
        visitor = admit(greeting, self._home)
        hide_in_logs(visitor.settings)
        return visitor

    def _give_way(self, stamp: str) -> None:
        """To newer code in our place; to another installation only if nobody is here, or the two would take turns."""
        same_place = stamp.rsplit(":", 2)[0] == self._stamp.rsplit(":", 2)[0]
        if not same_place and len(self._visits) > 1:
            raise Declined(declined="another installation of Clew is in use for this data directory")
        self._ending.set()

    async def _answer(
        self, clew: Clew, visitor: Visitor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if visitor.greeting.kind == "call":
            answer = await answer_call(clew, visitor, self._workers)
            writer.write(json.dumps(answer).encode() + b"\n")
            return
        said = {"said": clew.settings.no_workspace} if clew.settings.no_workspace else {}
        writer.write(json.dumps({"ok": True, "reads": repeatable_tools(), **said}).encode() + b"\n")
        talk = Conversation(clew, visitor, reader, writer)
        self._talks.add(talk)
        try:
            await talk.run()
        finally:
            self._talks.discard(talk)


def _heed_end(loop: asyncio.AbstractEventLoop, ending: asyncio.Event) -> None:
    try:
        loop.add_signal_handler(signal.SIGTERM, ending.set)
    except NotImplementedError:  # Windows
        signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(ending.set))
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _announce() -> None:
    """Tell the process that started us, which waits for it. Whatever is printed later goes to the log."""
    with suppress(OSError):
        os.write(1, b"ready\n")
    # This closes the pipe to whoever started us, who has read its line and goes on.
    os.dup2(2, 1)


def _tidy_log() -> None:
    with suppress(OSError):
        if os.fstat(2).st_size > _LARGEST_LOG:
            os.ftruncate(2, 0)
    sys.stderr.reconfigure(line_buffering=True)  # type: ignore[union-attr]


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
