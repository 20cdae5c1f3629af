"""Written is findable: what four processes were told is kept, another process finds by its own words at once."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.findable import FIRST, play
from benchmarks.stores import Store

from clew.app import Clew
from tests.conftest import Caller
from tests.records.test_work import connected


def test_what_four_processes_write_a_fifth_finds_by_its_own_words(engine: str, database_flags: dict[str, Any]) -> None:
    """The thrifty form of `python -m benchmarks findable`."""
    store = Store(engine, database_flags["home"], database_flags.get("database_url", ""))
    results = play(store, 120, seed=5)
    assert len(results) == 120 and {result.said.sort for result in results} >= {"short", "sibling", "signs", "tongue"}
    assert [result for result in results if not 1 <= result.place <= FIRST] == []


@pytest.fixture
def agent(clew: Clew) -> Caller:
    return connected(clew, "coder", "one")


HARD = [
    "use tabs",
    "no",
    "=> ::",
    "C++",
    "a != b",
    "never",
    "x",
    "to be or not to be",
    "重试",
    "¿por qué?",
    "🙂",
    "v1.2.3",
]


@pytest.mark.parametrize("crowd", [0, 150])
def test_the_shortest_and_strangest_texts_are_found_by_themselves(agent: Caller, crowd: int) -> None:
    """In an empty store, and among so many others that recall begins to judge what fits."""
    for number in range(crowd):
        agent(
            "remember", text=f"Module {number} uses four spaces and never tabs, as version 1.{number} says", kind="note"
        )
    ids = {text: agent("remember", text=text, kind="rule")["id"] for text in HARD}
    lost = {text: lines for text, id in ids.items() if not _shows(lines := agent.lines("recall", query=text), id)}
    assert lost == {}


def _shows(lines: list[str], id: str) -> bool:
    return any(line.startswith(f"{id} (") for line in lines[:FIRST])


def test_one_text_kept_as_two_kinds_is_found_as_both(agent: Caller) -> None:
    kept = {agent("remember", text="Retries back off exponentially", kind=kind)["id"] for kind in ("rule", "lesson")}
    shown = {line.split()[0] for line in agent.lines("recall", query="Retries back off exponentially")}
    assert kept <= shown


def test_what_differs_in_order_or_signs_only_is_kept_beside_the_other(agent: Caller) -> None:
    pairs = [("The parser calls the merger", "The merger calls the parser"), ("a != b", "a == b"), ("never", "no")]
    for pair in pairs:
        first, second = (agent("remember", text=text, kind="fact") for text in pair)
        assert second["written"] and first["id"] != second["id"]
    again = agent("remember", text="the parser calls the merger.", kind="fact")
    assert not again["written"]
