"""What waits to be sent to one socket: bounded, and honest about it."""

from __future__ import annotations

import asyncio
from collections import deque

MESSAGES = 5_000
CHARACTERS = 8_000_000
BEHIND = '{"channel":"system","event":"behind","data":{}}'


class Outbox:
    """Events are put in without waiting. When a client reads too slowly they would pile up; then all that waits is
    thrown away and the client is told to start over from a new picture, so that nothing is missing unnoticed.

    Answers to what the client itself asked are posted: whoever writes them waits until there is room.
    """

    def __init__(self, messages: int = MESSAGES, characters: int = CHARACTERS) -> None:
        self._most, self._room = messages, characters
        self._waiting: deque[str] = deque()
        self._characters = 0
        self._changed = asyncio.Event()

    @property
    def size(self) -> tuple[int, int]:
        """Messages and characters that wait."""
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
        self._tell()
        return text

    def _is_full(self, text: str) -> bool:
        # A text that is larger than all the room still goes out, alone.
        crowded = len(self._waiting) >= self._most or self._characters + len(text) > self._room
        return bool(self._waiting) and crowded

    def _add(self, text: str) -> None:
        self._waiting.append(text)
        self._characters += len(text)
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _next_change(self) -> None:
        await self._changed.wait()
