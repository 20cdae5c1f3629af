"""Thoughts in the rest of Clew: as cards and edges of the graph, as steps of a trace, as premises."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ledger.conftest import Thinker


@pytest.fixture
def session(thinker: Thinker) -> str:
    for text in (
        "S1|O|pages are slow",
        "S2|H|S1|the index is gone",
        "S3|E|S2|full scan in the plan",
        "S4|C|S2,S3|create the index",
        "S5|P|S4|migrate on Monday",
    ):
        key = str(thinker.think(text)["sessionId"])
    return key


def cards(thinker: Thinker, session: str) -> dict[str, tuple[str, Any]]:
    found = thinker("graph_query", branch=f"session/{session}", limit=50)["nodes"]
    return {node["id"].removeprefix(f"{session}:"): (node["type"], node["status"]) for node in found}


def test_thoughts_are_cards_and_references_typed_edges(thinker: Thinker, session: str) -> None:
    assert cards(thinker, session) == {
        "1": ("note", None),
        "2": ("hypothesis", None),
        "3": ("evidence", None),
        "4": ("decision", None),
        "5": ("note", None),
    }
    edges = thinker("graph_query", branch=f"session/{session}", limit=50)["edges"]
    drawn = {(e["from"].rpartition(":")[2], e["rel"], e["to"].rpartition(":")[2]) for e in edges}
    assert drawn == {
        ("2", "derives", "1"),
        ("3", "supports", "2"),
        ("4", "derives", "2"),
        ("4", "derives", "3"),
        ("5", "derives", "4"),
    }


def test_a_rejected_thought_makes_what_rests_on_it_suspect(thinker: Thinker, session: str) -> None:
    thinker.think("S6|X|S2|the index exists")
    assert cards(thinker, session)["2"] == ("hypothesis", "disproved")
    opened = thinker("open", id=f"{session}:5")
    assert opened["suspect"]["because"] == f"{session}:2 is disproved"
    assert opened["suspect"]["path"] == [f"{session}:{n}" for n in (5, 4, 2)]


def test_recall_says_that_a_thought_was_disproved(thinker: Thinker, session: str) -> None:
    thinker.think("S6|X|S2|the index exists")
    found = thinker("recall", query="index is gone", sources=["thoughts"], limit=5)
    told = {item["_id"]: item["status"] for item in found["results"]}
    assert told[f"{session}:2"] == "disproved"


def test_a_revised_thought_is_superseded(thinker: Thinker, session: str) -> None:
    thinker.think("the statistics are stale", revisesThought=2)
    assert cards(thinker, session)["2"] == ("hypothesis", "superseded")


def test_a_session_is_read_as_a_trace_with_its_branching(thinker: Thinker, session: str) -> None:
    thinker.think("S3|H|S1|or the cache", branchId="alt", branchFromThought=2)
    thinker.think("deeper", branchId="deep", branchFromThought=3, branchFromBranch="alt")
    thinker.think("no", branchId="alt", revisesThought=3)
    shown = thinker("trace_hydrate", ref=f"session/{session}", limit_steps=50)
    assert len(shown["entries"]) == 8
    graph = shown["sequential"]
    assert [(n.get("branchId", ""), n["thoughtNumber"]) for n in graph["nodes"]] == [
        ("", 1), ("", 2), ("", 3), ("alt", 3), ("", 4), ("alt", 4), ("deep", 4), ("", 5),
    ]  # fmt: skip
    assert {"rel": "branch", "from": 2, "to": 3, "branchId": "alt"} in graph["edges"]
    assert {"rel": "branch", "from": 3, "to": 4, "branchId": "deep", "fromBranchId": "alt"} in graph["edges"]
    assert {"rel": "revision", "from": 3, "to": 4, "branchId": "alt", "fromBranchId": "alt"} in graph["edges"]
    assert graph["missing"] == {"branchFromThought": [], "revisesThought": []}
    assert thinker("trace_validate", ref=f"session/{session}")["errors"] == []


def test_open_shows_sessions_thoughts_and_patterns(thinker: Thinker, session: str) -> None:
    opened = thinker("open", id=f"{session}:3")
    assert (opened["kind"], opened["thought"]["type"], opened["prev"]) == ("thought", "E", f"{session}:2")
    assert opened["links"] == {
        "to": [{"rel": "supports", "id": f"{session}:2"}],
        "from": [{"rel": "derives", "id": f"{session}:4"}],
    }
    shown = thinker("open", id=session, limit=2)
    assert (shown["kind"], len(shown["thoughts"]), shown["truncated"]) == ("session", 2, True)
    thinker("knowledge_create_pattern", title="Warm it", description="When cold.", content="c")
    assert thinker("open", id="pattern:warm-it")["pattern"]["title"] == "Warm it"
