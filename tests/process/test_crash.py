"""`kill -9` at random moments: what was acknowledged is there, and the index agrees with the data."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.index.search import index_gaps
from tests.process.test_many_writers import fire, start_writer
from tests.waiting import PATIENCE

pytestmark = pytest.mark.timeout(600)  # a hundred processes, on a machine that may be busy
ROUNDS = 100
AT_ONCE = 4


def acknowledged(process: subprocess.Popen[str], after: int) -> list[int]:
    """The seqs that a writer reported, killed a random moment after its `after`-th report."""
    assert process.stdout is not None
    seqs: list[int] = []
    timer: threading.Timer | None = None
    for line in process.stdout:
        if not line.endswith("\n"):
            break  # killed while telling: acknowledged or not, nobody heard it
        seqs.append(json.loads(line)["seq"])
        if len(seqs) == after:
            timer = threading.Timer(random.uniform(0, 0.005), process.send_signal, [signal.SIGKILL])
            timer.start()
    process.wait(timeout=PATIENCE)
    if timer is not None:
        timer.join()
    return seqs


def test_nothing_acknowledged_is_lost_when_writers_are_killed(database_flags: dict[str, Any], clew: Clew) -> None:
    home, url = Path(database_flags["home"]), database_flags.get("database_url", "")
    known: set[int] = set()
    for batch in range(ROUNDS // AT_ONCE):
        writers = [start_writer(home, url, 10_000, f"b{batch}w{number}") for number in range(AT_ONCE)]
        for writer in writers:
            fire(writer)
        threads = [
            threading.Thread(target=lambda w=writer: known.update(acknowledged(w, random.randint(1, 12))))
            for writer in writers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(known) >= ROUNDS
    assert clew.database.integrity() == []
    with clew.database.read() as tx:
        stored = {row["seq"] for row in tx.all("SELECT seq FROM entry WHERE workspace = 'ws'")}
        assert known <= stored
        assert stored == set(range(1, max(stored) + 1))
        assert tx.value("SELECT seq FROM workspace WHERE id = 'ws'") == max(stored)
        assert tx.value("SELECT count(*) FROM item WHERE workspace = 'ws'") == len(stored)
        assert index_gaps(tx, "ws") == 0
