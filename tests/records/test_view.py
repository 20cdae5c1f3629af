"""record_view: any record as a person reads it, with names in place of ids."""

from __future__ import annotations

from tests.conftest import Caller
from tests.reasoning.thinking import a_task, think


def decided(call: Caller, statement: str, **more: object) -> tuple[str, str]:
    """The proposal and the block it made."""
    made = call("propose_update", block_type="decision", statement=statement, **more)
    call("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    return made["proposal_id"], made["block_id"]


def test_a_decision_says_where_it_came_from_and_what_it_would_be_called(call: Caller) -> None:
    proposal, block = decided(call, "Prices are integers", rationale="Rounding")
    shown = call("record_view", id=block)
    assert (shown["kind"], shown["title"], shown["why"]) == ("decision", "Prices are integers", "Rounding")
    assert [item["kind"] for item in shown["chain"]] == ["signal", "proposal", "decision"]
    assert [item["id"] for item in shown["chain"] if item["here"]] == [block]
    assert proposal in [item["id"] for item in shown["chain"]]


def test_a_proposal_is_a_sentence_and_no_list_of_ids(call: Caller) -> None:
    _, block = decided(call, "Kiosks poll every 30 seconds")
    ops = [{"op": "set_status", "target": block, "status": "revoked"}]
    staged = call("propose_edit", ops=ops, rationale="They are gone")["proposal_id"]
    shown = call("record_view", id=staged)
    assert shown["title"] == "Withdraw “Kiosks poll every 30 seconds”"
    ops = [{"op": "update_field", "target": block, "field": "Rationale", "value": "Batteries"}]
    staged = call("propose_edit", ops=ops, rationale="Say why")["proposal_id"]
    told = call("record_view", id=staged)["title"]
    assert told == "Change the reason of “Kiosks poll every 30 seconds” to: Batteries"


def test_a_contradiction_names_both_sides(call: Caller) -> None:
    decided(call, "Use tin whistles in fog")
    decided(call, "Do not use tin whistles in fog")
    (pair,) = call("list_contradictions")["resolutions"]
    title = call("record_view", id=pair["contradiction_id"])["title"]
    assert title == "“Use tin whistles in fog” against “Do not use tin whistles in fog”"


def test_links_have_names_in_both_directions_whatever_store_they_lead_to(call: Caller) -> None:
    task = a_task(call, "Count the oars")
    think(call, "CARD-1", target=task, step="s:0", title="Twelve, I think")
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=["CMD: make test"])
    shown = call("record_view", id=task)
    (step,) = [link for link in shown["incoming"] if link["kind"] == "step"]
    assert (step["title"], step["status"]) == ("Count the oars", "open")
    assert [item["kind"] for item in shown["chain"]] == ["plan", "task"]
    linked = {link["title"]: link for link in call("record_view", id=step["id"])["incoming"]}
    assert linked["Twelve, I think"]["rel"] == "about" and linked["Twelve, I think"]["kind"] == "card"
    assert linked["make test"]["kind"] in ("evidence", "receipt")
    receipt = next(link["id"] for link in call("record_view", id=step["id"])["incoming"] if link["kind"] == "receipt")
    assert [item["kind"] for item in call("record_view", id=receipt)["chain"]] == ["plan", "task", "step", "receipt"]


def test_a_thought_is_shown_without_its_notation_and_with_its_author(call: Caller) -> None:
    session = call("start_new", title="Why does it leak?")["sessionId"]
    call("thought", thought="S1|Q|| Where does the water come from?", nextThoughtNeeded=True, sessionId=session)
    shown = call("record_view", id=f"{session}:1")
    assert shown["text"] == "Where does the water come from?" == shown["title"]
    assert [item["title"] for item in shown["chain"]] == ["Why does it leak?", "Where does the water come from?"]


def test_an_unknown_id_is_refused_and_a_small_budget_is_kept(call: Caller) -> None:
    assert call.error("record_view", id="D-20200101-999")["code"] == "UNKNOWN_ID"
    _, block = decided(call, "Paint the fleet orange " * 20, rationale="Because " * 200)
    cut = call("record_view", id=block, max_chars=1500)
    assert cut["budget"]["used_chars"] <= 1500 and cut["title"]


def test_many_records_are_named_at_once(call: Caller) -> None:
    task = call("start", title="Tar the piles", steps=["Buy tar"])["task"]
    rule = call("remember", kind="rule", text="Whistle in fog")["id"]
    found = {item["id"]: item for item in call("record_names", ids=[task, rule, "D-19990101-001"])["names"]}
    assert (found[task]["kind"], found[task]["title"]) == ("task", "Tar the piles")
    assert found[rule]["title"] == "Whistle in fog"
    assert found["D-19990101-001"]["title"] == "D-19990101-001", "what is unknown is called after itself"
