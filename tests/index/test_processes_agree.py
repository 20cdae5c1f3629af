"""Every process gives the same answer from the same store, whatever it had read before: by words and by meaning."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from clew.app import Clew
from clew.index import vectors
from clew.index.item_reads import last_change
from clew.index.items import Item, index_item, unindex_item
from clew.recall.filler import fill
from clew.recall.kernel import default_kernel
from clew.recall.library import holding, library
from clew.registry.connection import Connection
from clew.registry.context import Context

WORDS = [
    "red",
    "green",
    "blue",
    "stone",
    "river",
    "cloud",
    "walrus",
    "tusk",
    "zebra",
    "stripe",
    "clinic",
    "youngster",
]


@dataclass
class WordEmbedder:
    """An embedding model with one dimension for each word it knows: texts that share words are alike."""

    id: str = "words-1"
    dimensions: int = len(WORDS)

    def embed(self, texts: list[str]) -> Any:
        return (
            np.stack([self.embed_query(text) for text in texts])
            if texts
            else np.zeros((0, self.dimensions), np.float32)
        )

    def embed_query(self, text: str) -> Any:
        found = np.zeros(self.dimensions, np.float32)
        for word in text.split():
            found[WORDS.index(word)] += 1.0
        size = float(np.linalg.norm(found))
        return found / np.float32(size) if size else found


class Process:
    """What a process of its own would be: a Clew with nothing read yet, over the same store."""

    def __init__(self, clew: Clew) -> None:
        self.ctx = Context(clew.dispatcher, Connection(), "ws", None)

    def put(self, ref: str, text: str) -> None:
        with self.ctx.writing() as bound:
            index_item(bound.tx, "ws", Item(ref, "note", bound.ws.next_seq(), bound.now_ms, body=text))

    def drop(self, ref: str) -> None:
        with self.ctx.writing() as bound:
            unindex_item(bound.tx, "ws", ref)

    def by_words(self, text: str) -> list[str]:
        with self.ctx.reading() as bound:
            return [row["ref"] for row in holding(bound, text.split(), 10)]

    def by_meaning(self, text: str, model: WordEmbedder) -> list[tuple[str, float]]:
        kept = library(self.ctx.database)
        with self.ctx.reading() as bound, kept.lock:
            corpus = kept.corpus(bound)
            likeness = kept.likeness(bound, default_kernel(), corpus, model, text)
            assert likeness is not None
            slots = likeness.nearest(corpus.alive, 10)
            found = zip([corpus.refs[slot] for slot in slots], likeness.of(slots).tolist(), strict=True)
            return sorted(found, key=lambda hit: (-hit[1], hit[0]))


@pytest.fixture
def start(make_clew: Callable[..., Clew]) -> Callable[[], Process]:
    return lambda: Process(make_clew())


def some_words(chance: random.Random, most: int = 6) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, most)))


def test_three_processes_and_a_new_one_answer_alike(start: Callable[[], Process]) -> None:
    chance, model, queries, newest = random.Random(11), WordEmbedder(), 0, "N-1"
    running = [start() for _ in range(3)]
    for step in range(100):
        for _ in range(chance.randint(1, 4)):
            # What was embedded last goes often: its number must not be given to the next one.
            writer, ref = chance.choice(running), chance.choice([newest, f"N-{chance.randint(1, 40)}"])
            if ref == newest or chance.random() < 0.3:
                writer.drop(ref)
            else:
                writer.put(ref, some_words(chance))
                newest = ref
            if chance.random() < 0.5:
                fill(chance.choice(running).ctx, model, most=chance.choice([1, 100]))
            if chance.random() < 0.5:
                chance.choice(running).by_meaning("red", model)
        fill(chance.choice(running).ctx, model)
        fresh = start() if step % 10 == 9 else running[0]
        for _ in range(5):
            query = some_words(chance, 3)
            expected = fresh.by_meaning(query, model), fresh.by_words(query)
            for process in running:
                assert (process.by_meaning(query, model), process.by_words(query)) == expected, (step, query)
            queries += 1
    assert queries == 500


def test_a_number_that_was_given_is_not_given_again(start: Callable[[], Process]) -> None:
    """The item embedded last goes, another comes: a process that had read up to it reads the new one."""
    one, other, model = start(), start(), WordEmbedder()
    one.put("N-1", "stone river")
    one.put("N-2", "zebra stripe")
    fill(one.ctx, model)
    assert other.by_meaning("zebra", model)[0][0] == "N-2"
    one.drop("N-2")
    one.put("N-3", "clinic youngster")
    fill(one.ctx, model)
    assert [ref for ref, _ in other.by_meaning("clinic", model)] == ["N-3", "N-1"]


def test_a_model_that_comes_back_begins_again(start: Callable[[], Process]) -> None:
    one, other, first, second = start(), start(), WordEmbedder(), WordEmbedder("words-2")
    one.put("N-1", "stone river")
    fill(one.ctx, first)
    other.by_meaning("stone", first)
    fill(one.ctx, second)
    with one.ctx.writing() as bound:
        vectors.forget_other_models(bound.tx, second.id)
    one.put("N-1", "zebra stripe")
    fill(one.ctx, first)
    assert other.by_meaning("zebra", first) == start().by_meaning("zebra", first)


def test_a_slow_process_does_not_put_an_old_vector_over_a_new_one(start: Callable[[], Process]) -> None:
    one, model = start(), WordEmbedder()
    one.put("N-1", "stone river")
    with one.ctx.reading() as bound:
        change = last_change(bound.tx, "ws")
        id = bound.tx.value("SELECT id FROM item WHERE ref = 'N-1'")
    old = vectors.StoredVector(id, "old", vectors.packed(model.embed_query("stone river")))
    one.put("N-1", "zebra stripe")
    fill(one.ctx, model)
    with one.ctx.writing() as bound:
        vectors.keep(bound.tx, "ws", model.id, [old], [], change)
    assert one.by_meaning("zebra stripe", model)[0][1] == pytest.approx(1.0, abs=0.02)
