"""What an everyday call may cost, counted and not timed: it holds at every size of the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import pytest
from benchmarks.everyday_store import fill
from benchmarks.work import Work, counting

from clew.app import Clew, open_clew
from clew.registry.connection import Connection
from clew.registry.envelope import Answer
from clew.settings import load_settings
from tests.conftest import empty_database

FEW, MANY = 1_500, 6_000
SCAN = 12
"""Steps of SQLite for each record that is only counted along an index; one that is read costs several times as many."""


@dataclass(frozen=True)
class Budget:
    """The most that one call may take on a store of any size."""

    arguments: dict[str, Any]
    """`{turn}` in a text becomes the number of the call: what is written says something else each time."""
    statements: int
    rows: int
    characters: int
    model_runs: int = 0
    counts: bool = False
    """Whether it says how many there are, for which an index is walked; else nothing may grow with the store."""
    rows_per_record: float = 0.0
    """Of a call that is asked to look at everything."""
    first: dict[str, Any] | None = None
    """What is started before each call, outside of what is counted."""


STEPS = [{"title": "do it", "test": "pytest -q"}]
BUDGETS = {
    # Besides the task: the other open tasks with their progress, what is open elsewhere, who claimed which step, and
    # the last edits and the last run; 4,000 characters instead of 2,000.
    "resume": Budget({}, 103, 1_500, 4_200, counts=True),
    "list_blocks": Budget({}, 12, 110, 32_000, counts=True),
    "list_blocks of a kind": Budget({"kind": "decision", "status": "active"}, 12, 110, 32_000, counts=True),
    "record_list": Budget({}, 20, 220, 32_000, counts=True),
    "record_list of a kind": Budget({"kind": "rule"}, 20, 220, 32_000, counts=True),
    "inbox_list": Budget({}, 25, 400, 32_000),
    "open": Budget({"id": "D-7"}, 30, 50, 2_500),
    "recall": Budget({"query": "how many rows does the cache keep"}, 25, 120, 6_000),
    "think": Budget({"text": "The parser may be the cause, run {turn}."}, 25, 10, 50),
    "start": Budget({"title": "Job {turn}", "steps": STEPS}, 80, 30, 300),
    "close": Budget({"step": "s:0", "unproven": "tried by hand"}, 95, 40, 300, first={"title": "J", "steps": STEPS}),
    # Up to 201 holders of each of its words are looked at; two pairs are one run of the model, doubtful ones two.
    "remember": Budget(
        {"text": "The parser hands {turn} rows to the cache.", "kind": "fact"}, 85, 1_200, 1_500, 2, counts=True
    ),
    "scan": Budget({}, 140, 500, 2_500, rows_per_record=2.5),
}


@dataclass(frozen=True)
class Filled:
    """The same memory at two sizes."""

    few: Clew
    many: Clew


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with ExitStack() as opened:
        made = []
        for size in (FEW, MANY):
            home = tmp_path_factory.mktemp(f"store-{size}")
            flags: dict[str, Any] = {"home": home, "workspace": "ws", "embedding_model": "none"}
            if request.param == "postgres":
                flags["database_url"] = opened.enter_context(empty_database(request.getfixturevalue("postgres_server")))
            clew = opened.enter_context(closing(open_clew(load_settings(flags, {}, home))))
            fill(clew, "ws", size)
            made.append(clew)
        yield Filled(*made)


def measured(clew: Clew, name: str, budget: Budget) -> tuple[Work, Answer]:
    """The second call: the first one reads what a process reads once."""
    connection = Connection(toolset="full", agent_id="worker")
    for turn in (1, 2):
        if budget.first is not None:
            assert clew.dispatcher.call("start", budget.first, connection).ok
        given = {key: filled_in(value, turn) for key, value in budget.arguments.items()}
        with counting(Work()) as work:
            answer = clew.dispatcher.call(name, given, connection)
        assert answer.ok, answer.envelope
    return work, answer


def filled_in(value: Any, turn: int) -> Any:
    return value.replace("{turn}", str(turn)) if isinstance(value, str) else value


@pytest.mark.parametrize("call", BUDGETS)
def test_an_everyday_call_stays_within_its_budget_at_every_size(filled: Filled, call: str) -> None:
    budget, name = BUDGETS[call], call.split()[0]
    few, _ = measured(filled.few, name, budget)
    many, answer = measured(filled.many, name, budget)
    assert len(many.statements) <= budget.statements
    assert many.rows <= budget.rows + budget.rows_per_record * MANY
    assert many.model_runs <= budget.model_runs
    assert len(answer.text) <= budget.characters
    if budget.rows_per_record:
        assert many.steps <= 1.2 * few.steps * MANY / FEW, "it takes more than twice the time for twice the records"
        return
    grown = (MANY - FEW) * SCAN if budget.counts else 0
    assert many.steps <= 1.5 * few.steps + grown, "something reads more the larger the store is"
