"""What BranchMind's answers leave out, over the wire: a page suggests the next, a small budget keeps the answer."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.test_branchmind import STEP, Caller
from tests.contract.wire import Wire, serving

HOW_MANY = 7


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    home = tmp_path_factory.mktemp("pages")
    write_session(home / "codex" / "sessions" / "rollout-1.jsonl", home)
    with serving(home, "full", here=home, environ={"CODEX_HOME": str(home / "codex")}) as found:
        yield found


def write_session(path: Path, here: Path) -> None:
    path.parent.mkdir(parents=True)
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "Summary: the parser reads quotes."}]}
    records = [
        {"type": "session_meta", "timestamp": "2026-01-01T00:00:00Z", "payload": {"id": "s1", "cwd": str(here)}},
        {"type": "response_item", "timestamp": "2026-01-01T00:00:01Z", "payload": {"type": "message", **said}},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture(scope="module")
def call(wire: Wire) -> Caller:
    """A workspace with more of everything than a page shows."""
    caller = Caller(wire, f"w-{uuid.uuid4().hex}")
    caller("init")
    caller("tasks_macro_start", plan_title="Import", task_title="Importer", steps=[STEP])
    caller("tasks_jobs_create", title="Look", prompt="Look.", task="TASK-001")
    caller("branch_create", name="trial", **{"from": "main"})
    for number in range(HOW_MANY):
        caller("tasks_create", kind="plan", title=f"Plan {number}")
        caller("tasks_create", parent="PLAN-001", title=f"Task {number}")
        caller("tasks_jobs_message", job="JOB-001", message=f"Turn {number}")
        caller("notes_commit", target="TASK-001", content=f"Note {number}")
        caller("notes_commit", branch="trial", doc="notes", content=f"Idea {number}")
        node = {"op": "node_upsert", "id": f"n{number}", "type": "area"}
        caller("graph_apply", branch="trial", ops=[node])
    return caller


def followed(call: Caller, name: str, **given: Any) -> Iterator[dict[str, Any]]:
    """The answers that one gets by sending what each of them suggests."""
    envelope = call.envelope(name, **given)
    for _ in range(50):
        yield envelope["result"]
        ways = [way for way in envelope["suggestions"] if way.get("target") == name]
        if not ways:
            return
        envelope = call.run(name, {**ways[0]["params"], "fmt": "json"})
    raise AssertionError(f"{name} never ends")


PAGED = [
    ("tasks_context", {"tasks_limit": 2}, "tasks", "id"),
    ("tasks_context", {"plans_limit": 2}, "plans", "id"),
    ("tasks_jobs_tail", {"job": "JOB-001", "limit": 2}, "events", "seq"),
    ("tasks_jobs_open", {"job": "JOB-001", "max_events": 2}, "events", "seq"),
]


@pytest.mark.parametrize(("name", "given", "items", "key"), PAGED, ids=[f"{name}-{of}" for name, _, of, _ in PAGED])
def test_following_the_pages_shows_everything_once(
    call: Caller, name: str, given: dict[str, Any], items: str, key: str
) -> None:
    shown = [item[key] for page in followed(call, name, **given) for item in page[items]]
    whole = call(name, **{argument: 200 if isinstance(value, int) else value for argument, value in given.items()})
    assert len(shown) >= HOW_MANY and len(shown) == len(set(shown))
    assert sorted(shown) == sorted(item[key] for item in whole[items])


def test_the_pages_of_a_view_lead_on_in_each_of_its_sections(call: Caller) -> None:
    given = {"task": "TASK-001", "view": "full", "notes_limit": 2, "trace_limit": 2}
    pages = list(followed(call, "tasks_resume_super", **given))
    notes = [entry["content"] for page in pages for entry in page["memory"]["notes"]["entries"]]
    assert {f"Note {number}" for number in range(HOW_MANY)} <= set(notes)


@pytest.mark.parametrize(("name", "more"), [("tasks_jobs_list", {}), ("tasks_jobs_radar", {})])
def test_a_list_that_cannot_be_paged_suggests_a_higher_limit(call: Caller, name: str, more: dict[str, Any]) -> None:
    for number in range(3):
        call("tasks_jobs_create", title=f"Job {number}", prompt="Look.")
    *_, last = followed(call, name, limit=1, **more)
    assert not last["has_more"] and last["count"] >= 4


def test_a_radar_that_answered_a_job_suggests_more_without_answering_again(call: Caller) -> None:
    for number in range(2):
        call("tasks_jobs_create", title=f"Other {number}", prompt="Look.")
    reply = {"reply_job": "JOB-001", "reply_message": "Go on."}
    way = call.envelope("tasks_jobs_radar", limit=1, **reply)["suggestions"][0]
    assert way["target"] == "tasks_jobs_radar" and not set(reply) & set(way["params"])


@pytest.mark.parametrize("name", ["merge", "graph_merge"])
def test_a_merge_of_many_goes_on_until_all_is_merged(call: Caller, name: str) -> None:
    merged = sum(page["merged"] for page in followed(call, name, limit=2, **{"from": "trial"}))
    assert merged == HOW_MANY
    assert call(name, **{"from": "trial"})["merged"] == 0


def test_in_a_reduced_toolset_a_page_of_a_list_stays_one(wire: Wire, call: Caller, tmp_path: Path) -> None:
    with serving(wire.home, "daily", here=wire.home) as daily:
        reduced = Caller(daily, call.workspace)
        ways = reduced.envelope("tasks_context", plan="PLAN-001", tasks_limit=2)["suggestions"]
    assert [way.get("target") for way in ways if way["action"] == "call_tool"] == ["tasks_context"]
    assert ways[-1]["params"]["tasks_cursor"] == 2


def test_a_handoff_says_what_is_now_at_every_size(call: Caller) -> None:
    for room in range(60, 500, 10):
        shown = call("tasks_handoff", task="TASK-001", max_chars=room)
        assert shown["radar"]["now"], (room, shown)


@pytest.mark.parametrize("name", ["think_lint", "graph_validate", "trace_validate"])
def test_a_check_says_whether_all_is_well_at_every_size(call: Caller, name: str) -> None:
    for room in range(30, 140, 10):
        assert call(name, target="TASK-001", max_chars=room)["ok"] is True, room


@pytest.mark.parametrize(
    ("name", "given", "items", "field"),
    [("transcripts_search", {"query": "parser"}, "hits", "snippet"), ("transcripts_digest", {}, "digest", "text")],
)
def test_a_cut_list_of_messages_keeps_the_words(
    call: Caller, name: str, given: dict[str, Any], items: str, field: str
) -> None:
    whole = call(name, **given)["budget"]["used_chars"]
    # Paths take as much room as the directory of this test is deep, so the budget is measured, not chosen.
    shown = call(name, **given, max_chars=whole - 60)
    assert shown["truncated"] and "the parser reads quotes" in shown[items][0]["message"][field]


def test_a_small_budget_keeps_the_first_line_of_the_mindpack(call: Caller) -> None:
    shown = call("tasks_mindpack", max_chars=250)
    assert shown["truncated"] and shown["mindpack"]["summary"].startswith("mindpack v1 | focus=TASK-001")
