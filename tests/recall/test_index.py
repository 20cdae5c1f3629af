"""The index follows every write of every process, says what it holds, and is built anew online."""

from __future__ import annotations

from collections.abc import Callable

from clew.app import Clew
from tests.conftest import Caller


def found(call: Caller, query: str) -> list[str]:
    return [hit["_id"] for hit in call("recall", query=query, sources=["all"])["results"]]


def test_what_another_process_wrote_is_found(make_clew: Callable[..., Clew]) -> None:
    here, there = Caller(make_clew()), Caller(make_clew())
    here("notes_commit", content="alpha")
    assert found(there, "alpha") == ["notes@1"]
    there("notes_commit", content="beta")
    assert found(here, "beta") == ["notes@2"]


def test_a_deleted_branch_is_no_longer_found(call: Caller) -> None:
    call("branch_create", name="what-if")
    call("notes_commit", content="zebra crossing", branch="what-if")
    assert found(call, "zebra") == ["notes@1"]
    call("branch_delete", name="what-if")
    assert found(call, "zebra") == []


def test_many_small_writes_and_searches_agree_with_one_reading(make_clew: Callable[..., Clew]) -> None:
    """A corpus that grew step by step ranks like one that was read at once."""
    grown = Caller(make_clew())
    words = ["red", "green", "blue", "stone", "river", "cloud", "paper", "glass"]
    for number in range(40):
        text = f"{words[number % 8]} {words[number * 3 % 8]} {words[number * 5 % 7]} entry {number}"
        grown("notes_commit", content=text)
        found(grown, "red river")
    fresh = Caller(make_clew())
    for query in ("red river", "blue stone entry", "paper glass 17", "green"):
        asked = {"query": query, "sources": ["all"], "limit": 20}
        assert grown("recall", **asked)["results"] == fresh("recall", **asked)["results"]


def test_reindex_keeps_the_answers_and_reports_progress(call: Caller) -> None:
    for number in range(5):
        call("notes_commit", content=f"docker image {number}")
    before = call("recall", query="docker image", sources=["all"])["results"]
    seen: list[tuple[float, float | None, str | None]] = []
    answer = call.clew.dispatcher.call("reindex", {}, call.session, lambda *step: seen.append(step))
    assert answer.envelope["result"]["items"] == 5
    assert seen[-1] == (5, 5, "words")
    assert call("recall", query="docker image", sources=["all"])["results"] == before


def test_index_stats_counts_by_source(call: Caller) -> None:
    call("notes_commit", content="one")
    call("think_card", card={"type": "hypothesis", "title": "two", "text": "two"})
    stats = call("index_stats")
    assert stats["items_by_source"]["note"] == 1
    assert stats["items_by_source"]["card"] == 1
    assert stats["fts_index_exists"] is True
    assert stats["mind_kernel_compiled"] is False
    assert "recall" in stats["mind_kernels"]
    assert stats["lag"] == 0


def test_what_is_found_together_is_similar(call: Caller) -> None:
    call("notes_commit", content="The docker registry keeps images for ninety days.")
    call("notes_commit", content="Images in the registry are signed.")
    call("notes_commit", content="Lunch is at noon.")
    call("recall", query="registry images", sources=["all"])
    similar = call("find_similar", block_id="notes@1")
    assert similar["similar"] == ["notes@2"]
    assert similar["method"] == "content and co-occurrence"
    assert call.error("find_similar", block_id="D-20990101-001")["code"] == "UNKNOWN_ID"
