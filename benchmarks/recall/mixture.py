"""Weights fitted on a mixture of shapes: for talk and for pages, each shape weighing the same.

A softmax over a question's candidates, the evidence as the target. Each arm is fitted by itself: weights shared by
lexical and semantic search were worse on left-out shapes, because the semantic arm needs less of the words. Between
talk and pages the weights change evenly, as far as a collection is one of pages; so what one shape teaches is used on
another by how alike they are, not by name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.locomo import Tally
from benchmarks.recall.trials import Trial, Weights
from clew.recall.kernel import Kernel

STEPS = 12
FARTHEST = 4.0
"""How much a weight may change in one step."""
PULL = 0.002
"""Regularization towards the initial weight; a weight that no shape affects stays there."""
PLAIN = ("window", "lead", "document", "coverage", "proximity", "speaker", "question", "answer", "length", "dense")
"""Weights with the same initial value: nothing is known of them."""
PRIOR = ("date", "kind", "graph", "cue")
"""Weights with a manual initial value: few questions depend on them."""
TALK = (*PLAIN, *PRIOR)
PAGES = ("dense", "speaker", "document", "coverage")
"""The weights that differ among pages; all others are those of talk."""
MOST = 60
"""Candidates of a question that teach, the best by the weights it starts from."""
EACH = 300
"""Questions of a shape that teach; more of them say the same again."""

Point = NDArray[np.float64]
Part = tuple[Point, Point, Point]


@dataclass(frozen=True)
class Mixed:
    """Weights for talk and for pages."""

    talk: Weights
    pages: Weights

    def at(self, pages: float) -> Weights:
        return {name: value + pages * (self.pages[name] - value) for name, value in self.talk.items()}


def shipped(kernel: Kernel, meaning: bool) -> Mixed:
    return Mixed(kernel.weights(0.0, meaning), kernel.weights(1.0, meaning))


def neutral(weights: Mixed) -> Mixed:
    """Where nothing is known yet of the weights that are learned; the others are as they were."""
    same = dict.fromkeys(PLAIN, 1.0)
    return Mixed({**weights.talk, **same}, {**weights.pages, **same})


def fitted(trials: list[Trial], start: Mixed) -> Mixed:
    """Newton's method: the loss is convex, and a dozen steps reach the minimum."""
    taught = Lesson(trials, start)
    point = taught.start.copy()
    for _ in range(STEPS):
        slope, bend = taught.derivatives(point)
        slope += PULL * (point - taught.start)
        step = np.linalg.solve(bend + PULL * np.eye(len(point)), slope)
        # Far from the minimum a full step may overshoot.
        point = point - step * min(1.0, FARTHEST / max(float(np.abs(step).max()), 1e-9))
    return taught.mixed(point, start)


class Lesson:
    """The candidates of many questions as one table: a column for each weight of talk, then for each of pages.

    The columns of pages hold the difference that pages make, so that both are learned at once.
    """

    def __init__(self, trials: list[Trial], start: Mixed) -> None:
        useful = evenly([trial for trial in trials if trial.target().any()])
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

    def derivatives(self, point: Point) -> tuple[Point, Point]:
        """The first and second derivative of the loss: how far the shares of the candidates are from the target, and
        how much the features vary among those that share."""
        scores = self.matrix @ point + self.fixed
        shares = np.exp(scores - np.maximum.reduceat(scores, self.starts)[self.owner])
        shares /= np.add.reduceat(shares, self.starts)[self.owner]
        slope = self.matrix.T @ ((shares - self.target) * self.worth[self.owner])
        means = np.add.reduceat(self.matrix * shares[:, None], self.starts)
        squares = self.matrix.T @ (self.matrix * (shares * self.worth[self.owner])[:, None])
        return slope, squares - means.T @ (means * self.worth[:, None])

    def mixed(self, point: Point, start: Mixed) -> Mixed:
        talk = {**start.talk, **dict(zip(TALK, point[: len(TALK)].tolist(), strict=True))}
        differ = dict(zip(PAGES, point[len(TALK) :].tolist(), strict=True))
        return Mixed(talk, {**talk, **{name: talk[name] + more for name, more in differ.items()}})


def evenly(trials: list[Trial]) -> list[Trial]:
    """At most so many of each shape, from all of its stores."""
    shapes: dict[str, list[Trial]] = {}
    for trial in trials:
        shapes.setdefault(trial.shape, []).append(trial)
    return [found[at * len(found) // _most(found)] for found in shapes.values() for at in range(_most(found))]


def _most(trials: list[Trial]) -> int:
    return min(EACH, len(trials))


def _table(trial: Trial, start: Mixed) -> Part:
    """Columns, the score of everything that is not learned, and the target; of the best candidates and the evidence."""
    weights, target = start.at(trial.pages), trial.target()
    kept = np.union1d(np.argsort(-trial.scores(weights), kind="stable")[:MOST], np.flatnonzero(target))
    none = np.zeros(len(target), np.float32)
    columns = {name: trial.values.get(name, none)[kept] for name in TALK}
    table = [*columns.values(), *(trial.pages * columns[name] for name in PAGES)]
    return np.stack(table, 1).astype(np.float64), trial.scores(weights, frozenset(TALK))[kept], target[kept]


def figures(trials: list[Trial], weights: Mixed) -> dict[str, float]:
    """The figures of these weights; a question below the shipped abstention threshold finds nothing."""
    tally = Tally()
    for trial in trials:
        if trial.question is not None:
            found = trial.order(weights.at(trial.pages)) if trial.shown else []
            tally.add(trial.store, trial.question, found)
    return tally.summary()
