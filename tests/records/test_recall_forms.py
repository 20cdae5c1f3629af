"""recall as an agent calls it: narrowed to kinds, with or without what no longer holds."""

from __future__ import annotations

import pytest

from clew.app import Clew
from tests.conftest import Caller
from tests.records.test_work import connected

SAID = {
    "rule": "Retries of the importer are counted",
    "lesson": "Retries of the importer hide slow disks",
    "question": "May retries of the importer be endless",
    "evidence": "Retries of the importer fell by half",
    "thought": "Retries of the importer look like load",
}


@pytest.fixture
def agent(clew: Clew) -> Caller:
    caller = connected(clew, "coder", "one")
    caller("start", title="Retries of the importer", steps=["retries of the importer"])
    for kind, text in SAID.items():
        caller("remember", text=text, kind=kind)
    return caller


def kinds(lines: list[str]) -> set[str]:
    return {line.partition("(")[2].partition(",")[0] for line in lines}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["rule"], {"rule"}),
        (["rules", "gotcha"], {"rule", "lesson"}),
        ("question", {"question"}),
        (["evidence", "thought"], {"evidence", "thought"}),
        (["task", "step"], {"task", "step"}),
    ],
)
def test_a_search_is_narrowed_to_kinds_in_the_words_people_use(
    agent: Caller, asked: str | list[str], found: set[str]
) -> None:
    assert kinds(agent.lines("recall", query="retries of the importer", kinds=asked)) == found


def test_an_unknown_kind_is_refused_with_the_nearest(agent: Caller) -> None:
    answer = agent.answer("recall", query="retries of the importer", kinds=["lesons", "rule"])
    assert not answer.ok
    way = answer.envelope["suggestions"][0]
    assert way["params"]["kinds"] == ["lesson", "rule"]
    assert kinds(agent.lines(way["target"], **way["params"])) == {"rule", "lesson"}


def test_history_shows_what_was_replaced_in_its_place(agent: Caller) -> None:
    old = agent("remember", text="Importers wait one second", kind="decision", why="simple")["id"]
    new = agent("remember", text="Importers wait with jitter", kind="decision", why="fair", replaces=old)["id"]
    now = agent.lines("recall", query="Importers wait one second", kinds=["decision"])
    assert now[0].startswith(f"{new} (decision, active") and f"(replaces {old}: Importers wait one second" in now[0]
    assert not any(line.startswith(f"{old} ") for line in now)
    past = agent.lines("recall", query="Importers wait one second", kinds=["decision"], history=True)
    assert past[0].startswith(f"{old} (decision, superseded by {new}, ")
    assert any(line.startswith(f"{new} (decision, active") for line in past)


def test_a_kind_that_is_asked_for_shows_what_holds_in_place_of_what_was_replaced(agent: Caller) -> None:
    old = agent("remember", text="Importers sleep nine seconds between tries", kind="rule")["id"]
    new = agent("remember", text="Backoff grows by itself", kind="decision", why="fair", replaces=old)["id"]
    taken = agent("remember", text="Importers sleep on Sundays", kind="rule")["id"]
    agent("retract", id=taken, why="it was a joke")
    query = "Importers sleep nine seconds"
    now = agent.lines("recall", query=query, kinds=["rule"])
    assert now[0].startswith(f"{new} (decision, active") and f"(replaces {old}: " in now[0]
    assert not any(line.startswith((f"{old} ", f"{taken} ")) for line in now)
    past = agent.lines("recall", query=query, kinds=["rule"], history=True)
    assert {old, taken} <= {line.split()[0] for line in past}


def test_what_is_known_stands_before_steps_and_proofs(clew: Clew) -> None:
    coder = connected(clew, "coder", "one")
    coder("start", title="Which Python version the tool needs", steps=["check which Python version it needs"])
    coder("close", proof={"command": "python -m pytest -k version", "exit_code": 0})
    fact = coder("remember", kind="fact", text="Python 3.11 is needed, for fromisoformat takes a trailing Z since then")
    found = coder.lines("recall", query="which Python version")
    assert found[0].startswith(fact["id"])
    assert {"step", "task"} & kinds(coder.lines("recall", query="which step checks the Python version"))


def test_work_is_found_where_nothing_is_known(clew: Clew) -> None:
    coder = connected(clew, "coder", "one")
    coder("remember", kind="rule", text="Lanterns are lit at dusk")
    coder("start", title="Move the harbour crane", steps=["grease the harbour crane"])
    assert kinds(coder.lines("recall", query="harbour crane")) <= {"task", "step", "plan"}
    assert coder.lines("recall", query="harbour crane")[0].startswith(("TASK-", "STEP-"))


def test_an_author_is_who_wrote_and_not_whom_the_text_names(clew: Clew) -> None:
    coder = connected(clew, "coder", "one")
    coder("remember", kind="decision", text="Output is JSON lines", why="User: it is fed to a collector.")
    coder("remember", kind="note", text="Person: the output may be compressed")
    for line in coder.lines("recall", query="what is the output"):
        assert ", coder" in line.partition(")")[0]


def test_what_would_be_replaced_says_so_until_a_person_decides(clew: Clew) -> None:
    coder, reviewer = connected(clew, "coder", "one"), connected(clew, "reviewer", "two")
    old = coder("remember", kind="decision", text="Times are read in the local zone", why="People read them.")
    args = {"text": "Times are read in UTC alone", "why": "Logs come from everywhere.", "replaces": old["id"]}
    new = reviewer("remember", kind="decision", **args)
    assert new["state"] == "proposed"
    line = next(line for line in coder.lines("recall", query="local zone of times") if line.startswith(old["id"]))
    assert f"{new['id']} is proposed in its place, and waits for a person: Times are read in UTC alone" in line
    refused = coder.error("retract", id=old["id"], why="The reviewer is right.", replaced_by=new["id"])
    assert refused["code"] == "CONFLICT" and f"clew approve {new['id']}" in refused["recovery"]
    assert coder("open", id=old["id"], fmt="json")
    assert "active" in coder.lines("open", id=old["id"])[0]
