"""Cold start of `clew serve` to the `initialize` answer: through the resident server, starting it, and without it.

CPU is what the started processes had used by then: the shim's alone where the resident server runs already, both
where it had to be started. Many clients at once are measured by `crowd`.
"""

from __future__ import annotations

import os
import signal
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.client import StdioServer, bare_server, clew_server
from benchmarks.crowd import resident_of
from benchmarks.report import Report


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
            }
            times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
            for _ in range(rounds):
                for kind, start in kinds.items():
                    times[kind].append(start())
        os.kill(resident_of(home), signal.SIGTERM)
        for kind, values in times.items():
            wall, cpu = (statistics.median(column) for column in zip(*values, strict=True))
            target = "cpu <= 100" if kind == "clew, resident running" else ""
            report.row(server=kind, wall_ms=wall, cpu_ms=cpu, target=target)
    report.save()


if __name__ == "__main__":
    main()
