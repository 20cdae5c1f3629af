"""The thread pool in which the synchronous dispatcher runs."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from clew.registry.connection import Host, host
from clew.registry.turns import SEATS, Ask, Turn, Turns, shared_turns

WAITING = 60
SWITCH = 0.0002
"""Seconds after which a running thread yields to a waiting one. With Python's default of 5 ms, a call that queries
the store thirty times in parallel with another one would wait 5 ms each time."""
LONG_SECONDS = 0.01
"""Threshold of processor seconds for a long operation: `think` takes a third of it."""
WEIGHT = 0.3
"""Weight of the last call of an operation in the estimate for the next one."""

Result = TypeVar("Result")


class Costs:
    """Recent processor seconds of each operation."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def is_long(self, operation: str) -> bool:
        return self._seconds.get(operation, 0.0) > LONG_SECONDS

    def add(self, operation: str, seconds: float) -> None:
        before = self._seconds.get(operation, seconds)
        self._seconds[operation] = before + WEIGHT * (seconds - before)


costs = Costs()


class CallSeat:
    """The seat of one call; it is released once, when the call begins to wait or when it ends."""

    def __init__(self, turns: Turns, turn: Turn) -> None:
        self._turns = turns
        self._turn = turn
        self._loop = asyncio.get_running_loop()

    def give_back(self) -> None:
        """Runs on the loop's own thread."""
        self._turns.give_back(self._turn)

    def measured(self, operation: str, work: Callable[[], Result]) -> Result:
        """Run the call in its thread, and record the time it used."""
        begun = time.thread_time()
        try:
            return work()
        finally:
            seconds = time.thread_time() - begun
            costs.add(operation, seconds)
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._turns.charge, self._turn.ask.caller, seconds)

    def leave(self, _: object = None) -> None:
        """From any thread. The loop is closed if the server ended while the work was still running."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.give_back)


class Workers:
    """A bounded pool of one server or conversation, whose waiters can be cancelled at any time.

    A cancelled caller returns at once. Work that has not started never starts; running work continues, and its result
    is dropped. anyio's own pool would keep one more thread for each abandoned call.

    A call runs when it is its turn (`turns`) among all calls of this process. One that waits for something outside (a
    notebook's cell, a client's model) keeps its thread and releases its seat, so that waiting calls block no others.
    """

    def __init__(self, turns: Turns | None = None, waiting: int = WAITING) -> None:
        self._turns = turns
        self._threads = (turns.seats if turns is not None else SEATS) + waiting
        self._stopping = threading.Event()
        self._pool: ThreadPoolExecutor | None = None

    async def run(
        self, work: Callable[[], Result], *, caller: Hashable = None, operation: str = "", is_ordered: bool = False
    ) -> Result:
        """`caller` shares its seats between calls; without it, all work of these workers has one caller."""
        pool = self._started()
        turns = self._turns or shared_turns()
        ask = Ask(self if caller is None else caller, is_ordered, costs.is_long(operation))
        seat = CallSeat(turns, await turns.take(ask))
        context = contextvars.copy_context()
        context.run(host.set, Host(seat.leave, self._stopping.is_set))
        try:
            future = pool.submit(context.run, seat.measured, operation, work)
        except RuntimeError:  # closed while the call waited for its turn
            seat.give_back()
            raise
        try:
            return await asyncio.wrap_future(future)
        finally:
            _end(future, seat)

    def _started(self) -> ThreadPoolExecutor:
        if self._pool is None:
            sys.setswitchinterval(SWITCH)
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="clew-call")
            self._stopping.clear()
        return self._pool

    def close(self) -> None:
        """Waits for the running calls; queued ones are dropped, waiting ones are asked to stop."""
        self._stopping.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def _end(future: Future[Any], seat: CallSeat) -> None:
    if future.done():
        seat.give_back()
    else:  # the caller left, the work continues
        future.add_done_callback(seat.leave)
