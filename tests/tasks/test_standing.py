"""Every view is a rendering of one standing: what two views both show, they show alike."""

from __future__ import annotations

from typing import Any

import pytest

from clew.reasoning.graph import Node
from clew.tasks.views.material import UNKNOWN, CardPage, EntryPage, Material, spot_of
from clew.tasks.views.news import Since
from tests.conftest import Caller

TASK_VIEWS = ("tasks_radar", "tasks_handoff", "tasks_resume", "tasks_resume_pack", "tasks_context_pack")


@pytest.fixture
def filled(call: Caller, task: str) -> Caller:
    for number in range(6):
        kind = ("decision", "evidence", "question")[number % 3]
        call("think_card", target=task, step="s:0", card={"type": kind, "title": f"Card {number}", "tags": ["a:rows"]})
        call("notes_commit", target=task, content=f"note {number}")
    call("tasks_block", task=task, path="s:1", reason="waits for the review")
    return call


@pytest.mark.parametrize("target", ["TASK-001", "PLAN-001"])
def test_views_agree_on_what_they_share(filled: Caller, target: str) -> None:
    whole = filled("tasks_resume_super", target=target)
    for name in TASK_VIEWS:
        view = filled(name, target=target)
        shared = view.keys() & whole.keys() - {"steps", "timeline", "budget", "requested", "focus_restored"}
        assert {key: view[key] for key in shared} == {key: whole[key] for key in shared}, name
        assert view["radar"] == whole["capsule"]["radar"]


def test_the_snapshot_is_the_resume_with_what_a_portal_adds(filled: Caller) -> None:
    filled("tasks_snapshot", target="TASK-001")
    resume = filled("tasks_resume_super", view="smart")
    portal = filled("tasks_snapshot", refs=True)
    assert portal["capsule"]["where"].pop("pack").startswith("mindpack@")
    assert portal.pop("refs") is True and portal["budget"].pop("refs") is True
    assert {**portal, "budget": None} == {**resume, "budget": None}


def node(id: str, seq: int, tags: tuple[str, ...] = (), status: str = "open") -> Node:
    values: dict[str, Any] = dict.fromkeys(Node.__dataclass_fields__)
    return Node(**{**values, "id": id, "type": "note", "last_seq": seq, "tags": tags, "status": status})


def test_the_anchor_of_the_step_comes_before_the_most_frequent() -> None:
    cards = [node("CARD-1", 1, ("a:rows",)), node("CARD-2", 2, ("a:rows",)), node("CARD-3", 3, ("a:disk", "step:x"))]
    assert spot_of(cards, None).where == "a:rows"
    assert spot_of(cards, "step:x").top_anchors == ("a:disk", "a:rows")
    assert spot_of([], "step:x").where == UNKNOWN


def test_a_narrowed_page_goes_on_above_the_newest_card_it_left_out() -> None:
    cards = [node("CARD-1", 9), node("CARD-2", 8, status="closed"), node("CARD-3", 4, status="closed")]
    material = Material(EntryPage([{"seq": 1}]), EntryPage(), CardPage(cards, None, None, 40), [])
    narrow = material.narrowed({"CARD-3"})
    assert [card.id for card in narrow.cards.nodes] == ["CARD-1", "CARD-3"]
    assert narrow.cards.next_cursor == 9 and narrow.notes.entries == []
    assert material.narrowed({"CARD-2", "CARD-3"}).cards.next_cursor is None


def test_news_count_what_they_leave_out() -> None:
    items = [{"id": f"CARD-{number}"} for number in range(4)]
    shown = Since(3, 9, 3, [], items, [], [])
    assert shown.to_json()["cards"] == {"count": 3, "items": items[:3], "truncated": True, "dropped": 1}
