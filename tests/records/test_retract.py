"""retract: one call for every id; nothing is lost, both ends say so, and what rested on it is named."""

from __future__ import annotations

from typing import Any

import pytest

from clew.app import Clew
from clew.records.links import add_link
from clew.registry.context import Context
from tests.conftest import Caller
from tests.people import decide
from tests.reasoning.thinking import a_task, think
from tests.records.test_work import connected
from tests.suggestions import run_suggestions


def decided(call: Caller, statement: str, agent: str = "ann") -> str:
    """A decision that an agent keeps by itself."""
    call.session.agent_id = agent
    return str(call("remember", text=statement, kind="decision", why="because")["id"])


def record(call: Caller, id: str) -> dict[str, Any]:
    return dict(call("open", id=id).get("record", {}))


def test_a_card_falls_with_its_reason_and_its_successor(call: Caller) -> None:
    think(call, "CARD-1", "evidence")
    think(call, "CARD-2", supports=[])
    call("think_link", **{"from": "CARD-1", "rel": "supports", "to": "CARD-2"})
    think(call, "CARD-3", "evidence")
    done = call("retract", id="CARD-1", why="The clock was wrong.", replaced_by="CARD-3")
    assert (done["kind"], done["status"], done["rested_on_it"]) == ("card", "superseded", ["CARD-2"])
    opened = call("open", id="CARD-1")
    assert opened["card"]["status"] == "superseded"
    assert opened["record"]["retraction"]["why"] == "The clock was wrong."
    assert opened["record"]["retraction"]["replaced_by"] == "CARD-3"
    assert {"rel": "replaces", "id": "CARD-3"} in opened["record"]["incoming"]
    assert record(call, "CARD-3")["replaces"] == [{"id": "CARD-1", "why": "The clock was wrong."}]
    assert call("open", id="CARD-2")["suspect"]["because"] == "CARD-1 is superseded"


def test_without_a_successor_a_card_is_retracted(call: Caller) -> None:
    think(call, "CARD-1")
    assert call("retract", id="CARD-1", why="no")["status"] == "retracted"
    assert call("think_query", ids=["CARD-1"])["cards"][0]["status"] == "retracted"


def test_the_published_copy_falls_with_its_card(call: Caller) -> None:
    think(call, "CARD-1", "decision")
    copy = call("think_publish", card_id="CARD-1")["published_card_id"]
    call("retract", id="CARD-1", why="no")
    assert call("open", id=copy)["card"]["status"] == "retracted"


def test_a_card_of_a_task_is_taken_back_in_the_trace_of_the_task(call: Caller) -> None:
    task = a_task(call, "First")
    think(call, "CARD-1", target=task)
    call("tasks_focus_clear")
    call("retract", id="CARD-1", why="no")
    assert call("show", target=task)["entries"][-1]["content"] == "no"


def test_ones_own_block_is_revoked_at_once_and_can_be_put_back(call: Caller) -> None:
    block = decided(call, "Use port 8080")
    done = call("retract", id=block, why="Taken by the proxy")
    assert (done["status"], done["waits_for"]) == ("revoked", None)
    opened = call("open", id=block)
    assert opened["status"] == "revoked" and "Taken by the proxy" in opened["block"]["text"]
    assert done["note"] == f"restore id={block} takes this back"
    call("restore", id=block)
    opened = call("open", id=block)
    assert opened["status"] == "active" and opened["record"]["retraction"]["lifted"]


def test_a_card_that_holds_again_says_so(call: Caller) -> None:
    think(call, "CARD-1")
    call("retract", id="CARD-1", why="no")
    assert "lifted" not in record(call, "CARD-1")["retraction"]
    call("think_set_status", targets="CARD-1", status="open")
    assert record(call, "CARD-1")["retraction"]["lifted"]


def test_a_premise_that_holds_again_is_no_longer_called_fallen(call: Caller) -> None:
    think(call, "CARD-1")
    think(call, "CARD-2", "decision")
    call("think_link", **{"from": "CARD-2", "rel": "depends_on", "to": "CARD-1"})
    call("retract", id="CARD-1", why="no")
    assert record(call, "CARD-2")["fallen_premises"] == [{"id": "CARD-1", "label": "withdrawn", "why": "no"}]
    call("think_set_status", targets="CARD-1", status="open")
    assert "fallen_premises" not in record(call, "CARD-2")


def test_what_rests_on_a_record_of_another_store_is_told_that_it_fell(call: Caller) -> None:
    block = decided(call, "Use port 8080")
    think(call, "CARD-1", "decision")
    with Context(call.clew.dispatcher, call.session, "ws", "ann").writing() as ctx:
        add_link(ctx, "CARD-1", "rests_on", block)
    assert call("retract", id=block, why="Taken by the proxy")["rested_on_it"] == ["CARD-1"]
    fallen = {"id": block, "label": "withdrawn", "why": "Taken by the proxy"}
    assert record(call, "CARD-1")["fallen_premises"] == [fallen]


def test_a_block_that_is_replaced_is_superseded_and_names_its_successor(call: Caller) -> None:
    old, new = decided(call, "Use port 8080"), decided(call, "Listen on 9090 instead")
    assert call("retract", id=old, why="Taken", replaced_by=new)["status"] == "superseded"
    assert new in call("open", id=old)["block"]["text"]
    assert {"rel": "replaces", "id": old} in record(call, new)["outgoing"]


def test_a_block_of_a_person_waits_for_review(call: Caller) -> None:
    block = decide(call.clew, "remember", text="Use port 8080", kind="decision").envelope["result"]["id"]
    call.session.agent_id = "bob"
    answer = call.answer("retract", id=block, why="Taken")
    done = answer.envelope["result"]
    assert done["status"] == "proposed" and done["waits_for"].startswith("P-") and "@ines" in done["note"]
    assert call("open", id=block)["status"] == "active"
    assert record(call, block)["retraction"]["waits_for"] == done["waits_for"]
    run_suggestions(call.clew, answer, call.session)
    call("approve_apply", proposal_id=done["waits_for"], dry_run=False)
    opened = call("open", id=block)
    assert opened["status"] == opened["record"]["retraction"]["status"] == "revoked"
    assert not opened["record"]["retraction"]["waits_for"]


def test_a_proposal_is_withdrawn_and_may_be_made_again(call: Caller) -> None:
    given = {"block_type": "decision", "statement": "Use port 8080", "rationale": "because"}
    proposal = call("propose_update", **given)["proposal_id"]
    assert call("retract", id=proposal, why="Too early")["status"] == "withdrawn"
    assert call.error("approve_apply", proposal_id=proposal, dry_run=False)["code"] == "CONFLICT"
    assert call("propose_update", **given)["proposal_id"] != proposal
    assert call.error("retract", id=proposal, why="again")["code"] == "CONFLICT"


def test_a_thought_is_disowned_and_what_derives_from_it_is_suspect(call: Caller) -> None:
    session = None
    for number, text in enumerate(("S1|O|it leaks", "S2|C|S1|so restart"), 1):
        said = call("thought", thought=text, thoughtNumber=number, totalThoughts=2, nextThoughtNeeded=number < 2)
        session = said["sessionId"] or session
    done = call("retract", id=f"{session}:1", why="It did not leak")
    assert (done["kind"], done["status"], done["rested_on_it"]) == ("thought", "retracted", [f"{session}:2"])
    assert call("open", id=f"{session}:2")["suspect"]["because"] == f"{session}:1 is retracted"
    assert record(call, f"{session}:1")["retraction"]["why"] == "It did not leak"


def test_a_task_is_canceled_and_one_that_was_done_is_open_again(call: Caller) -> None:
    task = a_task(call, "First")
    assert call("retract", id=task, why="Not needed")["status"] == "canceled"
    assert call("open", id=task)["status"] == "CANCELED"


def closed_step(call: Caller, task: str) -> str:
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=["CMD: make test"])
    call("tasks_close_step", task=task, path="s:0", checkpoints="all")
    return step_of(call, task)


def step_of(call: Caller, task: str) -> str:
    steps = [link["id"] for link in record(call, task)["incoming"] if link["rel"] == "part_of"]
    return str(steps[0])


def test_a_closed_step_is_open_again_even_when_its_task_was_done(call: Caller) -> None:
    task = a_task(call, "First")
    step = closed_step(call, task)
    call("tasks_complete", task=task)
    assert call("retract", id=step, why="The test was skipped")["status"] == "reopened"
    assert not call("open", id=step)["step"]["completed"]
    assert call("open", id=task)["status"] == "ACTIVE"


def test_a_step_is_taken_back_by_its_path_too(call: Caller) -> None:
    task = call("start", title="Merge", steps=["reader", "writer"])["task"]
    call("close", step="s:0", unproven="tried by hand")
    assert call("retract", id="s:0", why="It was not the reader")["status"] == "reopened"
    assert call("tasks_mirror", task=task)["steps"][0]["completed"] is False
    assert call.error("retract", id="s:7", why="It was not the reader")["code"] == "UNKNOWN_ID"


def test_opening_a_record_tells_that_its_ground_fell(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    fact = agent("remember", kind="fact", text="The disk is local")["id"]
    decision = agent("remember", kind="decision", text="Lock with flock", rests_on=[fact])["id"]
    agent("retract", id=fact, why="It is on NFS")
    assert f"suspect: rests on {fact} (withdrawn): It is on NFS" in agent.lines("open", id=decision)


def test_an_open_step_is_canceled(call: Caller) -> None:
    task = a_task(call, "First")
    done = call("retract", id=step_of(call, task), why="Not needed")
    assert done["status"] == "canceled" and "tasks_delete" in done["note"]
    assert call("open", id=done["id"])["step"]["block_reason"] == "canceled: Not needed"


@pytest.mark.parametrize("by", ["EV", "RCPT"])
def test_evidence_and_receipts_that_are_disowned_prove_nothing(call: Caller, by: str) -> None:
    task = a_task(call, "First")
    step = closed_step(call, task)
    proofs = {link["id"] for link in record(call, step)["incoming"] if link["rel"] == "proves"}
    assert len(proofs) == 2, proofs
    taken = next(proof for proof in proofs if proof.startswith(by))
    done = call("retract", id=taken, why="Ran on another branch")
    assert (done["status"], done["rested_on_it"]) == ("disowned", [step])
    assert record(call, taken)["retraction"]["why"] == "Ran on another branch"
    left = [link["id"] for link in record(call, step)["incoming"] if link["rel"] == "proves"]
    assert left == [], "a run has two ids, and is taken back under either"


def test_a_note_is_disowned_and_stays(call: Caller) -> None:
    ref = f"notes@{call('notes_commit', content='The sky is green')['entry']['seq']}"
    assert call("retract", id=ref, why="It is blue")["status"] == "disowned"
    opened = call("open", id=ref)
    assert opened["entry"]["content"] == "The sky is green"
    assert opened["record"]["retraction"]["status"] == "disowned"


def test_an_anchor_is_deprecated(call: Caller) -> None:
    call("anchors_bootstrap", anchors=[{"id": "a:core", "title": "Core", "kind": "component"}])
    assert call("retract", id="a:core", why="Split up")["status"] == "deprecated"
    assert call("open", id="a:core")["anchor"]["status"] == "deprecated"


def test_a_card_whose_id_looks_like_a_block_is_a_card(call: Caller) -> None:
    think(call, "D-1", "decision")
    assert call("retract", id="D-1", why="no")["kind"] == "card"


def test_several_ids_are_withdrawn_together(call: Caller) -> None:
    ids = [call("remember", kind="fact", text=text)["id"] for text in ("Water boils at 90 degrees", "Ice is heavy")]
    call("retract", id=ids, why="both wrong")
    assert {call("open", id=id)["status"] for id in ids} == {"retracted"}


@pytest.mark.parametrize(
    "arguments", [{"id": "CARD-9"}, {"id": "D-20260101-001"}, {"id": "TASK-009"}, {"id": "RCPT-009"}]
)
def test_what_is_not_there_is_refused(call: Caller, arguments: dict[str, str]) -> None:
    answer = call.answer("retract", why="no", **arguments)
    assert answer.envelope["error"]["code"] == "UNKNOWN_ID"
    run_suggestions(call.clew, answer, call.session)


def test_a_successor_must_be_there_and_be_another(call: Caller) -> None:
    think(call, "CARD-1")
    assert call.error("retract", id="CARD-1", why="no", replaced_by="CARD-9")["code"] == "UNKNOWN_ID"
    assert call.error("retract", id="CARD-1", why="no", replaced_by="CARD-1")["code"] == "INVALID_INPUT"
    assert call.error("retract", id="CARD-1", why="  ")["code"] == "INVALID_INPUT"
    assert call("open", id="CARD-1")["card"]["status"] == "open"


def test_secrets_in_the_reason_are_not_stored(call: Caller) -> None:
    think(call, "CARD-1")
    answer = call.answer("retract", id="CARD-1", why="password: hunter2hunter2 leaked with ghp_" + "a1B2" * 9)
    assert "a1B2a1B2" not in str(answer.envelope)
    assert [item["code"] for item in answer.envelope["warnings"]] == ["SECRET_MASKED"]


def test_the_text_is_short_whatever_rests_on_it(call: Caller) -> None:
    think(call, "CARD-1")
    for number in range(40):
        think(call, f"CARD-with-a-rather-long-name-{number}", "evidence")
        call("think_link", **{"from": f"CARD-with-a-rather-long-name-{number}", "rel": "depends_on", "to": "CARD-1"})
    text = call.answer("retract", id="CARD-1", why="Because " * 100).text
    assert len(text) <= 400, len(text)
    assert "rested on it (40): " in text and text.startswith("withdrawn CARD-1: Because")


def test_what_was_taken_back_takes_no_place(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    texts = ("Ties are broken by length", "Words are split at blanks", "Numbers count as words")
    first, second, third = (agent("remember", text=text, kind="lesson")["id"] for text in texts)
    agent("retract", id=first, why="Nobody wants it", replaced_by=second)
    refused = agent.answer("retract", id=third, why="The same", replaced_by=first)
    said = refused.envelope["error"]["message"]
    assert not refused.ok and f"{first} does not hold itself: replaced by {second}" in said
    assert agent("open", id=third)["status"] == "active", "and nothing happened"
    run_suggestions(clew, refused, agent.session)
    assert f"replaced by {second}: " in "\n".join(agent.lines("open", id=third))
    agent("retract", id=second, why="Nor that")
    fourth = agent("remember", text="Dashes separate words", kind="lesson")["id"]
    refused = agent.answer("retract", id=fourth, why="No", replaced_by=second)
    assert not refused.ok and f"{second} does not hold itself: withdrawn" in refused.envelope["error"]["message"]
    run_suggestions(clew, refused, agent.session)
    assert agent("open", id=fourth)["status"] == "retracted"
