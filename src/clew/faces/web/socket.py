"""The page's WebSocket: a client subscribes to channels and gets their events. `ping` is answered with `pong`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

from clew.errors import ClewError
from clew.faces.web.gate import PageGate
from clew.faces.web.live import LIGHT, Live, Message
from clew.faces.web.wire_shapes import ask, outlines, readable, snapshot
from clew.registry.credentials import Principal

if TYPE_CHECKING:
    from clew.app import Clew

logger = logging.getLogger(__name__)


MESSAGES = 5_000
CHARACTERS = 8_000_000
BEHIND = '{"channel":"system","event":"behind","data":{}}'


class Outbox:
    """Messages that wait to be sent to one client, within limits.

    Events are `put` without waiting. If a client reads too slowly, all pending messages are dropped and the client is
    notified to load a new snapshot, so that nothing is missing unnoticed. Responses to the client's own requests are
    `post`ed, which waits until there is room (backpressure).
    """

    def __init__(self, messages: int = MESSAGES, characters: int = CHARACTERS) -> None:
        self._most, self._room = messages, characters
        self._waiting: deque[str] = deque()
        self._characters = 0
        self._changed = asyncio.Event()

    @property
    def size(self) -> tuple[int, int]:
        """The number of pending messages and characters."""
        return len(self._waiting), self._characters

    def put(self, text: str) -> None:
        if self._is_full(text):
            self._waiting.clear()
            self._characters = 0
            self._add(BEHIND)
        else:
            self._add(text)

    async def post(self, text: str) -> None:
        while self._is_full(text):
            await self._next_change()
        self._add(text)

    async def take(self) -> str:
        while not self._waiting:
            await self._next_change()
        text = self._waiting.popleft()
        self._characters -= len(text)
        self._wake()
        return text

    def _is_full(self, text: str) -> bool:
        # An empty outbox is never full: a text larger than the limit is still sent, alone.
        crowded = len(self._waiting) >= self._most or self._characters + len(text) > self._room
        return bool(self._waiting) and crowded

    def _add(self, text: str) -> None:
        self._waiting.append(text)
        self._characters += len(text)
        self._wake()

    def _wake(self) -> None:
        """Notify every waiter once. Later waits use a new event, so none of them returns for an old change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def _next_change(self) -> None:
        await self._changed.wait()


CHANNELS = ("reasoning", "sessions", "events")
LISTED = 100
MAX_MESSAGE = 10_000
RECOGNIZED_FOR = 1.0
"""Seconds between two checks of an open socket's credentials."""


class Sockets:
    """All open sockets, up to the limit."""

    def __init__(self, clew: Clew, gate: PageGate, live: Live) -> None:
        self._clew = clew
        self._gate = gate
        self._live = live
        self.count = 0

    async def serve(self, socket: WebSocket) -> None:
        # The origin as well as the token: browsers let any site open a socket to this machine.
        principal = await self._gate.principal(socket)
        if not self._gate.may_follow(socket) or principal is None:
            await socket.close(1008, "not allowed")
            return
        # Accepted before it is closed: only then does the browser get the reason.
        await socket.accept()
        if self.count >= self._clew.settings.observatory_max_connections:
            await socket.close(1008, "Server at maximum capacity")
            return
        self.count += 1
        try:
            await SocketConversation(self._clew, self._gate, self._live, socket, principal).run()
        finally:
            self.count -= 1


@dataclass(frozen=True)
class Subscription:
    """A client's subscription on one channel."""

    channel: str
    workspace: str
    session: str | None
    outline: bool
    id: Any

    @property
    def feed(self) -> str:
        lighter = (feed for feed, channel in LIGHT.items() if channel == self.channel and self.outline)
        return next(lighter, self.channel)


class SocketConversation:
    """One socket: its subscriptions and its outbox."""

    def __init__(self, clew: Clew, gate: PageGate, live: Live, socket: WebSocket, principal: Principal) -> None:
        self._principal = principal
        self._recognized = time.monotonic()
        self._clew = clew
        self._gate = gate
        self._live = live
        self._socket = socket
        self._wishes: dict[str, Subscription] = {}
        self._outbox = Outbox()

    async def run(self) -> None:
        end = self._live.listen(self)
        sides = [asyncio.create_task(self._listen()), asyncio.create_task(self._send())]
        try:
            # The side that ends first ends the other: a client that cannot be written to is not read either.
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        finally:
            end()
            for side in sides:
                side.cancel()
            for ended in await asyncio.gather(*sides, return_exceptions=True):
                if isinstance(ended, Exception):
                    logger.error("a socket was given up", exc_info=ended)

    # Starlette raises RuntimeError, not WebSocketDisconnect, when a closed socket is used; both mean the same.
    async def _listen(self) -> None:
        try:
            while True:
                await self._answer(await self._socket.receive_text())
        except (WebSocketDisconnect, RuntimeError):
            pass

    async def _send(self) -> None:
        try:
            while True:
                text = await self._outbox.take()
                if not await self._is_still_known():
                    return await self._socket.close(1008, "not allowed any more")
                await self._socket.send_text(text)
        except (WebSocketDisconnect, RuntimeError):
            pass

    async def _is_still_known(self) -> bool:
        """A token may be revoked, and a person sign out, while the socket is open."""
        now = time.monotonic()
        if now - self._recognized < RECOGNIZED_FOR:
            return True
        self._recognized = now
        return await self._gate.principal(self._socket) == self._principal

    def feeds(self, workspace: str) -> set[str]:
        """The subscribed feeds. Called from the feed's thread while the loop may change the dict, hence the copy."""
        return {wish.feed for wish in list(self._wishes.values()) if wish.workspace == workspace}

    def hear(self, workspace: str, messages: list[Message]) -> None:
        wanted = {wish.feed: wish for wish in self._wishes.values() if wish.workspace == workspace}
        for message in messages:
            wish = wanted.get(message.feed)
            if wish and wish.session in (None, message.session):
                self._outbox.put(message.text)

    async def _answer(self, text: str) -> None:
        if text == "ping":
            await self._outbox.post("pong")
            return
        asked: Any = None
        try:
            asked = orjson.loads(text) if len(text) <= MAX_MESSAGE else None
            await self._act(asked)
        except orjson.JSONDecodeError:
            await self._error("INVALID_PAYLOAD", "the message is not JSON")
        except ClewError as error:
            await self._error(error.code, error.message, _plain_id(asked.get("id")))

    async def _act(self, asked: Any) -> None:
        action = asked.get("action") if isinstance(asked, dict) else None
        if isinstance(asked, dict) and asked.get("type") == "ping":
            await self._outbox.post('{"type":"pong"}')
        elif action == "ping":
            await self._outbox.post('{"action":"pong"}')
        elif action == "subscribe" and asked.get("channel") in CHANNELS:
            await self._subscribe(self._wish(asked))
        elif action == "unsubscribe" and asked.get("channel") in CHANNELS:
            self._wishes.pop(asked["channel"], None)
            await self._tell(asked["channel"], "unsubscribed", {})
        else:
            channels = ", ".join(CHANNELS)
            await self._error("INVALID_PAYLOAD", f"expected {{action: subscribe|unsubscribe, channel: {channels}}}")

    def _wish(self, asked: dict[str, Any]) -> Subscription:
        session, workspace = asked.get("sessionId"), asked.get("workspace")
        return Subscription(
            asked["channel"],
            readable(self._clew, self._principal, str(workspace) if workspace else None),
            str(session) if session is not None else None,
            asked.get("outline") is True,
            _plain_id(asked.get("id")),
        )

    async def _subscribe(self, wish: Subscription) -> None:
        # Subscribe first, then read the snapshot: an event in between arrives twice instead of never.
        self._wishes[wish.channel] = wish
        await self._live.ready()
        accepted = {"workspace": wish.workspace, "sessionId": wish.session}
        await self._tell(wish.channel, "subscribed", accepted | ({"id": wish.id} if wish.id is not None else {}))
        if wish.feed == "outline" and wish.session is not None:
            await self._tell_outline(wish.workspace, wish.session)
        elif wish.feed == "reasoning" and wish.session is not None:
            picture = await anyio.to_thread.run_sync(snapshot, self._clew, wish.workspace, wish.session)
            await self._tell(wish.channel, "session:snapshot", picture)
        elif wish.channel == "sessions":
            found = await anyio.to_thread.run_sync(self._sessions, wish.workspace)
            await self._tell(wish.channel, "sessions:list", found)

    async def _tell_outline(self, workspace: str, session: str) -> None:
        """Send the outline page by page; the next page is read only once the one before fits into the outbox."""
        parts = outlines(self._clew, workspace, session)
        while (part := await anyio.to_thread.run_sync(next, parts, None)) is not None:
            await self._tell("reasoning", "session:outline", part)

    def _sessions(self, workspace: str) -> dict[str, Any]:
        return ask(self._clew, "session_list", workspace, limit=LISTED)

    async def _tell(self, channel: str, event: str, data: dict[str, Any]) -> None:
        await self._outbox.post(orjson.dumps({"channel": channel, "event": event, "data": data}).decode())

    async def _error(self, code: str, message: str, id: Any = None) -> None:
        data = {"code": code, "message": message} | ({"id": id} if id is not None else {})
        await self._tell("error", "error", data)


def _plain_id(id: Any) -> Any:
    """An id that can be sent back. Deeply nested JSON can be parsed but not serialised again, so it is dropped."""
    return id if isinstance(id, str | int | float) else None
