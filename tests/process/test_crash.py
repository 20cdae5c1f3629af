"""`kill -9` at random moments: what was acknowledged is there, and the index agrees with the data."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.index.item_reads import index_gaps
from tests.waiting import PATIENCE

pytestmark = pytest.mark.timeout(600)  # a hundred processes, on a machine that may be busy
ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 100
AT_ONCE = 4


@pytest.fixture
def breeder(database_flags: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.process.breeder"]
    place = [str(database_flags["home"]), database_flags.get("database_url", "")]
    with subprocess.Popen(
        [*command, *place], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(PATIENCE)


def acknowledged(breeder: subprocess.Popen[str], batch: int) -> list[int]:
    """The seqs that some writers reported, each killed a random moment after one of its first reports."""
    assert breeder.stdin is not None and breeder.stdout is not None
    breeder.stdin.write(" ".join(f"b{batch}w{number}" for number in range(AT_ONCE)) + "\n")
    breeder.stdin.flush()
    seqs: list[int] = []
    left: dict[int, int] = {}
    timers: list[threading.Timer] = []
    for line in breeder.stdout:
        report = json.loads(line)
        if "batch" in report:
            break
        assert "error" not in report, report
        seqs.append(report["seq"])
        pid = report["pid"]
        left[pid] = left.get(pid, random.randint(1, 12)) - 1
        if left[pid] == 0:
            timers.append(threading.Timer(random.uniform(0, 0.005), os.kill, [pid, signal.SIGKILL]))
            timers[-1].start()
    for timer in timers:
        timer.join()
    assert len(timers) == AT_ONCE, "each was killed, none ended by itself"
    return seqs


def test_nothing_acknowledged_is_lost_when_writers_are_killed(breeder: subprocess.Popen[str], clew: Clew) -> None:
    known = {seq for batch in range(ROUNDS // AT_ONCE) for seq in acknowledged(breeder, batch)}
    assert len(known) >= ROUNDS
    assert clew.database.integrity() == []
    with clew.database.read() as tx:
        stored = {row["seq"] for row in tx.all("SELECT seq FROM entry WHERE workspace = 'ws'")}
        assert known <= stored
        assert stored == set(range(1, max(stored) + 1))
        assert tx.value("SELECT seq FROM workspace WHERE id = 'ws'") == max(stored)
        assert tx.value("SELECT count(*) FROM item WHERE workspace = 'ws'") == len(stored)
        assert index_gaps(tx, "ws") == 0
