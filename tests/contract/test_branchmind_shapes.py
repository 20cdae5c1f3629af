"""The shapes of BranchMind's answers that its own tests read: ids, keys and types, over the wire.

Each was found by running BranchMind's tests against Clew; docs/contracts/branchmind.toml numbers them N1 to N15.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_branchmind import STEP, Caller, transcript
from tests.contract.wire import Wire, serving


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    home = tmp_path_factory.mktemp("shapes")
    with serving(home, "full", environ={"CODEX_HOME": str(home / "codex")}) as found:
        yield found


@pytest.fixture
def call(wire: Wire) -> Caller:
    caller = Caller(wire, f"w-{uuid.uuid4().hex}")
    caller("init")
    return caller


@pytest.fixture
def task(call: Caller) -> str:
    call("tasks_macro_start", plan_title="Import", task_title="Importer", steps=[STEP, {**STEP, "title": "Write rows"}])
    return "TASK-001"


def test_lint_parks_the_newest_active_tasks_and_lists_the_active_ones(call: Caller) -> None:
    call("tasks_create", kind="plan", title="Import")
    for number in range(1, 5):
        call("tasks_create", title=f"T{number}", parent="PLAN-001")
        call("tasks_complete", task=f"TASK-{number:03d}", status="ACTIVE")
    found = call("tasks_lint", plan="PLAN-001")
    assert [action["id"] for action in found["actions"]] == ["action:plan:list_active_tasks"]
    parked = [patch["id"] for patch in found["patches"] if ":park:" in patch["id"]]
    assert parked == ["patch:plan:active_limit:park:TASK-004"]
    call("tasks_focus_set", task="TASK-004")
    again = call("tasks_lint", plan="PLAN-001")["patches"]
    assert [patch["id"] for patch in again if ":park:" in patch["id"]] == ["patch:plan:active_limit:park:TASK-003"]


def test_a_reply_shows_its_event_with_the_refs_of_its_text(call: Caller) -> None:
    call("tasks_jobs_create", title="Look", prompt="Look.")
    said = "- cargo test -q\nsee https://ci.example/7 and CARD-7"
    reply = call("tasks_jobs_radar", reply_job="JOB-001", reply_message=said, reply_refs=["JOB-001"])["reply"]
    event = reply["event"]
    assert event["refs"] == ["LINK: https://ci.example/7", "CMD: cargo test -q", "CARD-7", "JOB-001"]
    assert {"job_id", "kind", "message", "ref", "seq", "ts_ms"} <= event.keys() and event["kind"] == "manager"
    assert reply["job"]["job_id"] == "JOB-001" and reply["job"]["status"] == "QUEUED"


def test_the_mirror_of_a_plan_is_its_checklist_and_tasks(call: Caller, task: str) -> None:
    call("tasks_plan", plan="PLAN-001", steps=["design", "build"], doc="PLAN.md", advance=True)
    shown = call("tasks_mirror", plan="PLAN-001")
    assert shown["scope"] == {"id": "PLAN-001", "kind": "plan"} and "steps" not in shown
    assert shown["checklist"] == {"current": 1, "doc": "PLAN.md", "steps": ["design", "build"]}
    assert shown["plan"].keys() == {"id", "title", "status", "revision"} == shown["tasks"][0].keys()
    assert [row["id"] for row in shown["tasks"]] == [task]
    assert call.envelope("tasks_mirror", plan="PLAN-001", path="s:0")["error"]["code"] == "INVALID_INPUT"


def test_events_hold_what_changed(call: Caller, task: str) -> None:
    patch = {"title": "New", "priority": "HIGH"}
    event = call("tasks_edit", task=task, **patch)["event"]
    assert event["payload"] == {"kind": "task", "patch": patch}
    assert call("tasks_delta", since=None)["events"][-1]["payload"] == event["payload"]
    moved = call("tasks_plan", plan="PLAN-001", steps=["one"])["event"]
    assert moved["payload"] == {"steps": ["one"], "current": None, "doc": None, "advance": False}
    (entry,) = call("show", target=task, doc_kind="trace", limit=1)["entries"]
    opened = call("open", id=f"{entry['doc']}@{entry['seq']}")["entry"]
    assert opened["event_id"] == event["event_id"] and opened["payload"] == event["payload"]


def test_a_graph_diff_compares_with_the_base_or_the_checkout(call: Caller, task: str) -> None:
    call("think_card", target=task, card={"id": "C1", "type": "decision", "title": "Read twice"})
    shown = call("tasks_resume_super", task=task, graph_diff=True)
    found = shown["graph_diff"]
    assert (found["available"], found["base"], found["base_source"]) == (True, "main", "checkout")
    counted = found["summary"]
    assert counted["nodes_changed"] + counted["edges_changed"] == counted["total"] == len(found["changes"])
    assert counted["partial"] is False and shown["capsule"]["graph_diff"] == counted
    call("checkout", ref=found["branch"])
    own = call("tasks_resume_super", task=task, graph_diff=True)["graph_diff"]
    assert (own["available"], own["reason"]) == (False, "no_base")


def test_progress_and_confidence_are_numbers(call: Caller, task: str) -> None:
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    (row,) = call("tasks_context", task=task)["tasks"]
    assert (row["progress"], row["steps_count"], row["steps_completed"]) == (50, 2, 1)
    assert isinstance(call.route, Wire)
    transcript(call.route.home / "codex", "a word about shapes")
    (hit,) = call("transcripts_search", query="about shapes")["hits"]
    assert hit["project"]["confidence"] == 95


def test_the_node_of_a_step_has_its_address(call: Caller, task: str) -> None:
    nodes = {node["id"]: node["meta"] for node in call("graph_query", target=task)["nodes"]}
    address = {"source": "tasks", "task_id": task, "step_id": "STEP-00000001", "path": "s:0"}
    assert nodes["step:STEP-00000001"] == address


@pytest.mark.parametrize("name", ["think_watch", "think_pack", "context_pack"])
def test_the_calls_of_a_capsule_are_whole(call: Caller, task: str, name: str) -> None:
    call("think_card", target=task, card={"id": "CARD-H", "type": "hypothesis", "title": "It is the lock"})
    shown = call(name, target=task)
    primary = shown["capsule"]["next"]["primary"]
    (way,) = primary["calls"]
    assert way.keys() >= {"action", "target", "params", "priority", "reason", "validated"}
    assert way["action"] == "call_tool" and primary["why"] and primary["refs"] == ["CARD-H"]
    assert shown["engine"]["actions"][0]["refs"] == ["CARD-H"]


def test_what_is_not_there_and_what_is_past_the_end_are_no_errors(call: Caller, task: str) -> None:
    assert call("tag_delete", name="nothing")["deleted"] is False
    call("tasks_plan", plan="PLAN-001", steps=["one", "two"])
    for _ in range(3):
        moved = call("tasks_plan", plan="PLAN-001", advance=True)
    assert moved["plan"]["plan_progress"] == "3/2"
    issues = call("tasks_lint", plan="PLAN-001")["issues"]
    assert "CHECKLIST_INDEX_OUT_OF_RANGE" in [issue["code"] for issue in issues]


def test_force_closes_no_step_past_its_gate(call: Caller, task: str) -> None:
    refused = call.envelope("tasks_progress", task=task, path="s:0", completed=True, force=True)
    assert refused["error"]["code"] == "CHECKPOINTS_NOT_CONFIRMED"


def test_keys_of_patches_deletions_and_merged_notes(call: Caller, task: str) -> None:
    ops = [{"op": "set", "field": "priority", "value": "HIGH"}]
    patched = call("tasks_patch", task=task, ops=ops)
    assert patched.keys() == {"id", "kind", "revision", "event"} and (patched["id"], patched["kind"]) == (task, "task")
    gone = call("tasks_delete", task=task, path="s:1")
    assert gone["step"] == {"step_id": "STEP-00000002", "path": "s:1"} and gone["task"] == task
    call("branch_create", name="side")
    written = call("notes_commit", branch="side", content="merged")["entry"]
    call("merge", **{"from": "side", "into": "main"})
    meta = call("show", branch="main", doc="notes")["entries"][-1]["meta"]["_merge"]
    assert meta == {"from": "side", "from_seq": written["seq"], "from_ts_ms": written["ts_ms"]}


def test_keys_of_thoughts_job_events_and_the_horizon(call: Caller, task: str) -> None:
    call("trace_sequential_step", target=task, thought="a", thoughtNumber=1, totalThoughts=2, nextThoughtNeeded=True)
    (node,) = call("trace_hydrate", target=task)["sequential"]["nodes"]
    assert (node["isRevision"], node["revisesThought"]) == (False, None) and node["ts_ms"] > 0
    call("tasks_jobs_create", title="Look", prompt="Look.")
    assert call("open", id="JOB-001")["events"][0]["ts"].endswith("Z")
    horizon = call("tasks_mindpack")["mindpack"]["meta"]["horizon"]
    assert horizon == {"active": 0, "backlog": 1, "parked": 0, "stale": 0, "done": 0, "total": 1}


def test_an_opened_task_shows_how_its_cards_begin(call: Caller, task: str) -> None:
    for number in range(10):
        card = {"id": f"CARD-{number}", "type": "decision", "title": f"Decision {number}", "text": "word " * 140}
        call("think_card", target=task, card=card)
    shown = call("open", id=task)
    assert {len(card["text"]) for card in shown["cards"]} == {160} and len(shown["cards"]) == 10
    assert call("open", id="CARD-3")["card"]["text"] == ("word " * 140).strip()


def test_a_delegated_task_begins_with_a_pinned_note(call: Caller) -> None:
    done = call("tasks_macro_delegate", task_title="Storage: fix migrations", job=False)
    card = call("open", id=done["cockpit"]["card_id"])["card"]
    assert card["type"] == "note" and {"pinned", "v:canon", "a:storage"} <= set(card["tags"])


UNSET = {"CLEW_WORKSPACE": "", "CLEW_WORKSPACE_LOCK": ""}


def test_without_arguments_the_workspace_is_locked_and_answers_are_short(tmp_path: Path) -> None:
    with serving(tmp_path / "auto", "branchmind", environ=UNSET) as wire:
        status = wire.send("status", {"fmt": "json"}).envelope["result"]
        assert status["workspace_policy"]["workspace_lock"] is True and "defaults" not in status
        elsewhere = wire.send("tasks_create", {"workspace": "otherws", "title": "x", "fmt": "json"}).envelope
        assert elsewhere["error"]["code"] == "WORKSPACE_LOCKED"
        wire.send("tasks_macro_start", {"plan_title": "P", "task_title": "T", "steps": [STEP]})
        short = wire.send("open", {"id": "TASK-001", "fmt": "json"}).envelope["result"]
        assert "cards" not in short and "capsule" not in short
        assert "capsule" in wire.send("open", {"id": "TASK-001", "verbosity": "full", "fmt": "json"}).envelope["result"]


@pytest.mark.parametrize("more", [{"BRANCHMIND_AGENT_ID": "bob"}, {"BRANCHMIND_WORKSPACE_ALLOWLIST": "aa,bb"}])
def test_with_a_choice_of_its_own_nothing_is_locked_or_shortened(tmp_path: Path, more: dict[str, Any]) -> None:
    with serving(tmp_path / "chosen", "branchmind", environ={**UNSET, **more}) as wire:
        status = wire.send("status", {"fmt": "json"}).envelope["result"]
        assert status["workspace_policy"]["workspace_lock"] is False and "defaults" in status


def test_the_allow_list_fences_and_its_first_workspace_is_the_default(tmp_path: Path) -> None:
    with serving(tmp_path / "list", "branchmind", environ={**UNSET, "BRANCHMIND_WORKSPACE_ALLOWLIST": "aa,bb"}) as wire:
        assert wire.send("status", {"fmt": "json"}).envelope["result"]["workspace"] == "aa"
        hand = wire.send("tasks_create", {"workspace": wire.here.name, "title": "x", "fmt": "json"}).envelope
        assert hand["error"]["code"] == "WORKSPACE_NOT_ALLOWED" and wire.here.name not in hand["error"]["recovery"]
