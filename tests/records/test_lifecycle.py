"""What holds: withdrawing a successor, bringing back, circles and second successors. On both engines."""

from tests.conftest import Caller


def decide(call: Caller, text: str, *replaces: str, kind: str = "decision") -> str:
    kept = call("remember", kind=kind, text=text, why="because", replaces=list(replaces))
    assert kept["state"] == "kept", kept
    return str(kept["id"])


def holds(call: Caller, id: str) -> str:
    """The status as `open` shows it."""
    opened = call("open", id=id)
    return str(opened.get("status") or opened["card"]["status"])


def test_withdrawing_a_successor_restores_what_it_replaced(call: Caller) -> None:
    old = decide(call, "Use SQLite for the ledger")
    new = decide(call, "Use PostgreSQL for the ledger", old)
    lines = call.lines("retract", id=new, why="one machine is enough")
    assert lines[0].startswith(f"withdrawn {new}; {old} is in force again")
    assert holds(call, old) == "active" and holds(call, new) == "revoked"
    block = call("open", id=old)["block"]
    assert "SupersededBy" not in block["fields"]


def test_a_rule_and_a_preference_come_back_like_a_decision(call: Caller) -> None:
    call.session = call.person  # they belong to the user
    for kind in ("rule", "preference"):
        old = decide(call, f"The {kind} of old about tabs", kind=kind)
        new = decide(call, f"A newer {kind} about spaces in files", old, kind=kind)
        assert call("retract", id=new, why="wrong")["restored"] == [old]
        assert holds(call, old) == "active"


def test_what_was_withdrawn_for_its_own_reason_stays_withdrawn(call: Caller) -> None:
    old = decide(call, "Use tabs in every file")
    new = decide(call, "Use spaces in every file", old)
    call("retract", id=old, why="it was never agreed")
    assert call("retract", id=new, why="undecided")["restored"] == []
    assert holds(call, old) == "revoked"


def test_the_line_is_followed_over_what_was_withdrawn(call: Caller) -> None:
    first = decide(call, "Ship on Monday mornings")
    second = decide(call, "Ship on Tuesday mornings", first)
    third = decide(call, "Ship on Wednesday mornings", second)
    call("retract", id=second, why="Tuesday is full")
    assert holds(call, first) == "superseded", "the third still stands in its place"
    assert call("retract", id=third, why="no")["restored"] == [first]


def test_also_withdraws_both(call: Caller) -> None:
    old = decide(call, "Log to a file on disk")
    new = decide(call, "Log to standard output only", old)
    lines = call.lines("retract", id=new, why="no logs", also=[old])
    assert lines[0].startswith(f"withdrawn {new}, {old}: no logs")
    assert holds(call, old) == "revoked"


def test_an_answered_question_is_open_again_when_its_answer_is_withdrawn(call: Caller) -> None:
    question = call("remember", kind="question", text="Which port does the server take?")["id"]
    answer = decide(call, "The server takes port 8080", question)
    assert holds(call, question) == "resolved"
    assert call("retract", id=answer, why="it is taken")["restored"] == [question]
    assert holds(call, question) == "open"


def test_cards_come_back_like_blocks(call: Caller) -> None:
    old = call("remember", kind="hypothesis", text="The cache is cold")["id"]
    new = call("remember", kind="hypothesis", text="The disk is slow", replaces=[old])["id"]
    assert holds(call, old) == "superseded"
    assert call("retract", id=new, why="it is fast")["restored"] == [old]
    assert holds(call, old) == "open"


def test_approving_a_withdrawal_restores_too(clew, call: Caller) -> None:  # type: ignore[no-untyped-def]
    old = decide(call, "Keep backups for a week")
    new = decide(call, "Keep backups for a month", old)
    other = Caller(clew)
    other.session.agent_id = "somebody"
    staged = other("retract", id=new, why="too dear")
    if staged["waits_for"]:
        assert holds(call, old) == "superseded"
        assert other.lines("retract", id=new, why="too dear")[0].startswith(f"proposed: {new} holds until")
        person = Caller(clew)
        person.session = person.person
        person("approve_apply", proposal_id=staged["waits_for"], dry_run=False)
    assert holds(call, old) == "active"


def test_restore_brings_back_what_was_withdrawn(call: Caller) -> None:
    fact = decide(call, "The build takes four minutes", kind="fact")
    call("retract", id=fact, why="measured wrong")
    assert call.lines("restore", id=fact) == [f"{fact} is in force again"]
    assert holds(call, fact) == "active"
    assert call.lines("restore", id=fact) == [f"{fact} is in force: nothing to restore"]


def test_restoring_a_replaced_record_withdraws_its_successor(call: Caller) -> None:
    first = decide(call, "Ship on Monday mornings")
    second = decide(call, "Ship on Tuesday mornings", first)
    third = decide(call, "Ship on Wednesday mornings", second)
    restored = call("restore", id=first, why="Monday it is")
    assert restored["withdrawn"] == [third, second]
    assert [holds(call, id) for id in (first, second, third)] == ["active", "revoked", "revoked"]


def test_a_successor_that_comes_back_takes_its_place_again(call: Caller) -> None:
    old = decide(call, "Use tabs in every file")
    new = decide(call, "Use spaces in every file", old)
    call("retract", id=new, why="undecided")
    assert call.lines("restore", id=new) == [f"{new} is in force again; {old} is replaced by it again"]
    assert holds(call, old) == "superseded"
    assert call("retract", id=new, why="no")["restored"] == [old]


def test_a_second_successor_is_refused_with_the_call_that_works(call: Caller) -> None:
    old = decide(call, "Use tabs in every file")
    new = decide(call, "Use spaces in every file", old)
    answer = call.answer("remember", kind="decision", text="Use two blanks in every file", why="x", replaces=[old])
    assert not answer.ok
    way = answer.envelope["suggestions"][0]
    assert way["target"] == "remember" and way["params"]["replaces"] == [new]
    assert call.answer(way["target"], **way["params"]).ok
    third = decide(call, "Use three blanks here")
    answer = call.answer("retract", id=old, why="x", replaced_by=third)
    assert not answer.ok
    way = answer.envelope["suggestions"][0]
    assert call.answer(way["target"], **way["params"]).ok


def test_a_circle_is_refused_with_the_call_that_works(call: Caller) -> None:
    old = decide(call, "Use tabs in every file")
    new = decide(call, "Use spaces in every file", old)
    answer = call.answer("retract", id=new, why="back to tabs", replaced_by=old)
    assert not answer.ok and "took the place of" in answer.envelope["error"]["message"]
    way = answer.envelope["suggestions"][0]
    assert call(way["target"], **way["params"])["restored"] == [old]


def test_a_disproved_hypothesis_is_no_successor(call: Caller) -> None:
    fact = decide(call, "The disk is fast", kind="fact")
    guess = call("remember", kind="hypothesis", text="The disk is slow")["id"]
    call("think_set_status", targets=[guess], status="disproved")
    answer = call.answer("retract", id=fact, why="look", replaced_by=guess)
    assert not answer.ok and f"{guess} does not hold itself" in answer.envelope["error"]["message"]
    way = answer.envelope["suggestions"][0]
    assert call.answer(way["target"], **way["params"]).ok


def test_restoring_into_a_place_that_is_taken_is_refused(call: Caller) -> None:
    old = decide(call, "Use tabs in every file")
    new = decide(call, "Use spaces in every file", old)
    call("retract", id=new, why="undecided")
    other = decide(call, "Use two blanks in every file", old)
    answer = call.answer("restore", id=new)
    assert not answer.ok and other in answer.envelope["error"]["message"]
    way = answer.envelope["suggestions"][0]
    assert call.answer(way["target"], **way["params"]).ok
    assert call.answer("restore", id=new).ok


def test_work_that_was_canceled_goes_on_and_a_canceled_step_too(call: Caller) -> None:
    task = call("start", title="Build the ferry", steps=["hull", "deck"])["task"]
    call("retract", id="s:1", why="no deck")
    assert call("restore", id="s:1")["written"]
    call("retract", id=task, why="no ferry")
    assert holds(call, task) == "CANCELED"
    call("restore", id=task)
    assert holds(call, task) == "TODO"


def test_an_anchor_a_thought_and_a_proposal_come_back(call: Caller) -> None:
    call("macro_anchor_note", anchor="a:hull", title="Hull", kind="component", content="It floats")
    call("retract", id="a:hull", why="sunk")
    call("restore", id="a:hull")
    assert call("open", id="a:hull")["anchor"]["status"] == "active"
    thought = call("remember", kind="thought", text="Perhaps the pump leaks")["id"]
    call("retract", id=thought, why="it does not")
    call("restore", id=thought)
    assert call("open", id=thought)["record"]["retraction"]["lifted"]


def test_what_cannot_be_restored_says_why(call: Caller) -> None:
    task = call("start", title="Build the ferry", steps=["hull", "deck"])["task"]
    call("close", step="s:0", task=task, proof={"command": "make", "exit_code": 0})
    links = call("open", id=f"{task} s:0")["record"]["incoming"]
    receipt = next(link["id"] for link in links if link["id"].startswith("RCPT"))
    call("retract", id=receipt, why="never ran")
    error = call.error("restore", id=receipt)
    assert "only a run proves anything" in error["message"]
