"""Every cursor of the large views leads through everything, whatever the page and the budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Caller
from tests.tasks.portal import STEP

COUNT = 23


@pytest.fixture
def filled(call: Caller) -> Caller:
    call("tasks_macro_start", task_title="Importer: rows", steps=[STEP])
    for number in range(COUNT):
        kind = ("hypothesis", "decision", "question")[number % 3]
        status = "closed" if number % 4 == 3 else "open"
        step = "focus" if number % 5 == 0 else None
        card = {"id": f"card-{number}", "type": kind, "title": "t" * 40, "status": status, "text": "x" * 60}
        call("think_card", card=card, target="TASK-001", step=step)
        call("notes_commit", content=f"note-{number} " + "y" * 50, target="TASK-001")
        if number % 6 == 0:
            call("tasks_note", task="TASK-001", path="s:0", note=f"step-note-{number}")
    return call


def pages(call: Caller, section: str, view: str, limit: int | None, **arguments: Any) -> Iterator[dict[str, Any]]:
    cursor = None
    for _ in range(200):
        named = {f"{section}_limit": limit, f"{section}_cursor": cursor}
        result = call("tasks_resume_super", view=view, **named, **arguments)
        yield result
        page = pagination(result, section)
        if not page["has_more"]:
            return
        assert cursor is None or page["next_cursor"] < cursor, "a cursor always moves on"
        cursor = page["next_cursor"]
    raise AssertionError("the pages never end")


def pagination(result: dict[str, Any], section: str) -> dict[str, Any]:
    if section == "graph_diff":
        return dict(result["graph_diff"]["pagination"])
    memory = result["memory"]
    return dict(memory["cards_pagination"] if section == "cards" else memory[section]["pagination"])


@pytest.mark.parametrize("view", ["full", "smart", "explore", "audit"])
@pytest.mark.parametrize("limit", [1, 4, None])
def test_notes_are_all_seen(filled: Caller, view: str, limit: int | None) -> None:
    seen = set()
    for result in pages(filled, "notes", view, limit):
        seen |= {entry["content"].split()[0] for entry in result["memory"]["notes"]["entries"]}
    expected = {f"note-{number}" for number in range(COUNT)}
    assert seen == expected | {f"step-note-{number}" for number in range(0, COUNT, 6)}


@pytest.mark.parametrize("view", ["full", "smart", "audit"])
def test_the_trace_is_all_seen(filled: Caller, view: str) -> None:
    whole = {entry["seq"] for entry in filled("show", target="TASK-001", limit=200)["entries"]}
    seen = set()
    for result in pages(filled, "trace", view, 7):
        seen |= {entry["seq"] for entry in result["memory"]["trace"]["entries"]}
    assert seen == whole


@pytest.mark.parametrize("view", ["full", "smart", "explore", "focus_only"])
@pytest.mark.parametrize("limit", [3, None])
def test_cards_are_all_seen(filled: Caller, view: str, limit: int | None) -> None:
    seen = set()
    for result in pages(filled, "cards", view, limit):
        seen |= {card["id"] for card in result["memory"]["cards"]}
    closed = {f"card-{number}" for number in range(COUNT) if number % 4 == 3}
    everything = {f"card-{number}" for number in range(COUNT)}
    assert seen >= (everything if view in ("full", "explore") else everything - closed)


@pytest.mark.parametrize("section", ["notes", "cards"])
@pytest.mark.parametrize("view", ["full", "smart"])
def test_a_budget_on_top_loses_nothing(filled: Caller, section: str, view: str) -> None:
    seen: set[str] = set()
    only = {f"{name}_limit": 0 for name in ("notes", "trace", "cards", "events") if name != section}
    for result in pages(filled, section, view, 10, max_chars=6500, **only):
        memory = result["memory"]
        items = memory["cards"] if section == "cards" else memory["notes"]["entries"]
        seen |= {item["id"] if section == "cards" else item["content"].split()[0] for item in items}
    names = (
        {f"card-{n}" for n in range(COUNT) if n % 4 != 3} if section == "cards" else {f"note-{n}" for n in range(COUNT)}
    )
    assert names <= seen


def test_the_graph_s_changes_are_all_seen(filled: Caller) -> None:
    seen = []
    for result in pages(filled, "graph_diff", "full", 9, graph_diff=True):
        seen += [change["seq"] for change in result["graph_diff"]["changes"]]
    assert seen == sorted(set(seen), reverse=True)
    assert len(seen) >= COUNT + 2  # the cards, the task and its step, and the edges between


def test_the_command_to_page_on_is_offered_in_the_lines(filled: Caller) -> None:
    line = filled.lines("tasks_snapshot")[0]
    assert "backup " in line
    assert filled("tasks_snapshot")["degradation"]["signals"] == ["notes_have_more", "trace_have_more"]
