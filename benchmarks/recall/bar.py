"""The bar of silence among pages: a probability that is learned on several shapes, and how much of it is asked.

A logistic model of the signs, fitted on questions that need a bar: good ones, those that nothing answers, those whose
evidence was taken out of the store, and scattered words. Each shape weighs the same. The bar is the highest one at
which no shape loses more than a few of the questions whose evidence stands among the first ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.trials import Trial, Weights
from clew.recall.floor import asked_of

WORDS = ("held", "unknown", "words", "long", "asks", "lacks", "alone")
MEANING = (*WORDS, "dense", "ahead")
REFUSED = 0.04
"""The share of findable questions that the bar may refuse, in the shape where it refuses most."""
TAKEN = {"words": 0.3, "meaning": 0.1}
"""What questions whose evidence was taken away weigh beside real ones without an answer. They are asked in the same
words as good ones, so they teach what is missing and nothing about manners; but something else may answer them."""
SCATTERED = 3.0
"""What scattered words weigh beside a shape: they have no good questions of their own."""
FIRST = 10
RIDGE = 0.01
STEPS = 30
FARTHEST = 3.0

Point = NDArray[np.float64]


@dataclass(frozen=True)
class Bar:
    weights: Weights
    needed: float
    odds: float
    """The log-odds of an answer for what just reaches the bar, among as many good questions as bad ones."""

    def passes(self, trial: Trial) -> bool:
        return trial.anyway or self.margin(trial) >= 0

    def margin(self, trial: Trial) -> float:
        """How far a question stands above the bar; endless where none is asked."""
        return self.value(trial) - self.needed * asked_of(trial.size) if trial.open else float("inf")

    def value(self, trial: Trial) -> float:
        return sum(weight * trial.signs[name] for name, weight in self.weights.items())


def fitted_bar(trials: list[Trial], names: tuple[str, ...]) -> Bar:
    # What nothing is worth showing of stays without an answer, whatever the bar is.
    taught = [trial for trial in trials if trial.open and trial.worth]
    weights = dict(zip(names, _logistic(taught, names), strict=True))
    weights = {name: round(float(weight), 2) for name, weight in weights.items()}
    plain = Bar(weights, 0.0, 0.0)
    needed = min(_bearable(plain, trials, shape, REFUSED) for shape in sorted({trial.shape for trial in trials}))
    # Down, so that whoever stands just at the bar passes.
    bar = Bar(weights, float(np.floor(needed * 100)) / 100, 0.0)
    return Bar(weights, bar.needed, _odds(bar, taught, names))


def _logistic(trials: list[Trial], names: tuple[str, ...]) -> Point:
    """Newton's method on standardised signs, given back in the signs' own measure. The size of the store is learned
    beside them and left out again: `asked_of` says what it counts."""
    rows = [[*(trial.signs[name] for name in names), asked_of(trial.size)] for trial in trials]
    signs, good, worth = np.array(rows), _good(trials), worths(trials, names)
    mean = worth @ signs
    spread = np.sqrt(worth @ (signs - mean) ** 2) + 1e-9
    table = np.concatenate(((signs - mean) / spread, np.ones((len(trials), 1))), 1)
    ridge = RIDGE * np.diag([*([1.0] * signs.shape[1]), 1e-6])
    point = np.zeros(table.shape[1])
    for _ in range(STEPS):
        shares = 1 / (1 + np.exp(-table @ point))
        slope = table.T @ ((shares - good) * worth) + ridge @ point
        bend = (table * (shares * (1 - shares) * worth)[:, None]).T @ table + ridge
        step = np.linalg.solve(bend, slope)
        point = point - step * min(1.0, FARTHEST / max(float(np.abs(step).max()), 1e-9))
    return np.asarray((point[:-1] / spread)[: len(names)], np.float64)


def worths(trials: list[Trial], names: tuple[str, ...]) -> Point:
    """Good and bad ones weigh the same together, and each shape of either."""
    groups = [(trial.shape, trial.answerable, trial.taken) for trial in trials]
    sizes, good = Counter(groups), _good(trials)
    found = np.array([_weight(trial, names) / sizes[group] for trial, group in zip(trials, groups, strict=True)])
    sums = {side: float(found[good == side].sum()) or 1.0 for side in (0.0, 1.0)}
    return np.array([worth / sums[side] / 2 for worth, side in zip(found, good, strict=True)])


def _weight(trial: Trial, names: tuple[str, ...]) -> float:
    if trial.taken:
        return TAKEN["meaning" if "dense" in names else "words"]
    return SCATTERED if trial.shape == "scattered" else 1.0


def _good(trials: list[Trial]) -> Point:
    return np.array([float(trial.answerable) for trial in trials])


def _bearable(bar: Bar, trials: list[Trial], shape: str, refused: float) -> float:
    """So high that the allowed share of the shape's findable questions stays below."""
    mine = [trial for trial in trials if trial.shape == shape and _findable(trial)]
    values = sorted(bar.value(trial) / asked_of(trial.size) if trial.open else float("inf") for trial in mine)
    return values[min(int(refused * len(values)), len(values) - 1)] if values else float("inf")


def _odds(bar: Bar, trials: list[Trial], names: tuple[str, ...]) -> float:
    """Where the curve of the probability must stand so that it is right on the whole."""
    margins, good, worth = np.array([bar.margin(trial) for trial in trials]), _good(trials), worths(trials, names)
    odds = 0.0
    for _ in range(STEPS):
        shares = 1 / (1 + np.exp(-(margins + odds)))
        odds -= float((shares - good) @ worth) / max(float((shares * (1 - shares)) @ worth), 1e-9)
    return round(odds, 2)


def _findable(trial: Trial) -> bool:
    return trial.place is not None and trial.place < FIRST


def judged(trials: list[Trial], bar_of: Callable[[Trial], Bar] | None = None) -> dict[str, float]:
    """What a bar does; without one, what the search did with the shipped numbers."""
    shown = {
        id(trial): trial.shown if bar_of is None else trial.worth and bar_of(trial).passes(trial) for trial in trials
    }
    good, bad = [trial for trial in trials if trial.answerable], [trial for trial in trials if unanswerable(trial)]
    result = {
        "refused": _share([not shown[id(trial)] for trial in good]),
        "refused_though_found": _share([not shown[id(trial)] for trial in good if _findable(trial)]),
        "silence": _share([not shown[id(trial)] for trial in bad]),
        "silence_taken": _share([not shown[id(trial)] for trial in trials if trial.taken]),
    }
    if bar_of is not None and good and bad:
        high, low = [[bar_of(trial).margin(trial) for trial in side] for side in (good, bad)]
        result["auc"] = float(np.mean([(one > other) + 0.5 * (one == other) for one in high for other in low]))
        result["silence_at_5%"] = _silence_at(high, low)
    return result


def unanswerable(trial: Trial) -> bool:
    """Nothing that was ever kept answers it, as whoever wrote the question says."""
    return not trial.answerable and not trial.taken


def _silence_at(high: list[float], low: list[float]) -> float:
    """How many of the bad ones stay below a bar that refuses at most one good question in twenty of this very shape."""
    bar = sorted(high)[int(len(high) * 0.05)]
    return _share([value < bar for value in low])


def _share(values: list[bool]) -> float:
    return sum(values) / max(len(values), 1)
