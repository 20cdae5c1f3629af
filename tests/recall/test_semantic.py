"""The meaning arm: vectors made behind the writes, one model at a time, visible lag, and silence without a model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.app import Clew
from clew.faces.cli.checks import check_store
from clew.recall.ranking import _dense
from tests.conftest import Caller
from tests.waiting import until

TEXTS = [
    "We chose PostgreSQL because SQLite has one writer.",
    "The docker server restarts every night at three.",
    "Our automobile broke down on the highway.",
    "The cat slept on the sofa all afternoon.",
]


@pytest.fixture
def semantic(make_clew: Callable[..., Clew]) -> Caller:
    call = Caller(make_clew(embedding_model=""))
    for text in TEXTS:
        call("notes_commit", content=text)
    return call


def test_meaning_finds_what_words_do_not(semantic: Caller) -> None:
    assert semantic("reindex", include_vectors=True)["vectors"] is True
    result = semantic("hybrid_search", query="car trouble", sources=["all"])
    assert result["results"][0]["_id"] == "notes@3"
    assert result["arms"]["semantic"] is True


QUESTIONS = ("car trouble", "a pet that is asleep", "which database", "what reboots at night")


def test_a_postgresql_without_pgvector_finds_by_meaning_what_sqlite_finds(
    semantic: Caller, make_clew: Callable[..., Clew], plain_postgres_url: str
) -> None:
    team = Caller(make_clew(embedding_model="", database_url=plain_postgres_url))
    for text in TEXTS:
        team("notes_commit", content=text)
    # The first call for vectors asks the server for pgvector, and is refused.
    for store in (semantic, team):
        assert store("reindex", include_vectors=True)["vectors_made"] == len(TEXTS)

    def found(store: Caller) -> list[list[tuple[str, float]]]:
        answers = (store("hybrid_search", query=query, sources=["all"]) for query in QUESTIONS)
        return [[(hit["_id"], hit["score"]) for hit in answer["results"]] for answer in answers]

    def recalled(store: Caller) -> list[list[dict[str, Any]]]:
        answers = (store("recall", query=query, sources=["all"]) for query in QUESTIONS)
        return [[{**hit, "ts": None} for hit in answer["results"]] for answer in answers]

    assert recalled(team) == recalled(semantic)
    assert found(team) == found(semantic)
    assert [hits[0][0] for hits in found(team)] == ["notes@3", "notes@4", "notes@1", "notes@2"]
    vectors = team("index_stats")["vectors"]
    assert (vectors["count"], vectors["lag"]) == (len(TEXTS), 0)
    assert vectors["compared_by"] == "this process"
    assert vectors["pgvector"] == "not available on the server"
    [finding] = [finding for finding in check_store(team.clew) if finding.check == "vectors"]
    told = f"{len(TEXTS)} stored, 0 missing, compared by this process; pgvector: not available on the server"
    assert (finding.state, finding.detail) == ("ok", told)


def test_the_lag_is_visible_until_vectors_are_made(semantic: Caller) -> None:
    before = semantic("index_stats")["vectors"]
    assert (before["count"], before["lag"]) == (0, 4)
    semantic("reindex", include_vectors=True)
    after = semantic("index_stats")["vectors"]
    assert (after["count"], after["lag"]) == (4, 0)
    assert after["model"].startswith("clew-memory-model-")


def test_a_second_fill_has_nothing_to_embed(semantic: Caller) -> None:
    semantic("reindex", include_vectors=True)
    number = semantic("index_stats")["change"]
    semantic("reindex", include_vectors=True)
    assert semantic("index_stats")["vectors"]["count"] == 4
    assert semantic("index_stats")["change"] > number


def test_without_a_model_words_serve_and_the_answer_says_so(call: Caller) -> None:
    call("notes_commit", content=TEXTS[0])
    result = call("hybrid_search", query="PostgreSQL", sources=["all"])
    assert result["count"] == 1
    assert result["arms"] == {"lexical": True, "semantic": False, "reason": "no embedding model is installed"}
    assert call("reindex", include_vectors=True)["vectors"] is False


def test_a_model_that_cannot_be_loaded_is_a_warning(make_clew: Callable[..., Clew], tmp_path: object) -> None:
    call = Caller(make_clew(embedding_model=f"{tmp_path}/nowhere"))
    call("notes_commit", content=TEXTS[0])
    answer = call.answer("recall", query="PostgreSQL", sources=["all"])
    assert answer.envelope["result"]["count"] == 1
    assert answer.envelope["warnings"][0]["code"] == "SEMANTIC_UNAVAILABLE"


def test_status_shows_what_waits_for_a_vector(semantic: Caller) -> None:
    semantic("reindex", include_vectors=True)
    semantic("notes_commit", content="One more note, not embedded yet.")
    assert list(semantic("status")["index"]["vector_lag"].values()) == [1]


def test_the_model_s_runtime_reports_nothing_to_its_maker(tmp_path: Path) -> None:
    """By itself the runtime keeps an identifier of the device below the user's cache, and reports to a server."""
    script = "from clew.recall.models import installed_model, load; load(installed_model()).embed_query('the kelp')"
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "XDG_CACHE_HOME")}
    environ = {**kept, "HOME": str(tmp_path), "CLEW_HOME": str(tmp_path / "clew")}
    subprocess.run([sys.executable, "-c", script], env=environ, check=True, timeout=240)
    assert not [path for path in tmp_path.rglob("*") if "microsoft" in str(path).lower()]


def test_what_was_just_written_is_found_by_meaning_before_its_vector_is_stored(semantic: Caller) -> None:
    result = semantic("recall", query="car trouble", sources=["all"])
    assert result["results"][0]["_id"] == "notes@3"
    assert result["arms"]["semantic"] is True
    assert result["arms"]["lag"] == len(TEXTS)


def test_once_meaning_was_asked_for_what_is_written_gets_its_vector_without_a_search(semantic: Caller) -> None:
    def lag() -> int:
        return sum(semantic("status")["index"]["vector_lag"].values())

    semantic("recall", query="car trouble", sources=["all"])
    until(lambda: lag() == 0)
    semantic("notes_commit", content="The lorry would not start this morning.")
    until(lambda: lag() == 0)


def test_while_few_have_a_vector_the_words_decide_alone(
    make_clew: Callable[..., Clew], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most similar of a few is similar to nothing, and would bring everything beside it along."""
    monkeypatch.setattr("clew.recall.semantic_arm.wake_filler", lambda ctx, model: None)
    call = Caller(make_clew(embedding_model=""))
    call("notes_commit", content="Alice leads the storage team.")
    for number in range(80):
        call("notes_commit", content=f"The gateway {number} forwards frames to region {number * 7}.")
    early = call("recall", query="Alice", sources=["all"])
    assert (early["arms"]["semantic"], early["arms"]["lag"]) == (False, 81)
    assert "no vector yet" in early["arms"]["reason"]
    assert ["Alice" in hit["excerpt"] for hit in early["results"]] == [True]
    call("reindex", include_vectors=True)
    late = call("recall", query="Alice", sources=["all"])
    assert late["arms"]["semantic"] is True
    assert "Alice" in late["results"][0]["excerpt"] and all(hit["score"] > 0 for hit in late["results"])


def test_the_answer_before_a_vector_is_stored_is_the_one_after_it(semantic: Caller) -> None:
    def scores(query: str) -> list[tuple[str, float]]:
        return [(hit["excerpt"], hit["score"]) for hit in semantic("recall", query=query, sources=["all"])["results"]]

    semantic("reindex", include_vectors=True)
    semantic("notes_commit", content="The lorry would not start this morning.")
    queries = ("car trouble", "lorries in the morning", "sleepy animals", "why one writer")
    before = [scores(query) for query in queries]
    semantic("reindex", include_vectors=True)
    assert before == [scores(query) for query in queries]
    assert before[0][0][0] == "Our automobile broke down on the highway."
    assert "lorry" in before[1][0][0]


def test_an_item_without_a_vector_is_expected_to_be_as_alike_as_its_words_let_expect() -> None:
    words = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.1], np.float32)
    likeness = np.array([0.1, 0.2, 0.3, 0.4, 0.5, np.nan, np.nan], np.float32)
    found = _dense(likeness, words)
    assert found[:5].tolist() == likeness[:5].tolist()
    assert 0.1 < found[6] < 0.2  # little of the question, little likeness
    assert found[5] == np.float32(0.5)  # more of it than anybody else: as alike as the best that was seen


def test_without_any_vector_nothing_is_expected() -> None:
    nothing = np.array([np.nan, np.nan], np.float32)
    assert _dense(nothing, np.array([0.0, 1.0], np.float32)).tolist() == [0.0, 0.0]


def test_what_is_nearly_as_alike_as_the_best_is_shown_with_it(semantic: Caller) -> None:
    """The bar is asked of the best; what stands close beside it needs no likeness of its own."""
    semantic("notes_commit", content="A van broke down on the motorway.")
    result = semantic("recall", query="car trouble on the highway", sources=["all"], explain=True)
    shown = {hit["excerpt"] for hit in result["results"]}
    assert {"Our automobile broke down on the highway.", "A van broke down on the motorway."} <= shown
