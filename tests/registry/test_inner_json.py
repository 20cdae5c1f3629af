"""JSON that comes inside a text meets the same door as the arguments around it; formats of ours never raise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import Caller

DEEP = "[" * 300 + "]" * 300
HEADER = '<!-- srcbook:{"language":"typescript"} -->\n\n# Title\n'


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("think_card", {"card": f'{{"title": "x", "more": {DEEP}}}'}),
        ("think_card", {"card": '{"title": "a\\u0000b"}'}),
        ("think_card", {"card": '{"title": "x", "meta": {"k": "a\\u0000b"}}'}),
        ("think_card", {"card": 'title: x\nmeta: {"k": "a\\u0000b"}'}),
        ("trace_step", {"step": "x", "meta": f'{{"more": {DEEP}}}'}),
        ("trace_step", {"step": "x", "meta": '{"k": "a\\u0000b"}'}),
        ("notebook_load", {"content": '<!-- srcbook:{"language":["typescript"]} -->\n'}),
        ("notebook_load", {"content": '<!-- srcbook:{"language":"typescript","tsconfig.json":"\\u0000"} -->\n\n# T\n'}),
        ("session_import", {"content": f"[{'9' * 5000}/3]: too long a number"}),
        (
            "session_import",
            {"content": '<!-- clew session {} -->\n<!-- clew thought {"data": 5} -->\n<!-- /thought -->'},
        ),
    ],
)
def test_what_cannot_be_stored_is_refused_in_words(call: Caller, name: str, arguments: dict[str, Any]) -> None:
    error = call.error(name, **arguments)
    assert error["code"] == "INVALID_INPUT"
    assert error["recovery"]


@pytest.mark.parametrize("mark", ["<!-- cell:markdown lines=two -->", f"<!-- cell:markdown lines={'9' * 5000} -->"])
def test_a_line_that_only_looks_like_a_mark_is_text(call: Caller, mark: str) -> None:
    notebook = call("notebook_load", content=f"{HEADER}{mark}\nafter it")["notebookId"]
    cells = call("notebook_list_cells", notebookId=notebook)["cells"]
    assert [cell["type"] for cell in cells] == ["title", "markdown"]
    assert call("notebook_get_cell", notebookId=notebook, cellId=cells[1]["id"])["cell"]["content"].startswith(mark)


@pytest.mark.parametrize(
    ("session", "data"),
    [
        ({"branchNames": {"b": ["no text"]}}, {"branchId": "b"}),
        ({"branchNames": {"b": "a\x00b"}}, {"branchId": "b"}),
        ({"critiqueCount": 2**63}, {}),
        ({"tags": ["a\x07b"]}, {}),
        ({"more": json.loads("[" * 60 + "]" * 60)}, {"more": json.loads("[" * 60 + "]" * 60)}),
        ({"more": "a\x00b"}, {"more": {"a\x00b": "a\x00b"}, "critique": {"text": "a\x00b"}}),
        ({}, {"type": ["H"]}),
    ],
)
def test_a_foreign_session_is_mended_not_trusted(call: Caller, session: dict[str, Any], data: dict[str, Any]) -> None:
    node = {"data": {"thought": "It holds.", "thoughtNumber": 1, **data}}
    report = call("session_import", content=json.dumps({"session": session, "nodes": [node]}))
    assert report["added"] == 1
    thoughts = call("session_get", sessionId=report["sessionId"])["thoughts"]
    assert [thought["thought"] for thought in thoughts] == ["It holds."]
    assert call("session_export", sessionId=report["sessionId"], format="json")["content"]
