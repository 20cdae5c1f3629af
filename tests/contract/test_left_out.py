"""What a read leaves out it says, with the call that gives it: over every operation that reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from clew.app import Clew
from clew.registry.catalogue import OperationEntry, catalogue
from tests.conftest import Caller
from tests.contract import lived_in

ABOUT = {"workspace", "branch", "doc", "truncated", "budget", "signal", "degradation"}
"""Fields that say where an answer comes from and that it was cut; what was asked for is beside them."""
READS = [e for e in catalogue().operations if e.read_only and e.name not in lived_in.ELSEWHERE]
SIZES = (150, 300, 600)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    """One workspace for all: nothing here writes."""
    home = tmp_path_factory.mktemp("left-out") / "home"
    lived_in.build(home)
    clew = lived_in.open(home, embedding_model="none")
    lived_in.fill(Caller(clew))
    yield clew
    clew.close()


@pytest.fixture
def call(lived: Clew) -> Caller:
    return Caller(lived)


def takes(entry: OperationEntry, name: str) -> bool:
    return name in entry.input_schema["properties"]


def cut(call: Caller, entry: OperationEntry) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The arguments and the envelope of each answer that a small budget cut."""
    example = lived_in.prepared(call, entry.name, entry.example)
    for most in SIZES:
        given = {**example, "max_chars": most}
        answer = call.answer(entry.name, **given, fmt="json")
        if answer.ok and answer.envelope["result"].get("budget", {}).get("truncated"):
            assert answer.envelope["result"]["budget"]["used_chars"] <= most
            yield given, answer.envelope


def test_a_small_budget_leaves_something_of_what_was_asked_for(call: Caller) -> None:
    seen = 0
    for entry in (e for e in READS if takes(e, "max_chars")):
        for given, envelope in cut(call, entry):
            seen += 1
            assert set(envelope["result"]) - ABOUT, (entry.name, given)
    assert seen > 100


def test_a_cut_answer_suggests_the_budget_that_is_enough(call: Caller) -> None:
    for entry in (e for e in READS if takes(e, "max_chars")):
        for given, envelope in cut(call, entry):
            first = envelope["suggestions"][0]
            assert first.get("target") == entry.name, (entry.name, given, first)
            again = call.answer(entry.name, **{**first["params"], "fmt": "json"})
            assert again.ok and not again.envelope["result"]["budget"]["truncated"], (entry.name, given)


def test_a_cut_answer_in_lines_says_so(call: Caller) -> None:
    for entry in (e for e in READS if takes(e, "max_chars")):
        for given, _ in cut(call, entry):
            text = call.answer(entry.name, **given, fmt="lines").text
            assert "WARNING: BUDGET" in text or "MORE:" in text or "max_chars" in text, (entry.name, given, text)


def more(result: dict[str, Any]) -> bool:
    """Whether an answer says that a list goes on."""
    page = result.get("pagination") or {}
    return bool(
        page.get("has_more")
        or result.get("has_more")
        or result.get("hasMore")
        or result.get("next_offset")
        or (result.get("truncated") and not result.get("budget", {}).get("truncated"))
    )


def listed(call: Caller) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each read whose list goes on: as its example stands, and with the smallest limit."""
    for entry in READS:
        example = lived_in.prepared(call, entry.name, entry.example)
        least = entry.input_schema["properties"].get("limit", {}).get("minimum", 1)
        for given in (example, {**example, "limit": least}) if takes(entry, "limit") else (example,):
            answer = call.answer(entry.name, **given, fmt="json")
            if answer.ok and more(answer.envelope["result"]):
                yield entry.name, given, answer.envelope


def test_a_list_that_goes_on_suggests_first_how(call: Caller) -> None:
    seen = set()
    for name, given, envelope in listed(call):
        seen.add(name)
        first = envelope["suggestions"][0]
        assert first.get("target") == name, (name, given, first)
        following = call.answer(name, **{**first["params"], "fmt": "json"})
        assert following.ok, (name, following.envelope["error"])
        assert following.envelope["result"] != envelope["result"], (name, given)
    assert len(seen) >= 20, seen


def test_an_agent_reads_in_the_text_how_a_list_goes_on(lived: Clew, call: Caller) -> None:
    agent = Caller(lived, "agent")
    for name, given, _ in listed(call):
        text = agent.answer("op_read", name=name, arguments=given).text
        ways = ("next: ", "MORE:", "more", "WARNING: BUDGET", "offset=", "cursor=", "limit=", "older")
        assert any(way in text for way in ways), (name, given, text)


def test_the_gateway_names_the_next_call_in_its_text(lived: Clew) -> None:
    agent = Caller(lived, "thoughtbox")
    agent("start_new", sessionTitle="One more", cipher=True)
    asked = {"operation": "session.list", "args": {"limit": 1}}
    first = json.loads(agent.answer("thoughtbox_gateway", **asked).text)
    second = json.loads(agent.answer("thoughtbox_gateway", **first["nextCall"]).text)
    assert first["sessions"][0]["id"] != second["sessions"][0]["id"]


@pytest.mark.parametrize("toolset", ["full", "agent", "branchmind", "thoughtbox", "mind-mem"])
def test_no_budget_breaks_an_answer_in_any_toolset(lived: Clew, toolset: str) -> None:
    call = Caller(lived, toolset)
    for entry in (e for e in READS if takes(e, "max_chars")):
        example = lived_in.prepared(call, entry.name, entry.example)
        for most in (0, 40, 110, 260, 520):
            answer = call.answer(entry.name, **example, max_chars=most)
            assert answer.ok or answer.envelope["error"]["code"] != "INTERNAL", (entry.name, most)
