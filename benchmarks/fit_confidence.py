"""Fits the probability that a search answers its question: `python -m benchmarks fit_confidence`.

Answerable questions against those that nothing answers, and against questions of other stores: those of the training
projects (`training/data`, one shape for each writer), agentmem, projects, young and other shapes. The two logistic
models of `clew.recall.confidence`: the subject against questions of other stores, the answer against what nothing
answers. Each shape weighs the same, and answerable questions are as frequent as they are in it. Prints the area under
the curve with each shape left out, and then on the held-out projects, on which nothing is fitted, with a table of how
often an answer was there for what was promised. Then the weights.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_recall import kept_model
from benchmarks.recall.arms import area
from benchmarks.recall.data import Collection, agentmem, store, training_project
from benchmarks.recall.trials import ranked_for
from benchmarks.recall.vectors import KeptVectors
from benchmarks.report import Report
from benchmarks.stores import fresh_store
from benchmarks.training.projects import held_out_projects, training_projects
from clew.app import open_clew
from clew.recall.confidence import ANSWER, LEAST_CONFIDENT, LEAST_LIKELY, SUBJECT, confidence_of, signals
from clew.recall.filler import fill
from clew.recall.kernel import kernel_of
from clew.recall.library import library
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

HELD_OUT = "held out"
FOREIGN = 12
"""Questions of other stores that are asked of each."""
FOREIGN_WEIGHT = 0.5
"""The weight of one of them: they are easily recognized, and there could be any number of them."""
RIDGE, STEPS = 0.003, 25
EDGES = (0.0, 0.2, LEAST_LIKELY, 0.5, 0.7, LEAST_CONFIDENT, 0.95, 1.01)

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One question with the signals that the search found."""

    shape: str
    answerable: bool
    foreign: bool
    shown: bool
    """Whether anything is worth showing; if not, no probability is needed."""
    signals: dict[str, float]


@dataclass(frozen=True)
class Model:
    names: tuple[str, ...]
    weights: Numbers
    constant: float

    def probabilities(self, cases: Sequence[Case]) -> Numbers:
        log_odds = table(cases, self.names) @ self.weights + self.constant
        return np.asarray(1 / (1 + np.exp(-log_odds)), np.float64)

    def printed(self) -> dict[str, float]:
        weights = {name: round(float(value), 2) for name, value in zip(self.names, self.weights, strict=True)}
        return {"constant": round(self.constant, 2), **weights}


@dataclass(frozen=True)
class Product:
    subject: Model
    answer: Model

    def probabilities(self, cases: Sequence[Case]) -> Numbers:
        shown = np.array([case.shown for case in cases])
        both = self.subject.probabilities(cases) * self.answer.probabilities(cases)
        return np.asarray(np.where(shown, both, 0.0), np.float64)


def main() -> None:
    cases = gathered(kept_model())
    taught = [case for case in cases if case.shape != HELD_OUT]
    held_out = [case for case in cases if case.shape == HELD_OUT]
    for arm, without in (("meaning", frozenset[str]()), ("words", frozenset({"dense"}))):
        model = fitted_product(taught, without)
        compare_shapes(arm, taught, without)
        report = Report(f"confidence_{arm}_held_out", f"{arm}: the held-out projects, on which nothing is fitted")
        report.row(shape=HELD_OUT, **figures(held_out, model.probabilities(held_out)))
        report.save()
        show_reliability(arm, held_out, model.probabilities(held_out))
        print(f"{arm}: subject {model.subject.printed()}, answer {model.answer.printed()}")


def compare_shapes(arm: str, cases: list[Case], without: frozenset[str]) -> None:
    report = Report(f"confidence_{arm}", f"{arm}: fitted without the shape that is measured")
    for shape in sorted({case.shape for case in cases}):
        mine = [case for case in cases if case.shape == shape]
        model = fitted_product([case for case in cases if case.shape != shape], without)
        report.row(shape=shape, **figures(mine, model.probabilities(mine)))
    report.save()


def fitted_product(cases: list[Case], without: frozenset[str]) -> Product:
    related = [case for case in cases if not case.foreign]
    known = [case for case in cases if case.foreign or case.answerable]
    return Product(fitted(known, SUBJECT - without), fitted(related, ANSWER - without))


def figures(cases: list[Case], probabilities: Numbers) -> dict[str, float]:
    good = np.array([case.answerable for case in cases])
    bad = np.array([not case.answerable and not case.foreign for case in cases])
    foreign = np.array([case.foreign for case in cases])
    weak = probabilities < LEAST_LIKELY
    return {
        "good": int(good.sum()),
        "bad": int(bad.sum()),
        "auc": area(probabilities[good].tolist(), probabilities[bad].tolist()),
        "auc_foreign": area(probabilities[good].tolist(), probabilities[foreign].tolist()),
        "good_weak": _share(weak[good]),
        "bad_weak": _share(weak[bad]),
        "foreign_weak": _share(weak[foreign]),
        "good_empty": _share(probabilities[good] == 0),
    }


def _share(marks: NDArray[np.bool_]) -> float:
    return float(marks.sum()) / max(len(marks), 1)


def show_reliability(arm: str, cases: list[Case], probabilities: Numbers) -> None:
    """Without questions of other stores, of which there could be any number."""
    own = np.array([not case.foreign for case in cases])
    good, probabilities = np.array([case.answerable for case in cases])[own], probabilities[own]
    report = Report(f"confidence_{arm}_reliability", f"{arm}: promised and real, held-out projects")
    for low, high in itertools.pairwise(EDGES):
        inside = (probabilities >= low) & (probabilities < high)
        if inside.any():
            mean, real = float(probabilities[inside].mean()), float(good[inside].mean())
            report.row(at_least=low, questions=int(inside.sum()), promised=mean, answerable=real)
    report.save()


def table(cases: Sequence[Case], names: Sequence[str]) -> Numbers:
    return np.array([[case.signals.get(name, 0.0) for name in names] for case in cases])


def fitted(cases: list[Case], wanted: frozenset[str]) -> Model:
    """Newton's method on standardised signals; the weights are given back in the signals' own measure."""
    taught = [case for case in cases if case.shown]
    names = tuple(sorted(wanted))
    rows, good, worth = table(taught, names), np.array([float(case.answerable) for case in taught]), worths(taught)
    mean = worth @ rows
    spread = np.sqrt(worth @ (rows - mean) ** 2) + 1e-9
    scaled = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    ridge = RIDGE * np.diag([*([1.0] * len(names)), 1e-6])
    point = np.zeros(len(names) + 1)
    for _ in range(STEPS):
        shares = 1 / (1 + np.exp(-scaled @ point))
        slope = scaled.T @ ((shares - good) * worth) + ridge @ point
        bend = (scaled * (shares * (1 - shares) * worth)[:, None]).T @ scaled + ridge
        step = np.linalg.solve(bend, slope)
        point = point - step * min(1.0, 3 / max(float(np.abs(step).max()), 1e-9))
    weights = point[:-1] / spread
    return Model(names, weights, float(point[-1] - weights @ mean))


def worths(cases: list[Case]) -> Numbers:
    own = Counter(case.shape for case in cases if not case.foreign)
    found = np.array([(FOREIGN_WEIGHT if case.foreign else 1.0) / own[case.shape] for case in cases])
    return np.asarray(found / found.sum(), np.float64)


def collections() -> Iterator[Collection]:
    data = Path(__file__).parent / "data"
    for project in training_projects():
        yield training_project(project, project.name.partition("_")[0])
    for project in held_out_projects():
        yield training_project(project, HELD_OUT)
    for shape in ("agentmem", "projects", "young"):
        yield from agentmem(data / shape, shape)
    for path in sorted((data / "shapes").glob("*.json")):
        yield from agentmem(path, "shapes")


def gathered(model: KeptVectors | None) -> list[Case]:
    everything = list(collections())
    questions = [(item.name, question.text) for item in everything for question in item.questions]
    found: list[Case] = []
    with fresh_store() as place:
        flags = {"home": place.home, "workspace": "bench", "workspace_lock": False, "embedding_model": "none"}
        clew = open_clew(load_settings(flags, {}))
        for number, item in enumerate(everything):
            home = Context(clew.dispatcher, Connection(local=True), f"store-{number}", None)
            with home.writing() as bound:
                store(bound, item)
            if model is not None:
                fill(home, model)
            chance = random.Random(item.name)
            others = [text for name, text in chance.sample(questions, 2 * FOREIGN) if name != item.name][:FOREIGN]
            found += cases_of(home, item, others, model)
        clew.close()
    if model is not None:
        model.save()
    return found


def cases_of(place: Context, item: Collection, others: list[str], model: KeptVectors | None) -> list[Case]:
    asked = [(question.text, True, False) for question in item.questions]
    asked += [(text, False, False) for text in item.unanswerable] + [(text, False, True) for text in others]
    found = []
    with place.reading() as ctx, library(ctx.database).lock:
        kernel = kernel_of(ctx)
        for text, answerable, foreign in asked:
            ranked, _ = ranked_for(ctx, kernel, text, model)
            shown = bool(confidence_of(ranked).probability)
            seen = signals(ranked) if shown else {}
            found.append(Case(item.shape, answerable, foreign, shown, seen))
    return found
