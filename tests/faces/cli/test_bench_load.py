"""`clew bench load`: agents at a running server, and what it will not do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faces.cli.conftest import Shell
from tests.faces.web.server import Server

TOKEN = "correct-horse-battery-staple"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    place = tmp_path / "served"
    made = Server(place, CLEW_EMBEDDING_MODEL="none", CLEW_WORKSPACE_LOCK="false", CLEW_TOKEN=TOKEN)
    yield made
    made.stop()


def test_it_says_how_long_calls_take_and_writes_into_its_own_workspace(clew: Shell, server: Server) -> None:
    ran = clew("bench", "load", server.address, "--clients", "3", "--seconds", "2", "--json", env={"CLEW_TOKEN": TOKEN})
    found = ran.json
    assert (ran.code, found["problems"]) == (0, {})
    assert found["calls"] >= 3 and found["all_ms"]["p50"] <= found["all_ms"]["p99"]
    assert found["cpu_ms_per_call"] > 0
    page = {"authorization": f"Bearer {TOKEN}"}
    assert "bench-load" in str(server.call("workspace_list", page)["result"]["workspaces"])


def test_a_call_that_fails_is_counted_by_its_code_and_the_exit_says_so(clew: Shell, server: Server) -> None:
    ran = clew("bench", "load", server.address, "--clients", "1", "--seconds", "1", "--json")
    assert ran.code == 1 and ran.json["calls"] == 0, "without the token"


def test_another_machine_is_loaded_only_if_that_is_said(clew: Shell) -> None:
    refused = clew("bench", "load", "https://clew.example.com", "--json")
    assert refused.code == 1 and "--elsewhere" in refused.out + refused.err
    assert clew("bench", "load", "ftp://127.0.0.1", "--json").code != 0
