"""Cold start over stdio to the `initialize` response, and of the bare server, with a small and a large store."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from benchmarks.client import StdioServer, bare_server, clew_server
from benchmarks.report import Report
from benchmarks.stores import fill_notes, fresh_store


def started(server: StdioServer) -> tuple[float, float]:
    """Wall seconds to the response, and CPU seconds of the process by then."""
    with server:
        wall = server.initialize()
        with Path(f"/proc/{server.process.pid}/stat").open(encoding="ascii") as stat:
            fields = stat.read().split()
        return wall, (int(fields[13]) + int(fields[14])) / 100


def main(quick: bool = False) -> None:
    report = Report("startup", "Cold start to the initialize answer (interleaved runs)")
    rounds = 5 if quick else 15
    with fresh_store() as empty, fresh_store() as full:
        fill_notes(empty, 1)
        fill_notes(full, 10_000 if quick else 100_000)
        kinds: dict[str, Callable[[], StdioServer]] = {
            "bare server": bare_server,
            "clew, 1 note": lambda: clew_server(empty.home, toolset="daily"),
            "clew, 100k notes": lambda: clew_server(full.home, toolset="daily"),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
        for _ in range(rounds):
            for name, start in kinds.items():
                times[name].append(started(start()))
    bare = [statistics.median(column) for column in zip(*times["bare server"], strict=True)]
    for name, values in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*values, strict=True))
        report.row(
            server=name,
            wall_ms=wall * 1000,
            cpu_ms=cpu * 1000,
            wall_ratio=wall / bare[0],
            cpu_ratio=cpu / bare[1],
            target="<= 1.3",
        )
    report.save()


if __name__ == "__main__":
    main()
