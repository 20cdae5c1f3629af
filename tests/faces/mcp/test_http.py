"""The HTTP server as a process."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client

from clew import __version__
from tests.faces.mcp.process import running


@pytest.mark.anyio
async def test_a_server_that_is_told_to_stop_ends_its_streams_and_goes(tmp_path: Path) -> None:
    with running("tests.faces.mcp.serve", tmp_path, "http") as server:
        async with (
            Client(f"{server.address}/mcp", mode="auto") as client,
            client.listen(tools_list_changed=True) as stream,
        ):
            server.process.terminate()
            with anyio.fail_after(10):
                assert [event async for event in stream] == []
        server.process.wait(10)


def test_health_says_what_is_running(address: str) -> None:
    answer = httpx2.get(f"{address}/health").json()
    assert (answer["status"], answer["server"], answer["version"]) == ("ok", "clew", __version__)


def test_the_stateless_era_has_no_stream_to_get(address: str) -> None:
    headers = {"accept": "text/event-stream", "mcp-protocol-version": "2026-07-28"}
    assert httpx2.get(f"{address}/mcp", headers=headers).status_code == 405
