"""`subscriptions/listen`: the stateless era's stream of change notices."""

from __future__ import annotations

from contextlib import ExitStack

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult

from clew.faces.mcp.connections import Connections
from clew.faces.mcp.request import Request
from clew.faces.mcp.watches import Watches


class Listening:
    """The SDK's handler, with the resources it names watched for as long as the stream is open."""

    def __init__(self, bus: InMemorySubscriptionBus, connections: Connections, watches: Watches) -> None:
        self._handler = ListenHandler(bus)
        self._connections = connections
        self._watches = watches

    async def listen(self, request: Request, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        session = self._connections.session(request)
        with ExitStack() as watched:
            for uri in dict.fromkeys(params.notifications.resource_subscriptions or ()):
                watched.callback(await self._watches.add(uri, session))
            return await self._handler(request, params)

    def close(self) -> None:
        self._handler.close()
