"""Watched resources: reads them again when the store changed, and tells who watches.

Nothing runs while nobody watches. While somebody does, one thread follows the store's event feed, so a
change made by another process is noticed too. Whether a resource changed is decided by its text, not by
guessing which events matter to it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from clew.errors import ClewError
from clew.faces.mcp.workers import Workers
from clew.registry.dispatch import Dispatcher
from clew.registry.session import Session
from clew.store.database import Database

logger = logging.getLogger(__name__)

LIMIT = 256
_PATIENCE = 0.5


@dataclass
class Watch:
    uri: str
    session: Session
    digest: bytes | None = None


class Watches:
    def __init__(
        self, dispatcher: Dispatcher, database: Database, workers: Workers, bus: InMemorySubscriptionBus
    ) -> None:
        self._dispatcher = dispatcher
        self._database = database
        self._workers = workers
        self._bus = bus
        self._watches: dict[int, Watch] = {}
        self._next = 0
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    async def add(self, uri: str, session: Session) -> Callable[[], None]:
        """Watches a resource; the returned call ends it and may be made twice."""
        if len(self._watches) >= LIMIT:
            raise MCPError(INVALID_PARAMS, f"{LIMIT} resources are watched already; unsubscribe from one")
        watch = Watch(uri, session)
        self._next += 1
        number = self._next
        self._watches[number] = watch
        watch.digest = await self._workers.run(partial(self._digest, watch))
        self._follow()
        return partial(self._remove, number)

    def _remove(self, number: int) -> None:
        self._watches.pop(number, None)
        if not self._watches:
            self._rest()

    def _rest(self) -> None:
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def close(self) -> None:
        """Ends for good: the follower must not touch a database that is about to be closed."""
        self._rest()
        if self._thread is not None:
            self._thread.join(2 * _PATIENCE)

    def _digest(self, watch: Watch) -> bytes | None:
        try:
            text = self._dispatcher.read_resource(watch.uri, watch.session).text
        except ClewError:
            return None
        return hashlib.blake2b(text.encode(), digest_size=16).digest()

    def _follow(self) -> None:
        if self._stop is None:
            self._stop = threading.Event()
            args = (self._stop, asyncio.get_running_loop())
            self._thread = threading.Thread(target=self._run, args=args, name="clew-watch", daemon=True)
            self._thread.start()

    def _run(self, stop: threading.Event, loop: asyncio.AbstractEventLoop) -> None:
        while not stop.is_set():
            try:
                self._watch(stop, loop)
            except Exception:
                logger.exception("the event feed broke off; trying again")
                stop.wait(_PATIENCE)

    def _watch(self, stop: threading.Event, loop: asyncio.AbstractEventLoop) -> None:
        from clew.store.events import follow

        # The first look comes before any event: a change may have slipped in before the feed's start.
        missed = True
        for events in follow(self._database, None, stop, _PATIENCE):
            if events or missed:
                self._look(loop)
            missed = False

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        changed: dict[str, None] = {}
        for watch in list(self._watches.values()):
            digest = self._digest(watch)
            if digest != watch.digest:
                watch.digest = digest
                changed[watch.uri] = None
        if changed and not loop.is_closed():
            loop.call_soon_threadsafe(self._publish, list(changed), loop)

    def _publish(self, uris: list[str], loop: asyncio.AbstractEventLoop) -> None:
        async def publish() -> None:
            for uri in uris:
                await self._bus.publish(ResourceUpdated(uri))

        self._publishing = loop.create_task(publish())
