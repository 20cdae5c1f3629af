"""What is not listed is listed by the suggestion directly before it, and nothing else asks for a longer list."""

from __future__ import annotations

from typing import Any

import pytest

from clew.app import Clew
from tests.conftest import Caller
from tests.suggestions import run_suggestions

STEP = {"title": "Parse", "success_criteria": ["parsed"], "tests": ["make test"]}


def in_toolset(clew: Clew, toolset: str) -> Caller:
    call = Caller(clew, toolset)
    call("tasks_macro_start", task_title="Reader: parse", steps=[STEP])
    return call


def ways(envelope: dict[str, Any]) -> list[str]:
    return [way.get("target") or f"list {way['params']['toolset']}" for way in envelope["suggestions"]]


@pytest.mark.parametrize("toolset", ["branchmind", "daily", "full"])
def test_the_mended_call_is_the_one_command_of_an_error(clew: Clew, toolset: str) -> None:
    call = in_toolset(clew, toolset)
    lines = call.answer("tasks_macro_close_step", chekpoints="gate").lines
    assert lines[0].startswith("ERROR: INVALID_INPUT chekpoints: unknown argument")
    assert lines[1] == "tasks_macro_close_step checkpoints=gate"
    assert not any(line.startswith("tools/list") for line in lines)


@pytest.mark.parametrize(
    "toolset, told",
    [
        ("branchmind", ["think_card", "list full", "op_search"]),
        ("core", ["list daily", "think_card", "list full", "op_search"]),
        ("full", ["think_card", "op_search"]),
    ],
)
def test_a_list_stands_directly_before_what_only_it_lists(clew: Clew, toolset: str, told: list[str]) -> None:
    call = in_toolset(clew, toolset)
    answer = call.answer("think_card", card="x", stp="focus")
    assert ways(answer.envelope) == told
    run_suggestions(clew, answer, call.session)


@pytest.mark.parametrize(
    "toolset, told", [("branchmind", "tasks_snapshot"), ("core", "tasks_snapshot"), ("full", "tasks_note")]
)
def test_a_card_that_was_written_asks_for_no_list(clew: Clew, toolset: str, told: str) -> None:
    call = in_toolset(clew, toolset)
    answer = call.answer("think_card", card={"type": "decision", "title": "Use csv", "text": "It fits."}, step="focus")
    assert answer.ok and ways(answer.envelope) == [told]
    run_suggestions(clew, answer, call.session)
