"""Strict mode: a step closes when its reasoning can bear it, on every path that closes steps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.suggestions import run_suggestions
from tests.tasks.test_receipts import prove

CLOSERS: dict[str, dict[str, Any]] = {
    "tasks_close_step": {"checkpoints": "gate"},
    "tasks_done": {},
    "tasks_progress": {"completed": True},
}


@pytest.fixture
def strict(call: Caller, task: str) -> str:
    call("tasks_edit", task=task, reasoning_mode="strict")
    call("tasks_verify", task=task, path="s:0", checkpoints="gate")
    prove(call.clew, task, "s:0")
    return task


def think(call: Caller, task: str, type: str, title: str, **more: Any) -> str:
    card = {"type": type, "title": title, "status": more.pop("status", "open"), "tags": more.pop("tags", [])}
    return str(call("think_card", target=task, step="s:0", card=card, **more)["card_id"])


@pytest.mark.parametrize("name", CLOSERS)
def test_no_path_closes_a_step_without_a_claim(call: Caller, strict: str, name: str) -> None:
    answer = call.answer(name, task=strict, path="s:0", **CLOSERS[name])
    error = answer.envelope["error"]
    assert error["code"] == "REASONING_REQUIRED"
    assert error["details"]["missing"] == ["STRICT_NO_HYPOTHESIS_OR_DECISION"]
    run_suggestions(call.clew, answer, call.session)
    assert call("think_context", target=strict)["cards"] == [], "a suggestion writes nothing that nobody has read"
    again = call.error(name, task=strict, path="s:0", **CLOSERS[name])
    assert again["details"]["missing"] == ["STRICT_NO_HYPOTHESIS_OR_DECISION"]
    think(call, strict, "hypothesis", "Quotes are rare")
    again = call.error(name, task=strict, path="s:0", **CLOSERS[name])
    assert again["details"]["missing"] == ["BM4_HYPOTHESIS_NO_TEST"]


def test_the_command_of_a_strict_step_shows_the_card_that_closes_it(call: Caller, strict: str) -> None:
    """Only the author has the words, so the command shows what they are for, and each card leads on to the next."""
    went = []
    for card in ({"type": "hypothesis", "title": "Quotes are rare"}, {"type": "test", "title": "Count them"}):
        action = call("tasks_snapshot", task=strict)["capsule"]["action"]
        assert (action["tool"], action["args"]["id"]) == ("open", "STEP-00000001")
        needed = call("open", id="STEP-00000001")["gate"]["reasoning"]
        assert f"think_card target={strict} step=STEP-00000001" in needed["needs"]
        written = call("think_context", target=strict)["cards"]
        went.append((needed["missing"], action["purpose"], len(written)))
        call("think_card", target=strict, step="STEP-00000001", card=card, supports=[item["id"] for item in written])
    assert went == [
        (["STRICT_NO_HYPOTHESIS_OR_DECISION"], "strict: think_card what it rests on", 0),
        (["BM4_HYPOTHESIS_NO_TEST"], "strict: think_card a test of CARD-1", 1),
    ]
    assert "reasoning" not in call("open", id="STEP-00000001")["gate"]
    call("tasks_done", task=strict, path="s:0")


@pytest.mark.parametrize("toolset", ["branchmind", "daily", "core", "full"])
def test_a_refusal_names_the_card_and_calls_only_what_is_listed(call: Caller, strict: str, toolset: str) -> None:
    call.session.toolset = toolset
    answer = call.answer("tasks_macro_close_step", task=strict)
    error = answer.envelope["error"]
    assert f"think_card target={strict} step=STEP-00000001 with a card of type decision" in error["recovery"]
    assert "remember" not in error["recovery"] and "unproven" not in error["recovery"]
    told = ["tools/list toolset=daily"] if toolset == "core" else []
    assert call.lines("tasks_macro_close_step", task=strict)[1:] == [*told, "open id=STEP-00000001"]
    run_suggestions(call.clew, answer, call.session)


def test_a_form_that_is_written_is_told_to_count_for_nothing(call: Caller, strict: str) -> None:
    card = {"type": "hypothesis", "title": "What must hold for: Parse"}
    answer = call.answer("think_card", target=strict, step="s:0", card=card)
    assert [item["code"] for item in answer.envelope["warnings"]] == ["CARD_UNFILLED"]
    error = call.error("tasks_done", task=strict, path="s:0")
    assert error["details"]["missing"] == ["STRICT_NO_HYPOTHESIS_OR_DECISION"]


def test_a_step_that_names_its_tests_wants_their_runs_seen(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, reasoning_mode="strict")
    call("think_card", target=task, step="s:0", card={"type": "decision", "title": "Use csv", "text": "It fits."})
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=["CMD: make test"])
    error = call.error("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    assert error["code"] == "PROOF_REQUIRED" and "CLAIMED" in error["message"]
    prove(call.clew, task, "s:0")
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")


def test_a_hypothesis_costs_one_test_that_somebody_wrote(call: Caller, strict: str) -> None:
    claim = think(call, strict, "hypothesis", "Quotes are rare", status="accepted")
    first = call.answer("tasks_done", task=strict, path="s:0")
    assert first.envelope["error"]["details"]["missing"] == ["BM4_HYPOTHESIS_NO_TEST"]
    run_suggestions(call.clew, first, call.session)
    unread = call.error("tasks_done", task=strict, path="s:0")
    assert unread["details"]["missing"] == ["BM4_HYPOTHESIS_NO_TEST"], "the gate's own form, pasted, is no test"
    think(call, strict, "test", "Count them", supports=[claim])
    call("tasks_done", task=strict, path="s:0")


def test_an_engine_that_is_silent_has_nothing_to_object(call: Caller, strict: str) -> None:
    card = {"type": "decision", "title": "Use the csv module", "text": "It reads quotes."}
    call("think_card", target=strict, step="s:0", card=card)
    call("tasks_done", task=strict, path="s:0")


def test_a_decision_needs_a_reason_or_a_card_that_speaks_for_it(call: Caller, strict: str) -> None:
    decision = think(call, strict, "decision", "Use the csv module")
    answer = call.answer("tasks_done", task=strict, path="s:0")
    assert answer.envelope["error"]["details"]["missing"] == ["STRICT_DECISION_NO_REASON"]
    run_suggestions(call.clew, answer, call.session)
    think(call, strict, "evidence", "It read the file", supports=[decision])
    call("tasks_done", task=strict, path="s:0")


def test_a_closed_claim_is_no_claim(call: Caller, strict: str) -> None:
    think(call, strict, "hypothesis", "Old", status="resolved")
    error = call.error("tasks_done", task=strict, path="s:0")
    assert error["details"]["missing"] == ["STRICT_NO_HYPOTHESIS_OR_DECISION"]


def test_cards_of_other_steps_do_not_count(call: Caller, strict: str) -> None:
    call("think_card", target=strict, step="s:1", card={"type": "decision", "title": "Elsewhere"})
    assert call.error("tasks_done", task=strict, path="s:0")["code"] == "REASONING_REQUIRED"


@pytest.mark.parametrize("toolset", ["full", "daily", "core"])
def test_whoever_pastes_every_suggestion_unread_closes_nothing(call: Caller, strict: str, toolset: str) -> None:
    """Twelve rounds of what views, engine and refusals propose, all of it sent as it stands."""
    call.session.toolset = toolset
    for _ in range(12):
        shown = call("tasks_snapshot", task=strict)["capsule"]
        proposed = [shown[name] for name in ("action", "prep_action", "map_action") if shown.get(name)]
        findings = call("think_pack", target=strict).get("engine") or {"actions": []}
        ways = [way for action in findings["actions"] for way in action["calls"]]
        ways += call.answer("tasks_close_step", task=strict, path="s:0", checkpoints="gate").envelope["suggestions"]
        calls = [(item["tool"], item["args"]) for item in proposed]
        calls += [(way["target"], way["params"]) for way in ways if way["action"] == "call_tool"]
        for name, arguments in calls:
            call.answer(name, **arguments)
    assert not call("tasks_proofs", task=strict)["steps"][0]["completed"]


@pytest.mark.parametrize("name", CLOSERS)
def test_an_override_closes_and_leaves_its_reason(call: Caller, strict: str, name: str) -> None:
    override = {"reason": "typo fix", "risk": "none seen"}
    answer = call.answer(name, task=strict, path="s:0", override=override, **CLOSERS[name])
    assert answer.ok
    assert [item["code"] for item in answer.envelope["warnings"]] == ["STRICT_OVERRIDE_APPLIED"]
    last = call("tasks_delta")["events"][-1]
    assert last["payload"]["override"] == {**override, "missing": ["STRICT_NO_HYPOTHESIS_OR_DECISION"]}
    note = call("show", target=strict, doc_kind="notes")["entries"][-1]
    assert "typo fix" in note["content"] and "STRICT_NO_HYPOTHESIS_OR_DECISION" in note["content"]


def test_an_override_skips_neither_checkpoints_nor_proof(call: Caller, strict: str) -> None:
    override = {"reason": "r", "risk": "r"}
    call("tasks_verify", task=strict, path="s:0", checkpoints={"tests": False})
    assert call.error("tasks_done", task=strict, path="s:0", override=override)["code"] == "CHECKPOINTS_NOT_CONFIRMED"
    call("tasks_verify", task=strict, path="s:0", checkpoints={"tests": True})
    op = {"op": "set", "field": "proof_docs_mode", "value": "require"}
    call("tasks_patch", task=strict, path="s:0", ops=[op])
    call("tasks_verify", task=strict, path="s:0", checkpoints={"docs": True})
    assert call.error("tasks_done", task=strict, path="s:0", override=override)["code"] == "PROOF_REQUIRED"
    assert call.error("tasks_done", task=strict, path="s:0", override={"reason": " ", "risk": "r"})["code"] == (
        "INVALID_INPUT"
    )


def test_a_thought_seeds_a_new_task(call: Caller) -> None:
    think = {"frame": "What is slow?", "decision": "Measure first", "note_decision": True}
    steps = [{"title": "Look", "success_criteria": ["seen"]}]
    made = call("tasks_bootstrap", plan_title="P", task_title="T", steps=steps, think=think, agent_id="anna")
    assert [card["stage"] for card in made["think_pipeline"]["cards"]] == ["frame", "decision"]


def test_a_thought_that_cannot_be_written_does_not_cost_the_task(call: Caller) -> None:
    steps = [{"title": "Look", "success_criteria": ["seen"]}]
    think = {"frame": "What is slow?", "status": {"decision": "open"}}
    answer = call.answer("tasks_bootstrap", plan_title="P", task_title="T", steps=steps, think=think)
    assert [item["code"] for item in answer.envelope["warnings"]] == ["THINK_PIPELINE_FAILED"]
    task = answer.envelope["result"]["task"]["id"]
    assert call("think_context", target=task)["cards"] == []
    call("tasks_note", task=task, path="s:0", note="works")
