"""op_search understands the words people use."""

import pytest

from clew.app import Clew
from clew.registry.discovery import search
from tests.conftest import Caller
from tests.registry.intents import EVERYDAY, INTENTS, WISHES


def place(query: str, wanted: set[str]) -> int:
    names = [entry.name for entry in search(query)]
    return min((names.index(name) for name in wanted if name in names), default=len(names))


def test_what_people_ask_for_is_among_the_first_three() -> None:
    places = {query: place(query, wanted) for query, wanted in INTENTS}
    first = sum(found == 0 for found in places.values())
    missed = [query for query, found in places.items() if found > 2]
    print(f"{len(INTENTS)} intents: {first} first, {len(INTENTS) - len(missed)} in the first three")
    assert len(INTENTS) == 63
    assert len(missed) <= 3, missed
    assert first >= 50


@pytest.mark.parametrize("wishes", [WISHES, EVERYDAY], ids=["wishes", "everyday"])
def test_what_an_agent_wishes_comes_first(wishes: list[tuple[str, set[str]]]) -> None:
    missed = {query: search(query)[0].name for query, wanted in wishes if place(query, wanted)}
    assert len(missed) <= 0.15 * len(wishes), missed


def test_an_exact_name_gives_that_one_schema(call: Caller) -> None:
    found = call("op_search", query="branch_list")
    assert [item["name"] for item in found["operations"]] == ["branch_list"]
    assert "arguments" in found["operations"][0] and found["total"] == 1


def test_an_agent_reads_what_it_found_in_lines(clew: Clew) -> None:
    agent = Caller(clew, "agent")
    found = agent.lines("op_search", query="who did this")
    assert agent.answer("op_search", query="who did this").structured is None
    assert any(line.startswith("events_list: ") for line in found)
    named = agent.lines("op_search", query="workspace_list")
    assert named[0].startswith("workspace_list: ") and named[1].startswith("  limit?: integer - Most workspaces")
    assert named[-1] == "example: op_read arguments={} name=workspace_list"
