"""Branches, documents, graphs, traces and transcripts over stdio, by `clew call` and inside: the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from clew.settings import project_root
from tests.conftest import Caller
from tests.faces.script import Script, by_command, over_stdio, plain
from tests.reasoning.test_document_contract import SHAPES

NODE = {"op": "node_upsert", "id": "A", "type": "note", "text": "a"}
EDGE = {"op": "edge_upsert", "from": "A", "rel": "supports", "to": "B"}


def script(root: Path) -> Script:
    sessions = root / "codex/sessions"
    path = sessions / "s.jsonl"
    if not path.exists():
        sessions.mkdir(parents=True)
        said = {"role": "assistant", "content": "Summary\n- a migration\n- done" * 9}
        place = {"type": "session_meta", "payload": {"id": "s1", "cwd": str(project_root(Path.cwd()))}}
        path.write_bytes(orjson.dumps(said) + b"\n" + orjson.dumps(place) + b"\n")
    window = {"root_dir": str(sessions), "cwd_prefix": ""}
    return [
        ("commit", {"artifact": "First", "message": "Start"}),
        ("notes_commit", {"content": "Second", "title": "T"}),
        ("tag_create", {"name": "t"}),
        ("tag_list", {}),
        ("graph_apply", {"ops": [NODE, {**NODE, "id": "B"}, EDGE]}),
        ("branch_create", {"name": "x"}),
        ("graph_apply", {"branch": "x", "ops": [{**NODE, "text": "b"}]}),
        ("graph_apply", {"ops": [{**NODE, "text": "c"}]}),
        ("graph_diff", {"from": "main", "to": "x"}),
        ("graph_merge", {"from": "x"}),
        ("graph_conflicts", {"into": "main"}),
        ("graph_query", {}),
        ("graph_validate", {}),
        ("macro_branch_note", {"name": "x", "content": "On x"}),
        ("diff", {"from": "main", "to": "x"}),
        ("merge", {"from": "x"}),
        ("checkout", {"ref": "main"}),
        ("log", {}),
        ("reset", {"ref": "t"}),
        ("reflog", {}),
        ("tag_delete", {"name": "t"}),
        ("trace_step", {"step": "looked"}),
        (
            "trace_sequential_step",
            {"thought": "so", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False},
        ),
        ("trace_hydrate", {}),
        ("trace_validate", {}),
        ("show", {}),
        ("docs_list", {}),
        ("open", {"id": "A"}),
        ("branch_rename", {"old": "x", "new": "y"}),
        ("branch_delete", {"name": "y"}),
        ("branch_list", {}),
        ("transcripts_search", {**window, "query": "migration"}),
        ("transcripts_digest", window),
        ("transcripts_open", {"root_dir": str(sessions), "ref": {"path": "s.jsonl", "line": 1}}),
    ]


# These need ids that only an earlier answer brings; the contract test calls them.
ELSEWHERE = {"graph_conflict_show", "graph_conflict_resolve", "graph_conflict_reopen", "export"}


@pytest.fixture(params=["sqlite"])
def engine(request: pytest.FixtureRequest) -> str:
    """The faces know no engine, so one is enough here."""
    return str(request.param)


@pytest.fixture(autouse=True)
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))


@pytest.fixture
def expected(call: Caller, tmp_path: Path) -> list[Any]:
    return [plain(call(name, **arguments)) for name, arguments in script(tmp_path)]


def test_the_script_leaves_nothing_out(tmp_path: Path) -> None:
    assert {name for name, _ in script(tmp_path)} == set(SHAPES) - ELSEWHERE


def test_over_stdio_every_operation_answers_as_inside(expected: list[Any], tmp_path: Path) -> None:
    assert plain(over_stdio(script(tmp_path), tmp_path / "stdio")) == expected


def test_by_command_every_operation_answers_as_inside(
    expected: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEW_TOOLSET", "full")
    assert plain(by_command(script(tmp_path), tmp_path / "command", capsys)) == expected
