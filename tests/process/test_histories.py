"""One order explains what many processes did and saw, also when some are killed."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from tests.process.histories import Op, check, heard, prepare, stored

PROCESSES, OPERATIONS = 4, 120


def test_one_order_explains_what_killed_and_living_processes_did(database_flags: dict[str, Any], clew: Clew) -> None:
    prepare(clew.database)
    home, url = str(Path(database_flags["home"])), database_flags.get("database_url", "")
    chance, heard_of, lock = random.Random(5), [], threading.Lock()

    def run(seed: int, killed_after: int | None) -> None:
        command = [sys.executable, "-m", "tests.process.histories", home, url, str(OPERATIONS), str(seed)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if killed_after is not None and len(lines) == killed_after:
                process.kill()
        process.wait()
        with lock:
            heard_of.extend(heard(lines))

    kills = [None, None, *(chance.randint(20, OPERATIONS) for _ in range(PROCESSES))]
    threads = [threading.Thread(target=run, args=(seed, after)) for seed, after in enumerate(kills)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([op for op in heard_of if op.outcome == "ok"]) >= 2 * OPERATIONS
    assert check(heard_of, stored(clew.database)) == []


def op(id: str, kind: str, begun: float, ended: float, position: int, outcome: str = "ok", value: str = "") -> Op:
    return Op(id, kind, "o", begun, ended, outcome, position, value)


@pytest.mark.parametrize(
    ("ops", "stored_ids"),
    [
        pytest.param([op("a", "write", 0, 1, 1)], [], id="an acknowledged write is lost"),
        pytest.param([op("a", "write", 0, 1, 1)], ["a", "a"], id="a write is stored twice"),
        pytest.param([op("a", "write", 0, 1, 0, "failed")], ["a"], id="a refused write is stored"),
        pytest.param([op("a", "write", 0, 1, 1), op("r", "read", 2, 3, 0)], ["a"], id="a read misses a write"),
        pytest.param(
            [op("a", "write", 0, 1, 2), op("b", "write", 2, 3, 1)], ["b", "a"], id="a later write stands before"
        ),
        pytest.param(
            [op("r", "read", 0, 1, 1, value="a"), op("a", "write", 2, 3, 1)], ["a"], id="a read sees the future"
        ),
        pytest.param([op("r", "read", 0, 1, 1, value="x"), op("a", "write", 0, 3, 1)], ["a"], id="a read is made up"),
        pytest.param([], ["a"], id="something is stored that nobody wrote"),
    ],
)
def test_what_no_order_explains_is_found(ops: list[Op], stored_ids: list[str]) -> None:
    assert check(ops, {"o": stored_ids})


def test_what_some_order_explains_is_accepted() -> None:
    ops = [
        op("a", "write", 0, 5, 1),
        op("b", "write", 1, 4, 2),
        op("lost", "write", 2, float("inf"), 0, "unknown"),
        op("never", "write", 2, float("inf"), 0, "unknown"),
        op("r", "read", 3, 6, 2, value="b"),
        op("s", "read", 7, 8, 3, value="lost"),
    ]
    assert check(ops, {"o": ["a", "b", "lost"]}) == []
