"""Thoughtbox directories both ways: what is exported imports to the same, finished sessions arrive finished."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.app import Clew, open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings
from tests.contract.local_calls import call


@pytest.fixture(scope="module")
def shared() -> Iterator[Clew]:
    with tempfile.TemporaryDirectory() as home:
        clew = open_clew(load_settings({"home": home, "workspace": "w", "workspace_lock": False}, {}))
        yield clew
        clew.close()


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40).filter(str.strip)
shapes = st.lists(st.tuples(texts, st.sampled_from(["plain", "revise", "branch"])), min_size=1, max_size=8)


def think(clew: Clew, workspace: str, shape: list[tuple[str, str]], finished: bool) -> str:
    session = call(clew, "start_new", sessionTitle="Trip", sessionTags=["a", "b"], workspace=workspace)["sessionId"]
    place = {"sessionId": session, "workspace": workspace}
    call(clew, "thought", thought="first", nextThoughtNeeded=True, **place)
    for number, (text, kind) in enumerate(shape):
        more: dict[str, Any] = {"revisesThought": 1} if kind == "revise" else {}
        more |= {"branchId": f"b{number}", "branchFromThought": 1} if kind == "branch" else {}
        call(clew, "thought", thought=text, nextThoughtNeeded=True, **more, **place)
    if finished:
        call(clew, "thought", thought="done", nextThoughtNeeded=False, **place)
    return str(session)


def told(clew: Clew, workspace: str, session: str) -> dict[str, Any]:
    """An export without what depends on when somebody looked."""
    exported = json.loads(call(clew, "session_export", sessionId=session, workspace=workspace)["content"])
    exported.pop("exportedAt")
    exported["session"].pop("lastAccessedAt")
    return dict(exported)


@settings(max_examples=15)
@given(shape=shapes, finished=st.booleans(), number=st.integers(0, 10**9))
def test_a_directory_exported_and_imported_is_the_same(
    shared: Clew, shape: list[tuple[str, str]], finished: bool, number: int
) -> None:
    source, target = f"from-{number}", f"to-{number * 7 + 1}-other"
    session = think(shared, source, shape, finished)
    with tempfile.TemporaryDirectory() as folder:
        report = call(shared, "export_thoughtbox", path=folder, sessionIds=[session], workspace=source)
        assert report["valid"]
        call(shared, "import_thoughtbox", path=folder, workspace=target)
    before, after = told(shared, source, session), told(shared, target, session)
    assert after["nodes"] == before["nodes"]
    assert after["session"]["status"] == ("completed" if finished else "active")


def test_a_data_directory_of_the_original_is_offered_for_import(tmp_path: Path) -> None:
    """THOUGHTBOX_DATA_DIR names a directory that Thoughtbox wrote; a finished session arrives finished."""
    node: dict[str, Any] = {
        "id": "11111111-1111-4111-8111-111111111111:1",
        "data": {
            "thought": "all done",
            "thoughtNumber": 1,
            "totalThoughts": 1,
            "nextThoughtNeeded": False,
            "timestamp": "2026-01-05T10:00:00.190Z",
        },
        "prev": None,
        "next": [],
        "revisesNode": None,
        "branchOrigin": None,
        "branchId": None,
    }
    folder = tmp_path / "projects" / "_default" / "sessions" / "2026-01" / "11111111-1111-4111-8111-111111111111"
    (folder / "branches").mkdir(parents=True)
    (folder / "001.json").write_text(json.dumps(node))
    about = {
        "title": "Old",
        "tags": [],
        "createdAt": "2026-01-05T10:00:00.000Z",
        "updatedAt": "2026-01-05T10:00:00.190Z",
    }
    manifest = {
        "id": folder.name,
        "version": "1.0.0",
        "thoughtFiles": ["001.json"],
        "branchFiles": {},
        "metadata": about,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    clew = open_clew(load_settings({"workspace": "w"}, {"THOUGHTBOX_DATA_DIR": str(tmp_path)}))
    agent = Connection(toolset="thoughtbox")
    try:
        offer = clew.dispatcher.call("thoughtbox_gateway", {"operation": "list_sessions"}, agent)
        assert "import_thoughtbox" in offer.text
        call(clew, "import_thoughtbox")
        listed = call(clew, "session_list")["sessions"]
        assert [(item["title"], item["status"]) for item in listed] == [("Old", "completed")]
        assert listed[0]["completedAt"] == "2026-01-05T10:00:00.190Z"
        assert "import_thoughtbox" not in clew.dispatcher.call("list_sessions", {}, agent).text
    finally:
        clew.close()
