"""Calibration of silence: `python -m benchmarks silence`, with CLEW_LOCOMO set.

Questions that the store cannot answer against questions that it can. The first are made of its own words (three words
drawn from its vocabulary, in the forms that are fitted on and in others; drawn as often as they are said; two of them;
any number without a form; real questions with other words in them), or are real questions of another conversation, with
the names changed or left. The second are real. A logistic model of the signs is fitted on those that need a bar, and
the bar set so that few good questions are refused. The table shows what the shipped numbers do, and what a model does
that never saw the conversation it is measured on. Prints the numbers for `memory/kernel_defaults.py`.
"""

from __future__ import annotations

import os
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_recall import kept_model
from benchmarks.recall.locomo import Conversation, read_conversations, store_turns
from benchmarks.recall.trial import place_of
from benchmarks.recall.vectors import KeptVectors
from benchmarks.report import Report
from benchmarks.stores import fresh_store
from clew.app import open_clew
from clew.memory.kernel_defaults import SIGNS
from clew.recall.filler import fill
from clew.recall.floor import Evidence, judge, signs
from clew.recall.kernel import kernel_of
from clew.recall.library import library
from clew.recall.query import FILLER, analyse
from clew.recall.ranking import rank
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

EACH = 600
REFUSED = {"words": 0.037, "meaning": 0.032}
"""The share of good questions that the bar may refuse where it is fitted; the promise is one in twenty. Meaning tells
good from bad so much better that it can afford to refuse fewer."""
THREE = (
    "What did {name} say about {a} and {b} {c}?",
    "When did {name} {a} the {b} {c}?",
    "Why does {name} like the {a} {b}?",
    "Where did {name} get the {a} {b} for {c}?",
    "Does {name} know whether {a} {b} is {c}?",
    "How did the {a} change {b} and {c}?",
    "{a} {b} {c}",
)
OTHER = (
    "Did anyone mention {a} or {b} together with {c}?",
    "Tell me about the {a} {b} and the {c}",
    "Which {a} was {b} before {c}?",
    "How many {a} {b} did {name} {c}?",
    "What happened to {name}'s {a} when {b} {c}?",
    "What is {name}'s opinion of {a}, {b} and {c}?",
)
TWO = (
    "What {a} did {name} {b}?",
    "How does {name} describe the {a} {b}?",
    "What is the {a} of {name}'s {b}?",
    "When is the {a} {b}?",
    "Did {name} {a} a {b}?",
)
REAL = "answerable"
PLAIN = "made of its words"
TAUGHT = {
    PLAIN: 4.0,
    "in other forms": 2.0,
    "of frequent words": 4.0,
    "of two words": 4.0,
    "of others": 2.0,
    "of others, as they are": 1.0,
}
"""How much a kind weighs where the signs are fitted, by how likely it is to be asked; every other kind weighs half."""


@dataclass
class Case:
    conversation: str
    kind: str
    signs: dict[str, float]
    shown: bool
    open: bool
    """Whether the bar decides; a date or nearly all words in one place need none."""

    @property
    def answerable(self) -> bool:
        return self.kind == REAL


def main(quick: bool = False) -> None:
    path = os.environ.get("CLEW_LOCOMO")
    if not path:
        print("silence: set CLEW_LOCOMO to the LoCoMo file", file=sys.stderr)
        return
    conversations = read_conversations(Path(path))[: 2 if quick else None]
    report = Report("silence", "Silence: share of questions refused")
    model = None if quick else kept_model()
    for arm, embedder in [("words", None)] + ([("meaning", model)] if model else []):
        cases = gather(conversations, embedder)
        names = [name for name in SIGNS if name != "alone" and (embedder or name != "dense")]
        weights, bar = fitted(cases, names, REFUSED[arm])
        report.row(arm=arm, numbers="shipped", **refusals([(case, case.shown) for case in cases]))
        report.row(arm=arm, numbers="fitted", **refusals([(case, passes(case, weights, bar)) for case in cases]))
        report.row(arm=arm, numbers="held out", **refusals(held_out(cases, names, REFUSED[arm])))
        print(f"floor_{arm}:", ", ".join(f"{name}={weights[name]:.2f}" for name in names), f"needed={bar:.2f}")
    report.save()


def questions(
    item: Conversation, others: list[Conversation], count: int, chance: random.Random
) -> dict[str, list[str]]:
    said = [word for turn in item.turns for word in re.findall(r"[a-z]{4,}", turn.text.lower()) if word not in FILLER]
    names = sorted({turn.speaker for turn in item.turns})
    known, real = sorted(set(said)), _answerable(item)
    strange = [_renamed(question, other, names) for other in others for question in _answerable(other)]
    foreign = [question for other in others for question in _answerable(other)]
    return {
        PLAIN: [_made(THREE, known, names, chance) for _ in range(count)],
        "in other forms": [_made(OTHER, known, names, chance) for _ in range(count)],
        "of frequent words": [_made(THREE, said, names, chance) for _ in range(count)],
        "of two words": [_made(TWO, known, names, chance) for _ in range(count)],
        "without a form": [" ".join(chance.sample(known, chance.randint(2, 6))) for _ in range(count)],
        "words replaced": [_replaced(chance.choice(real), known, names, chance) for _ in range(count)],
        "of others": chance.sample(strange, min(count, len(strange))),
        "of others, as they are": chance.sample(foreign, min(count, len(foreign))),
        REAL: chance.sample(real, min(count, len(real))),
    }


def _answerable(item: Conversation) -> list[str]:
    return [ask.text for ask in item.questions if ask.category in ("multi-hop", "temporal", "single-hop")]


def _made(forms: tuple[str, ...], words: list[str], names: list[str], chance: random.Random) -> str:
    a, b, c = chance.sample(words, 3)
    return chance.choice(forms).format(name=chance.choice(names), a=a, b=b, c=c)


def _replaced(question: str, words: list[str], names: list[str], chance: random.Random) -> str:
    """A real question with other words of the store in the place of its own."""
    kept = FILLER | {name.lower() for name in names}
    parts = re.findall(r"[A-Za-z]+|[^A-Za-z]+", question)
    return "".join(
        chance.choice(words) if len(part) > 2 and part.isalpha() and part.lower() not in kept else part
        for part in parts
    )


def _renamed(question: str, other: Conversation, names: list[str]) -> str:
    for theirs, ours in zip(sorted({turn.speaker for turn in other.turns}), names, strict=False):
        question = question.replace(theirs, ours)
    return question


def gather(conversations: list[Conversation], model: KeptVectors | None) -> list[Case]:
    with fresh_store() as store:
        flags = {"home": store.home, "workspace": "bench", "workspace_lock": False, "embedding_model": "none"}
        clew = open_clew(load_settings(flags, {}))
        ctx, chance = Context(clew.dispatcher, Connection(), "bench", None), random.Random(8)
        each = EACH // len(conversations)
        cases: list[Case] = []
        for item in conversations:
            asked = questions(item, [other for other in conversations if other is not item], each, chance)
            place = place_of(ctx, item)
            with place.writing() as bound:
                store_turns(bound, item)
            cases += gather_one(place, item, asked, model)
        clew.close()
        return cases


def gather_one(ctx: Context, item: Conversation, asked: dict[str, list[str]], model: KeptVectors | None) -> list[Case]:
    if model is not None:
        fill(ctx, model)
    with ctx.reading() as bound, library(bound.database).lock:
        kernel, found = kernel_of(bound), []
        corpus = library(bound.database).current(bound, kernel)
        for kind, text in ((kind, text) for kind, texts in asked.items() for text in texts):
            likeness = library(bound.database).likeness(bound, kernel, corpus, model, text) if model else None
            query = analyse(text, kernel, bound.now_ms)
            ranked = rank(corpus, query, kernel, corpus.alive, likeness)
            verdict = judge(ranked, kernel, query)
            decided = bool(verdict.signs) or not len(ranked.slots)
            found.append(Case(item.name, kind, signs(Evidence(ranked)), verdict.reaches_bar, decided))
        return found


def fitted(cases: list[Case], names: list[str], refused: float) -> tuple[dict[str, float], float]:
    """Logistic regression on standardised signs, given back in the signs' own measure. Both sides weigh the same. Only
    what needs a bar teaches: what passes without one says nothing about where the bar should be."""
    taught = [case for case in cases if case.open]
    matrix = np.array([[case.signs[name] for name in names] for case in taught])
    target = np.array([float(case.answerable) for case in taught])
    weight = np.array([TAUGHT.get(case.kind, 0.5) for case in taught])
    weight /= np.where(target == 1, target @ weight, (1 - target) @ weight) * 2
    middle, width = matrix.mean(axis=0), matrix.std(axis=0) + 1e-9
    scaled = np.c_[(matrix - middle) / width, np.ones(len(taught))]
    point = np.zeros(scaled.shape[1])
    for _ in range(3000):
        point -= 0.3 * (scaled.T @ (weight * (1 / (1 + np.exp(-scaled @ point)) - target)) + 1e-3 * point)
    weights = dict(zip(names, (point[:-1] / width).tolist(), strict=True))
    return weights, bar_for(
        matrix[target == 1] @ (point[:-1] / width), refused * sum(case.answerable for case in cases)
    )


def bar_for(values: NDArray[np.float64], refused: float) -> float:
    """So high that this many of the good questions stay below."""
    return float(np.sort(values)[min(int(refused), len(values) - 1)])


def passes(case: Case, weights: dict[str, float], bar: float) -> bool:
    return not case.open or sum(weight * case.signs[name] for name, weight in weights.items()) >= bar


def held_out(cases: list[Case], names: list[str], refused: float) -> list[tuple[Case, bool]]:
    found = []
    for name in sorted({case.conversation for case in cases}):
        weights, bar = fitted([case for case in cases if case.conversation != name], names, refused)
        found += [(case, passes(case, weights, bar)) for case in cases if case.conversation == name]
    return found


def refusals(judged: list[tuple[Case, bool]]) -> dict[str, float]:
    kinds = dict.fromkeys(case.kind for case, _ in judged)
    shares = {kind: [not shown for case, shown in judged if case.kind == kind] for kind in kinds}
    return {kind: sum(refused) / max(len(refused), 1) for kind, refused in shares.items()}
