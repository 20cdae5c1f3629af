"""why: the reasons of a record, down to what it rests on and what it replaced."""

from __future__ import annotations

from tests.conftest import Caller


def test_the_reasons_are_shown_down_to_the_ground(call: Caller) -> None:
    call("remember", kind="fact", text="Two hosts disagree by three seconds", why="measured")
    call("remember", kind="decision", text="Renew leases before the deadline", why="clock skew")
    call(
        *("remember",),
        kind="decision",
        text="Renew leases at half of the deadline",
        why="the margin was too small",
        replaces=["D-1"],
        rests_on=["F-1"],
    )
    answer = call.answer("why", id="D-2", fmt="lines")
    reason = call("why", id="D-2")["reason"]
    assert (reason["label"], reason["because"]) == ("in force", "the margin was too small")
    below = {(item["relation"], item["id"], item["label"], item["because"]) for item in reason["below"]}
    assert below == {
        ("rests on", "F-1", "in force", "measured"),
        ("replaced", "D-1", "replaced by D-2", "clock skew"),
    }
    assert "replaced D-1 (decision, replaced by D-2): Renew leases before the deadline" in answer.text


def test_a_circle_of_reasons_ends_and_a_fallen_ground_is_named(call: Caller) -> None:
    call("remember", kind="decision", text="The queue stays in memory", why="simple")
    call("remember", kind="decision", text="Messages are small", why="counted", rests_on=["D-1"])
    call("remember", kind="decision", text="Workers poll each second", why="small", rests_on=["D-1", "D-2"])
    call("retract", id="D-1", why="it grew")
    reason = call("why", id="D-3")["reason"]
    assert reason["label"].startswith("in force, suspect: rests on D-1 (withdrawn)")
    fallen = reason["below"][0]
    assert (fallen["id"], fallen["label"]) == ("D-1", "withdrawn")


def test_an_unknown_record_is_refused(call: Caller) -> None:
    assert call.error("why", id="D-99")["code"] == "UNKNOWN_ID"
