"""The pipeline's data for a question: candidates with their features, and the probability of an answer.

Gathered once from the real search, so that other weights can be tried without asking again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.data import Collection
from benchmarks.recall.locomo import Question
from clew.recall.confidence import confidence_of
from clew.recall.features import outdated
from clew.recall.graph import successors
from clew.recall.kernel import Kernel, kernel_of
from clew.recall.library import library
from clew.recall.models import Embedder
from clew.recall.query import analyse
from clew.recall.ranking import Ranked
from clew.recall.search import MOST_OUTDATED, Request, Search
from clew.registry.context import Context

Weights = dict[str, float]
NOWHERE = 1_000_000
"""The place of evidence that is not among the candidates."""


@dataclass(frozen=True)
class Trial:
    """One question, answerable or not, as the search met it."""

    shape: str
    store: str
    text: str
    question: Question | None
    """None for an unanswerable question."""
    size: int
    pages: float
    refs: list[str]
    values: dict[str, NDArray[np.float32]]
    late: NDArray[np.bool_]
    heirs: dict[str, str]
    """Outdated records, with their replacements."""
    shown: bool
    """Whether anything is worth showing."""
    weak: bool
    """Whether the results are labelled as doubtful."""
    place: int | None
    """The rank of the evidence with the shipped weights, from 0; None if there is no evidence to find."""

    @property
    def answerable(self) -> bool:
        return self.question is not None

    def scores(self, weights: Weights, without: frozenset[str] = frozenset()) -> NDArray[np.float64]:
        total = np.zeros(len(self.refs))
        for name, values in self.values.items():
            if name not in without:
                total += weights.get(name, 0.0) * values
        return total

    def target(self) -> NDArray[np.float64]:
        """The evidence, or the record that it replaced: the new one takes its rank."""
        wanted = self.question.evidence if self.question else frozenset()
        hit = np.array([float(ref in wanted or self.heirs.get(ref) in wanted) for ref in self.refs])
        return hit / hit.sum() if hit.any() else hit

    def order(self, weights: Weights) -> list[str]:
        """As the search would show them: a replacement ranks at least as high as the old record, outdated ones
        last."""
        scores = self.scores(weights)
        best = dict(zip(self.refs, scores.tolist(), strict=True))
        plain = self.scores(weights, frozenset({"status"}))
        for at, ref in enumerate(self.refs):
            heir = self.heirs.get(ref)
            if heir is not None:
                best[heir] = max(best.get(heir, -np.inf), float(plain[at]))
        gone = {ref for ref, late in zip(self.refs, self.late, strict=True) if late}
        return sorted(best, key=lambda ref: (ref in gone, -best[ref], ref))


def gather(place: Context, collection: Collection, model: Embedder | None) -> Iterator[Trial]:
    """Every question of a stored collection, from the pipeline itself."""
    asked: list[tuple[str, Question | None]] = [(question.text, question) for question in collection.questions]
    asked += [(text, None) for text in collection.unanswerable]
    with place.reading() as ctx, library(ctx.database).lock:
        kernel = kernel_of(ctx)
        for text, question in asked:
            ranked, heirs = ranked_for(ctx, kernel, text, model)
            yield _trial(collection, ranked, heirs, text, question)


def ranked_for(ctx: Context, kernel: Kernel, text: str, model: Embedder | None) -> tuple[Ranked, dict[int, int]]:
    search = Search(ctx, Request(text))
    search.semantic.model = model
    query, corpus = analyse(text, kernel, ctx.now_ms), library(ctx.database).current(ctx, kernel)
    likeness, _ = search.semantic.likeness(ctx, corpus, query, kernel)
    ranked = search._rank(ctx, corpus, query, kernel, corpus.alive, likeness)
    late: list[int] = [] if query.history else ranked.slots[outdated(corpus, ranked.slots)].tolist()
    return ranked, successors(ctx, corpus, late[:MOST_OUTDATED]) if late else {}


def _trial(
    collection: Collection, ranked: Ranked, heirs: dict[int, int], text: str, question: Question | None
) -> Trial:
    corpus, confidence = ranked.scene.corpus, confidence_of(ranked)
    trial = Trial(
        shape=collection.shape,
        store=collection.name,
        text=text,
        question=question,
        size=ranked.matches.size,
        pages=ranked.matches.pages,
        refs=[corpus.refs[slot] for slot in ranked.slots],
        values=dict(ranked.features),
        late=outdated(corpus, ranked.slots),
        heirs={corpus.refs[old]: corpus.refs[new] for old, new in heirs.items()},
        shown=bool(confidence.probability),
        weak=confidence.doubtful,
        place=None,
    )
    return replace(trial, place=_place(trial, ranked.weights)) if question is not None else trial


def _place(trial: Trial, weights: Weights) -> int:
    order, wanted = trial.order(weights), trial.question.evidence if trial.question is not None else frozenset()
    return next((at for at, ref in enumerate(order) if ref in wanted), NOWHERE)
