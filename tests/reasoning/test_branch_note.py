"""macro_branch_note: two lines, whichever way the branch came about."""

from __future__ import annotations

from tests.conftest import Caller


def test_each_way_has_its_state_line(call: Caller) -> None:
    assert call.lines("macro_branch_note", content="a") == ["note committed notes@1 on main", "status"]
    assert call.lines("macro_branch_note", content="b", name="x") == [
        "branch x from main@1 | note committed notes@2",
        "status",
    ]
    assert call.lines("macro_branch_note", content="c", from_="main") == [
        "checkout x -> main | note committed notes@3",
        "status",
    ]
    assert call.lines("macro_branch_note", content="d", name="x", from_="nowhere") == [
        "checkout main -> x | note committed notes@4",
        "status",
    ]


def test_created_is_true_only_once(call: Caller) -> None:
    assert call("macro_branch_note", content="a", name="x")["branch"] == {
        "name": "x",
        "base_branch": "main",
        "base_seq": 0,
        "created": True,
    }
    assert call("macro_branch_note", content="a", name="x")["branch"]["created"] is False


def test_templates_write_their_headings(call: Caller) -> None:
    note = call("macro_branch_note", template="initiative", goal="Faster writes")["note"]["content"]
    assert note.startswith("## Goal\nFaster writes\n")
    headings = [line.removeprefix("## ") for line in note.splitlines() if line.startswith("## ")]
    assert headings == [
        "Goal",
        "Scope / Non-goals",
        "Constraints",
        "Success criteria",
        "Risks",
        "Plan",
        "Evidence",
        "Open questions",
        "Next best action",
    ]
    assert "<fill" in call("macro_branch_note", template="decision", content="More.")["note"]["content"]


def test_nothing_to_write_is_refused_and_changes_nothing(call: Caller) -> None:
    for arguments in ({}, {"content": "  "}, {"template": "poem"}, {"name": "a/../b", "content": "x"}):
        assert call.error("macro_branch_note", **arguments)["code"] == "INVALID_INPUT"
    assert call.error("macro_branch_note", content="x", from_="nope")["code"] == "UNKNOWN_ID"
    assert [item["name"] for item in call("branch_list")["branches"]] == ["main"]
    assert call("show", doc_kind="notes")["entries"] == []
