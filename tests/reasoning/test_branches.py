"""Branches: made, renamed, deleted, checked out; nothing is lost and nothing hangs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.index.item_reads import matching
from tests.conftest import Caller
from tests.reasoning.history import Play
from tests.suggestions import run_suggestions


def test_a_branch_starts_where_its_base_stands(call: Caller) -> None:
    call("notes_commit", content="a")
    branch = call("branch_create", name="x")["branch"]
    assert branch == {"name": "x", "base_branch": "main", "base_seq": 1}
    listed = {item["name"]: item["base_branch"] for item in call("branch_list")["branches"]}
    assert listed == {"main": None, "x": "main"}


def test_a_renamed_branch_keeps_all_that_is_on_it(call: Caller) -> None:
    call("branch_create", name="x")
    call("checkout", ref="x")
    call("notes_commit", content="n", branch="x")
    call("graph_apply", branch="x", ops=[{"op": "node_upsert", "id": "A", "type": "note"}])
    call("tag_create", name="t")
    call("branch_create", name="child", from_="x")
    assert call("branch_rename", old="x", new="y") == {"workspace": "ws", "previous": "x", "current": "y"}
    assert call("status")["checkout"] == "y"
    assert [entry["content"] for entry in call("show", branch="child", doc_kind="notes")["entries"]] == ["n"]
    assert call("graph_query", branch="y")["nodes"][0]["id"] == "A"
    assert call("tag_list")["tags"][0]["branch"] == "y"
    assert call.error("show", branch="x")["code"] == "UNKNOWN_ID"


def test_a_branch_in_use_cannot_be_deleted(call: Caller) -> None:
    call("branch_create", name="x")
    call("branch_create", name="child", from_="x")
    for name in ("main", "x"):
        answer = call.answer("branch_delete", name=name)
        assert answer.envelope["error"]["code"] == "INVALID_INPUT"
        run_suggestions(call.clew, answer, call.session)
    call("branch_delete", name="child")
    assert call("branch_delete", name="x")["deleted"]
    assert call.error("checkout", ref="x")["code"] == "UNKNOWN_ID"


def test_deleting_a_branch_leaves_cards_findable_where_they_still_are(call: Caller) -> None:
    op = {"op": "node_upsert", "id": "CARD-1", "type": "note", "text": "alpha"}
    call("graph_apply", ops=[op])
    call("branch_create", name="x")
    call("graph_apply", branch="x", ops=[{**op, "text": "beta"}, {**op, "id": "CARD-2"}])
    call("tag_list")
    call("branch_delete", name="x")
    with call.clew.database.read() as tx:
        assert [row["ref"] for row in matching(tx, "ws", ["alpha"], 9)] == ["CARD-1"]
        assert matching(tx, "ws", ["beta"], 9) == []
    assert call("open", id="CARD-1")["card"]["text"] == "alpha"
    assert call.error("open", id="CARD-2")["code"] == "UNKNOWN_ID"


def test_a_name_can_be_used_again_without_bringing_the_old_branch_back(call: Caller) -> None:
    call("branch_create", name="x")
    call("notes_commit", content="old", branch="x")
    call("branch_delete", name="x")
    call("branch_create", name="x")
    assert call("show", branch="x", doc_kind="notes")["entries"] == []


@pytest.mark.parametrize("name", ["", "  ", "a\x07b", "a\nb", "../up", "a/../b", "x" * 300, "y" * 5000])
def test_bad_names_are_refused(call: Caller, name: str) -> None:
    for operation, field in (("branch_create", "name"), ("checkout", "ref"), ("branch_delete", "name")):
        assert call.error(operation, **{field: name})["code"] == "INVALID_INPUT"
    assert call.error("notes_commit", content="c", doc=name)["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("name", ["a b", "feature/x|y", "ünïcode", "x" * 256])
def test_odd_names_are_fine(call: Caller, name: str) -> None:
    call("branch_create", name=name)
    call("notes_commit", content="c", branch=name)
    assert call("show", branch=name, doc_kind="notes")["pagination"]["count"] == 1


def test_bases_are_deep_but_not_endless(call: Caller) -> None:
    call("notes_commit", content="bottom")
    call("graph_apply", ops=[{"op": "node_upsert", "id": "A", "type": "note"}])
    base, depth = "main", 0
    while True:
        answer = call.answer("branch_create", name=f"d{depth}", from_=base)
        if not answer.ok:
            break
        base, depth = f"d{depth}", depth + 1
    assert depth == 31
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    run_suggestions(call.clew, answer, call.session)
    assert call("show", branch=base, doc_kind="notes")["entries"][0]["content"] == "bottom"
    assert call("graph_query", branch=base)["nodes"][0]["id"] == "A"


def test_a_cycle_of_bases_ends_in_an_error(call: Caller) -> None:
    """No operation can make one; a damaged store might."""
    call("branch_create", name="x")
    with call.clew.database.write() as tx:
        tx.run("UPDATE branch SET base_id = 2, base_seq = 9 WHERE workspace = 'ws' AND id = 1")
    for name in ("show", "graph_query", "log", "docs_list"):
        assert call.error(name)["code"] == "INVALID_INPUT"


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    steps=st.lists(st.tuples(st.sampled_from("nnbm"), st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=18)
)
def test_merging_notes_back_and_forth_brings_each_one_once(call: Caller, steps: list[tuple[Any, ...]]) -> None:
    play = Play(call, [("branch", 0), ("branch", 1)])
    for number, (what, one, other) in enumerate(steps):
        count = len(play.model.bases)
        one, other = one % count, other % count
        if what == "n":
            play.note(one, "t", f"note {number}")
        elif what == "b" and count < 5:
            play.branch(one)
        elif one != other:
            planned = play.run("merge", from_=play.name(one), into=play.name(other), dry_run=True)
            merged = play.run("merge", from_=play.name(one), into=play.name(other))
            assert planned == merged
            assert set(_notes(play, one)) <= set(_notes(play, other))
            assert play.run("merge", from_=play.name(one), into=play.name(other))["merged"] == 0
    for branch in range(len(play.model.bases)):
        notes = _notes(play, branch)
        assert len(notes) == len(set(notes))


def _notes(play: Play, branch: int) -> list[str]:
    entries = play.run("show", branch=play.name(branch), doc_kind="notes", limit=200)["entries"]
    return [entry["content"] for entry in entries]


def test_a_session_keeps_its_branch_until_it_is_deleted_itself(call: Caller) -> None:
    session = call("thought", thought="S1|H|The lock is held too long", nextThoughtNeeded=True)["sessionId"]
    error = call.error("branch_delete", name=f"session/{session}")
    assert f"belongs to session {session}" in error["message"]
    call("branch_rename", old=f"session/{session}", new="thinking")
    assert call("session_search", query="lock")["count"] == 1
    assert call("session_delete", sessionId=session)["deleted"]
    assert "thinking" not in [branch["name"] for branch in call("branch_list")["branches"]]
    assert call("session_search", query="lock")["count"] == 0


def test_a_branch_of_that_name_does_not_keep_a_task_from_being_made(call: Caller) -> None:
    call("branch_create", name="plan/PLAN-001")
    plan = call("tasks_create", kind="plan", title="Storage")["id"]
    call("notes_commit", target=plan, content="In the plan's own notes.")
    assert call("show", target=plan, doc_kind="notes")["branch"] == "plan/PLAN-001-own"
    assert call("show", branch="plan/PLAN-001", doc_kind="notes")["entries"] == []
