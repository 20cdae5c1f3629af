"""How likely an answer is one: what is asked for, and how much of it the best candidates hold."""

from __future__ import annotations

from typing import Any

import pytest

from clew.app import Clew
from clew.index.items import Item, index_items
from clew.recall.confidence import FORMS, form_of
from clew.recall.floor import grown
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


def signals_of(call: Caller, query: str) -> dict[str, Any]:
    found: dict[str, Any] = call("recall", query=query, sources=["notes"], explain=True)["analysis"]["signals"]
    return found


def test_words_that_stand_in_one_place_are_an_answer(store: Caller) -> None:
    wanted = {
        "What did the captain say about porridge near Reykjavik?": "note-57",
        "Where did the zeppelin land?": "note-57",
        "which kind of porridge": "note-57",
        "walrus migration": "note-123",
    }
    assert {query: ask(store, query)[:1] for query in wanted} == {query: [ref] for query, ref in wanted.items()}


def test_a_question_for_a_detail_that_no_record_holds_is_shown_as_weak(store: Caller) -> None:
    queries = ("how many harbours lifted the violin?", "who painted the violin orchard?")
    answers = {query: store("recall", query=query, sources=["notes"]) for query in queries}
    assert all(answer["doubtful"] and answer["confidence"] == "weak" for answer in answers.values()), answers
    assert {hit["strength"] for answer in answers.values() for hit in answer["results"]} <= {"weak", "far"}


def test_key_words_and_identifiers_find_what_holds_them(store: Caller) -> None:
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


def test_explain_shows_what_the_probability_rests_on(store: Caller) -> None:
    signals = signals_of(store, "When did the zeppelin borrow the walrus tokenaa?")
    assert set(signals) >= {*FORMS, "held", "covered", "unknown", "length", "short", "apart"}
    assert signals["time"] == 1
    assert 0 < signals["held"] < 0.8
    assert signals["unknown"] == 0


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("how many beds are there", "amount"),
        ("wie viele Karten gibt es", "amount"),
        ("combien coûte le pain", "amount"),
        ("who bought the car", "person"),
        ("to whom was it sold", "person"),
        ("wer liefert den Sirup", "person"),
        ("Since when is it so?", "time"),
        ("¿dónde está la llave?", "place"),
        ("which firm delivers", "choice"),
        ("what colour is it", "choice"),
        ("quelle entreprise", "choice"),
        ("what is the limit", "thing"),
        ("why karpenter", "reason"),
        ("may I restart it", "yes_no"),
        ("port 8080, right?", "other"),
        ("adding a retry to the client", "statement"),
    ],
)
def test_the_first_words_say_what_is_asked_for(question: str, form: str) -> None:
    assert form_of(question) == form


def test_a_record_that_holds_all_words_speaks_for_an_answer(store: Caller) -> None:
    together = signals_of(store, "When did the zeppelin land near Reykjavik?")
    scattered = signals_of(store, "When did the zeppelin land near the orchard?")
    assert together["covered"] > 0.2 > scattered["covered"]
    assert together["held"] > scattered["held"]


def test_an_answer_says_how_likely_it_is_one(store: Caller) -> None:
    sure = store("recall", query="Where did the zeppelin land near Reykjavik?", sources=["notes"])
    none = store("recall", query="who painted the violin orchard?", sources=["notes"])
    assert (sure["confidence"], none["confidence"]) == ("confident", "weak")
    assert sure["probability"] > none["probability"]


def test_the_best_of_next_to_nothing_is_shown_but_not_as_an_answer(clew: Clew, call: Caller) -> None:
    keep(clew, [remark(0)])
    answer = call("recall", query="how many harbour versions", sources=["notes"])
    assert [hit["_id"] for hit in answer["results"]] == ["note-0"]
    assert answer["confidence"] == "weak"


def test_the_least_similarity_grows_as_the_best_of_many_grows_by_chance() -> None:
    assert grown(100) == grown(10_000) == 1.0
    assert grown(5) < grown(24) < grown(60) < 1.0
    # Half of the way to a hundred items, counted in logarithms, takes more than half of the bar.
    assert 0.65 < grown(9) < 0.75


@pytest.mark.parametrize("size", [5, 20])
def test_a_small_store_shows_what_it_has(clew: Clew, call: Caller, size: int) -> None:
    keep(clew, [remark(number) for number in range(size)])
    assert ask(call, "When did tokenaa borrow the tokenab tokenac?")
    assert ask(call, "quantum chromodynamics") == []
