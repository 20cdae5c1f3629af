"""Notebook cells: the time of a small one, and the effect of hostile ones on another client of the same server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.client import clew_server
from benchmarks.http_client import HttpClient, http_server
from benchmarks.report import Report, spread
from benchmarks.stores import fresh_store

HOSTILE = {
    "reads by import": "import d from 'file:///etc/passwd' with { type: 'text' }; console.log('GOT', d)",
    "reads by fetch": "console.log('GOT', await (await fetch('file:///etc/passwd')).text())",
    "reads by symlink": "Deno.symlinkSync('/etc/passwd', 'x'); console.log('GOT', Deno.readTextFileSync('x'))",
    "environment": "console.log('GOT', Deno.env.toObject())",
    "network": "await Deno.connect({ hostname: '127.0.0.1', port: 22 }); console.log('GOT')",
    "fork": "console.log('GOT', new Deno.Command('/bin/sh', { args: ['-c', 'id'] }).outputSync())",
    "infinite loop": "while (true);",
    "4 GB of buffers": "const a = []; for (let n = 0; n < 64; n++) a.push(new Uint8Array(1 << 26).fill(1))",
    "1 GB of output": "const l = 'x'.repeat(1 << 20); for (let n = 0; n < 1024; n++) console.log(l)",
    "ignores SIGTERM": "Deno.addSignalListener('SIGTERM', () => {}); setInterval(() => {}, 10)",
}
LIMIT_MS = 2000
AT_ONCE = 6


def main(quick: bool = False) -> None:
    measure_small(10 if quick else 40).save()
    measure_neighbour(quick).save()


def measure_small(count: int) -> Report:
    report = Report("cells", "A small cell over stdio, from call to answer")
    cells = {
        "TypeScript": ("small.ts", "const x: number = 6; console.log(x * 7)"),
        "Python": ("small.py", "print(6 * 7)"),
    }
    with fresh_store() as store, clew_server(store.home) as server:
        server.initialize()
        server.call("notebook_create", name="Bench")
        for place, (language, (filename, code)) in enumerate(cells.items()):
            cell = {"notebookId": "NB-001", "cellId": f"CELL-{place + 3:04d}"}
            server.call("notebook_add_cell", notebookId="NB-001", type="code", content=code, filename=filename)
            times = server.series("notebook_run_cell", count, 1, **cell)
            report.row(cell=language, runs=count, **spread(times), target="p50 <= 150 ms")
    return report


def measure_neighbour(quick: bool) -> Report:
    """One client sends hostile cells, several at once; another calls a no-op and a durable write in a loop."""
    title = f"Another client over HTTP while {AT_ONCE} callers run hostile cells"
    report = Report("cells_neighbour", title)
    with fresh_store() as store, http_server(store.home) as (address, pid):
        neighbour = HttpClient(address)
        alone = Neighbour(neighbour)
        alone.watch(lambda: alone.rounds < (50 if quick else 300))
        report.row(meanwhile="nothing", calls=alone.rounds, **alone.figures())
        rest = {**HOSTILE} if not quick else {name: HOSTILE[name] for name in ("infinite loop", "1 GB of output")}
        for name, code in rest.items():
            attack = Attack(address, code, 2 if quick else 12)
            seen = Neighbour(neighbour)
            seen.watch(attack.lives)
            report.row(
                meanwhile=name,
                calls=seen.rounds,
                **seen.figures(),
                statuses=" ".join(sorted(attack.statuses)),
                left_behind=len(children(pid)),
                target="p95 <= 50 ms, none left",
            )
    return report


class Neighbour:
    """Calls in a loop with a short pause, and records the times."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self.rounds = 0
        self._noops: list[float] = []
        self._writes: list[float] = []

    def watch(self, going: Callable[[], bool]) -> None:
        while going() or self.rounds < 10:
            self._noops.append(self._client.timed("help", max_chars=40))
            self._writes.append(self._client.timed("notes_commit", content=f"note {self.rounds}"))
            self.rounds += 1
            time.sleep(0.005)

    def figures(self) -> dict[str, float]:
        named = {"noop": spread(self._noops), "write": spread(self._writes)}
        return {f"{name}_{figure}": value for name, found in named.items() for figure, value in found.items()}


class Attack:
    """Some callers that run the same hostile cell repeatedly, each in a separate notebook."""

    def __init__(self, address: str, code: str, runs: int) -> None:
        self.statuses: set[str] = set()
        self._left = [runs]
        self._threads = [threading.Thread(target=self._run, args=(address, code)) for _ in range(AT_ONCE)]
        for thread in self._threads:
            thread.start()

    def lives(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def _run(self, address: str, code: str) -> None:
        client = HttpClient(address)
        notebook = client.call("notebook_create", name="Hostile")["notebookId"]
        cell = client.call("notebook_add_cell", notebookId=notebook, type="code", content=code)["cell"]["id"]
        while self._left[0] > 0:
            self._left[0] -= 1
            done = client.call("notebook_run_cell", notebookId=notebook, cellId=cell, timeoutMs=LIMIT_MS)
            self.statuses.add("GOT" if "GOT" in done["output"] else done["execution"]["status"])
        client.close()


def children(pid: int) -> list[str]:
    """Child processes of the server that are still running."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(stat.parent.name)
    return found


if __name__ == "__main__":
    main()
