"""Fuzzing the door: whatever is sent, the answer is a well-formed envelope and an error changes nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.app import Clew, open_clew
from clew.errors import ERROR_CODES
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.connection import Connection
from clew.registry.envelope import Answer
from clew.settings import load_settings
from tests.registry.hostile import anything, arguments_for
from tests.suggestions import run_suggestions

FIRST = [
    "init",
    "status",
    "help",
    "diagnostics",
    "workspace_use",
    "workspace_reset",
    "skill",
    "branch_create",
    "branch_list",
    "branch_rename",
    "branch_delete",
    "checkout",
    "notes_commit",
    "show",
    "docs_list",
    "diff",
    "merge",
    "op_search",
    "op_read",
    "op_call",
]
FIELDS = {"success", "intent", "result", "warnings", "suggestions", "context", "error", "timestamp"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("door")


@pytest.fixture(scope="module")
def shared(home: Path) -> Clew:
    """One store for all examples: a door must hold in any state."""
    return open_clew(load_settings({"home": home, "workspace": "ws", "workspace_lock": False}, {}, home))


def state(clew: Clew) -> list[Any]:
    counts = (
        "SELECT (SELECT count(*) FROM entry) AS e, (SELECT count(*) FROM branch) AS b, (SELECT count(*) FROM item) AS i"
    )
    with clew.database.read() as tx:
        return [
            tx.all("SELECT * FROM workspace ORDER BY id"),
            tx.one(counts),
            tx.all("SELECT * FROM counter ORDER BY 1, 2"),
        ]


def hostile_call(clew: Clew, data: st.DataObject, names: Iterable[str]) -> tuple[OperationEntry, Answer]:
    """One of the operations, called with arguments that no honest client sends; its answer has the one shape."""
    entry = catalogue().find(data.draw(st.sampled_from(sorted(names))))
    assert entry is not None
    answer = clew.dispatcher.call(entry.name, data.draw(arguments_for(entry)), Connection(toolset="full"))
    check(answer)
    return entry, answer


def check(answer: Answer) -> None:
    assert set(answer.envelope) == FIELDS
    assert orjson.loads(orjson.dumps(answer.envelope)) == answer.envelope
    assert "Traceback" not in answer.text
    if answer.ok:
        assert answer.envelope["error"] is None
        return
    error = answer.envelope["error"]
    assert error["code"] in ERROR_CODES
    assert error["code"] != "INTERNAL", error
    assert error["message"]
    assert answer.envelope["suggestions"]
    if error["code"] == "INVALID_INPUT":
        assert error["hints"], error


EXAMPLES = int(os.environ.get("CLEW_TEST_DOOR", "2000"))
"""Each run draws others. Ten thousand take minutes: for a change to the door itself, CLEW_TEST_DOOR=10000."""


@pytest.mark.timeout(900)
@given(data=st.data())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_no_argument_object_breaks_the_door(shared: Clew, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FIRST))
    entry = catalogue().find(name)
    assert entry is not None
    arguments = data.draw(arguments_for(entry))
    before = state(shared)
    answer = shared.dispatcher.call(name, arguments, Connection(toolset="daily"))
    check(answer)
    if not answer.ok:
        assert state(shared) == before


@pytest.mark.parametrize("arguments", ["text", 7, [], [1], True, 1.5])
def test_arguments_that_are_no_object_are_refused(shared: Clew, arguments: Any) -> None:
    answer = shared.dispatcher.call("show", arguments, Connection())
    check(answer)
    assert answer.ok is (arguments is None)


@given(
    name=st.one_of(st.text(max_size=60), st.sampled_from(["branchmind_show", "x/status", "branchmind.show", "../show"]))
)
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_any_name_gets_an_answer(shared: Clew, name: str) -> None:
    check(shared.dispatcher.call(name, {}, Connection()))


@given(value=anything)
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_any_workspace_is_checked_before_anything_is_made(shared: Clew, value: Any) -> None:
    before = state(shared)
    answer = shared.dispatcher.call("show", {"workspace": value}, Connection())
    check(answer)
    if not answer.ok:
        assert state(shared) == before


@pytest.mark.parametrize("size", [10_000_000, 4_000_001])
def test_a_huge_text_is_refused_quickly_and_named(shared: Clew, size: int) -> None:
    before = state(shared)
    answer = shared.dispatcher.call("notes_commit", {"content": "x" * size}, Connection())
    check(answer)
    assert "content" in answer.envelope["error"]["message"]
    assert state(shared) == before


def test_an_unknown_argument_names_the_nearest_one(shared: Clew) -> None:
    answer = shared.dispatcher.call("show", {"doc_knd": "notes"}, Connection())
    assert "did you mean doc_kind?" in answer.envelope["error"]["message"]
    repaired = [item for item in answer.envelope["suggestions"] if item.get("target") == "show"]
    assert repaired[0]["params"] == {"doc_kind": "notes"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("show", {"limit": -1}),
        ("show", {"docs": "notes"}),
        ("checkout", {"ref": "nowhere"}),
        ("branch_delete", {"name": "main"}),
        ("branch_create", {"name": "main"}),
        ("merge", {"from": "main"}),
        ("nope", {}),
        ("op_read", {"name": "notes_commit", "arguments": {"content": "x"}}),
        ("skill", {"profile": "wizard"}),
        ("status", {"workspace": ".."}),
    ],
)
@pytest.mark.parametrize("toolset", ["core", "daily", "full"])
def test_every_suggestion_runs_as_it_stands(clew: Clew, name: str, arguments: dict[str, Any], toolset: str) -> None:
    session = Connection(toolset=toolset)
    answer = clew.dispatcher.call(name, arguments, session)
    assert not answer.ok
    run_suggestions(clew, answer, session)


@pytest.mark.parametrize("name", ["\ud800lone", "a\x00b", "", " ", "x" * 1_000_000, None, 7, ["show"], {"a": 1}])
def test_a_name_that_is_none_is_answered_with_a_call_that_runs(shared: Clew, name: Any) -> None:
    session = Connection(toolset="full")
    answer = shared.dispatcher.call(name, {}, session)
    check(answer)
    assert answer.envelope["error"]["code"] == "UNKNOWN_TOOL"
    run_suggestions(shared, answer, session)


def test_every_refused_input_says_what_to_do_next(shared: Clew) -> None:
    for name, arguments in (
        ("branch_create", {"name": ".."}),
        ("commit", {"artifact": " ", "message": "m"}),
        ("think_link", {"from": "a", "rel": "|", "to": "b"}),
        ("status", {"meta": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}),
    ):
        answer = shared.dispatcher.call(name, arguments, Connection())
        check(answer)
        assert answer.envelope["error"]["recovery"], name


def test_two_names_of_one_argument_must_agree(clew: Clew) -> None:
    session = Connection(toolset="full")
    card = {"title": "Which branch?"}
    differ = clew.dispatcher.call("think_card", {"card": card, "ref": "main", "branch": "other"}, session)
    assert differ.envelope["error"]["hints"] == [{"kind": "choose_one", "fields": ["ref", "branch"]}]
    assert clew.dispatcher.call("think_card", {"card": card, "ref": "main", "branch": "main"}, session).ok


def test_a_workspace_beside_the_name_is_the_operations(clew: Clew) -> None:
    def call(name: str, /, **arguments: Any) -> dict[str, Any]:
        answer = clew.dispatcher.call(name, arguments, Connection(toolset="full"))
        assert answer.ok, answer.envelope["error"]
        result: dict[str, Any] = answer.envelope["result"]
        return result

    written = call("op_call", workspace="beside", name="notes_commit", arguments={"content": "Here."})
    assert written["workspace"] == "beside"
    assert call("op_read", workspace="beside", name="show", arguments={"doc_kind": "notes"})["entries"]
    inner = {"workspace": "inside", "content": "There."}
    assert call("op_call", workspace="beside", name="notes_commit", arguments=inner)["workspace"] == "inside"


def test_a_search_cut_by_its_budget_counts_what_it_shows(shared: Clew) -> None:
    arguments = {"query": "merge branches", "limit": 50, "max_chars": 700}
    found = shared.dispatcher.call("op_search", arguments, Connection(toolset="full")).envelope["result"]
    assert found["truncated"] and 0 < found["count"] == len(found["operations"]) < found["total"]


def test_hundreds_of_thousands_of_unknown_arguments_are_refused_at_once(shared: Clew) -> None:
    arguments = {f"name{number}": number for number in range(300_000)}
    begun = time.process_time()
    answer = shared.dispatcher.call("branch_list", arguments, Connection())
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    assert "300000 arguments" in answer.envelope["error"]["message"]
    assert time.process_time() - begun < 3, "17 s when each of them was explained"
