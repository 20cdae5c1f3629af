"""Change notices reach those who asked, whoever made the change."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.subscriptions import ResourceUpdated
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged
from mcp_types import ResourceUpdatedNotification, ToolListChangedNotification

from clew.app import Clew
from clew.faces.mcp.resources import LIMIT, PER_CLIENT, Watches
from clew.faces.mcp.server import ClewServer
from clew.registry.connection import Connection
from clew.registry.workers import Workers
from tests.faces.mcp.conftest import text_of
from tests.waiting import PATIENCE

pytestmark = [
    pytest.mark.anyio,
    # The client calls the handshake era's methods old; they are what is tested.
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
]


def write_elsewhere(make_clew: Callable[..., Clew]) -> None:
    """A write through a store of its own, as another process would make it."""
    assert make_clew().dispatcher.call("probe_write", {}, Connection()).ok


class Notices:
    """The notifications a client of the handshake era received."""

    def __init__(self) -> None:
        self._received: asyncio.Queue[object] = asyncio.Queue()

    async def __call__(self, message: object) -> None:
        await self._received.put(message)

    async def next(self) -> object:
        with anyio.fail_after(PATIENCE):
            return await self._received.get()


async def test_a_subscriber_of_the_handshake_era_hears_of_changes(
    server: ClewServer, make_clew: Callable[..., Clew]
) -> None:
    notices = Notices()
    async with Client(server, mode="legacy", message_handler=notices) as client:
        await client.session.subscribe_resource("probe://written")
        write_elsewhere(make_clew)
        heard = await notices.next()
        assert isinstance(heard, ResourceUpdatedNotification) and heard.params.uri == "probe://written"
        assert text_of((await client.read_resource("probe://written")).contents[0]) == "1"
        await client.session.unsubscribe_resource("probe://written")


async def test_a_listener_of_the_stateless_era_hears_of_changes(
    server: ClewServer, make_clew: Callable[..., Clew]
) -> None:
    async with (
        Client(server, mode="auto") as client,
        client.listen(resource_subscriptions=["probe://written"]) as stream,
    ):
        write_elsewhere(make_clew)
        with anyio.fail_after(PATIENCE):
            assert await anext(aiter(stream)) == ResourceUpdated("probe://written")


async def test_a_changed_list_is_announced_to_every_connection(server: ClewServer) -> None:
    notices = Notices()
    async with Client(server, mode="legacy", message_handler=notices) as client:
        await client.list_tools()
        await server.bus.publish(ToolsListChanged())
        assert isinstance(await notices.next(), ToolListChangedNotification)


async def test_following_ends_with_the_last_subscriber(server: ClewServer) -> None:
    async with Client(server, mode="legacy") as client:
        await client.session.subscribe_resource("probe://written")
        await client.session.subscribe_resource("probe://written")
        follower = next(thread for thread in threading.enumerate() if thread.name == "clew-watch")
    follower.join(PATIENCE)
    assert not follower.is_alive()


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_cancelled_subscription_leaves_nothing_behind(server: ClewServer, clew: Clew) -> None:
    workers = Workers()
    watches = Watches(clew.dispatcher, clew.database, workers, InMemorySubscriptionBus())
    session = Connection()
    for _ in range(LIMIT + 1):
        asked = asyncio.create_task(watches.add("probe://written", session))
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
    release = await watches.add("probe://written", session)
    release()
    watches.close()
    workers.close()


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_one_client_cannot_take_every_watch(server: ClewServer, clew: Clew) -> None:
    workers = Workers()
    watches = Watches(clew.dispatcher, clew.database, workers, InMemorySubscriptionBus())
    greedy = Connection()
    for _ in range(PER_CLIENT):
        await watches.add("probe://written", greedy)
    with pytest.raises(MCPError):
        await watches.add("probe://written", greedy)
    (await watches.add("probe://written", Connection()))()
    watches.close()
    workers.close()
