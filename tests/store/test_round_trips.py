"""How often an operation waits for the server. A new read in a hot operation has to be wanted."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew, open_clew
from clew.settings import load_settings
from clew.store.wire import Wire
from tests.conftest import Caller

CARD = {"type": "hypothesis", "title": "The cache is stale", "text": "Reads after a write see old rows."}
MOST: dict[str, tuple[dict[str, Any], int]] = {
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


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[Wire]:
    """Grows whenever the caller waits for the server; what threads do behind the calls keeps nobody waiting."""
    waited: list[Wire] = []
    plain, caller = Wire.exchange, threading.get_ident()

    def counted(wire: Wire) -> Any:
        if threading.get_ident() == caller:
            waited.append(wire)
        return plain(wire)

    monkeypatch.setattr(Wire, "exchange", counted)
    return waited


@pytest.mark.parametrize("name", MOST)
def test_a_hot_operation_waits_for_the_server_a_few_times(call: Caller, name: str, trips: list[Wire]) -> None:
    arguments, most = MOST[name]
    call(name, **arguments)
    trips.clear()
    call(name, **arguments)
    assert 0 < len(trips) <= most


def test_many_blocks_wait_hardly_longer_than_a_few(postgres_url: str, trips: list[Wire], tmp_path: Path) -> None:
    """Read in from a file, then from an archive into another workspace: what is done to all is asked for all."""
    few, many = (waits(postgres_url, trips, tmp_path / str(count), count) for count in (20, 220))
    assert many["read"] <= few["read"] + 5
    assert many["import"] <= few["import"] + 5


def waits(url: str, trips: list[Wire], home: Path, count: int) -> dict[str, int]:
    flags = {"home": home, "database_url": url, "embedding_model": "none", "workspace_lock": False}
    clew = open_clew(load_settings({**flags, "workspace": f"from-{count}", "memory_dir": home / "memory"}, {}, home))
    call, found = Caller(clew), {}
    call("propose_update", block_type="decision", statement="Keep it")
    (home / "memory/decisions").mkdir()
    (home / "memory/decisions/DECISIONS.md").write_text("".join(map(decision, range(count))))
    trips.clear()
    call("list_proposals")
    found["read"] = len(trips)
    exported = Path(call("export_memory", path="all.tar.gz")["path"])
    call("propose_update", block_type="decision", statement="Keep it", workspace=f"to-{count}")
    # Each workspace has an exports directory of its own; a person carries files from one to the other.
    carried = exported.parent.parent / f"to-{count}" / exported.name
    carried.parent.mkdir(exist_ok=True)
    shutil.copy(exported, carried)
    trips.clear()
    assert call("import_memory", path="all.tar.gz", workspace=f"to-{count}")["added"] == count
    found["import"] = len(trips)
    clew.close()
    return found


def decision(number: int) -> str:
    """About something of its own, so that no two of them contradict each other."""
    said = f"Chapter {number} of the handbook was written by author {number}"
    return f"[D-20260101-{number:03d}]\nDate: 2026-01-01\nStatus: active\nStatement: {said}\n\n---\n\n"


def test_many_imported_thoughts_wait_hardly_longer_than_a_few(call: Caller, trips: list[Wire]) -> None:
    waited = []
    for count in (10, 60):
        nodes = [{"data": {"thought": f"Point {number} holds.", "thoughtNumber": number}} for number in range(1, count)]
        trips.clear()
        call("session_import", content=json.dumps({"session": {"title": f"All {count}"}, "nodes": nodes}))
        waited.append(len(trips))
    assert waited[1] <= waited[0] + 5
