"""How often an operation waits for the server. A new read in a hot operation has to be wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clew.app import Clew, open_clew
from clew.settings import load_settings
from clew.store.wire import Wire
from tests.conftest import Caller

CARD = {"type": "hypothesis", "title": "The cache is stale", "text": "Reads after a write see old rows."}
MOST = {
    "notes_commit": ({"content": "one writer"}, 5),
    "think_card": ({"card": CARD}, 9),
    "graph_query": ({}, 8),
    "think_context": ({}, 20),
    "context_pack": ({}, 36),
    "tasks_note": ({"path": "s:0", "note": "seen"}, 13),
    "tasks_snapshot": ({}, 36),
    "tasks_resume_super": ({}, 30),
    "tasks_jobs_radar": ({}, 8),
}


@pytest.fixture
def call(postgres_url: str, tmp_path: Any) -> Iterator[Caller]:
    settings = load_settings({"home": tmp_path, "database_url": postgres_url, "embedding_model": "none"}, {}, tmp_path)
    clew: Clew = open_clew(settings)
    caller = Caller(clew)
    caller("tasks_macro_start", task_title="One writer at a time")
    for _ in range(3):
        caller("think_card", card=CARD)
    yield caller
    clew.close()


@pytest.mark.parametrize("name", MOST)
def test_a_hot_operation_waits_for_the_server_a_few_times(
    call: Caller, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, most = MOST[name]
    call(name, **arguments)
    trips: list[Wire] = []
    plain = Wire.exchange
    monkeypatch.setattr(Wire, "exchange", lambda wire: trips.append(wire) or plain(wire))  # type: ignore[func-returns-value]
    call(name, **arguments)
    assert 0 < len(trips) <= most
