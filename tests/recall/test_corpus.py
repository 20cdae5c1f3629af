"""A corpus that grew with the store says what one read anew says, and finds what the rows hold."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from clew.app import Clew
from clew.index.item_reads import matching
from clew.index.items import Item, index_item, unindex_item
from clew.recall.corpus import Corpus
from clew.recall.library import holding
from clew.registry.connection import Connection
from clew.registry.context import Context

WORDS = ["red", "green", "blue", "stone", "river", "cloud", "docker", "pg_dump", "users.email", "café", "décision"]
SOURCES = ("note", "card", "thought")


def place(clew: Clew) -> Context:
    return Context(clew.dispatcher, Connection(), "ws", None)


def change(ctx: Context, chance: random.Random, count: int) -> None:
    """New items, other words for old ones, and items that go."""
    with ctx.writing() as bound:
        for _ in range(count):
            ref = f"N-{chance.randint(0, 60)}"
            if chance.random() < 0.15:
                unindex_item(bound.tx, "ws", ref)
                continue
            item = Item(
                ref,
                chance.choice(SOURCES),
                bound.ws.next_seq(),
                bound.now_ms,
                title=chance.choice([None, "River stone"]),
                body=" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) + chance.choice(["", "?"]),
                tags=tuple(chance.choices(WORDS, k=chance.randint(0, 2))),
                speaker=chance.choice([None, "Ada", "Bo"]),
                status=chance.choice([None, "active", "superseded"]),
                branch=1,
                doc=chance.choice([None, "a", "b"]),
            )
            index_item(bound.tx, "ws", item)


def told(corpus: Corpus) -> dict[str, Any]:
    """What a corpus says of its living items, whatever its own numbers are."""
    words = corpus.words()
    found = {}
    for slot in np.flatnonzero(corpus.alive).tolist():
        before, after = int(corpus.before[slot]), int(corpus.after[slot])
        found[corpus.refs[slot]] = (
            [(words[key // 4], key % 4) for key in corpus.reading(slot).tolist()],
            corpus.lengths[slot].tolist(),
            int(corpus.seq[slot]),
            int(corpus.when[slot]),
            corpus.status_of(slot),
            corpus.place(slot),
            bool(corpus.question[slot]),
            bool(corpus.continues[slot]),
            corpus.refs[before] if before >= 0 else None,
            corpus.refs[after] if after >= 0 else None,
            [corpus.stretch[slot] == corpus.stretch[other] for other in (before, after) if other >= 0],
            sorted(
                (word, field)
                for word in set(WORDS)
                for field in range(4)
                for run in corpus.runs
                for hits in [run.postings((corpus.term(word) or 0) * 4 + field)]
                if corpus.term(word) is not None and hits is not None and slot in hits[0].tolist()
            ),
        )
    return found


def refreshed(clew: Clew, corpus: Corpus) -> Corpus:
    with clew.database.read() as tx:
        assert corpus.refresh(tx, "ws")
    return corpus


def test_a_corpus_that_grew_says_what_a_new_one_says(clew: Clew) -> None:
    ctx, chance, grown = place(clew), random.Random(5), Corpus()
    for step in range(12):
        change(ctx, chance, chance.randint(1, 40))
        assert told(refreshed(clew, grown)) == told(refreshed(clew, Corpus())), step


def test_many_changes_are_read_in_portions(clew: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    change(place(clew), random.Random(7), 60)
    whole = told(refreshed(clew, Corpus()))
    monkeypatch.setattr("clew.recall.corpus.CHUNK", 7)
    assert told(refreshed(clew, Corpus())) == whole


def test_the_index_finds_what_the_rows_hold(clew: Clew) -> None:
    ctx, chance = place(clew), random.Random(8)
    for _ in range(4):
        change(ctx, chance, 40)
        with ctx.reading() as bound:
            for _ in range(15):
                words = chance.choices([*WORDS, "nowhere", "users", "decis"], k=chance.randint(1, 4))
                sources = chance.choice([(), ("note",), ("card", "thought"), ("pattern",)])
                limit = chance.choice([1, 5, 100])
                held = matching(bound.tx, "ws", words, limit, sources)
                plain = [{name: value for name, value in row.items() if name != "padded"} for row in held]
                assert holding(bound, words, limit, sources) == plain


def test_a_slot_is_found_by_its_id_as_long_as_the_item_is_there(clew: Clew) -> None:
    ctx, chance, corpus = place(clew), random.Random(3), Corpus()
    for _ in range(3):
        change(ctx, chance, 40)
        refreshed(clew, corpus)
        with clew.database.read() as tx:
            held = {row["id"]: row["ref"] for row in tx.all("SELECT id, ref FROM item")}
        asked = [*held, max(held) + 1, *range(5)]
        assert {id: corpus.refs[slot] for id, slot in corpus.slot_by_id(asked).items()} == {
            id: held[id] for id in asked if id in held
        }
