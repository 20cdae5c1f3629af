"""Resolutions that a scan proposes by itself: one side, once, within the budget, and what holds it back."""

from __future__ import annotations

import pytest

from tests.conftest import TickingClock
from tests.memory.conftest import Memory

DAY = 86_400_000


def disagree(memory: Memory, clock: TickingClock, count: int) -> list[str]:
    """Pairs of decisions that contradict each other, the second of each a day younger; the older ones."""
    old = [memory.decide(f"Use Redis for component{number} queues")[0] for number in range(count)]
    clock.now_ms += DAY
    for number in range(count):
        memory.decide(f"Never use Redis for component{number} queues")
    return old


def test_the_older_side_is_proposed_to_yield_once(memory: Memory, clock: TickingClock) -> None:
    older, *_ = disagree(memory, clock, 1)
    (made,) = memory("scan")["checks"]["proposed_resolutions"]
    shown = memory("list_proposals", status="staged")["proposals"][0]
    assert (shown["proposal_id"], shown["target"]) == (made, older)
    files = memory.files()
    assert memory("scan")["checks"]["proposed_resolutions"] == []
    assert memory.files() == files, "a second scan adds nothing"
    applied = memory("approve_apply", proposal_id=made, dry_run=False)
    assert memory("list_contradictions")["status"] == "clean"
    memory("rollback_proposal", receipt_ts=applied["receipt_ts"])
    assert memory("list_contradictions")["contradictions"] == 1
    assert memory("scan")["checks"]["proposed_resolutions"] == [], "what was taken back is not proposed again"


def test_a_decision_that_loses_twice_is_proposed_to_yield_once(memory: Memory, clock: TickingClock) -> None:
    said = "The default branch is called"
    decided = []
    for name in ("main", "trunk", "develop"):
        decided.append(memory.decide(f"{said} {name}")[0])
        clock.now_ms += DAY
    memory("scan")
    assert memory("scan")["checks"]["proposed_resolutions"] == []
    waiting = memory("list_proposals", status="staged")["proposals"]
    assert sorted(item["target"] for item in waiting) == decided[:2]
    newer = next(item["proposal_id"] for item in waiting if item["target"] == decided[1])
    memory("approve_apply", proposal_id=newer, dry_run=False)
    (again,) = memory("scan")["checks"]["proposed_resolutions"]
    (left,) = memory("list_proposals", status="staged")["proposals"]
    assert (left["proposal_id"], left["target"]) == (again, decided[0]), "to the one that is left"


def test_contradictions_are_listed_without_writing_anything(memory: Memory, clock: TickingClock) -> None:
    disagree(memory, clock, 1)
    before = memory("events_list")["events"]
    assert memory("op_read", name="list_contradictions")["contradictions"] == 1
    assert memory("op_read", name="list_contradictions", arguments={"workspace": "elsewhere"})["status"] == "clean"
    assert memory("events_list")["events"] == before


def test_a_rejected_resolution_stays_rejected(memory: Memory, clock: TickingClock) -> None:
    disagree(memory, clock, 1)
    (made,) = memory("scan")["checks"]["proposed_resolutions"]
    memory("reject_proposal", proposal_id=made, reason="Both hold")
    assert memory("scan")["checks"]["proposed_resolutions"] == []


@pytest.mark.parametrize(
    ("limits", "made", "rule"),
    [
        ({"per_run": 2}, 2, "per_run"),
        ({"per_run": 9, "per_day": 1}, 1, "per_day"),
        ({"backlog_limit": 0}, 0, "backlog_limit"),
    ],
)
def test_the_budget_holds_the_rest_back_and_says_which_rule(
    memory: Memory, clock: TickingClock, limits: dict[str, int], made: int, rule: str
) -> None:
    disagree(memory, clock, 3)
    memory("governance", **limits)
    for _ in range(2):
        found = memory("scan")
        held = [item for item in found["findings"] if item["check"] == "budget"]
        assert (held[0]["rule"], bool(held[0]["ends"])) == (rule, True)
    waiting = memory("list_proposals", status="staged")["proposals"]
    assert len(waiting) == made


def test_the_next_ones_come_when_the_first_are_reviewed(memory: Memory, clock: TickingClock) -> None:
    disagree(memory, clock, 2)
    memory("governance", per_run=1)
    (first,) = memory("scan")["checks"]["proposed_resolutions"]
    memory("approve_apply", proposal_id=first, dry_run=False)
    (second,) = memory("scan")["checks"]["proposed_resolutions"]
    assert second != first


def test_detect_only_proposes_nothing(memory: Memory, clock: TickingClock) -> None:
    disagree(memory, clock, 1)
    memory("governance", mode="detect_only")
    assert memory("scan")["checks"]["proposed_resolutions"] == []


def test_long_lists_are_cut_and_counted(memory: Memory, clock: TickingClock) -> None:
    disagree(memory, clock, 3)
    listed = memory("list_contradictions", limit=1)
    assert (listed["contradictions"], len(listed["resolutions"]), listed["left_out"]) == (3, 1, 2)
