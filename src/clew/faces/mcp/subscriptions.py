"""Watched resources: reads them again when the store changed, and tells who watches.

Nothing runs while nobody watches. While somebody does, one thread follows the store's event feed, so that a change made
by another process is noticed too. A resource counts as changed when its text differs; no event type is mapped to it.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, SubscriptionsListenRequestParams, SubscriptionsListenResult

from clew.errors import ClewError
from clew.faces.mcp.connections import Connections
from clew.faces.mcp.protocol import Request
from clew.faces.mcp.workers import Workers
from clew.registry.connection import Connection
from clew.registry.dispatch import Dispatcher
from clew.store.database import Database

if TYPE_CHECKING:
    from clew.store.events import Follower


LIMIT = 256
"""Watched resources in all: each is read again at every write, which costs about a millisecond."""
PER_CLIENT = 64
"""Watched resources of one connection, so that one client cannot take them all from the others."""
_PATIENCE = 0.5


@dataclass
class Watch:
    uri: str
    connection: Connection
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
        self._follower: Follower[None] | None = None

    async def add(self, uri: str, connection: Connection) -> Callable[[], None]:
        """Watches a resource; the returned call ends it and may be made twice."""
        if len(self._watches) >= LIMIT:
            raise MCPError(INVALID_PARAMS, f"{LIMIT} resources are watched already; unsubscribe from one")
        if sum(watch.connection is connection for watch in self._watches.values()) >= PER_CLIENT:
            raise MCPError(INVALID_PARAMS, f"you watch {PER_CLIENT} resources already; unsubscribe from one")
        watch = Watch(uri, connection)
        self._next += 1
        number = self._next
        # Counted before it is read, so that two requests at once cannot both take the last place.
        self._watches[number] = watch
        try:
            watch.digest = await self._workers.run(partial(self._digest, watch))
        except BaseException:  # a cancelled request has nobody who would end its watch
            self._remove(number)
            raise
        self._follow()
        return partial(self._remove, number)

    def _remove(self, number: int) -> None:
        self._watches.pop(number, None)
        if not self._watches and self._follower is not None:
            self._follower.stop()
            self._follower = None

    def close(self) -> None:
        """Ends for good: the follower must not touch a database that is about to be closed."""
        if self._follower is not None:
            self._follower.stop()
            self._follower.join(2 * _PATIENCE)

    def _digest(self, watch: Watch) -> bytes | None:
        try:
            text = self._dispatcher.read_resource(watch.uri, watch.connection).text
        except ClewError:
            return None
        return hashlib.blake2b(text.encode(), digest_size=16).digest()

    def _follow(self) -> None:
        if self._follower is None:
            from clew.store.events import Follower

            loop = asyncio.get_running_loop()
            self._follower = Follower(self._changes, lambda _: self._look(loop), "clew-watch")

    def _changes(self, stop: threading.Event) -> Iterator[None]:
        from clew.store.events import follow

        # The first look comes before any event: a change may have slipped in before the feed's start.
        missed = True
        for events in follow(self._database, None, stop, _PATIENCE):
            if events or missed:
                yield None
            missed = False

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        changed: dict[str, None] = {}
        for watch in list(self._watches.values()):
            digest = self._digest(watch)
            if digest != watch.digest:
                # Noted before it is told: a client that reads at once must not be told of the same state again.
                watch.digest = digest
                changed[watch.uri] = None
        if changed and not loop.is_closed():
            loop.call_soon_threadsafe(self._publish, list(changed), loop)

    def _publish(self, uris: list[str], loop: asyncio.AbstractEventLoop) -> None:
        async def publish() -> None:
            for uri in uris:
                await self._bus.publish(ResourceUpdated(uri))

        self._publishing = loop.create_task(publish())


class Listening:
    """The SDK's handler, with the resources it names watched for as long as the stream is open."""

    def __init__(self, bus: InMemorySubscriptionBus, connections: Connections, watches: Watches) -> None:
        self._handler = ListenHandler(bus)
        self._connections = connections
        self._watches = watches

    async def listen(self, request: Request, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        connection = self._connections.of(request)
        with ExitStack() as watched:
            for uri in dict.fromkeys(params.notifications.resource_subscriptions or ()):
                watched.callback(await self._watches.add(uri, connection))
            return await self._handler(request, params)

    def close(self) -> None:
        self._handler.close()
