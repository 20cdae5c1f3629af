"""A BranchMind store comes over with its ids: branches, notes, graph, cards, plans, tasks, steps, evidence, jobs."""

from __future__ import annotations

import json
import subprocess
import sys
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
from tests.contract.wire import PATIENCE, serving
from tests.faces.mcp.process import environment


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


def test_numbers_that_were_deleted_are_not_given_again(clew: Clew, tmp_path: Path) -> None:
    """Its counters are further than what is left: notes and branches still speak of what was deleted."""
    source = tmp_path / "branchmind_rust.db"
    write_store(source)
    writer = apsw.Connection(str(source))
    last = {"plan_seq": 4, "task_seq": 9, "step_seq": 77, "card_seq": 41, "job_seq": 6, "unknown_seq": 5}
    writer.executemany("INSERT INTO counters VALUES (?, ?, ?)", [(WORKSPACE, *item) for item in last.items()])
    writer.close()
    call(clew, "import_branchmind", path=str(source))
    here = {"workspace": WORKSPACE}
    assert call(clew, "tasks_create", kind="plan", title="Next", **here)["id"] == "PLAN-005"
    step = {"title": "a", "success_criteria": ["b"]}
    task = call(clew, "tasks_bootstrap", plan="PLAN-001", task_title="Next", steps=[step], **here)
    assert "TASK-010" in json.dumps(task) and "STEP-0000004E" in json.dumps(task)
    assert call(clew, "think_card", card="new", branch="main", **here)["card_id"] == "CARD-42"
    assert call(clew, "tasks_jobs_create", title="j", prompt="p", **here)["job"]["job_id"] == "JOB-007"


def test_a_workspace_that_holds_something_is_left_alone(clew: Clew, tmp_path: Path) -> None:
    """The refusal names ids that would mean two things, and its call imports beside them."""
    write_store(tmp_path / "branchmind_rust.db")
    call(clew, "tasks_macro_start", task_title="Begun too early", workspace=WORKSPACE)
    refused = clew.dispatcher.call("import_branchmind", {"path": str(tmp_path)}, LOCAL).envelope
    assert refused["error"]["code"] == "CONFLICT" and "PLAN-001, TASK-001 would mean" in refused["error"]["message"]
    way = refused["suggestions"][0]
    report = call(clew, way["target"], **way["params"])["workspaces"][0]
    assert (report["workspace"], report["into"]) == (WORKSPACE, f"{WORKSPACE}-branchmind")
    opened = {name: call(clew, "open", id="TASK-001", workspace=name) for name in (WORKSPACE, report["into"])}
    assert [opened[name]["target"]["title"] for name in opened] == ["Begun too early", "Importer"]
    again = clew.dispatcher.call(way["target"], way["params"], LOCAL).envelope
    assert again["suggestions"][0]["params"]["into"] == f"{WORKSPACE}-branchmind-2"


def test_several_workspaces_do_not_go_into_one(clew: Clew, tmp_path: Path) -> None:
    write_store(tmp_path / "branchmind_rust.db")
    writer = apsw.Connection(str(tmp_path / "branchmind_rust.db"))
    writer.execute("INSERT INTO workspaces (workspace) VALUES ('other')")
    writer.close()
    refused = clew.dispatcher.call("import_branchmind", {"path": str(tmp_path), "into": "one"}, LOCAL)
    assert refused.envelope["error"]["code"] == "INVALID_INPUT"


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


USUAL = Path(".agents/mcp/.branchmind")


def project_of_branchmind(place: Path) -> Path:
    """A project with a store where the original keeps it."""
    (place / ".git").mkdir(parents=True)
    (place / USUAL).mkdir(parents=True)
    write_store(place / USUAL / "branchmind_rust.db")
    return place


@pytest.mark.parametrize("words", [("--storage-dir", str(USUAL)), ()], ids=["its own directory", "another home"])
def test_a_store_of_the_original_is_offered_until_it_is_imported(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A configuration of which only the command was changed: the server is bound to its workspace, and says so."""
    project = project_of_branchmind(tmp_path / "project")
    named = {"CLEW_WORKSPACE": "", "BRANCHMIND_WORKSPACE": WORKSPACE, "CLEW_WORKSPACE_LOCK": "true"}
    with serving(tmp_path / "home", "branchmind", *words, here=project, environ=named) as wire:

        def said(name: str, **arguments: str) -> str:
            return wire.send(name, arguments).text

        assert "IMPORT_OFFERED" in said("status")
        assert said("tasks_snapshot").splitlines()[-1] == "import_branchmind"
        refused = wire.send("open", {"id": "TASK-001"}).envelope
        ways = [way.get("target") for way in refused["suggestions"]]
        assert ways.index("import_branchmind") < ways.index("tasks_macro_start")
        assert "IMPORT_OFFERED" in said("tasks_context"), "an empty list is no answer yet"
        assert json.loads(said("import_branchmind"))["result"]["workspaces"][0]["tasks"] == 1
        assert said("tasks_snapshot").startswith("focus TASK-001")
        assert "import_branchmind" not in said("status") + said("open", id="TASK-999")


def test_a_store_stays_on_offer_when_something_was_written_before(tmp_path: Path) -> None:
    project = project_of_branchmind(tmp_path / "project")
    with serving(tmp_path / "home", "branchmind", "--workspace", WORKSPACE, here=project) as wire:
        wire.send("tasks_macro_start", {"task_title": "Begun too early"})
        assert "IMPORT_OFFERED" in wire.send("status", {}).text
        refused = wire.send("import_branchmind", {}).envelope
        assert refused["error"]["code"] == "CONFLICT"
        way = next(way for way in refused["suggestions"] if way.get("target") == "import_branchmind")
        assert wire.send(way["target"], way["params"]).ok
        other = way["params"]["into"]
        assert wire.send("open", {"id": "CARD-1", "workspace": other}).ok
        assert "IMPORT_OFFERED" not in wire.send("status", {}).text


def test_a_server_for_another_name_is_told_how_to_take_the_store_over(tmp_path: Path) -> None:
    project = project_of_branchmind(tmp_path / "project")
    named = {"CLEW_WORKSPACE_LOCK": "true"}
    with serving(tmp_path / "home", "branchmind", "--workspace", "mine", here=project, environ=named) as wire:
        refused = wire.send("import_branchmind", {}).envelope
        way = next(way for way in refused["suggestions"] if way.get("target") == "import_branchmind")
        assert wire.send(way["target"], way["params"]).ok
        assert wire.send("tasks_snapshot", {}).text.startswith("focus TASK-001")


def test_a_start_beside_a_store_of_the_original_says_so_on_stderr(tmp_path: Path) -> None:
    project = project_of_branchmind(tmp_path / "project")
    command = [sys.executable, "-m", "clew", "serve", "--toolset", "branchmind", "--storage-dir", str(USUAL)]
    surroundings = environment(tmp_path / "home", CLEW_EMBEDDING_MODEL="none")
    ping = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'

    def told() -> str:
        done = subprocess.run(
            command, cwd=project, env=surroundings, input=ping, capture_output=True, text=True, timeout=PATIENCE
        )
        return done.stderr

    assert "is a store of BranchMind" in told()
