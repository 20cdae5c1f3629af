"""The few threads in which the synchronous dispatcher runs."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

THREADS = 4

Result = TypeVar("Result")


class Workers:
    """A bounded pool whose waiters can leave at any time.

    A cancelled caller returns at once: work that has not started never starts, work that runs goes on
    and its result is dropped. anyio's own pool would let every abandoned call keep a thread of its own.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], Result]) -> Result:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="clew-call")
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._pool, context.run, work)

    def close(self) -> None:
        """Waits for the calls that run; those still queued are dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
