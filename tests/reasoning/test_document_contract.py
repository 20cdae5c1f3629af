"""Every operation on branches, documents, graphs, traces and transcripts: its example runs, the answer has the
promised shape, each documented error comes, and no argument breaks it (tests/contract tries each argument)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.app import Clew, open_clew
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.connection import Connection
from clew.settings import load_settings, project_root
from tests.conftest import Caller
from tests.reasoning.thinking import a_task
from tests.registry.hostile import arguments_for
from tests.registry.test_door import check
from tests.suggestions import run_suggestions

SCANNED = {"workspace", "root_dir", "filters", "scanned", "truncated", "budget"}
MERGED = {"workspace", "from", "into", "doc", "merged", "skipped", "pagination"}

SHAPES: dict[str, set[str]] = {
    "branch_create": {"workspace", "branch"},
    "branch_delete": {"workspace", "name", "deleted"},
    "branch_list": {"workspace", "branches", "count", "truncated", "budget"},
    "branch_rename": {"workspace", "previous", "current"},
    "checkout": {"workspace", "previous", "current"},
    "commit": {"workspace", "branch", "docs", "commits"},
    "diff": {"workspace", "from", "to", "doc", "entries", "pagination", "truncated", "budget"},
    "docs_list": {"workspace", "ref", "branch", "docs", "count", "truncated", "budget"},
    "export": {"workspace", "target", "reasoning_ref", "notes", "trace", "truncated"},
    "graph_apply": {"workspace", "branch", "doc", "applied", "last_seq", "last_ts_ms"},
    "graph_conflict_resolve": {"workspace", "conflict_id", "status", "applied"},
    "graph_conflict_show": {"workspace", "conflict"},
    "graph_conflicts": {"workspace", "into", "doc", "conflicts", "pagination", "truncated", "budget"},
    "graph_diff": {"workspace", "from", "to", "doc", "changes", "pagination", "truncated", "budget"},
    "graph_merge": MERGED | {"conflicts_created", "conflict_ids", "conflicts", "diff_summary", "budget"},
    "graph_query": {"workspace", "branch", "doc", "nodes", "edges", "pagination", "truncated", "budget"},
    "graph_validate": {"workspace", "branch", "doc", "ok", "stats", "errors", "truncated", "budget"},
    "log": {"workspace", "ref", "branch", "doc", "head_seq", "commits", "pagination", "truncated", "budget"},
    "macro_branch_note": {"workspace", "branch", "checkout", "note"},
    "merge": MERGED,
    "notes_commit": {"workspace", "entry"},
    "open": {"workspace", "kind", "id", "head", "card", "edges", "summary", "truncated"},
    "reflog": {"workspace", "ref", "doc", "entries", "count", "truncated", "budget"},
    "reset": {"workspace", "ref", "doc", "old_seq", "new_seq"},
    "show": {"workspace", "branch", "doc", "entries", "pagination", "sequential", "truncated", "budget"},
    "tag_create": {"workspace", "tag"},
    "tag_delete": {"workspace", "name", "deleted"},
    "tag_list": {"workspace", "tags", "count", "truncated", "budget"},
    "trace_hydrate": {"workspace", "branch", "doc", "entries", "pagination", "sequential", "truncated", "budget"},
    "trace_sequential_step": {"workspace", "branch", "doc", "entry"},
    "trace_step": {"workspace", "branch", "doc", "entry"},
    "trace_validate": {"workspace", "branch", "doc", "ok", "checked", "errors", "has_more", "truncated", "budget"},
    "transcripts_digest": SCANNED | {"digest"},
    "transcripts_open": {"workspace", "root_dir", "ref", "session", "project", "entries", "truncated", "budget"},
    "transcripts_search": SCANNED | {"projects", "hits"},
}
READS = {
    "branch_list", "diff", "docs_list", "export", "graph_conflict_show", "graph_conflicts", "graph_diff", "graph_query",
    "graph_validate", "log", "open", "reflog", "show", "tag_list", "trace_hydrate", "trace_validate",
    "transcripts_digest", "transcripts_open", "transcripts_search",
}  # fmt: skip


@pytest.fixture
def ready(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """A note, a card, a task, a tag, a branch that conflicts with main, and one transcript."""
    call("commit", artifact="First", message="Start")
    call("tag_create", name="before-rewrite")
    node = {"op": "node_upsert", "id": "CARD-1", "type": "note", "text": "a"}
    call("graph_apply", ops=[node])
    a_task(call, "First")
    call("tasks_focus_clear")
    call("branch_create", name="what-if")
    call("graph_apply", branch="what-if", ops=[{**node, "text": "b"}])
    call("graph_apply", ops=[{**node, "text": "c"}])
    transcript = tmp_path / "codex/sessions/2026/11/15/rollout-1.jsonl"
    transcript.parent.mkdir(parents=True)
    place = {"type": "session_meta", "payload": {"id": "s1", "cwd": str(project_root(Path.cwd()))}}
    said = {"role": "user", "content": "a migration"}
    transcript.write_bytes(orjson.dumps(said) + b"\n" + orjson.dumps(place) + b"\n")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return call


def operation(name: str) -> OperationEntry:
    entry = catalogue().find(name)
    assert entry is not None
    return entry


def minimal(call: Caller, name: str) -> dict[str, Any]:
    """The documented example, with ids of things that are there."""
    example = dict(operation(name).example)
    if "conflict_id" in example:
        example["conflict_id"] = call("graph_merge", from_="what-if")["conflict_ids"][0]
    if name == "tag_create":
        example["name"] = "fresh"
    if name == "branch_create":
        example["name"] = "fresh"
    return example


@pytest.mark.parametrize("name", SHAPES)
def test_the_example_runs_and_answers_in_shape(ready: Caller, name: str) -> None:
    answer = ready.answer(name, **minimal(ready, name))
    assert answer.ok, answer.envelope["error"]
    assert set(answer.envelope["result"]) >= SHAPES[name]
    assert answer.envelope["intent"] == name
    run_suggestions(ready.clew, answer, ready.session)
    for alias in (f"branchmind_{name}", f"branchmind/{name}", f"branchmind.{name}"):
        assert catalogue().find(alias) == operation(name)


ERRORS: list[tuple[str, dict[str, Any], str]] = [
    ("branch_create", {"name": "main"}, "CONFLICT"),
    ("branch_create", {"name": "y", "from": "nope"}, "UNKNOWN_ID"),
    ("branch_rename", {"old": "what-if", "new": "main"}, "CONFLICT"),
    ("branch_rename", {"old": "nope", "new": "y"}, "UNKNOWN_ID"),
    ("branch_delete", {"name": "main"}, "INVALID_INPUT"),
    ("branch_delete", {"name": "task/TASK-001"}, "INVALID_INPUT"),
    ("branch_delete", {"name": "nope"}, "UNKNOWN_ID"),
    ("checkout", {"ref": "nope"}, "UNKNOWN_ID"),
    ("merge", {"from": "nope"}, "UNKNOWN_ID"),
    ("merge", {"from": "main", "into": "main"}, "INVALID_INPUT"),
    ("merge", {"from": "main", "merge_to_base": True}, "INVALID_INPUT"),
    ("merge", {"from": "what-if", "into": "task/TASK-001", "merge_to_base": True}, "INVALID_INPUT"),
    ("graph_merge", {"from": "what-if", "into": "task/TASK-001"}, "MERGE_NOT_SUPPORTED"),
    ("graph_merge", {"from": "main", "merge_to_base": True}, "MERGE_NOT_SUPPORTED"),
    ("graph_conflict_show", {"conflict_id": "CONFLICT-" + "f" * 32}, "UNKNOWN_ID"),
    ("graph_conflict_resolve", {"conflict_id": "CONFLICT-" + "f" * 32, "resolution": "use_from"}, "UNKNOWN_ID"),
    ("graph_conflict_resolve", {"conflict_id": "C", "resolution": "use_from"}, "INVALID_INPUT"),
    ("graph_conflict_reopen", {"conflict_id": "CONFLICT-" + "f" * 32}, "UNKNOWN_ID"),
    ("graph_query", {"target": {"id": "TASK-001", "kind": "plan"}}, "INVALID_INPUT"),
    ("graph_query", {"target": "TASK-001", "branch": "main"}, "INVALID_INPUT"),
    ("show", {"target": "TASK-001", "doc": "notes"}, "INVALID_INPUT"),
    ("export", {}, "INVALID_INPUT"),
    ("open", {"id": "CARD-999"}, "UNKNOWN_ID"),
    ("log", {"ref": "nope"}, "UNKNOWN_ID"),
    ("reset", {"ref": "99999"}, "UNKNOWN_ID"),
    ("tag_create", {"name": "before-rewrite"}, "CONFLICT"),
    ("trace_step", {"step": "s", "target": "TASK-001", "ref": "main"}, "INVALID_INPUT"),
    ("trace_hydrate", {"ref": "nope"}, "UNKNOWN_ID"),
    ("transcripts_open", {"ref": {"path": "../x.jsonl", "line": 1}}, "INVALID_INPUT"),
    ("transcripts_open", {"ref": {"path": "nope.jsonl", "line": 1}}, "NOT_FOUND"),
    ("transcripts_search", {"query": "x", "root_dir": "/nowhere/at/all"}, "NOT_FOUND"),
]


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize(("name", "arguments", "code"), ERRORS)
def test_each_documented_error_comes_with_a_way_out(
    ready: Caller, engine: str, name: str, arguments: dict[str, Any], code: str
) -> None:
    answer = ready.answer(name, **arguments)
    assert not answer.ok
    assert answer.envelope["error"]["code"] == code
    assert answer.envelope["suggestions"]
    run_suggestions(ready.clew, answer, ready.session)


def test_an_unknown_target_is_said_to_be_one(ready: Caller) -> None:
    for name in ("graph_query", "graph_apply", "graph_validate", "show", "export", "trace_step", "trace_validate"):
        answer = ready.answer(name, **{**minimal(ready, name), "target": "TASK-999"})
        assert answer.envelope["error"]["code"] == "UNKNOWN_ID"
    run_suggestions(ready.clew, answer, ready.session)


def test_no_checkout_is_said_where_one_is_needed(ready: Caller) -> None:
    with ready.clew.database.write() as tx:
        tx.run("UPDATE workspace SET checkout = NULL WHERE id = 'ws'")
    for name in ("show", "graph_query", "log", "commit", "reset", "branch_create", "trace_step"):
        answer = ready.answer(name, **minimal(ready, name) if name not in ("branch_create",) else {"name": "z"})
        assert answer.envelope["error"]["code"] == "NO_CHECKOUT", name
    run_suggestions(ready.clew, answer, ready.session)
    assert ready("show")["entries"] == []


def test_writes_are_told_from_reads() -> None:
    assert {name for name in SHAPES if operation(name).read_only} == READS
    assert [entry.name for entry in catalogue().listed("daily") if entry.name in SHAPES] == ["open"]
    assert {name for name in SHAPES if operation(name).destructive} == {"branch_delete", "tag_delete"}


def test_same_state_and_same_call_give_the_same_bytes(ready: Caller) -> None:
    for name in sorted(READS - {"transcripts_digest", "transcripts_open", "transcripts_search"}):
        arguments = minimal(ready, name)
        assert ready.answer(name, **arguments).text == ready.answer(name, **arguments).text


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("name", sorted(READS - {"open", "graph_conflict_show", "transcripts_open"}))
def test_a_larger_budget_never_shows_less(ready: Caller, engine: str, name: str) -> None:
    arguments, sizes = minimal(ready, name), []
    for limit in (0, 2, 30, 120, 300, 700, 1500, 4000, 100_000):
        budget = ready(name, **arguments, max_chars=limit)["budget"]
        assert budget["used_chars"] <= budget["max_chars"] == max(limit, 2)
        sizes.append(budget["used_chars"])
    assert sizes[-1] == max(sizes)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Clew:
    home: Path = tmp_path_factory.mktemp("documents-door")
    clew = open_clew(load_settings({"home": home, "workspace": "ws", "workspace_lock": False}, {}, home))
    for name, arguments in (
        ("notes_commit", {"content": "c"}),
        ("branch_create", {"name": "what-if"}),
        ("graph_apply", {"ops": [{"op": "node_upsert", "id": "a", "type": "note"}]}),
    ):
        assert clew.dispatcher.call(name, arguments, Connection()).ok
    return clew


TABLES = ("node", "edge", "node_tag", "graph_conflict", "graph_merged", "note_tag", "reflog", "log_cut", "branch",
          "entry", "event", "item", "counter")  # fmt: skip


def state(clew: Clew) -> list[Any]:
    with clew.database.read() as tx:
        return [tx.value(f"SELECT count(*) FROM {table}") for table in TABLES]


@given(data=st.data())
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_no_argument_breaks_an_operation(shared: Clew, data: st.DataObject) -> None:
    entry = operation(data.draw(st.sampled_from(sorted(SHAPES))))
    arguments = data.draw(arguments_for(entry))
    before = state(shared)
    answer = shared.dispatcher.call(entry.name, arguments, Connection(toolset="full"))
    check(answer)
    if not answer.ok:
        assert state(shared) == before
