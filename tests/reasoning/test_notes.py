"""Notes: appended, shown from the newest backwards, inherited by branches."""

from __future__ import annotations

from tests.conftest import Caller


def test_a_note_is_shown_as_it_was_written(call: Caller) -> None:
    entry = call("notes_commit", content="keep this", title="T", meta={"a": 1})["entry"]
    shown = call("show", doc_kind="notes")["entries"]
    assert shown == [entry]
    assert entry["seq"] == 1
    assert entry["meta"] == {"a": 1}


def test_pages_lead_from_the_newest_to_the_oldest_without_gaps(call: Caller) -> None:
    for number in range(7):
        call("notes_commit", content=f"note {number}")
    seen: list[str] = []
    cursor = None
    while True:
        page = call("show", doc_kind="notes", limit=3, cursor=cursor)
        seen = [entry["content"] for entry in page["entries"]] + seen
        cursor = page["pagination"]["next_cursor"]
        if not page["pagination"]["has_more"]:
            break
    assert seen == [f"note {number}" for number in range(7)]


def test_a_branch_sees_its_base_as_it_was_when_it_started(call: Caller) -> None:
    call("notes_commit", content="before")
    call("branch_create", name="what-if")
    call("notes_commit", content="after, on main")
    call("notes_commit", content="on the branch", branch="what-if")
    shown = [entry["content"] for entry in call("show", branch="what-if", doc_kind="notes")["entries"]]
    assert shown == ["before", "on the branch"]


def test_diff_shows_what_the_other_branch_has_not(call: Caller) -> None:
    call("notes_commit", content="shared")
    call("branch_create", name="x")
    call("notes_commit", content="only x", branch="x")
    call("notes_commit", content="only main")
    assert [e["content"] for e in call("diff", from_="main", to="x")["entries"]] == ["only x"]
    assert [e["content"] for e in call("diff", from_="x", to="main")["entries"]] == ["only main"]


def test_merge_copies_each_note_once(call: Caller) -> None:
    call("branch_create", name="x")
    call("notes_commit", content="one", branch="x")
    call("notes_commit", content="two", branch="x")
    first, second = call("merge", from_="x"), call("merge", from_="x")
    assert (first["merged"], first["skipped"]) == (2, 0)
    assert (second["merged"], second["skipped"]) == (0, 2)
    assert [e["content"] for e in call("show", doc_kind="notes")["entries"]] == ["one", "two"]


def test_a_dry_run_of_a_merge_writes_nothing(call: Caller) -> None:
    call("branch_create", name="x")
    call("notes_commit", content="one", branch="x")
    assert call("merge", from_="x", dry_run=True)["merged"] == 1
    assert call("show", doc_kind="notes")["entries"] == []
