"""Budgets of the views: never exceeded, never less for more, the same bytes for the same state."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.registry.budget import Budget, size
from clew.registry.budget_fit import fit
from clew.registry.lookup import find_operation
from tests.conftest import Caller
from tests.tasks.portal import STEP

VIEWS: dict[str, dict[str, Any]] = {
    "tasks_radar": {},
    "tasks_handoff": {},
    "tasks_resume": {},
    "tasks_resume_pack": {},
    "tasks_context_pack": {},
    "tasks_mindpack": {},
    "tasks_snapshot": {"delta": True, "read_only": True},
    "tasks_resume_super": {"graph_diff": True},
    "tasks_resume_super focus_only": {"view": "focus_only"},
    "tasks_resume_super smart": {"view": "smart"},
    "tasks_resume_super explore": {"view": "explore"},
    "tasks_resume_super audit": {"view": "audit"},
}
CHANGING = {"pagination", "cards_pagination", "degradation", "truncated"}
"""What speaks of the budget itself."""


def fill(call: Caller) -> None:
    """A task with a bit of everything."""
    steps = [{**STEP, "title": f"Step {number}", "blockers": [f"waits for {number}"]} for number in range(4)]
    call("tasks_macro_start", task_title="Storage: fix migrations", description="They fail. " * 30, steps=steps)
    call("tasks_snapshot", delta=True)
    for number in range(12):
        kind = ("hypothesis", "test", "decision", "evidence")[number % 4]
        card = {"type": kind, "title": f"Card {number}", "text": "because " * 20, "tags": ["a:storage"]}
        call("think_card", card=card, step="focus", supports=[f"CARD-{number}"] if number else [])
        call("notes_commit", content=f"note {number} " + "words " * 20, target="TASK-001")
    call("tasks_macro_close_step", proof=["make test", "https://ci.example/1"], note="one down")
    call("think_card", card={"type": "note", "title": "Draft"}, step="focus")


def full(call: Caller, name: str) -> tuple[dict[str, Any], Budget]:
    operation = name.split()[0]
    result = dict(call(operation, **VIEWS[name], max_chars=1_000_000))
    del result["budget"]
    budget = find_operation(operation).budget
    assert budget is not None
    return result, budget


def covers(large: Any, small: Any) -> bool:
    """Whether everything that the smaller answer shows is in the larger one too."""
    if isinstance(small, dict) and isinstance(large, dict):
        return all(name in CHANGING or (name in large and covers(large[name], small[name])) for name in small)
    if isinstance(small, list) and isinstance(large, list):
        ends = [large[: len(small)], large[len(large) - len(small) :]]
        return len(small) <= len(large) and any(all(map(covers, end, small)) for end in ends)
    if isinstance(small, str) and isinstance(large, str) and small.endswith("..."):
        return len(large) >= len(small) and large.startswith(small[:-3])
    if isinstance(small, str) and isinstance(large, str) and "\n" in large:
        return small == large or large.startswith(f"{small}\n")
    return bool(small == large)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_every_view_keeps_its_budget_and_shows_more_for_more(call: Caller) -> None:
    fill(call)
    whole = {name: full(call, name) for name in VIEWS}

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(name=st.sampled_from(sorted(VIEWS)), share=st.floats(0, 1.1), more=st.integers(0, 400))
    def check(name: str, share: float, more: int) -> None:
        result, budget = whole[name]
        limit = int(size(result) * share)
        small, large = fit(result, budget, limit), fit(result, budget, limit + more)
        assert small.used_chars == size(small.result) <= small.max_chars
        assert small == fit(result, budget, limit)
        if not small.minimal:
            assert covers(large.result, small.result)
        assert large.truncated <= small.truncated and large.minimal <= small.minimal

    check()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_through_the_door_too_a_budget_holds_and_the_bytes_are_stable(call: Caller) -> None:
    fill(call)
    for name, arguments in VIEWS.items():
        for limit in (0, 50, 300, 900, 1500, 4000, 9000):
            first = call.answer(name.split()[0], **arguments, max_chars=limit)
            budget = first.envelope["result"]["budget"]
            assert budget["used_chars"] <= budget["max_chars"]
            assert call.answer(name.split()[0], **arguments, max_chars=limit).envelope == first.envelope


def test_a_snapshot_fits_1500_characters_with_ref_next_and_blockers(call: Caller) -> None:
    fill(call)
    for toolset in ("core", "daily", "full"):
        call.session.toolset = toolset
        result = call("tasks_snapshot", max_chars=1500)
        assert result["budget"]["used_chars"] <= 1500
        assert result["ref"].startswith("CARD-")
        assert result["capsule"]["action"]["tool"] == "tasks_macro_close_step"
        assert result["capsule"]["radar"]["next"] and result["capsule"]["radar"]["blockers"]


def test_a_tight_budget_leaves_the_capsule_alone(call: Caller) -> None:
    fill(call)
    result = call("tasks_resume_super", max_chars=1400)
    assert set(result) == {"workspace", "ref", "capsule", "degradation", "truncated", "budget"} - (
        set() if "degradation" in result else {"degradation"}
    )
    assert result["capsule"]["type"] == "handoff_capsule"


def test_nine_hundred_characters_keep_a_card_to_open(call: Caller) -> None:
    fill(call)
    refs = call("tasks_resume_super", max_chars=900)["capsule"]["refs"]
    assert refs[0].startswith("CARD-")
    assert call.answer("open", id=refs[0]).ok


def test_two_thousand_characters_keep_an_action_and_few_of_the_engine_s(call: Caller) -> None:
    fill(call)
    result = call("tasks_resume_super", max_chars=2000, view="smart")
    assert result["capsule"]["action"]["tool"]
    assert len(result.get("engine", {}).get("actions", [])) <= 2


def test_what_was_given_up_is_named(call: Caller) -> None:
    fill(call)
    report = call("tasks_resume_super", max_chars=6000)["degradation"]
    assert "memory.trace" in report["truncated_fields"]
    assert call("tasks_resume_super")["degradation"]["truncated_fields"] == []
