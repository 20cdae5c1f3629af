"""Figures of collections: Clew by words and with the model, FTS5, BM25, the bare model and the hybrid baseline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.recall.bm25 import bm25
from benchmarks.recall.data import Collection, store
from benchmarks.recall.hybrid import hybrid
from benchmarks.recall.locomo import DEPTHS, Conversation, Question, Tally, Turn
from benchmarks.recall.peers import by_meaning, fts5
from benchmarks.recall.vectors import KeptVectors
from clew.recall.filler import fill
from clew.recall.search import Request, Search
from clew.registry.context import Context

Ask = Callable[[str], tuple[list[str], float]]
"""Maps a question to the ids found and the probability that they answer it."""


@dataclass
class Figures:
    """The figures of one arm: retrieval, current records before replaced ones, and abstention."""

    tally: Tally = field(default_factory=Tally)
    current: list[bool] = field(default_factory=list)
    refused: list[bool] = field(default_factory=list)
    silent: list[bool] = field(default_factory=list)
    answerable: list[float] = field(default_factory=list)
    unanswerable: list[float] = field(default_factory=list)

    def ask(self, collection: Collection, ask: Ask) -> None:
        for question in collection.questions:
            found, probability = ask(question.text)
            self.tally.add(collection.name, question, found)
            self.refused.append(not found)
            self.answerable.append(probability)
            if question.category == "update" and question.stale:
                self.current.append(current_first(question, found))
        for text in collection.unanswerable:
            found, probability = ask(text)
            self.silent.append(not found)
            self.unanswerable.append(probability)

    def report(self) -> dict[str, Any]:
        found = self.tally.report()
        found["by_kind"] = found.pop("by_category")
        if self.current:
            found["current_first"] = _share(self.current)
        if self.silent:
            found |= {"silence": _share(self.silent), "refused": _share(self.refused)}
            found["auc"] = area(self.answerable, self.unanswerable)
        return found


def current_first(question: Question, found: list[str]) -> bool:
    """Whether the evidence is found, and before everything that it replaced."""
    first = min((place for place, id in enumerate(found) if id in question.evidence), default=None)
    return first is not None and all(found.index(id) > first for id in question.stale if id in found)


def measure_shape(
    ctx: Context, collections: list[Collection], model: KeptVectors | None, peers: bool
) -> dict[str, Any]:
    """The figures of every arm over all collections of one shape."""
    arms: dict[str, Figures] = {}
    for number, collection in enumerate(collections, 1):
        for name, ask in _arms(ctx, collection, model, peers):
            arms.setdefault(name, Figures()).ask(collection, ask)
        ctx.progress(number, len(collections), collection.shape)
    return {name: figures.report() for name, figures in arms.items()}


def _arms(ctx: Context, collection: Collection, model: KeptVectors | None, peers: bool) -> list[tuple[str, Ask]]:
    place = Context(ctx.dispatcher, ctx.connection, collection.name, ctx.agent, ctx.progress)
    with place.writing() as bound:
        store(bound, collection)
    arms: list[tuple[str, Ask]] = [("lexical", _clew(place, words_only=True))]
    if model is not None:
        fill(place, model)
        model.save()
        arms.append(("semantic", _clew(place, words_only=False)))
    if peers:
        others = as_conversation(collection)
        arms += [("fts5", _plain(fts5(others))), ("bm25", _plain(bm25(others)))]
    if peers and model is not None:
        arms.append(("model_alone", _plain(by_meaning(others, model))))
        arms.append(("hybrid", _plain(hybrid(collection, model))))
    return arms


def _clew(place: Context, words_only: bool) -> Ask:
    def ask(text: str) -> tuple[list[str], float]:
        answer = Search(place, Request(text, limit=DEPTHS[-1], words_only=words_only)).run()
        return [hit["_id"] for hit in answer["results"]], answer["probability"]

    return ask


def _plain(search: Callable[[str], list[str]]) -> Ask:
    """Other systems report no confidence."""
    return lambda text: (search(text), 1.0)


def as_conversation(collection: Collection) -> Conversation:
    """The same records for systems that only support plain texts."""
    turns = [Turn(record.id, 1, "", record.plain, "", None, "") for record in collection.records]
    return Conversation(collection.name, turns, collection.questions)


def _share(values: list[bool]) -> float:
    return round(sum(values) / max(len(values), 1), 4)


def area(good: list[float], bad: list[float]) -> float:
    """The area under the curve: how often an answerable question gets the higher probability of the two."""
    wins = sum((left > right) + 0.5 * (left == right) for left in good for right in bad)
    return round(wins / max(len(good) * len(bad), 1), 4)
