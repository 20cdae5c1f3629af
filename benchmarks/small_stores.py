"""Recall in young projects: `python -m benchmarks small_stores`.

Stores of five to two dozen records, written one by one as by an agent (`data/young`), with questions at each size: the
rank of the evidence, and the questions with no answer or a weak one. Nothing is fitted here.
"""

from __future__ import annotations

from benchmarks.fit_recall import kept_model
from benchmarks.left_out import asked
from benchmarks.recall.trials import Trial
from benchmarks.recall.vectors import KeptVectors
from benchmarks.recall.young import stages, young
from benchmarks.report import Report
from benchmarks.stores import fresh_store
from clew.app import open_clew
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings


def main(quick: bool = False) -> None:
    report = Report("small_stores", "Recall in stores of a few records")
    model = None if quick else kept_model()
    for arm, embedder in [("words", None)] + ([("meaning", model)] if model else []):
        trials = gathered(embedder)
        for size in sorted(trials):
            report.row(arm=arm, records=size, **placed(trials[size]), **doubted(trials[size]))
    report.save()


def gathered(model: KeptVectors | None) -> dict[int, list[Trial]]:
    """Every question at every size, by size."""
    found: dict[int, list[Trial]] = {}
    with fresh_store() as store:
        flags = {"home": store.home, "workspace": "bench", "workspace_lock": False, "embedding_model": "none"}
        clew = open_clew(load_settings(flags, {}))
        ctx = Context(clew.dispatcher, Connection(local=True), "bench", None)
        for collection in young():
            for stage in stages(ctx, collection):
                size = len(stage.collection.records)
                found.setdefault(size, []).extend(asked(stage.place, stage.collection, model))
        clew.close()
    return found


def placed(trials: list[Trial]) -> dict[str, float]:
    """The rank of the evidence, without the abstention threshold."""
    places = [trial.place for trial in trials if trial.place is not None]
    return {
        "asked": len(trials),
        "first": sum(place == 0 for place in places) / max(len(places), 1),
        "first_five": sum(place < 5 for place in places) / max(len(places), 1),
    }


def doubted(trials: list[Trial]) -> dict[str, float]:
    good, bad = ([trial for trial in trials if trial.answerable is wanted] for wanted in (True, False))
    return {
        "good_empty": _share([not trial.shown for trial in good]),
        "good_weak": _share([trial.weak for trial in good]),
        "bad_weak": _share([trial.weak or not trial.shown for trial in bad]),
    }


def _share(values: list[bool]) -> float:
    return sum(values) / max(len(values), 1)
