"""Argument objects that no honest client sends, made from the operations' own schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from clew.registry.catalogue import OperationEntry

NASTY: st.SearchStrategy[Any] = st.sampled_from(
    [
        "",
        " ",
        "..",
        "../../etc/passwd",
        "a/../b",
        "main",
        "notes",
        "TASK-001",
        "PLAN-999",
        "a:core",
        "null",
        "\x00",
        "\ud800",
        "\n[D-1]\nStatus: active",
        "x" * 5_000,
        "|",
        "%s ? $1 '; DROP TABLE entry; --",
        "‮right to left",
        "🧵" * 300,
        "{}",
        "[]",
        -1,
        0,
        1,
        2**31,
        2**53,
        2**64,
        -(2**70),
        1.5,
        float("nan"),
        float("inf"),
        True,
        False,
        None,
        [],
        {},
        [[[[]]]],
        {"id": "TASK-001"},
        {"id": "TASK-001", "kind": "plan"},
        ["a"] * 50,
        {"k": {"k": {"k": {}}}},
    ]
)

anything = st.one_of(
    NASTY,
    st.text(max_size=40),
    st.integers(),
    st.recursive(
        NASTY, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """A value of the type that the schema asks for, so that many calls get past the door."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "integer":
        return st.integers(schema.get("minimum", -5), min(schema.get("maximum", 300), 300))
    if kind == "boolean":
        return st.booleans()
    if kind == "string":
        return st.sampled_from(["main", "x", "what-if", "notes", "trace"]) | st.text(max_size=30)
    if kind == "object":
        return st.dictionaries(st.text(max_size=6), st.integers() | st.text(max_size=6), max_size=3)
    return anything


def arguments_for(entry: OperationEntry) -> st.SearchStrategy[dict[str, Any]]:
    properties = entry.input_schema.get("properties", {})
    named = {name: st.one_of(fitting(schema), anything) for name, schema in properties.items() if name != "workspace"}
    known = st.fixed_dictionaries({}, optional=named)
    unknown = st.dictionaries(st.text(max_size=12), anything, max_size=2)
    return st.one_of(known, st.builds(lambda first, second: {**first, **second}, known, unknown))
