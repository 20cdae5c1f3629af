"""The life cycle of the resident server: there is only one, it accepts clients, and it ends when it is not needed.

It ends when it was idle for the time that its last client's settings name, when its data directory is gone, when a
client comes from newer code than its own, and on SIGTERM. Clients that are connected then go on with the next one.

A client is answered with an MCP conversation over its socket, or with the result of one call. On the socket of a
conversation a line that begins with `{` is a message of MCP. Lines that begin with `!` are for the shim:
`!{"kept": {...}}` is what the connection needs to go on with another server should this one be killed, and
`!{"bye": 7}` says that this server ends, has seen seven messages and answers those; later ones are to be sent again.
A shim that has waited long asks with a line `!`, and is answered with `!{"alive": true}` unless the server is stuck.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from clew.app import Clew, open_database
from clew.errors import ClewError
from clew.faces.hooks.client_events import GUARDING
from clew.faces.hooks.service import SILENT, digest, reply_to, unanswered
from clew.faces.hooks.spool import FOLDER, has_any
from clew.faces.resident.listener import (
    AdmittedClient,
    ClientHello,
    Declined,
    SocketListener,
    admit,
    hook_question,
    read_handshake,
)
from clew.fast_imports import left_out, without_collection
from clew.kinds.catalogue import PLUGGED_IN, plugins
from clew.logs import configure_logs, hide_in_logs
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection
from clew.registry.lookup import find_operation
from clew.registry.workers import Workers
from clew.settings import Settings, load_settings
from clew.shim.place import OUTDATED, package_stamp
from clew.store.database import Database
from clew.surroundings import typed

if TYPE_CHECKING:
    from clew.faces.resident.conversation import Conversation

log = logging.getLogger("clew.resident")

_HANDSHAKE_SECONDS = 10.0
_SPOOL_PAUSE = 15.0
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
        self._tokens: dict[str, str] = {}
        """The last token for each server, for what hooks left in the spool, where no token is kept."""

    def clew(self, settings: Settings) -> Clew:
        # The model is part of the key, because per-database caches hold vectors of one model.
        key = (settings.database_url or str(settings.database_file), settings.embedding_model)
        if settings.server:
            key = (settings.server, str(settings.ca_file or ""))
            settings = self._with_token(settings, settings.server)
        if key not in self._open:
            self._open[key] = open_database(settings)
        return Clew(settings, database=self._open[key])

    def _with_token(self, settings: Settings, server: str) -> Settings:
        if settings.token:
            self._tokens[server] = settings.token
        return settings if settings.token else replace(settings, token=self._tokens.get(server))

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
        self._spool_at = 0.0
        """When the spool is looked at next."""
        self._stores = Stores()
        self._workers = Workers()
        self._talks: set[Conversation] = set()
        self._connections: set[asyncio.Task[Any]] = set()
        self._idle = _FIRST_IDLE
        self._left_at = time.monotonic()

    def run(self) -> int:
        """Serve until no client needs it. The caller holds the lock of the data directory."""
        _tidy_log()
        configure_logs(load_settings({"home": self._home}, {}, Path(self._home)))
        try:
            asyncio.run(self._serve())
        finally:
            self._stores.close()
        return 0

    async def _serve(self) -> None:
        self._ending = asyncio.Event()
        self._listener = SocketListener(self._home)
        await self._listener.open(self._on_connect, self._stamp)
        _heed_end(asyncio.get_running_loop(), self._ending)
        _announce()
        log.info("serving %s", self._home)
        if Path(self._home, FOLDER).is_dir():
            # Hooks are in use here, and they do not wait until what answers them has been imported.
            self._warming = asyncio.create_task(self._workers.run(partial(find_operation, "hook_event")))
        await self._until_needless()
        # First the listener, then the conversations: a client that comes now finds no server and starts the next one.
        self._listener.close()
        await self._settle()

    async def _until_needless(self) -> None:
        while not self._ending.is_set():
            with suppress(TimeoutError):
                # A short idle time is looked at more often than once a second.
                await asyncio.wait_for(self._ending.wait(), min(_TICK, self._idle / 4))
            await self._take_over()
            idle = not self._connections and time.monotonic() - self._left_at >= self._idle
            if idle or not self._listener.is_reachable() or plugins() != PLUGGED_IN:
                return

    async def _take_over(self) -> None:
        """What hooks could not hand over is taken now."""
        if has_any(self._home) and time.monotonic() >= self._spool_at:
            try:
                await self._workers.run(partial(digest, Path(self._home), self._stores.clew))
                # What is still there could not be taken now; the next look may wait.
                self._spool_at = time.monotonic() + (_SPOOL_PAUSE if has_any(self._home) else 0)
            except Exception:
                log.exception("the spool of hooks could not be taken over")

    async def _settle(self) -> None:
        for talk in list(self._talks):
            talk.end()
        if self._connections:
            await asyncio.wait(self._connections, timeout=_TO_SETTLE)

    async def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._receive(reader, writer)
            with suppress(ConnectionError):
                await writer.drain()
        except (ConnectionError, TimeoutError, ValueError, KeyError, PermissionError) as problem:
            log.info("a client was sent away: %s", problem)
        except Exception:
            log.exception("a client could not be served")
        finally:
            self._connections.discard(task)
            # Idle time counts from the last one who left, not from the last who came.
            self._left_at = time.monotonic()
            writer.close()

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await asyncio.wait_for(self._listener.handshake(reader, writer), _HANDSHAKE_SECONDS)
        try:
            handshake = read_handshake(line, self._listener.secret)
        except Declined as problem:
            writer.write(json.dumps(problem.answer).encode() + b"\n")
            return
        try:
            asked = hook_question(handshake)
            if handshake.kind == "hook" and asked is None:
                writer.write(SILENT)
                return
            client = self._admitted(handshake if asked is None else handshake.at(asked.directory))
            clew = self._stores.clew(client.settings)
        except (Declined, ClewError) as problem:
            writer.write(self._refusal(handshake, problem))
            return
        # The last client's wish holds; there is one server for all of them.
        self._idle = float(client.settings.resident_idle)
        with client.surroundings():
            if asked is not None:
                until = client.handshake.until_ms
                work = partial(reply_to, asked, clew.dispatcher, until)
                # A separate, new caller: its client waits for it before each tool call.
                writer.write(await self._workers.run(work, caller=id(client)))
                return
            await self._answer(clew, client, reader, writer)

    def _refusal(self, handshake: ClientHello, problem: Declined | ClewError) -> bytes:
        """How a client that is declined goes on; a guard hook cannot, so it is given its answer."""
        answer = problem.answer if isinstance(problem, Declined) else {"declined": problem.message}
        if answer.get("declined") not in (None, OUTDATED):
            asked = hook_question(handshake)
            if asked is not None and asked.event == GUARDING:
                return unanswered(asked, self._home)
        return json.dumps(answer).encode() + b"\n"

    def _admitted(self, handshake: ClientHello) -> AdmittedClient:
        if handshake.stamp != self._stamp and not self._is_foreign_hook(handshake):
            self._give_way(handshake.stamp)
        if self._ending.is_set():
            # Also for clients of our own code that come while we end: they go to the next server.
            raise Declined(declined=OUTDATED)
        client = admit(handshake, self._home)
        hide_in_logs(client.settings)
        return client

    def _is_foreign_hook(self, handshake: ClientHello) -> bool:
        """A hook of another installation: it only passes on what its client says, so any server can answer it."""
        return handshake.kind == "hook" and not self._is_in_our_place(handshake.stamp)

    def _is_in_our_place(self, stamp: str) -> bool:
        return stamp.rsplit(":", 2)[0] == self._stamp.rsplit(":", 2)[0]

    def _give_way(self, stamp: str) -> None:
        """To newer code at our path; to another installation only without clients, or both would alternate."""
        if not self._is_in_our_place(stamp) and len(self._connections) > 1:
            raise Declined(declined="another installation of Clew is in use for this data directory")
        self._ending.set()

    async def _answer(
        self, clew: Clew, client: AdmittedClient, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if client.handshake.kind == "call":
            answer = await answer_call(clew, client, self._workers)
            writer.write(json.dumps(answer).encode() + b"\n")
            return
        said = {"said": clew.settings.notice} if clew.settings.notice else {}
        writer.write(json.dumps({"ok": True, "reads": repeatable_tools(), **said}).encode() + b"\n")
        module = await self._workers.run(_conversations)
        talk = module.Conversation(clew, client, reader, writer)
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
    # This closes the pipe to the process that started us, which has read its line and goes on.
    os.dup2(2, 1)


def _tidy_log() -> None:
    with suppress(OSError):
        if os.fstat(2).st_size > _LARGEST_LOG:
            os.ftruncate(2, 0)
    sys.stderr.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _conversations() -> ModuleType:
    """Imported for the first MCP client: hooks and shell commands, which come often and alone, do not wait for it."""
    # A library of the SDK loads uvicorn only to hear of its end, and this process serves no HTTP.
    with without_collection(), left_out("uvicorn"):
        return import_module("clew.faces.resident.conversation")


def repeatable_tools() -> list[str]:
    """The tools that only read: a shim may ask again what a killed server left unanswered."""
    return [name for entry in catalogue().operations if entry.read_only for name in (entry.name, *entry.aliases)]


async def answer_call(clew: Clew, client: AdmittedClient, workers: Workers) -> dict[str, Any]:
    asked = client.handshake
    connection = Connection(
        toolset=asked.toolset,
        agent_id=client.settings.agent_id,
        client=asked.client,
        durable=False,
        local=asked.local,
        witness=asked.witness,
    )
    work = partial(clew.dispatcher.call, asked.name, asked.arguments, connection)
    # Who typed a command shares the environment that its answer is read in.
    with typed() if asked.local else nullcontext():
        answer = await workers.run(work, caller=id(connection), operation=str(asked.name))
    return {"ok": answer.ok, "text": answer.text, "lines": answer.lines, "envelope": answer.envelope}
