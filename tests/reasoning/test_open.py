"""open: every id that is printed leads somewhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.reasoning.thinking import a_task
from tests.suggestions import run_suggestions


def upsert(call: Caller, id: str, **more: Any) -> dict[str, Any]:
    op = {"op": "node_upsert", "id": id, "type": "decision", "title": f"T {id}", **more}
    return call("graph_apply", ops=[op])


def test_a_card_opens_with_its_head_and_edges(call: Caller) -> None:
    upsert(call, "CARD-1", text="body", tags=["x"])
    applied = upsert(call, "CARD-2")
    call("graph_apply", ops=[{"op": "edge_upsert", "from": "CARD-2", "rel": "supports", "to": "CARD-1"}])
    opened = call("open", id="CARD-2")
    assert opened["kind"] == "card"
    assert opened["head"]["seq"] == applied["last_seq"]
    assert (opened["head"]["branch"], opened["head"]["doc"]) == ("main", "graph")
    assert opened["edges"] == {"supports": ["CARD-1"], "blocks": []}
    assert call("open", id="CARD-1")["card"]["text"] == "body"


def test_a_card_on_another_branch_opens_too_but_the_checkout_wins(call: Caller) -> None:
    upsert(call, "CARD-1", text="main")
    call("branch_create", name="x")
    op = {"op": "node_upsert", "id": "CARD-1", "type": "note", "text": "x"}
    call("graph_apply", branch="x", ops=[op, {**op, "id": "CARD-9"}])
    assert call("open", id="CARD-1")["card"]["text"] == "main"
    assert call("open", id="CARD-9")["head"]["branch"] == "x"
    call("checkout", ref="x")
    assert call("open", id="CARD-1")["card"]["text"] == "x"


def test_a_document_entry_opens_by_its_number(call: Caller) -> None:
    entry = call("notes_commit", content="keep", title="T")["entry"]
    opened = call("open", id=f"notes@{entry['seq']}")
    assert (opened["kind"], opened["ref"], opened["entry"]) == ("doc_entry", f"notes@{entry['seq']}", entry)
    answer = call.answer("open", id=f"other@{entry['seq']}")
    assert answer.envelope["error"]["code"] == "UNKNOWN_ID"
    run_suggestions(call.clew, answer, call.session)


def test_a_graph_change_opens_with_the_state_it_made(call: Caller) -> None:
    upsert(call, "A")
    seq = upsert(call, "A", text="second")["last_seq"]
    call("graph_apply", ops=[{"op": "node_delete", "id": "A"}])
    opened = call("open", id=f"graph@{seq}")
    assert opened["entry"]["event_type"] == "graph_node_upsert"
    assert opened["entry"]["key"] == "A"
    assert opened["state"]["text"] == "second"
    assert call.error("open", id="A")["code"] == "UNKNOWN_ID"


def test_conflicts_and_events_open(call: Caller) -> None:
    upsert(call, "A")
    call("branch_create", name="x")
    op = {"op": "node_upsert", "id": "A", "type": "note"}
    call("graph_apply", branch="x", ops=[{**op, "text": "1"}])
    call("graph_apply", ops=[{**op, "text": "2"}])
    conflict = call("graph_merge", from_="x")["conflict_ids"][0]
    assert call("open", id=conflict)["conflict"]["ours"]["text"] == "2"
    assert call("open", id="evt_0000000000000001")["event"]["type"] == "workspace_created"


def test_tasks_plans_and_steps_open_also_by_their_qualified_ids(call: Caller) -> None:
    task = a_task(call, "First")
    plan = call("open", id=task)["target"]["parent"]
    assert (call("open", id=plan)["kind"], call("open", id="STEP-00000001")["kind"]) == ("plan", "step")
    assert call("open", id=f"ws:{task}")["id"] == task
    assert call.error("open", id=f"other:{task}")["code"] == "UNKNOWN_ID"
    assert call("open", id=f"task:{task}")["card"]["type"] == "task"
    assert call("tasks_focus_get")["focus"] == task


def test_an_id_that_looks_like_an_entry_may_be_a_card(call: Caller) -> None:
    upsert(call, "release@2026")
    assert call("open", id="release@2026")["kind"] == "card"


@pytest.mark.parametrize(
    "id",
    ["CARD-404", "notes@404", "TASK-404", "PLAN-404", "JOB-404", "JOB-404@1", "runner:x", "nothing", "x" * 900, "ä|ö"],
)
def test_what_is_not_there_is_unknown_and_says_what_to_do(call: Caller, id: str) -> None:
    answer = call.answer("open", id=id)
    assert answer.envelope["error"]["code"] == "UNKNOWN_ID"
    assert answer.envelope["error"]["recovery"]
    run_suggestions(call.clew, answer, call.session)


def test_bad_ids_are_refused(call: Caller) -> None:
    for id in ("", " ", "a\nb", "x" * 5000):
        assert call.error("open", id=id)["code"] == "INVALID_INPUT"


def test_budgets_hold_and_compact_says_what_it_is(call: Caller) -> None:
    upsert(call, "CARD-1", text="word " * 5000, meta={"k": "v" * 500})
    sizes = []
    for limit in (50, 200, 400, 900, 3000, 100_000):
        result = call("open", id="CARD-1", max_chars=limit)
        assert result["budget"]["used_chars"] <= limit
        sizes.append(result["budget"]["used_chars"])
    assert sizes == sorted(sizes)
    compact = call("open", id="CARD-1", verbosity="compact")
    assert "card" not in compact
    assert compact["summary"] == "T CARD-1"
