"""What a question is after, and that each of the intent's parameters changes the search."""

from __future__ import annotations

from typing import Any

import pytest

from clew.recall.graph import linked
from clew.recall.kernel import default_kernel
from clew.recall.library import library
from clew.recall.query import ORDER, analyse
from clew.recall.ranking import Ranked, rank
from clew.registry.context import Context
from tests.conftest import Caller, TickingClock


@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ("Why did we switch from MySQL to PostgreSQL?", "WHY"),
        ("When was the Redis caching decision made?", "WHEN"),
        ("Who is the owner of billing?", "ENTITY"),
        ("What is the retry limit?", "WHAT"),
        ("How do I restore a backup?", "HOW"),
        ("List all open incidents", "LIST"),
        ("Is it true that backups are encrypted?", "VERIFY"),
        ("Compare Redis versus Memcached", "COMPARE"),
        ("Trace the history of the auth design", "TRACE"),
        ("", "WHAT"),
    ],
)
def test_nine_intents(call: Caller, query: str, intent: str) -> None:
    found = call("intent_classify", query=query)
    assert found["intent"] == intent
    assert 0 <= found["confidence"] <= 1
    assert {"expansion", "graph_depth", "rerank", "patterns"} == set(found["params"])


def parts(call: Caller, query: str, ref: str) -> dict[str, float]:
    result = call("recall", query=query, sources=["all"], explain=True, limit=50)
    hit = next((hit for hit in result["results"] if hit["_id"] == ref), None)
    return {part["feature"]: part["value"] for part in hit["explain"]["parts"]} if hit else {}


@pytest.fixture
def notes(call: Caller) -> Caller:
    for text in (
        "The cache was dropped because the invoices were stale.",
        "The cache holds invoices for an hour.",
        "The cache was cleared yesterday with the invoices.",
        "First stop the cache, then remove the invoices.",
        "Measured and confirmed: the cache returns old invoices.",
        "The stale invoices were reissued by hand.",
    ):
        call("notes_commit", content=text)
    return call


@pytest.mark.parametrize(
    ("query", "ref"),
    [
        ("why cache invoices", "notes@1"),
        ("when cache invoices", "notes@3"),
        ("how do I cache invoices", "notes@4"),
        ("is it true that cache invoices", "notes@5"),
    ],
)
def test_rerank_looks_for_the_words_of_such_answers(notes: Caller, query: str, ref: str) -> None:
    assert parts(notes, query, ref)["cue"] == 1.0
    assert "cue" not in parts(notes, query, "notes@2")
    assert "cue" not in parts(notes, "cache invoices", ref)


def test_expansion_adds_the_subjects_vocabulary(notes: Caller) -> None:
    def added(query: str) -> list[str]:
        found: list[str] = notes("recall", query=query, sources=["all"], explain=True)["analysis"]["added"]
        return found

    assert added("why stale") == ["invoic"]
    assert added("what stale") == []


def test_exact_expansion_counts_nearness_double(notes: Caller) -> None:
    ctx = Context(notes.clew.dispatcher, notes.session, "ws", None)

    def proximity(factor: float) -> float:
        kernel = default_kernel().changed({"verify": {"proximity_factor": factor}})
        with ctx.reading() as bound:
            corpus = library(bound.database).current(bound, kernel)
            query = analyse("is it true: old invoices", kernel, bound.now_ms)
            return float(rank(corpus, query, kernel, corpus.alive).features["proximity"].max())

    assert proximity(2.0) == pytest.approx(2 * proximity(1.0))


def test_entity_questions_weigh_names(call: Caller) -> None:
    call("notes_commit", content="Miranda runs the warehouse.")
    call("notes_commit", content="The warehouse is run at night.")
    assert parts(call, "who is the Miranda of the warehouse", "notes@1")["entity"] == 1.0
    assert "entity" not in parts(call, "warehouse Miranda", "notes@1")


def test_graph_depth_reaches_what_is_linked(call: Caller) -> None:
    call("think_card", card={"type": "note", "id": "CARD-9", "text": "Thundering herds took the queue down."})
    call("notes_commit", content="Retries need jitter, see CARD-9.")
    deep = call("recall", query="why do retries need jitter", sources=["all"])["results"]
    assert [hit["_id"] for hit in deep if "linked" in hit] == ["CARD-9"]
    flat = call("recall", query="list all retries that need jitter", sources=["all"])["results"]
    assert not [hit for hit in flat if "linked" in hit]


def test_list_questions_vary_the_documents(call: Caller) -> None:
    for number in range(6):
        call("notes_commit", content=f"Deploy {number} failed: certificate expired in zone {number}.", doc="north")
    call("notes_commit", content="A deploy failed in the south: the certificate was revoked.", doc="south")
    listed = call("recall", query="list all the deploy failed certificate", sources=["all"], limit=5)["results"]
    assert "south" in [hit["doc"] for hit in listed]


def test_comparisons_show_both_sides(call: Caller) -> None:
    for number in range(5):
        call("notes_commit", content=f"Redis keeps sessions in memory, node {number} of ours.")
    call("notes_commit", content="Memcached is simple.")
    shown = call("recall", query="compare Redis versus Memcached", sources=["all"], limit=2)["results"]
    assert [hit for hit in shown if "Memcached" in hit["excerpt"]]


def ranked_with(call: Caller, query: str, **intent: Any) -> Ranked:
    """The same question on the same state, with other parameters of its intent."""
    with Context(call.clew.dispatcher, call.session, "ws", None).reading() as bound:
        name = analyse(query, default_kernel(), bound.now_ms).intent.name
        kernel = default_kernel().changed({name: intent})
        corpus = library(bound.database).current(bound, kernel)
        return rank(corpus, analyse(query, kernel, bound.now_ms), kernel, corpus.alive)


def test_expansion_none_or_feedback_decides_which_words_are_looked_for(notes: Caller) -> None:
    for expansion in ("rm3", "broad", "multi", "chain"):
        assert ranked_with(notes, "what stale", expansion=expansion).added_words == ["invoic"]
    for expansion in ("none", "exact", "entity", "date"):
        assert ranked_with(notes, "what stale", expansion=expansion).added_words == []


def test_date_expansion_looks_for_how_texts_write_the_time(call: Caller, clock: TickingClock) -> None:
    clock.now_ms = 1_771_000_000_000  # February 2026
    call("notes_commit", content="The audit is planned for April 2025.")
    call("notes_commit", content="The audit is planned for later.")
    dated = ranked_with(call, "when was the audit last spring", expansion="date")
    assert set(dated.added_words) == {"april", "2025"}
    assert dated.scene.corpus.refs[dated.slots[0]] == "notes@1"
    assert ranked_with(call, "when was the audit last spring", expansion="none").added_words == []


def test_entity_expansion_weighs_the_named_words(notes: Caller) -> None:
    notes("notes_commit", content="Miranda cleared the cache.")
    query = "who is the Miranda of the cache"
    weights = {
        expansion: {term.word: term.weight for term in ranked_with(notes, query, expansion=expansion).matches.asked}
        for expansion in ("entity", "none")
    }
    assert weights["entity"]["miranda"] > weights["none"]["miranda"]
    assert weights["entity"]["cach"] == weights["none"]["cach"]


@pytest.mark.parametrize(("depth", "reached"), [(0, []), (1, ["CARD-8"]), (2, ["CARD-8", "CARD-9"])])
def test_graph_depth_bounds_how_far_links_are_followed(call: Caller, depth: int, reached: list[str]) -> None:
    call("think_card", card={"type": "note", "id": "CARD-9", "text": "A herd of clients came at once."})
    call("think_card", card={"type": "note", "id": "CARD-8", "text": "The queue fell over, see CARD-9."})
    call("notes_commit", content="Retries need jitter, see CARD-8.")
    found = ranked_with(call, "why do retries need jitter")
    with Context(call.clew.dispatcher, call.session, "ws", None).reading() as bound:
        ways = linked(bound, found.scene.corpus, found.slots[:1].tolist(), depth)
    assert sorted(found.scene.corpus.refs[slot] for slot in ways) == reached


@pytest.mark.parametrize(
    ("rerank", "ref"),
    [("causal", "notes@1"), ("temporal", "notes@3"), ("procedural", "notes@4"), ("evidence", "notes@5")],
)
def test_rerank_alone_decides_which_cues_count(notes: Caller, rerank: str, ref: str) -> None:
    found = ranked_with(notes, "what cache invoices", rerank=rerank)
    cues = dict(zip([found.scene.corpus.refs[slot] for slot in found.slots], found.features["cue"], strict=True))
    assert [name for name, cue in sorted(cues.items()) if cue] == [ref]


def test_no_number_of_an_intent_is_left_unread() -> None:
    sections: dict[str, dict[str, Any]] = default_kernel().sections
    for name in ORDER:
        assert set(sections[name]) == {"expansion", "graph_depth", "rerank"}


def test_a_caller_may_name_the_intent(call: Caller) -> None:
    call("notes_commit", content="Writers starve when the lock is held")
    asked = {"query": "writers starve", "sources": ["all"], "explain": True}
    assert call("recall", **asked)["intent"] == "WHAT"
    found = call("recall", **asked, intent="WHY")
    assert (found["intent"], found["analysis"]["confidence"]) == ("WHY", 1.0)
    assert call.error("recall", **asked, intent="WHITHER")["code"] == "INVALID_INPUT"
