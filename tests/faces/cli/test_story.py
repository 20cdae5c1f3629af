"""`clew demo` and `clew tour` show in a scratch directory what Clew does, through the public operations."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.faces.cli.conftest import Shell


@pytest.fixture
def week(clew: Shell, tmp_path: Path) -> dict[str, object]:
    made: dict[str, object] = json.loads(clew("--home", str(tmp_path / "lantern"), "demo", "--json").out)
    return made


def test_the_demo_tells_a_whole_week(clew: Shell, week: dict[str, object]) -> None:
    home, records = str(week["home"]), week["records"]
    assert isinstance(records, dict) and "last ended by editing relay.py" in str(week["told"])
    there = Shell(Path(str(week["project"])), Path(home))

    def asked(name: str, **arguments: str) -> dict[str, object]:
        words = [f"{key}={value}" for key, value in arguments.items()]
        line = ("--home", home, "--workspace", str(week["workspace"]), "call", name, *words, "--json")
        found: dict[str, object] = json.loads(there(*line).out)["result"]
        return found

    assert asked("open", id=records["three"])["status"] == "superseded"
    assert asked("open", id=records["jitter"])["status"] == "active"
    assert asked("list_proposals")["total"] == 2
    counts = asked("inbox_list")["counts"]
    assert isinstance(counts, dict) and counts["contradiction"] == 1, "there is something to decide"
    last = asked("events_list", limit="1")["events"]
    assert isinstance(last, list) and 50 < (time.time() - last[0]["ts_ms"] / 1000) / 60 < 70, "it ends an hour ago"
    thoughts = asked("session_list")["sessions"]
    assert isinstance(thoughts, list) and max(one["thoughtCount"] for one in thoughts) > 8, "reasoning to read"
    proofs = asked("tasks_proofs", task=records["hunt"])["evidence"]
    assert isinstance(proofs, list) and any(proof.get("stale") for proof in proofs)
    assert {proof["agent"] for proof in proofs} >= {"clew-prove", "mira"}
    shown = there("--home", home, "--workspace", str(week["workspace"]), "resume").out
    assert "REJECTED" in shown and "2 proposals" in shown and "otto" not in shown.splitlines()[0]


def test_the_demo_spares_a_store_that_is_there(clew: Shell, week: dict[str, object]) -> None:
    again = clew("--home", str(week["home"]), "demo", "--json")
    assert again.code != 0 and "holds a store already" in again.out + again.err


def test_the_demo_serves_the_page(clew: Shell, tmp_path: Path) -> None:
    words = [sys.executable, "-u", "-m", "clew", "--home", str(tmp_path / "d"), "demo", "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=clew.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        page = next(line.split()[1] for line in process.stdout if line.split()[:1] == ["page"])
        with urllib.request.urlopen(page) as answer:
            assert answer.status == 200
    finally:
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 0
        process.stdout.close()
        process.stderr.close()


def test_the_tour_walks_the_loop_by_itself(clew: Shell) -> None:
    ran = clew("tour", "--yes")
    assert ran.code == 0
    for sign in ("TASK-001 started", "nothing fits", "PROOF_REQUIRED", "PROVEN", "stale (files changed since: "):
        assert sign in ran.out
