"""One order explains what many processes did and saw, also when processes, servers and connections are killed."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.process.crowd import Crowd, Plan, keep_broken, kept_seeds
from tests.process.histories import LEASE_SECONDS, Op, Stored, check

ENGINES = ("sqlite", "postgres")
SEED = 5 if os.environ.get("CI") else random.SystemRandom().randrange(1_000_000)
"""Another one each time at home, where new cases are found; a seed that breaks it is written down by itself."""


@pytest.fixture
def disturbed(database_flags: dict[str, Any], engine: str) -> Callable[[Plan], None]:
    """Runs a plan on the engine and wants every answer explained."""
    home, url = str(Path(database_flags["home"])), database_flags.get("database_url", "")

    def run(plan: Plan) -> None:
        outcome = Crowd(home, url, plan, (lambda: end_connections(url)) if url else None).run()
        if outcome.problems:
            keep_broken(engine, plan, outcome)
        assert outcome.problems == [], plan
        assert len(outcome.ops) >= plan.processes * plan.operations
        assert outcome.killed
        assert outcome.servers_killed
        assert outcome.databases_broken or engine == "sqlite"
        assert outcome.count("ok") > len(outcome.ops) / 2

    return run


def end_connections(url: str) -> None:
    """As an administrator, a failover or a pooler does. The server itself is shared with other tests."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def small(seed: int) -> Plan:
    return Plan(processes=4, operations=120, seed=seed, longest_life=70, server_life=60, database_life=150)


def test_one_order_explains_what_killed_and_living_processes_were_told(disturbed: Callable[[Plan], None]) -> None:
    disturbed(small(SEED))


@pytest.mark.parametrize(("engine", "seed"), [(name, seed) for name in ENGINES for seed in kept_seeds(name)])
def test_what_once_broke_does_not_break_again(disturbed: Callable[[Plan], None], seed: int) -> None:
    disturbed(small(seed))


def append(id: str, begun: float, ended: float, position: int, outcome: str = "ok") -> Op:
    return Op(id, "append", "o", begun, ended, outcome, position)


def read(id: str, begun: float, ended: float, position: int, value: str = "") -> Op:
    return Op(id, "read", "o", begun, ended, "ok", position, value)


def put(id: str, begun: float, ended: float, position: int, outcome: str = "ok") -> Op:
    return Op(id, "put", "o", begun, ended, outcome, position)


def claim(id: str, begun: float, ended: float, position: int, outcome: str = "ok", code: str = "") -> Op:
    return Op(id, "claim", "o", begun, ended, outcome, position, code=code)


def release(id: str, begun: float, ended: float, position: int, outcome: str = "ok") -> Op:
    return Op(id, "release", "o", begun, ended, outcome, position)


def kinds(ops: list[Op], places: list[tuple[int, str]], complete: bool = True) -> set[str]:
    return {problem.kind for problem in check(ops, {"o": Stored(places, complete)})}


@pytest.mark.parametrize(
    ("ops", "places", "kind"),
    [
        pytest.param([append("a", 0, 1, 1)], [], "lost", id="an acknowledged write is lost"),
        pytest.param([append("a", 0, 1, 1)], [(1, "a"), (2, "a")], "doubled", id="a write is stored twice"),
        pytest.param([append("a", 0, 1, 0, "failed")], [(1, "a")], "different", id="a refused write is stored"),
        pytest.param([append("a", 0, 1, 1), read("r", 2, 3, 0)], [(1, "a")], "different", id="a read misses a write"),
        pytest.param(
            [append("a", 0, 1, 2), append("b", 2, 3, 1)], [(1, "b"), (2, "a")], "different", id="a later one is before"
        ),
        pytest.param(
            [read("r", 0, 1, 1, "a"), append("a", 2, 3, 1)], [(1, "a")], "different", id="a read sees the future"
        ),
        pytest.param([read("r", 0, 1, 1, "x"), append("a", 0, 3, 1)], [(1, "a")], "different", id="a read is made up"),
        pytest.param([append("a", 0, 1, 1), read("r", 0, 1, 7)], [(1, "a")], "lost", id="what was seen is gone"),
        pytest.param([], [(1, "a")], "different", id="something is stored that nobody wrote"),
        pytest.param([Op("f", "find", "o", 2, 3, "ok")], [], "different", id="recall misses an acknowledged write"),
    ],
)
def test_what_no_order_of_a_list_explains_is_found(ops: list[Op], places: list[tuple[int, str]], kind: str) -> None:
    assert kind in kinds(ops, places)


@pytest.mark.parametrize(
    ("ops", "places", "kind"),
    [
        pytest.param([put("a", 0, 1, 1), put("b", 0, 1, 1)], [(1, "a")], "different", id="one revision given twice"),
        pytest.param([put("a", 0, 1, 2)], [(1, "b")], "lost", id="the last write is lost"),
        pytest.param([put("a", 0, 1, 1)], [(3, "a")], "doubled", id="a write took two revisions"),
        pytest.param([put("a", 0, 1, 3)], [(3, "a")], "different", id="revisions that nobody wrote"),
        pytest.param([put("a", 0, 1, 1), read("r", 2, 3, 1, "b"), put("b", 0, 1, 2)], [(2, "b")], "different", id="m"),
    ],
)
def test_what_no_order_of_a_register_explains_is_found(ops: list[Op], places: list[tuple[int, str]], kind: str) -> None:
    assert kind in kinds(ops, places, complete=False)


@pytest.mark.parametrize(
    ("ops", "places"),
    [
        pytest.param(
            [claim("a", 0, 0.1, 1), claim("b", 0.2, 0.3, 2)], [(1, "a"), (2, "b")], id="two hold at the same time"
        ),
        pytest.param(
            [claim("a", 0, 0.1, 1), claim("b", 5, 6, 2), release("ar", 7, 8, 3)],
            [(1, "a"), (2, "b"), (3, "ar")],
            id="who holds no longer gives it back",
        ),
        pytest.param(
            [claim("a", 0, 0.1, 1), release("ar", 0.2, 0.3, 2), claim("b", 1, 2, 0, "failed", "CONFLICT")],
            [(1, "a"), (2, "ar")],
            id="refused although nobody holds",
        ),
    ],
)
def test_what_no_order_of_claims_explains_is_found(ops: list[Op], places: list[tuple[int, str]]) -> None:
    assert kinds(ops, places) == {"different"}


def test_what_some_order_explains_is_accepted() -> None:
    ops = [
        append("a", 0, 5, 10),
        append("b", 1, 4, 20),
        append("lost", 2, inf, 0, "unknown"),
        append("never", 2, inf, 0, "unknown"),
        read("r", 3, 6, 20, "b"),
        read("s", 7, 8, 30, "lost"),
    ]
    assert kinds(ops, [(10, "a"), (20, "b"), (30, "lost")]) == set()


def test_a_write_that_nobody_heard_of_may_explain_a_revision() -> None:
    ops = [put("a", 0, 1, 1), put("unheard", 0, inf, 0, "unknown"), put("c", 3, 4, 3), read("r", 5, 6, 3, "c")]
    assert kinds(ops, [(3, "c")], complete=False) == set()


def test_a_claim_passes_on_when_it_is_given_back_or_its_lease_has_ended() -> None:
    late = LEASE_SECONDS + 0.5
    ops = [
        claim("a", 0, 0.1, 1),
        claim("x", 0.1, 0.2, 0, "failed", "CONFLICT"),
        release("ar", 0.3, 0.4, 2),
        claim("b", 0.5, 0.6, 3),
        claim("c", 0.5 + late, 0.7 + late, 4),
        release("br", 1 + late, 2 + late, 0, "failed"),
    ]
    assert kinds(ops, [(1, "a"), (2, "ar"), (3, "b"), (4, "c")]) == set()
