"""The socket: subscribe to channels, get events. `ping` is answered with `pong`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

from clew.errors import ClewError
from clew.faces.web.gate import Gate
from clew.faces.web.live import Live, Message
from clew.faces.web.thoughts import ask, snapshot
from clew.ids import check_workspace

if TYPE_CHECKING:
    from clew.app import Clew

CHANNELS = ("reasoning", "sessions", "events")
BACKLOG = 5_000
LISTED = 100
MAX_MESSAGE = 10_000


class Sockets:
    """All open sockets, up to the limit."""

    def __init__(self, clew: Clew, gate: Gate, live: Live) -> None:
        self._clew = clew
        self._gate = gate
        self._live = live
        self.count = 0

    async def serve(self, socket: WebSocket) -> None:
        if not self._gate.may_follow(socket) or not self._gate.is_open(socket):
            await socket.close(1008, "not allowed")
            return
        await socket.accept()
        if self.count >= self._clew.settings.observatory_max_connections:
            await socket.close(1008, "Server at maximum capacity")
            return
        self.count += 1
        try:
            await Conversation(self._clew, self._live, socket).run()
        finally:
            self.count -= 1


class Conversation:
    """One socket: what it subscribed to, and what waits to be sent."""

    def __init__(self, clew: Clew, live: Live, socket: WebSocket) -> None:
        self._clew = clew
        self._live = live
        self._socket = socket
        self._wanted: dict[str, tuple[str, str | None]] = {}
        self._waiting: asyncio.Queue[str] = asyncio.Queue(BACKLOG)
        self._behind = False

    async def run(self) -> None:
        end = self._live.listen(self._hear)
        sender = asyncio.create_task(self._send())
        try:
            while True:
                await self._answer(await self._socket.receive_text())
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            end()
            sender.cancel()

    def _hear(self, workspace: str, messages: list[Message]) -> None:
        for message in messages:
            wanted = self._wanted.get(message["channel"])
            if wanted and wanted[0] == workspace and wanted[1] in (None, message["data"].get("sessionId")):
                self._put(message)

    def _put(self, message: Message | str) -> None:
        text = message if isinstance(message, str) else orjson.dumps(message).decode()
        if self._behind:
            return
        try:
            self._waiting.put_nowait(text)
        except asyncio.QueueFull:
            self._behind = True

    async def _send(self) -> None:
        while True:
            await self._socket.send_text(await self._waiting.get())
            if self._behind and self._waiting.empty():
                # It missed events; the page must draw anew from a snapshot.
                self._behind = False
                self._put({"channel": "system", "event": "behind", "data": {}})

    async def _answer(self, text: str) -> None:
        if text == "ping":
            self._put("pong")
            return
        try:
            asked = orjson.loads(text) if len(text) <= MAX_MESSAGE else None
            await self._act(asked)
        except orjson.JSONDecodeError:
            self._error("INVALID_PAYLOAD", "the message is not JSON")
        except ClewError as error:
            self._error(error.code, error.message)

    async def _act(self, asked: Any) -> None:
        action = asked.get("action") if isinstance(asked, dict) else None
        if isinstance(asked, dict) and asked.get("type") == "ping":
            self._put({"type": "pong"})
        elif action == "ping":
            self._put({"action": "pong"})
        elif action in {"subscribe", "unsubscribe"} and asked.get("channel") in CHANNELS:
            await self._change(action, asked)
        else:
            channels = ", ".join(CHANNELS)
            self._error("INVALID_PAYLOAD", f"expected {{action: subscribe|unsubscribe, channel: {channels}}}")

    async def _change(self, action: str, asked: dict[str, Any]) -> None:
        channel = asked["channel"]
        if action == "unsubscribe":
            self._wanted.pop(channel, None)
            self._put({"channel": channel, "event": "unsubscribed", "data": {}})
            return
        session = asked.get("sessionId")
        workspace = check_workspace(str(asked.get("workspace") or self._clew.settings.workspace))
        session = str(session) if session is not None else None
        # Listen first, then take the picture: an event in between comes twice rather than never.
        self._wanted[channel] = (workspace, session)
        self._put({"channel": channel, "event": "subscribed", "data": {"workspace": workspace, "sessionId": session}})
        if channel == "reasoning" and session is not None:
            picture = await anyio.to_thread.run_sync(snapshot, self._clew, workspace, session)
            self._put({"channel": channel, "event": "session:snapshot", "data": picture})
        elif channel == "sessions":
            found = await anyio.to_thread.run_sync(self._sessions, workspace)
            self._put({"channel": channel, "event": "sessions:list", "data": found})

    def _sessions(self, workspace: str) -> dict[str, Any]:
        return ask(self._clew, "session_list", workspace, limit=LISTED)

    def _error(self, code: str, message: str) -> None:
        self._put({"channel": "error", "event": "error", "data": {"code": code, "message": message}})
