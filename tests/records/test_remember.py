"""remember: every kind in one call, found at once, governed where there is risk, short to read."""

from __future__ import annotations

import pytest

from clew.app import Clew
from clew.registry.vocabulary import KINDS
from tests.conftest import Caller
from tests.people import decide
from tests.records.test_work import connected

TEXTS = {
    "rule": "Every public function has a one-line docstring",
    "preference": "Errors are one line and never a traceback",
    "decision": "The file named last wins",
    "rejected": "python-dotenv skips bad lines silently",
    "fact": "The staging cluster has four nodes",
    "lesson": "Mocked clocks hide leap seconds",
    "question": "May a value span two lines",
    "hypothesis": "The cache is stale after a rename",
    "test": "Ran the parser over the corpus of samples",
    "evidence": "The profile shows 80 percent in regex",
    "note": "Talked to Ada about the importer",
    "thought": "Quoting rules differ between shells",
}


@pytest.fixture
def agent(clew: Clew) -> Caller:
    return connected(clew, "coder", "one")


def test_there_is_a_text_for_every_kind() -> None:
    assert set(TEXTS) == set(KINDS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "thought"])
def test_whatever_is_kept_is_found_at_once_by_anybody(clew: Clew, agent: Caller, kind: str) -> None:
    lines = agent.lines("remember", text=TEXTS[kind], kind=kind, why="It was agreed.")
    id = lines[0].split()[0]
    assert lines[0] == f"{id} {kind} kept, findable now"
    assert len("\n".join(lines)) <= 300
    other = connected(clew, "another", "two")
    found = other.lines("recall", query=TEXTS[kind])
    assert found[0].startswith(f"{id} ({kind}, ")
    assert other.lines("open", id=id)[0].startswith(f"{id} ({kind}")


def test_an_accent_of_its_own_says_nothing_new(agent: Caller) -> None:
    first = agent("remember", kind="rule", text="Meet in the Caf\u00e9 at noon")
    again = agent("remember", kind="rule", text="Meet in the Cafe\u0301 at noon")
    assert (again["id"], again["written"]) == (first["id"], False)


def test_a_contradiction_is_told_staged_and_still_found(agent: Caller) -> None:
    agent("remember", text="All services use PostgreSQL as their database", kind="decision", why="One to run.")
    second = agent("remember", text="No service uses PostgreSQL as its database", kind="decision", why="Cost.")
    assert second["state"] == "proposed"
    assert second["contradicts"]
    hits = agent("recall", query="No service uses PostgreSQL as its database", fmt="json")["results"]
    shown = {hit["_id"]: hit["status"] for hit in hits}
    assert shown[second["id"]] == "proposed"


def test_the_same_again_keeps_nothing_new(agent: Caller) -> None:
    first = agent("remember", text=TEXTS["rule"], kind="rule")
    again = agent("remember", text=TEXTS["rule"], kind="rule")
    assert (again["id"], again["written"]) == (first["id"], False)


def test_ones_own_decision_is_replaced_at_once(agent: Caller) -> None:
    old = agent("remember", text="A key twice in one file is a syntax error", kind="decision", why="Strictness.")
    new = agent(
        "remember", text="A key twice in one file is a conflict", kind="decision", why="Fairer.", replaces=old["id"]
    )
    assert new["state"] == "kept"
    assert new["id"] in "\n".join(agent.lines("open", id=old["id"]))


def test_what_waits_for_its_contradiction_is_said_again_with_what_it_replaces(agent: Caller) -> None:
    kept = agent("remember", text="The ledger uses SQLite as its database", kind="decision", why="One writer.")
    given_up = agent("remember", text="PostgreSQL as the database of the ledger", kind="rejected", why="A server.")
    text, why = "The ledger uses PostgreSQL as its database", "Three tills write at once."
    waits = agent("remember", text=text, kind="decision", why=why)
    assert waits["state"] == "proposed"
    opponents = sorted(item["id"] for item in waits["contradicts"])
    assert opponents == sorted([kept["id"], given_up["id"]])
    again = agent("remember", text=text, kind="decision", why=why, replaces=opponents)
    assert (again["state"], again["contradicts"]) == ("kept", [])
    assert not any(waits["proposal"] in line for line in agent.lines("resume"))
    found = agent.lines("recall", query=text)
    assert [line.split()[0] for line in found if "ledger" in line] == [again["id"]]
    for id in (kept["id"], given_up["id"], waits["id"]):
        assert agent.lines("open", id=id)[0].startswith(f"{id} (") and "replaced by" in agent.lines("open", id=id)[0]


def test_the_answer_to_a_contradiction_says_how_it_is_replaced(agent: Caller) -> None:
    old = agent("remember", text="The ledger uses SQLite as its database", kind="decision", why="One writer.")
    lines = agent.lines("remember", text="The ledger uses PostgreSQL as its database", kind="decision", why="Tills.")
    id = old["id"]
    said = f"if it takes their place, say it again with replaces=[{id}]; if both hold, with coexists_with=[{id}]"
    assert said in lines
    assert not any(line.startswith("nearly repeats") for line in lines), "what it contradicts it does not repeat"


DOGS, NO_DOGS = "Dogs are allowed in the hotel restaurant", "Dogs are not allowed in the hotel restaurant"
SMALL = "Small dogs are allowed in the hotel restaurant"


def test_the_author_says_that_both_hold(agent: Caller) -> None:
    rule = agent("remember", text=NO_DOGS, kind="rule")
    waits = agent("remember", text=DOGS, kind="rule")
    assert [item["id"] for item in waits["contradicts"]] == [rule["id"]]
    again = agent("remember", text=DOGS, kind="rule", coexists_with=rule["id"])
    assert (again["state"], again["contradicts"], again["repeats"]) == ("kept", [], [])
    assert agent("list_contradictions")["status"] == "clean"
    agent("scan")
    assert agent("list_contradictions")["status"] == "clean"
    assert agent("open", id=rule["id"])["status"] == "active", "the other one stays as it is"
    assert not any(waits["proposal"] in line for line in agent.lines("resume")), "what waited waits no more"


def test_beside_a_sure_contradiction_doubtful_ones_are_not_told(agent: Caller) -> None:
    agent("remember", text=SMALL, kind="fact")
    new = {"text": DOGS, "kind": "rule"}
    assert any(line.startswith("may contradict F-1") for line in agent.lines("remember", **new))
    decide(agent.clew, "retract", id="R-1", why="To be said again")
    agent("remember", text=NO_DOGS, kind="rule", beside=["F-1"])
    answer = agent.answer("remember", **new)
    assert "contradicts R-2" in answer.text and "may contradict" not in answer.text
    assert [item["id"] for item in answer.envelope["result"]["may_contradict"]] == ["F-1"], "the whole answer has both"


def test_another_agents_record_is_not_changed_by_saying_it_again_beside_others(clew: Clew, agent: Caller) -> None:
    small = agent("remember", text=SMALL, kind="fact")["id"]
    rule = {"text": DOGS, "kind": "rule"}
    kept = agent("remember", **rule)["id"]
    said = connected(clew, "codex", "two")("remember", **rule, coexists_with=[small])
    assert (said["id"], said["written"]) == (kept, False) and "settled" not in said
    assert agent("open", id=kept)["record"]["may_contradict"][0]["id"] == small
    assert agent.lines("remember", **rule, beside=small) == [
        f"{kept} already says this. Noted that it coexists with {small}."
    ]
    assert "may_contradict" not in agent("open", id=small).get("record", {})


def test_that_a_record_holds_beside_anothers_is_for_a_person_to_say(clew: Clew, agent: Caller) -> None:
    rule = agent("remember", text=NO_DOGS, kind="rule")
    other = connected(clew, "codex", "two")
    waits = other("remember", text=DOGS, kind="rule", coexists_with=rule["id"])
    assert waits["state"] == "proposed" and waits["proposal"]
    lines = other.lines("remember", text="All dogs are allowed in the hotel restaurant", kind="rule", beside="R-1")
    assert any("for a person to say" in line for line in lines)


def test_only_standing_records_can_be_said_to_hold_beside_another(agent: Caller) -> None:
    card = agent("remember", text="May dogs come in", kind="question")
    refused = agent.error("remember", text=DOGS, kind="rule", beside=card["id"])
    assert refused["code"] == "INVALID_INPUT" and "no durable record" in refused["message"]
    refused = agent.error("remember", text=DOGS, kind="rule", beside="R-77")
    assert "R-77" in refused["message"]


def test_a_record_that_replaces_the_tenth_does_not_stand_for_the_first(agent: Caller) -> None:
    first = agent("remember", text="Archives are kept for 30 days", kind="decision", why="Law.")
    assert first["id"] == "D-1"
    for number in range(2, 11):
        agent("remember", text=f"Boat {number} has berth {number * 7}", kind="decision", why="The harbour said so.")
    late = agent("remember", text="Archives are kept for 90 days", kind="decision", why="Law.", replaces="D-10")
    assert [item["id"] for item in late["contradicts"]] == ["D-1"]


def test_a_persons_decision_is_replaced_by_proposal_only(clew: Clew, agent: Caller) -> None:
    given = {"text": "Retries use jitter", "kind": "decision", "why": "Thundering herds."}
    old = decide(clew, "remember", **given).envelope["result"]
    other = connected(clew, "codex", "two")
    new = other("remember", text="Retries wait a fixed second", kind="decision", why="Simple.", replaces=old["id"])
    assert new["state"] == "proposed"
    assert new["proposal"]


def test_records_of_a_task_belong_to_it(agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader", "writer"])
    card = agent("remember", text="May a value span lines", kind="question", step="s:1")
    block = agent("remember", text="Values never span lines", kind="rule", about=["src/reader.py"])
    assert "TASK-001" in "\n".join(agent.lines("open", id=block["id"]))
    assert card["id"].startswith("CARD-")


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("Constraint", "rule"),
        ("user preference", "preference"),
        ("gotcha", "lesson"),
        ("finding", "evidence"),
        ("ADR", "decision"),
    ],
)
def test_other_words_for_kinds_are_understood(agent: Caller, word: str, kind: str) -> None:
    assert agent("remember", text="Something worth keeping", kind=word)["kind"] == kind


def test_work_is_started_and_the_suggestion_does_it(agent: Caller) -> None:
    answer = agent.answer("remember", text="Write the parser", kind="todo")
    way = answer.envelope["suggestions"][0]
    assert agent(way["target"], **way["params"])["title"] == "Write the parser"


@pytest.mark.parametrize("text", ["<fill: the decision>", "   "])
def test_forms_and_blanks_are_refused(agent: Caller, text: str) -> None:
    assert agent.error("remember", text=text, kind="decision")["code"] == "INVALID_INPUT"


def test_what_does_not_exist_is_neither_replaced_nor_rested_on(agent: Caller) -> None:
    assert agent.error("remember", text="New", kind="note", replaces="CARD-99")["code"] == "UNKNOWN_ID"
    assert agent.error("remember", text="New", kind="rule", rests_on=["D-99"])["code"] == "UNKNOWN_ID"
    assert agent.lines("recall", query="New")[0].startswith("nothing fits")
