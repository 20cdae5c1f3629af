"""Words of a question that stand here and there are no answer and are shown as weak, words in one place are one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clew.app import Clew
from clew.index.items import Item, index_items
from clew.memory.kernel_defaults import SIGNS
from clew.recall.floor import Evidence, grown
from clew.recall.kernel import kernel_of
from clew.recall.library import library
from clew.recall.query import analyse, parts_of
from clew.recall.ranking import rank
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller

THINGS = ("harbour", "violin", "glacier", "lantern", "orchard", "compass", "saddle", "chimney", "anchor", "teapot")
DEEDS = ("repaired", "painted", "borrowed", "measured", "carried", "washed", "covered", "lifted", "sketched", "sold")
TIMES = ("at dawn", "after supper", "in the rain", "by candlelight", "on a whim", "with great care")


def remark(number: int) -> str:
    """Remarks of which each holds one thing, one deed and a word of its own."""
    thing, deed = THINGS[number % 10], DEEDS[number // 10 % 10]
    own = f"token{chr(97 + number // 26)}{chr(97 + number % 26)}"
    return f"Somebody {deed} the {thing} {TIMES[number % 6]}, which they called {own}."


@pytest.fixture
def store(clew: Clew, call: Caller) -> Caller:
    """Two hundred remarks that have nothing to do with each other, three of which are asked for."""
    texts = [remark(number) for number in range(200)]
    texts[57] = "The zeppelin landed near Reykjavik and its captain ordered porridge."
    texts[123] = "Set users.email_hash before the walrus migration, says ticket QX-4711."
    texts[180] = "数据库迁移在夜里运行。"
    keep(clew, texts)
    return call


def keep(clew: Clew, texts: list[str]) -> None:
    with Context(clew.dispatcher, Connection(), "ws", None).writing() as ctx:
        index_items(ctx.tx, "ws", [note(ctx, at, text) for at, text in enumerate(texts)])


def note(ctx: Context, at: int, text: str) -> Item:
    return Item(f"note-{at}", "note", ctx.ws.next_seq(), ctx.now_ms, body=text, branch=1, doc=f"doc-{at}")


def ask(call: Caller, query: str) -> list[str]:
    return [hit["_id"] for hit in call("recall", query=query, sources=["notes"])["results"]]


def floor_of(call: Caller, query: str) -> dict[str, Any]:
    found: dict[str, Any] = call("recall", query=query, sources=["notes"], explain=True)["analysis"]["floor"]
    return found


def test_words_that_stand_in_one_place_are_an_answer(store: Caller) -> None:
    wanted = {
        "What did the captain say about porridge near Reykjavik?": "note-57",
        "Where did the zeppelin land?": "note-57",
        "which kind of porridge": "note-57",
        "walrus migration": "note-123",
    }
    assert {query: ask(store, query)[:1] for query in wanted} == {query: [ref] for query, ref in wanted.items()}


def test_words_that_stand_here_and_there_are_shown_as_weak(store: Caller) -> None:
    queries = (
        "When did the zeppelin borrow the walrus tokenaa tokenbb?",
        "Why does porridge like tokencc and tokenbb at the walrus?",
        "Which walrus was tokendd before porridge and tokenee?",
    )
    answers = {query: store("recall", query=query, sources=["notes"]) for query in queries}
    assert all(answer["doubtful"] and answer["confidence"] == "low" for answer in answers.values())
    assert {hit["strength"] for answer in answers.values() for hit in answer["results"]} <= {"weak", "far"}


def test_what_speaks_for_itself_needs_no_bar(store: Caller) -> None:
    wanted = {
        "zeppelin": "note-57",
        "zepelin": "note-57",
        "porridge walrus": "note-57",
        "users.email_hash": "note-123",
        "users.em": "note-123",
        "QX-4711": "note-123",
        "what happened to QX-4711 and the violin tokenaa": "note-123",
        '"ordered porridge" glacier tokenaa lantern': "note-57",
        "数据库": "note-180",
        "夜里运行什么": "note-180",
    }
    assert {query: ref for query, ref in wanted.items() if ref not in ask(store, query)} == {}


def test_a_date_that_is_named_needs_no_bar_but_a_before_alone_does(store: Caller) -> None:
    assert floor_of(store, "What did the zeppelin do with tokenaa in May 2025?")["signs"] == {}
    assert floor_of(store, "What did the zeppelin do with tokenaa before the walrus?")["signs"] != {}


def test_explain_shows_what_the_verdict_rests_on(store: Caller) -> None:
    floor = floor_of(store, "When did the zeppelin borrow the walrus tokenaa?")
    assert set(floor["signs"]) == set(SIGNS)
    assert floor["value"] < floor["needed"]
    assert 0 < floor["signs"]["held"] < 0.8
    assert floor["signs"]["unknown"] == floor["signs"]["dense"] == 0


def test_what_sort_of_answer_is_wanted_need_not_stand_in_it(store: Caller) -> None:
    plain = floor_of(store, "which is the glacier that tokenaa lifted")["signs"]
    asked = floor_of(store, "what kinds of the glacier that tokenaa lifted are mentioned")["signs"]
    # How far the best stands ahead, and how much is said, is a matter of all words, not of the telling ones.
    others = {"ahead": 0, "long": 0}
    assert {**asked, **others} == {**plain, **others}


@pytest.mark.parametrize(
    ("query", "sign"),
    [
        ("How many walruses were there?", 1.0),
        ("How many zeppelins landed near Reykjavik?", 0.0),
        ("Which version of the walrus migration is it?", 1.0),
        ("Which version of porridge is served?", 0.0),
        ("What does the walrus migration cost?", 1.0),
        ("What does tea cost at the mill?", 0.0),
        ("Why was tea chosen over coffee?", 1.0),
        ("Why was porridge chosen over gruel?", 0.0),
        ("Why was there a walrus?", 0.0),
        ("How many walruses were there, and where is tea served?", 0.0),
    ],
)
def test_whoever_asks_for_a_sort_of_answer_needs_one_among_the_closest(clew: Clew, query: str, sign: float) -> None:
    """The number of a record's id is none, and what stands in the fourth item answers nothing."""
    walrus = ["The walrus migration is under way.", "A walrus sleeps.", "The walrus eats."]
    tea = ["Tea at the mill is sold for four euro.", "Tea is good.", "Porridge 2.4, not gruel, is served."]
    keep(clew, [*walrus, *tea, "Three zeppelins landed near Reykjavik."])
    with Context(clew.dispatcher, Connection(), "ws", None).reading() as ctx:
        kernel, corpus = kernel_of(ctx), library(ctx.database).current(ctx, kernel_of(ctx))
        ranked = rank(corpus, analyse(query, kernel, ctx.now_ms), kernel, corpus.alive)
    assert Evidence(ranked).lacks() == sign


def test_a_question_is_as_long_as_it_has_words_or_terms(store: Caller) -> None:
    signs = {
        text: floor_of(store, text)["signs"] for text in ("which glacier is it that tokenaa lifted", "violin 夜里数据")
    }
    assert signs["which glacier is it that tokenaa lifted"]["long"] == pytest.approx(np.log1p(7), abs=1e-3)
    assert signs["violin 夜里数据"]["long"] > np.log1p(2)


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("If it is late, whom do I phone, by when, and how is she told?", 4),
        ("Why was it sold and on which day?", 2),
        ("How did the zeppelin, the walrus and the glacier meet?", 0),
        ("What did Ada and Bo decide?", 0),
    ],
)
def test_several_questions_in_one_are_told_from_a_list(query: str, parts: int) -> None:
    assert len(parts_of(query)) == parts


def test_one_answer_is_an_answer_to_several_questions(store: Caller) -> None:
    one = "Where did the zeppelin land"
    alone = floor_of(store, f"{one} with the tokenbb tokenac tokenad tokenbe?")["signs"]["held"]
    both = floor_of(store, f"{one}, and what is the tokenbb of tokenac tokenad tokenbe?")["signs"]
    assert both["held"] > alone
    assert both["held"] > 0.9


def test_a_name_that_nobody_holds_weighs_more_than_another_word_that_nobody_holds(store: Caller) -> None:
    held = [
        floor_of(store, f"did the zeppelin meet {word} for tokenaa")["signs"]["held"] for word in ("bwana", "Bwana")
    ]
    assert held[0] > held[1]


def test_less_is_asked_of_what_stands_alone_than_of_talk(clew: Clew, call: Caller) -> None:
    """The same remarks: each a note of its own, and as what two people say to each other."""
    keep(clew, [remark(number) for number in range(150)])
    apart = floor_of(call, "the violin tokenbb of the orchard")
    with Context(clew.dispatcher, Connection(), "ws", None).writing() as ctx:
        talk = [note(ctx, at, f"{remark(at // 2)} Or was it {remark(at // 2 + 1)}") for at in range(150)]
        index_items(ctx.tx, "ws", [replace(turn, doc="talk", speaker="AB"[at % 2]) for at, turn in enumerate(talk)])
    spoken = floor_of(call, "the violin tokenbb of the orchard")
    assert apart["signs"]["alone"] == 1
    assert spoken["signs"]["alone"] == 0


def test_an_answer_says_how_likely_it_is_one(store: Caller) -> None:
    sure = store("recall", query="Where did the zeppelin land?", sources=["notes"])
    none = store("recall", query="Why does porridge like tokencc and tokenbb at the walrus?", sources=["notes"])
    assert (sure["confidence"], none["confidence"]) == ("high", "low")
    assert sure["probability"] > none["probability"]


def test_the_best_of_next_to_nothing_is_shown_but_not_as_an_answer(clew: Clew, call: Caller) -> None:
    keep(clew, [remark(0)])
    answer = call("recall", query="which harbour version", sources=["notes"])
    assert [hit["_id"] for hit in answer["results"]] == ["note-0"]
    assert answer["confidence"] == "low"


def test_what_is_asked_of_an_answer_grows_with_the_store(clew: Clew, call: Caller) -> None:
    needed = []
    for size in (5, 60, 150):
        keep(clew, [remark(number) for number in range(size)])
        needed.append(floor_of(call, "the violin tokenbb of the tokenac orchard")["needed"])
    assert 0 < needed[0] < needed[1] < needed[2]


def test_the_bar_grows_as_the_best_of_many_grows_by_chance() -> None:
    assert grown(100) == grown(10_000) == 1.0
    assert grown(5) < grown(24) < grown(60) < 1.0
    # Half of the way to a hundred items, counted in logarithms, takes more than half of the bar.
    assert 0.65 < grown(9) < 0.75


@pytest.mark.parametrize("size", [5, 20])
def test_a_small_store_shows_what_it_has(clew: Clew, call: Caller, size: int) -> None:
    keep(clew, [remark(number) for number in range(size)])
    assert ask(call, "When did tokenaa borrow the tokenab tokenac?")
    assert ask(call, "quantum chromodynamics") == []
