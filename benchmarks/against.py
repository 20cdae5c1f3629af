"""The code of today beside an older commit, in one run: `python -m benchmarks against [--commit COMMIT]`.

Both are driven over stdio with the same calls, taking turns, so that both meet the machine in the same mood. Each
fills a store of its own with the same 10,000 cards. A row gives the medians by the clock and of the processor, and the
quickest tenth of the processor times, which is what to trust on a busy machine.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.client import ROOT, StdioServer
from benchmarks.recall_latency import vocabulary
from benchmarks.report import Report

BASELINE = "a7e65e8"
"""The last commit before the redesign of issue 13."""
CARDS = 10_000
TYPES = ("hypothesis", "test", "evidence", "decision", "question", "note")
AIM = 1.05

Sample = tuple[float, float]
"""Milliseconds by the clock, and of the processor."""

Call = Callable[[int], tuple[str, dict[str, Any]]]
"""The name and the arguments of the call of a round."""


@dataclass(frozen=True)
class Tree:
    """A checkout, the store it fills, and servers that run its code."""

    root: Path
    home: Path

    def server(self, **environ: str) -> StdioServer:
        command = [sys.executable, "-m", "clew", "serve", "--toolset", "daily", "--workspace", "bench"]
        variables = {
            "PYTHONPATH": str(self.root / "src"),
            "CLEW_HOME": str(self.home),
            "CLEW_EMBEDDING_MODEL": "none",
            "CLEW_RESIDENT": "off",
            **environ,
        }
        return StdioServer(command, self.root, **variables)


@contextmanager
def checkout(commit: str, scratch: Path) -> Iterator[Path]:
    """The files of a commit in a worktree that is gone afterwards."""
    place = scratch / "before"
    git = ("git", "-C", str(ROOT))
    subprocess.run((*git, "worktree", "add", "--detach", str(place), commit), check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run((*git, "worktree", "remove", "--force", str(place)), check=True, capture_output=True)


def processor_ms(process: int) -> float:
    """Processor time of another process in nanosecond steps; `/proc/PID/stat` counts hundredths of a second."""
    scheduler_clock = (~process << 3) | 2  # what clock_getcpuclockid(3) computes on Linux
    return time.clock_gettime(scheduler_clock) * 1000


def started(tree: Tree, **environ: str) -> Sample:
    with tree.server(**environ) as server:
        wall = server.initialize() * 1000
        return wall, processor_ms(server.process.pid)


def called(server: StdioServer, name: str, arguments: dict[str, Any]) -> Sample:
    before = processor_ms(server.process.pid)
    wall = server.timed(name, **arguments) * 1000
    return wall, processor_ms(server.process.pid) - before


def fill(tree: Tree, cards: int) -> None:
    """A task in focus with so many cards of thirty words, every third closed, each supporting the one before."""
    chance = random.Random(cards)
    words, weights = vocabulary(chance)
    with tree.server() as server:
        server.initialize()
        server.call("tasks_macro_start", task_title="Storage: one writer at a time", description="Writers starve.")
        for number in range(cards):
            card = {
                "id": f"C{number}",
                "type": TYPES[number % len(TYPES)],
                "title": f"Thought {number}",
                "text": " ".join(chance.choices(words, cum_weights=weights, k=30)),
                "status": "closed" if number % 3 == 0 else "open",
            }
            server.call("think_card", card=card, supports=[f"C{number - 1}"] if number % 5 else [])


def questions(cards: int, count: int) -> list[str]:
    """Four words each, of those that the cards are made of."""
    words, weights = vocabulary(random.Random(cards))
    chance = random.Random(count)
    return [" ".join(chance.choices(words, cum_weights=weights, k=4)) for _ in range(count)]


def alternate(rounds: int, before: Callable[[int], Sample], now: Callable[[int], Sample]) -> list[list[Sample]]:
    """Samples of both, taking turns and changing who begins; the first rounds warm up and do not count."""
    warm = max(rounds // 10, 1)
    samples: list[list[Sample]] = [[], []]
    for turn in range(rounds + warm):
        for which in (0, 1) if turn % 2 else (1, 0):
            samples[which].append((before, now)[which](turn))
    return [taken[warm:] for taken in samples]


def add_row(report: Report, measured: str, samples: list[list[Sample]], aim: str = f"<= {AIM}") -> None:
    (wall_before, cpu_before), (wall_now, cpu_now) = (zip(*taken, strict=True) for taken in samples)
    before, now = statistics.median(cpu_before), statistics.median(cpu_now)
    report.row(
        measured=measured,
        before_ms=statistics.median(wall_before),
        now_ms=statistics.median(wall_now),
        ratio=statistics.median(wall_now) / statistics.median(wall_before),
        before_cpu_ms=before,
        now_cpu_ms=now,
        cpu_ratio=now / before,
        cpu_ratio_p10=undisturbed(cpu_now) / undisturbed(cpu_before),
        runs=len(samples[0]),
        aim=aim,
    )


def undisturbed(times: Sequence[float]) -> float:
    """What the quickest tenth took. Others on the machine empty its caches and slow the processor down, never up."""
    return sorted(times)[len(times) // 10]


def measure_starts(report: Report, before: Tree, now: Tree, rounds: int) -> None:
    add_row(report, "cold start", alternate(rounds, lambda _: started(before), lambda _: started(now)))
    with now.server(CLEW_RESIDENT="on", CLEW_RESIDENT_IDLE="5") as first:
        first.initialize()
        through = alternate(rounds, lambda _: started(before), lambda _: started(now, CLEW_RESIDENT="on"))
    add_row(report, "cold start, now through the resident server", through)


def measure_calls(report: Report, before: Tree, now: Tree, rounds: int, cards: int) -> None:
    asked = questions(cards, 60)
    calls: dict[str, Call] = {
        "no-op call": lambda turn: ("help", {"max_chars": 40}),
        "durable write": lambda turn: ("notes_commit", {"content": f"{turn}: the storage engine keeps one writer"}),
        f"snapshot, {cards} cards": lambda turn: ("tasks_snapshot", {}),
        f"recall, {cards} cards": lambda turn: ("recall", {"query": asked[turn % len(asked)], "sources": ["all"]}),
    }
    with ExitStack() as stack:
        old, new = (stack.enter_context(tree.server()) for tree in (before, now))
        for server in (old, new):
            server.initialize()
        for measured, call in calls.items():
            add_row(report, measured, alternate(rounds, asker(old, call), asker(new, call)))


def asker(server: StdioServer, call: Call) -> Callable[[int], Sample]:
    return lambda turn: called(server, *call(turn))


def knows(commit: str) -> bool:
    look = ("git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}")
    return subprocess.run(look, capture_output=True, check=False).returncode == 0


def main(quick: bool = False, commit: str = BASELINE) -> None:
    if not knows(commit):
        print(f"against: passed over, because this checkout does not hold the commit {commit}")
        return
    report = Report("against", f"Today beside {commit}: medians, taking turns (sqlite)")
    cards = CARDS // 10 if quick else CARDS
    with tempfile.TemporaryDirectory(prefix="clew-against-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        with checkout(commit, scratch) as root:
            before, now = Tree(root, scratch / "home-before"), Tree(ROOT, scratch / "home-now")
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda tree: fill(tree, cards), (before, now)))
            measure_starts(report, before, now, 10 if quick else 25)
            measure_calls(report, before, now, 60 if quick else 400, cards)
    report.save()


if __name__ == "__main__":
    main()
