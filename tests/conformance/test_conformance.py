"""The official conformance suite, both scored sets, with its fixtures added: over HTTP, and through shims."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.node import run_tool
from tests.faces.mcp.process import http_process
from tests.faces.resident.shims import Shim, served_by, settings

REVISIONS = ["2025-11-25", "2026-07-28"]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with http_process("tests.conformance.serve", tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory of a resident server whose connections have the suite's fixtures."""
    with served_by("tests.conformance.resident", tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(scope="module")
def bridge(home: Path) -> Iterator[str]:
    more = {name: value for name, value in settings(home).items() if name.startswith("CLEW_")}
    with http_process("tests.conformance.bridge", home, **more) as found:
        yield found


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_scored_set_passes(address: str, revision: str, tmp_path: Path) -> None:
    check(address, revision, tmp_path)


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_scored_set_passes_through_shims_and_the_resident_server(
    bridge: str, revision: str, tmp_path: Path
) -> None:
    check(bridge, revision, tmp_path)


def test_a_shim_of_the_stateless_era_answers_a_handshake_with_the_versions_it_serves(home: Path) -> None:
    """The one request that the bridge does not hand over: a pipe has one era, and HTTP answers for both."""
    with Shim(home) as shim:
        assert "2026-07-28" in shim.ask("server/discover", _meta=MODERN)["result"]["supportedVersions"]
        refused = shim.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={}, _meta=MODERN)
        assert refused["error"]["code"] == -32022 and refused["error"]["data"]["supported"] == ["2026-07-28"]


def check(address: str, revision: str, tmp_path: Path) -> None:
    command = ("conformance", "server", "--url", f"{address}/mcp", "--requirements", revision)
    run = run_tool(*command, home=tmp_path, timeout=240)
    summary = run.stdout.partition("=== SUMMARY ===")[2]
    print(summary)
    scored, _, unscored = summary.partition("Not scored")
    excused = {line.split()[1] for line in unscored.splitlines() if line.strip().startswith("✗")}
    failed = {line.split()[1].rstrip(":") for line in scored.splitlines() if line.startswith("✗")}
    assert failed <= excused
    assert scored.count("✓") >= 30
    assert run.returncode == 0, run.stdout + run.stderr
