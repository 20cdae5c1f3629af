"""A newcomer follows the first command of every answer, from an empty store to a finished task."""

from __future__ import annotations

from typing import Any

from clew.registry.envelope import Answer
from tests.conftest import Caller
from tests.tasks.portal import STEP, parse_command


def first_command(answer: Answer) -> tuple[str, dict[str, Any]]:
    """What an agent sees first: the command below the state line, or the first suggestion.

    The call that lists a tool comes before the command that uses it; every tool can be called without it.
    """
    if answer.lines:
        return parse_command(next(line for line in answer.lines[1:] if not line.startswith("tools/list")))
    way = next(item for item in answer.envelope["suggestions"] if item["action"] == "call_tool")
    return way["target"], way["params"]


def follow(call: Caller, answer: Answer, **changed: Any) -> tuple[str, Answer]:
    name, arguments = first_command(answer)
    answer = call.clew.dispatcher.call(name, {**arguments, **changed}, call.session)
    assert answer.ok, (name, arguments, answer.envelope["error"])
    return name, answer


def test_six_calls_from_an_empty_store_to_a_finished_task(call: Caller) -> None:
    call.session.toolset = "daily"
    answer = call.answer("tasks_snapshot")
    assert not answer.ok
    went = ["tasks_snapshot"]
    told: list[dict[str, Any]] = [
        {"task_title": "Importer: read rows", "steps": [STEP]},
        {},
        {},
        {"note": "Read them.\nCMD: make test"},
        {},
    ]
    for changed in told:
        name, answer = follow(call, answer, **changed)
        went.append(name)
    assert went == [
        "tasks_snapshot",
        "tasks_macro_start",
        "think_card",
        "tasks_snapshot",
        "tasks_macro_close_step",
        "tasks_macro_close_step",
    ]
    assert answer.lines[0].endswith("| done")
    handoff = call("tasks_handoff")["handoff"]
    assert (handoff["done"], handoff["remaining"]) == (["s:0 Read rows (proof: tests, claimed)"], [])
    assert [risk.split(":")[0] for risk in handoff["risks"]] == ["not proven"]


def test_started_by_hand_every_first_command_runs_as_it_stands(call: Caller) -> None:
    call.session.toolset = "daily"
    answer = call.answer("tasks_macro_start", task_title="Importer: read rows", steps=[STEP])
    went = []
    while not answer.lines or "| done" not in answer.lines[0]:
        name, answer = follow(call, answer)
        went.append(name)
    assert went == ["think_card", "tasks_snapshot", "tasks_macro_close_step", "tasks_macro_close_step"]


def test_a_snapshot_in_between_leads_to_the_same_next_call(call: Caller) -> None:
    call.session.toolset = "daily"
    answer = call.answer("tasks_macro_start", task_title="Importer: read rows", steps=[STEP])
    for _ in range(2):
        assert first_command(call.answer("tasks_snapshot")) == first_command(answer)
        _, answer = follow(call, answer)
        answer = call.answer("tasks_snapshot")


def test_in_full_the_last_command_finishes_with_the_handoff(call: Caller) -> None:
    call("tasks_macro_start", task_title="Importer: read rows", steps=[STEP])
    answer = call.answer("tasks_macro_close_step", proof=["make test", "https://ci.example/1"])
    name, answer = follow(call, answer)
    assert name == "tasks_macro_finish"
    assert answer.envelope["result"]["handoff"]["handoff"]["done"] == ["s:0 Read rows (proof: tests, claimed)"]
