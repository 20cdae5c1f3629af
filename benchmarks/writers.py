"""One and eight processes writing durably to one store: throughput, fairness, the longest waits."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.client import ROOT
from benchmarks.report import Report
from benchmarks.stores import ENGINES, Store, fill_notes, fresh_store


def start(store: Store, count: int, label: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.process.writer", str(store.home), store.url, str(count), label]
    env_path = {"PYTHONPATH": str(ROOT / "src")}
    import os

    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **env_path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(store: Store, processes: int, count: int) -> list[list[dict[str, Any]]]:
    writers = [start(store, count, f"w{number}") for number in range(processes)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    return [[json.loads(line) for line in writer.communicate()[0].splitlines()] for writer in writers]


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    count = 100 if quick else 500
    report = Report("writers", "Processes writing to one store, each write acknowledged and durable")
    for engine in engines:
        for processes in (1, 8):
            with fresh_store(engine) as store:
                fill_notes(store, 1)
                runs = run(store, processes, count)
            report.row(engine=engine, processes=processes, **figures(runs))
    report.save()


def figures(runs: list[list[dict[str, Any]]]) -> dict[str, Any]:
    flat = [item for one in runs for item in one]
    begin, end = max(one[0]["begun"] for one in runs), min(one[-1]["ended"] for one in runs)
    shares = [sum(begin <= item["ended"] <= end for item in one) for one in runs]
    seqs = [item["seq"] for item in flat if item["ok"]]
    together = sum(shares) / (end - begin) if end > begin else 0.0
    return {
        "acknowledged": len(seqs),
        "distinct": len(set(seqs)),
        "errors": sum(not item["ok"] for item in flat),
        "writes_per_s": together,
        "worst_wait_s": max(item["ended"] - item["begun"] for item in flat),
        "slowest_share": min(shares) / max(max(shares), 1),
        "target": ">= 500/s, worst < 1 s, share >= 0.25",
    }


if __name__ == "__main__":
    main()
