"""Calibration of silence: `python -m benchmarks silence`, with CLEW_LOCOMO set.

200 questions that the store cannot answer, made of its own words, and 200 that it can. A logistic model of the signs is
fitted on them, its bar set so that few good questions are refused; the table shows what the shipped numbers do and what
a model that never saw a conversation does on it. Prints the lines for `memory/kernel_defaults.py`.
"""

from __future__ import annotations

import os
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Report
from benchmarks.stores import fresh_store
from clew.app import open_clew
from clew.recall.floor import judge, signs
from clew.recall.index import embed_all
from clew.recall.kernel import Kernel, kernel_of
from clew.recall.library import library
from clew.recall.locomo import Conversation, read_conversations, store_turns
from clew.recall.model import NONE, installed_model
from clew.recall.models import load
from clew.recall.query import FILLER, analyse
from clew.recall.ranking import Ranked, rank
from clew.recall.trial import place_of
from clew.registry.context import Context
from clew.registry.session import Session
from clew.settings import load_settings

EACH = 200
REFUSED = 0.035
"""The share of good questions that the bar may refuse where it is fitted; the promise is one in twenty."""
FORMS = (
    "What did {name} say about {a} and {b} {c}?",
    "When did {name} {a} the {b} {c}?",
    "Why does {name} like the {a} {b}?",
    "Where did {name} get the {a} {b} for {c}?",
    "Does {name} know whether {a} {b} is {c}?",
    "How did the {a} change {b} and {c}?",
    "{a} {b} {c}",
)


@dataclass
class Case:
    conversation: str
    answerable: bool
    signs: dict[str, float]
    shown: bool
    open: bool
    """Whether the bar decides; a date or nearly all words in one place need none."""


def main(quick: bool = False) -> None:
    path = os.environ.get("CLEW_LOCOMO")
    if not path:
        print("silence: set CLEW_LOCOMO to the LoCoMo file", file=sys.stderr)
        return
    conversations = read_conversations(Path(path))[: 2 if quick else None]
    report = Report("silence", "Silence: share of questions refused")
    arms = [("words", NONE)] + ([("meaning", "")] if installed_model() and not quick else [])
    for arm, model in arms:
        cases = gather(conversations, model)
        names = list(cases[0].signs)
        weights, bar = fitted(cases, names)
        report.row(arm=arm, numbers="shipped", **refusals([(case, case.shown) for case in cases]))
        report.row(arm=arm, numbers="held out", **refusals(held_out(cases, names)))
        print(
            f"floor_{arm}:", ", ".join(f"{name}={weight:.3f}" for name, weight in weights.items()), f"needed={bar:.3f}"
        )
    report.save()


def questions(conversation: Conversation, count: int, chance: random.Random) -> list[tuple[str, bool]]:
    words = sorted({word for turn in conversation.turns for word in re.findall(r"[a-z]{4,}", turn.text.lower())})
    words = [word for word in words if word not in FILLER]
    names = sorted({turn.speaker for turn in conversation.turns})
    made = []
    for _ in range(count):
        a, b, c = chance.sample(words, 3)
        made.append((chance.choice(FORMS).format(name=chance.choice(names), a=a, b=b, c=c), False))
    real = [item.text for item in conversation.questions if item.category in (1, 2, 4)]
    return made + [(text, True) for text in chance.sample(real, min(count, len(real)))]


def gather(conversations: list[Conversation], model: str) -> list[Case]:
    with fresh_store() as store:
        flags = {"home": store.home, "workspace": "bench", "workspace_lock": False, "embedding_model": model}
        clew = open_clew(load_settings(flags, {}))
        ctx, chance = Context(clew.dispatcher, Session(), "bench", None), random.Random(8)
        each = EACH // len(conversations)
        cases = [
            case
            for item in conversations
            for case in gather_one(place_of(ctx, item), item, questions(item, each, chance), model)
        ]
        clew.close()
        return cases


def gather_one(ctx: Context, item: Conversation, asked: list[tuple[str, bool]], model: str) -> list[Case]:
    with ctx.writing() as bound:
        store_turns(bound, item)
    files = installed_model() if model != NONE else None
    if files is not None:
        embed_all(ctx)
    with ctx.reading() as bound:
        kernel = kernel_of(bound)
        corpus = library(bound.database).current(bound, kernel)
        found = []
        for text, answerable in asked:
            similarity = None
            if files is not None:
                embedder = load(files)
                vectors = library(bound.database).vectors(bound, embedder)
                similarity = vectors.similarity(corpus, embedder.embed_query(text))
            query = analyse(text, kernel, bound.now_ms)
            found.append(
                case_of(item.name, answerable, rank(corpus, query, kernel, corpus.alive, similarity), kernel, query)
            )
        return found


def case_of(name: str, answerable: bool, ranked: Ranked, kernel: Kernel, query: Any) -> Case:
    verdict = judge(ranked, kernel, query)
    return Case(name, answerable, signs(ranked), verdict.relevant, verdict.value != 0.0 or verdict.needed != 0.0)


def fitted(cases: list[Case], names: list[str]) -> tuple[dict[str, float], float]:
    """Logistic regression on standardised signs, given back in the signs' own measure."""
    matrix = np.array([[case.signs[name] for name in names] for case in cases])
    target = np.array([float(case.answerable) for case in cases])
    middle, width = matrix.mean(axis=0), matrix.std(axis=0) + 1e-9
    scaled = np.c_[(matrix - middle) / width, np.ones(len(cases))]
    point = np.zeros(scaled.shape[1])
    for _ in range(2000):
        point -= 0.2 * (scaled.T @ (1 / (1 + np.exp(-scaled @ point)) - target) / len(cases) + 1e-3 * point)
    weights = point[:-1] / width
    values = matrix @ weights
    bar = float(np.quantile(values[target == 1], REFUSED))
    return dict(zip(names, weights.tolist(), strict=True)), bar


def held_out(cases: list[Case], names: list[str]) -> list[tuple[Case, bool]]:
    found = []
    for name in sorted({case.conversation for case in cases}):
        weights, bar = fitted([case for case in cases if case.conversation != name], names)
        for case in cases:
            if case.conversation == name:
                value = sum(weights[sign] * number for sign, number in case.signs.items())
                found.append((case, not case.open or value >= bar))
    return found


def refusals(judged: list[tuple[Case, bool]]) -> dict[str, float]:
    def share(answerable: bool) -> float:
        shown = [shown for case, shown in judged if case.answerable == answerable]
        return 1 - sum(shown) / max(len(shown), 1)

    return {"unanswerable_refused": share(False), "answerable_refused": share(True), "questions": len(judged)}
