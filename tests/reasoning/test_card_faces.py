"""The same thinking over stdio, by `clew call` and inside: every card and anchor operation, the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Caller
from tests.faces.script import Script, by_command, over_stdio, plain
from tests.reasoning.test_card_contract import SHAPES

ANCHORS = [{"id": name, "title": "T", "kind": "component"} for name in ("a:core", "a:old", "a:one")]
SCRIPT: Script = [
    ("think_card", {"card": "type: question\ntitle: Why is it slow?"}),
    *((name, {"card": {"title": name}}) for name in sorted(SHAPES) if name.startswith("think_add_")),
    ("think_template", {"type": "test"}),
    ("think_playbook", {"name": "bisect"}),
    ("think_pipeline", {"hypothesis": "One commit per row", "decision": "Batch", "note_decision": True}),
    ("think_link", {"from": "CARD-2", "rel": "supports", "to": "CARD-5"}),
    ("think_pin", {"targets": ["CARD-2"]}),
    ("think_set_status", {"targets": "CARD-3", "status": "closed"}),
    ("think_publish", {"card_id": "CARD-2", "pin": True}),
    ("think_subgoal_open", {"question_id": "CARD-1"}),
    ("think_subgoal_close", {"subgoal_id": "CARD-12", "return_card": "Because of the disk"}),
    ("think_nominal_merge", {}),
    ("think_query", {"limit": 3}),
    ("think_context", {"view": "smart"}),
    ("think_frontier", {}),
    ("think_next", {}),
    ("think_pins", {}),
    ("think_pack", {}),
    ("think_watch", {"max_chars": 4000}),
    ("think_lint", {}),
    ("context_pack", {"all_lanes": True}),
    ("anchors_bootstrap", {"anchors": ANCHORS}),
    ("anchors_rename", {"from": "a:one", "to": "a:two"}),
    ("anchors_merge", {"from": ["a:old"], "into": "a:core"}),
    ("macro_anchor_note", {"anchor": "a:core", "content": "It holds.", "card_type": "decision"}),
    ("anchors_list", {}),
    ("anchor_snapshot", {"anchor": "a:old"}),
    ("anchors_export", {}),
    ("anchors_lint", {}),
]


@pytest.fixture
def expected(call: Caller) -> list[Any]:
    return [plain(call(name, **arguments)) for name, arguments in SCRIPT]


@pytest.fixture(params=["sqlite"])
def engine(request: pytest.FixtureRequest) -> str:
    """The faces know no engine, so one is enough here."""
    return str(request.param)


def test_the_script_leaves_nothing_out() -> None:
    # The export writes below the project root, which a server process finds for itself.
    assert {name for name, _ in SCRIPT} == set(SHAPES) - {"context_pack_export"}


def test_over_stdio_every_operation_answers_as_inside(expected: list[Any], tmp_path: Path) -> None:
    assert plain(over_stdio(SCRIPT, tmp_path / "stdio")) == expected


def test_by_command_every_operation_answers_as_inside(
    expected: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEW_TOOLSET", "full")
    assert plain(by_command(SCRIPT, tmp_path / "command", capsys)) == expected
