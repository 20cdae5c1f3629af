"""The workspace as it was: what it held at a moment, and what became of it since."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.records.test_inbox import decided


def a_task(call: Caller, title: str) -> str:
    steps = [{"title": "Begin", "success_criteria": ["begun"]}]
    found: str = call("tasks_macro_start", plan_title="Harbour", task_title=title, steps=steps)["task_id"]
    return found


def now(call: Caller) -> int:
    found: int = call("workspace_at")["moment"]["event"]
    return found


def held(call: Caller, **asked: Any) -> dict[str, dict[str, Any]]:
    return {item["id"]: item for item in call("workspace_at", **asked)["items"]}


def since(call: Caller, event: int, **asked: Any) -> dict[str, dict[str, Any]]:
    return {item["id"]: item for item in call("workspace_since", event=event, **asked)["items"]}


def test_a_moment_shows_what_stood_then_as_it_stood_then(call: Caller) -> None:
    kept = call("remember", kind="decision", text="The ferry has one deck")["id"]
    task = a_task(call, "Paint the hull")
    before = now(call)
    call("retract", id=kept, why="It has two")
    call("tasks_edit", task=task, title="Paint the hull red")
    call("remember", kind="rule", text="Whistle in fog")
    then = held(call, event=before)
    assert then[kept]["status"] == "active" and then[kept]["title"] == "The ferry has one deck"
    assert then[task]["title"] == "Paint the hull" and then[task]["kind"] == "task"
    assert not [item for item in then.values() if item["kind"] == "rule"]
    assert held(call)[task]["title"] == "Paint the hull red"


def test_what_became_of_it_since_is_told_with_both_states(call: Caller) -> None:
    kept = call("remember", kind="decision", text="The ferry has one deck")["id"]
    task, other = a_task(call, "Paint the hull"), a_task(call, "Scrub the deck")
    before = now(call)
    call("retract", id=kept, why="It has two")
    call("tasks_edit", task=task, title="Paint the hull red")
    rule = call("remember", kind="rule", text="Whistle in fog")["id"]
    call("tasks_complete", task=other, status="CANCELED")
    gone = a_task(call, "Never mind")
    call("tasks_delete", task=gone)
    found = since(call, before)
    assert found[kept]["change"] == "retracted"
    assert (found[kept]["before"]["status"], found[kept]["now"]["status"]) == ("active", "revoked")
    assert found[task]["change"] == "changed"
    assert (found[task]["before"]["title"], found[task]["now"]["title"]) == ("Paint the hull", "Paint the hull red")
    assert found[rule]["change"] == "added" and found[rule]["before"] is None
    assert found[other]["change"] == "closed"
    assert gone not in found, "it came and went in between"
    counts = call("workspace_since", event=before)["counts"]
    assert (counts["retracted"], counts["closed"]) == (1, 1)
    only = since(call, before, change="closed", source="task")
    assert list(only) == [other]


def test_what_is_written_again_unchanged_was_there_all_the_time(call: Caller) -> None:
    task = a_task(call, "Tar the piles")
    before = now(call)
    moments = [before]
    for blocked in (True, False, True, False):
        call("tasks_block", task=task, path="s:0", blocked=blocked, reason="No tar" if blocked else None)
        moments.append(now(call))
    (step,) = [id for id, item in held(call).items() if item["kind"] == "step"]
    for event in moments:
        assert held(call, event=event)[step]["title"] == "Begin"
    assert step not in since(call, before), "its words did not change"


def test_a_thought_that_was_revised_later_stood_unrevised(call: Caller) -> None:
    call("think", text="It is the herring", kind="hypothesis")
    before = now(call)
    call("think", text="It is the tar", kind="hypothesis", revises=1)
    (first,) = held(call, event=before, source="thought").values()
    assert first["status"] != "revised"
    found = since(call, before, source="thought")
    assert {item["change"] for item in found.values()} >= {"added"}


def test_what_is_gone_is_said(call: Caller) -> None:
    task = a_task(call, "Sink the wreck")
    before = now(call)
    call("tasks_delete", task=task)
    found = since(call, before)
    assert found[task]["change"] == "gone" and found[task]["now"] is None
    assert found[task]["before"]["title"] == "Sink the wreck"
    assert task not in held(call)
    assert task in held(call, event=before)


def test_lists_are_bounded_and_say_what_they_leave_out(call: Caller) -> None:
    for number in range(7):
        decided(call, f"Buoy {number} is painted orange")
    first = call("workspace_at", source="block", limit=3)
    assert len(first["items"]) == 3 and first["next_offset"] == 3
    assert first["total"] == sum(row["items"] for row in first["counts"] if row["source"] == "block")
    rest = call("workspace_at", source="block", limit=200, offset=3)
    assert rest["next_offset"] is None
    ids = [item["id"] for item in [*first["items"], *rest["items"]]]
    assert len(ids) == len(set(ids)) == first["total"]
    small = call("workspace_since", event=0, max_chars=1_500)
    assert small["next_offset"] == len(small["items"]) < small["total"]


def test_a_moment_is_named_by_time_by_seq_or_by_event(call: Caller) -> None:
    call("remember", kind="rule", text="Whistle in fog")
    first = call("workspace_at")["moment"]
    call("remember", kind="rule", text="Never whistle in harbour")
    assert call("workspace_at", as_of=first["at"])["moment"]["event"] == first["event"]
    assert call("workspace_at", event=first["event"])["moment"]["at"] == first["at"]
    assert call("workspace_at", as_of="2001-01-01")["items"] == []
    assert call("workspace_at", event=10**9)["moment"]["now"]
    marks = call("workspace_at")["marks"]
    assert marks[0][0] == 1 and marks[-1][0] == call("workspace_at")["moment"]["last_event"]
    refused = call.answer("workspace_at", as_of="before the storm")
    assert "neither a seq nor an ISO date" in refused.envelope["error"]["message"]


def test_an_empty_workspace_has_held_nothing(call: Caller) -> None:
    found = call("workspace_at")
    assert found["items"] == [] and found["total"] == 0
    assert call("workspace_since")["total"] == 0
