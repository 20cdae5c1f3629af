"""Every card and anchor operation: its example runs, its answer has the promised shape, and no argument breaks
it (tests/contract tries each argument)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.app import Clew, open_clew
from clew.reasoning.visibility import CARD_TYPES
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection
from clew.settings import load_settings
from tests.conftest import Caller
from tests.reasoning.thinking import a_task, think
from tests.registry.test_door import check, hostile_call

WRITTEN = {"workspace", "branch", "trace_doc", "graph_doc", "card_id", "inserted", "graph_applied", "last_seq"}
PLACE = {"workspace", "branch", "graph_doc"}
READ = PLACE | {"truncated", "budget"}
PACK = READ | {"trace_doc", "capsule", "candidates", "frontier", "stats"}

SHAPES: dict[str, set[str]] = {
    "think_card": WRITTEN | {"trace_seq", "trace_ref", "graph_ref"},
    **{f"think_add_{kind}": WRITTEN for kind in CARD_TYPES},
    "think_template": {"workspace", "type", "supported_types", "template", "truncated"},
    "think_playbook": {"workspace", "name", "template", "truncated"},
    "think_pipeline": PLACE | {"trace_doc", "notes_doc", "cards", "graph_applied", "last_seq", "decision_note"},
    "think_query": READ | {"cards", "pagination"},
    "think_context": READ | {"cards", "stats"},
    "think_frontier": READ | {"frontier"},
    "think_next": READ | {"candidate"},
    "think_pack": PACK,
    "think_watch": PACK | {"trace"},
    "think_pins": PLACE | {"pins", "pagination", "truncated"},
    "think_pin": PLACE | {"pinned", "applied"},
    "think_set_status": PLACE | {"applied"},
    "think_link": PLACE | {"applied"},
    "think_publish": PLACE | {"trace_doc", "source_card_id", "published_card_id", "inserted", "graph_applied"},
    "think_nominal_merge": PLACE | {"merged_groups", "applied", "truncated"},
    "think_subgoal_open": {"workspace", "branch", "subgoal_id", "inserted", "child_graph_doc", "child_trace_doc"},
    "think_subgoal_close": PLACE | {"subgoal_id", "return_card_id", "applied"},
    "think_lint": PLACE | {"ok", "errors", "stats", "truncated"},
    "context_pack": {
        "requested",
        "branch",
        "docs",
        "capsule",
        "notes",
        "trace",
        "cards",
        "signals",
        "stats",
        "truncated",
    },
    "context_pack_export": {"out_file", "bytes", "truncated"},
    "anchors_list": {"workspace", "anchors", "count", "has_more", "truncated"},
    "anchor_snapshot": {"workspace", "anchor", "stats", "tasks", "cards", "count", "truncated"},
    "anchors_export": {"workspace", "format", "anchors_count", "text", "truncated"},
    "anchors_bootstrap": {"workspace", "anchors", "count", "created", "updated", "truncated"},
    "anchors_rename": {"workspace", "from", "to", "anchor"},
    "anchors_merge": {"workspace", "from", "into", "merged", "skipped", "anchor"},
    "anchors_lint": {"workspace", "issues", "count", "has_more", "truncated"},
    "macro_anchor_note": {"workspace", "anchor", "scope", "note"},
}


@pytest.fixture
def ready(call: Caller) -> Caller:
    """A question CARD-1, its subgoal CARD-2 and some anchors on main; a task with both cards too, not in focus."""
    think(call, "CARD-1", "question", tags=["a:storage"])
    assert call("think_subgoal_open", question_id="CARD-1")["subgoal_id"] == "CARD-2"
    task = a_task(call, "First")
    for name in ("CARD-1", "CARD-2"):
        think(call, name, target=task)
    call("tasks_focus_clear")
    for name in ("a:storage", "a:core", "a:old"):
        call("anchors_bootstrap", anchors=[{"id": name, "title": name, "kind": "component"}])
    return call


@pytest.mark.parametrize("name", SHAPES)
def test_the_example_runs_and_answers_in_shape(ready: Caller, name: str) -> None:
    entry = catalogue().find(name)
    assert entry is not None
    answer = ready.answer(name, **entry.example)
    assert answer.ok, answer.envelope["error"]
    assert SHAPES[name] <= set(answer.envelope["result"])
    assert answer.envelope["intent"] == name
    for alias in (f"branchmind_{name}", f"branchmind/{name}", f"branchmind.{name}"):
        assert catalogue().find(alias) == entry


def test_writes_are_told_from_reads() -> None:
    reads = {name for name in SHAPES if catalogue().find(name).read_only}  # type: ignore[union-attr]
    assert reads == {
        "think_template", "think_playbook", "think_query", "think_context", "think_frontier", "think_next",
        "think_pack", "think_watch", "think_pins", "think_lint", "context_pack", "anchors_list", "anchor_snapshot",
        "anchors_export", "anchors_lint",
    }  # fmt: skip
    assert [entry.name for entry in catalogue().listed("daily") if entry.name in SHAPES] == [
        "think_card",
        "think_playbook",
    ]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Clew:
    home: Path = tmp_path_factory.mktemp("cards-door")
    clew = open_clew(load_settings({"home": home, "workspace": "ws", "workspace_lock": False}, {}, home))
    for number in range(3):
        clew.dispatcher.call("think_card", {"card": {"id": "xyz"[number], "title": "T"}}, Connection())
    return clew


def state(clew: Clew) -> list[Any]:
    """How much stands in the workspace. Another one that a refused call names is made by naming it."""
    with clew.database.read() as tx:
        tables = ("node", "edge", "node_tag", "anchor", "anchor_alias", "entry", "event", "item", "counter")
        return [tx.value(f"SELECT count(*) FROM {table} WHERE workspace = 'ws'") for table in tables]


@given(data=st.data())
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_no_argument_breaks_an_operation(shared: Clew, data: st.DataObject) -> None:
    before = state(shared)
    _, answer = hostile_call(shared, data, SHAPES)
    if not answer.ok:
        assert state(shared) == before


def test_a_text_of_two_megabytes_is_refused_quickly_and_whole(shared: Clew) -> None:
    before = state(shared)
    for card in ("x" * 2_000_000, {"text": "x" * 2_000_000}, {"title": "T", "meta": {"k": "x" * 5_000_000}}):
        check(answer := shared.dispatcher.call("think_card", {"card": card}, Connection()))
        assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    assert state(shared) == before
