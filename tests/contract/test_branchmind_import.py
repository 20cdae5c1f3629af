"""A BranchMind store comes over with its ids: branches, notes, graph, cards, plans, tasks, steps, evidence, jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from clew.app import Clew
from clew.registry.connection import Connection
from clew.store import sqlite_files
from clew.store.events import first_broken_event
from tests.contract.branchmind_store import WORKSPACE, write_store
from tests.contract.local_calls import LOCAL, call


@pytest.fixture
def imported(clew: Clew, tmp_path: Path) -> Clew:
    write_store(tmp_path / "branchmind_rust.db")
    report = call(clew, "import_branchmind", path=str(tmp_path))["workspaces"][0]
    assert report["workspace"] == WORKSPACE and report["nodes"] == 4 and report["steps"] == 2
    assert report["left_out"] == {"graph_conflicts": 1, "step_leases": 1}
    return clew


def test_notes_keep_their_numbers_and_branches_their_view(imported: Clew) -> None:
    assert call(imported, "open", id="notes@1", workspace=WORKSPACE)["entry"]["content"] == "Zebra stripes are chosen"
    trial = call(imported, "show", branch="trial", doc="notes", workspace=WORKSPACE)["entries"]
    assert [entry["content"] for entry in trial] == ["Zebra stripes are chosen", "Only on trial"]
    main = call(imported, "show", branch="main", doc="notes", workspace=WORKSPACE)["entries"]
    assert [entry["content"] for entry in main] == ["Zebra stripes are chosen", "one", "two"]
    assert main[0]["seq"] == 1 and main[0]["meta"] == {"a": 1}


def test_the_newest_version_of_a_card_counts_and_can_be_found(imported: Clew) -> None:
    card = call(imported, "open", id="CARD-1", workspace=WORKSPACE)["card"]
    assert (card["title"], card["meta"]) == ("Card 1 again", {"why": "new"})
    found = call(imported, "graph_query", branch="main", doc="graph", ids=["CARD-1", "CARD-2"], workspace=WORKSPACE)
    assert [(edge["from"], edge["rel"], edge["to"]) for edge in found["edges"]] == [("CARD-1", "supports", "CARD-2")]
    recalled = call(imported, "recall", query="giraffes", workspace=WORKSPACE)["results"]
    assert "CARD-3" in json.dumps(recalled)


def test_work_keeps_ids_states_and_lists(imported: Clew) -> None:
    opened = call(imported, "open", id="TASK-001", workspace=WORKSPACE)
    assert opened["target"]["revision"] == 7 and opened["target"]["reasoning_mode"] == "strict"
    step = call(imported, "open", id="STEP-00000001", workspace=WORKSPACE)["step"]
    assert step["completed"] and step["success_criteria"] == ["rows are read"] and step["proof_tests_mode"] == "require"
    assert call(imported, "open", id="STEP-00000002", workspace=WORKSPACE)["path"] == "s:0.s:0"
    assert call(imported, "tasks_focus_get", workspace=WORKSPACE)["focus"] == "TASK-001"
    evidence = call(imported, "open", id="EV-001", workspace=WORKSPACE)
    assert evidence["evidence"]["command"] == "make test"
    assert call(imported, "tasks_jobs_open", job="JOB-001", workspace=WORKSPACE)["job"]["status"] == "DONE"
    anchor = call(imported, "anchors_list", workspace=WORKSPACE)["anchors"][0]
    assert (anchor["id"], anchor["aliases"], anchor["refs"]) == ("a:core", ["a:kernel"], ["docs/core.md"])


def test_events_keep_their_ids_and_the_history_can_be_read(imported: Clew) -> None:
    events = call(imported, "tasks_delta", workspace=WORKSPACE)["events"]
    assert [(event["event_id"], event["type"]) for event in events[:2]] == [
        ("evt_0000000000000001", "task_created"),
        ("evt_0000000000000002", "step_added"),
    ]
    assert events[0]["task"] == "TASK-001" and events[0]["payload"] == {"x": 1}
    shown = call(imported, "tasks_history", task="TASK-001", workspace=WORKSPACE)["operations"]
    assert [(item["intent"], item["undoable"]) for item in shown] == [("step_patch", False)]
    assert shown[0]["before"] == {"title": "Reed rows"}
    assert call(imported, "tasks_note", task="TASK-001", path="s:0.s:0", note="More", workspace=WORKSPACE)["event"]
    later = call(imported, "tasks_delta", since="evt_0000000000000005", workspace=WORKSPACE)["events"]
    assert [event["type"] for event in later] == ["step_noted"]


def test_notes_about_steps_stand_once_among_the_notes_of_their_task(imported: Clew) -> None:
    notes = call(imported, "show", branch="task/TASK-001", doc="notes", workspace=WORKSPACE)["entries"]
    texts = [entry["content"] for entry in notes]
    assert texts.count("Looked at the header") == texts.count("Rows are read") == 1
    added = next(entry for entry in notes if entry["content"] == "Rows are read")
    assert added["meta"]["note_seq"] == 2 and added["ts_ms"] == 1_767_225_600_002
    assert "Rows are read" in json.dumps(call(imported, "recall", query="rows are read", workspace=WORKSPACE))


def test_tags_the_reflog_and_a_head_that_was_set_back_come_over(imported: Clew) -> None:
    tag = call(imported, "tag_list", workspace=WORKSPACE)["tags"][0]
    moves = call(imported, "reflog", ref="main", workspace=WORKSPACE)["entries"]
    assert [move["message"] for move in moves] == ["reset", "two", "one"]
    assert (tag["name"], tag["seq"]) == ("v1", moves[0]["new_seq"])
    log = call(imported, "log", ref="main", workspace=WORKSPACE)["commits"]
    assert [commit["artifact"] for commit in log] == ["one", "Zebra stripes are chosen"], "what came later is hidden"


def test_the_log_of_events_is_whole(imported: Clew) -> None:
    """Its digests chain from the first imported event to the last of ours."""
    with imported.dispatcher.database.read() as tx:
        chained, broken = first_broken_event(tx, WORKSPACE)
    assert chained > 5 and broken is None


def test_new_things_count_on_from_what_came_over(imported: Clew) -> None:
    assert call(imported, "tasks_create", kind="plan", title="Next", workspace=WORKSPACE)["id"] == "PLAN-002"
    made = call(imported, "think_card", card={"type": "note", "title": "new"}, branch="main", workspace=WORKSPACE)
    assert made["card_id"] == "CARD-4"
    note = call(imported, "notes_commit", content="later", branch="main", workspace=WORKSPACE)
    assert note["entry"]["seq"] > 10


def test_a_workspace_that_holds_something_is_left_alone(imported: Clew, tmp_path: Path) -> None:
    again = imported.dispatcher.call("import_branchmind", {"path": str(tmp_path)}, LOCAL)
    assert not again.ok and again.envelope["error"]["code"] == "CONFLICT"


def test_over_mcp_only_what_lies_below_the_imports_is_read(clew: Clew, tmp_path: Path) -> None:
    write_store(tmp_path / "branchmind_rust.db")
    remote = clew.dispatcher.call("import_branchmind", {"path": str(tmp_path)}, Connection(toolset="full"))
    assert not remote.ok


def test_a_file_that_is_no_such_store_is_refused(clew: Clew, tmp_path: Path) -> None:
    for name, content in (("text.db", b"hello " * 100), ("empty.db", b"")):
        (tmp_path / name).write_bytes(content)
        refused = clew.dispatcher.call("import_branchmind", {"path": str(tmp_path / name)}, LOCAL)
        assert refused.envelope["error"]["code"] == "INVALID_INPUT"


def half(store: bytes) -> bytes:
    return store[: len(store) // 2]


def header(store: bytes) -> bytes:
    return store[:100]


def overwritten(store: bytes) -> bytes:
    """Whole in size and in its first pages, with rubbish where the rows are."""
    return store[: 4096 * 8] + b"\xaa" * (4096 * 12) + store[4096 * 20 :]


@pytest.mark.parametrize("damage", [half, header, overwritten])
def test_a_damaged_store_is_told_as_that_and_not_as_damage_to_ours(
    clew: Clew, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    source = tmp_path / "branchmind_rust.db"
    write_store(source, cards=200)
    source.write_bytes(damage(source.read_bytes()))
    error = clew.dispatcher.call("import_branchmind", {"path": str(source)}, LOCAL).envelope["error"]
    assert error["code"] == "INVALID_INPUT", error
    assert str(source) in error["message"] and "clew.db" not in str(error)
    workspaces = call(clew, "workspace_list")["workspaces"]
    assert WORKSPACE not in str(workspaces), "nothing of it was imported"


def test_a_store_that_another_process_holds_is_waited_for_and_then_told(
    clew: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_files, "WAIT_MS", 50)
    source = tmp_path / "branchmind_rust.db"
    write_store(source)
    holder = apsw.Connection(str(source))
    holder.execute("BEGIN EXCLUSIVE")
    error = clew.dispatcher.call("import_branchmind", {"path": str(source)}, LOCAL).envelope["error"]
    assert error["code"] == "STORE_LOCKED" and str(source) in error["message"] and "copy" in error["recovery"]
    holder.execute("ROLLBACK")
    holder.close()
    assert call(clew, "import_branchmind", path=str(source))["count"] == 1


def test_what_its_program_writes_meanwhile_is_seen_whole_or_not_at_all(clew: Clew, tmp_path: Path) -> None:
    """What is committed while the import reads belongs to a later moment, in every table."""
    source = tmp_path / "branchmind_rust.db"
    write_store(source)
    writer = apsw.Connection(str(source))
    writer.execute("PRAGMA journal_mode = wal")
    with sqlite_files.opened_foreign(source) as store:
        before = len(list(store.rows("plans", "id")))
        row = ("acme-api", "PLAN-002", 0, "Later", "TODO", 1, 1)
        columns = "workspace, id, revision, title, status, created_at_ms, updated_at_ms"
        writer.execute(f"INSERT INTO plans ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        assert len(list(store.rows("plans", "id"))) == before
    writer.close()
    assert call(clew, "import_branchmind", path=str(source))["workspaces"][0]["plans"] == before + 1
