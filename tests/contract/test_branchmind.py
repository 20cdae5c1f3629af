"""BranchMind's contract: what a client of it sends, and what it reads in the answer.

Written from the dossier and the list of deviations. Where Clew does something else on purpose,
docs/contracts/branchmind.toml says so and names a test.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult, Request, RequestParams

from clew.app import Clew
from clew.registry.budget import size
from clew.registry.catalogue import catalogue
from tests.contract.wire import Here, Route, Wire, serving
from tests.waiting import until

STEP = {"title": "Read rows", "success_criteria": ["rows are read"], "tests": ["make test"]}


class Caller:
    """Names a workspace that is not the server's own in every call."""

    def __init__(self, route: Route, workspace: str = "elsewhere") -> None:
        self.route = route
        self.workspace = workspace

    def envelope(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        heard = self.route.send(name, {"workspace": self.workspace, "fmt": "json", **arguments})
        assert json.loads(heard.text) == heard.envelope, "text and structured content say the same"
        assert heard.ok is heard.envelope["success"]
        return heard.envelope

    def lines(self, name: str, /, **arguments: Any) -> list[str]:
        """An answer in lines, which goes without structured content."""
        heard = self.route.send(name, {"workspace": self.workspace, "fmt": "lines", **arguments})
        assert heard.structured is None
        return heard.text.splitlines()

    def run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A call as somebody suggested it, with nothing added."""
        heard = self.route.send(name, arguments)
        assert heard.ok, heard.text
        return heard.envelope

    def __call__(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        envelope = self.envelope(name, **arguments)
        assert envelope["success"], envelope["error"]
        result: dict[str, Any] = envelope["result"]
        return result


@pytest.fixture(params=["sqlite", "postgres", "wire"])
def engine(request: pytest.FixtureRequest) -> str:
    """Both engines in this process, and once a server of its own."""
    return str(request.param)


in_process = pytest.mark.parametrize("engine", ["sqlite", "postgres"])
"""For what a test changes in its own process, such as the environment."""


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    home = tmp_path_factory.mktemp("wire")
    with serving(home, "full", environ={"CODEX_HOME": str(home / "codex")}) as found:
        yield found


@pytest.fixture
def call(engine: str, request: pytest.FixtureRequest) -> Caller:
    if engine == "wire":
        caller = Caller(request.getfixturevalue("wire"), f"w-{uuid.uuid4().hex}")
    else:
        caller = Caller(Here(request.getfixturevalue("clew"), "full"))
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
        ("tasks_evidence_capture", {"checks": ["CMD: make test"]}),
        ("tasks_jobs_create", {"title": "Look", "prompt": "Look."}),
        ("tasks_jobs_list", {}),
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
    assert patch["apply"]["arguments"]["workspace"] == call.workspace
    call.run(patch["apply"]["tool"], patch["apply"]["arguments"])
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


def test_placeholders_are_no_blockers_wherever_they_are_written(call: Caller) -> None:
    step = {**STEP, "blockers": ["None", "the licence"]}
    call("tasks_macro_start", plan_title="Import", task_title="Importer", steps=[step])
    call("tasks_decompose", task="TASK-001", steps=[{**step, "title": "Write rows"}])
    patch = {"op": "append", "field": "blockers", "value": "n/a"}
    call("tasks_patch", task="TASK-001", path="s:1", ops=[patch])
    assert call("tasks_radar", task="TASK-001")["radar"]["blockers"] == ["s:0: the licence", "s:1: the licence"]


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
    assert shown["focus"] == task
    call("tasks_focus_clear")
    assert call("open", id=task, verbosity="compact")["focus"] is None


@in_process
def test_a_mark_that_somebody_chose_binds_every_server(make_clew: Callable[..., Clew], tmp_path: Path) -> None:
    Caller(Here(make_clew(home=tmp_path / "one", project_guard="guard-a"), "full"))(
        "tasks_create", kind="plan", title="P"
    )
    refused = Caller(Here(make_clew(home=tmp_path / "one"), "full")).envelope("tasks_create", kind="plan", title="Q")
    assert refused["error"]["code"] == "PROJECT_GUARD_MISMATCH"


def test_the_next_card_survives_a_small_budget(call: Caller) -> None:
    call("think_card", card={"id": "CARD-1", "type": "question", "title": "Why is it slow", "text": "long " * 200})
    shown = call("think_next", max_chars=120)
    assert shown["candidate"]["id"] == "CARD-1" and set(shown["candidate"]) <= {"id", "type", "title", "status"}
    assert size({name: value for name, value in shown.items() if name != "budget"}) <= 120


@pytest.mark.parametrize("name", ["tasks_radar", "tasks_resume_pack", "tasks_resume"])
def test_a_small_budget_keeps_what_is_now(call: Caller, task: str, name: str) -> None:
    assert call(name, task=task, max_chars=120)["radar"]["now"] == "s:0 Read rows"


def test_an_export_keeps_its_target_in_a_small_budget(call: Caller, task: str) -> None:
    call("notes_commit", target=task, content="word " * 500)
    shown = call("export", target=task, max_chars=400)
    assert shown["target"]["id"] == task and shown["reasoning_ref"]
    # Not an empty list, which would say that there are no notes: the newest one, and how its text begins.
    assert [note["content"][:9] for note in shown["notes"]["entries"]] == ["word word"]


def test_a_graph_diff_that_was_asked_for_stays_with_its_figures(call: Caller, task: str) -> None:
    for number in range(40):
        call("think_card", target=task, card={"id": f"C{number}", "type": "decision", "title": "t", "text": "x" * 300})
    shown = call("tasks_resume_super", task=task, graph_diff=True, max_chars=4000)
    assert "graph_diff" in shown and shown["budget"]["used_chars"] <= 4000
    page = shown["graph_diff"]["pagination"]
    assert page["count"] == 0 and page["has_more"]
    after = call("tasks_resume_super", task=task, graph_diff=True, graph_diff_cursor=page["next_cursor"], view="full")
    assert after["graph_diff"]["changes"][0]["id"] == "C39", "the cursor of a list without items leads to its first"


def test_a_page_suggests_the_next_one_and_a_cut_a_larger_budget(call: Caller) -> None:
    for number in range(5):
        call("notes_commit", content=f"note {number} " + "x" * 200)
    page = call.envelope("show", doc="notes", limit=2)
    way = next(item for item in page["suggestions"] if item["action"] == "call_tool")
    assert way["target"] == "show" and way["params"]["cursor"] == page["result"]["pagination"]["next_cursor"]
    cut = call.envelope("show", doc="notes", max_chars=500)
    way = next(item for item in cut["suggestions"] if item["action"] == "call_tool")
    assert way["params"]["max_chars"] > 500
    assert len(call.run(way["target"], way["params"])["result"]["entries"]) == 5


def test_an_empty_plan_is_deleted_under_the_name_of_a_task(call: Caller) -> None:
    call("tasks_create", kind="plan", title="Import")
    call("tasks_delete", task="PLAN-001")
    assert call.envelope("tasks_radar", task="PLAN-001")["error"]["code"] == "UNKNOWN_ID"


def test_figures_count_all_cards_and_the_list_shows_what_fits(call: Caller) -> None:
    for number in range(3):
        call("think_card", card={"id": f"C{number}", "type": "question", "title": "Why", "text": "long " * 60})
    shown = call("think_context", max_chars=700)
    assert 0 < len(shown["cards"]) < 3 and shown["stats"]["cards"] == 3


def test_decisions_and_evidence_carry_their_words(call: Caller, task: str) -> None:
    card = {"id": "CARD-D", "type": "decision", "title": "Use WAL", "text": "Readers do not wait.", "tags": ["speed"]}
    call("think_card", target=task, card=card)
    for name, place in (("tasks_resume_pack", {"task": task}), ("context_pack", {"target": task})):
        decision = call(name, **place)["signals"]["decisions"][0]
        assert (decision["title"], decision["text"]) == ("Use WAL", "Readers do not wait.")
        assert "speed" in decision["tags"] and decision["label"] == "Use WAL"


def test_the_next_action_of_a_capsule_lists_its_calls(call: Caller, task: str) -> None:
    call("think_card", target=task, card={"id": "CARD-H", "type": "hypothesis", "title": "It is the lock"})
    for name in ("think_watch", "think_pack", "context_pack"):
        primary = call(name, target=task)["capsule"]["next"]["primary"]
        (way,) = primary["calls"]
        assert way["target"] == "think_card" and way["params"]["supports"] == ["CARD-H"]


def test_the_meta_of_a_card_is_what_its_author_gave(call: Caller) -> None:
    call("think_card", card={"id": "CARD-M", "type": "decision", "title": "Use WAL", "meta": {"why": "readers"}})
    shown = call("open", id="CARD-M")["card"]
    assert shown["meta"] == {"why": "readers"}
    assert (shown["type"], shown["status"], shown["id"]) == ("decision", "open", "CARD-M"), "beside it, not inside"


def test_refs_are_ids_and_actions_are_complete(call: Caller, task: str) -> None:
    call("think_card", target=task, card={"id": "CARD-H", "type": "hypothesis", "title": "It is the lock"})
    engine = call("think_watch", target=task)["engine"]
    assert engine["signals"][0]["refs"] == ["CARD-H"]
    capsule = call("tasks_resume_super", task=task)["capsule"]
    assert all(isinstance(ref, str) for ref in capsule["refs"]) and call("open", id=capsule["refs"][0])
    action = capsule["map_action"]
    assert "args_hint" not in action
    assert call.route.send(action["tool"], action["args"]).ok


def test_lanes_are_summed_up_with_counts_and_foremost_cards(call: Caller) -> None:
    call("think_card", card={"id": "CARD-Q", "type": "question", "title": "Why"})
    summary = call("think_pack", all_lanes=True)["lane_summary"]
    (lane,) = summary["lanes"]
    assert summary["count"] == 1 and {"lane", "counts", "top_pinned", "top_open"} <= lane.keys()


def test_the_branching_of_a_trace_names_the_branch(call: Caller) -> None:
    for number, more in ((1, {}), (2, {"branchFromThought": 1, "branchId": "alt"})):
        given = {"thoughtNumber": number, "totalThoughts": 2, "nextThoughtNeeded": True, **more}
        call("trace_sequential_step", thought="t", doc="steps", **given)
    graph = call("show", doc="steps", doc_kind="trace")["sequential"]
    assert graph["edges"] == [{"rel": "branch", "from": 1, "to": 2, "branchId": "alt"}]


def test_a_runner_that_went_away_is_offline_and_says_what_it_was(call: Caller) -> None:
    call("tasks_runner_heartbeat", runner_id="r1", status="idle", lease_ttl_ms=1000)
    if isinstance(call.route, Here):
        clock: Any = call.route.clew.dispatcher.clock
        clock.now_ms += 5000
    gone = until(lambda: call("tasks_jobs_radar").get("runner_leases_offline"))
    assert [(item["status"], item["last_status"]) for item in gone["runners"]] == [("offline", "idle")]


def test_a_reply_by_way_of_the_radar_is_told(call: Caller, task: str) -> None:
    call("tasks_jobs_create", title="Look", prompt="Look.", task=task)
    told = call("tasks_jobs_radar", reply_job="JOB-001", reply_message="Go on.")
    assert told["reply"]["job"]["job_id"] == "JOB-001"
    assert call("open", id=told["reply"]["event"]["ref"])["event"]["message"] == "Go on."


def test_the_last_note_of_a_task_says_where_it_lies(call: Caller, task: str) -> None:
    note = call("tasks_macro_finish", task=task, status="PARKED", final_note="Later.")["final_note"]
    shown = call("show", branch=note["branch"], doc=note["doc"])["entries"][-1]
    assert (shown["seq"], shown["content"]) == (note["seq"], "Later.")


def test_a_broken_edge_is_told_with_its_key_and_the_way_to_mend_it(call: Caller) -> None:
    call("think_card", card={"id": "T", "type": "test", "title": "It runs"}, supports=["GONE"])
    (error,) = call("graph_validate")["errors"]
    assert (error["kind"], error["key"]) == ("edge", "T|supports|GONE")
    assert "GONE" in error["recovery"]


def test_the_everyday_list_is_the_originals(call: Caller) -> None:
    """What its own daily toolset lists, in its order of importance."""
    listed = [entry.name for entry in catalogue().listed("daily")]
    assert {"skill", "tasks_lint", "think_playbook", "workspace_reset"} <= set(listed) and len(listed) == 13


def test_too_many_active_tasks_offer_their_list(call: Caller) -> None:
    call("tasks_create", kind="plan", title="Import")
    for number in range(1, 6):
        call("tasks_create", title=f"T{number}", parent="PLAN-001")
        call("tasks_complete", task=f"TASK-{number:03d}", status="ACTIVE")
    (action,) = call("tasks_lint", plan="PLAN-001")["actions"]
    assert action["id"] == "action:plan:list_active_tasks"
    assert len(call.run(action["apply"]["tool"], action["apply"]["arguments"])["result"]["tasks"]) == 5


def test_cut_job_lists_and_tails_say_how_to_go_on(call: Caller, task: str) -> None:
    for number in range(3):
        call("tasks_jobs_create", title=f"Job {number}", prompt="Do it.", task=task)
        call("tasks_jobs_message", job="JOB-001", message=f"word {number}")
    assert call.lines("tasks_jobs_list", limit=2)[-1] == "MORE: limit=4"
    tail = call.lines("tasks_jobs_tail", job="JOB-001", limit=2)
    assert tail[1] == "events:" and tail[-1].startswith("MORE: after_seq=")


def test_the_store_says_where_it_lies(call: Caller) -> None:
    assert call.run("storage", {})["result"]["storage_dir"]


def test_without_a_task_the_way_leads_into_the_plan_that_was_named(call: Caller) -> None:
    call("tasks_create", kind="plan", title="Import")
    refused = call.envelope("tasks_macro_close_step", target="PLAN-001")
    way = next(item for item in refused["suggestions"] if item["action"] == "call_tool")
    assert way["target"] == "tasks_macro_start" and way["params"]["plan"] == "PLAN-001"
    call.run(way["target"], {**way["params"], "fmt": "json"})
    call("tasks_create", kind="plan", title="Another")
    refused = call.envelope("tasks_macro_close_step", target="PLAN-002")
    assert refused["suggestions"][0]["params"].get("plan") == "PLAN-002", "tasks of other plans lead astray"
    assert call.envelope("tasks_macro_close_step", target="PLAN-001")["suggestions"][0]["params"]["task"] == "TASK-001"


@pytest.mark.parametrize(
    "text",
    [
        "Summary: removed the token from the log.",
        "TL;DR it works",
        "Итог: готово",
        "## Summary\nIt works.",
        "# TL;DR\nIt works.",
        "**Summary**\n\nIt works.",
        "### Final summary of today\nIt works.",
    ],
)
def test_short_summaries_are_found(call: Caller, codex: Path, text: str) -> None:
    transcript(codex, text)
    assert [item["message"]["text"] for item in call("transcripts_digest")["digest"]] == [text]


@pytest.fixture
def codex(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where recorded sessions lie for whoever answers the calls."""
    if isinstance(call.route, Wire):
        return call.route.home / "codex"
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return tmp_path / "codex"


def transcript(codex: Path, *texts: str) -> None:
    """The only recorded session of this project."""
    folder = codex / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
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


def test_an_opened_place_is_proposed_with_its_line_and_step(call: Caller, task: str, codex: Path) -> None:
    transcript(codex, "one", "two", "three")
    opened = call.envelope("transcripts_open", ref={"path": "rollout-a.jsonl", "line": 2}, after_lines=2)
    way = next(item for item in opened["suggestions"] if item["action"] == "call_tool")
    assert way["target"] == "macro_branch_note" and way["priority"] == "low", "as the seed says"
    assert way["params"]["content"].startswith("ref: rollout-a.jsonl#L2\n")
    assert way["params"]["meta"]["step"]["path"] == "s:0"
    assert call.route.send(way["target"], way["params"]).ok


@pytest.mark.parametrize("limit", [3000, 1200, 700, 400])
def test_the_line_that_was_asked_for_is_the_last_to_go(call: Caller, codex: Path, limit: int) -> None:
    """A window is cut from both ends, and the note that is proposed quotes no more than there is room for."""
    transcript(codex, *(f"Message {number}: {'long ' * 200}" for number in range(2, 9)))
    asked = {"path": "rollout-a.jsonl", "line": 5}
    byte = call("transcripts_open", ref=asked)["ref"]["byte"]
    opened = call.envelope("transcripts_open", ref=asked, max_chars=limit)
    shown = opened["result"]["entries"]
    middle = next(entry for entry in shown if entry["byte"] == byte)
    assert middle["text"].startswith("Message 5") and len(shown) <= limit // 600 + 1
    note = next(way for way in opened["suggestions"] if way.get("target") == "macro_branch_note")
    assert "Message 5" in note["params"]["content"] and len(note["params"]["content"]) < limit


class LooseParams(RequestParams):
    name: str
    arguments: Any = None


class LooseCall(Request[LooseParams, str]):
    method: str = "tools/call"
    params: LooseParams


def test_arguments_that_are_no_object_are_answered_like_any_wrong_call(wire: Wire) -> None:
    def sent(arguments: Any) -> CallToolResult:
        loose = LooseCall(params=LooseParams(name="tasks_context", arguments=arguments))
        answer: CallToolResult = wire.portal.call(wire.client.session.send_request, loose, CallToolResult)
        return answer

    for wrong in ("nope", [1, 2], 5):
        answer = sent(wrong)
        assert answer.is_error and answer.structured_content is not None
        error = answer.structured_content["error"]
        assert error["code"] == "INVALID_INPUT"
        assert error["hints"] == [{"kind": "type", "field": "arguments", "expected": "object"}]
    assert not sent('{"workspace": "w"}').is_error


@pytest.mark.parametrize("limit", [8000, 6000, 4000, 2500])
def test_a_task_is_opened_with_its_capsule_and_its_reasoning_in_little_room(
    call: Caller, task: str, limit: int
) -> None:
    """The seed's lens is small: the capsule and where the reasoning lies. Cards and the rest go before them."""
    for number in range(25):
        card = {"type": "decision", "title": f"Decision number {number}", "text": "Because of what was measured. " * 8}
        call("think_card", target=task, card=card)
    for id in (task, "PLAN-001"):
        shown = call("open", id=id, max_chars=limit)
        assert shown["capsule"]["type"] == "handoff_capsule" and shown["capsule"]["action"]["tool"], id
        assert shown["reasoning_ref"]["branch"].endswith(id)
    assert call("open", id=task, max_chars=400)["reasoning_ref"]["notes_doc"] == "notes"


def test_a_job_and_an_anchor_are_opened_with_themselves_in_little_room(call: Caller, task: str) -> None:
    call("think_card", target=task, card={"type": "note", "text": "The core. " * 30, "tags": ["a:core"]})
    call("tasks_jobs_create", title="Look", prompt="Look.", task=task)
    assert call("open", id="JOB-001", max_chars=300)["job"]["job_id"] == "JOB-001"
    assert call("open", id="a:core", max_chars=200)["anchor"]["id"] == "a:core"
