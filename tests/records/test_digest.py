"""digest: who did what in a period, by plan, in sentences, complete whatever the size."""

from __future__ import annotations

from typing import Any

from clew.registry.connection import Connection
from tests.conftest import Caller, TickingClock

DAY = 86_400_000


def by(call: Caller, agent: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    call.session = Connection(toolset="full", agent_id=agent)
    return call(name, **arguments)


def sentences(call: Caller, author: str, **asked: Any) -> list[str]:
    shown = call("digest", **asked)["markdown"].split("\n## ")
    part = next((part for part in shown if part.startswith(author)), "")
    return [line.removeprefix("- ") for line in part.splitlines() if line.startswith("- ")]


def test_each_author_is_told_in_sentences_with_proof_and_names(call: Caller) -> None:
    steps = [{"title": title, "success_criteria": ["done"]} for title in ("Measure", "Repair", "Write")]
    named = {"plan_title": "Relay", "task_title": "Relay drops messages"}
    task = by(call, "claude-code", "tasks_macro_start", **named, steps=steps)
    proof = {"command": "pytest -q", "exit_code": 0}
    by(call, "claude-code", "close", task=task["task_id"], step="s:0", proof=proof)
    by(call, "claude-code", "close", task=task["task_id"], step="s:1", unproven="read by hand")
    by(call, "claude-code", "remember", kind="decision", text="Retry with jitter", why="the herd")
    by(call, "claude-code", "remember", kind="lesson", text="A retry without jitter is an outage")
    by(call, "codex", "propose_update", block_type="decision", statement="Every message gets an id")
    told = sentences(call, "claude-code")
    assert told[:2] == ["decided *Retry with jitter*", "learned *A retry without jitter is an outage*"]
    assert "closed 2 steps of *Relay drops messages* (2 unproven)" in told
    assert sentences(call, "codex") == ["proposed *Every message gets an id*"]
    (plan,) = call("digest")["plans"]
    assert (plan["title"], plan["closed"], plan["by"]) == ("Relay", 2, ["claude-code"])


def test_storage_events_are_never_told(call: Caller) -> None:
    by(call, "codex", "remember", kind="decision", text="Prices are integers")
    shown = call("digest")["markdown"]
    assert "memory file" not in shown and "block" not in shown and "linked" not in shown
    assert sentences(call, "codex") == ["decided *Prices are integers*"]


def test_only_the_period_is_told_and_what_changed_says_so(call: Caller, clock: TickingClock) -> None:
    made = by(call, "codex", "propose_update", block_type="decision", statement="Ring at noon")
    call("approve_apply", proposal_id=made["proposal_id"], dry_run=False)
    clock.now_ms += 3 * DAY
    assert call("digest", since="1 day")["authors"] == []
    call("edit_record", id=made["block_id"], statement="Ring at eleven")
    assert sentences(call, "@ines", since="1 day") == ["changed *Ring at eleven*"]


def test_it_is_complete_at_any_size(call: Caller) -> None:
    session = by(call, "gemini-cli", "start_new", title="Why do invoices arrive twice?")["sessionId"]
    for number in range(1, 41):
        place = {"sessionId": session, "nextThoughtNeeded": True}
        by(call, "gemini-cli", "thought", thought=f"S{number}|E|| Case {number}", **place)
    for number in range(60):
        by(call, "gemini-cli", "remember", kind="lesson", text=f"Pier {number} has {number * 3} bollards of iron")
    told = sentences(call, "gemini-cli")
    assert told[0].startswith("learned *Pier 0") and told[0].endswith("and 55 more")
    assert "noted 40 thoughts on *Why do invoices arrive twice?*" in told


def test_connections_of_a_client_are_one_author(call: Caller) -> None:
    for number in (1, 2):
        call.session = Connection(toolset="full", client="claude-code", number=number, handle=f"h{number}")
        call("remember", kind="lesson", text=f"Lesson number {number} of a connection about {'tides' * number}")
    assert [author["name"] for author in call("digest")["authors"]] == ["claude-code"]


def test_a_period_that_cannot_be_read_is_refused(call: Caller) -> None:
    for words in ("the other day", "12"):
        assert call.error("digest", since=words)["code"] == "INVALID_INPUT"


def test_what_waits_for_a_person_is_not_told_as_decided(call: Caller) -> None:
    by(call, "claude-code", "remember", kind="decision", text="Use tin whistles in fog")
    made = by(call, "codex", "remember", kind="decision", text="Do not use tin whistles in fog")
    assert made["state"] == "proposed"
    assert sentences(call, "codex") == ["proposed *Do not use tin whistles in fog*"]
    call("decide", id=made["proposal"], verdict="replace")
    told = sentences(call, "@ines")
    assert told == ["settled the dispute over *Do not use tin whistles in fog*, replacing *Use tin whistles in fog*"]


def test_an_approval_is_told_once_and_a_status_is_no_end(call: Caller) -> None:
    proposal = call("propose_update", block_type="decision", statement="Buoys are painted yearly")["proposal_id"]
    call("approve_apply", proposal_id=proposal, dry_run=False)
    task = call("start", title="Paint the buoys", steps=["Sand", "Paint"])["task"]
    call("tasks_complete", task=task, status="ACTIVE")
    text = call("digest", since="today")["markdown"]
    assert "approved *Buoys are painted yearly*" in text
    assert "- decided *Buoys are painted yearly*" not in text, "one approval is one sentence"
    assert "finished" not in text, "it is in work"
    assert "planned *Inbox*" not in text, "a plan that nobody made"
    call("tasks_complete", task=task, status="PARKED")
    assert "parked *Paint the buoys*" in call("digest", since="today")["markdown"]


def test_what_was_replaced_or_withdrawn_is_told_once_and_not_as_changed(call: Caller) -> None:
    old = by(call, "claude-code", "remember", kind="decision", text="Fog signals are rung by hand")["id"]
    fact = by(call, "codex", "remember", kind="fact", text="The bell weighs ninety kilos")["id"]
    by(call, "claude-code", "remember", kind="decision", text="Fog signals are automatic", replaces=[old])
    by(call, "claude-code", "retract", id=fact, why="It was weighed again")
    assert sentences(call, "claude-code") == [
        "decided *Fog signals are rung by hand*, *Fog signals are automatic*, replacing *Fog signals are rung by hand*",
        "withdrew *The bell weighs ninety kilos*",
    ]


def test_an_approval_says_what_it_replaced(call: Caller, clock: TickingClock) -> None:
    old = by(call, "claude-code", "remember", kind="rule", text="Never anchor in the fairway")["id"]
    clock.now_ms += 3 * DAY
    new = by(call, "codex", "remember", kind="rule", text="Anchor in the fairway in fog only", replaces=[old])
    assert new["state"] == "proposed"
    call("approve_apply", proposal_id=new["proposal"], dry_run=False)
    told = sentences(call, "@ines", since="1 day")
    assert told == ["approved *Anchor in the fairway in fog only*, replacing *Never anchor in the fairway*"]


def test_a_failed_run_is_told_until_it_passes(call: Caller) -> None:
    task = by(call, "codex", "start", title="Mend the horn", steps=["Solder", "Try"])["task"]
    failed = {"command": "pytest -q", "exit_code": 1, "output": "1 failed"}
    call.error("close", task=task, step="s:0", proof=failed)
    assert "failed at 1 step of *Mend the horn*" in sentences(call, "codex")
    by(call, "codex", "close", task=task, step="s:0", proof={**failed, "exit_code": 0, "output": "1 passed"})
    assert not [line for line in sentences(call, "codex") if line.startswith("failed")]
