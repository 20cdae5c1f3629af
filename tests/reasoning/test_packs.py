"""Packs: notes, trace and cards in one bounded answer; as a file below the project root."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from clew.app import Clew
from tests.conftest import Caller
from tests.reasoning.thinking import VIEWS, a_task, ids, think
from tests.suggestions import run_suggestions


def test_a_pack_holds_notes_trace_cards_and_signals(call: Caller) -> None:
    call("notes_commit", content="remember")
    think(call, "H")
    think(call, "B", "question", tags=["blocker"])
    think(call, "D", "decision", blocks=["H"])
    think(call, "E", "evidence", supports=["D"])
    pack = call("context_pack")
    assert pack["docs"] == {"notes": "notes", "trace": "trace", "graph": "graph"}
    assert [note["content"] for note in pack["notes"]["entries"]] == ["remember"]
    assert [entry["meta"]["card_id"] for entry in pack["trace"]["entries"]] == ["H", "B", "D", "E"]
    assert ids(pack["signals"]["decisions"]) == ["D"]
    assert ids(pack["signals"]["evidence"]) == ["E"]
    assert ids(pack["signals"]["blockers"]) == ["B", "D"]
    assert pack["capsule"]["type"] == "context_pack_capsule"
    assert pack["capsule"]["where"]["lane"] == {"kind": "shared"}
    assert pack["stats"] == {
        "cards": 4,
        "by_type": {"hypothesis": 1, "question": 1, "decision": 1, "evidence": 1},
        "notes": 1,
        "trace": 4,
    }


def test_limits_of_zero_switch_parts_off(call: Caller) -> None:
    call("notes_commit", content="n")
    think(call, "D", "decision")
    pack = call("context_pack", notes_limit=0, trace_limit=0, limit_cards=0, decisions_limit=0)
    assert pack["notes"]["entries"] == pack["trace"]["entries"] == pack["cards"] == pack["signals"]["decisions"] == []
    watch = call("think_watch", trace_limit_steps=0)
    assert watch["trace"]["entries"] == []


def test_all_lanes_show_drafts_and_sum_the_lanes_up(call: Caller) -> None:
    think(call, "N", "note")
    think(call, "L", "decision", tags=["lane:agent:ann"])
    hidden, shown = call("context_pack"), call("context_pack", all_lanes=True)
    assert (hidden["cards"], hidden["trace"]["entries"]) == ([], [])
    assert "lane_summary" not in hidden
    assert [entry["meta"]["card_id"] for entry in shown["trace"]["entries"]] == ["N", "L"]
    assert shown["capsule"]["where"]["lane"] == {"kind": "all"}
    lanes = {lane["lane"]: lane["counts"]["cards"] for lane in shown["lane_summary"]["lanes"]}
    assert lanes == {"agent:ann": 1, "shared": 1}


def test_a_target_without_context_points_to_the_branch_that_has_some(call: Caller) -> None:
    call("notes_commit", content="written before the task")
    task = a_task(call, "First")
    answer = call.answer("context_pack", target=task)
    assert answer.envelope["result"]["bridge"] == {
        "checkout": "main",
        "docs": {"notes": "notes", "trace": "trace", "graph": "graph"},
        "has": {"notes": True, "trace": False, "cards": False},
    }
    assert "CONTEXT_EMPTY_FOR_TARGET" in [warning["code"] for warning in answer.envelope["warnings"]]
    think(call, "H", target=task)
    assert "bridge" not in call("context_pack", target=task)


def test_a_target_excludes_branch_and_documents(call: Caller) -> None:
    task = a_task(call, "First")
    for name, other in {
        "context_pack": {"ref": "main"},
        "think_pack": {"graph_doc": "g"},
        "think_watch": {"trace_doc": "t"},
    }.items():
        error = call.error(name, target=task, **other)
        assert (error["code"], error["hints"][0]["kind"]) == ("INVALID_INPUT", "choose_one")


def test_watch_clips_statements_to_bytes(call: Caller) -> None:
    think(call, "H", text="äöü" * 50)
    (entry,) = call("think_watch", trace_statement_max_bytes=20)["trace"]["entries"]
    assert len(entry["content"].encode()) <= 20 and entry["content"].startswith("äöü")


def test_numbered_thoughts_show_their_branching_even_when_cut(call: Caller) -> None:
    for number in (1, 2, 3):
        more = {"branchFromThought": 1, "branchId": "b"} if number == 3 else {}
        call(
            "trace_sequential_step",
            thought="t" * 500,
            thoughtNumber=number,
            totalThoughts=3,
            nextThoughtNeeded=True,
            **more,
        )
    for name in ("context_pack", "think_watch"):
        graph = call(name)["trace"]["sequential"]
        assert graph["edges"] == [{"rel": "branch", "from": 1, "to": 3, "branchId": "b"}]
        trace = call(name, max_chars=1600)["trace"]
        numbers = [entry["meta"]["thoughtNumber"] for entry in trace["entries"]]
        assert [node["thoughtNumber"] for node in trace["sequential"]["nodes"]] == numbers


def test_a_tight_budget_keeps_the_capsule(call: Caller) -> None:
    for number in range(30):
        think(call, f"H{number}", text="many words " * 30)
    for name in ("think_watch", "think_pack", "context_pack"):
        answer = call.answer(name, max_chars=2000)
        result = answer.envelope["result"]
        assert result["capsule"]["next"]["primary"]["kind"] == "add_test_stub", name
        assert result["budget"]["used_chars"] <= 2000
        warned = {warning["code"] for warning in answer.envelope["warnings"]}
        assert warned & {"BUDGET_TRUNCATED", "BUDGET_MINIMAL"}


def test_an_exported_pack_is_the_pack(call: Caller, tmp_path: Path) -> None:
    think(call, "H", text="password=hunter2")
    done = call("context_pack_export", out_file=".agents/pack.json")
    written = Path(done["out_file"])
    assert written == tmp_path / ".agents" / "pack.json"
    assert done["bytes"] == written.stat().st_size
    assert orjson.loads(written.read_bytes()) == call("context_pack")
    assert b"hunter2" not in written.read_bytes()
    assert call("context_pack_export", out_file=".agents/pack.json", max_chars=900)["truncated"] is True
    assert orjson.loads(written.read_bytes())["budget"]["used_chars"] <= 900
    assert [path.name for path in written.parent.iterdir()] == ["pack.json"]


@pytest.mark.parametrize(
    "path",
    ["../pack.json", "/etc/pack.json", "pack.txt", ".git/pack.json", "link/pack.json", "a\x00.json", ".", "dir.json"],
)
def test_an_export_stays_below_the_project_root(clew: Clew, call: Caller, tmp_path: Path, path: str) -> None:
    outside = tmp_path.parent / f"outside-{tmp_path.name}"
    outside.mkdir()
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "dir.json").mkdir()
    answer = call.answer("context_pack_export", out_file=path)
    assert answer.envelope["error"]["code"] in {"INVALID_INPUT", "IO_ERROR"}
    assert list(outside.iterdir()) == []
    run_suggestions(clew, answer, call.session)


def test_equal_state_gives_equal_bytes(call: Caller) -> None:
    a_task(call, "First")
    for number in range(5):
        think(call, f"H{number}", step="focus")
    for name in (*VIEWS, "think_pins", "think_lint"):
        first: Any = call.answer(name)
        assert first.ok and first.text == call.answer(name).text
