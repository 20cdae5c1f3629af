"""A list that a budget cut says so: its count is what is shown, and paging on misses nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller

HOW_MANY = 6


def fill(call: Caller) -> None:
    for number in range(HOW_MANY):
        call("start_new", sessionTitle=f"Session {number} about latency")
        call("notebook_create", name=f"Notebook {number}")
        call("knowledge_create_pattern", title=f"Pattern {number}", description="Measure.", content="Measure first.")
        call("knowledge_write_scratchpad", title=f"Scratch {number}", content="Half a thought.")
        call("notebook_add_cell", notebookId="NB-001", type="markdown", content=f"Cell {number}")


CUT = [
    ("session_list", "sessions", {}),
    ("session_search", "sessions", {"query": "latency"}),
    ("notebook_list", "notebooks", {}),
    ("notebook_list_cells", "cells", {"notebookId": "NB-001"}),
    ("knowledge_list_patterns", "patterns", {}),
    ("knowledge_list_scratchpad", "notes", {}),
    ("mental_models_list_models", "models", {}),
    ("events_list", "events", {}),
    ("op_search", "operations", {"query": "session"}),
]


def test_a_cut_list_counts_what_it_shows(call: Caller) -> None:
    fill(call)
    for name, field, arguments in CUT:
        whole = call(name, **arguments)
        # A sixth more than two items take, so that some are shown and some are not.
        room = whole["budget"]["used_chars"] - len(str(whole[field])) * 2 // 3
        cut = call(name, **arguments, max_chars=room)
        assert 0 < len(cut[field]) < len(whole[field]), name
        assert cut["count"] == len(cut[field]), name
        assert cut.get("hasMore", True), name


@pytest.mark.parametrize("name", ["session_list", "knowledge_list_patterns", "knowledge_list_scratchpad"])
def test_paging_by_what_was_shown_misses_nothing(call: Caller, name: str) -> None:
    fill(call)
    field = next(listed for operation, listed, _ in CUT if operation == name)
    seen: list[str] = []
    while True:
        page = call(name, offset=len(seen), max_chars=900)
        seen += [item["id"] for item in page[field]]
        if not page["hasMore"]:
            break
    assert seen == [item["id"] for item in call(name)[field]]
    assert len(seen) == HOW_MANY


def test_more_sessions_than_asked_for_are_told(call: Caller) -> None:
    fill(call)
    assert call("session_search", query="latency", limit=2)["hasMore"]
    assert not call("session_search", query="latency", limit=HOW_MANY)["hasMore"]


@pytest.mark.parametrize(("name", "cursor"), [("tasks_delta", "since"), ("events_list", "before")])
def test_an_answer_without_room_for_an_event_does_not_go_past_it(call: Caller, name: str, cursor: str) -> None:
    call("tasks_create", kind="plan", title="A plan")
    first: dict[str, Any] = call(name)
    for room in range(60, first["budget"]["used_chars"], 15):
        page = call(name, max_chars=room).get("pagination")
        if page is None:
            continue  # nothing is left that could mislead
        assert page["has_more"] is (page["count"] < len(first["events"]))
        if not page["has_more"]:
            continue
        after = {} if page["next_cursor"] is None else {cursor: page["next_cursor"]}
        rest = call(name, **after)["events"]
        assert page["count"] + len(rest) == len(first["events"]), room


def test_blocks_go_on_where_the_budget_cut_them(call: Caller) -> None:
    for number in range(HOW_MANY):
        call("propose_update", block_type="decision", statement=f"Way number {number}.", rationale="Measured.")
    whole = [block["block_id"] for block in call("list_blocks", kind="any")["blocks"]]
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = call("list_blocks", kind="any", offset=offset, max_chars=1200)
        seen += [block["block_id"] for block in page["blocks"]]
        assert page["next_offset"] is None or page["next_offset"] == len(seen)
        offset = page["next_offset"]
    assert len(whole) >= HOW_MANY
    assert seen == whole
