"""Recall with one shape left out: `python -m benchmarks left_out`; CLEW_LOCOMO and CLEW_BEAM may name their files.

The weights of the features and the bar of silence are fitted on all shapes but one and measured on that one, beside
what is shipped and what is fitted on all. Shapes: records of agents (`data/agentmem`), young projects (`data/young`),
project chats (BEAM), talk (LoCoMo), and collections made of what this machine has (`samples`). The weights start from
the same number each, so that nothing of the shape that is left out is in them. Prints the numbers of the bars for
`memory/kernel_defaults.py`, which are fitted on the two sets that are part of the project.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.fit_recall import kept_model
from benchmarks.recall import mixture
from benchmarks.recall.bar import MEANING, WORDS, Bar, fitted_bar, judged
from benchmarks.recall.data import Collection, from_conversation, read, store
from benchmarks.recall.mixture import Mixed
from benchmarks.recall.trials import Trial, gather
from benchmarks.recall.vectors import KeptVectors
from benchmarks.recall.young import stages, young
from benchmarks.report import Report
from benchmarks.samples import collections
from benchmarks.stores import fresh_store
from clew.app import open_clew
from clew.recall.filler import fill
from clew.recall.kernel import default_kernel
from clew.recall.models import Embedder
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

OURS = ("agentmem", "young")
"""The sets that are part of the project, on which the bar of pages is fitted."""
AGENTMEM = Path(__file__).parent / "data" / "agentmem"
FIGURES = ("recall@5", "recall@10", "any@5", "mrr@10")

Shapes = dict[str, list[Trial]]


def main(quick: bool = False) -> None:
    ranking = Report("left_out", "Recall with one shape left out (floor aside)")
    silence = Report("left_out_silence", "Silence among pages with one shape left out")
    model = None if quick else kept_model()
    for arm, embedder in [("words", None)] + ([("meaning", model)] if model else []):
        shapes = gathered(embedder, quick)
        compare_weights(ranking, arm, shapes)
        compare_bars(silence, arm, shapes)
    ranking.save()
    silence.save()


def compare_weights(report: Report, arm: str, shapes: Shapes) -> None:
    kernel = default_kernel()
    shipped = Mixed(kernel.weights(0.0, arm == "meaning"), kernel.weights(1.0, arm == "meaning"))
    start = mixture.neutral(shipped)
    everything = mixture.fitted([trial for trials in shapes.values() for trial in trials], start)
    for shape, trials in shapes.items():
        others = [trial for other, found in shapes.items() if other != shape for trial in found]
        for label, weights in (
            ("shipped", shipped),
            ("fitted", everything),
            ("left out", mixture.fitted(others, start)),
        ):
            reached = mixture.figures(trials, weights)
            report.row(arm=arm, shape=shape, weights=label, **{name: reached[name] for name in FIGURES})


def compare_bars(report: Report, arm: str, shapes: Shapes) -> None:
    names = MEANING if arm == "meaning" else WORDS
    ours = {shape: shapes[shape] for shape in OURS}
    everything = fitted_bar([trial for trials in ours.values() for trial in trials], names)
    asked = {shape: trials for shape, trials in shapes.items() if any(not trial.answerable for trial in trials)}
    for shape, trials in asked.items():
        others = [trial for other, found in ours.items() if other != shape for trial in found]
        report.row(arm=arm, shape=shape, numbers="shipped", **judged(trials))
        report.row(arm=arm, shape=shape, numbers="fitted", **judged(trials, everything))
        report.row(arm=arm, shape=shape, numbers="left out", **judged(trials, fitted_bar(others, names)))
    print(f"floor_{arm}_pages:", printed(everything))


def printed(bar: Bar) -> str:
    return ", ".join([*(f"{name}={weight:.2f}" for name, weight in bar.weights.items()), f"needed={bar.needed:.2f}"])


def gathered(model: KeptVectors | None, quick: bool) -> Shapes:
    """Every question of every shape that is at hand, as the search met it."""
    shapes: Shapes = {}
    with fresh_store() as place:
        flags = {"home": place.home, "workspace": "bench", "workspace_lock": False, "embedding_model": "none"}
        clew = open_clew(load_settings(flags, {}))
        ctx = Context(clew.dispatcher, Connection(local=True), "bench", None)
        for collection in young():
            for stage in stages(ctx, collection):
                shapes.setdefault("young", []).extend(asked(stage.place, stage.collection, model))
        for collection in stored(quick, words_only=model is None):
            home = Context(ctx.dispatcher, ctx.connection, collection.name, None)
            with home.writing() as bound:
                store(bound, collection)
            shapes.setdefault(collection.shape, []).extend(asked(home, collection, model))
        clew.close()
    return shapes


def stored(quick: bool, words_only: bool) -> Iterator[Collection]:
    """Those that are put into a store as they are; samples by words only, to spare hours of embedding."""
    yield from read("agentmem", AGENTMEM)
    for shape, variable in (("beam", "CLEW_BEAM"), ("locomo", "CLEW_LOCOMO")):
        if os.environ.get(variable) and not quick:
            yield from read(shape, Path(os.environ[variable]))
    for number, sample in enumerate(collections() if words_only else []):
        yield replace(from_conversation(sample, sample.name), name=f"samples/{number}")


def asked(place: Context, collection: Collection, model: KeptVectors | None) -> list[Trial]:
    embedder: Embedder | None = model
    if model is not None:
        fill(place, model)
        model.save()
    return list(gather(place, collection, embedder))
