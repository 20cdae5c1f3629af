"""Whose call runs next: counted in calls, not in seconds."""

from __future__ import annotations

from collections.abc import Hashable

import anyio
import pytest

from clew.registry.turns import Ask, Turn, Turns

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Line:
    """Calls that ask for a seat; each notes its name when it gets one, and keeps it until it is told to end."""

    def __init__(self, turns: Turns, group: anyio.abc.TaskGroup) -> None:
        self.turns, self.group = turns, group
        self.begun: list[str] = []
        self.running: dict[str, Turn] = {}

    async def ask(self, name: str, caller: Hashable, **needs: bool) -> None:
        async def wait() -> None:
            turn = await self.turns.take(Ask(caller, **needs))
            self.begun.append(name)
            self.running[name] = turn

        self.group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()

    async def end(self, name: str, seconds: float = 0.02) -> None:
        turn = self.running.pop(name)
        self.turns.charge(turn.ask.caller, seconds)
        self.turns.give_back(turn)
        await anyio.wait_all_tasks_blocked()

    async def end_all(self) -> None:
        while self.running:
            await self.end(next(iter(self.running)))


async def test_somebody_who_asks_now_and_then_waits_for_one_call_and_not_for_a_pile() -> None:
    async with anyio.create_task_group() as group:
        line = Line(Turns(seats=2), group)
        for number in range(6):
            for caller in range(8):
                await line.ask(f"pile-{caller}-{number}", caller)
        for caller in range(8):
            await line.end(f"pile-{caller}-0")
        for again in range(4):
            await line.ask(f"victim-{again}", "victim")
            await line.end(next(iter(line.running)))
            assert line.begun[-1] == f"victim-{again}", "the next seat is for whoever used the least"
            await line.end(f"victim-{again}", seconds=0.003)
        await line.end_all()


async def test_callers_without_end_get_equal_shares_of_the_processor() -> None:
    used = {"a": 0.0, "b": 0.0}
    async with anyio.create_task_group() as group:
        line = Line(Turns(seats=1), group)
        for number in range(300):
            for caller in used:
                await line.ask(f"{caller}-{number}", caller)
        while sum(used.values()) < 2:
            name = next(iter(line.running))
            seconds = 0.01 if name.startswith("a") else 0.03
            used[name[0]] += seconds
            await line.end(name, seconds)
        await line.end_all()
    assert 0.8 < used["a"] / used["b"] < 1.25


async def test_turns_go_round_among_callers() -> None:
    async with anyio.create_task_group() as group:
        line = Line(Turns(seats=1), group)
        for name in ("a1", "a2", "a3", "b1", "b2", "c1"):
            await line.ask(name, name[0])
        await line.end_all()
        assert line.begun == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def test_long_calls_never_have_all_seats() -> None:
    async with anyio.create_task_group() as group:
        line = Line(Turns(seats=3, long_seats=1), group)
        for number in range(3):
            await line.ask(f"long-{number}", number, is_long=True)
        await line.ask("short-1", "a")
        await line.ask("short-2", "b")
        assert line.begun == ["long-0", "short-1", "short-2"]
        await line.end("short-1")
        assert line.begun[3:] == [], "a free seat does not let a second long call in"
        await line.end("long-0")
        assert line.begun[3:] == ["long-1"]
        await line.end_all()


async def test_what_one_connection_writes_runs_in_order_and_its_reads_need_not_wait() -> None:
    async with anyio.create_task_group() as group:
        line = Line(Turns(seats=4, long_seats=1), group)
        await line.ask("w1", "one", is_ordered=True)
        await line.ask("w2", "one", is_ordered=True)
        await line.ask("w3", "one", is_ordered=True)
        await line.ask("read", "one")
        await line.ask("w of another", "two", is_ordered=True)
        assert line.begun == ["w1", "read", "w of another"]
        await line.end("w1")
        assert line.begun[3:] == ["w2"]
        await line.end_all()
        assert line.begun[4:] == ["w3"]


async def test_a_long_write_that_waits_is_not_overtaken_by_a_later_write() -> None:
    async with anyio.create_task_group() as group:
        line = Line(Turns(seats=4, long_seats=1), group)
        await line.ask("long", "other", is_long=True)
        await line.ask("w1", "one", is_ordered=True, is_long=True)
        await line.ask("w2", "one", is_ordered=True)
        assert line.begun == ["long"]
        await line.end("long")
        await line.end("w1")
        assert line.begun == ["long", "w1", "w2"]
        await line.end_all()


async def test_a_call_that_is_cancelled_while_it_waits_leaves_no_trace() -> None:
    async with anyio.create_task_group() as group:
        line = Line(Turns(seats=1), group)
        await line.ask("first", "a")
        with anyio.move_on_after(0):
            await line.turns.take(Ask("b", is_ordered=True))
        await line.ask("later", "b", is_ordered=True)
        await line.end("first")
        assert line.begun == ["first", "later"]
        await line.end_all()
