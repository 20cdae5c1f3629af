"""think: thoughts in the caller's own session, linked and revised, in a short answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from clew.app import Clew
from clew.registry.envelope import Answer
from tests.conftest import Caller
from tests.records.test_work import connected


def test_thoughts_go_on_in_one_session(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    first = agent("think", text="The cache is stale after a write.", kind="hypothesis")
    second = agent("think", text="S2|E|S1|the log shows old rows", session=first["session"])
    third = agent("think", text="Only reads of another process are stale.", revises=1)
    assert [first["number"], second["number"], third["number"]] == [1, 2, 3]
    assert first["session"] == second["session"] == third["session"]
    assert second["links"]
    assert first["kind"] == "H"


@pytest.mark.parametrize("named", ["S1", "1", "{session}:1"])
def test_a_thought_is_revised_under_any_of_its_names(clew: Clew, named: str) -> None:
    agent = connected(clew, "coder", "one")
    session = agent("think", text="The cache is stale after a write.", kind="hypothesis")["session"]
    agent("think", text="Only reads of another process are stale.", revises=named.format(session=session))
    assert any("2 (revises 1): Only reads" in line for line in agent.lines("open", id=session))


def test_a_session_shows_what_each_thought_says_and_what_it_leaves_out(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    session = agent("think", text="The cache is stale.\nAfter a write.", kind="hypothesis")["session"]
    agent("think", text="Another view", branch="alt", branch_from=1)
    lines = agent.lines("open", id=session)
    assert lines[1:3] == ["1 (hypothesis): The cache is stale. After a write.", "alt:2 (from 1): Another view"]
    assert not any(f"{session}:1 (part_of)" in line for line in lines)
    assert agent("open", id=f"{session}:alt:2")["thought"]["thought"] == "Another view"
    for number in range(20):
        agent("think", text=f"Observation {number}: " + "many words " * 40)
    lines = agent.lines("open", id=session)
    assert lines[1].startswith("10 earlier thoughts left out: op_read name=session_get ")
    assert sum(": Observation" in line for line in lines) == 12 and "Observation 19" in lines[-1]
    assert len("\n".join(lines)) < 3_000
    arguments = json.loads(lines[1].partition("arguments=")[2])
    assert "After a write." in "\n".join(agent.lines("op_read", name="session_get", arguments=arguments))


def test_the_answer_is_short(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    lines = agent.lines("think", text="A long thought. " * 200)
    assert len("\n".join(lines)) <= 200


def test_two_agents_think_in_sessions_of_their_own(clew: Clew) -> None:
    one, two = connected(clew, "claude", "one"), connected(clew, "codex", "two")
    assert one("think", text="Mine.")["session"] != two("think", text="Mine too.")["session"]


def repaired(agent: Caller, **given: Any) -> Answer:
    """What the first suggestion of a refused think does, pasted as it stands."""
    refused = agent.answer("think", **given)
    assert not refused.ok and not re.search("branchFromThought|revisesThought|branchId|sessionId", refused.text)
    first = refused.envelope["suggestions"][0]
    return agent.clew.dispatcher.call(first["target"], first["params"], agent.session)


def test_a_branch_without_a_start_is_refused_in_the_words_of_think(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    assert repaired(agent, text="Another view", branch="alt").lines[0].startswith("thought 1, session ")
    agent("think", text="The cache is stale.")
    refused = agent.answer("think", text="Another view", branch="alt").envelope["error"]
    assert refused["message"] == "branch_from: is required to start branch alt"
    assert refused["hints"] == [{"kind": "missing_required", "field": "branch_from"}]
    assert repaired(agent, text="Another view", branch="alt").lines == ["thought 3 on alt"]
    assert agent("think", text="And on", branch="alt")["number"] == 4


def test_other_refusals_of_think_mend_themselves_too(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    session = agent("think", text="The cache is stale.")["session"]
    agent("think", text="After a write.")
    agent("think", text="Another view", branch="alt", branch_from=1)
    assert repaired(agent, text="And on", branch="alt", branch_from=2).lines == ["thought 3 on alt"]
    assert repaired(agent, text="Third view", branch="Third View!", branch_from=1).lines == ["thought 2 on third-view"]
    assert repaired(agent, text="Mine", session="nobody").lines == ["thought 3"]
    assert repaired(agent, text="No", revises=9).envelope["result"]["id"] == session
    assert repaired(agent, text="No", branch="more", branch_from=9).envelope["result"]["id"] == session
