"""Progress of a call, from the worker thread that makes it to the client that waits."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from clew.faces.mcp.request import Request


class Progress:
    """Callable from any thread; reports that do not move forward are left out, as the protocol asks."""

    def __init__(self, request: Request) -> None:
        self._session = request.session
        self._loop = asyncio.get_running_loop()
        self._last = float("-inf")
        self._tasks: list[asyncio.Task[None]] = []

    def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if progress <= self._last:
            return
        self._last = progress
        # The loop is closed when the client left and the server ended while the work went on.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._send, progress, total, message)

    def _send(self, progress: float, total: float | None, message: str | None) -> None:
        report = self._session.report_progress(progress, total, message)
        self._tasks.append(self._loop.create_task(report))

    async def delivered(self) -> None:
        """Waits until every report is on the wire, so that none comes after the result."""
        if self._tasks:
            await asyncio.wait(self._tasks)
