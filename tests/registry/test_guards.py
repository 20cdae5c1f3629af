"""Workspaces are kept apart: lock, allow list, project guard, override of one connection."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from clew.app import Clew
from clew.registry.connection import Connection
from clew.settings import derived_workspace
from tests.conftest import Caller

Make = Callable[..., Clew]


def test_workspaces_never_see_each_other(call: Caller) -> None:
    call("notes_commit", content="mine", workspace="a")
    call("notes_commit", content="yours", workspace="b/c")
    assert [e["content"] for e in call("show", doc_kind="notes", workspace="a")["entries"]] == ["mine"]
    assert call("show", doc_kind="notes")["entries"] == []


def test_a_locked_server_refuses_other_workspaces_even_for_reads(make_clew: Make) -> None:
    call = Caller(make_clew(workspace_lock=True))
    assert call.error("show", workspace="other")["code"] == "WORKSPACE_LOCKED"
    assert call("show", workspace="ws")["entries"] == []


def test_an_allow_list_is_kept(make_clew: Make) -> None:
    call = Caller(make_clew(workspace_allowlist="ws, a"))
    assert call("show", workspace="a")["entries"] == []
    assert call.error("show", workspace="b")["code"] == "WORKSPACE_NOT_ALLOWED"


def test_an_allow_list_fences_the_workspace_that_calls_leave_out(make_clew: Make) -> None:
    """The name of the directory is no way around the list: the first of the list is the default."""
    clew = make_clew(workspace=None, workspace_allowlist="aa, bb")
    call = Caller(clew)
    assert call.answer("status", fmt="json").envelope["result"]["workspace"] == "aa"
    own = derived_workspace(clew.settings.project_root)
    refused = call.error("tasks_create", kind="plan", title="X", workspace=own)
    assert refused["code"] == "WORKSPACE_NOT_ALLOWED" and refused["recovery"] == "Use one of aa, bb."
    call("tasks_create", kind="plan", title="X")
    assert call("workspace_list")["workspaces"]
    listed = Caller(make_clew(workspace=None, workspace_allowlist=f"aa, {own}"))
    assert listed.answer("status", fmt="json").envelope["result"]["workspace"] == own


def test_another_projects_guard_is_refused(make_clew: Make) -> None:
    Caller(make_clew(project_guard="repo:one"))("notes_commit", content="x")
    assert Caller(make_clew(project_guard="repo:two")).error("show")["code"] == "PROJECT_GUARD_MISMATCH"
    assert Caller(make_clew(project_guard="repo:one"))("show", doc_kind="notes")["entries"]


def test_the_refusal_of_another_projects_workspace_begins_with_a_call_that_works(make_clew: Make) -> None:
    Caller(make_clew(project_guard="repo:one"))("notes_commit", content="x")
    two = make_clew(project_guard="repo:two")
    refused = Caller(two).answer("notes_commit", content="y")
    first = refused.envelope["suggestions"][0]
    assert first["params"] == {"content": "y", "workspace": "ws-repo-two"}
    assert Caller(two)(first["target"], **first["params"])["entry"]["content"] == "y"
    # Who named the wrong workspace is led back to the server's own.
    mine = Caller(make_clew(project_guard="repo:two", workspace="mine"))
    first = mine.answer("show", workspace="ws", doc_kind="notes").envelope["suggestions"][0]
    assert (first["target"], first["params"]) == ("show", {"doc_kind": "notes", "workspace": "mine"})
    assert mine("show", **first["params"])["entries"] == []


def test_a_locked_server_of_another_project_has_no_call_to_offer(make_clew: Make) -> None:
    Caller(make_clew(project_guard="repo:one"))("notes_commit", content="x")
    locked = Caller(make_clew(project_guard="repo:two", workspace_lock=True)).answer("show")
    assert not locked.ok and locked.envelope["suggestions"] == []
    assert "set project_guard to repo:one" in locked.text


def test_a_workspace_is_marked_on_its_first_use_also_without_a_setting(make_clew: Make) -> None:
    call = Caller(make_clew())
    call("notes_commit", content="x")
    policy = call("status")["workspace_policy"]
    assert policy["project_guard_stored"] and not policy["project_guard_configured"]
    refused = Caller(make_clew(project_guard="repo:two")).error("show")
    assert refused["code"] == "PROJECT_GUARD_MISMATCH"
    mark = refused["recovery"].split("project_guard to ")[1].split(" ")[0]
    assert Caller(make_clew(project_guard=mark))("show", doc_kind="notes")["entries"]


def test_workspace_use_lasts_for_the_connection_only(clew: Clew) -> None:
    first, second = Caller(clew), Caller(clew)
    first("workspace_use", workspace="other")
    first("notes_commit", content="there")
    assert len(first("show", doc_kind="notes")["entries"]) == 1
    assert second("show", doc_kind="notes")["entries"] == []
    assert first("workspace_use", workspace="ws")["override_cleared"] is True
    assert first("workspace_reset")["workspace"] == "ws"


def test_a_connection_without_memory_cannot_choose_a_workspace(clew: Clew) -> None:
    answer = clew.dispatcher.call("workspace_use", {"workspace": "other"}, Connection(durable=False))
    assert answer.envelope["error"]["code"] == "NOT_ALLOWED"


@pytest.mark.parametrize("name", ["branchmind_show", "branchmind/show", "branchmind.show", "any/show"])
def test_older_spellings_reach_the_same_operation(call: Caller, name: str) -> None:
    assert call.answer(name).envelope["intent"] == "show"


def test_status_answers_in_two_lines(clew: Clew) -> None:
    lines = Caller(clew, toolset="daily").lines("status")
    assert len(lines) == 2
    assert lines[0].startswith("ready checkout=main workspace=ws")
    assert lines[1] == "tasks_snapshot"


def test_status_counts_the_items_as_far_as_it_is_cheap(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.reasoning.workspace.MOST_ITEMS", 2)
    for number, (items, more) in enumerate([(1, False), (2, False), (2, True)]):
        call("notes_commit", content=f"note {number}")
        index = call("status")["index"]
        assert (index["items"], index["items_has_more"]) == (items, more)


def test_an_automatic_agent_id_is_made_once_and_kept(make_clew: Make) -> None:
    first, second = make_clew(agent_id="auto"), make_clew(agent_id="auto")
    Caller(first)("notes_commit", content="x")
    Caller(second)("notes_commit", content="y")
    with first.database.read() as tx:
        agents = {row["agent"] for row in tx.all("SELECT agent FROM event WHERE type = 'note_committed'")}
    assert len(agents) == 1
    assert re.fullmatch(r"a[0-9a-z]+_[0-9a-z]+", agents.pop())


@pytest.mark.parametrize("name", ["help", "status", "show", "branch_list", "docs_list", "op_search", "diagnostics"])
def test_the_same_call_on_the_same_state_gives_the_same_envelope(call: Caller, name: str) -> None:
    call("notes_commit", content="x")
    arguments = {"query": "notes"} if name == "op_search" else {}
    assert call.answer(name, **arguments).envelope == call.answer(name, **arguments).envelope
