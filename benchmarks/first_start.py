"""A first start on a folder with 10,000 decisions: files in, a question, two scans; CPU time and memory of the process.

Compared with mind-mem in a separate environment (`benchmarks/peer.py`). CPU time is compared, because wall time
depends on the other processes of a busy machine. Clew is measured with semantic search, whose model takes most of the
memory, and without it (`recall.vector_enabled: false`), which is what mind-mem does by default.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache as cache_result
from pathlib import Path
from typing import NamedTuple

from benchmarks.memory import write_decisions
from benchmarks.peer import PEER, cache, mind_mem_python
from benchmarks.report import Report

BLOCKS = 10_000
PATIENCE = 600

_CLEW = """
import json, resource, sys, time
from pathlib import Path
from benchmarks.memory import call
from clew.app import open_clew
from clew.settings import load_settings

root = Path(sys.argv[1])

def used():
    own = resource.getrusage(resource.RUSAGE_SELF)
    # Not ru_maxrss: a process inherits that from the one that started it.
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return own.ru_utime + own.ru_stime, int(peak.split()[1]) // 1024

flags = {"home": root / "home", "workspace": "bench", "workspace_lock": False, "memory_dir": root / "memory"}
clew = open_clew(load_settings(flags, {}, root))
print(json.dumps(["start", used()[0], 0, used()[1]]))
for what, name, given in (("files in", "list_proposals", {}), ("scan", "scan", {}), ("scan again", "scan", {}),
                          ("first question", "recall", {"query": "word1 word7"})):
    before, started = used()[0], time.perf_counter()
    call(clew, name, **given)
    print(json.dumps([what, used()[0] - before, time.perf_counter() - started, used()[1]]))
clew.close()
"""

SCAN_LIMIT = 10
"""Seconds of CPU that the peer may take for a scan, which compares every pair: 15 for 1,000 decisions."""
_PEER = (
    f"""
LIMIT = {SCAN_LIMIT}
"""
    + """
import contextlib, io, json, resource, signal, sys, time
from pathlib import Path
from mind_mem import intel_scan
from mind_mem.init_workspace import init
from mind_mem.sqlite_index import build_index, query_index

root = str(Path(sys.argv[1]) / "memory")

def used():
    own = resource.getrusage(resource.RUSAGE_SELF)
    # Not ru_maxrss: a process inherits that from the one that started it.
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return own.ru_utime + own.ru_stime, int(peak.split()[1]) // 1024

class Stopped(BaseException):
    pass

def stop(*_):
    raise Stopped

def scan():
    sys.argv = ["mind-mem-scan", root]
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        intel_scan.main()
    except SystemExit:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)

steps = (("files in", lambda: build_index(root)), ("first question", lambda: query_index(root, "word1 word7")),
         ("scan", scan))
print(json.dumps(["start", used()[0], 0, used()[1]]))
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    init(root)
    for what, step in steps[: 3 if "scan" in sys.argv else 2]:
        before, started = used()[0], time.perf_counter()
        try:
            step()
        except Stopped:
            what += f", stopped after {LIMIT} s"
        row = [what, used()[0] - before, time.perf_counter() - started, used()[1]]
        print(json.dumps(row), file=sys.__stdout__)
"""
)


def main(quick: bool = False) -> None:
    count = 1_000 if quick else BLOCKS
    report = Report("first_start", f"First start on a folder with {count} decisions")
    peer = mind_mem_python()
    measured = {"clew": clew_steps(count, model=True), "clew, words only": clew_steps(count, model=False)}
    for system, found in {**measured, **({PEER: peer_steps(peer, count, scan=True)} if peer else {})}.items():
        for step in found:
            cpu, wall = round(step.cpu, 2), round(step.wall, 2)
            report.row(system=system, what=step.what, cpu_s=cpu, wall_s=wall, peak_mb=step.peak_mb)
    report.save()


class Step(NamedTuple):
    what: str
    cpu: float
    wall: float
    peak_mb: int


def clew_steps(count: int, *, model: bool) -> list[Step]:
    _compile_modules()
    return steps(sys.executable, _CLEW, count, {} if model else {"recall": {"vector_enabled": False}})


@cache_result
def _compile_modules() -> None:
    """A first run writes the bytecode that the measured ones load."""
    steps(sys.executable, _CLEW, 100, {"recall": {"vector_enabled": False}})


def peer_steps(python: str, count: int, *, scan: bool) -> list[Step]:
    return steps(python, _PEER, count, None, *(["scan"] if scan else []))


def steps(python: str, program: str, count: int, configuration: dict[str, object] | None, *more: str) -> list[Step]:
    """The reported steps of a program on a fresh folder with so many decisions."""
    with tempfile.TemporaryDirectory(prefix="clew-bench-start-") as name:
        root = Path(name)
        write_decisions(root / "memory", count)
        if configuration is not None:
            (root / "memory/mind-mem.json").write_text(json.dumps(configuration), encoding="utf-8")
        command = [python, "-c", program, str(root), *more]
        environment = _environment(ours=python == sys.executable)
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
    return [Step(*json.loads(line)) for line in done.stdout.splitlines()]


def _environment(*, ours: bool) -> dict[str, str]:
    """Both with compiled modules, as installed: a checkout may be run without any, and pip compiles the peer."""
    environment = {key: value for key, value in os.environ.items() if ours or key != "PYTHONPATH"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**environment, "PYTHONPYCACHEPREFIX": str(cache() / "bytecode")} if ours else environment


if __name__ == "__main__":
    main()
