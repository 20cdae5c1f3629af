"""Changes to cards: status, pins, edges, publishing, merging, subgoals, lint."""

from __future__ import annotations

from typing import Any

from clew.app import Clew
from tests.conftest import Caller
from tests.reasoning.thinking import ids, think
from tests.suggestions import run_suggestions


def test_a_status_is_set_once_and_left_in_the_trace(call: Caller) -> None:
    think(call, "A")
    think(call, "B")
    done = call("think_set_status", targets=["A", "B"], status="closed", message="measured")
    assert done["applied"]["nodes_upserted"] == 2
    assert [card["status"] for card in call("think_query")["cards"]] == ["closed", "closed"]
    last = call("show", doc_kind="trace")["entries"][-1]
    assert (last["format"], last["content"], last["meta"]["card_ids"]) == ("think_set_status", "measured", ["A", "B"])
    again = call("think_set_status", targets=["A", "B"], status="closed")
    assert again["applied"]["nodes_upserted"] == 0


def test_changing_an_unknown_card_changes_none(clew: Clew, call: Caller) -> None:
    think(call, "A")
    calls: dict[str, dict[str, Any]] = {
        "think_set_status": {"targets": ["A", "X"], "status": "closed"},
        "think_pin": {"targets": ["A", "X"]},
        "think_link": {"from": "A", "rel": "supports", "to": "X"},
        "think_publish": {"card_id": "X"},
        "think_subgoal_open": {"question_id": "X"},
        "think_subgoal_close": {"subgoal_id": "X"},
        "think_nominal_merge": {"candidate_ids": ["X"]},
    }
    for name, arguments in calls.items():
        answer = call.answer(name, **arguments)
        assert answer.envelope["error"]["code"] == "UNKNOWN_ID", name
        run_suggestions(clew, answer, call.session)
    (card,) = call("think_query")["cards"]
    assert card["status"] == "open" and "pinned" not in card["tags"]


def test_pins_are_listed_and_taken_off(call: Caller) -> None:
    for name in "ABC":
        think(call, name)
    call("think_pin", targets=["A", "C"])
    assert ids(call("think_pins")["pins"]) == ["C", "A"]
    page = call("think_pins", limit=1)
    assert ids(call("think_pins", limit=1, cursor=page["pagination"]["next_cursor"])["pins"]) == ["A"]
    call("think_pin", targets="C", pinned=False)
    assert ids(call("think_pins")["pins"]) == ["A"]


def test_an_edge_is_written_once_and_its_meta_can_change(call: Caller) -> None:
    think(call, "A")
    think(call, "B")
    first = call("think_link", from_="A", rel="depends_on", to="B")
    again = call("think_link", from_="A", rel="depends_on", to="B")
    assert (first["applied"]["edges_upserted"], again["applied"]["edges_upserted"]) == (1, 0)
    assert call("think_link", from_="A", rel="depends_on", to="B", meta={"w": 1})["applied"]["edges_upserted"] == 1
    assert call("graph_query")["edges"][0]["meta"] == {"w": 1}
    assert call.error("think_link", from_="A", rel="supports", to="A")["code"] == "INVALID_INPUT"


def test_publishing_makes_a_canonical_copy_that_follows_its_source(call: Caller) -> None:
    think(call, "D", "decision", tags=["v:draft", "a:core", "lane:agent:ann"])
    first = call("think_publish", card_id="D", pin=True)
    assert first["published_card_id"] == "CARD-PUB-D"
    (copy,) = call("think_query", types="decision")["cards"]
    assert copy["tags"] == ["a:core", "lane:shared", "pinned", "v:canon"]
    assert copy["meta"]["published_from"] == {"card_id": "D", "lane": "agent:ann", "agent_id": "ann"}
    assert call("think_publish", card_id="D")["inserted"] is False
    call("think_set_status", targets="D", status="accepted")
    assert call("think_publish", card_id="D")["inserted"] is True
    (copy,) = call("think_query", types="decision")["cards"]
    assert (copy["status"], "pinned" in copy["tags"]) == ("accepted", True)


def test_a_published_copy_is_not_published_again(clew: Clew, call: Caller) -> None:
    think(call, "D", "decision")
    call("think_publish", card_id="D")
    answer = call.answer("think_publish", card_id="CARD-PUB-D")
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    run_suggestions(clew, answer, call.session)


def test_equal_cards_become_one(call: Caller) -> None:
    for name in "ABC":
        think(call, name, title="Same words")
    think(call, "D", title="Other words")
    call("think_pin", targets="B")
    done = call("think_nominal_merge")
    assert done["merged_groups"] == [{"canonical_id": "B", "merged_ids": ["A", "C"]}]
    assert {card["id"]: card["status"] for card in call("think_query")["cards"]} == {
        "A": "merged",
        "B": "open",
        "C": "merged",
        "D": "open",
    }
    assert {(edge["from"], edge["rel"], edge["to"]) for edge in call("graph_query")["edges"]} == {
        ("A", "dedup", "B"),
        ("C", "dedup", "B"),
    }
    assert call("think_nominal_merge")["merged_groups"] == []


def test_a_published_copy_is_not_taken_for_a_double_of_its_source(call: Caller) -> None:
    think(call, "D", "decision")
    call("think_publish", card_id="D")
    assert call("think_nominal_merge")["merged_groups"] == []


def test_a_subgoal_has_documents_of_its_own_and_brings_an_answer_back(call: Caller) -> None:
    think(call, "Q", "question")
    opened = call("think_subgoal_open", question_id="Q", message="find the owner")
    subgoal = opened["subgoal_id"]
    assert (opened["child_graph_doc"], opened["child_trace_doc"]) == (f"{subgoal}-graph", f"{subgoal}-trace")
    assert ids(call("think_frontier")["frontier"]["subgoals"]) == [subgoal]
    assert ids(call("think_frontier")["frontier"]["questions"]) == ["Q"]
    call("think_card", card="work", branch="main", graph_doc=opened["child_graph_doc"], trace_doc="x")
    closed = call("think_subgoal_close", subgoal_id=subgoal, return_card="It is Ann")
    assert call("think_frontier")["frontier"]["subgoals"] == []
    answer = closed["return_card_id"]
    assert (answer, "supports", "Q") in {(e["from"], e["rel"], e["to"]) for e in call("graph_query")["edges"]}
    assert call("think_query", ids=answer)["cards"][0]["type"] == "update"


def test_a_subgoal_with_named_documents_is_opened_once(call: Caller) -> None:
    think(call, "Q", "question")
    first = call("think_subgoal_open", question_id="Q", child_graph_doc="g", child_trace_doc="t")
    again = call("think_subgoal_open", question_id="Q", child_graph_doc="g", child_trace_doc="t")
    assert (again["subgoal_id"], again["inserted"]) == (first["subgoal_id"], False)


def test_only_questions_have_subgoals(clew: Clew, call: Caller) -> None:
    think(call, "H")
    for name, arguments in {
        "think_subgoal_open": {"question_id": "H"},
        "think_subgoal_close": {"subgoal_id": "H"},
    }.items():
        answer = call.answer(name, **arguments)
        assert answer.envelope["error"]["code"] == "INVALID_INPUT"
        run_suggestions(clew, answer, call.session)


def test_lint_names_edges_without_ends_and_marks_that_contradict(call: Caller) -> None:
    think(call, "A")
    assert call("think_lint")["ok"] is True
    think(call, "B", "test", supports=["GONE"], tags=["v:canon", "v:draft"])
    found = call("think_lint")
    assert found["ok"] is False
    assert [error["code"] for error in found["errors"]] == ["EDGE_ENDPOINT_MISSING", "VISIBILITY_CONFLICT"]
    assert found["stats"] == {"nodes": 2, "edges": 1}


def test_playbooks_are_fixed_and_unknown_names_give_the_general_one(call: Caller) -> None:
    labels = [step.partition(":")[0] for step in call("think_playbook", name="strict")["template"]["steps"]]
    assert labels == ["frame", "skeptic-loop", "counter", "minimize", "breakthrough-loop", "evidence", "decision"]
    general = call("think_playbook", name="nobody knows this")
    assert general["template"] == call("think_playbook", name="default")["template"]
    assert "matrix_template" in call("think_playbook", name="criteria_matrix")["template"]
