"""Cold start of `clew serve` to the `initialize` answer: through the resident server, starting it, and without it.

CPU is what the started processes had used by then: the shim's alone where the resident server runs already, both
where it had to be started, on a store that is new. Besides, everyday shell commands where a resident server runs.
Many clients at once are measured by `crowd`.
"""

from __future__ import annotations

import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.client import ROOT, StdioServer, bare_server, clew_server
from benchmarks.crowd import resident_of
from benchmarks.report import Report

TARGETS = {"clew, resident running": 100, "clew, starting the resident": 500}
SHELL = (
    ("start", "Job", "-s", "do it"),
    ("resume",),
    ("recall", "which file wins"),
    ("remember", "The file named last wins"),
    ("close", "s:0", "--unproven", "by hand"),
)
SHELL_TARGET = 150


def cpu_ms(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def through(home: Path) -> StdioServer:
    return clew_server(home, toolset="agent", CLEW_RESIDENT="on", CLEW_RESIDENT_IDLE="60")


def started(server: StdioServer) -> tuple[float, float]:
    with server:
        return server.initialize() * 1000, server.cpu_ms()


def starting(scratch: Path) -> tuple[float, float]:
    """The resident server is not there yet; its own processor time counts too."""
    home = Path(tempfile.mkdtemp(dir=scratch))
    with through(home) as server:
        wall = server.initialize() * 1000
        cpu = server.cpu_ms() + cpu_ms(resident_of(home))
    os.kill(resident_of(home), signal.SIGTERM)
    return wall, cpu


def in_shell(home: Path, words: tuple[str, ...]) -> tuple[float, float]:
    """A command of its own, which asks the resident server."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CLEW_HOME": str(home), "CLEW_WORKSPACE": "bench"}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "clew", *words]
    subprocess.run(command, check=True, env=env, cwd=home, stdout=subprocess.DEVNULL)
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (ended - begun) * 1000, cpu * 1000


def main(quick: bool = False) -> None:
    report = Report("coldstart", "Cold start to the initialize answer, beside the bare SDK server (interleaved runs)")
    rounds = 5 if quick else 15
    with tempfile.TemporaryDirectory(prefix="clew-cold-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        home = scratch / "running"
        with through(home) as first:
            first.initialize()
            kinds: dict[str, Callable[[], tuple[float, float]]] = {
                "bare SDK server": lambda: started(bare_server()),
                "clew, in process": lambda: started(clew_server(scratch / "alone", toolset="agent")),
                "clew, resident running": lambda: started(through(home)),
                "clew, starting the resident": lambda: starting(scratch),
                **{f"clew {words[0]}, in a shell": partial(in_shell, home, words) for words in SHELL},
            }
            times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
            for _ in range(rounds):
                for kind, start in kinds.items():
                    times[kind].append(start())
        os.kill(resident_of(home), signal.SIGTERM)
        for kind, values in times.items():
            wall, cpu = (statistics.median(column) for column in zip(*values, strict=True))
            most = SHELL_TARGET if kind.endswith("in a shell") else TARGETS.get(kind)
            report.row(server=kind, wall_ms=wall, cpu_ms=cpu, target=f"cpu <= {most}" if most else "")
    report.save()


if __name__ == "__main__":
    main()
