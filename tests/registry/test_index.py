"""The generated index says what is declared, and what is declared keeps the rules of the field."""

from __future__ import annotations

import re

import orjson
import pytest

from clew.registry import build
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.operation import declared


def test_the_index_is_current() -> None:
    assert build.INDEX.read_bytes() == build.render(), "run `make index`"


@pytest.mark.parametrize("entry", catalogue().operations, ids=lambda entry: entry.name)
def test_every_operation_is_declared_well(entry: OperationEntry) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]{2,39}", entry.name)
    assert entry.summary.endswith(".")
    assert len(entry.summary) <= 160
    assert "workspace" not in entry.input_schema.get("required", [])
    for name, schema in entry.input_schema.get("properties", {}).items():
        check_schema(f"{entry.name}.{name}", schema)


def check_schema(where: str, schema: dict[str, object]) -> None:
    """Arrays say what they hold; no type lists, no titles."""
    if schema.get("type") == "array":
        assert "items" in schema, f"{where}: an array without items"
    assert not isinstance(schema.get("type"), list), where
    assert not isinstance(schema.get("title"), str), where


def test_the_default_list_is_small() -> None:
    listed = catalogue().listed("daily")
    assert len(listed) <= 14
    assert len(catalogue().listed("core")) <= 4
    text = orjson.dumps([{"name": e.name, "description": e.summary, "inputSchema": e.input_schema} for e in listed])
    assert len(text) <= 20_000


def test_every_example_is_a_valid_call() -> None:
    for row in build.index()["operations"]:
        operation = declared()[row["name"]]
        operation.input.model_validate(operation.example)
