"""Packs say what the rows say: whoever starts from them, from rows or from both gives the same answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.app import Clew
from clew.index import packer as packing
from clew.index.item_reads import changed_items, last_change, matching
from clew.index.items import Item, index_item, unindex_item
from clew.index.packer import pack_up, packer
from clew.index.segments import (
    Segment,
    build_segment,
    join_segments,
    labels,
    read_segment,
    segment_stats,
    store_segment,
)
from clew.recall.corpus import Corpus
from clew.recall.library import holding
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.waiting import PATIENCE

WORDS = ["red", "green", "blue", "stone", "river", "cloud", "docker", "pg_dump", "users.email", "café", "décision"]
SOURCES = ("note", "card", "thought")


@pytest.fixture(autouse=True)
def small_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs of a handful of items, so that a small store has several and joins them."""
    monkeypatch.setattr(packing, "LEAST", 8)
    monkeypatch.setattr(packing, "CHUNK", 5)
    # Here the tests say when; the thread has a test of its own.
    monkeypatch.setattr(packing.Packer, "wake", lambda *_: None)


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
    names = {number: name for name, number in corpus.statuses.items()}
    found = {}
    for slot in np.flatnonzero(corpus.alive).tolist():
        before, after = int(corpus.before[slot]), int(corpus.after[slot])
        found[corpus.refs[slot]] = (
            [(words[key // 4], key % 4) for key in corpus.reading(slot).tolist()],
            corpus.lengths[slot].tolist(),
            int(corpus.seq[slot]),
            int(corpus.when[slot]),
            names[int(corpus.status[slot])],
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


def fresh(clew: Clew) -> Corpus:
    corpus = Corpus()
    with clew.database.read() as tx:
        corpus.refresh(tx, "ws")
    return corpus


def from_rows(clew: Clew, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    with monkeypatch.context() as patch:
        patch.setattr(Corpus, "_read_segments", lambda *_: None)
        return fresh(clew)


def test_packs_and_rows_say_the_same(clew: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx, chance, grown = place(clew), random.Random(5), Corpus()
    for step in range(12):
        change(ctx, chance, chance.randint(1, 40))
        pack_up(clew.database, "ws")
        with clew.database.read() as tx:
            grown.refresh(tx, "ws")
        expected = told(from_rows(clew, monkeypatch))
        assert told(fresh(clew)) == expected, step
        assert told(grown) == expected, step
    with clew.database.read() as tx:
        stats = segment_stats(tx, "ws")
    assert 0 < stats["count"] <= 6
    assert stats["change"] > 0


def test_a_pack_forgets_words_that_nobody_holds(clew: Clew) -> None:
    ctx, chance = place(clew), random.Random(1)
    with ctx.writing() as bound:
        index_item(bound.tx, "ws", Item("X-1", "note", bound.ws.next_seq(), 1, body="xylophone"))
    change(ctx, chance, 30)
    pack_up(clew.database, "ws")
    assert fresh(clew).term("xylophon") is not None
    with ctx.writing() as bound:
        unindex_item(bound.tx, "ws", "X-1")
    change(ctx, chance, 60)
    pack_up(clew.database, "ws")
    assert fresh(clew).term("xylophon") is None


def test_damaged_packs_are_not_believed_and_are_made_anew(clew: Clew, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx, chance = place(clew), random.Random(2)
    change(ctx, chance, 50)
    pack_up(clew.database, "ws")
    with clew.database.write() as tx:
        tx.run("UPDATE index_piece SET data = ? WHERE name = 'words'", b"broken")
    expected = told(from_rows(clew, monkeypatch))
    assert told(fresh(clew)) == expected
    change(ctx, chance, 40)
    pack_up(clew.database, "ws")
    with clew.database.read() as tx:
        for label in labels(tx, "ws"):
            read_segment(tx, "ws", label)
    assert told(fresh(clew)) == told(from_rows(clew, monkeypatch))


def test_packs_of_another_form_are_replaced(clew: Clew) -> None:
    ctx, chance = place(clew), random.Random(3)
    change(ctx, chance, 50)
    pack_up(clew.database, "ws")
    with clew.database.write() as tx:
        tx.run("UPDATE index_pack SET form = 0")
    with clew.database.read() as tx:
        assert labels(tx, "ws") == []
    pack_up(clew.database, "ws")
    with clew.database.read() as tx:
        assert [label.low for label in labels(tx, "ws")] == [0]
        assert tx.value("SELECT count(*) FROM index_pack WHERE form = 0") == 0


def test_pieces_without_a_label_are_swept_away(clew: Clew) -> None:
    """What a process leaves that was killed before its last piece."""
    ctx, chance = place(clew), random.Random(4)
    with ctx.writing() as bound:
        bound.tx.run("INSERT INTO index_piece VALUES ('ws', 77, 'words', 0, 0, ?)", b"half")
    change(ctx, chance, 40)
    pack_up(clew.database, "ws")
    with clew.database.read() as tx:
        assert tx.value("SELECT count(*) FROM index_piece WHERE number = 77") == 0
        assert segment_stats(tx, "ws")["count"] == 1


def test_of_two_who_pack_at_once_the_first_wins(clew: Clew) -> None:
    change(place(clew), random.Random(6), 40)
    with clew.database.read() as tx:
        pack = build_segment(changed_items(tx, "ws", 0, 40), 0, last_change(tx, "ws"))
    assert store_segment(clew.database, "ws", pack, []) is True
    assert store_segment(clew.database, "ws", pack, []) is False
    with clew.database.read() as tx:
        assert segment_stats(tx, "ws")["count"] == 1
        assert tx.value("SELECT count(DISTINCT number) FROM index_piece") == 1


@pytest.mark.parametrize("packed", [False, True])
def test_the_index_finds_what_the_rows_hold(clew: Clew, packed: bool) -> None:
    ctx, chance = place(clew), random.Random(8)
    for _ in range(4):
        change(ctx, chance, 40)
        if packed:
            pack_up(clew.database, "ws")
    with ctx.reading() as bound:
        for _ in range(60):
            words = chance.choices([*WORDS, "nowhere", "users", "decis"], k=chance.randint(1, 4))
            sources = chance.choice([(), ("note",), ("card", "thought"), ("pattern",)])
            limit = chance.choice([1, 5, 100])
            held = matching(bound.tx, "ws", words, limit, sources)
            plain = [{name: value for name, value in row.items() if name != "padded"} for row in held]
            assert holding(bound, words, limit, sources) == plain


def test_many_writes_are_packed_behind_them(make_clew: Callable[..., Clew], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(packing, "LEAST", 8)
    clew = make_clew()
    change(place(clew), random.Random(9), 40)
    thread = packer(clew.database)._thread
    if thread is not None:
        thread.join(PATIENCE)
    with clew.database.read() as tx:
        assert segment_stats(tx, "ws")["change"] >= 8


TEXT = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
CHANGE = st.tuples(st.integers(1, 8), st.one_of(st.none(), st.tuples(TEXT, TEXT, st.sampled_from(["a", "b", None]))))


def rows_of(changes: list[tuple[int, tuple[str, str, str | None] | None]], first: int) -> list[dict[str, Any]]:
    """Rows as `changed_items` gives them: an item that changed twice stands once, at its last change."""
    last = {id: (change, item) for change, (id, item) in enumerate(changes, first)}
    return [
        {
            "id": id,
            "change": change,
            "terms": None if item is None else f"{item[0]}\n{item[1]}\n\n",
            "ref": None if item is None else f"N-{id}",
            "source": "note",
            "status": item[2] if item else None,
            "speaker": None,
            "kind": None,
            "branch": 1,
            "doc": item[2] if item else None,
            "seq": change,
            "ts_ms": change,
            "event_ts_ms": None,
        }
        for id, (change, item) in sorted(last.items(), key=lambda entry: entry[1][0])
    ]


def living(segment: Segment) -> dict[str, Any]:
    """What a segment says of each item, in words instead of its own numbers."""
    found = {}
    for slot, ref in enumerate(segment.refs):
        keys = segment.run.reading(slot).tolist()
        code = int(segment.codes["document"][slot])
        found[ref] = (
            [(segment.terms[key // 4], key % 4) for key in keys],
            int(segment.seq[slot]),
            segment.names["status"][int(segment.codes["status"][slot])],
            segment.names["document"][code] if code >= 0 else None,
        )
    return found


@given(st.lists(CHANGE, max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_joined_segments_say_what_one_segment_says(changes: list[Any], one: int, other: int) -> None:
    low, high = sorted(min(border, len(changes)) for border in (one, other))
    left = build_segment(rows_of(changes[:low], 1), 0, low)
    middle = build_segment(rows_of(changes[low:high], low + 1), low, high)
    right = build_segment(rows_of(changes[high:], high + 1), high, len(changes))
    whole = living(build_segment(rows_of(changes, 1), 0, len(changes)))
    for joined in (
        join_segments(join_segments(left, middle), right),
        join_segments(left, join_segments(middle, right)),
    ):
        assert living(joined) == whole
        assert (joined.low, joined.high) == (0, len(changes))
        assert set(joined.terms) == {term for words, *_ in whole.values() for term, _ in words}
