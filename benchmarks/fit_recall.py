"""Fits recall's weights on LoCoMo conversations: `python -m benchmarks fit_recall`, with CLEW_LOCOMO set.

A softmax over a question's candidates, the evidence as the target, all questions with evidence. First the lexical
features, then the weight of the semantic arm with the others fixed. Next to the figures of the shipped and of the
fitted weights are those of weights that never saw the conversation they are measured on. Prints the shipped and the
fitted numbers of `memory/kernel_defaults.py` side by side.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from benchmarks.recall.fit import KEPT, Case, Weights, fit, fit_meaning, gather
from benchmarks.recall.locomo import Conversation, Tally, read_conversations, store_turns
from benchmarks.recall.trial import place_of
from benchmarks.recall.vectors import KeptVectors
from benchmarks.report import Report
from benchmarks.stores import fresh_store
from clew.app import open_clew
from clew.recall.filler import fill
from clew.recall.kernel import default_kernel
from clew.recall.models import installed_model, load
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

CACHE = Path(__file__).parent / "results" / "vectors"


def main(quick: bool = False) -> None:
    path = os.environ.get("CLEW_LOCOMO")
    if not path:
        print("fit_recall: set CLEW_LOCOMO to the LoCoMo file", file=sys.stderr)
        return
    conversations = read_conversations(Path(path))[: 2 if quick else None]
    report = Report("fit_recall", "Recall's weights, shipped, fitted and held out (floor off)")
    model = None if quick else kept_model()
    words, meaning = gathered(conversations, model)
    shipped = default_kernel().weights()
    fitted = fit(words, shipped)
    apart = {name: fit(without(words, name), shipped) for name in names(words)}
    compare(report, "lexical", words, shipped, fitted, apart)
    if meaning:
        fitted = fit_meaning(meaning, fitted)
        apart = {name: fit_meaning(without(meaning, name), held) for name, held in apart.items()}
        compare(report, "semantic", meaning, shipped, fitted, apart)
    report.save()
    for name in sorted(set(fitted) - KEPT):
        print(f"{name:10} shipped {shipped[name]:6.2f}  fitted {fitted[name]:6.2f}")


def kept_model() -> KeptVectors | None:
    """The installed model; its embeddings are cached for the next run."""
    return KeptVectors(load(installed_model()), CACHE)


def gathered(conversations: list[Conversation], model: KeptVectors | None) -> tuple[list[Case], list[Case]]:
    """The candidates and features of every question, by words only and with the model."""
    with fresh_store() as store:
        flags = {"home": store.home, "workspace": "bench", "workspace_lock": False, "embedding_model": "none"}
        clew = open_clew(load_settings(flags, {}))
        ctx = Context(clew.dispatcher, Connection(), "bench", None)
        words: list[Case] = []
        meaning: list[Case] = []
        for conversation in conversations:
            place = place_of(ctx, conversation)
            with place.writing() as bound:
                store_turns(bound, conversation)
            words += gather(place, conversation, None)
            if model is not None:
                fill(place, model)
                model.save()
                meaning += gather(place, conversation, model)
        clew.close()
        return words, meaning


def names(cases: list[Case]) -> list[str]:
    return sorted({case.conversation for case in cases})


def without(cases: list[Case], name: str) -> list[Case]:
    return [case for case in cases if case.conversation != name]


def compare(
    report: Report, arm: str, cases: list[Case], shipped: Weights, fitted: Weights, apart: dict[str, Weights]
) -> None:
    for label, weights in (("shipped", shipped), ("fitted", fitted)):
        report.row(arm=arm, weights=label, **figures(cases, dict.fromkeys(apart, weights)))
    report.row(arm=arm, weights="held out", **figures(cases, apart))


def figures(cases: list[Case], weights: dict[str, Weights]) -> dict[str, float]:
    """The figures of cases that are ranked by the weights of their conversation."""
    tally = Tally()
    for case in cases:
        order = np.argsort(-case.scores(weights[case.conversation]), kind="stable")
        tally.add(case.conversation, case.question, [case.refs[at] for at in order])
    summary = tally.summary()
    return {name: summary[name] for name in ("recall@1", "recall@10", "any@10", "mrr@10")}
