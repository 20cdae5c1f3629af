"""What an agent's everyday calls cost the server, by size of the store.

`python -m benchmarks everyday [--commit COMMIT]`. Median processor time of the server process over many calls, which
is stable on a busy machine. Background work of a server ends before the next call, as when agents think in between,
and has a separate row. The same run includes a minimal server of the same SDK and the time of SQLite itself for one
durable write and one read by key. With a commit, the older code fills and serves a separate store, and each row has
the ratio to it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from benchmarks.against import checkout, processor_ms
from benchmarks.client import ROOT, StdioServer, bare_server
from benchmarks.report import Report
from benchmarks.stores import ENGINES, Store, fresh_store

SIZES = (1_000, 10_000, 100_000)
ROUNDS = {1_000: 20, 10_000: 12, 100_000: 6}
WARM = 2
AIMS = {
    "resume": (20, 30, 50),
    "open": (5, 5, 8),
    "remember": (60, 60, 70),
    "recall": (15, 18, 40),
    "start": (10, 10, 10),
    "close": (10, 10, 10),
    "list_blocks": (8, 8, 10),
    "record_list": (8, 8, 10),
    "think": (5, 5, 5),
}
MIXED = {"recall": 30, "think": 30, "open": 18, "remember": 14, "resume": 8}
"""Of a hundred calls that agents make."""
MIXED_AIM = 30
"""Milliseconds of one of them, at 10,000 records."""
MEMORY_AIM = 450
PAUSE, IDLE_MS = 0.2, 1.0
"""A server that used less than this processor time (ms) in this interval is idle."""
Call = Callable[[int], tuple[str, dict[str, Any]]]


def calls() -> dict[str, Call]:
    """The call of each round. Each stored text is different, as with agents."""
    words = "importer parser cache scheduler billing search login exporter queue renderer".split()  # noqa: SIM905

    def kept(turn: int) -> str:
        subject, other = words[turn % 10], words[(turn * 7 + 3) % 10]
        return f"The {subject} hands {turn + 17} rows at a time to the {other}, measured on run {turn * 31}."

    return {
        "resume": lambda turn: ("resume", {}),
        "open": lambda turn: ("open", {"id": f"D-{turn % 300 + 1}"}),
        "remember": lambda turn: ("remember", {"text": kept(turn), "kind": "fact"}),
        "recall": lambda turn: ("recall", {"query": f"how many rows does the {words[turn % 10]} keep, and why"}),
        "start": lambda turn: ("start", {"title": f"Job {turn}", "steps": [{"title": "do it", "test": "pytest -q"}]}),
        "close": lambda turn: ("close", {"step": "s:0", "unproven": "tried by hand"}),
        "list_blocks": lambda turn: ("list_blocks", {}),
        "record_list": lambda turn: ("record_list", {}),
        "think": lambda turn: ("think", {"text": f"Thought {turn}: the {words[turn % 10]} may be the cause."}),
    }


@dataclass
class Measured:
    """The times of the calls of one server."""

    samples: dict[str, list[float]]
    behind: list[float] = field(default_factory=list)
    """The background work of each round, in which every call is made once."""
    memory_mb: float = 0.0

    def middle(self, name: str) -> float:
        if name == "mixed":
            return sum(self.middle(call) * share for call, share in MIXED.items()) / sum(MIXED.values())
        return statistics.median(self.samples[name][WARM:])


def main(quick: bool = False, engines: Sequence[str] = ENGINES, commit: str = "") -> None:
    title = "Everyday calls, milliseconds of the server's processor" + (f"; ratios to {commit}" if commit else "")
    report = Report("everyday", title)
    with ExitStack() as opened:
        scratch = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="clew-everyday-")))
        before = opened.enter_context(checkout(commit, scratch)) if commit else None
        floors = {"bare_sdk": bare_call(), "sqlite": sqlite_floor(scratch)}
        for engine in engines:
            for size in SIZES[:1] if quick else SIZES:
                measure(report, engine, size, 4 if quick else ROUNDS[size], before, floors)
    report.save()


def measure(report: Report, engine: str, size: int, rounds: int, before: Path | None, floors: dict[str, float]) -> None:
    now = measured(ROOT, engine, size, rounds)
    old = measured(before, engine, size, rounds) if before is not None else None
    aims = {name: aim[SIZES.index(size)] for name, aim in AIMS.items()} | {"mixed": MIXED_AIM}
    for name, aim in aims.items():
        taken = now.middle(name)
        report.row(
            engine=engine,
            records=size,
            call=name,
            cpu_p50_ms=taken,
            aim=f"<= {aim}",
            **{f"times_{floor}": taken / least for floor, least in floors.items()},
            **({"before_ms": old.middle(name), "ratio": taken / old.middle(name)} if old is not None else {}),
        )
    behind = statistics.median(now.behind[WARM:])
    report.row(engine=engine, records=size, call="behind one round of them", cpu_p50_ms=behind)
    report.row(engine=engine, records=size, call="memory, MB", cpu_p50_ms=now.memory_mb, aim=f"<= {MEMORY_AIM}")


def measured(root: Path, engine: str, size: int, rounds: int) -> Measured:
    with served(root, engine, size) as server:
        found = Measured({name: [] for name in calls()})
        # The calls alternate: all of them run under the same load, and each step is closed once.
        for turn in range(rounds + WARM):
            behind = 0.0
            for name, call in calls().items():
                begun = processor_ms(server.process.pid)
                wanted, arguments = call(turn)
                server.call(wanted, **arguments)
                found.samples[name].append(processor_ms(server.process.pid) - begun)
                behind += come_to_rest(server.process.pid)
            found.behind.append(behind)
        found.memory_mb = server.memory_mb()
        return found


def come_to_rest(process: int) -> float:
    """Wait for background work; returns its processor time."""
    begun = before = processor_ms(process)
    while True:
        time.sleep(PAUSE)
        now = processor_ms(process)
        if now - before < IDLE_MS:
            return now - begun
        before = now


@contextmanager
def served(root: Path, engine: str, size: int) -> Iterator[StdioServer]:
    """The code below `root` fills a store and serves it."""
    paths = {"PYTHONPATH": f"{root / 'src'}:{ROOT}"}
    with fresh_store(engine) as store:
        fill(store, size, paths)
        command = [sys.executable, "-m", "clew", "serve", "--toolset", "full", "--workspace", "bench"]
        variables = {"CLEW_HOME": str(store.home), "CLEW_DATABASE_URL": store.url, "CLEW_RESIDENT": "off", **paths}
        with StdioServer(command, root, **variables) as server:
            server.initialize("worker")
            yield server


def fill(store: Store, size: int, environ: dict[str, str]) -> None:
    command = [sys.executable, "-m", "benchmarks.everyday_store", store.engine, str(store.home), store.url, str(size)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **environ})


def bare_call(rounds: int = 100) -> float:
    """The time of a call of the minimal server."""
    with bare_server() as bare:
        bare.initialize()
        taken = []
        for _ in range(rounds):
            begun = processor_ms(bare.process.pid)
            bare.call("noop")
            taken.append(processor_ms(bare.process.pid) - begun)
    return statistics.median(taken)


def sqlite_floor(folder: Path, rounds: int = 100) -> float:
    """The time of one durable write of a kilobyte and one read by key in SQLite itself."""
    connection = apsw.Connection(str(folder / "floor.db"))
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE record (id INTEGER PRIMARY KEY, text TEXT)")
    taken = []
    for number in range(rounds):
        begun = time.thread_time()
        connection.execute("INSERT INTO record VALUES (?, ?)", (number, "x" * 1_000))
        connection.execute("SELECT text FROM record WHERE id = ?", (number // 2,)).fetchall()
        taken.append((time.thread_time() - begun) * 1000)
    connection.close()
    return statistics.median(taken)


if __name__ == "__main__":
    main()
