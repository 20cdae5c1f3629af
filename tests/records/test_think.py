"""think: thoughts in the caller's own session, linked and revised, in a short answer."""

from __future__ import annotations

from clew.app import Clew
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


def test_the_answer_is_short(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    lines = agent.lines("think", text="A long thought. " * 200)
    assert len("\n".join(lines)) <= 200


def test_two_agents_think_in_sessions_of_their_own(clew: Clew) -> None:
    one, two = connected(clew, "claude", "one"), connected(clew, "codex", "two")
    assert one("think", text="Mine.")["session"] != two("think", text="Mine too.")["session"]
