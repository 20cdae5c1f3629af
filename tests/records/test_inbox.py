"""The Inbox: everything that waits for a person in one call, what was put off, and the way back."""

from __future__ import annotations

from typing import Any

from clew.registry.connection import Connection
from tests.conftest import Caller
from tests.reasoning.thinking import a_task


def proposed(call: Caller, statement: str) -> str:
    found: str = call("propose_update", block_type="decision", statement=statement, rationale="Because")["proposal_id"]
    return found


def decided(call: Caller, statement: str, **more: object) -> str:
    made = call("propose_update", block_type="decision", statement=statement, **more)
    call("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    found: str = made["block_id"]
    return found


def waits(call: Caller, **asked: Any) -> dict[str, dict[str, Any]]:
    return {f"{item['kind']} {item['id']}": item for item in call("inbox_list", **asked)["items"]}


def test_each_kind_is_a_sentence_with_who_asks_and_what_happens_otherwise(call: Caller) -> None:
    proposal = proposed(call, "Ask the gulls before docking")
    decided(call, "Use tin whistles in fog")
    decided(call, "Do not use tin whistles in fog")
    late = decided(call, "Tar the piles every spring", review_by="2023-05-01")
    task = a_task(call, "Sign the treaty")
    call("tasks_block", task=task, path="s:0", blocked=True, reason="No gull can write")
    fact = call("share_fact", text="CI needs Node 22")["fact_id"]
    job = call("tasks_jobs_create", title="Ask the pilot", prompt="Port or starboard?")["job"]["job_id"]
    claim = call("tasks_jobs_claim", job=job, runner_id="runner:quay")["job"]["revision"]
    told = {"job": job, "runner_id": "runner:quay", "claim_revision": claim, "kind": "question"}
    call("tasks_jobs_report", **told, message="Which side?")
    call("tasks_jobs_message", job=job, message="Starboard.")
    call("tasks_jobs_report", **told, message="Sure?")
    found = waits(call)
    assert found[f"proposal {proposal}"]["title"] == "Ask the gulls before docking"
    assert found[f"proposal {proposal}"]["note"] == "Because"
    assert found[f"review {late}"]["note"] == "was to be reviewed by 2023-05-01"
    assert found[f"fact {fact}"]["title"] == "CI needs Node 22"
    assert found[f"job {job}"]["note"] == "Sure?", "what the job said, never what a person answered"
    (step,) = [item for item in found.values() if item["kind"] == "step"]
    assert step["note"] == "No gull can write" and step["about"][0]["id"] == task
    (clash,) = [item for item in found.values() if item["kind"] == "contradiction"]
    assert clash["title"] == "Do not use tin whistles in fog"
    assert [side["title"] for side in clash["facts"]["older"]] == ["Use tin whistles in fog"]
    assert all(item["if_nobody"] and item["ts_ms"] for item in found.values())
    counts = call("inbox_list")["counts"]
    assert counts["proposal"] == 1 and list(counts) == sorted(counts, key=list(counts).index)


def test_blocked_steps_conflicts_and_unproven_work_say_who_it_was(call: Caller) -> None:
    def by(agent: str, name: str, /, **arguments: Any) -> dict[str, Any]:
        call.session = Connection(toolset="full", agent_id=agent)
        return call(name, **arguments)

    steps = [{"title": title, "success_criteria": ["done"]} for title in ("Row", "Swim")]
    task = by("cook", "tasks_macro_start", plan_title="Crew", task_title="Train", steps=steps)["task_id"]
    by("bosun", "tasks_block", task=task, path="s:0", blocked=True, reason="Fog")
    by("rigger", "close", task=task, step="s:1", unproven="Looked at it")
    node = {"op": "node_upsert", "id": "sail", "type": "note", "title": "Sail"}
    by("cook", "graph_apply", branch="main", ops=[{**node, "text": "white"}])
    by("cook", "branch_create", name="try", from_="main")
    by("cook", "graph_apply", branch="try", ops=[{**node, "text": "red"}])
    by("cook", "graph_apply", branch="main", ops=[{**node, "text": "blue"}])
    by("mate", "graph_merge", from_="try", into="main")
    found = {one["kind"]: one["by"] for one in call("inbox_list")["items"]}
    assert found == {"step": "bosun", "proof": "rigger", "conflict": "mate"}


def test_what_waits_longest_stands_first_and_pages_say_what_is_left(call: Caller) -> None:
    made = [proposed(call, f"Paint boat {number} orange") for number in range(5)]
    first = call("inbox_list", kind="proposal", limit=2)
    assert [item["id"] for item in first["items"]] == made[:2]
    assert (first["total"], first["next_offset"]) == (5, 2)
    rest = call("inbox_list", kind="proposal", limit=10, offset=2)
    assert [item["id"] for item in rest["items"]] == made[2:] and rest["next_offset"] is None


def test_a_matter_that_is_put_off_comes_back_on_its_day_or_when_taken_up(call: Caller) -> None:
    task = a_task(call, "Paint")
    call("tasks_block", task=task, path="s:0", blocked=True, reason="Rain")
    (key,) = waits(call)
    kind, step = key.split(" ")
    call("inbox_later", id=step, kind=kind, days=7, why="The forecast")
    assert waits(call) == {} and call("inbox_list")["later"] == 1
    assert waits(call, later=True)[key]["later_why"] == "The forecast"
    call("inbox_later", id=step, kind=kind, days=0)
    assert list(waits(call)) == [key]


def test_a_proposal_that_was_put_off_or_rejected_is_taken_up_again(call: Caller) -> None:
    proposal = proposed(call, "Move to another harbour")
    call("defer_proposal", proposal_id=proposal, reason="After the season", days=30)
    assert waits(call) == {} and list(waits(call, later=True)) == [f"proposal {proposal}"]
    assert call.error("inbox_later", id=proposal, kind="proposal", days=1)["code"] == "INVALID_INPUT"
    call("reopen_proposal", proposal_id=proposal)
    assert list(waits(call)) == [f"proposal {proposal}"]
    call("reject_proposal", proposal_id=proposal, reason="No")
    assert waits(call) == {}
    call("reopen_proposal", proposal_id=proposal)
    call("approve_apply", proposal_id=proposal, dry_run=False)
    assert call.error("reopen_proposal", proposal_id=proposal)["code"] == "CONFLICT"


def test_an_approval_that_is_taken_back_waits_again(call: Caller) -> None:
    proposal = proposed(call, "Buy no more oars")
    receipt = call("approve_apply", proposal_id=proposal, dry_run=False)["receipt_ts"]
    call("rollback_proposal", receipt_ts=receipt)
    call("reopen_proposal", proposal_id=proposal)
    assert list(waits(call)) == [f"proposal {proposal}"]
    assert call("approve_apply", proposal_id=proposal, dry_run=False)["status"] == "applied"


def test_an_open_conflict_shows_what_the_destination_holds_now(call: Caller) -> None:
    def card(text: str, branch: str) -> None:
        call("graph_apply", branch=branch, ops=[{"op": "node_upsert", "id": "N", "type": "note", "text": text}])

    card("base", "main")
    call("branch_create", name="try", from_="main")
    card("theirs", "try")
    card("ours", "main")
    call("graph_merge", **{"from": "try", "into": "main"})
    (item,) = waits(call).values()
    card("changed since", "main")
    assert call("graph_conflict_show", conflict_id=item["id"])["conflict"]["ours"]["text"] == "changed since"
