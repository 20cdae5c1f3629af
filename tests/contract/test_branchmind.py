"""BranchMind's contract: what a client of it sends, and what it reads in the answer.

Written from the dossier and the list of deviations. Where Clew does something else on purpose,
docs/contracts/branchmind.toml says so and names a test.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, Request, RequestParams

from clew.app import Clew
from clew.faces.mcp.server import build_server
from clew.registry.budget import size
from clew.registry.connection import Connection

W = "elsewhere"
STEP = {"title": "Read rows", "success_criteria": ["rows are read"], "tests": ["make test"]}


class Caller:
    """Names a workspace that is not the server's own in every call."""

    def __init__(self, clew: Clew) -> None:
        self.clew = clew
        self.connection = Connection(toolset="full")

    def envelope(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        given = {"workspace": W, "fmt": "json", **arguments}
        return self.clew.dispatcher.call(name, given, self.connection).envelope

    def __call__(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        envelope = self.envelope(name, **arguments)
        assert envelope["success"], envelope["error"]
        result: dict[str, Any] = envelope["result"]
        return result


@pytest.fixture
def call(clew: Clew) -> Caller:
    caller = Caller(clew)
    caller("init")
    return caller


@pytest.fixture
def task(call: Caller) -> str:
    """TASK-001 of PLAN-001 with one step, in focus."""
    call("tasks_macro_start", plan_title="Import", task_title="Importer", steps=[STEP])
    return "TASK-001"


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("tasks_edit", {"title": "X"}),
        ("tasks_focus_set", {}),
        ("tasks_radar", {}),
        ("tasks_handoff", {}),
        ("tasks_resume", {}),
        ("tasks_resume_super", {}),
        ("tasks_resume_pack", {}),
        ("tasks_context_pack", {}),
        ("tasks_snapshot", {}),
        ("tasks_lint", {}),
        ("tasks_history", {}),
        ("tasks_mirror", {}),
        ("tasks_complete", {"status": "PARKED"}),
    ],
)
def test_task_may_name_a_plan(call: Caller, task: str, name: str, more: dict[str, Any]) -> None:
    call(name, task="PLAN-001", **more)


def test_completing_a_plan_answers_under_plan(call: Caller, task: str) -> None:
    assert call("tasks_complete", task="PLAN-001", status="PARKED")["plan"]["id"] == "PLAN-001"
    assert call("tasks_complete", task=task, status="PARKED")["task"]["id"] == task


def test_patches_of_lint_run_as_they_stand(call: Caller, task: str) -> None:
    found = call("tasks_lint", task=task)
    assert {"MISSING_CRITERIA", "MISSING_TESTS"} <= {issue["code"] for issue in found["issues"]}
    patch = next(item for item in found["patches"] if item["id"].endswith(":confirm_criteria"))
    assert patch["apply"]["arguments"]["workspace"] == W
    done = call.clew.dispatcher.call(patch["apply"]["tool"], patch["apply"]["arguments"], call.connection)
    assert done.ok, done.envelope["error"]
    assert "MISSING_CRITERIA" not in {issue["code"] for issue in call("tasks_lint", task=task)["issues"]}


def test_a_pipeline_notes_its_decision_unless_told_not_to(call: Caller, task: str) -> None:
    noted = call("think_pipeline", target=task, decision="Use WAL")["decision_note"]
    assert noted["doc"] == "notes" and noted["seq"] > 0
    assert call("think_pipeline", target=task, decision="Use DELETE", note_decision=False)["decision_note"] is None
    assert call("think_pipeline", target=task, frame="Only a frame")["decision_note"] is None


def test_the_full_view_shows_drafts(call: Caller, task: str) -> None:
    for kind in ("frame", "note", "hypothesis", "decision"):
        call("think_card", target=task, card={"id": f"CARD-{kind}", "type": kind, "title": kind})
    shown = call("tasks_resume_super", task=task, view="full")["memory"]["cards"]
    assert {card["type"] for card in shown} == {"frame", "note", "hypothesis", "decision"}
    smart = call("tasks_resume_super", task=task, view="smart")["memory"]["cards"]
    assert "note" not in {card["type"] for card in smart}


@pytest.mark.parametrize("word", ["None", "null", "N/A", "na"])
def test_placeholders_are_no_blockers(call: Caller, task: str, word: str) -> None:
    call("tasks_define", task=task, path="s:0", blockers=[word])
    assert call("tasks_radar", task=task)["radar"]["blockers"] == []


def test_staleness_is_read_from_the_run_of_a_test(call: Caller) -> None:
    run = {"run": {"cmd": "make test", "stale_after_ms": 0}}
    call("think_card", card={"id": "T", "type": "test", "title": "It runs", "meta": run})
    call("think_card", card={"id": "E", "type": "evidence", "title": "It ran"}, supports=["T"])
    call("think_card", card={"id": "N", "type": "note", "title": "Time goes by"})
    engine = call("think_watch", all_lanes=True)["engine"]
    assert "BM8_EVIDENCE_STALE" in {signal["code"] for signal in engine["signals"]}
    assert "run_test" in {action["kind"] for action in engine["actions"]}


def test_jobs_that_fan_out_carry_a_skill_profile(call: Caller, task: str) -> None:
    made = call("tasks_macro_fanout_jobs", task=task, anchors=["a:core", "a:ui"], prompt="Look.")
    shown = call("tasks_jobs_open", job=made["jobs"][0]["job_id"], include_meta=True)
    assert shown["meta"] == {"skill_profile": "strict", "skill_max_chars": 1200}


def test_a_task_opened_compactly_shows_the_way_on(call: Caller, task: str) -> None:
    shown = call("open", id=task, verbosity="compact")
    assert shown["next_action"]["tool"] and shown["reasoning_ref"]["notes_doc"] == "notes"


def test_a_mark_that_somebody_chose_binds_every_server(make_clew: Callable[..., Clew], tmp_path: Path) -> None:
    Caller(make_clew(home=tmp_path / "one", project_guard="guard-a"))("tasks_create", kind="plan", title="P")
    refused = Caller(make_clew(home=tmp_path / "one")).envelope("tasks_create", kind="plan", title="Q")
    assert refused["error"]["code"] == "PROJECT_GUARD_MISMATCH"


def test_the_next_card_survives_a_small_budget(call: Caller) -> None:
    call("think_card", card={"id": "CARD-1", "type": "question", "title": "Why is it slow", "text": "long " * 200})
    shown = call("think_next", max_chars=120)
    assert shown["candidate"]["id"] == "CARD-1" and set(shown["candidate"]) <= {"id", "type", "title", "status"}
    assert size({name: value for name, value in shown.items() if name != "budget"}) <= 120


def test_an_export_keeps_its_target_in_a_small_budget(call: Caller, task: str) -> None:
    call("notes_commit", target=task, content="word " * 500)
    shown = call("export", target=task, max_chars=400)
    assert shown["target"]["id"] == task and shown["reasoning_ref"] and shown["notes"]["entries"] == []


def test_a_graph_diff_that_was_asked_for_stays_with_its_figures(call: Caller, task: str) -> None:
    for number in range(40):
        call("think_card", target=task, card={"id": f"C{number}", "type": "decision", "title": "t", "text": "x" * 300})
    shown = call("tasks_resume_super", task=task, graph_diff=True, max_chars=4000)
    assert "graph_diff" in shown and shown["budget"]["used_chars"] <= 4000


def test_a_page_suggests_the_next_one_and_a_cut_a_larger_budget(call: Caller) -> None:
    for number in range(5):
        call("notes_commit", content=f"note {number} " + "x" * 200)
    page = call.envelope("show", doc="notes", limit=2)
    way = next(item for item in page["suggestions"] if item["action"] == "call_tool")
    assert way["target"] == "show" and way["params"]["cursor"] == page["result"]["pagination"]["next_cursor"]
    cut = call.envelope("show", doc="notes", max_chars=500)
    way = next(item for item in cut["suggestions"] if item["action"] == "call_tool")
    assert way["params"]["max_chars"] > 500
    whole = call.clew.dispatcher.call(way["target"], way["params"], call.connection)
    assert len(whole.envelope["result"]["entries"]) == 5


def test_the_store_says_where_it_lies(call: Caller) -> None:
    assert call.clew.dispatcher.call("storage", {}, call.connection).envelope["result"]["storage_dir"]


def test_without_a_task_the_way_leads_into_the_plan_that_was_named(call: Caller) -> None:
    call("tasks_create", kind="plan", title="Import")
    refused = call.envelope("tasks_macro_close_step", target="PLAN-001")
    way = next(item for item in refused["suggestions"] if item["action"] == "call_tool")
    assert way["target"] == "tasks_macro_start" and way["params"]["plan"] == "PLAN-001"


@pytest.mark.parametrize("text", ["Summary: removed the token from the log.", "TL;DR it works", "Итог: готово"])
def test_short_summaries_are_found(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    found = digest(call, tmp_path, monkeypatch, text)
    assert [item["message"]["text"] for item in found] == [text]


def transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *texts: str) -> None:
    """A recorded session of this project."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    folder = tmp_path / "codex" / "sessions"
    folder.mkdir(parents=True)
    head = {
        "type": "session_meta",
        "payload": {"id": "s1", "cwd": str(Path.cwd()), "timestamp": "2026-11-15T10:00:00Z"},
    }
    said = [
        {
            "type": "response_item",
            "timestamp": "2026-11-15T10:00:01Z",
            "payload": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            },
        }
        for text in texts
    ]
    (folder / "rollout-a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [head, *said]))


def digest(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *texts: str) -> list[dict[str, Any]]:
    transcript(tmp_path, monkeypatch, *texts)
    found: list[dict[str, Any]] = call("transcripts_digest")["digest"]
    return found


def test_an_opened_place_is_proposed_with_its_line_and_step(
    call: Caller, task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript(tmp_path, monkeypatch, "one", "two", "three")
    opened = call.envelope("transcripts_open", ref={"path": "rollout-a.jsonl", "line": 2}, after_lines=2)
    way = next(item for item in opened["suggestions"] if item["action"] == "call_tool")
    assert way["params"]["content"].startswith("ref: rollout-a.jsonl#L2\n")
    assert way["params"]["meta"]["step"]["path"] == "s:0"
    assert call.clew.dispatcher.call(way["target"], way["params"], call.connection).ok


class LooseParams(RequestParams):
    name: str
    arguments: Any = None


class LooseCall(Request[LooseParams, str]):
    method: str = "tools/call"
    params: LooseParams


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("engine", ["sqlite"])
async def test_arguments_that_are_no_object_are_answered_like_any_wrong_call(make_clew: Callable[..., Clew]) -> None:
    async with Client(build_server(make_clew(toolset="branchmind")), mode="legacy") as client:
        sent = LooseCall(params=LooseParams(name="tasks_context", arguments="nope"))
        answer = await client.session.send_request(sent, CallToolResult)
        assert answer.is_error and answer.structured_content is not None
        error = answer.structured_content["error"]
        assert error["code"] == "INVALID_INPUT"
        assert error["hints"] == [{"kind": "type", "field": "arguments", "expected": "object"}]
        sent = LooseCall(params=LooseParams(name="tasks_context", arguments='{"workspace": "w"}'))
        assert not (await client.session.send_request(sent, CallToolResult)).is_error
