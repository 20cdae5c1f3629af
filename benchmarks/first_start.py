"""A first start on a folder with 10,000 decisions: files in, a question, two scans; CPU time and memory of the process.

Beside it mind-mem in an environment of its own (`benchmarks/peer.py`). CPU time is compared, because wall
time tells more about the other processes of a busy machine. Clew is measured with the search by meaning, whose model
takes most of the memory, and without it (`recall.vector_enabled: false`), which is what mind-mem does by default.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.memory import write_decisions
from benchmarks.peer import PEER, mind_mem_python
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
    return own.ru_utime + own.ru_stime, own.ru_maxrss // 1024

flags = {"home": root / "home", "workspace": "bench", "workspace_lock": False, "memory_dir": root / "memory"}
clew = open_clew(load_settings(flags, {}, root))
for what, name, given in (("files in", "list_proposals", {}), ("scan", "scan", {}), ("scan again", "scan", {}),
                          ("first question", "recall", {"query": "word1 word7"})):
    before, started = used()[0], time.perf_counter()
    call(clew, name, **given)
    print(json.dumps([what, used()[0] - before, time.perf_counter() - started, used()[1]]))
clew.close()
"""

SCAN_LIMIT = 30
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
    return own.ru_utime + own.ru_stime, own.ru_maxrss // 1024

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
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    init(root)
    for what, step in steps:
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
    measure(report, "clew", sys.executable, _CLEW, count, {})
    measure(report, "clew, words only", sys.executable, _CLEW, count, {"recall": {"vector_enabled": False}})
    peer = mind_mem_python()
    if peer:
        measure(report, PEER, peer, _PEER, count, None)
    report.save()


def measure(
    report: Report, system: str, python: str, program: str, count: int, configuration: dict[str, object] | None
) -> None:
    with tempfile.TemporaryDirectory(prefix="clew-bench-start-") as name:
        root = Path(name)
        write_decisions(root / "memory", count)
        if configuration is not None:
            (root / "memory/mind-mem.json").write_text(json.dumps(configuration), encoding="utf-8")
        ours = python == sys.executable
        environment = {key: value for key, value in os.environ.items() if ours or key != "PYTHONPATH"}
        command = [python, "-c", program, str(root)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
    for line in done.stdout.splitlines():
        what, cpu, wall, peak = json.loads(line)
        report.row(system=system, what=what, cpu_s=round(cpu, 2), wall_s=round(wall, 2), peak_mb=peak)


if __name__ == "__main__":
    main()
