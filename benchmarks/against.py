"""Compares the current code with an older commit in one run: `python -m benchmarks against [--commit COMMIT]`.

Both are driven over stdio with the same calls, each with a separate store of the same 10,000 cards. A round calls the
old one, twice the new one, and the old one again, so that both run under the same load; the ratio of the round is the
processor time of the new one divided by that of the old one. Both run on the same core, and both are restarted several
times, because a process may have a fast core or memory layout for its whole lifetime. A row gives the median of the
ratios and its 95 % confidence interval.
"""

from __future__ import annotations

import math
import os
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
SITTINGS = 6
"""How often the measured servers are started."""

Sample = tuple[float, float]
"""Milliseconds of wall time and of processor time."""

Call = Callable[[int], tuple[str, dict[str, Any]]]
"""The name and the arguments of the call of a round."""


@dataclass(frozen=True)
class Tree:
    """A checkout, its store, and servers that run its code."""

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
    """A temporary worktree with the files of a commit."""
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
    """Queries of four words that occur in the cards."""
    words, weights = vocabulary(random.Random(cards))
    chance = random.Random(count)
    return [" ".join(chance.choices(words, cum_weights=weights, k=4)) for _ in range(count)]


@dataclass(frozen=True)
class Round:
    """The times of the old and the new code for the same call: the sum of two each."""

    before: Sample
    now: Sample

    @property
    def ratio(self) -> float:
        return self.now[1] / self.before[1]


def alternate(rounds: int, before: Callable[[int], Sample], now: Callable[[int], Sample]) -> list[Round]:
    """Run a number of rounds of both; the first ones warm up and do not count."""
    warm = max(rounds // 10, 2)
    taken = []
    for turn in range(rounds + warm):
        samples = [ask(2 * turn + again) for ask, again in ((before, 0), (now, 0), (now, 1), (before, 1))]
        taken.append(Round(added(samples[0], samples[3]), added(samples[1], samples[2])))
    return taken[warm:]


def added(one: Sample, other: Sample) -> Sample:
    return one[0] + other[0], one[1] + other[1]


def add_row(report: Report, measured: str, rounds: list[Round]) -> None:
    low, high = certain([round.ratio for round in rounds])
    report.row(
        measured=measured,
        before_ms=statistics.median(round.before[0] for round in rounds) / 2,
        now_ms=statistics.median(round.now[0] for round in rounds) / 2,
        before_cpu_ms=statistics.median(round.before[1] for round in rounds) / 2,
        now_cpu_ms=statistics.median(round.now[1] for round in rounds) / 2,
        cpu_ratio=statistics.median(round.ratio for round in rounds),
        low=low,
        high=high,
        cpu_ratio_of_sums=sum(round.now[1] for round in rounds) / sum(round.before[1] for round in rounds),
        rounds=len(rounds),
        aim=f"<= {AIM}",
    )


def certain(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median."""
    ordered = sorted(values)
    # The number of values below the median has a binomial distribution.
    reach = 0.98 * math.sqrt(len(ordered))
    low, high = (round(len(ordered) / 2 + way * reach) for way in (-1, 1))
    return ordered[max(low, 0)], ordered[min(high, len(ordered) - 1)]


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
    taken: dict[str, list[Round]] = {measured: [] for measured in calls}
    for _ in range(SITTINGS):
        with ExitStack() as stack:
            old, new = (stack.enter_context(tree.server()) for tree in (before, now))
            for server in (old, new):
                server.initialize()
                pin(server)
            for measured, call in calls.items():
                taken[measured] += alternate(rounds // SITTINGS, asker(old, call), asker(new, call))
    for measured, found in taken.items():
        add_row(report, measured, found)


def pin(server: StdioServer) -> None:
    """Pin the process to the last core, where the other one runs too."""
    for thread in Path(f"/proc/{server.process.pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {max(os.sched_getaffinity(0))})


def asker(server: StdioServer, call: Call) -> Callable[[int], Sample]:
    return lambda turn: called(server, *call(turn))


def knows(commit: str) -> bool:
    look = ("git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}")
    return subprocess.run(look, capture_output=True, check=False).returncode == 0


def main(quick: bool = False, commit: str = BASELINE) -> None:
    if not knows(commit):
        print(f"against: passed over, because this checkout does not hold the commit {commit}")
        return
    report = Report("against", f"Today beside {commit}, taking turns (sqlite)")
    cards = CARDS // 10 if quick else CARDS
    with tempfile.TemporaryDirectory(prefix="clew-against-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        with checkout(commit, scratch) as root:
            before, now = Tree(root, scratch / "home-before"), Tree(ROOT, scratch / "home-now")
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda tree: fill(tree, cards), (before, now)))
            measure_starts(report, before, now, 5 if quick else 20)
            measure_calls(report, before, now, 30 if quick else 250, cards)
    report.save()


if __name__ == "__main__":
    main()
