"""What each view shows, and to whom the focus belongs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller, TickingClock
from tests.tasks.portal import STEP

DAY = 24 * 3600 * 1000


@pytest.fixture
def task(call: Caller) -> str:
    steps = [STEP, {**STEP, "title": "Write rows"}]
    return str(
        call("tasks_macro_start", task_title="Importer: rows", description="Rows get lost.", steps=steps)["task_id"]
    )


def test_radar_says_now_why_verify_next_and_blockers(call: Caller, task: str) -> None:
    call("tasks_block", task=task, path="s:1", reason="no access")
    radar = call("tasks_radar")["radar"]
    assert radar == {
        "now": "s:0 Read rows",
        "why": "Rows get lost.",
        "verify": ["criteria: every row is read", "tests: make test"],
        "next": ["close s:0 Read rows", "then s:1 Write rows"],
        "blockers": ["s:1: no access"],
    }


def test_handoff_tells_done_remaining_and_risks(call: Caller, task: str) -> None:
    call("tasks_macro_close_step", proof=["make test"])
    ops = [{"op": "set", "field": "proof_tests_mode", "value": "require"}]
    call("tasks_patch", task=task, kind="step", path="s:1", ops=ops)
    handoff = call("tasks_handoff", limit=5)["handoff"]
    claimed = "s:0 Read rows: CLAIMED: make test, Clew did not see the run"
    assert call("tasks_radar")["radar"]["unproven"] == [claimed]
    assert handoff == {
        "done": ["s:0 Read rows (proof: tests, claimed)"],
        "remaining": ["s:1 Write rows (needs criteria, tests, proof of tests)"],
        "risks": ["unproven: s:1 needs proof of tests", f"not proven: {claimed}"],
    }


def test_resume_shows_every_step_with_its_times(call: Caller, task: str) -> None:
    call("tasks_macro_close_step")
    result = call("tasks_resume", events_limit=3)
    first, second = result["steps"]
    assert first["completed_at_ms"] and second["completed_at_ms"] is None
    assert [event["type"] for event in result["timeline"]["events"]][-1] == "step_done"
    assert len(result["timeline"]["events"]) == 3


@pytest.mark.parametrize("view", ["tasks_resume", "tasks_resume_pack", "tasks_resume_super", "tasks_snapshot"])
def test_resuming_brings_the_focus_back_and_says_so(call: Caller, task: str, view: str) -> None:
    call("tasks_macro_start", task_title="Other")
    looked = call(view, task=task, read_only=True)
    assert "focus_restored" not in looked and call("tasks_focus_get")["focus"] == "TASK-002"
    resumed = call(view, task=task)
    assert (resumed["focus_restored"], resumed["focus_previous"]) == (True, "TASK-002")
    assert call("tasks_focus_get")["focus"] == task
    assert "focus_restored" not in call(view)


@pytest.mark.parametrize("view", ["tasks_radar", "tasks_handoff", "tasks_context_pack", "tasks_mirror"])
def test_other_views_never_move_the_focus(call: Caller, task: str, view: str) -> None:
    call("tasks_focus_clear")
    call(view, task=task)
    call("open", id=task)
    assert call("tasks_focus_get")["focus"] is None


def test_a_step_can_be_mirrored_with_what_is_below_it(call: Caller, task: str) -> None:
    call("tasks_decompose", task=task, parent="s:0", steps=[{"title": "Deep", "success_criteria": ["x"]}])
    assert [step["path"] for step in call("tasks_mirror", path="s:0")["steps"]] == ["s:0", "s:0.s:0"]
    whole = call("tasks_mirror", task=task, limit=2)
    assert (whole["count"], whole["total"], whole["has_more"]) == (2, 3, True)


def test_without_arguments_resume_super_is_full_and_a_context_budget_makes_it_smart(call: Caller, task: str) -> None:
    result = call("tasks_resume_super")
    assert (result["view"], result["budget"]["max_chars"]) == ("full", 20_000)
    assert "step_focus" not in result
    assert call("tasks_resume_super", context_budget=8000)["view"] == "smart"
    assert call("tasks_snapshot")["view"] == "smart"


def test_the_smaller_of_two_budgets_counts(call: Caller, task: str) -> None:
    assert call("tasks_resume_super", context_budget=8000, max_chars=3000)["budget"]["max_chars"] == 3000


def think(call: Caller, title: str, **card: Any) -> str:
    return str(call("think_card", card={"title": title, **card}, target="TASK-001")["card_id"])


def titles(result: dict[str, Any]) -> set[str]:
    return {card["title"] for card in result["memory"]["cards"]}


def test_smart_hides_closed_cards_explore_shows_them_and_audit_and_full_show_drafts(call: Caller, task: str) -> None:
    think(call, "open", type="hypothesis")
    think(call, "closed", type="hypothesis", status="closed")
    think(call, "draft", type="note")
    think(call, "pinned", type="decision", status="closed", tags=["pinned"])
    shown = {view: titles(call("tasks_resume_super", view=view)) for view in ("smart", "explore", "audit", "full")}
    assert shown["smart"] == {"open", "pinned"}
    assert shown["explore"] == {"open", "closed", "pinned"}
    assert shown["full"] == {"open", "closed", "pinned", "draft"}
    assert shown["audit"] == {"open", "draft", "pinned"}
    audit = call("tasks_resume_super", view="audit")
    assert audit["capsule"]["where"]["lane"]["kind"] == "all" and audit["lane_summary"]["count"] == 1


def test_drafts_are_no_signals(call: Caller, task: str) -> None:
    think(call, "draft decision", type="decision", tags=["v:draft"])
    think(call, "decision", type="decision")
    shown = [item["label"] for item in call("tasks_resume_super")["signals"]["decisions"]]
    assert shown == ["decision"]


def test_focus_only_is_the_step_and_little_else(call: Caller, task: str) -> None:
    for number in range(15):
        think(call, f"open {number}", type="question")
    call("notes_commit", content="noise", target=task)
    result = call("tasks_resume_super", view="focus_only", notes_limit=50, trace_limit=50)
    assert result["step_focus"]["step"]["path"] == "s:0"
    assert result["step_focus"]["detail"]["criteria_confirmed"] is False
    assert result["memory"]["notes"]["entries"] == result["memory"]["trace"]["entries"] == []
    assert len(result["memory"]["cards"]) == 12
    assert "graph_diff" not in result
    assert {event["path"] for event in result["timeline"]["events"]} <= {"s:0"}
    assert "graph_diff" in call("tasks_resume_super", view="focus_only", graph_diff=True)


def test_smart_leads_with_what_concerns_the_step(call: Caller, task: str) -> None:
    call("tasks_note", task=task, path="s:0", note="about the step")
    for number in range(20):
        call("notes_commit", content=f"elsewhere {number}", target=task)
    result = call("tasks_resume_super", view="smart")
    assert "about the step" in [entry["content"] for entry in result["memory"]["notes"]["entries"]]
    assert {entry["path"] for entry in result["memory"]["trace"]["entries"]} == {"s:0"}


def test_limits_of_zero_leave_sections_empty(call: Caller, task: str) -> None:
    call("notes_commit", content="x", target=task)
    result = call("tasks_resume_super", notes_limit=0, trace_limit=0, cards_limit=0, events_limit=0)
    assert result["memory"]["notes"]["entries"] == result["memory"]["trace"]["entries"] == []
    assert result["memory"]["cards"] == result["timeline"]["events"] == []


def test_a_plan_s_horizon_counts_its_tasks_by_their_time(call: Caller, task: str, clock: TickingClock) -> None:
    for title in ("b", "c", "d"):
        call("tasks_macro_start", task_title=title)
    call("tasks_complete", task="TASK-002", status="ACTIVE")
    call("tasks_complete", task="TASK-003", status="PARKED", parked_for_s=60)
    call("tasks_complete", task="TASK-004", status="PARKED", parked_for_s=3600)
    horizon = call("tasks_radar", target="PLAN-001")["radar"]["horizon"]
    assert {name: horizon[name] for name in ("active", "backlog", "parked", "total")} == {
        "active": 1,
        "backlog": 1,
        "parked": 2,
        "total": 4,
    }
    assert horizon["next_wake"]["id"] == "TASK-003"
    clock.now_ms += 61_000
    later = call("tasks_radar", target="PLAN-001")["radar"]["horizon"]
    assert (later["backlog"], later["parked"], later["next_wake"]["id"]) == (2, 1, "TASK-004")
    clock.now_ms += 15 * DAY
    assert call("tasks_radar", target="PLAN-001")["radar"]["horizon"]["stale"] == 4


def test_where_falls_back_from_the_step_to_the_task(call: Caller, task: str) -> None:
    think(call, "cockpit", type="note", tags=["a:importer", "v:canon"])
    assert call("tasks_snapshot")["capsule"]["where"]["map"] == {"where": "a:importer", "top_anchors": ["a:importer"]}
    call("think_card", card={"type": "test", "title": "x", "tags": ["a:files"]}, step="focus")
    assert call("tasks_snapshot")["capsule"]["where"]["map"]["where"] == "a:files"


def test_evidence_for_security_is_confirmed_by_the_next_action(call: Caller, task: str) -> None:
    call("tasks_evidence_capture", task=task, path="s:0", checks=["CMD: scan"], checkpoint="security")
    action = call("tasks_snapshot")["capsule"]["action"]
    assert action["args"]["checkpoints"] == {"criteria": True, "tests": True, "security": True}
    call(action["tool"], **action["args"])


def test_a_parked_task_is_taken_up_again_by_its_action(call: Caller, task: str) -> None:
    call("tasks_complete", task=task, status="PARKED")
    action = call("tasks_snapshot")["capsule"]["action"]
    assert call(action["tool"], **action["args"])["task"]["status"] == "ACTIVE"


def test_a_task_without_steps_gets_some_by_its_action(call: Caller) -> None:
    call("tasks_create", title="Plan")
    call("tasks_create", title="Bare", parent="PLAN-001")
    action = call("tasks_snapshot", task="TASK-001")["capsule"]["action"]
    assert call(action["tool"], **action["args"])["steps"][0]["path"] == "s:0"


def test_a_step_over_a_fallen_card_is_suspect_in_radar_and_handoff(call: Caller, task: str) -> None:
    premise = call("think_card", card={"type": "evidence", "title": "Rows are sorted"}, step="focus")["card_id"]
    decision = call("think_card", card={"type": "decision", "title": "Merge them"}, step="focus")["card_id"]
    call("think_link", from_=premise, rel="supports", to=decision)
    assert "suspects" not in call("tasks_radar")["radar"]
    call("think_set_status", targets=[premise], status="disproved")
    assert call("tasks_radar")["radar"]["suspects"] == [f"s:0 Read rows: {premise} is disproved"]
    assert f"suspect: s:0 Read rows: {premise} is disproved" in call("tasks_handoff")["handoff"]["risks"]
    shown = {item["id"]: item for item in call("tasks_resume_super")["signals"]["decisions"]}
    assert shown[decision]["suspect"]["because"] == f"{premise} is disproved"


def test_opening_work_shows_its_lens(call: Caller, task: str) -> None:
    think(call, "draft", type="note")
    opened = call("open", id=task)
    assert (opened["kind"], opened["id"], opened["radar"]["now"]) == ("task", task, "s:0 Read rows")
    assert opened["capsule"]["type"] == "handoff_capsule" and opened["cards"] == []
    assert call("open", id=task, include_drafts=True)["cards"][0]["title"] == "draft"
    assert call("open", id="PLAN-001")["radar"]["horizon"]["total"] == 1
    assert call("open", id=task, max_chars=700)["id"] == task


def test_secrets_are_hidden_in_every_view(call: Caller) -> None:
    call("tasks_macro_start", task_title="Keys", description="password=hunter2 sk-" + "a" * 24)
    for view in ("tasks_radar", "tasks_handoff", "tasks_resume", "tasks_resume_super", "tasks_snapshot"):
        shown = call.answer(view).envelope
        assert "hunter2" not in str(shown) and "aaaa" not in str(shown)
