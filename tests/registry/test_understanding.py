"""What was meant well is accepted: right values in a wrong form. What is unclear is refused and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller

STEPS = [{"title": "Parse", "success_criteria": ["It parses"]}]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("tasks_macro_start", {"taskTitle": "Read files"}),
        ("tasks_macro_start", {"task_title": "Read files", "steps": STEPS[0]}),
        ("tasks_macro_start", {"task_title": "Read files", "steps": '[{"title": "A", "success_criteria": ["B"]}]'}),
        ("tasks_macro_start", {"task_title": "Read files", "steps": [{"title": "A", "success_criteria": "B"}]}),
        ("tasks_macro_start", {"task_title": "Read files", "steps": STEPS, "reasoning_mode": "Strict"}),
        ("notes_commit", {"content": 42}),
        ("status", {"max_chars": "5000"}),
        ("status", {"max_chars": 5000.0}),
        ("open", {"id": "a:core", "include_drafts": "true"}),
        ("think_card", {"card": '{"type": "note", "title": "Kept", "text": "As JSON in a string."}'}),
        ("think_card", {"card": {"type": "note", "title": "Kept", "tags": "one"}}),
    ],
)
def test_a_right_value_in_a_wrong_form_is_accepted(call: Caller, name: str, arguments: dict[str, Any]) -> None:
    answer = call.answer(name, **arguments)
    assert answer.ok or answer.envelope["error"]["code"] != "INVALID_INPUT", answer.text


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("status", {"max_chars": "many"}),
        ("status", {"max_chars": -1}),
        ("notes_commit", {"content": {"a": 1}}),
        ("tasks_macro_start", {"task_title": "Read files", "steps": "[{broken"}),
        ("tasks_macro_start", {"steps": STEPS}),
        ("open", {"id": "a:core", "include_drafts": "perhaps"}),
    ],
)
def test_what_is_unclear_is_refused(call: Caller, name: str, arguments: dict[str, Any]) -> None:
    answer = call.answer(name, **arguments)
    assert not answer.ok
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
