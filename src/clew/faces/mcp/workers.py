"""The few threads in which the synchronous dispatcher runs."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from clew.registry.connection import Host, host

THREADS = 4
WAITING = 60

Result = TypeVar("Result")


class CallSeat:
    """The right of one call to run; it is given back once, when the call begins to wait or when it ends."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._loop = asyncio.get_running_loop()
        self._held = [True]

    def give_back(self) -> None:
        """On the loop's own thread."""
        if self._held and self._held.pop():
            self._free.release()

    def leave(self, _: object = None) -> None:
        """From any thread. The loop is closed when the server ended while the work went on."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.give_back)


class Workers:
    """A bounded pool whose waiters can leave at any time.

    A cancelled caller returns at once. Work that has not started never starts; work that runs goes on, and its result
    is dropped. anyio's own pool would keep one thread more for each abandoned call.

    At most `threads` calls run at once. A call that waits for something outside (a notebook's cell, a client's model)
    keeps its thread and gives up its seat, so that waiting calls never keep others out.
    """

    def __init__(self, threads: int = THREADS, waiting: int = WAITING) -> None:
        self._threads = threads
        self._waiting = waiting
        self._stopping = threading.Event()
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], Result]) -> Result:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads + self._waiting, thread_name_prefix="clew-call")
            self._free = asyncio.Semaphore(self._threads)
            self._stopping.clear()
        await self._free.acquire()
        seat = CallSeat(self._free)
        context = contextvars.copy_context()
        context.run(host.set, Host(seat.leave, self._stopping.is_set))
        future = self._pool.submit(context.run, work)
        try:
            return await asyncio.wrap_future(future)
        finally:
            _end(future, seat)

    def close(self) -> None:
        """Waits for the calls that run; those still queued are dropped, those that wait are told to stop."""
        self._stopping.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def _end(future: Future[Any], seat: CallSeat) -> None:
    if future.done():
        seat.give_back()
    else:  # the caller left, the work goes on
        future.add_done_callback(seat.leave)
