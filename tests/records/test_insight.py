"""insight: figures that the stores really have."""

from __future__ import annotations

from tests.conftest import Caller, TickingClock
from tests.reasoning.thinking import a_task


def test_questions_are_counted_and_those_that_met_silence_are_kept(call: Caller) -> None:
    call("notes_commit", title="Locks", content="Writers starve when the lock is held while files are rendered")
    call("recall", query="why do writers starve", sources=["all"])
    for _ in range(2):
        call("recall", query="xylophone  quartz vortex", sources=["all"])
    found = call("insight")
    assert (found["recall"]["asked"], found["recall"]["silent"]) == (3, 2)
    (row,) = found["unanswered"]
    assert (row["question"], row["times"]) == ("xylophone quartz vortex", 2)


def test_a_question_is_kept_until_it_is_answered_and_no_longer_than_a_month(call: Caller, clock: TickingClock) -> None:
    call("notes_commit", title="Boats", content="Boats are green")
    call("recall", query="xylophone quartz vortex", sources=["all"])
    call("recall", query="zeppelin hangar moss token=abc123def", sources=["all"])
    assert "abc123def" not in str(call("insight")["unanswered"])
    call("notes_commit", title="Xylophone", content="The xylophone of quartz stands in the vortex")
    call("recall", query="xylophone quartz vortex", sources=["all"])
    (left,) = call("insight")["unanswered"]
    assert left["question"].startswith("zeppelin")
    clock.now_ms += 31 * 86_400_000
    call("recall", query="walrus umbrella kazoo", sources=["all"])
    assert [row["question"] for row in call("insight")["unanswered"]] == ["walrus umbrella kazoo"]


def test_what_resume_told_growth_acceptance_and_proof(call: Caller) -> None:
    made = call("propose_update", block_type="decision", statement="Prices are integers", rationale="Rounding")
    call("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    call("propose_update", block_type="decision", statement="Boats are green")
    task = a_task(call, "Count the oars")
    call("close", task=task, step="s:0", unproven="Nobody can count")
    call("resume")
    found = call("insight")
    assert [(row["source"], row["times"]) for row in found["told"]] == [("resume", 1)] and found["told"][0]["tokens"]
    assert sum(row["items"] for row in found["growth"]) > 2
    assert sum(row["proposed"] for row in found["agents"]) == 2 and found["agents"][0]["applied"] == 1
    assert found["proofs"] == {"done": 1, "unproven": 1}
    unused = {row["id"] for row in found["never_used"]["items"]}
    assert made["block_id"] in unused
    call("recall", query="prices integers")
    assert made["block_id"] not in {row["id"] for row in call("insight")["never_used"]["items"]}
