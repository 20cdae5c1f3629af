"""Fits recall's weights on LoCoMo conversations: `python -m benchmarks fit_recall`, with CLEW_LOCOMO set.

A softmax over a question's candidates, the evidence as the target, all questions with evidence. First the features
that words alone give, then the weight of the meaning arm with the others held. Beside the fitted figures stand those of
weights that never saw the conversation they are measured on. Prints the lines for `memory/kernel_defaults.py`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Report
from benchmarks.stores import fresh_store
from clew.app import open_clew
from clew.recall.index import embed_all
from clew.recall.kernel import default_kernel, kernel_of
from clew.recall.library import library
from clew.recall.locomo import Conversation, Question, Tally, read_conversations, store_turns
from clew.recall.model import NONE, installed_model
from clew.recall.models import load
from clew.recall.query import analyse
from clew.recall.ranking import rank
from clew.recall.trial import place_of
from clew.registry.context import Context
from clew.registry.session import Session
from clew.settings import load_settings

STEPS = 200
DECAY = 1e-3
KEPT = ("phrase", "graph", "entity", "status", "recency")
"""Weights that LoCoMo says nothing about: it quotes nothing, links nothing and supersedes nothing."""


@dataclass
class Case:
    conversation: str
    question: Question
    refs: list[str]
    values: dict[str, np.ndarray[Any, Any]]

    def target(self) -> np.ndarray[Any, Any]:
        hit = np.array([float(ref in self.question.evidence) for ref in self.refs])
        return hit / hit.sum() if hit.sum() else hit


def main(quick: bool = False) -> None:
    path = os.environ.get("CLEW_LOCOMO")
    if not path:
        print("fit_recall: set CLEW_LOCOMO to the LoCoMo file", file=sys.stderr)
        return
    conversations = read_conversations(Path(path))[: 2 if quick else None]
    report = Report("fit_recall", "Recall's weights, fitted and held out")
    weights = default_kernel().weights()
    cases = gather(conversations, NONE)
    words = [name for name in cases[0].values if name not in KEPT]
    weights |= fitted(cases, words, weights)
    report.row(arm="lexical", figures="fitted", **figures(cases, weights))
    report.row(arm="lexical", figures="held out", **held_out(cases, words, weights))
    if installed_model() is not None and not quick:
        cases = gather(conversations, "")
        weights |= fitted(cases, ["dense"], weights)
        report.row(arm="semantic", figures="fitted", **figures(cases, weights))
        report.row(arm="semantic", figures="held out", **held_out(cases, ["dense"], weights))
    report.save()
    print("\n".join(f"{name} = {weight:.2f}" for name, weight in sorted(weights.items())))


def gather(conversations: list[Conversation], model: str) -> list[Case]:
    """The candidates and features of every question, from the pipeline itself."""
    with fresh_store() as store:
        flags = {"home": store.home, "workspace": "bench", "workspace_lock": False, "embedding_model": model}
        clew = open_clew(load_settings(flags, {}))
        ctx = Context(clew.dispatcher, Session(), "bench", None)
        cases = [case for item in conversations for case in gather_one(place_of(ctx, item), item, model)]
        clew.close()
        return cases


def gather_one(ctx: Context, conversation: Conversation, model: str) -> list[Case]:
    files = installed_model() if model != NONE else None
    embedder = load(files) if files else None
    found = []
    with ctx.writing() as bound:
        store_turns(bound, conversation)
    if embedder is not None:
        embed_all(ctx)
    with ctx.reading() as bound:
        kernel = kernel_of(bound)
        corpus = library(bound.database).current(bound, kernel)
        for question in conversation.questions:
            similarity = None
            if embedder is not None:
                vectors = library(bound.database).vectors(bound, embedder)
                similarity = vectors.similarity(corpus, embedder.embed_query(question.text))
            ranked = rank(corpus, analyse(question.text, kernel, bound.now_ms), kernel, corpus.alive, similarity)
            refs = [corpus.refs[slot] for slot in ranked.slots]
            found.append(Case(conversation.name, question, refs, dict(ranked.features)))
    return found


def fitted(cases: list[Case], names: list[str], weights: dict[str, float]) -> dict[str, float]:
    """Gradient descent with momentum on the listwise loss; the other weights stay as they are."""
    sets = [
        (np.stack([case.values[name] for name in names], 1), rest(case, names, weights), case.target())
        for case in cases
    ]
    sets = [item for item in sets if item[2].sum()]
    point = np.array([weights[name] for name in names])
    first, second = np.zeros(len(names)), np.zeros(len(names))
    for step in range(1, STEPS + 1):
        slope = sum(_slope(matrix, fixed, target, point) for matrix, fixed, target in sets) / len(sets) + DECAY * point
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        point = point - 0.1 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return dict(zip(names, point.tolist(), strict=True))


def _slope(matrix: Any, fixed: Any, target: Any, point: Any) -> Any:
    scores = matrix @ point + fixed
    shares = np.exp(scores - scores.max())
    return matrix.T @ (shares / shares.sum() - target)


def rest(case: Case, names: list[str], weights: dict[str, float]) -> np.ndarray[Any, Any]:
    """The part of the scores that the fitted weights do not touch."""
    total = np.zeros(len(case.refs))
    for name, values in case.values.items():
        if name not in names:
            total += weights.get(name, 0.0) * values
    return total


def measured(tally: Tally, cases: list[Case], weights: dict[str, float]) -> None:
    for case in cases:
        order = np.argsort(-rest(case, [], weights), kind="stable")
        tally.add(case.conversation, case.question, [case.refs[at] for at in order])


def figures(cases: list[Case], weights: dict[str, float]) -> dict[str, float]:
    tally = Tally()
    measured(tally, cases, weights)
    return chosen(tally)


def held_out(cases: list[Case], names: list[str], weights: dict[str, float]) -> dict[str, float]:
    """Each conversation measured with weights fitted on the others."""
    tally = Tally()
    for name in sorted({case.conversation for case in cases}):
        others = [case for case in cases if case.conversation != name]
        measured(tally, [case for case in cases if case.conversation == name], weights | fitted(others, names, weights))
    return chosen(tally)


def chosen(tally: Tally) -> dict[str, float]:
    summary = tally.summary()
    return {name: summary[name] for name in ("recall@1", "recall@10", "any@10", "mrr@10")}
