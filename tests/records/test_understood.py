"""What agents write otherwise than the tool list says: understood, or refused without harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.app import Clew
from clew.recall.period import day_said
from clew.tasks.commands import covers_command
from tests.conftest import Caller
from tests.records.mistakes import project
from tests.records.test_work import connected


@pytest.fixture
def agent(clew: Clew) -> Caller:
    return connected(clew, "coder", "one")


def test_a_proof_that_came_as_json_in_a_text_is_a_run(agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader; test: pytest -q", "writer; test: pytest -q"])
    refused = agent.error("close", step="s:0", proof='{"command": "pytest -q", "exit_code": 1}')
    assert refused["code"] == "PROOF_REQUIRED" and "FAILED (reported): pytest -q -> exit 1" in refused["message"]
    told = agent.lines("close", step="s:1", proof='{"cmd": "pytest -q", "code": 0}')
    assert told[0].endswith("CLAIMED: pytest -q -> exit 0, Clew did not see the run")


def test_several_in_one_text_are_several(clew: Clew) -> None:
    agent = project(clew, 1)
    begun = agent("start", title="Import", steps="1. read the file\n2. convert, then round\n- write")
    assert [step["title"] for step in begun["steps"]] == ["read the file", "convert, then round", "write"]
    kept = agent("remember", kind="decision", text="Archives are read once", rests_on="D-1, F-1", about="a.py,b.py")
    opened = agent("open", id=kept["id"])["block"]["fields"]
    assert (opened["RestsOn"], opened["About"]) == ("D-1, F-1", "a.py, b.py")
    assert [step["title"] for step in agent("start", title="Say", steps="say one, then two")["steps"]] == [
        "say one, then two"
    ]


def test_a_step_is_named_with_its_task(agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader", "writer"])
    agent("start", title="Other", steps=["one"])
    assert agent("close", step="TASK-001/s:1", unproven="by eye")["task"] == "TASK-001"


def test_arguments_beside_the_name_are_those_of_the_operation(agent: Caller) -> None:
    agent("remember", kind="fact", text="The mast is 12 m high")
    assert agent.lines("op_read", name="recall", query="mast")[0].startswith("F-1 ")
    assert agent("op_read", name="block_history", arguments={"id": "F-1"})["block_id"] == "F-1"
    refused = agent.error("op_call", name="remember", text="x", nonsense=1)
    assert "nonsense: unknown argument" in refused["message"]


def test_a_suggestion_has_no_argument_that_nobody_wrote(agent: Caller) -> None:
    way = agent.answer("recall", query="mast", as_of="before the storm").envelope["suggestions"][0]
    assert (way["target"], way["params"]) == ("recall", {"query": "mast"})
    way = agent.answer("recall", query="mast", colour="red").envelope["suggestions"][0]
    assert (way["target"], way["params"]) == ("recall", {"query": "mast"})
    assert "CARD-1" not in agent.answer("retract", id="D-1").text


def test_no_suggestion_acts_on_something_else_than_was_named(clew: Clew) -> None:
    agent = project(clew, 1)
    assert agent("close", id="s:1", unproven="by eye")["step"] == "s:1"
    agent("tasks_note", task="TASK-001", id="s:2", note="half of it")
    assert "half of it" in "\n".join(agent.lines("open", id="s:2")), "an argument is known by the form of its value"
    refused = agent.answer("close", status="done", step="s:0").envelope["suggestions"][0]
    assert "task" not in refused["params"]


def test_a_mended_record_keeps_everything_else_that_was_said(clew: Clew) -> None:
    agent = project(clew, 1)
    given = {"text": "Lines end with LF", "why": "One form", "about": ["src"], "replaces": ["D-1"]}
    way = agent.answer("remember", kind="decizion", **given).envelope["suggestions"][0]
    assert way["params"] == {**given, "kind": "decision"}


def test_undo_takes_back_the_last_write_about_a_record(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    first = agent("remember", kind="fact", text="The mast is 12 m high")["id"]
    agent("remember", kind="fact", text="The hull is white")
    assert "removed F-1" in agent.lines("undo", id=first)[0]
    assert agent("open", id="F-2")["status"] == "active" and agent("open", id=first)["status"] == "removed"
    assert "no record that you changed" in agent.error("undo", id=first)["message"]


def test_what_replaces_a_record_is_about_its_files(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    agent("remember", kind="decision", text="Heights are centimetres", about=["src/tide.py"])
    agent("remember", kind="decision", text="Heights are metres", replaces=["D-1"])
    agent("remember", kind="decision", text="Heights are feet", replaces=["D-2"], about=["src/feet.py"])
    assert [line.split()[0] for line in agent.lines("recall", about="src/feet.py")] == ["D-3"]
    agent("retract", id="D-3", why="no")
    assert [line.split()[0] for line in agent.lines("recall", about="src/tide.py")] == ["D-2"]


def test_the_first_thought_cannot_revise_another(agent: Caller) -> None:
    way = agent.answer("think", text="No", revises=7).envelope["suggestions"][0]
    assert (way["target"], way["params"]) == ("think", {"text": "No"})


def test_a_mistake_at_the_door_to_other_operations_is_told_in_text(agent: Caller) -> None:
    answer = agent.answer("op_call", arguments={"task": "TASK-001"})
    assert answer.structured is None and answer.text.startswith("ERROR: INVALID_INPUT name: is required")


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("yesterday", "2026-11-18"),
        ("last tuesday", "2026-11-17"),
        ("thursday", "2026-11-12"),
        ("3 days ago", "2026-11-16"),
        ("a week ago", "2026-11-12"),
        ("before the release", None),
    ],
)
def test_a_past_day_in_words(said: str, day: str | None) -> None:
    from clew.clock import rfc3339

    found = day_said(said, 1_795_046_400_000)  # Thursday, 2026-11-19
    assert (found and rfc3339(found)[:10]) == day


@pytest.mark.parametrize(
    ("run", "wanted", "covers"),
    [
        ("pytest", "pytest -q tests/test_a.py", True),
        ("python3 -m pytest -q tests", "pytest tests/test_a.py::test_one", True),
        ("pytest tests/a.py tests/b.py", "pytest -x tests/a.py", True),
        ("pytest tests/a.py", "pytest tests", False),
        ("pytest tests/a.py", "pytest tests/ab.py", False),
        ("pytest tests -k fast", "pytest tests/a.py", False),
        ("pytest tests --deselect tests/a.py", "pytest tests/a.py", False),
        ("pytest tests || true", "pytest tests/a.py", False),
        ("cd web && pytest", "pytest tests/a.py", False),
        ("make test", "pytest tests/a.py", False),
    ],
)
def test_a_run_covers_what_is_certainly_a_part_of_it(run: str, wanted: str, covers: bool) -> None:
    assert covers_command(run, wanted) is covers


def test_a_green_run_of_more_clears_a_reported_failure(clew: Clew, tmp_path: Path) -> None:
    agent = connected(clew, "coder", "one")
    agent("start", title="Parse", steps=["reader; test: pytest -q tests/test_reader.py"])
    agent.answer("close", proof={"command": "pytest -q tests/test_reader.py", "exit_code": 1})
    other = agent.error("close", proof={"command": "pytest -q tests/test_other.py", "exit_code": 0})
    assert "FAILED (reported)" in other["message"]
    done = agent.lines("close", proof={"command": "pytest -q tests", "exit_code": 0, "output": "9 passed"})
    assert done[0].startswith("TASK-001 s:0 closed 1/1: CLAIMED: pytest -q tests -> exit 0")


def test_a_record_named_by_its_kind_is_of_that_kind(agent: Caller) -> None:
    assert agent("remember", decision="The mast is painted", why="rust")["kind"] == "decision"
    assert agent.error("remember", decision="The mast is red", fact="It is 12 m high")["code"] == "INVALID_INPUT"


def test_words_that_a_call_needs_are_never_left_out(clew: Clew) -> None:
    agent = project(clew, 1)
    ways = agent.answer("close", step="s:1", unproven=True).envelope["suggestions"]
    assert {way["target"] for way in ways} == {"op_search"}, "closed without a reason it would be refused again"
    ways = agent.answer("start", title="Parse logs", task_id="TASK-001", steps=["bench"]).envelope["suggestions"]
    assert {way["target"] for way in ways} == {"op_search"}, "without the task it would start another one"


def test_the_fix_of_a_wrong_argument_is_the_callers_own_call(agent: Caller) -> None:
    line = agent.lines("recall", query="mast", limit="all")[0]
    assert line.endswith(" | fix: recall query=mast")


def test_what_rests_on_something_withdrawn_says_so_at_once(agent: Caller) -> None:
    agent("remember", kind="fact", text="Ropes are 40 m long")
    agent("retract", id="F-1", why="measured wrong")
    lines = agent.lines("remember", kind="decision", text="Buy two anchors", rests_on=["F-1"])
    assert lines[1] == "suspect: rests on F-1 (withdrawn)"


def test_lists_that_op_search_leads_to_are_lines(clew: Clew) -> None:
    agent = project(clew, 1)
    listed = agent.lines("op_read", name="record_list", arguments={"kind": "decision"})
    assert listed[0].startswith("D-2 (decision, in force, coder") and "decision=2" in listed[-1]
    agent("remember", kind="decision", text="Times are local", why="people asked", replaces="D-2")
    history = agent.lines("op_read", name="block_history", arguments={"block_id": "D-2"})
    assert history[0] == "D-2 (decision, superseded): Times are in UTC" and history[-1].startswith("version 1, ")
    assert "  +Status: superseded" in history
    handed = agent.lines("op_call", name="tasks_handoff")
    assert handed[0] == "TASK-001 Parse logs: TODO" and handed[-1].startswith("next: ")
