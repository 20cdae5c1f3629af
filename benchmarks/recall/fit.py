"""Fitting the weights of the features: a softmax over a question's candidates with its evidence as the target.

Used by `benchmarks/fit_recall.py`, which makes the shipped numbers, and by `clew bench recall`, which measures each
conversation also with weights that never saw it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.locomo import Conversation, Question
from clew.recall.kernel import Kernel, kernel_of
from clew.recall.library import library
from clew.recall.models import Embedder
from clew.recall.query import analyse
from clew.recall.ranking import rank
from clew.registry.context import Context

STEPS = 300
PACE = 0.1
DECAY = 1e-3
KEPT = frozenset({"phrase", "graph", "entity", "status", "recency"})
"""Weights that conversations say nothing about: they quote nothing, link nothing and supersede nothing."""
MEANING = frozenset({"dense"})

Weights = dict[str, float]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One question's candidates with the values of their features."""

    conversation: str
    question: Question
    refs: list[str]
    values: dict[str, NDArray[np.float32]]

    def scores(self, weights: Weights, without: tuple[str, ...] = ()) -> Numbers:
        total = np.zeros(len(self.refs))
        for name, values in self.values.items():
            if name not in without:
                total += weights.get(name, 0.0) * values
        return total

    def target(self) -> Numbers:
        hit = np.array([float(ref in self.question.evidence) for ref in self.refs])
        return hit / hit.sum() if hit.any() else hit


def gather(ctx: Context, conversation: Conversation, model: Embedder | None) -> list[Case]:
    """The candidates and features of every question of a stored conversation, from the pipeline itself."""
    with ctx.reading() as bound, library(bound.database).lock:
        kernel = kernel_of(bound)
        corpus = library(bound.database).current(bound, kernel)
        found = []
        for question in conversation.questions:
            likeness = library(bound.database).likeness(bound, kernel, corpus, model, question.text) if model else None
            ranked = rank(corpus, analyse(question.text, kernel, bound.now_ms), kernel, corpus.alive, likeness)
            refs = [corpus.refs[slot] for slot in ranked.slots]
            found.append(Case(conversation.name, question, refs, dict(ranked.features)))
        return found


def fit(cases: list[Case], weights: Weights) -> Weights:
    """First the lexical weights, then the weight of the semantic arm with the others fixed."""
    names = sorted(set(cases[0].values) - KEPT - MEANING)
    found = {**weights, **_fitted(cases, names, weights)}
    if set(cases[0].values) >= MEANING:
        found |= _fitted(cases, sorted(MEANING), found)
    return found


def fit_meaning(cases: list[Case], weights: Weights) -> Weights:
    return {**weights, **_fitted(cases, sorted(MEANING), weights)}


def with_weights(kernel: Kernel, weights: Weights) -> Kernel:
    """The kernel with other numbers for its features."""
    sections = ("weights", "time", "fusion")
    held = {name: {key: weights[key] for key in kernel.sections[name] if key in weights} for name in sections}
    return kernel.changed({name: dict(values) for name, values in held.items()})


def _fitted(cases: list[Case], names: list[str], weights: Weights) -> Weights:
    """Gradient descent with momentum; the loss is convex, so the starting point does not matter."""
    useful = [case for case in cases if case.target().any()]
    matrix = np.concatenate([np.stack([case.values[name] for name in names], 1) for case in useful]).astype(np.float64)
    fixed = np.concatenate([case.scores(weights, tuple(names)) for case in useful])
    target = np.concatenate([case.target() for case in useful])
    sizes = np.array([len(case.refs) for case in useful])
    starts, owner = np.concatenate(([0], np.cumsum(sizes)[:-1])), np.repeat(np.arange(len(sizes)), sizes)
    point, first, second = np.ones(len(names)), np.zeros(len(names)), np.zeros(len(names))
    for step in range(1, STEPS + 1):
        scores = matrix @ point + fixed
        shares = np.exp(scores - np.maximum.reduceat(scores, starts)[owner])
        shares /= np.add.reduceat(shares, starts)[owner]
        slope = matrix.T @ (shares - target) / len(sizes) + DECAY * point
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        point = point - PACE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return dict(zip(names, point.tolist(), strict=True))
