"""The graph operations as a client sees them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.suggestions import run_suggestions


def upsert(id: str, type: str = "note", **more: Any) -> dict[str, Any]:
    return {"op": "node_upsert", "id": id, "type": type, **more}


def link(start: str, rel: str, end: str, op: str = "edge_upsert") -> dict[str, Any]:
    return {"op": op, "from": start, "rel": rel, "to": end}


def test_a_batch_is_applied_in_order_and_counted(call: Caller) -> None:
    result = call("graph_apply", ops=[upsert("A", tags=["B", "a", "a"]), upsert("B"), link("A", "supports", "B")])
    assert result["applied"] == {"nodes_upserted": 2, "nodes_deleted": 0, "edges_upserted": 1, "edges_deleted": 0}
    shown = call("graph_query")
    assert [node["id"] for node in shown["nodes"]] == ["B", "A"]
    assert shown["nodes"][1]["tags"] == ["a", "b"]
    assert shown["edges"][0]["last_seq"] == result["last_seq"]
    assert shown["pagination"] == {"cursor": None, "next_cursor": None, "has_more": False, "limit": 50, "count": 2}


def test_one_refused_change_undoes_the_whole_batch(call: Caller) -> None:
    error = call.error("graph_apply", ops=[upsert("A"), link("A", "supports", "nowhere")])
    assert error["code"] == "UNKNOWN_ID"
    assert "ops[1].to" in error["message"]
    assert call("graph_query")["nodes"] == []


def test_deleting_a_node_takes_its_edges_and_leaves_tombstones(call: Caller) -> None:
    call("graph_apply", ops=[upsert("A"), upsert("B"), link("A", "supports", "B")])
    result = call("graph_apply", ops=[{"op": "node_delete", "id": "B"}])
    assert result["applied"]["edges_deleted"] == 1
    assert [node["id"] for node in call("graph_query")["nodes"]] == ["A"]
    whole = call("graph_query", include_deleted=True)
    assert [(node["id"], node["deleted"]) for node in whole["nodes"]] == [("B", True), ("A", False)]
    assert [edge["deleted"] for edge in whole["edges"]] == [True]
    assert call("graph_validate")["ok"]


@pytest.mark.parametrize(
    "ops",
    [
        [],
        [upsert("")],
        [upsert("a|b")],
        [upsert("a\x07b")],
        [upsert("A", type="x" * 200)],
        [upsert("A", tags=["a|b"])],
        [upsert("é" * 600)],
        [{"op": "node_upsert", "id": "A"}],
        [{"op": "node_explode", "id": "A"}],
        [{"op": "edge_upsert", "from": "A", "to": "B"}],
        [upsert("task:TASK-001")],
        [{"op": "node_delete", "id": "step:STEP-00000001"}],
        [{**upsert("A"), "colour": "red"}],
        [upsert("A", text="x" * 2_000_000)],
    ],
)
def test_a_bad_change_is_refused_with_a_way_out(call: Caller, ops: list[dict[str, Any]]) -> None:
    answer = call.answer("graph_apply", ops=ops)
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    assert answer.envelope["error"]["hints"]
    assert call("graph_query")["nodes"] == []
    run_suggestions(call.clew, answer, call.session)


def test_deleting_what_is_not_there_is_unknown(call: Caller) -> None:
    for op in ({"op": "node_delete", "id": "A"}, link("A", "x", "B", "edge_delete")):
        answer = call.answer("graph_apply", ops=[op])
        assert answer.envelope["error"]["code"] == "UNKNOWN_ID"
        run_suggestions(call.clew, answer, call.session)


def test_a_target_excludes_a_branch_and_a_document(call: Caller) -> None:
    error = call.error("graph_query", target="TASK-001", doc="graph")
    assert error["hints"][0]["fields"] == ["target", "doc"]


def test_validation_names_edges_without_an_end(call: Caller) -> None:
    call("graph_apply", ops=[upsert("A"), upsert("B"), link("A", "supports", "B")])
    call("branch_create", name="x")
    call("graph_apply", branch="x", ops=[upsert("C"), link("C", "supports", "B")])
    call("graph_apply", ops=[{"op": "node_delete", "id": "B"}])
    merged = call("graph_merge", from_="x")
    assert [item["kind"] for item in merged["conflicts"]] == ["edge"]
    call("graph_conflict_resolve", conflict_id=merged["conflict_ids"][0], resolution="use_from")
    checked = call("graph_validate")
    assert not checked["ok"]
    assert checked["errors"][0]["missing"] == ["B"]
    assert checked["stats"] == {"nodes": 2, "edges": 1}


def conflict(call: Caller) -> dict[str, Any]:
    """Main and x disagree about A."""
    call("graph_apply", ops=[upsert("A", text="old")])
    call("branch_create", name="x")
    call("graph_apply", branch="x", ops=[upsert("A", text="theirs")])
    call("graph_apply", ops=[upsert("A", text="ours")])
    return call("graph_merge", from_="x")


def test_a_conflict_shows_all_three_states(call: Caller) -> None:
    result = conflict(call)
    assert (result["merged"], result["conflicts_created"]) == (0, 1)
    assert result["diff_summary"]["node_fields_changed"] == 1
    listed = call("graph_conflicts", into="main")["conflicts"]
    assert [item["conflict_id"] for item in listed] == result["conflict_ids"]
    shown = call("graph_conflict_show", conflict_id=result["conflict_ids"][0])["conflict"]
    assert [shown[side]["text"] for side in ("base", "theirs", "ours")] == ["old", "theirs", "ours"]
    assert (shown["from"], shown["into"], shown["status"]) == ("x", "main", "open")


def test_a_merge_with_many_large_conflicts_is_answered_within_its_budget(call: Caller) -> None:
    """Their texts have 1.6 million characters. Without a budget, 25 conflicts were answered with 20 MB."""
    names = [f"N{number}" for number in range(40)]
    call("graph_apply", ops=[upsert(name, text="old") for name in names])
    call("branch_create", name="x")
    for branch, letter in (("x", "t"), ("main", "o")):
        call("graph_apply", branch=branch, ops=[upsert(name, text=letter * 20_000) for name in names])
    answer = call.answer("graph_merge", from_="x")
    assert answer.envelope["result"]["conflicts_created"] == len(names)
    assert len(answer.text) < 150_000


@pytest.mark.parametrize(("resolution", "text"), [("use_from", "theirs"), ("use_into", "ours")])
def test_a_decision_is_final_even_when_the_destination_moves_on(call: Caller, resolution: str, text: str) -> None:
    conflict_id = conflict(call)["conflict_ids"][0]
    result = call("graph_conflict_resolve", conflict_id=conflict_id, resolution=resolution)
    assert result["applied"] is (resolution == "use_from")
    assert call("graph_query")["nodes"][0]["text"] == text
    call("graph_apply", ops=[upsert("A", text="later")])
    again = call("graph_merge", from_="x")
    assert (again["merged"], again["conflicts"]) == (0, [])
    assert call("graph_conflicts", into="main")["conflicts"] == []
    assert call("graph_conflicts", into="main", status="all")["conflicts"][0]["status"] == "resolved"
    error = call.error("graph_conflict_resolve", conflict_id=conflict_id, resolution=resolution)
    assert error["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("resolution", ["use_from", "use_into"])
def test_a_decision_is_taken_back_and_the_conflict_waits_again(call: Caller, resolution: str) -> None:
    conflict_id = conflict(call)["conflict_ids"][0]
    error = call.error("graph_conflict_reopen", conflict_id=conflict_id)
    assert error["code"] == "INVALID_INPUT", "nothing was decided yet"
    call("graph_conflict_resolve", conflict_id=conflict_id, resolution=resolution)
    assert call("graph_conflict_reopen", conflict_id=conflict_id)["status"] == "open"
    (waiting,) = call("graph_conflicts", into="main")["conflicts"]
    assert waiting["conflict_id"] == conflict_id
    again = call("graph_merge", from_="x")
    assert (again["merged"], again["conflicts"]) == (0, []), "a merge says nothing new about it"
    call("graph_conflict_resolve", conflict_id=conflict_id, resolution="use_from")
    assert call("graph_query")["nodes"][0]["text"] == "theirs"
    assert call("graph_conflicts", into="main")["conflicts"] == []


def test_what_nobody_decided_is_not_taken_back(call: Caller) -> None:
    (first,) = conflict(call)["conflict_ids"]
    call("graph_apply", branch="x", ops=[upsert("A", text="theirs, again")])
    call("graph_merge", from_="x")
    assert "superseded" in call.error("graph_conflict_reopen", conflict_id=first)["message"]


def test_a_new_change_of_the_branch_replaces_its_open_conflict(call: Caller) -> None:
    first = conflict(call)["conflict_ids"]
    call("graph_apply", branch="x", ops=[upsert("A", text="theirs again")])
    second = call("graph_merge", from_="x")["conflict_ids"]
    assert first != second
    assert [item["conflict_id"] for item in call("graph_conflicts", into="main")["conflicts"]] == second


def test_a_conflict_closes_when_both_sides_agree_after_all(call: Caller) -> None:
    conflict(call)
    call("graph_apply", ops=[upsert("A", text="theirs")])
    assert call("graph_merge", from_="x")["conflicts"] == []
    assert call("graph_conflicts", into="main")["conflicts"] == []


def test_a_dry_run_previews_conflicts_and_writes_none(call: Caller) -> None:
    call("graph_apply", ops=[upsert("A")])
    call("branch_create", name="x")
    call("graph_apply", branch="x", ops=[upsert("A", text="1"), upsert("N")])
    call("graph_apply", ops=[upsert("A", text="2")])
    before = call("status")["last_doc_entry"]
    result = call("graph_merge", from_="x", dry_run=True, merge_to_base=True)
    assert (result["merged"], [item["status"] for item in result["conflicts"]]) == (1, ["preview"])
    assert call("graph_conflicts", into="main", status="all")["conflicts"] == []
    assert call("status")["last_doc_entry"] == before


def test_a_graph_merges_only_into_its_base(call: Caller) -> None:
    call("branch_create", name="x")
    call("branch_create", name="y")
    answer = call.answer("graph_merge", from_="x", into="y")
    assert answer.envelope["error"]["code"] == "MERGE_NOT_SUPPORTED"
    run_suggestions(call.clew, answer, call.session)
    assert call.error("graph_merge", from_="main")["code"] == "MERGE_NOT_SUPPORTED"


def test_unknown_conflicts_and_branches_are_named(call: Caller) -> None:
    for name, arguments in (
        ("graph_conflict_show", {"conflict_id": "CONFLICT-" + "0" * 32}),
        ("graph_conflicts", {"into": "nope"}),
        ("graph_merge", {"from_": "nope2"}),
        ("graph_diff", {"from_": "main", "to": "nope3"}),
        ("graph_query", {"branch": "nope4"}),
    ):
        answer = call.answer(name, **arguments)
        assert answer.envelope["error"]["code"] == "UNKNOWN_ID"
        run_suggestions(call.clew, answer, call.session)
    assert call.error("graph_conflict_show", conflict_id="CONFLICT-1")["code"] == "INVALID_INPUT"


def test_workspaces_do_not_see_each_other(call: Caller) -> None:
    for workspace in ("one", "two"):
        call("graph_apply", workspace=workspace, ops=[upsert("A", text=f"words of {workspace}", tags=["t"])])
    for filters in ({}, {"text": "words"}, {"text": "words of two"}, {"tags_all": ["t"]}, {"ids": ["A"]}):
        found = call("graph_query", workspace="two", **filters)["nodes"]
        assert [node["text"] for node in found] == ["words of two"]
    assert call("graph_query", workspace="one", text="of two")["nodes"] == []
    assert call("graph_query", workspace="three")["nodes"] == []


@pytest.mark.parametrize(
    "text", ["", "x", "ab", "50%", 'say "hi"', "it's", "a\nb", "(a OR b)", "*", "ß", "İ", "日本語"]
)
def test_any_part_of_a_text_is_found(call: Caller, text: str) -> None:
    call("graph_apply", ops=[upsert("A", text=f"before {text} after"), upsert("B", title=f"T{text}"), upsert("C")])
    found = {node["id"] for node in call("graph_query", text=text)["nodes"]}
    assert found == ({"A", "B", "C"} if not text else {"A", "B"})
    assert call("graph_query", text=f"{text} nowhere")["nodes"] == []


def test_limits_are_clamped_or_refused(call: Caller) -> None:
    call("graph_apply", ops=[upsert("A"), upsert("B")])
    assert call("graph_query", limit=0)["pagination"]["count"] == 1
    assert call("graph_query", edges_limit=0)["edges"] == []
    assert call.error("graph_query", limit=201)["code"] == "INVALID_INPUT"
    assert call("graph_query", include_edges=False)["edges"] == []


def test_many_large_conflicts_are_named_and_not_poured_out(call: Caller) -> None:
    text = "word " * 5_000
    ops = [{"op": "node_upsert", "id": f"N{number}", "type": "note", "text": text} for number in range(25)]
    call("graph_apply", ops=ops)
    call("branch_create", name="x")
    call("graph_apply", branch="x", ops=[{**op, "text": f"x {text}"} for op in ops])
    call("graph_apply", ops=[{**op, "text": f"main {text}"} for op in ops])
    answer = call.answer("graph_merge", from_="x")
    merged = answer.envelope["result"]
    assert len(merged["conflict_ids"]) == merged["conflicts_created"] == 25
    assert len(answer.text) < 150_000
    assert ["theirs" in conflict for conflict in merged["conflicts"]] == [True] * 20 + [False] * 5
    shown = call("graph_conflict_show", conflict_id=merged["conflict_ids"][0])["conflict"]
    assert shown["theirs"]["text"].startswith("x word")
