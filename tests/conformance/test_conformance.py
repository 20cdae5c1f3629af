"""The official conformance suite, both scored sets, against our server with the suite's fixtures added."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.node import run_tool
from tests.faces.mcp.process import http_process


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with http_process("tests.conformance.serve", tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_scored_set_passes(address: str, revision: str, tmp_path: Path) -> None:
    run = run_tool("conformance", "server", "--url", f"{address}/mcp", "--requirements", revision, home=tmp_path)
    summary = run.stdout.partition("=== SUMMARY ===")[2]
    print(summary)
    scored, _, unscored = summary.partition("Not scored")
    excused = {line.split()[1] for line in unscored.splitlines() if line.strip().startswith("✗")}
    failed = {line.split()[1].rstrip(":") for line in scored.splitlines() if line.startswith("✗")}
    assert failed <= excused
    assert scored.count("✓") >= 30
    assert run.returncode == 0, run.stdout + run.stderr
