"""Where sessions of MCP over HTTP outlive their server: the store, from the side of a server's event loop.

A store that does not answer costs nothing but this: the session then lives as long as the server that opened it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import to_thread

from clew.canonical import Json
from clew.errors import ClewError
from clew.registry import mcp_sessions
from clew.registry.mcp_sessions import McpSession
from clew.store.database import Transaction, short_lock_waits

if TYPE_CHECKING:
    from clew.app import Clew

TOUCHED_MS = 10 * 60_000
"""How often it is written down that a session is in use."""
LOCK_SECONDS = 2.0
Result = TypeVar("Result")


class SessionBook:
    def __init__(self, clew: Clew) -> None:
        self._database = clew.database
        self._clock = clew.dispatcher.clock

    async def find(self, id: str) -> McpSession | None:
        """The session; None when it was ended or never kept. Raises ClewError where the store does not answer."""
        found = await to_thread.run_sync(self._find, id)
        if found is not None and self._clock() - found.seen_at_ms > TOUCHED_MS:
            await self._write(lambda tx: mcp_sessions.note_session(tx, id, None, self._clock()))
        return found

    def _find(self, id: str) -> McpSession | None:
        with self._database.read() as tx:
            return mcp_sessions.session_of(tx, id, self._clock())

    async def open(self, id: str, owner: str, hello: Json, ended: Iterable[str]) -> None:
        def work(tx: Transaction) -> None:
            mcp_sessions.forget_sessions(tx, ended)
            mcp_sessions.keep_session(tx, id, owner, hello, self._clock())

        await self._write(work)

    async def note(self, id: str, kept: Json) -> None:
        await self._write(lambda tx: mcp_sessions.note_session(tx, id, kept, self._clock()))

    async def end(self, id: str) -> None:
        await self._write(lambda tx: mcp_sessions.forget_sessions(tx, [id]))

    async def _write(self, work: Callable[[Transaction], Any]) -> None:
        def run() -> None:
            with short_lock_waits(LOCK_SECONDS), self._database.write() as tx:
                work(tx)

        try:
            await to_thread.run_sync(run)
        except ClewError:
            return
