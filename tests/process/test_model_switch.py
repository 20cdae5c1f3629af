"""A switch of the embedding model in a process of its own, killed in the middle; another process serves meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.recall.filler import BATCH
from tests.conftest import Caller
from tests.waiting import PATIENCE

SCRIPT = Path(__file__).with_name("switcher.py")
NOTES = 3 * BATCH


@pytest.fixture
def serving(make_clew: Callable[..., Clew]) -> Caller:
    call = Caller(make_clew(embedding_model=""))
    commands = [{"content": f"The {('red', 'blue')[number % 2]} engine {number} runs."} for number in range(NOTES)]
    for command in commands:
        call("notes_commit", **command)
    call("reindex", include_vectors=True)
    return call


@pytest.fixture
def start(database_flags: dict[str, Any], other_model: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def run(patience: str) -> subprocess.Popen[str]:
        words = [str(database_flags["home"]), database_flags.get("database_url", ""), str(other_model), patience]
        command = [sys.executable, str(SCRIPT), *words]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


def reports(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def model_of(call: Caller) -> str:
    """The model that a search used; it must have used one, and found something."""
    result = call("hybrid_search", query="the red engine 4 runs", sources=["all"])
    assert result["arms"]["semantic"] is True
    assert result["count"] > 0
    model: str = result["arms"]["model"]
    return model


def stored_models(call: Caller) -> dict[str, int]:
    with call.clew.database.read() as tx:
        rows = tx.all("SELECT model, count(*) AS made FROM item_vector GROUP BY model ORDER BY model")
    return {row["model"]: int(row["made"]) for row in rows}


def test_a_killed_switch_goes_on_where_it_ended(
    serving: Caller, start: Callable[[str], subprocess.Popen[str]], other_model: Path
) -> None:
    old = model_of(serving)
    killed = start("wait")
    assert next(reports(killed)) == {"done": BATCH, "total": NOTES}
    stats = serving("index_stats")["vectors"]
    assert (stats["model"], stats["count"], stats["lag"]) == (old, NOTES, 0)
    assert (stats["coming"], stats["coming_count"], stats["coming_lag"]) == (str(other_model), BATCH, NOTES - BATCH)
    assert model_of(serving) == old
    killed.kill()
    killed.wait(PATIENCE)

    assert model_of(serving) == old
    assert sorted(stored_models(serving).values()) == [BATCH, NOTES]

    *steps, last = reports(start("go"))
    assert last["ok"], last["error"]
    assert steps[0] == {"done": BATCH, "total": NOTES - BATCH}
    assert last["result"]["embedded"] == NOTES - BATCH
    new = last["result"]["model"]
    assert new != old
    assert model_of(serving) == new
    assert stored_models(serving) == {new: NOTES}
    stats = serving("index_stats")["vectors"]
    assert (stats["model"], stats["count"], stats["lag"], "coming" in stats) == (new, NOTES, 0, False)
