"""The bar of silence among pages: how signs weigh, and how much of them is asked of an answer.

Fitted on what is wanted of it: as much silence as possible, each shape weighing the same, while no shape loses more
than a few of the questions whose evidence stands among the first ten. One weight after the other is moved as long as
that helps, from the same rough numbers each time. What needs no bar teaches nothing about where it should stand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.trials import Trial, Weights
from clew.recall.floor import grown

WORDS = ("held", "unknown", "words", "asks", "number")
MEANING = (*WORDS, "dense", "ahead")
REFUSED = 0.03
"""The share of findable questions that the bar may refuse, in the shape where it refuses most."""
FIRST = 10
START = {
    "held": 2.0,
    "unknown": 2.0,
    "words": 2.0,
    "asks": -1.0,
    "number": -1.0,
    "dense": 8.0,
    "ahead": 1.0,
}
STEPS = (-1.6, -0.8, -0.4, -0.2, 0.2, 0.4, 0.8, 1.6)
ROUNDS = 12

Point = NDArray[np.float64]


@dataclass(frozen=True)
class Bar:
    weights: Weights
    needed: float

    def passes(self, trial: Trial) -> bool:
        return not trial.open or self.margin(trial) >= 0

    def margin(self, trial: Trial) -> float:
        return self.value(trial) - self.needed * grown(trial.size)

    def value(self, trial: Trial) -> float:
        return sum(weight * trial.signs[name] for name, weight in self.weights.items())


class Lesson:
    """The questions of one shape as arrays."""

    def __init__(self, trials: list[Trial], names: tuple[str, ...]) -> None:
        self.signs = np.array([[trial.signs[name] for name in names] for trial in trials])
        self.grown = np.array([grown(trial.size) for trial in trials])
        self.open = np.array([trial.open for trial in trials])
        self.found = np.array([trial.place is not None and trial.place < FIRST for trial in trials])
        self.bad = np.array([not trial.answerable for trial in trials])
        self.empty = np.array([not trial.worth for trial in trials])

    def values(self, point: Point) -> Point:
        """What each question has of a bar of one; endless where no bar is asked."""
        return np.where(self.open, self.signs @ point / self.grown, np.inf)

    def needed(self, values: Point) -> float:
        """So high that the allowed share of the findable questions stays below."""
        ordered = np.sort(values[self.found])
        return float(ordered[min(int(REFUSED * len(ordered)), len(ordered) - 1)])

    def silence(self, values: Point, needed: float) -> float:
        return float(((values < needed) | self.empty)[self.bad].mean())


def fitted_bar(trials: list[Trial], names: tuple[str, ...]) -> Bar:
    shapes = sorted({trial.shape for trial in trials})
    lessons = [Lesson([trial for trial in trials if trial.shape == shape], names) for shape in shapes]
    point = np.array([START[name] for name in names])
    reached, needed = _reached(lessons, point)
    for _ in range(ROUNDS):
        before = reached
        for place in range(len(names)):
            for step in STEPS:
                tried = point.copy()
                tried[place] += step
                silence, bar = _reached(lessons, tried)
                if silence > reached:
                    point, reached, needed = tried, silence, bar
        if reached == before:
            break
    return Bar(dict(zip(names, np.round(point, 2).tolist(), strict=True)), needed)


def _reached(lessons: list[Lesson], point: Point) -> tuple[float, float]:
    """The mean silence of the shapes at the bar that all of them can bear, and that bar."""
    values = [lesson.values(point) for lesson in lessons]
    needed = min(lesson.needed(found) for lesson, found in zip(lessons, values, strict=True) if lesson.found.any())
    silence = [lesson.silence(found, needed) for lesson, found in zip(lessons, values, strict=True)]
    return (sum(silence) / len(silence) if needed > 0 else -1.0), needed


def judged(trials: list[Trial], bar: Bar | None = None) -> dict[str, float]:
    """What a bar does; without one, what the search did with the shipped numbers."""
    shown = {id(trial): trial.shown if bar is None else trial.worth and bar.passes(trial) for trial in trials}
    good, bad = [[trial for trial in trials if trial.answerable is side] for side in (True, False)]
    found = [trial for trial in good if trial.place is not None and trial.place < FIRST]
    result = {
        "refused": _share([not shown[id(trial)] for trial in good]),
        "refused_though_found": _share([not shown[id(trial)] for trial in found]),
        "silence": _share([not shown[id(trial)] for trial in bad]),
    }
    if bar is not None and good:
        high = [bar.margin(trial) if trial.open else np.inf for trial in good]
        low = [bar.margin(trial) if trial.open else np.inf for trial in bad]
        result["auc"] = float(np.mean([(one > other) + 0.5 * (one == other) for one in high for other in low]))
        result["silence_at_5%"] = _silence_at(high, low)
    return result


def _silence_at(high: list[float], low: list[float]) -> float:
    """How many of the bad ones stay below a bar that refuses at most one good question in twenty of this very shape."""
    bar = sorted(high)[int(len(high) * 0.05)]
    return _share([value < bar for value in low])


def _share(values: list[bool]) -> float:
    return sum(values) / max(len(values), 1)
