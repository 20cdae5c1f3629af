"""What the operations of the seeds look like in the toolset `agent`: few arguments, answers in lines."""

from __future__ import annotations

import orjson

from clew.app import Clew
from clew.registry.catalogue import catalogue
from tests.records.test_work import connected


def test_recall_answers_in_lines_from_every_store(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    agent("think_card", card={"type": "decision", "title": "Use SQLite", "text": "It needs no server."})
    lines = agent.lines("recall", query="sqlite server")
    assert lines == ["CARD-1 (decision, in force, today, coder): Use SQLite: It needs no server."]
    assert agent.lines("recall", query="zebra stripes")[0].startswith("nothing fits")


def test_the_same_call_gives_json_when_asked(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    answer = agent.answer("recall", query="anything", fmt="json")
    assert orjson.loads(answer.text)["success"]


def test_open_tells_what_it_is_and_its_links(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    agent("start", title="Parse", steps=["reader", "writer"])
    agent("close", proof={"command": "pytest -q", "exit_code": 0})
    lines = agent.lines("open", id="TASK-001")
    assert lines[0] == "TASK-001 (task, TODO 1/2): Parse"
    assert lines[1:4] == ["1 of 2 done: 1 claimed (s:0)", "s:0 reader: done, claimed", "s:1 writer: open"]
    assert "resume task=TASK-001" in lines
    assert agent.lines("open", id="EV-001")[0] == "EV-001 (evidence): pytest -q"


def test_the_list_shows_few_arguments_and_all_stay_accepted(clew: Clew) -> None:
    listed = {entry.name: entry.input_schema for entry in catalogue().listed("agent")}
    assert list(listed["open"]["properties"]) == ["id"]
    assert listed["recall"]["properties"]["limit"]["default"] == 5
    assert connected(clew, "coder", "one").answer("recall", query="x", explain=True).ok
