"""Real servers under callers that ask for more than their share; order is counted, not time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from benchmarks.everyday_store import fill
from benchmarks.http_client import HEADERS, OPENING, http_server

from clew.app import open_clew
from clew.settings import load_settings

LOOPING, AT_ONCE, ASKED = 8, 6, 8
BOUND = 12
"""Calls of others that end while somebody waits, of the 48 that are under way: one of each, and those that run."""


class Client:
    """A session over HTTP that may have many calls under way."""

    def __init__(self, address: str, client: httpx2.AsyncClient) -> None:
        self._address, self._client, self._headers = address, client, dict(HEADERS)

    async def open(self) -> Client:
        answer = await self._post("initialize", OPENING)
        self._headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        return self

    async def call(self, name: str, **arguments: Any) -> None:
        answer = await self._post("tools/call", {"name": name, "arguments": arguments})
        assert answer.status_code == 200 and '"isError":false' in answer.text.replace(" ", ""), answer.text[:300]

    async def _post(self, method: str, params: dict[str, Any]) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await self._client.post(self._address, json=message, headers=self._headers, timeout=120)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_one_who_loops_on_eight_connections_holds_up_another_by_a_bounded_number_of_calls(tmp_path: Path) -> None:
    ended = 0

    async def loop(client: Client) -> None:
        nonlocal ended
        while True:
            await client.call("resume")
            ended += 1

    # Enough to resume that the server, and not this client, is what calls wait for.
    with closing(open_clew(load_settings({"home": tmp_path, "workspace": "bench"}, {}, tmp_path))) as clew:
        fill(clew, "bench", 2_000)
    limits = httpx2.Limits(max_connections=100)
    with http_server(tmp_path) as (address, _):
        async with httpx2.AsyncClient(limits=limits) as http, anyio.create_task_group() as group:
            victim = await Client(address, http).open()
            await victim.call("think", text="Warm.")
            for _ in range(LOOPING):
                agent = await Client(address, http).open()
                for _ in range(AT_ONCE):
                    group.start_soon(loop, agent)
            waited = []
            for number in range(ASKED):
                before = ended
                await victim.call("think", text=f"Thought {number}")
                waited.append(ended - before)
            group.cancel_scope.cancel()
    assert sorted(waited)[ASKED // 2] <= BOUND, waited
