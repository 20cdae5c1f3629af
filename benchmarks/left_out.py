"""Recall with one shape left out: `python -m benchmarks left_out`; CLEW_LOCOMO and CLEW_BEAM may name their files.

The weights of the features are fitted on all shapes but one and measured on that one, compared with the shipped ones
and with those fitted on all. Shapes: records of agents (`data/agentmem`), young projects (`data/young`), other shapes
(`data/shapes`: a renovation, commit subjects, a kitchen, a notebook), project chats (BEAM), talk (LoCoMo), generated
talk and chats (`recall/generated`), and collections made from texts of this machine (`samples`). The weights start
from the same number each, so that nothing of the shape that is left out is in them. A second table leaves out one
project, chat or conversation at a time and shows the mean and the spread over them. Prints the weights that all shapes
together give, for `memory/kernel_defaults.py`.

Trials are cached in `results/trials`: the first run asks some thousand questions, later ones only fit.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.fit_recall import kept_model
from benchmarks.recall import generated, mixture
from benchmarks.recall.data import Collection, agentmem, from_conversation, read, store
from benchmarks.recall.kept_trials import kept
from benchmarks.recall.mixture import PAGES, TALK, Mixed
from benchmarks.recall.trials import Trial, gather
from benchmarks.recall.vectors import KeptVectors
from benchmarks.recall.young import DATA as YOUNG
from benchmarks.recall.young import stages, young
from benchmarks.report import Report
from benchmarks.samples import collections
from benchmarks.stores import fresh_store
from clew.app import open_clew
from clew.recall.filler import fill
from clew.recall.kernel import default_kernel
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

FOLDED = ("agentmem", "projects", "beam", "locomo")
"""Shapes whose projects, chats and conversations are left out one by one."""
WORDS_ONLY = ("samples",)
"""Measured by words only, to save hours of embedding."""
AGENTMEM = Path(__file__).parent / "data" / "agentmem"
PROJECTS = Path(__file__).parent / "data" / "projects"
SHAPES = Path(__file__).parent / "data" / "shapes"
"""One project of another shape in each file; nothing was ever tuned on one of them alone."""
FIGURES = ("recall@5", "recall@10", "any@5", "mrr@10")

Shapes = dict[str, list[Trial]]


def main(quick: bool = False) -> None:
    ranking = Report("left_out", "Recall with one shape left out (floor on)")
    folds = Report("left_out_folds", "Recall with one project, chat or conversation left out: mean and spread")
    model = None if quick else kept_model()
    for arm, embedder in [("words", None)] + ([("meaning", model)] if model else []):
        shapes = gathered(arm, embedder, quick)
        compare_weights(ranking, arm, shapes)
        compare_folds(folds, arm, shapes)
    for report in (ranking, folds):
        report.save()


def compare_weights(report: Report, arm: str, shapes: Shapes) -> None:
    shipped = mixture.shipped(default_kernel(), arm == "meaning")
    start = mixture.neutral(shipped)
    everything = mixture.fitted([trial for trials in shapes.values() for trial in trials], start)
    print(f"{arm}:", printed_weights(everything))
    for shape, trials in shapes.items():
        if not any(trial.answerable for trial in trials):
            continue
        others = [trial for other, found in shapes.items() if other != shape for trial in found]
        for label, weights in (
            ("shipped", shipped),
            ("fitted", everything),
            ("left out", mixture.fitted(others, start)),
        ):
            report.row(arm=arm, shape=shape, weights=label, **reached(trials, weights))


def compare_folds(report: Report, arm: str, shapes: Shapes) -> None:
    """Each store with weights that never saw it, though they saw others of its shape."""
    shipped = mixture.shipped(default_kernel(), arm == "meaning")
    start = mixture.neutral(shipped)
    for shape in (name for name in FOLDED if name in shapes):
        found: dict[str, list[dict[str, float]]] = {"shipped": [], "left out": []}
        for place in sorted({trial.store for trial in shapes[shape]}):
            mine = [trial for trial in shapes[shape] if trial.store == place]
            others = [trial for trials in shapes.values() for trial in trials if trial.store != place]
            found["shipped"].append(reached(mine, shipped))
            found["left out"].append(reached(mine, mixture.fitted(others, start)))
        for label, rows in found.items():
            report.row(arm=arm, shape=shape, stores=len(rows), weights=label, **_spread(rows))


def _spread(rows: list[dict[str, float]]) -> dict[str, str]:
    values = {name: [row[name] for row in rows] for name in FIGURES}
    spread = {name: statistics.stdev(found) if len(found) > 1 else 0.0 for name, found in values.items()}
    return {name: f"{statistics.mean(found):.3f} ± {spread[name]:.3f}" for name, found in values.items()}


def reached(trials: list[Trial], weights: Mixed) -> dict[str, float]:
    found = mixture.figures(trials, weights)
    return {name: found[name] for name in FIGURES}


def printed_weights(weights: Mixed) -> str:
    talk = ", ".join(f"{name}={weights.talk[name]:.1f}" for name in TALK)
    return f"{talk}; pages: {', '.join(f'{name}={weights.pages[name]:.1f}' for name in PAGES)}"


def gathered(arm: str, model: KeptVectors | None, quick: bool) -> Shapes:
    """The trials of every question of every available shape."""
    shapes: Shapes = {}
    for name, data, made in sets(quick):
        if name not in WORDS_ONLY or model is None:
            for trial in kept(name, arm, data, partial(asked_anew, made, model)):
                shapes.setdefault(trial.shape, []).append(trial)
    return shapes


class Shape:
    """Collections of one set, read only when they must be asked."""

    def __init__(self, name: str, path: Path | None = None) -> None:
        self.name = name
        self.path = path

    def collections(self) -> Iterator[Collection]:
        if self.name in generated.SHAPES:
            yield from generated.shape(self.name)
        elif self.name == "samples":
            for number, sample in enumerate(collections()):
                yield replace(from_conversation(sample, sample.name), name=f"samples/{number}")
        elif self.name == "projects":
            yield from agentmem(PROJECTS, self.name)
        elif self.path is not None and self.path.parent == SHAPES:
            yield from agentmem(self.path, self.name)
        elif self.path is not None:
            yield from read(self.name, self.path)


def sets(quick: bool) -> Iterator[tuple[str, list[Path], Shape]]:
    yield "young", [YOUNG], Shape("young", YOUNG)
    yield "agentmem", [AGENTMEM], Shape("agentmem", AGENTMEM)
    yield "projects", [PROJECTS], Shape("projects", PROJECTS)
    for path in sorted(SHAPES.glob("*.json")):
        yield path.stem, [path], Shape(path.stem, path)
    for name in generated.SHAPES:
        yield name, [generated.DATA], Shape(name)
    for name, variable in (("beam", "CLEW_BEAM"), ("locomo", "CLEW_LOCOMO")):
        if os.environ.get(variable) and not quick:
            path = Path(os.environ[variable])
            yield name, [path], Shape(name, path)
    yield "samples", [], Shape("samples")


def asked_anew(shape: Shape, model: KeptVectors | None) -> list[Trial]:
    found: list[Trial] = []
    with fresh_store() as place:
        flags = {"home": place.home, "workspace": "bench", "workspace_lock": False, "embedding_model": "none"}
        clew = open_clew(load_settings(flags, {}))
        ctx = Context(clew.dispatcher, Connection(local=True), "bench", None)
        if shape.name == "young":
            for collection in young():
                for stage in stages(ctx, collection):
                    found += asked(stage.place, stage.collection, model)
        for collection in shape.collections() if shape.name != "young" else ():
            home = Context(ctx.dispatcher, ctx.connection, collection.name, None)
            with home.writing() as bound:
                store(bound, collection)
            found += asked(home, collection, model)
        clew.close()
    return found


def asked(place: Context, collection: Collection, model: KeptVectors | None) -> list[Trial]:
    if model is not None:
        fill(place, model)
        model.save()
    return list(gather(place, collection, model))
