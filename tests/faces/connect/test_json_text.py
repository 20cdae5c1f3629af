"""Values are put into JSON with comments and taken out again; everything else stays, to the byte."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.faces.connect.config_formats import COMMENTED_JSON, JSON, JSONC, Format, Hollow, value_at
from clew.faces.connect.jsonc import Path, Unreadable, tokens

ENTRY = {"command": "/opt/clew/bin/clew", "args": ["serve"], "env": {"CLEW_HOME": "/srv/ü"}}
PATHS: list[Path] = [("mcpServers", "clew"), ("hooks", "SessionStart", 0), ("a", "b", "clew")]
KEYS = st.one_of(
    st.sampled_from(["mcpServers", "hooks", "SessionStart", "a", "b", "x/y", "http://q"]), st.text(max_size=4)
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.text(max_size=6), st.just("// no comment"))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)
TRIVIA = st.lists(
    st.sampled_from([" ", "  ", "\t", "\n", "\n  ", "/* note */", "// line \n", "/* two\n lines */", '// "{",\n']),
    max_size=3,
).map("".join)


@st.composite
def documents(draw: Callable[..., Any]) -> str:
    """A JSON object written as wildly as the format allows."""

    def written(value: Any) -> str:
        if isinstance(value, dict):
            parts = [f"{json.dumps(key)}{draw(TRIVIA)}:{draw(TRIVIA)}{written(item)}" for key, item in value.items()]
        elif isinstance(value, list):
            parts = [written(item) for item in value]
        else:
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        spaced = [f"{draw(TRIVIA)}{part}{draw(TRIVIA)}" for part in parts]
        comma = f",{draw(TRIVIA)}" if parts and draw(st.booleans()) else ""
        inner = ",".join(spaced) + comma if parts else draw(TRIVIA)
        return f"{{{inner}}}" if isinstance(value, dict) else f"[{inner}]"

    text: str = draw(TRIVIA) + written(draw(st.dictionaries(KEYS, VALUES, max_size=4))) + draw(TRIVIA)
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def undone(format: Format, text: str, path: Path, hollows: list[Hollow]) -> str:
    text = format.drop(text, path)
    for hollow in hollows:
        text = format.refill(text, hollow)
    return text


def comments(text: str) -> list[str]:
    return [token.text for token in tokens(text) if token.kind in ("line", "block")]


def appended(data: Any, path: Path) -> Path:
    """A number at the end of a path becomes the place after the last item."""
    inner = data
    for part in path[:-1]:
        inner = inner.get(part) if isinstance(inner, dict) else None
    return (*path[:-1], len(inner)) if isinstance(path[-1], int) and isinstance(inner, list) else path


@settings(max_examples=150, deadline=None)
@given(documents(), st.sampled_from(PATHS))
def test_what_is_put_is_taken_out_to_the_byte(text: str, path: Path) -> None:
    before = JSONC.read(text)
    path = appended(before, path)
    hollows = JSONC.hollows(text, path)
    try:
        put = JSONC.put(text, path, ENTRY)
    except Unreadable as refused:
        assert "is not a" in str(refused)  # a scalar or a list stands where an object is needed
        return
    after = JSONC.read(put)
    foreign = {key: value for key, value in after.items() if key != path[0]}
    assert foreign == {key: value for key, value in before.items() if key != path[0]}
    assert value_at(after, path) == ENTRY
    assert JSONC.put(put, path, ENTRY) == put
    if not stands(before, path):
        assert comments(put) == comments(text)
        assert undone(JSONC, put, path, hollows) == text


def stands(data: Any, path: Path) -> bool:
    container = value_at(data, path[:-1])
    return isinstance(container, dict) and path[-1] in container


EDGES = [
    ("{}", '{\n  "mcpServers": {\n    "clew": 1\n  }\n}'),
    ('{"a": 1}', '{"a": 1, "mcpServers": {"clew": 1}}'),
    ('{\n\t"a": 1 // why\n}\n', '{\n\t"a": 1, // why\n\t"mcpServers": {\n\t\t"clew": 1\n\t}\n}\n'),
    ('{\n  "mcpServers": {\n    "x": {},\n  },\n}', '{\n  "mcpServers": {\n    "x": {},\n    "clew": 1,\n  },\n}'),
    ('{"u": "http://x" // c\n}', '{"u": "http://x", // c\n"mcpServers": {"clew": 1}\n}'),
    ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "mcpServers": {\r\n        "clew": 1\r\n    }\r\n}'),
]


@pytest.mark.parametrize(("before", "after"), EDGES)
def test_the_file_keeps_its_own_manner(before: str, after: str) -> None:
    path: Path = ("mcpServers", "clew")
    hollows = JSONC.hollows(before, path)
    assert JSONC.put(before, path, 1) == after
    assert undone(JSONC, after, path, hollows) == before


def test_a_value_in_the_middle_is_cut_with_its_comma() -> None:
    assert JSONC.drop('{"a": 1, "b": 2, "c": 3}', ("b",)) == '{"a": 1, "c": 3}'
    assert JSONC.drop('{"a": 1, "b": 2}', ("b",)) == '{"a": 1}'
    assert JSONC.drop("[1, /* two */ 2, 3]", (0,)) == "[ /* two */ 2, 3]"


def test_nothing_moves_behind_a_line_comment() -> None:
    left = JSONC.drop('{"a": 1, // note\n "b": 2 }', ("b",))
    assert JSONC.read(left) == {"a": 1}


MALFORMED = [
    "{", '{"a" 1}', '{"a": 1 "b": 2}', "{'a': 1}", '{"a": 01}', '{"a": 1}}', '{"a": "\n"}', '{"a": tru}', "[1 2]",
    '{"a": /* open }', '{"a": 1,, "b": 2}', "{,}", '{"a": }', '{"\\x": 1}', "[" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_not_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Unreadable, match="line 1"):
        JSONC.put(text, ("a",), 1)


@pytest.mark.parametrize("text", ['{"a": 1,}', '{"a": 1} // note', "/* note */ {}"])
def test_a_client_that_reads_strictly_gets_no_comments(text: str) -> None:
    assert JSONC.read(text) is not None
    with pytest.raises(Unreadable, match="line 1"):
        JSON.read(text)


def test_a_client_that_takes_comments_may_still_refuse_a_trailing_comma() -> None:
    assert COMMENTED_JSON.read('// mine\n{"a": 1}') == {"a": 1}
    with pytest.raises(Unreadable, match="line 1: a comma before }"):
        COMMENTED_JSON.put('{"a": 1,}', ("b",), 2)


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_values_are_read_as_the_standard_library_reads_them(value: Any) -> None:
    text = json.dumps({"value": value}, indent=1)
    assert JSON.read(text) == json.loads(text)
