"""Eight processes on one store is the normal case: nothing lost, nothing doubled, nobody starved."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from tests.conftest import Caller

pytestmark = pytest.mark.timeout(600)
PROCESSES, WRITES = 8, 500


def start_writer(home: Path, url: str, count: int, label: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.process.writer", str(home), url, str(count), label]
    root = Path(__file__).resolve().parents[2]
    return subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def fire(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def reports(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    out, _ = process.communicate(timeout=500)
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def database_flags(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """A place where nothing is yet."""
    url = request.getfixturevalue("empty_postgres_url") if engine == "postgres" else None
    return {"home": tmp_path / "home", "database_url": url}


@pytest.fixture
def runs(database_flags: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """All start at once on an empty place, so this is the migration race as well."""
    home, url = database_flags["home"], database_flags["database_url"] or ""
    writers = [start_writer(home, url, WRITES, f"w{number}") for number in range(PROCESSES)]
    for writer in writers:
        fire(writer)
    return [reports(writer) for writer in writers]


def test_eight_processes_write_at_once(runs: list[list[dict[str, Any]]], clew: Clew) -> None:
    flat = [report for run in runs for report in run]
    assert [report["error"] for report in flat if not report["ok"]] == []
    assert sorted(report["seq"] for report in flat) == list(range(1, PROCESSES * WRITES + 1))
    with clew.database.read() as tx:
        assert tx.value("SELECT count(*) FROM entry") == PROCESSES * WRITES
        assert tx.value("SELECT count(*) FROM event WHERE type = 'note_committed'") == PROCESSES * WRITES
    assert clew.database.integrity() == []

    slowest = max(report["ended"] - report["begun"] for report in flat)
    print(f"slowest call {slowest:.3f} s")
    # Fair while all of them write: from the last start to the first end.
    begin = max(run[0]["begun"] for run in runs)
    end = min(run[-1]["ended"] for run in runs)
    shares = [sum(begin <= report["ended"] <= end for report in run) for run in runs]
    print(f"shares {shares}")
    # On a busy machine the scheduler deals out the shares, on a quiet one the store: about equal ones. Whoever starved
    # would have none, however busy it is.
    if sum(shares) > 400:
        assert min(shares) > 0


def test_each_write_is_shown_to_every_process(make_clew: Any) -> None:
    first, second = Caller(make_clew()), Caller(make_clew())
    first("notes_commit", content="from one")
    second("notes_commit", content="from two")
    assert first("show", doc_kind="notes")["entries"] == second("show", doc_kind="notes")["entries"]
