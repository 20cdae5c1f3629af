"""decide: one operation for a proposal or a dispute, with edited words, and the way back."""

from __future__ import annotations

from typing import Any

import pytest

from clew.registry.connection import Connection
from tests.conftest import Caller

WHY = "five was not enough on Sunday"


def as_agent(call: Caller, agent: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    call.session = Connection(toolset="full", agent_id=agent)
    return call(name, **arguments)


@pytest.fixture
def dispute(call: Caller) -> tuple[str, str, str]:
    """An older record in force, a newer one that contradicts it and waits, and the proposal."""
    old = as_agent(call, "mira", "remember", kind="decision", text="A failed delivery is retried five times")["id"]
    new = as_agent(
        call, "otto", "remember", kind="decision", text="A failed delivery is not retried five times", why=WHY
    )
    assert new["state"] == "proposed", new
    call.session = call.person
    return old, new["id"], new["proposal"]


def status_of(call: Caller, id: str) -> str:
    return str(call("block_history", block_id=id)["status"])


def field(call: Caller, id: str, name: str) -> str:
    return str(call("open", id=id)["block"]["fields"].get(name, ""))


def waiting(call: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call("inbox_list")["items"]
    return found


def test_a_dispute_is_one_item_whose_title_is_the_sentence(call: Caller, dispute: tuple[str, str, str]) -> None:
    old, new, proposal = dispute
    (item,) = waiting(call)
    assert (item["id"], item["kind"], item["by"]) == (proposal, "contradiction", "otto")
    assert item["title"] == "A failed delivery is not retried five times"
    assert item["facts"]["older"] == [{"id": old, "title": "A failed delivery is retried five times"}]
    assert item["facts"]["newer"] == new and item["facts"]["covers"] == [proposal]


def test_replace_puts_the_new_one_in_the_place_of_the_old_one(call: Caller, dispute: tuple[str, str, str]) -> None:
    old, new, proposal = dispute
    done = call("decide", id=proposal, verdict="replace", others=[old])
    assert done["statuses"] == {new: "active", old: "superseded"}
    assert field(call, old, "SupersededBy") == new and waiting(call) == []
    assert call("list_contradictions")["status"] == "clean"
    call("undo")
    assert (status_of(call, old), status_of(call, new)) == ("active", "proposed")
    (item,) = waiting(call)
    assert (item["id"], item["by"]) == (proposal, "otto"), "it waits again, and the asker is who asked"


def test_an_agent_decides_nothing(call: Caller, dispute: tuple[str, str, str]) -> None:
    old, new, proposal = dispute
    agent = Connection(toolset="full", agent_id="otto")
    error = call.clew.dispatcher.call("decide", {"id": proposal, "verdict": "replace"}, agent).envelope["error"]
    assert error["code"] == "NOT_ALLOWED" and "person" in error["message"]
    assert (status_of(call, old), status_of(call, new)) == ("active", "proposed")


def test_keep_leaves_the_old_one_in_force(call: Caller, dispute: tuple[str, str, str]) -> None:
    old, new, proposal = dispute
    done = call("decide", id=proposal, verdict="keep", reason="Sunday was an exception")
    assert done["statuses"] == {new: "rejected", old: "active"} and waiting(call) == []
    assert field(call, proposal, "Reason") == "Sunday was an exception"
    call("undo")
    assert status_of(call, new) == "proposed" and len(waiting(call)) == 1


def test_both_hold_and_are_never_called_a_contradiction_again(call: Caller, dispute: tuple[str, str, str]) -> None:
    old, new, proposal = dispute
    done = call("decide", id=proposal, verdict="both")
    assert done["statuses"] == {new: "active", old: "active"}
    assert waiting(call) == [] and call("list_contradictions")["status"] == "clean"
    call("scan")
    assert waiting(call) == []


def test_edited_words_are_the_record_and_its_reason_stays(call: Caller, dispute: tuple[str, str, str]) -> None:
    old, new, proposal = dispute
    words = "A failed delivery is not retried five times from Monday"
    call("decide", id=proposal, verdict="replace", statement=words)
    assert (field(call, new, "Statement"), field(call, new, "Rationale")) == (words, WHY)
    assert field(call, old, "Statement") == "A failed delivery is retried five times"


def test_neither_holds(call: Caller, dispute: tuple[str, str, str]) -> None:
    old, new, proposal = dispute
    done = call("decide", id=proposal, verdict="neither")
    assert done["statuses"] == {new: "rejected", old: "revoked"}
    call("undo")
    assert (status_of(call, old), status_of(call, new)) == ("active", "proposed")


def test_a_dispute_is_not_approved_without_saying_what_becomes_of_the_other_side(
    call: Caller, dispute: tuple[str, str, str]
) -> None:
    old, new, proposal = dispute
    error = call.error("decide", id=proposal, verdict="approve")
    assert error["code"] == "INVALID_INPUT" and old in error["message"]
    assert status_of(call, new) == "proposed"


def test_two_in_force_are_one_item_with_everything_behind_it(call: Caller) -> None:
    made = []
    for text in ("Use tin whistles in fog", "Do not use tin whistles in fog"):
        found = as_agent(call, "anna", "propose_update", block_type="decision", statement=text)
        call("approve_apply", proposal_id=found["proposal_id"], dry_run=False)
        made.append(found["block_id"])
    old, new = made
    raised = {"op": "update_field", "target": new, "field": "Priority", "value": "P0"}
    edit = call("propose_edit", ops=[raised], rationale="It matters more")
    call("approve_apply", proposal_id=edit["proposal_id"], dry_run=False)
    advised = call("scan")["checks"]["proposed_resolutions"]
    (item,) = waiting(call)
    assert set(advised) < set(item["facts"]["covers"]) and item["facts"]["winner"] == new
    call.session = call.person
    done = call("decide", id=item["id"], verdict="keep")
    assert done["statuses"] == {new: "superseded", old: "active"} and waiting(call) == []
    call("undo")
    assert [one["id"] for one in waiting(call)] == [item["id"]]


def test_a_side_that_was_decided_meanwhile_is_refused(call: Caller, dispute: tuple[str, str, str]) -> None:
    old, new, proposal = dispute
    as_agent(call, "mira", "retract", id=old, why="Not needed any more")
    error = call.error("decide", id=proposal, verdict="replace", others=[old])
    assert error["code"] == "CONFLICT" and old in error["message"]
    assert status_of(call, new) == "proposed"


def test_a_proposal_without_a_dispute_is_approved_as_edited_and_undone(call: Caller) -> None:
    made = call("propose_update", block_type="decision", statement="Count the gulls dayly", rationale="They are many")
    call("decide", id=made["proposal_id"], verdict="approve", statement="Count the gulls daily")
    block = made["block_id"]
    assert (field(call, block, "Statement"), field(call, block, "Rationale")) == (
        "Count the gulls daily",
        "They are many",
    )
    call.session = call.person
    call("undo")
    (item,) = waiting(call)
    assert item["title"] == "Count the gulls dayly", "the proposal itself is as it was"


def test_the_view_shows_both_sides_with_reason_author_and_proof(call: Caller) -> None:
    steps = [{"title": "Retry", "success_criteria": ["done"]}]
    task = as_agent(call, "mira", "tasks_macro_start", plan_title="Relay", task_title="Herd", steps=steps)["task_id"]
    call("close", task=task, step="s:0", proof={"command": "pytest -q", "exit_code": 0})
    text = "A failed delivery is retried five times"
    old = call("remember", kind="decision", text=text, why="the queue is short", task=task)["id"]
    call("remember", kind="lesson", text="Retries add up", rests_on=[old])
    new = as_agent(
        call, "otto", "remember", kind="decision", text="A failed delivery is not retried five times", why=WHY
    )
    view = call("decision_view", id=new["id"])
    older, newer = view["cards"]
    assert (older["id"], older["role"], older["author"], older["why"]) == (old, "against", "mira", "the queue is short")
    assert older["task"]["title"] == "Herd" and older["proof"]["command"] == "pytest -q"
    assert older["resting"]["total"] == 1 and older["reason"]
    assert (newer["role"], newer["author"], newer["why"], newer["status"]) == ("new", "otto", WHY, "proposed")
    assert newer["created_ms"] > older["created_ms"]
    assert call("decision_view", id=new["proposal"])["cards"] == view["cards"]


def test_the_view_of_a_decided_proposal_says_what_became_of_it(call: Caller, dispute: tuple[str, str, str]) -> None:
    _, new, proposal = dispute
    call("decide", id=proposal, verdict="replace")
    view = call("decision_view", id=proposal)
    assert (view["state"], view["status"], view["by"]) == ("decided", "applied", "@ines")
    assert view["record"]["id"] == new
    call("remember", kind="lesson", text="Something else came after it")
    call("undo", event=str(view["event"]))
    assert status_of(call, new) == "proposed", "whatever was written since"


def test_the_view_of_an_edit_shows_each_field_before_and_after(call: Caller) -> None:
    made = call("propose_update", block_type="decision", statement="Ring at noon", rationale="Ships listen")
    call("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    op = {"op": "update_field", "target": made["block_id"], "field": "Statement", "value": "Ring at eleven"}
    edit = call("propose_edit", ops=[op], rationale="Noon is loud")["proposal_id"]
    view = call("decision_view", id=edit)
    (change,) = view["changes"]
    assert (change["field"], change["before"], change["after"]) == ("Statement", "Ring at noon", "Ring at eleven")


def test_a_contradiction_that_nobody_stored_is_shown_before_it_is_approved(call: Caller) -> None:
    for text in ("Use tin whistles in fog", "Do not use tin whistles in fog"):
        made = call("propose_update", block_type="decision", statement=text)
        view = call("decision_view", id=made["proposal_id"])
        if not text.startswith("Do"):
            call("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
            first = made["block_id"]
    assert [card["id"] for card in view["cards"]] == [first, made["block_id"]]
    done = call("decide", id=made["proposal_id"], verdict="replace", others=[first])
    assert done["statuses"] == {made["block_id"]: "active", first: "superseded"}
    call.session = call.person
    call("undo")
    assert status_of(call, first) == "active"


def test_an_edit_by_a_person_applies_at_once_and_names_what_it_would_contradict(call: Caller) -> None:
    old = as_agent(call, "mira", "remember", kind="decision", text="Use tin whistles in fog")["id"]
    other = call("remember", kind="decision", text="Ring brass bells in rain", why="they carry")["id"]
    edit = {"id": other, "statement": "Do not use tin whistles in fog"}
    agent = Connection(toolset="full", agent_id="mira")
    assert call.clew.dispatcher.call("edit_record", edit, agent).envelope["error"]["code"] == "NOT_ALLOWED"
    call.session = call.person
    refused = call.error("edit_record", **edit)
    assert refused["code"] == "CONFLICT" and old in refused["message"]
    call("edit_record", **edit, replaces=[old])
    assert (status_of(call, old), field(call, other, "Rationale")) == ("superseded", "they carry")
    call("undo")
    assert (status_of(call, old), field(call, other, "Statement")) == ("active", "Ring brass bells in rain")
    assert call.error("edit_record", id=other, statement="Ring brass bells in rain")["code"] == "INVALID_INPUT"


def test_approving_what_would_newly_contradict_is_refused_with_the_other_record(call: Caller) -> None:
    old = as_agent(call, "mira", "remember", kind="decision", text="Use tin whistles in fog")["id"]
    made = call("propose_update", block_type="decision", statement="Do not use tin whistles in fog")
    call.session = call.person
    error = call.error("decide", id=made["proposal_id"], verdict="approve")
    assert error["code"] == "CONFLICT" and old in error["message"]
    call("decide", id=made["proposal_id"], verdict="both", others=[old])
    assert call("inbox_list")["items"] == []
