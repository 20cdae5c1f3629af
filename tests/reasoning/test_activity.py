"""The event log for people: what happened since, who is active; bounded, and it says what was left out."""

from __future__ import annotations

import pytest

from clew.app import Clew
from clew.reasoning.activity import COUNTED
from tests.conftest import Caller, TickingClock


@pytest.fixture
def caller(clew: Clew) -> Caller:
    return Caller(clew)


def write(caller: Caller, count: int, agent: str | None = None) -> None:
    caller.session.agent_id = agent
    for number in range(count):
        caller("notes_commit", content=f"note {number}")


def test_only_what_came_after_is_shown_newest_first(caller: Caller) -> None:
    write(caller, 2)
    seen = caller("events_list")["last_seq"]
    assert caller("events_list", after=seen)["events"] == []
    write(caller, 3)
    found = caller("events_list", after=seen)
    assert [event["seq"] for event in found["events"]] == [seen + 3, seen + 2, seen + 1]
    assert (found["last_seq"], found["left_out"]) == (seen + 3, 0)
    assert {event["type"] for event in found["events"]} == {"note_committed"}


def test_what_does_not_fit_is_counted_and_can_be_paged_to(caller: Caller) -> None:
    write(caller, 5)
    first = caller("events_list", limit=2)
    assert first["left_out"] == first["last_seq"] - 2
    everything, page = list(first["events"]), first
    while page["pagination"]["next_cursor"] is not None:
        page = caller("events_list", limit=2, before=page["pagination"]["next_cursor"])
        everything += page["events"]
    assert [event["seq"] for event in everything] == list(range(first["last_seq"], 0, -1))


def test_types_narrow_it(caller: Caller) -> None:
    write(caller, 2)
    caller("branch_create", name="side")
    found = caller("events_list", types=["branch_created"])
    assert [event["subject"] for event in found["events"]] == ["side"]


def test_one_author_and_one_period_narrow_it(caller: Caller, clock: TickingClock) -> None:
    write(caller, 1, "claude-code-3")
    write(caller, 2, "claude-code")
    write(caller, 1, "claude")
    since = clock()
    write(caller, 1, "claude-code-4")
    assert caller("events_list", by="claude-code", types=["note_committed"])["total"] == 4
    assert caller("events_list", by="claude-code-3", types=["note_committed"])["total"] == 1
    assert caller("events_list", by="claude-c")["total"] == 0
    late = caller("events_list", by="claude-code", since_ms=since)["events"]
    assert [event["agent"] for event in late] == ["claude-code-4"]
    page = caller("events_list", by="claude-code", types=["note_committed"], limit=3)
    assert page["left_out"] == 1


def test_several_types_are_merged_by_their_order(caller: Caller) -> None:
    write(caller, 1)
    caller("branch_create", name="one")
    write(caller, 1)
    caller("branch_create", name="two")
    both = caller("events_list", types=["branch_created", "note_committed", "branch_created"])["events"]
    assert [event["type"] for event in both] == ["branch_created", "note_committed"] * 2
    first = caller("events_list", types=["branch_created", "note_committed"], limit=3)
    assert (len(first["events"]), first["left_out"]) == (3, 1)
    rest = caller("events_list", types=["branch_created", "note_committed"], before=first["pagination"]["next_cursor"])
    assert [event["seq"] for event in first["events"] + rest["events"]] == [event["seq"] for event in both]


def test_what_is_left_out_of_a_long_log_is_counted_so_far(caller: Caller) -> None:
    caller("notes_commit", content="the first")
    with caller.clew.database.write() as tx:
        tx.many(
            "INSERT INTO event (workspace, seq, ts_ms, topic, type, at_seq, payload)"
            " VALUES ('ws', ?, 0, 'notes', 'note_committed', 0, '{}')",
            [(seq,) for seq in range(1_000, 1_000 + COUNTED + 5)],
        )
    found = caller("events_list", limit=2)
    assert (found["left_out"], found["pagination"]["has_more"]) == (COUNTED, True)


def test_a_new_workspace_tells_of_its_birth_alone(caller: Caller) -> None:
    assert caller("events_list", workspace="nowhere")["events"] == []
    caller("init", workspace="nowhere")
    found = caller("events_list", workspace="nowhere")["events"]
    assert [event["type"] for event in found] == ["workspace_created"]
    assert caller("agents_active", workspace="nowhere")["agents"] == []


def test_agents_are_shown_with_what_they_did_last(caller: Caller) -> None:
    write(caller, 2, "anna")  # and the birth of the workspace
    write(caller, 1, "bob")
    write(caller, 1, None)
    found = caller("agents_active")["agents"]
    assert [(item["agent"], item["events"]) for item in found] == [("bob", 1), ("anna", 3)]
    assert found[0]["last"]["type"] == "note_committed"
    limited = caller("agents_active", limit=1)
    assert [item["agent"] for item in limited["agents"]] == ["bob"] and limited["has_more"]


def test_the_time_line_says_who_wrote_when(caller: Caller, clock: TickingClock) -> None:
    write(caller, 2, "anna")
    clock.now_ms += 3 * 3_600_000
    write(caller, 1, "bob")
    clock.now_ms += 30 * 60_000
    write(caller, 3, "anna")
    found = caller("agents_timeline", minutes=60, slots=6)
    assert [(row["agent"], row["events"]) for row in found["rows"]] == [("anna", 3), ("bob", 1)]
    assert found["slot_ms"] == 600_000 and found["to_ms"] - found["from_ms"] == 3_600_000
    anna, bob = found["rows"]
    assert anna["pieces"][-1]["slot"] == 5 and bob["pieces"][0]["slot"] == 2
    assert anna["last"]["type"] == "note_committed" and not found["older_left_out"]
    day = caller("agents_timeline", minutes=24 * 60, limit=1)
    assert [(row["agent"], row["events"]) for row in day["rows"]] == [("anna", 6)]
    assert day["has_more"] and day["agents"] == 2
    assert caller("agents_timeline", workspace="nowhere")["rows"] == []
