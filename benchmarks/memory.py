"""Governed memory at 50,000 blocks: apply, a hand edit until it is found, scan; beside mind-mem on the same files.

The peer runs when the environment variable `MIND_MEM_PYTHON` names an interpreter that has the package.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import Report, spread
from clew.app import Clew, open_clew
from clew.registry.session import Session
from clew.settings import load_settings

BLOCKS = 50_000
PATIENCE = 60
DECISIONS = "decisions/DECISIONS.md"
_HEAD = "# Decisions\n\n---\n\n"


def main(quick: bool = False) -> None:
    blocks, rounds = (2_000, 5) if quick else (BLOCKS, 15)
    report = Report("memory", f"Governed memory with {blocks} decisions")
    folder = Path(tempfile.mkdtemp(prefix="clew-bench-memory-"))
    try:
        root = folder / "memory"
        write_decisions(root, blocks)
        measure_clew(report, folder, root, rounds)
        peer = os.environ.get("MIND_MEM_PYTHON")
        if peer:
            write_decisions(folder / "peer", blocks)
            measure_peer(report, peer, folder / "peer")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.save()


def write_decisions(root: Path, count: int) -> None:
    """Decisions of ten lines with words of a skewed vocabulary, always the same ones."""
    chance = random.Random(7)
    words = [f"word{number}" for number in range(20_000)]

    def sentence(size: int) -> str:
        return " ".join(words[int(chance.paretovariate(0.9)) % len(words)] for _ in range(size))

    def block(number: int) -> str:
        day = f"{2020 + number % 6}{1 + number % 12:02d}{1 + number % 28:02d}"
        return (
            f"[D-{day}-{number:05d}]\nDate: {day[:4]}-{day[4:6]}-{day[6:]}\nStatus: active\nScope: global\n"
            f"Statement: {sentence(18)}\nRationale: {sentence(12)}\nSupersedes: none\n"
            f"Tags: {words[number % 50]}, {words[number % 7]}\nSources:\n- log\n\n---\n\n"
        )

    path = root / DECISIONS
    path.parent.mkdir(parents=True)
    path.write_text(_HEAD + "".join(map(block, range(count))), encoding="utf-8")


def measure_clew(report: Report, folder: Path, root: Path, rounds: int) -> None:
    flags = {"home": folder / "home", "workspace": "bench", "workspace_lock": False, "memory_dir": root}
    clew = open_clew(load_settings(flags, {}, folder))
    try:
        report.row(system="clew", what="read the files in", **spread([timed(clew, "list_proposals")]))
        timed(clew, "recall", query="word1")
        report.row(system="clew", what="propose", **spread(proposing(clew, rounds)))
        report.row(system="clew", what="apply", **spread(applying(clew, rounds)))
        report.row(system="clew", what="hand edit to searchable", **spread(editing(clew, root, rounds)))
        report.row(system="clew", what="scan", **spread([timed(clew, "scan") for _ in range(3)]))
    finally:
        clew.close()


def call(clew: Clew, name: str, **arguments: Any) -> dict[str, Any]:
    answer = clew.dispatcher.call(name, arguments, Session(toolset="full"))
    assert answer.ok, answer.envelope["error"]
    return dict(answer.envelope["result"])


def clocked(action: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    done = action()
    return done, time.perf_counter() - started


def timed(clew: Clew, name: str, **arguments: Any) -> float:
    return clocked(lambda: call(clew, name, **arguments))[1]


def proposing(clew: Clew, rounds: int) -> list[float]:
    said = [f"Adopt component alpha{number} for the gateway" for number in range(rounds)]
    return [timed(clew, "propose_update", block_type="decision", statement=text) for text in said]


def applying(clew: Clew, rounds: int) -> list[float]:
    waiting = call(clew, "list_proposals", status="staged", limit=200)["proposals"][:rounds]
    return [timed(clew, "approve_apply", proposal_id=item["proposal_id"], dry_run=False) for item in waiting]


def editing(clew: Clew, root: Path, rounds: int) -> list[float]:
    """A word changed somewhere in the file, saved, and asked for."""
    taken = []
    for number in range(rounds):
        edit(root / DECISIONS, number, rounds)
        hits, seconds = clocked(lambda n=number: call(clew, "recall", query=f"kestrel{n}zz"))
        assert hits["results"], "the edit is found"
        taken.append(seconds)
    return taken


def edit(path: Path, number: int, rounds: int) -> None:
    text = path.read_text(encoding="utf-8")
    place = text.index("Statement: ", len(text) * number // (rounds + 1)) + len("Statement: ")
    path.write_text(f"{text[:place]}kestrel{number}zz {text[place:]}", encoding="utf-8")


_PEER = """
import contextlib, io, sys, time
from pathlib import Path
from mind_mem.init_workspace import init
from mind_mem.sqlite_index import build_index, query_index

root = sys.argv[1]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    init(root)
    started = time.perf_counter()
    build_index(root)
    print(f"read the files in\\t{time.perf_counter() - started}", file=sys.__stdout__)
    path = Path(root) / "decisions/DECISIONS.md"
    text = path.read_text()
    place = text.index("Statement: ", len(text) // 2) + len("Statement: ")
    path.write_text(text[:place] + "kestrelzz " + text[place:])
    started = time.perf_counter()
    build_index(root)
    assert query_index(root, "kestrelzz")
    print(f"hand edit to searchable\\t{time.perf_counter() - started}", file=sys.__stdout__)
"""


def measure_peer(report: Report, python: str, root: Path) -> None:
    done = subprocess.run([python, "-c", _PEER, str(root)], capture_output=True, text=True, timeout=300)
    for line in done.stdout.splitlines():
        what, _, seconds = line.partition("\t")
        report.row(system="mind-mem 5.0.3", what=what, **spread([float(seconds)]))
    if done.returncode:
        report.row(system="mind-mem 5.0.3", what=f"failed: {done.stderr.strip().splitlines()[-1:]}")
        return
    scanner = Path(python).parent / "mind-mem-scan"
    what = "scan (a process of its own)"
    try:
        _, seconds = clocked(lambda: subprocess.run([str(scanner), str(root)], capture_output=True, timeout=PATIENCE))
        report.row(system="mind-mem 5.0.3", what=what, **spread([seconds]))
    except subprocess.TimeoutExpired:
        report.row(system="mind-mem 5.0.3", what=what, p50_ms=f"> {PATIENCE * 1000}")


if __name__ == "__main__":
    main()
