"""Version control over notes: nothing is deleted, the log shows what the head leads to."""

from __future__ import annotations

import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Caller
from tests.suggestions import run_suggestions

numbers = itertools.count()


def commit(call: Caller, text: str, **more: object) -> int:
    return int(call("commit", artifact=text, message=f"say {text}", **more)["commits"][0]["seq"])


def shown(call: Caller, **more: object) -> list[str]:
    return [item["artifact"] for item in call("log", **more)["commits"]]


def test_the_log_shows_commits_newest_first(call: Caller) -> None:
    commit(call, "one")
    newest = commit(call, "two", meta={"a": 1})
    result = call("log")
    assert [item["artifact"] for item in result["commits"]] == ["two", "one"]
    assert result["head_seq"] == newest
    assert result["commits"][0]["message"] == "say two"
    assert result["commits"][0]["meta"] == {"a": 1}


def test_a_commit_may_go_to_several_documents(call: Caller) -> None:
    result = call("commit", artifact="x", message="m", docs=["notes", "design"])
    assert [item["doc"] for item in result["commits"]] == ["notes", "design"]
    assert [item["content"] for item in call("show", doc="design", doc_kind="notes")["entries"]] == ["x"]


def test_a_reset_hides_later_commits_from_the_log_only(call: Caller) -> None:
    first = commit(call, "one")
    second = commit(call, "two")
    result = call("reset", ref=str(first))
    assert (result["old_seq"], result["new_seq"]) == (second, first)
    assert shown(call) == ["one"]
    assert len(call("show", doc_kind="notes")["entries"]) == 2
    commit(call, "three")
    assert shown(call) == ["three", "one"]


def test_a_hidden_commit_can_be_gone_back_to(call: Caller) -> None:
    first, second = commit(call, "one"), commit(call, "two")
    call("reset", ref=str(first))
    third = commit(call, "three")
    call("reset", ref=f"notes@{second}")
    assert shown(call) == ["two", "one"]
    call("reset", ref=str(third))
    assert shown(call) == ["three", "one"]
    moves = [(item["old_seq"], item["new_seq"]) for item in call("reflog")["entries"]]
    assert moves == [(second, third), (third, second), (first, third), (second, first), (first, second), (None, first)]


def test_tags_name_commits(call: Caller) -> None:
    first = commit(call, "one")
    tag = call("tag_create", name="start")["tag"]
    assert (tag["seq"], tag["branch"], tag["doc"]) == (first, "main", "notes")
    commit(call, "two")
    assert shown(call, ref="start") == ["one"]
    call("tag_create", name="other", from_="start")
    answer = call.answer("tag_create", name="start")
    assert answer.envelope["error"]["code"] == "CONFLICT"
    run_suggestions(call.clew, answer, call.session)
    assert [item["name"] for item in call("tag_list")["tags"]] == ["other", "start"]
    call("reset", ref="other")
    assert shown(call) == ["one"]
    call("tag_delete", name="start")
    assert call.error("log", ref="start")["code"] == "UNKNOWN_ID"
    again = call.answer("tag_delete", name="start")
    assert again.envelope["result"]["deleted"] is False and again.envelope["warnings"][0]["code"] == "TAG_UNKNOWN"
    run_suggestions(call.clew, again, call.session)


def test_a_tag_goes_with_its_branch_and_leaves_its_name(call: Caller) -> None:
    first = commit(call, "one")
    call("branch_create", name="side")
    call("checkout", ref="side")
    commit(call, "two")
    call("tag_create", name="here")
    call("checkout", ref="main")
    call("branch_delete", name="side")
    assert call("tag_list")["tags"] == []
    assert call.error("log", ref="here")["code"] == "UNKNOWN_ID"
    assert call("tag_create", name="here")["tag"]["seq"] == first


def test_a_branch_logs_what_it_inherits(call: Caller) -> None:
    commit(call, "one")
    call("branch_create", name="x")
    commit(call, "two")
    call("checkout", ref="x")
    commit(call, "three")
    assert shown(call) == ["three", "one"]
    assert shown(call, ref="main") == ["two", "one"]
    assert call.error("reset", ref="main")["code"] == "UNKNOWN_ID"


def test_pages_of_the_log_have_no_gaps(call: Caller) -> None:
    for number in range(7):
        commit(call, str(number))
    call("reset", ref=str(call("log", limit=2)["commits"][1]["seq"]))
    seen: list[str] = []
    cursor = None
    while True:
        page = call("log", limit=2, cursor=cursor)
        seen += [item["artifact"] for item in page["commits"]]
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            break
    assert seen == ["5", "4", "3", "2", "1", "0"]


def test_hundreds_of_resets_are_survived(call: Caller) -> None:
    first = commit(call, "first")
    for number in range(40):
        commit(call, f"lost {number}")
        call("reset", ref=str(first))
        first = commit(call, f"kept {number}")
    assert shown(call, limit=3) == ["kept 39", "kept 38", "kept 37"]
    assert len(shown(call, limit=200)) == 41


def test_bad_references_are_refused_with_a_way_out(call: Caller) -> None:
    for name, arguments in (
        ("log", {"ref": "nope"}),
        ("reset", {"ref": "999"}),
        ("reset", {"ref": "main"}),
        ("tag_create", {"name": "12"}),
        ("tag_create", {"name": "t"}),
        ("commit", {"artifact": " ", "message": "m"}),
        ("commit", {"artifact": "a", "message": "m", "docs": []}),
        ("reflog", {"ref": "nope"}),
    ):
        answer = call.answer(name, **arguments)
        assert answer.envelope["error"]["code"] in ("UNKNOWN_ID", "INVALID_INPUT"), name
    answer = call.answer("reset", ref="main")
    run_suggestions(call.clew, answer, call.session)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.one_of(st.just("commit"), st.integers(0, 9)), min_size=4, max_size=16))
def test_the_log_is_that_of_a_history_with_parents(call: Caller, steps: list[str | int]) -> None:
    """In the model every commit knows the head it was made on; resetting is choosing another head."""
    workspace = f"log-{next(numbers)}"
    parents: dict[int, int | None] = {}
    now: int | None = None
    for step in steps:
        if step == "commit":
            result = call("commit", artifact="a", message="m", workspace=workspace)
            seq = int(result["commits"][0]["seq"])
            parents[seq], now = now, seq
        elif parents:
            now = list(parents)[int(step) % len(parents)]
            call("reset", ref=str(now), workspace=workspace)
    expected = []
    while now is not None:
        expected.append(now)
        now = parents[now]
    shown = [item["seq"] for item in call("log", limit=200, workspace=workspace)["commits"]]
    assert shown == expected
