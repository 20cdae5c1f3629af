"""The threads that calls run in: few of them work, and those that only wait keep nobody out."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import pytest

from clew.registry.connection import outside
from clew.registry.turns import Turns
from clew.registry.workers import Workers
from tests.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Held:
    """Work that begins, and goes on only when it is released; outside of the pool's seats if asked."""

    def __init__(self, waits_outside: bool) -> None:
        self.release = threading.Event()
        self.begun = threading.Semaphore(0)
        self._waits_outside = waits_outside

    def __call__(self) -> bool:
        if not self._waits_outside:
            self.begun.release()
            return self.release.wait(PATIENCE)
        with outside():
            self.begun.release()
            return self.release.wait(PATIENCE)

    async def has_begun(self, times: int) -> None:
        for _ in range(times):
            assert await anyio.to_thread.run_sync(lambda: self.begun.acquire(timeout=PATIENCE))


async def test_calls_that_wait_outside_let_others_run() -> None:
    workers, held = Workers(Turns(2)), Held(waits_outside=True)
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(workers.run, held)
        await held.has_begun(8)
        assert await workers.run(lambda: "answered") == "answered"
        held.release.set()
    workers.close()


async def test_no_more_calls_work_at_once_than_there_are_seats() -> None:
    workers, held = Workers(Turns(2)), Held(waits_outside=False)
    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(workers.run, held)
        await held.has_begun(2)
        assert not held.begun.acquire(timeout=0.05), "a third call must not have begun"
        held.release.set()
    workers.close()


async def test_a_caller_who_leaves_gives_the_seat_back_when_the_work_is_done() -> None:
    workers, held = Workers(Turns(1)), Held(waits_outside=False)
    async with anyio.create_task_group() as group:
        group.start_soon(workers.run, held)
        await held.has_begun(1)
        group.cancel_scope.cancel()
    held.release.set()
    assert await workers.run(lambda: "answered") == "answered"
    workers.close()


async def test_those_who_wait_are_told_when_the_server_ends() -> None:
    workers, begun = Workers(Turns(1)), threading.Event()
    stopped: list[bool] = []

    def wait() -> None:
        with outside() as stopping:
            begun.set()
            stopped.append(_until(stopping))

    async with anyio.create_task_group() as group:
        group.start_soon(workers.run, wait)
        assert await anyio.to_thread.run_sync(lambda: begun.wait(PATIENCE))
        await anyio.to_thread.run_sync(workers.close)
    assert stopped == [True]
    assert await workers.run(lambda: "again") == "again"
    workers.close()


def _until(condition: Callable[[], bool]) -> bool:
    tick = threading.Event()
    return any(condition() or tick.wait(0.01) for _ in range(int(PATIENCE) * 100))


def test_work_outside_of_any_server_waits_like_any_other() -> None:
    with outside() as stopping:
        assert not stopping()
