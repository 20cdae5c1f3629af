"""Arguments on a command line: read as the schema says, rendered so that they read back the same."""

import io
import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ClewError
from clew.faces.cli.words import command_for, parse_arguments, render_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "kind": {"enum": ["note", "card"]},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "dry": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "meta": {"type": "object"},
        "either": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "target": {"$ref": "#/$defs/Target"},
        "any": {},
    },
    "$defs": {"Target": {"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}},
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["text=12"], {"text": "12"}),
        (["text=a=b"], {"text": "a=b"}),
        (["text="], {"text": ""}),
        (["kind=note"], {"kind": "note"}),
        (["count=12"], {"count": 12}),
        (["count=-3"], {"count": -3}),
        (["share=0.5"], {"share": 0.5}),
        (["dry=true"], {"dry": True}),
        (["dry=No"], {"dry": False}),
        (["tags=a"], {"tags": ["a"]}),
        (["tags=a", "tags=b"], {"tags": ["a", "b"]}),
        (['tags=["a","b"]', "tags=c"], {"tags": ["a", "b", "c"]}),
        (['meta={"a": 1}'], {"meta": {"a": 1}}),
        (['either={"a": 1}'], {"either": {"a": 1}}),
        (["either=plain"], {"either": "plain"}),
        (["target=TASK-001"], {"target": "TASK-001"}),
        (["target=7"], {"target": 7}),
        (["any=7"], {"any": 7}),
        (["any=seven"], {"any": "seven"}),
        (['text:="12"'], {"text": "12"}),
        (["unknown=5"], {"unknown": 5}),
        (['{"text": "a", "count": 1}', "count=2"], {"text": "a", "count": 2}),
        ([], {}),
    ],
)
def test_words_become_arguments(words: list[str], expected: dict[str, Any]) -> None:
    assert parse_arguments(words, SCHEMA) == expected


def test_what_does_not_fit_stays_text_for_the_operation_to_refuse() -> None:
    assert parse_arguments(["count=many", "dry=perhaps"], SCHEMA) == {"count": "many", "dry": "perhaps"}


def test_an_object_comes_from_stdin_or_a_file(tmp_path: Any) -> None:
    file = tmp_path / "arguments.json"
    file.write_text('{"count": 3}')
    assert parse_arguments(["-", f"@{file}"], SCHEMA, io.StringIO('{"text": "piped"}')) == {"text": "piped", "count": 3}


@pytest.mark.parametrize(
    "words", [["plain"], ["{broken"], ["[1]"], ["-"], ["@/no/such"], ["count:=x"], ["text=a", "text=b"]]
)
def test_malformed_words_are_refused_with_advice(words: list[str]) -> None:
    with pytest.raises(ClewError) as refused:
        parse_arguments(words, SCHEMA, io.StringIO("[]"))
    assert refused.value.code == "INVALID_INPUT"
    assert refused.value.recovery


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "unknown"]), JSON))
def test_rendered_arguments_read_back_the_same(arguments: dict[str, Any]) -> None:
    line = " ".join(render_arguments(arguments, SCHEMA))
    assert parse_arguments(shlex.split(line), SCHEMA) == arguments


def test_a_command_can_be_pasted() -> None:
    line = command_for("notes_commit", {"text": "it's late", "count": 2}, SCHEMA)
    assert shlex.split(line) == ["clew", "call", "notes_commit", "text=it's late", "count:=2"]
