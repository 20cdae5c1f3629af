"""Several processes on one workspace, and processes that die in the middle."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from clew.memory import blocks
from tests.memory.conftest import Memory

WORKER = Path(__file__).with_name("worker.py")
PROCESSES, EACH = 8, 15


def start(memory: Memory, flags: dict[str, Any], count: int, tag: str, what: str) -> subprocess.Popen[str]:
    named = {**{key: str(value) for key, value in flags.items()}, "memory_dir": str(memory.root)}
    command = [sys.executable, str(WORKER), json.dumps(named), str(count), tag, what]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def go(worker: subprocess.Popen[str]) -> None:
    assert worker.stdout is not None and worker.stdin is not None
    ready = worker.stdout.readline()
    assert ready, worker.stderr and worker.stderr.read()
    worker.stdin.write("go\n")
    worker.stdin.flush()


def test_eight_processes_get_distinct_ids(memory: Memory, database_flags: dict[str, Any]) -> None:
    memory("list_proposals")
    workers = [start(memory, database_flags, EACH, f"w{number}", "propose") for number in range(PROCESSES)]
    for worker in workers:
        go(worker)
    told = [json.loads(line) for worker in workers for line in worker.communicate(timeout=240)[0].splitlines()]
    assert all(worker.returncode == 0 for worker in workers)
    for name in ("signal_id", "proposal_id", "block_id"):
        assert len({item["proposed"][name] for item in told}) == PROCESSES * EACH
    memory("scan")
    assert memory.read("intelligence/SIGNALS.md").count("\n[SIG-") == PROCESSES * EACH
    assert memory("scan")["checks"]["pending_signals"] == PROCESSES * EACH
    memory.agree()


def heard(worker: subprocess.Popen[str], after: int) -> list[dict[str, Any]]:
    """What the worker acknowledged, killed a random moment after its `after`-th line."""
    assert worker.stdout is not None
    told: list[dict[str, Any]] = []
    timer: threading.Timer | None = None
    for line in worker.stdout:
        if not line.endswith("\n"):
            break
        told.append(json.loads(line))
        if len(told) == after:
            timer = threading.Timer(random.uniform(0, 0.03), worker.send_signal, [signal.SIGKILL])
            timer.start()
    worker.wait(timeout=60)
    if timer is not None:
        timer.join()
    return told


def test_a_process_killed_inside_an_apply_leaves_all_or_nothing(memory: Memory, database_flags: dict[str, Any]) -> None:
    memory.propose("Before everything")
    applied: set[str] = set()
    undone: set[str] = set()
    proposed: set[str] = set()
    for turn in range(5):
        worker = start(memory, database_flags, 1000, f"t{turn}", "apply")
        go(worker)
        for item in heard(worker, random.randint(1, 12)):
            proposed |= {item["proposed"]["proposal_id"]} if "proposed" in item else set()
            applied |= {item["applied"]["block_id"]} if "applied" in item else set()
            undone |= {item["undone"]["block_id"]} if "undone" in item else set()
        memory("scan")
        memory.agree()
    assert applied
    with memory.context().reading() as ctx:
        live = {block.id for block in blocks.current(ctx, prefix="D")}
        assert {block.id for block in blocks.current(ctx, prefix="P")} >= proposed
        assert not undone & live
        for block in applied - undone - live:
            assert blocks.history(ctx, block)[-1].origin == "rollback", "only an unheard rollback removes a block"
        for proposal in blocks.current(ctx, prefix="P"):
            assert (proposal.get("TargetBlock") in live) == (proposal.status == "applied")
            receipt = ctx.tx.one("SELECT * FROM receipt WHERE proposal = ?", proposal.id)
            assert (receipt is not None) == (proposal.status in ("applied", "rolled_back"))
    assert memory.clew.database.integrity() == []
