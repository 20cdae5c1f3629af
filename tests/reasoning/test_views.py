"""Views: pins first, then what is open, then recent cards; drafts only for those who ask."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.reasoning.thinking import VIEWS, a_task, ids, think


def test_smart_hides_closed_fill_and_explore_shows_it(call: Caller) -> None:
    think(call, "OLD", "evidence", status="closed")
    think(call, "NEW", "evidence")
    assert ids(call("think_context", view="smart")["cards"]) == ["NEW"]
    assert ids(call("think_context", view="explore")["cards"]) == ["NEW", "OLD"]
    assert ids(call("think_context")["cards"]) == ["NEW", "OLD"]
    assert ids(call("think_context", context_budget=9000)["cards"]) == ["NEW"]


def test_pins_come_first_then_the_frontier_then_recent_cards(call: Caller) -> None:
    think(call, "PIN", "note", tags=["pinned"])
    think(call, "H")
    think(call, "Q", "question")
    think(call, "T", "test")
    think(call, "E", "evidence")
    assert ids(call("think_context", view="smart")["cards"]) == ["PIN", "H", "Q", "T", "E"]
    short = call("think_context", view="smart", limit_cards=2)
    assert (ids(short["cards"]), short["has_more"]) == (["PIN", "H"], True)
    assert call("think_context", view="smart", limit_cards=5)["has_more"] is False


@pytest.mark.parametrize("draft", [["v:draft"], ["lane:agent:ann"]])
def test_drafts_are_hidden_everywhere_unless_asked_for(call: Caller, draft: list[str]) -> None:
    think(call, "H", tags=draft)
    for asked in ({}, {"view": "smart"}, {"view": "explore"}):
        assert call("think_context", **asked)["cards"] == []
        assert call("think_next", **asked)["candidate"] is None
        assert call("think_frontier", **asked)["frontier"]["hypotheses"] == []
        assert call("think_pack", **asked)["candidates"] == []
        assert call("think_watch", **asked)["candidates"] == []
        assert call("context_pack", **asked)["cards"] == []
    assert call("think_query")["cards"] == []
    shown: list[dict[str, Any]] = [{"all_lanes": True}, {"include_drafts": True}, {"view": "audit"}]
    for asked in shown:
        assert ids(call("think_context", **asked)["cards"]) == ["H"]
        assert call("think_next", **asked)["candidate"]["id"] == "H"
        assert ids(call("think_frontier", **asked)["frontier"]["hypotheses"]) == ["H"]
        assert ids(call("think_pack", **asked)["candidates"]) == ["H"]
        assert ids(call("think_watch", **asked)["candidates"]) == ["H"]
        assert ids(call("context_pack", **asked)["cards"]) == ["H"]
    assert ids(call("think_query", all_lanes=True)["cards"]) == ["H"]


def test_an_agent_id_never_filters(call: Caller) -> None:
    call("think_card", card={"id": "H", "type": "hypothesis", "title": "T"}, agent_id="ann")
    assert ids(call("think_context", agent_id="bob")["cards"]) == ["H"]


def test_a_pinned_draft_is_shown(call: Caller) -> None:
    think(call, "N", "note")
    assert call("think_context")["cards"] == []
    call("think_pin", targets="N")
    assert ids(call("think_context")["cards"]) == ["N"]


def test_next_is_the_open_card_that_was_touched_last(call: Caller) -> None:
    think(call, "H")
    think(call, "Q", "question")
    think(call, "E", "evidence")
    assert call("think_next")["candidate"]["id"] == "Q"
    call("think_pin", targets="H")
    assert call("think_next")["candidate"]["id"] == "H"


def test_frontier_limits_are_kept_and_reported(call: Caller) -> None:
    for number in range(7):
        think(call, f"H{number}")
    found = call("think_frontier", limit_tests=0)
    assert ids(found["frontier"]["hypotheses"]) == ["H6", "H5", "H4", "H3", "H2"]
    assert found["truncated"] is True
    assert call("think_frontier", limit_hypotheses=7)["truncated"] is False


def test_query_filters_and_pages(call: Caller) -> None:
    for number in range(5):
        think(call, f"T{number}", "test", tags=["odd"] if number % 2 else ["even"], text=f"Run number {number}")
    assert ids(call("think_query", tags_any=["odd"])["cards"]) == ["T3", "T1"]
    assert ids(call("think_query", tags_all="even", text="NUMBER 2")["cards"]) == ["T2"]
    assert ids(call("think_query", types=["test"], status="open", limit=2)["cards"]) == ["T4", "T3"]
    page = call("think_query", limit=2)["pagination"]
    assert ids(call("think_query", limit=2, cursor=page["next_cursor"])["cards"]) == ["T2", "T1"]
    assert call.error("think_query", types="idea")["code"] == "INVALID_INPUT"


def test_a_step_narrows_cards_notes_and_trace(call: Caller) -> None:
    task = a_task(call, "First", "Second")
    think(call, "MINE", step="s:0")
    think(call, "DRAFT", "note", step="s:0")
    think(call, "THEIRS", step="s:1")
    call("think_pipeline", decision="Do it", step="s:0", note_decision=True)
    call("notes_commit", content="about nothing in particular", target=task)
    pack = call("context_pack", step="s:0", view="explore")
    shown = set(ids(pack["cards"]))
    assert {"MINE", "DRAFT"} <= shown and "THEIRS" not in shown
    assert [note["title"] for note in pack["notes"]["entries"]] == ["Decision"]
    cards = [entry["meta"]["card_id"] for entry in pack["trace"]["entries"] if entry["kind"] == "note"]
    assert "MINE" in cards and "THEIRS" not in cards
    assert pack["capsule"]["where"]["step"]["path"] == "s:0"
    watch = call("think_watch", step="s:0")
    assert "THEIRS" not in ids(watch["candidates"])
    assert watch["engine"]["mode"] == "step_aware"


def test_a_view_on_a_branch_is_its_own(call: Caller) -> None:
    think(call, "BASE")
    call("branch_create", name="b")
    think(call, "LATER")
    think(call, "HERE", branch="b")
    assert ids(call("think_context", ref="b")["cards"]) == ["HERE", "BASE"]
    assert ids(call("think_context", branch="main")["cards"]) == ["LATER", "BASE"]


def test_every_view_can_be_asked_for_as_it_was(call: Caller) -> None:
    task = a_task(call, "First")
    call("tasks_focus_clear")
    acts: list[tuple[str, dict[str, Any]]] = [
        ("think_card", {"card": {"id": "H", "type": "hypothesis", "title": "H"}}),
        ("think_card", {"card": {"id": "T", "type": "test", "title": "T", "text": "CMD: make"}, "supports": ["H"]}),
        ("notes_commit", {"content": "remember"}),
        ("think_pin", {"targets": "T"}),
        ("think_card", {"card": {"id": "E", "type": "evidence", "title": "E"}, "supports": ["T"]}),
        ("think_set_status", {"targets": "E", "status": "retracted"}),
        ("think_card", {"card": {"id": "D", "type": "decision", "title": "D", "tags": ["v:draft"]}}),
        ("think_card", {"card": {"id": "X", "type": "decision", "title": "X"}, "target": task}),
        ("think_publish", {"card_id": "D"}),
        ("think_pin", {"targets": "T", "pinned": False}),
    ]
    seen = []
    for name, arguments in acts:
        call(name, **arguments)
        at = call("think_context")["as_of"]
        seen.append((at, [call(read, include_drafts=True) for read in VIEWS]))
    for at, before in seen:
        assert [call(read, include_drafts=True, as_of=at) for read in VIEWS] == before
