"""Resources, their templates and prompts: the lists, reading and watching one, filling one in, completing arguments.

A watched resource is read again when the store changed, and its watchers are notified. Nothing runs without watchers.
With watchers, one thread follows the store's event feed, so that a change made by another process is noticed too.
A resource counts as changed when its text differs; no event type is mapped to it.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    ResourceTemplateReference,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from clew.errors import ClewError
from clew.faces.mcp.connections import Connections, Offered, caller_of
from clew.faces.mcp.protocol import Request, check_cursor, complete, is_stateless
from clew.registry.catalogue import Catalogue, PromptEntry, ResourceEntry
from clew.registry.connection import Connection
from clew.registry.dispatch import Dispatcher
from clew.registry.toolsets import toolset_named
from clew.registry.workers import Workers
from clew.store.database import Database

if TYPE_CHECKING:
    from clew.store.events import Follower

# The handshake era's own code for it; the stateless era retired the number.
_NOT_FOUND_BEFORE_2026 = -32002


def resource_of(entry: ResourceEntry) -> dict[str, Any]:
    address = {"uriTemplate": entry.uri} if entry.template else {"uri": entry.uri}
    return {
        **address,
        "name": entry.name,
        "title": entry.title,
        "description": entry.summary,
        "mimeType": entry.mime_type,
    }


class Resources(Offered):
    def __init__(
        self,
        catalogue: Catalogue,
        dispatcher: Dispatcher,
        connections: Connections,
        workers: Workers,
        watches: Watches,
    ) -> None:
        super().__init__(catalogue, dispatcher, connections, workers)
        self._watches = watches

    async def list(self, request: Request, params: PaginatedRequestParams) -> dict[str, Any]:
        check_cursor(params.cursor)
        found = [resource_of(entry) for entry in self._listed() if not entry.template]
        return complete(resources=found)

    def _listed(self) -> Iterator[ResourceEntry]:
        """Those of the server's toolset; every other one can be read as well."""
        scheme = toolset_named(self._connections.toolset).resources
        return (entry for entry in self._catalogue.resources if entry.uri.startswith(scheme))

    async def list_templates(self, request: Request, params: PaginatedRequestParams) -> dict[str, Any]:
        check_cursor(params.cursor)
        found = [resource_of(entry) for entry in self._listed() if entry.template]
        return complete(resourceTemplates=found)

    async def read(self, request: Request, params: ReadResourceRequestParams) -> dict[str, Any]:
        connection = self._connections.of(request)
        try:
            work = partial(self._dispatcher.read_resource, params.uri, connection)
            found = await self._workers.run(work, caller=caller_of(request, connection))
        except ClewError as problem:
            raise _failure(request, params.uri, problem) from problem
        return complete(contents=[{"uri": found.uri, "mimeType": found.mime_type, "text": found.text}])

    async def subscribe(self, request: Request, params: SubscribeRequestParams) -> dict[str, Any]:
        link = self._connections.link(request)
        release = await self._watches.add(params.uri, self._connections.of(request))
        if params.uri in link.watched:
            release()  # asked for twice; one watch is enough
        else:
            link.watched[params.uri] = release
        return {}

    async def unsubscribe(self, request: Request, params: UnsubscribeRequestParams) -> dict[str, Any]:
        release = self._connections.link(request).watched.pop(params.uri, None)
        if release is not None:
            release()
        return {}


def _failure(request: Request, uri: str, problem: ClewError) -> MCPError:
    unknown = problem.code in {"UNKNOWN_ID", "NOT_FOUND"}
    code = _NOT_FOUND_BEFORE_2026 if unknown and not is_stateless(request) else INVALID_PARAMS
    return MCPError(code, problem.message, {"uri": uri, **problem.to_dict()})


def prompt_of(entry: PromptEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "description": entry.summary,
        "arguments": [dict(argument) for argument in entry.arguments],
    }


class Prompts(Offered):
    async def list(self, request: Request, params: PaginatedRequestParams) -> dict[str, Any]:
        check_cursor(params.cursor)
        listed = self._catalogue.prompts if toolset_named(self._connections.toolset).lists_prompts else ()
        return complete(prompts=[prompt_of(entry) for entry in listed])

    async def get(self, request: Request, params: GetPromptRequestParams) -> dict[str, Any]:
        connection = self._connections.of(request)
        work = partial(self._dispatcher.get_prompt, params.name, params.arguments or {}, connection)
        try:
            found = await self._workers.run(work, caller=caller_of(request, connection))
        except ClewError as problem:
            raise MCPError(INVALID_PARAMS, problem.message, problem.to_dict()) from problem
        messages = [{"role": role, "content": {"type": "text", "text": text}} for role, text in found.messages]
        return complete(description=found.description, messages=messages)


_LIMIT = 100


class Completions:
    def __init__(self, dispatcher: Dispatcher, connections: Connections, workers: Workers) -> None:
        self._dispatcher = dispatcher
        self._connections = connections
        self._workers = workers

    async def complete(self, request: Request, params: CompleteRequestParams) -> dict[str, Any]:
        connection = self._connections.of(request)
        kind, ref = _reference(params.ref)
        asked = params.argument
        work = partial(self._dispatcher.complete, kind, ref, asked.name, asked.value, connection)
        try:
            values = await self._workers.run(work, caller=caller_of(request, connection))
        except ClewError:
            values = []  # an unknown reference completes to nothing; only its use is an error
        return complete(completion={"values": values[:_LIMIT], "hasMore": len(values) > _LIMIT})


def _reference(ref: PromptReference | ResourceTemplateReference) -> tuple[Literal["prompt", "resource"], str]:
    return ("prompt", ref.name) if isinstance(ref, PromptReference) else ("resource", ref.uri)


LIMIT = 256
"""Watched resources in all: each is read again at every write, which costs about a millisecond."""
PER_CLIENT = 64
"""Watched resources of one connection, so that one client cannot take them all from the others."""
_PATIENCE = 0.5
_REMOTE_PAUSE = 5.0


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
        except BaseException:  # otherwise the watch of a cancelled request would never end
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

        if not self._dispatcher.keeps_store:
            # No feed comes from the server that has the store, so what is watched is read now and then.
            while not stop.wait(_REMOTE_PAUSE):
                yield None
            return
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
                # Recorded before it is sent: a client that reads at once must not be notified of the same state again.
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
