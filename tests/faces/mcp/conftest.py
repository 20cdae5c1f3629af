from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from clew.app import Clew, open_clew
from clew.faces.mcp.server import ClewServer, build_server
from clew.settings import load_settings
from tests.faces.mcp import operations
from tests.faces.mcp.process import ROOT, environment, http_process

ERAS = ("legacy", "auto")
"""How a client opens: with the handshake, or by discovery, which finds 2026-07-28."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clew(tmp_path: Path) -> Iterator[Clew]:
    opened = open_clew(load_settings({"home": str(tmp_path), "workspace": "probe"}, environ={}))
    yield opened
    opened.close()


@pytest.fixture
def server(clew: Clew) -> ClewServer:
    return build_server(clew, operations.extended())


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with http_process("tests.faces.mcp.serve", tmp_path_factory.mktemp("home"), "http") as found:
        yield found


@pytest.fixture
def stdio(tmp_path: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "tests.faces.mcp.serve", "stdio"],
        env=environment(tmp_path),
        cwd=ROOT,
    )
