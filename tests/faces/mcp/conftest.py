from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import StdioServerParameters

from clew.app import Clew
from clew.faces.mcp.server import ClewServer, build_server
from tests.faces.mcp import operations
from tests.faces.mcp.process import ROOT, environment, http_process

ERAS = ("legacy", "auto")
"""How a client opens: with the handshake, or by discovery, which finds 2026-07-28."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server(clew: Clew) -> ClewServer:
    return build_server(clew, operations.extended())


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with http_process("tests.faces.mcp.serve", tmp_path_factory.mktemp("home"), "http") as found:
        yield found


@pytest.fixture
def stdio(database_flags: dict[str, Any]) -> StdioServerParameters:
    """A server of one's own, on the engine under test."""
    more = {"CLEW_DATABASE_URL": database_flags["database_url"]} if "database_url" in database_flags else {}
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.faces.mcp.serve", "stdio"],
        env=environment(database_flags["home"], **more),
        cwd=ROOT,
    )


def text_of(content: Any) -> str:
    """The text of a block of content; anything else than text has none, and the test fails."""
    text = content.text
    assert isinstance(text, str)
    return text
