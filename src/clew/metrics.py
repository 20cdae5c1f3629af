"""What this process has done, as Prometheus reads it: calls by operation and outcome, and how long they took."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds; a last bucket takes whatever is longer."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class CallMetrics:
    """Counts calls; any thread may add to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[str, Histogram] = {}

    def add(self, operation: str, outcome: str, seconds: float) -> None:
        """`outcome` is `ok` or an error code."""
        with self._lock:
            self._calls[operation, outcome] += 1
            self._seconds.setdefault(operation, Histogram()).add(seconds)

    def lines(self) -> list[str]:
        with self._lock:
            calls = sorted(self._calls.items())
            seconds = sorted(self._seconds.items())
            counted = [
                sample("clew_calls_total", count, operation=operation, outcome=outcome)
                for (operation, outcome), count in calls
            ]
            timed = [line for operation, found in seconds for line in _histogram(operation, found)]
        return [
            *header("clew_calls_total", "counter", "Calls of operations, by outcome."),
            *counted,
            *header("clew_call_seconds", "histogram", "Time from a call to its answer."),
            *timed,
        ]


calls = CallMetrics()
"""Of this process."""


def _histogram(operation: str, found: Histogram) -> Iterable[str]:
    name, so_far = "clew_call_seconds", 0
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), found.counts, strict=True):
        so_far += count
        yield sample(f"{name}_bucket", so_far, operation=operation, le=bound)
    yield sample(f"{name}_sum", round(found.total, 6), operation=operation)
    yield sample(f"{name}_count", so_far, operation=operation)


def header(name: str, kind: str, help_text: str) -> list[str]:
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]


def sample(name: str, value: float, **labels: str) -> str:
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def gauges(values: Mapping[str, tuple[str, float]]) -> list[str]:
    """`name -> (help, value)` as lines."""
    found = []
    for name, (help_text, value) in values.items():
        found += [*header(name, "gauge", help_text), sample(name, value)]
    return found
