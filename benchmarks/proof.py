"""The cost of checking the files that proofs cover, each time an agent resumes.

A project of ten thousand files, one step proven over all of them. Resumed unchanged, with one file changed, and with
all of them touched but not changed, which is the worst case: every timestamp differs, so every file has to be read.
`cpu_p50_ms` is the cost, independent of other load of the machine.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks.report import Report, spread
from clew.app import Clew, open_clew
from clew.project_files import FRESH_NS, take_snapshot
from clew.registry.connection import Connection
from clew.settings import load_settings

FILES, FEW = 10_000, 1_000
ROUNDS = 9
TARGET_MS = 200


def build(root: Path, count: int) -> list[str]:
    names = [f"d{number % 100}/f{number}.py" for number in range(count)]
    for folder in {Path(name).parent for name in names}:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        (root / name).write_text(f"x = {number}\n")
    time.sleep(2 * FRESH_NS / 1e9)  # the files settle: younger ones are read, whatever their stamp
    return names


def prepare(root: Path, names: list[str] | None) -> Clew:
    """A task whose first step is proven over these files, or over none."""
    flags = {"home": root.parent / f"home-{bool(names)}", "workspace": "bench", "embedding_model": "none"}
    clew = open_clew(load_settings(flags, {}, root))
    call(clew, "start", title="Ten thousand", steps=["check; test: make check", "next"])
    if names:
        found = take_snapshot(root, names)
        given = {"task": "TASK-001", "path": "s:0", "command": "make check", "exit_code": 0}
        seen = Connection(toolset="full", durable=False, local=True, witness="prove")
        kept = clew.dispatcher.call(
            "tasks_receipt_record", {**given, "files": found.files, "stamps": found.stamps}, seen
        )
        assert kept.ok, kept.envelope["error"]
    call(clew, "close", unproven=None if names else "nothing to run")
    return clew


def call(clew: Clew, name: str, **arguments: object) -> str:
    connection = Connection(toolset="agent", client="benchmark", handle="one")
    given = {key: value for key, value in arguments.items() if value is not None}
    if name == "close":
        given["task"] = "TASK-001"
    answer = clew.dispatcher.call(name, given, connection)
    assert answer.ok, answer.envelope["error"]
    return answer.text


def resumed(clew: Clew, expected: str) -> tuple[list[float], list[float]]:
    """Seconds of wall time and of processor time, for a number of resumes."""
    taken, used = [], []
    for _ in range(ROUNDS):
        begun, cpu = time.perf_counter(), time.process_time()
        text = call(clew, "resume", task="TASK-001")
        taken.append(time.perf_counter() - begun)
        used.append(time.process_time() - cpu)
        assert expected in text, text
    return taken, used


def main(quick: bool = False) -> None:
    count = FEW if quick else FILES
    report = Report("proof", f"resume of a task whose proof covers {count} files (target: {TARGET_MS} ms)")
    folder = Path(tempfile.mkdtemp(prefix="clew-proof-"))
    try:
        root = folder / "project"
        names = build(root, count)
        bare, clew = prepare(root, None), prepare(root, names)
        _row(report, "no files covered", bare, "UNPROVEN")
        _row(report, "nothing changed", clew, "(proven)")
        (root / names[7]).write_text("y = 7\n")
        _row(report, "one file changed", clew, "STALE")
        (root / names[7]).write_text("x = 7\n")
        for name in names:
            os.utime(root / name)
        _row(report, "all touched, none changed", clew, "(proven)")
        bare.close()
        clew.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.save()


def _row(report: Report, what: str, clew: Clew, expected: str) -> None:
    taken, used = resumed(clew, expected)
    report.row(state=what, **spread(taken), cpu_p50_ms=sorted(used)[len(used) // 2] * 1000)


if __name__ == "__main__":
    main()
