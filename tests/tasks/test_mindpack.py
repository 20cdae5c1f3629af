"""The mindpack: versions only when something changed, the same for everyone who asks."""

from __future__ import annotations

from tests.conftest import Caller
from tests.tasks.portal import STEP


def test_it_is_kept_once_and_again_only_after_a_change(call: Caller) -> None:
    call("tasks_macro_start", task_title="Importer: rows", steps=[STEP])
    first = call("tasks_mindpack", reason="focus_change")
    assert first["updated"] and first["mindpack"]["meta"]["reason"] == "focus_change"
    assert first["mindpack"]["summary"].splitlines()[0] == (
        "mindpack v1 | focus=TASK-001 | where=unknown | plan=PLAN-001 | kpi missing_anchor=0/0"
    )
    again = call("tasks_mindpack", reason="other words")
    assert (again["updated"], again["ref"]) == (False, first["ref"])
    call("tasks_complete", task="TASK-001", status="ACTIVE")
    third = call("tasks_mindpack")
    assert third["updated"] and "horizon.active 0 -> 1" in third["changed"]
    assert third["mindpack"]["meta"]["kpi"] == {"active": 1, "active_missing_anchor": 1}
    assert call("open", id=third["ref"])["entry"]["content"] == third["mindpack"]["summary"]


def test_a_reader_sees_what_it_would_be_and_keeps_nothing(call: Caller) -> None:
    call("tasks_macro_start", task_title="Importer: rows", steps=[STEP])
    kept = call("tasks_mindpack")["ref"]
    call("think_card", card={"type": "decision", "title": "x", "tags": ["a:importer"]}, step="focus")
    for arguments in ({"read_only": True}, {"update": False}):
        shown = call("tasks_mindpack", **arguments)
        assert (shown["ref"], shown["latest_ref"], shown["updated"]) == (None, kept, False)
        assert "where=a:importer" in shown["mindpack"]["summary"]
        assert shown["changed"] == ["where.where -> a:importer", "ref -> CARD-1"]


def test_without_focus_it_says_so(call: Caller) -> None:
    assert call("tasks_mindpack")["mindpack"]["summary"] == "mindpack v1 | focus=none"


def test_it_stays_small_and_its_commands_run(call: Caller) -> None:
    call("tasks_macro_start", task_title="Importer: " + "rows " * 150, steps=[STEP])
    meta = call("tasks_mindpack")["mindpack"]["meta"]
    assert len(call("tasks_mindpack")["mindpack"]["summary"]) <= 1600
    call("tasks_focus_clear")
    for name in ("backup", "next"):
        assert call.answer(meta[name]["tool"], **meta[name]["args"]).ok


def test_a_small_budget_keeps_the_ref(call: Caller) -> None:
    call("tasks_macro_start", task_title="Importer: rows", steps=[STEP])
    assert call("tasks_mindpack", max_chars=20)["budget"]["ref"].startswith("mindpack@")


def test_a_small_budget_keeps_the_first_line_whole(call: Caller) -> None:
    call("tasks_macro_start", task_title="Importer: rows", steps=[STEP])
    whole = call("tasks_mindpack")["mindpack"]["summary"].splitlines()
    for room in (400, 300, 250, 200, 150):
        shown = call("tasks_mindpack", max_chars=room)["mindpack"]["summary"].splitlines()
        assert shown == whole[: len(shown)] and shown, f"a line is whole or not there, at {room}"
