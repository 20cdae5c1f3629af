"""Changing the model in the middle of traffic: no failed search, no mixed vectors, and a killed switch goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.app import Clew
from clew.recall.filler import fill
from clew.recall.models import COMING, load, store_choice
from clew.recall.switch import use_model
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller
from tests.waiting import until


@pytest.fixture
def semantic(make_clew: Callable[..., Clew]) -> Caller:
    call = Caller(make_clew(embedding_model=""))
    for number in range(40):
        call("notes_commit", content=f"The {['red', 'blue', 'green'][number % 3]} engine number {number} was serviced.")
    call("reindex", include_vectors=True)
    return call


def models(call: Caller) -> list[str]:
    with call.clew.database.read() as tx:
        return [row["model"] for row in tx.all("SELECT DISTINCT model FROM item_vector ORDER BY model")]


def test_searches_go_on_with_one_model_at_a_time(semantic: Caller, other_model: Path) -> None:
    seen: list[tuple[bool, str, int]] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            answer = semantic.answer("hybrid_search", query="which engine was serviced", sources=["all"])
            arms = answer.envelope["result"].get("arms", {})
            seen.append(
                (answer.ok and arms["semantic"], arms.get("model", ""), len(answer.envelope["result"]["results"]))
            )

    asking = threading.Thread(target=ask)
    asking.start()
    steps: list[tuple[str, int, int]] = []
    result = use_model(semantic.clew.dispatcher, str(other_model), lambda *step: steps.append(step))
    answer = semantic("hybrid_search", query="which engine was serviced", sources=["all"])
    ended.set()
    asking.join()
    assert all(ok and count for ok, _, count in seen)
    assert steps[-1] == ("ws", 40, 40)
    assert answer["arms"]["model"] == result["model"]
    assert models(semantic) == [result["model"]]
    stats = semantic("index_stats")["vectors"]
    assert (stats["model"], stats["count"], stats["lag"]) == (result["model"], 40, 0)


def test_a_switch_that_was_killed_goes_on_where_it_ended(semantic: Caller, other_model: Path) -> None:
    from clew.recall.onnx_models import model_in

    dispatcher = semantic.clew.dispatcher
    model = load(model_in(other_model))
    with semantic.clew.database.write() as tx:
        store_choice(tx, COMING, str(other_model))
    fill(Context(dispatcher, Connection(), "ws", None), model, most=20)
    assert semantic("index_stats")["vectors"]["coming"] == str(other_model)
    assert semantic("hybrid_search", query="engine", sources=["all"])["arms"]["model"] != model.id
    assert use_model(dispatcher, str(other_model))["embedded"] == 8
    assert semantic("index_stats")["vectors"].get("coming") is None
    assert models(semantic) == [model.id]


def test_none_ranks_by_words_alone(semantic: Caller) -> None:
    use_model(semantic.clew.dispatcher, "none")
    assert semantic("recall", query="engine", sources=["all"])["arms"]["semantic"] is False
    assert models(semantic) == []


def test_vectors_of_an_earlier_version_of_the_model_are_made_anew_while_searches_go_on(semantic: Caller) -> None:
    with semantic.clew.database.write() as tx:
        for table in ("item_vector", "vector_progress"):
            tx.run(f"UPDATE {table} SET model = 'all-MiniLM-L6-v2-int8-earlier'")
    first = semantic("hybrid_search", query="which engine was serviced", sources=["all"])
    assert first["count"] and not first["arms"]["semantic"] and first["arms"]["lag"] == 40

    def by_meaning() -> bool:
        arms = semantic("hybrid_search", query="which engine was serviced", sources=["all"])["arms"]
        return bool(arms["semantic"]) and arms["lag"] == 0

    until(by_meaning)
    assert semantic("index_stats")["vectors"]["count"] == 40
