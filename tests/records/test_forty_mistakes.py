"""Of forty mistakes the first suggestion mends at least 34; what it must not do, one by one."""

from __future__ import annotations

import pytest

from clew.app import Clew
from clew.records.review_date import review_date
from tests.records.mistakes import FIRST, FOURTH, SECOND, THIRD, Mistake, outcome, project

MENDED = 34


@pytest.mark.parametrize("mistakes", [FIRST, SECOND, THIRD, FOURTH], ids=["first", "second", "third", "fourth"])
def test_most_mistakes_are_accepted_or_mended_by_the_first_suggestion(clew: Clew, mistakes: list[Mistake]) -> None:
    found = {number: outcome(project(clew, number), mistake) for number, mistake in enumerate(mistakes)}
    failed = {number: told for number, told in found.items() if told not in ("accepted", "mended")}
    assert len(mistakes) == 40 and len(mistakes) - len(failed) >= MENDED, failed


@pytest.mark.parametrize(
    ("tool", "meant"),
    [("search", "recall query=logs"), ("recal", "recall query=logs"), ("find", "recall query=logs")],
)
def test_a_tool_that_does_not_exist_is_answered_in_one_line(clew: Clew, tool: str, meant: str) -> None:
    told = project(clew, 1).lines(tool, query="logs")
    assert told == [f"ERROR: UNKNOWN_TOOL no operation is called {tool!r} | fix: {meant}"]


def test_a_decision_that_is_sent_to_decide_is_remembered(clew: Clew) -> None:
    agent = project(clew, 1)
    way = agent.answer("decide", text="We use line feeds", why="One form").envelope["suggestions"][0]
    assert way["target"] == "remember" and agent(way["target"], **way["params"])["id"] == "D-3"


def test_an_answer_sent_to_another_tool_replaces_its_question(clew: Clew) -> None:
    agent = project(clew, 1)
    question = agent("remember", kind="question", text="Which time zone?")["id"]
    way = agent.answer("answer_question", id=question, answer="UTC").envelope["suggestions"][0]
    assert (way["target"], way["params"]) == ("remember", {"text": "UTC", "replaces": [question]})


def test_an_unknown_id_names_the_nearest_with_their_titles(clew: Clew) -> None:
    agent = project(clew, 1)
    told = agent.lines("open", id="D-22")
    assert "The nearest: D-2 (Times are in UTC), D-1 (Logs are JSON lines)." in told[0]
    assert told[1] == "open id=D-2"
    assert "D-1 (Logs are JSON lines) is meant?" in agent.lines("open", id="D-l")[0]
    # Another record than the one that was named is read, never withdrawn.
    ways = agent.answer("retract", id="D-22", why="No longer so").envelope["suggestions"]
    assert {way["target"] for way in ways} == {"open"}


def test_no_step_is_closed_that_was_not_named(clew: Clew) -> None:
    agent = project(clew, 1)
    ways = agent.answer("close", step="s:12", unproven="prose").envelope["suggestions"]
    assert ways == [ways[0]] and (ways[0]["target"], ways[0]["params"]) == ("open", {"id": "TASK-001"})
    titled = agent.answer("close", step="writ", unproven="prose").envelope["suggestions"][0]
    assert titled["params"]["step"] == "s:1"
    assert agent("close", step="Writer", unproven="prose")["step"] == "s:1", "its whole title names a step"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("2027-01-05", "2027-01-05"),
        ("tomorrow", "2023-11-15"),
        ("in 2 weeks", "2023-11-28"),
        ("ten days from now", None),
        ("soon", None),
    ],
)
def test_a_review_date_is_read_as_a_day_or_refused(clew: Clew, given: str, found: str | None) -> None:
    agent = project(clew, 1)
    answer = agent.answer("remember", kind="decision", text="Archives are zipped", review_by=given)
    assert answer.ok == (found is not None)
    if found is not None:
        assert agent("open", id="D-3")["block"]["fields"]["ReviewBy"] == found
    else:
        assert "names no day" in answer.text and answer.envelope["suggestions"][0]["target"] == "remember"


def test_a_weekday_is_the_next_one(clew: Clew) -> None:
    thursday = 1_795_046_400_000  # 2026-11-19
    assert review_date("next friday", thursday, {}) == "2026-11-20"
    assert review_date("Thursday", thursday, {}) == "2026-11-26"
    assert review_date("next month", thursday, {}) == "2026-12-19"
    assert review_date("end of year", thursday, {}) == "2026-12-31"


def test_what_held_a_call_back_is_never_left_out(clew: Clew) -> None:
    agent = project(clew, 1)
    ways = agent.answer("op_call", name="tasks_delete", arguments={"task": "TASK-001", "preview_only": True})
    assert ways.envelope["suggestions"][0]["target"] == "op_search"
