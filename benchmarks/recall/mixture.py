"""Weights fitted on a mixture of shapes: for talk and for pages, each shape weighing the same.

A softmax over a question's candidates, the evidence as the target. Between talk and pages the weights change evenly, as
far as a collection is one of pages; so what one shape teaches is used on another by how alike they are, not by name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.locomo import Tally
from benchmarks.recall.trials import Trial, Weights

STEPS = 250
PACE = 0.15
PULL = 0.002
"""How strongly a weight is held where it began; what no shape speaks about stays there."""
TALK = ("window", "lead", "document", "coverage", "proximity", "speaker", "question", "answer", "length", "dense")
PAGES = ("dense", "speaker", "document", "coverage")
"""The weights that differ among pages; all others are those of talk."""
MOST = 120
"""Candidates of a question that teach, the best by the weights it starts from."""


@dataclass(frozen=True)
class Mixed:
    """Weights for talk and for pages."""

    talk: Weights
    pages: Weights

    def at(self, pages: float) -> Weights:
        return {name: value + pages * (self.pages[name] - value) for name, value in self.talk.items()}


def neutral(weights: Mixed) -> Mixed:
    """Where nothing is known yet of the weights that are learned; the others are as they were."""
    return Mixed({**weights.talk, **dict.fromkeys(TALK, 1.0)}, {**weights.pages, **dict.fromkeys(TALK, 1.0)})


def fitted(trials: list[Trial], start: Mixed) -> Mixed:
    """Gradient descent with momentum from where it starts."""
    taught = Lesson(trials, start)
    point, first, second = taught.start.copy(), np.zeros(len(taught.start)), np.zeros(len(taught.start))
    for step in range(1, STEPS + 1):
        slope = taught.slope(point) + PULL * (point - taught.start)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        point = point - PACE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return taught.mixed(point, start)


class Lesson:
    """The candidates of many questions as one table: a column for each weight of talk, then for each of pages.

    The column of pages holds the difference that pages make, so that both are learned at once.
    """

    def __init__(self, trials: list[Trial], start: Mixed) -> None:
        useful = [trial for trial in trials if trial.target().any()]
        parts = [_table(trial, start) for trial in useful]
        self.start = np.array(
            [start.talk[name] for name in TALK] + [start.pages[name] - start.talk[name] for name in PAGES]
        )
        self.matrix = np.concatenate([part[0] for part in parts])
        self.fixed = np.concatenate([part[1] for part in parts])
        self.target = np.concatenate([part[2] for part in parts])
        sizes = np.array([len(part[1]) for part in parts])
        self.starts, self.owner = np.concatenate(([0], np.cumsum(sizes)[:-1])), np.repeat(np.arange(len(sizes)), sizes)
        shapes = [trial.shape for trial in useful]
        self.worth = np.array([1 / shapes.count(shape) for shape in shapes]) / len(set(shapes))

    def slope(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        scores = self.matrix @ point + self.fixed
        shares = np.exp(scores - np.maximum.reduceat(scores, self.starts)[self.owner])
        shares /= np.add.reduceat(shares, self.starts)[self.owner]
        return np.asarray(self.matrix.T @ ((shares - self.target) * self.worth[self.owner]))

    def mixed(self, point: NDArray[np.float64], start: Mixed) -> Mixed:
        talk = {**start.talk, **dict(zip(TALK, point[: len(TALK)].tolist(), strict=True))}
        differ = dict(zip(PAGES, point[len(TALK) :].tolist(), strict=True))
        return Mixed(talk, {**talk, **{name: talk[name] + differ[name] for name in PAGES}})


Part = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _table(trial: Trial, start: Mixed) -> Part:
    """Columns, the score of everything that is not learned, and the target; of the best candidates and the evidence."""
    scores, target = trial.scores(start.at(trial.pages)), trial.target()
    kept = np.union1d(np.argsort(-scores, kind="stable")[:MOST], np.flatnonzero(target))
    none = np.zeros(len(scores), np.float32)
    columns = [trial.values.get(name, none)[kept] for name in TALK]
    columns += [trial.pages * trial.values.get(name, none)[kept] for name in PAGES]
    fixed = trial.scores(start.at(trial.pages), frozenset(TALK))[kept]
    return np.stack(columns, 1).astype(np.float64), fixed, target[kept]


def figures(trials: list[Trial], weights: Mixed) -> dict[str, float]:
    """What these weights reach, the floor aside."""
    tally = Tally()
    for trial in trials:
        if trial.question is not None:
            tally.add(trial.store, trial.question, trial.order(weights.at(trial.pages)))
    return tally.summary()
