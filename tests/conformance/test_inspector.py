"""The MCP Inspector's command line: an independent client, over both transports, in both eras."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.registry.catalogue import catalogue
from tests.conformance.node import run_tool
from tests.faces.mcp.process import environment, http_process
from tests.faces.resident.shims import ending

TOKEN = "inspector-token"
CALL = ("--method", "tools/call", "--tool-name", "notes_commit", "--tool-arg", "content=seen by the Inspector")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")
    more = {"CLEW_TOKEN": TOKEN, "CLEW_TOOLSET": "full"}
    with http_process("tests.faces.mcp.serve", home, "http", **more) as found:
        yield found


def inspect(scratch: Path, *args: str) -> Any:
    run = run_tool("mcp-inspector", "--cli", *args, "--format", "json", home=scratch)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)["result"]


def over_stdio(scratch: Path, resident: str, *args: str) -> Any:
    variables = environment(scratch / "clew", CLEW_TOOLSET="full", CLEW_RESIDENT=resident)
    given = [f"{name}={variables[name]}" for name in sorted(variables) if name.startswith(("CLEW_", "PYTHONPATH"))]
    flags = [word for pair in given for word in ("-e", pair)]
    return inspect(scratch, *flags, sys.executable, "-m", "clew", "serve", *args)


def over_http(scratch: Path, address: str, *args: str) -> Any:
    return inspect(scratch, f"{address}/mcp", "--header", f"Authorization: Bearer {TOKEN}", *args)


@pytest.mark.parametrize(("era", "resident"), [("legacy", "off"), ("modern", "on")])
def test_over_stdio(tmp_path: Path, era: str, resident: str) -> None:
    """Exit code 6 would mean a schema that some clients cannot use. With and without the resident server."""
    with ending(tmp_path / "clew"):
        listed = over_stdio(tmp_path, resident, "--protocol-era", era, "--method", "tools/list", "--strict")
        assert [tool["name"] for tool in listed["tools"]] == [entry.name for entry in catalogue().operations]
        answer = over_stdio(tmp_path, resident, "--protocol-era", era, *CALL)
        assert answer["structuredContent"]["success"] is True


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_over_http(tmp_path: Path, address: str, era: str) -> None:
    listed = over_http(tmp_path, address, "--protocol-era", era, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in listed["tools"]] == [entry.name for entry in catalogue().operations]
    answer = over_http(tmp_path, address, "--protocol-era", era, *CALL)
    assert answer["structuredContent"]["success"] is True
