"""Cells that never end, on a real server: other clients are served, the server can be stopped, nothing stays."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from tests.ledger.cells import await_end, runtimes_below
from tests.ledger.serving import serving

pytest.importorskip("deno")
pytest.importorskip("pydantic_monty")
pytestmark = pytest.mark.anyio

CALLERS = 6
"""More than the server has threads to work in."""
LOOPS = "while (true);"
IDLE = {
    "waits.ts": "Deno.addSignalListener('SIGTERM', () => {}); setInterval(() => {}, 1000)",
    "sleeps.ts": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9)",
    "sleeps.py": "import time\nwhile True: time.sleep(10)",
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with serving(tmp_path) as found:
        yield found


async def result(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(name, {"fmt": "json", **arguments})
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    found: dict[str, Any] = answer.structured_content["result"]
    return found


class Endless:
    """A caller whose cell runs until someone stops it."""

    def __init__(self, address: str, code: str, filename: str = "cell1.ts") -> None:
        self._address = address
        self._code = code
        self._filename = filename
        self.asked = anyio.Event()
        self.running = anyio.Event()
        self.ending = False
        self.progress: list[tuple[float, float | None, str | None]] = []

    async def __call__(self) -> None:
        try:
            async with Client(self._address) as client:
                await self._run(client)
        except Exception:
            if not self.ending:  # the server is stopped under it, which is what the tests do
                raise

    async def _run(self, client: Client) -> None:
        notebook = (await result(client, "notebook_create", name="Endless"))["notebookId"]
        given = {"notebookId": notebook, "type": "code", "content": self._code, "filename": self._filename}
        cell = (await result(client, "notebook_add_cell", **given))["cell"]["id"]
        call = {"notebookId": notebook, "cellId": cell, "timeoutMs": 240_000}
        self.asked.set()
        await client.call_tool("notebook_run_cell", call, progress_callback=self._progressed)

    async def _progressed(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))
        self.running.set()


async def test_others_are_served_while_cells_loop_and_the_server_stops_when_told(
    server: tuple[str, subprocess.Popen[str]],
) -> None:
    address, process = server
    callers = [Endless(address, LOOPS) for _ in range(CALLERS)]
    with anyio.fail_after(100):
        async with anyio.create_task_group() as group:
            for caller in callers:
                group.start_soon(caller)
            for caller in callers:
                await caller.asked.wait()
            await first(callers)
            async with Client(address) as client:
                for number in range(10):
                    await result(client, "notes_commit", content=f"note {number}")
                    assert (await result(client, "status"))["workspace"]
            cells = runtimes_below(process.pid)
            assert 1 <= len(cells) <= 2, "two run at once, the others wait for their turn"
            for caller in callers:
                caller.ending = True
            process.send_signal(signal.SIGTERM)
            assert await anyio.to_thread.run_sync(lambda: process.wait(60)) is not None
            group.cancel_scope.cancel()
    assert all(await_end(pid) for pid in cells)
    told = next(caller.progress for caller in callers if caller.progress)
    assert told[0][1:] == (240.0, "cell1.ts is running")


async def first(callers: list[Endless]) -> None:
    """Until one of them is told that its cell runs."""
    async with anyio.create_task_group() as group:

        async def watch(caller: Endless) -> None:
            await caller.running.wait()
            group.cancel_scope.cancel()

        for caller in callers:
            group.start_soon(watch, caller)


@pytest.mark.parametrize("filename", IDLE)
async def test_a_server_that_is_killed_takes_its_idle_cells_with_it(
    server: tuple[str, subprocess.Popen[str]], filename: str
) -> None:
    address, process = server
    caller = Endless(address, IDLE[filename], filename)
    with anyio.fail_after(100):
        async with anyio.create_task_group() as group:
            group.start_soon(caller)
            await caller.running.wait()
            (cell,) = runtimes_below(process.pid)
            caller.ending = True
            os.kill(process.pid, signal.SIGKILL)
            assert await anyio.to_thread.run_sync(await_end, cell)
            group.cancel_scope.cancel()
