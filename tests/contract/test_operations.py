"""Every operation, from its own declaration: each argument is really taken (tests/golden calls the examples)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.errors import ERROR_CODES
from clew.registry.catalogue import OperationEntry, catalogue
from tests.conftest import Caller
from tests.contract import lived_in

ENTRIES = catalogue().operations


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("lived-in")
    lived_in.build(home)
    return home


@pytest.fixture
def clew(built: Path, tmp_path: Path) -> Iterator[Clew]:
    home = tmp_path / "home"
    shutil.copytree(built, home)
    clew = lived_in.open(home)
    yield clew
    clew.close()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_each_argument_is_taken_or_refused_in_words(clew: Clew, entry: OperationEntry) -> None:
    call = Caller(clew)
    definitions = entry.input_schema.get("$defs", {})
    for name, schema in entry.input_schema.get("properties", {}).items():
        answer = call.answer(entry.name, **{**entry.example, name: sample(schema, definitions)})
        if not answer.ok:
            error = answer.envelope["error"]
            assert error["code"] in ERROR_CODES, (name, error)
            assert error["code"] != "INTERNAL", (name, error)
            assert answer.envelope["suggestions"], (name, error)


# The gateway's arguments are loose: what they hold is checked by the operation they lead to.
@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.name != "thoughtbox_gateway"], ids=lambda entry: entry.name)
def test_wrong_types_and_unknown_arguments_are_refused(clew: Clew, entry: OperationEntry) -> None:
    call = Caller(clew)
    assert call.error(entry.name, **{**entry.example, "no_such_argument": 1})["code"] == "INVALID_INPUT"
    for name in entry.input_schema.get("required", []):
        assert call.error(entry.name, **{**entry.example, name: object_of_no_type()})["code"] == "INVALID_INPUT"


def test_no_budget_is_too_small_for_an_answer(clew: Clew) -> None:
    call = Caller(clew)
    for entry in ENTRIES:
        if "max_chars" not in entry.input_schema.get("properties", {}) or entry.name in lived_in.ELSEWHERE:
            continue
        arguments = lived_in.prepared(call, entry.name, entry.example)
        for most in (0, 20, 60, 150, 400, 1000):
            for fmt in ("json", "lines"):
                answer = call.answer(entry.name, **{**arguments, "max_chars": most, "fmt": fmt})
                assert answer.ok or answer.envelope["error"]["code"] != "INTERNAL", (entry.name, most, fmt)
                budget = answer.envelope["result"].get("budget", {"used_chars": 0})
                assert budget["used_chars"] <= max(most, 2), (entry.name, most, budget)


def test_every_refused_input_shows_a_call_that_is_well_formed(clew: Clew) -> None:
    call = Caller(clew)
    for name, arguments in (
        ("graph_apply", {"ops": [{"op": "node_upsert", "id": "a|b", "type": "note"}]}),
        ("think_card", {"card": {"type": "note"}}),
        ("tasks_complete", {"task": "TASK-001", "status": "DONE", "parked_for_s": 5}),
        ("transcripts_open", {"ref": {"path": "x.jsonl"}}),
        ("open", {"id": "\t"}),
        ("status", {"fmt": "xml"}),
    ):
        error = call.error(name, **arguments)
        assert error["code"] == "INVALID_INPUT" and error["hints"], (name, error)
        assert error["details"]["example"]["name"] == name


def object_of_no_type() -> Any:
    """Fits no schema of ours: a list of lists of lists."""
    return [[[[3.5]]]]


def sample(schema: dict[str, Any], definitions: dict[str, Any]) -> Any:
    """A small value that fits a schema."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], definitions)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    if kind == "integer":
        return max(schema.get("minimum", 1), 1)
    if kind == "object":
        needed = schema.get("required", [])
        return {name: sample(schema["properties"][name], definitions) for name in needed}
    simple: dict[Any, Any] = {"boolean": True, "number": 0.5, "string": "main", "array": []}
    return simple.get(kind, "main")
