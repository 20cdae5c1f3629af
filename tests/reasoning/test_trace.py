"""Traces: steps in order, the branching they describe, and what is odd about them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller


def think(call: Caller, number: int, **more: Any) -> dict[str, Any]:
    return call(
        "trace_sequential_step",
        thought=f"thought {number}",
        thoughtNumber=number,
        totalThoughts=9,
        nextThoughtNeeded=True,
        **more,
    )


def test_a_step_is_kept_with_its_relations(call: Caller) -> None:
    entry = call("trace_step", step="looked", message="why", supports="CARD-1", blocks=["CARD-2"], mode="scan")["entry"]
    assert (entry["content"], entry["title"], entry["format"]) == ("looked", "why", "trace_step")
    assert entry["meta"] == {"supports": ["CARD-1"], "blocks": ["CARD-2"], "mode": "scan"}
    assert call("open", id=f"trace@{entry['seq']}")["entry"] == entry


def test_numbered_thoughts_make_a_graph_in_every_trace_read(call: Caller) -> None:
    think(call, 1)
    think(call, 2, branchFromThought=1, branchId="b")
    think(call, 3, isRevision=True, revisesThought=2)
    think(call, 4, branchFromThought=7)
    hydrated = call("trace_hydrate")["sequential"]
    assert [node["thoughtNumber"] for node in hydrated["nodes"]] == [1, 2, 3, 4]
    assert hydrated["edges"] == [
        {"rel": "branch", "from": 1, "to": 2, "branchId": "b"},
        {"rel": "revision", "from": 2, "to": 3},
    ]
    assert hydrated["missing"] == {"branchFromThought": [7], "revisesThought": []}
    assert call("show")["sequential"] == hydrated


def test_the_graph_speaks_only_of_the_entries_shown(call: Caller) -> None:
    for number in range(1, 6):
        think(call, number, branchFromThought=number - 1 or None)
    part = call("trace_hydrate", limit_steps=2)["sequential"]
    assert [node["thoughtNumber"] for node in part["nodes"]] == [4, 5]
    assert part["missing"]["branchFromThought"] == [3]
    for limit in range(200, 2500, 150):
        result = call("trace_hydrate", max_chars=limit)
        if not {"entries", "sequential"} <= result.keys():
            continue  # the smallest answers name an entry, without a graph that could mislead
        seqs = {entry["seq"] for entry in result["entries"]}
        nodes = result["sequential"]["nodes"] if result["sequential"] else []
        assert {node["seq"] for node in nodes} == seqs


def test_steps_with_sequential_metadata_count_as_well(call: Caller) -> None:
    call("trace_step", step="s", meta='{"thoughtNumber": 1}')
    assert call("show")["sequential"]["nodes"][0]["thoughtNumber"] == 1
    assert call.error("trace_step", step="s", meta="no object")["code"] == "INVALID_INPUT"


def test_a_trace_without_numbers_has_no_graph(call: Caller) -> None:
    call("trace_step", step="s")
    assert call("show")["sequential"] is None
    assert "sequential" not in call("show", doc_kind="notes")


@pytest.mark.parametrize(
    ("meta", "codes"),
    [
        ({"branchFromThought": 1}, ["MISSING_THOUGHT_NUMBER"]),
        ({"thoughtNumber": "one"}, ["INVALID_THOUGHT_NUMBER"]),
        ({"thoughtNumber": 1, "branchFromThought": 0}, ["INVALID_BRANCH_FROM"]),
        ({"thoughtNumber": 1, "branchId": " "}, ["INVALID_BRANCH_ID"]),
        ({"thoughtNumber": 1, "revisesThought": True}, ["INVALID_REVISES"]),
        ({"thoughtNumber": 1, "totalThoughts": 0}, ["INVALID_TOTAL"]),
        ({"thoughtNumber": 1, "nextThoughtNeeded": "yes"}, ["INVALID_NEXT_NEEDED"]),
        ({"thoughtNumber": 1, "isRevision": True}, ["REVISION_WITHOUT_REVISES"]),
        ({"thoughtNumber": 3, "totalThoughts": 2}, ["TOTAL_BELOW_NUMBER"]),
        ({"thoughtNumber": 0, "branchId": 1, "totalThoughts": []}, ["INVALID_THOUGHT_NUMBER", "INVALID_BRANCH_ID"]),
        ({"unrelated": 1}, []),
    ],
)
def test_odd_metadata_is_written_and_remarked_upon(call: Caller, meta: dict[str, Any], codes: list[str]) -> None:
    answer = call.answer("trace_step", step="s", meta=meta)
    assert answer.ok
    assert [item["code"] for item in answer.envelope["warnings"]] == [f"TRACE_SEQ_META_{code}" for code in codes]


def test_validation_checks_order_and_references(call: Caller) -> None:
    think(call, 1)
    think(call, 2)
    assert call("trace_validate")["ok"]
    think(call, 2)
    think(call, 10)
    think(call, 11, branchFromThought=42)
    think(call, 12, isRevision=True)
    result = call("trace_validate")
    assert not result["ok"]
    assert result["checked"] == 6
    assert [error["code"] for error in result["errors"]] == [
        "OUT_OF_ORDER",
        "TOTAL_BELOW_NUMBER",
        "TOTAL_BELOW_NUMBER",
        "UNKNOWN_THOUGHT",
        "TOTAL_BELOW_NUMBER",
        "REVISION_WITHOUT_REVISES",
    ]


def test_hydration_cuts_statements_at_characters(call: Caller) -> None:
    call("trace_step", step="ää" * 10)
    assert call("trace_hydrate", statement_max_bytes=5)["entries"][0]["content"] == "ää"
    assert call("trace_hydrate", limit_steps=0)["entries"] == []


def test_a_trace_may_live_in_any_document_of_any_branch(call: Caller) -> None:
    call("branch_create", name="x")
    result = call("trace_step", step="s", ref="x", doc="walk")
    assert (result["branch"], result["doc"]) == ("x", "walk")
    assert call("trace_hydrate", ref="x", doc="walk")["pagination"]["count"] == 1
    assert call("trace_hydrate", doc="walk")["pagination"]["count"] == 0
    for number in (0, -1, 1.5, "one"):
        error = call.error(
            "trace_sequential_step", thought="t", thoughtNumber=number, totalThoughts=1, nextThoughtNeeded=False
        )
        assert error["code"] == "INVALID_INPUT"
