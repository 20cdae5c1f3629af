"""undo: the caller's own last write, whatever it was; never over another author's later change. On both engines."""

import pytest

from clew.app import Clew
from tests.conftest import Caller
from tests.records.test_work import connected


def decide(call: Caller, text: str, *replaces: str) -> str:
    return str(call("remember", kind="decision", text=text, why="because", replaces=list(replaces))["id"])


def status(call: Caller, id: str) -> str:
    opened = call("open", id=id)
    return str(opened.get("status") or opened["card"]["status"])


def test_a_record_that_replaced_another(call: Caller) -> None:
    old = decide(call, "Use SQLite for the ledger")
    new = decide(call, "Use PostgreSQL for the ledger", old)
    lines = call.lines("undo")
    assert lines[0].startswith("undone remember") and f"removed {new}" in lines[0]
    assert f"{old} is in force again" in lines[0]
    assert status(call, old) == "active" and status(call, new) == "removed"
    assert call("recall", query="PostgreSQL for the ledger", kinds=["decision"])["results"][0]["_id"] == old


def test_writes_are_undone_backwards_and_an_undo_is_not_undone(call: Caller) -> None:
    first = decide(call, "Use SQLite for the ledger")
    second = decide(call, "Ship on Mondays")
    call("undo")
    assert status(call, second) == "removed"
    call("undo")
    assert status(call, first) == "removed"
    error = call.error("undo")
    assert "no write of yours" in error["message"]


def test_a_retraction_and_a_restore(call: Caller) -> None:
    old = decide(call, "Use tabs in every file")
    new = decide(call, "Use spaces in every file", old)
    call("retract", id=new, why="undecided")
    call("undo")
    assert (status(call, old), status(call, new)) == ("superseded", "active")
    assert "retraction" not in call("open", id=new).get("record", {})
    call("retract", id=new, why="undecided")
    call("restore", id=new)
    call("undo")
    assert (status(call, old), status(call, new)) == ("active", "revoked")


def test_a_card_its_status_and_its_links(call: Caller) -> None:
    question = call("remember", kind="question", text="Which port?")["id"]
    guess = call("remember", kind="hypothesis", text="The port is 80", rests_on=[question])["id"]
    call("think_link", from_=guess, rel="supports", to=question)
    assert "unlinked" in call.lines("undo")[0]
    assert not [link for link in call("open", id=question)["record"]["incoming"] if link["rel"] == "supports"]
    call("think_set_status", targets=[guess], status="accepted")
    call("undo")
    assert status(call, guess) == "open"
    call("undo")
    assert call.error("open", id=guess)["code"] == "UNKNOWN_ID"


def test_a_thought_is_withdrawn_and_what_it_disproved_is_as_before(call: Caller) -> None:
    first = call("remember", kind="thought", text="The pump leaks")["id"]
    second = call("think", text="It does not: the bilge is dry", kind="hypothesis", revises=1)["number"]
    other = f"{first.rpartition(':')[0]}:{second}"
    assert call("recall", query="the pump leaks", sources=["thoughts"], history=True)["results"][0]["status"]
    call("undo")
    found = {hit["_id"]: hit["status"] for hit in call("recall", query="pump bilge dry", history=True)["results"]}
    assert found.get(first, "") == "" and found.get(other, "retracted") == "retracted"


def test_a_step_that_was_closed_is_open_and_its_claim_is_gone(call: Caller) -> None:
    task = call("start", title="Build the ferry", steps=["hull", "deck"])["task"]
    call("close", task=task, step="s:0", proof={"command": "make", "exit_code": 0})
    assert call("open", id=f"{task} s:0")["status"] == "done"
    lines = call.lines("undo")
    assert "no longer claimed" in lines[0]
    opened = call("open", id=f"{task} s:0")
    assert opened["status"] == "open" and "CLAIMED" not in (opened.get("proof") or "")


def test_a_task_that_was_started_and_steps_that_were_added(call: Caller) -> None:
    task = call("start", title="Build the ferry", steps=["hull"])["task"]
    call("start", title=task, steps=["deck", "paint"])
    assert "removed s:1, s:2" in call.lines("undo")[0]
    assert [step["path"] for step in call("tasks_context", task=task)["tasks"][0].get("steps", [])] in ([], ["s:0"])
    assert f"removed {task}" in call.lines("undo")[0]
    assert call.error("open", id=task)["code"] == "UNKNOWN_ID"


def test_a_title_that_was_edited(call: Caller) -> None:
    task = call("start", title="Build the ferry", steps=["hull"])["task"]
    call("tasks_edit", task=task, title="Build the ship")
    call("undo")
    assert call("open", id=task)["summary"].startswith("Build the ferry")


def test_an_approval_a_rejection_and_a_staged_proposal(clew: Clew, call: Caller) -> None:
    agent = connected(clew, "coder", "one")
    call("governance", review="all")
    kept = agent("remember", kind="decision", text="Ship on Mondays", why="quiet")
    assert kept["state"] == "proposed"
    person = Caller(clew)
    person.session = person.person
    person("approve_apply", proposal_id=kept["proposal"], dry_run=False)
    assert status(call, kept["id"]) == "active"
    person("undo")
    assert status(call, kept["id"]) == "proposed"
    person("reject_proposal", proposal_id=kept["proposal"], reason="no")
    person("undo")
    assert status(call, kept["id"]) == "proposed"
    person("approve_apply", proposal_id=kept["proposal"], dry_run=False)
    assert status(call, kept["id"]) == "active", "what is not rejected any more can be approved"


def test_a_later_change_of_somebody_else_is_never_undone(clew: Clew) -> None:
    one, two = connected(clew, "coder", "one"), connected(clew, "writer", "two")
    task = one("start", title="Build the ferry", steps=["hull"])["task"]
    two("tasks_edit", task=task, title="Build the ship")
    error = one.error("undo")
    assert error["code"] == "CONFLICT" and "writer" in error["message"] and task in error["message"]
    assert one("open", id=task)["summary"].startswith("Build the ship")


def test_nobody_undoes_what_another_wrote(clew: Clew) -> None:
    one, two = connected(clew, "coder", "one"), connected(clew, "writer", "two")
    decide(one, "Use SQLite for the ledger")
    event = one("undo", list=True)["writes"][0]["event"]
    error = two.error("undo", event=event)
    assert error["code"] == "NOT_ALLOWED" and "coder" in error["message"]
    assert two.error("undo")["message"].startswith("nothing to undo")


def test_the_list_names_the_last_ten(call: Caller) -> None:
    kept = [call("remember", kind="question", text=f"Which paint is number {at}?")["id"] for at in range(12)]
    rows = call("undo", list=True)["writes"]
    assert len(rows) == 10 and kept[-1] in rows[0]["says"]
    call("undo", event=rows[3]["event"])
    assert call.error("open", id=kept[-4])["code"] == "UNKNOWN_ID"
    assert status(call, kept[-1]) == "open"
    assert "undone already" in call.error("undo", event=rows[3]["event"])["message"]


def test_what_cannot_be_undone_says_why(call: Caller) -> None:
    call("notes_commit", content="We met the harbour master")
    error = call.error("undo")
    assert "a log is only appended to" in error["message"]


@pytest.mark.parametrize("words", ["undo my last change", "take back what I just wrote", "revert my last write"])
def test_a_search_finds_it(call: Caller, words: str) -> None:
    found = call("op_search", query=words)
    assert found["operations"][0]["name"] == "undo"
