"""Links: one function answers for all stores, and `open` shows both directions."""

from __future__ import annotations

from clew.records.links import Relation, add_link, kind_of, links_of
from clew.registry.context import Context
from clew.registry.record import RecordLink
from tests.conftest import Caller
from tests.reasoning.thinking import a_task, think


def context(call: Caller) -> Context:
    return Context(call.clew.dispatcher, call.session, "ws", "ann")


def linked(call: Caller, start: str, rel: Relation, end: str) -> bool:
    with context(call).writing() as ctx:
        return add_link(ctx, start, rel, end, "because")


def test_a_link_between_stores_is_shown_at_both_ends_and_made_once(call: Caller) -> None:
    think(call, "CARD-1")
    block = call("propose_update", block_type="decision", statement="Use WAL", rationale="r")
    call("approve_apply", proposal_id=block["proposal_id"], dry_run=False)
    assert linked(call, "CARD-1", "rests_on", block["block_id"])
    assert not linked(call, "CARD-1", "rests_on", block["block_id"])
    assert not linked(call, "CARD-1", "about", "CARD-1")
    assert {"rel": "rests_on", "id": block["block_id"]} in call("open", id="CARD-1")["record"]["outgoing"]
    opened = call("open", id=block["block_id"])["record"]
    assert {"rel": "rests_on", "id": "CARD-1"} in opened["incoming"]
    assert opened["rests_on_it"] == ["CARD-1"]


def test_what_a_text_names_is_a_link_unless_another_says_more(call: Caller) -> None:
    think(call, "CARD-1")
    think(call, "CARD-2", text="follows from CARD-1")
    with context(call).reading() as ctx:
        assert links_of(ctx, "CARD-1").incoming == (RecordLink("CARD-2", "mentions", "CARD-1"),)
    call("think_link", **{"from": "CARD-2", "rel": "depends_on", "to": "CARD-1"})
    with context(call).reading() as ctx:
        assert links_of(ctx, "CARD-1").incoming == (RecordLink("CARD-2", "depends_on", "CARD-1"),)
        assert links_of(ctx, "CARD-1").resting() == ["CARD-2"]


def test_a_step_knows_its_task_its_proof_and_its_cards(call: Caller) -> None:
    task = a_task(call, "First")
    think(call, "CARD-1", target=task, step="s:0")
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=["CMD: make test"])
    (step,) = [link["id"] for link in call("open", id=task)["record"]["incoming"] if link["id"].startswith("STEP")]
    shown = call("open", id=step)["record"]
    assert {"rel": "part_of", "id": task} in shown["outgoing"]
    assert {"rel": "about", "id": "CARD-1"} in shown["incoming"]
    proofs = [link["id"] for link in shown["incoming"] if link["rel"] == "proves"]
    assert len(proofs) == 2 and any(proof.startswith("RCPT-") for proof in proofs)
    for proof in proofs:
        assert {"rel": "proves", "id": step} in call("open", id=proof)["record"]["outgoing"]
    assert {"rel": "about", "id": step} in call("open", id="CARD-1")["record"]["outgoing"]


def test_a_thought_shows_its_session_and_its_references(call: Caller) -> None:
    texts = ("S1|O|it leaks", "S2|C|S1|so restart")
    answers = [
        call("thought", thought=text, thoughtNumber=number, totalThoughts=2, nextThoughtNeeded=number < 2)
        for number, text in enumerate(texts, 1)
    ]
    session = answers[0]["sessionId"]
    shown = call("open", id=f"{session}:1")["record"]
    assert {"rel": "derives", "id": f"{session}:2"} in shown["incoming"]
    assert {"rel": "part_of", "id": session} in shown["outgoing"]


def test_the_limit_holds_in_each_direction(call: Caller) -> None:
    think(call, "CARD-0")
    for number in range(1, 8):
        think(call, f"CARD-{number}", supports=["CARD-0"])
    with context(call).reading() as ctx:
        found = links_of(ctx, "CARD-0", 5)
    assert len(found.incoming) == 5 and found.outgoing == ()


def test_the_history_of_a_card_is_shown_when_it_has_one(call: Caller) -> None:
    think(call, "CARD-1")
    assert "history" not in call("open", id="CARD-1")["record"]
    call("think_set_status", targets="CARD-1", status="closed")
    history = call("open", id="CARD-1")["record"]["history"]
    assert [item["event"] for item in history] == ["card_changed", "card_written"]


def test_kinds_are_told_from_ids(call: Caller) -> None:
    think(call, "CARD-1")
    think(call, "D-1", "decision")
    note = f"notes@{call('notes_commit', content='x')['entry']['seq']}"
    with context(call).reading() as ctx:
        found = {id: kind_of(ctx, id) for id in ("CARD-1", "D-1", note, "TASK-001", "A:Core", "D-20260101-001", "x")}
    assert found == {
        "CARD-1": "card",
        "D-1": "card",
        note: "entry",
        "TASK-001": "task",
        "A:Core": "anchor",
        "D-20260101-001": "block",
        "x": None,
    }


def test_the_history_of_a_step_is_its_own(call: Caller) -> None:
    task = a_task(call, "First", "Second")
    call("tasks_note", task=task, path="s:1", note="look again")
    call("tasks_block", task=task, path="s:1", reason="no access")
    steps = [link["id"] for link in call("open", id=task)["record"]["incoming"] if link["id"].startswith("STEP")]
    records = {call("open", id=step)["path"]: call("open", id=step)["record"] for step in steps}
    assert [item["event"] for item in records["s:1"]["history"]][:2] == ["step_blocked", "step_noted"]
    assert "history" not in records["s:0"]
