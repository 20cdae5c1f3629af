"""Mistakes that models make: accepted, or refused with a first suggestion that does what was meant when it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from clew.app import Clew
from tests.conftest import Caller
from tests.records.test_work import connected

# Each is (tool, arguments) as a model wrote them, on a workspace with TASK-001 of two steps and one decision.
MISTAKES: list[tuple[str, dict[str, Any]]] = [
    # wrong names of arguments
    ("start", {"name": "Write docs"}),
    ("start", {"task_title": "Write docs"}),
    ("start", {"taskTitle": "Write docs"}),
    ("start", {"title": "Write docs", "step": ["one"]}),
    ("remember", {"content": "Keys are upper case", "kind": "rule"}),
    ("remember", {"statement": "Keys are upper case", "kind": "rule"}),
    ("remember", {"text": "Keys are upper case", "type": "rule"}),
    ("remember", {"text": "Keys are upper case", "kind": "rule", "reason": "style"}),
    ("remember", {"text": "Keys are upper case", "kind": "rule", "rationale": "style"}),
    ("remember", {"text": "Keys are upper case", "kind": "rule", "tags": ["style"]}),
    ("remember", {"text": "Keys are upper case", "kind": "rule", "files": ["a.py"]}),
    ("recall", {"q": "which file wins"}),
    ("recall", {"question": "which file wins"}),
    ("recall", {"text": "which file wins"}),
    ("recall", {"query": "which file wins", "k": 3}),
    ("recall", {"query": "which file wins", "max_results": 3}),
    ("recall", {"query": "which file wins", "top_k": 3}),
    ("close", {"step_id": "s:0", "unproven": "prose"}),
    ("close", {"path": "s:0", "unproven": "prose"}),
    ("close", {"stepId": "s:0", "unproven": "prose"}),
    ("close", {"step": "s:0", "reason": "prose"}),
    ("retract", {"id": "D-1", "reason": "wrong"}),
    ("retract", {"record_id": "D-1", "why": "wrong"}),
    ("open", {"ref": "D-1"}),
    ("open", {"record_id": "D-1"}),
    ("think", {"thought": "It may be the cache."}),
    ("think", {"content": "It may be the cache."}),
    ("resume", {"task_id": "TASK-001"}),
    ("resume", {"id": "TASK-001"}),
    # wrong types
    ("recall", {"query": "which file wins", "limit": "3"}),
    ("recall", {"query": ["which file wins"]}),
    ("resume", {"max_chars": "1500"}),
    ("start", {"title": "Write docs", "steps": "one step only"}),
    ("start", {"title": "Write docs", "steps": '["one", "two"]'}),
    ("start", {"title": "Write docs", "steps": [{"name": "one"}]}),
    ("start", {"title": "Write docs", "steps": [{"title": "one", "test": "make"}]}),
    ("start", {"title": "Write docs", "steps": [{"title": "one", "success_criteria": "it reads well"}]}),
    ("start", {"title": "Write docs", "strict": "false"}),
    ("remember", {"text": "Keys are upper case", "kind": "rule", "about": "a.py"}),
    ("remember", {"text": "Keys are upper case", "kind": "rule", "rests_on": "D-1"}),
    ("close", {"step": "s:0", "proof": '{"command": "pytest -q", "exit_code": 0}'}),
    ("close", {"step": "s:0", "proof": {"command": "pytest -q", "exit_code": "0"}}),
    ("close", {"step": "s:0", "proof": {"cmd": "pytest -q", "exit_code": 0}}),
    ("close", {"step": "s:0", "proof": {"command": "pytest -q", "exitCode": 0}}),
    ("close", {"step": 0, "unproven": "prose"}),
    # ids and names that are nearly right
    ("close", {"step": "0", "unproven": "prose"}),
    ("close", {"step": "step 0", "unproven": "prose"}),
    ("close", {"step": "STEP-1", "unproven": "prose"}),
    ("close", {"step": "s:9", "unproven": "prose"}),
    ("close", {"task": "task-001", "step": "s:0", "unproven": "prose"}),
    ("close", {"task": "TASK-1", "step": "s:0", "unproven": "prose"}),
    ("resume", {"task": "task-001"}),
    ("resume", {"task": "TASK-1"}),
    ("open", {"id": "d-1"}),
    ("open", {"id": "task-001"}),
    ("retract", {"id": "d-1", "why": "wrong"}),
    # kinds in other words, and work as a record
    ("remember", {"text": "Keys are upper case", "kind": "Constraint"}),
    ("remember", {"text": "Keys are upper case", "kind": "decisions"}),
    ("remember", {"text": "Write the docs", "kind": "task"}),
    ("remember", {"text": "Keys are upper case", "kind": "rul"}),
    # missing arguments
    ("remember", {"text": "Keys are upper case"}),
    ("close", {"step": "s:0"}),
    ("close", {}),
]


@pytest.fixture
def agent(clew: Clew) -> Caller:
    caller = connected(clew, "coder", "one")
    caller("remember", text="The file named last wins", kind="decision", why="shells do it so")
    caller("start", title="Parse", steps=["reader", "writer"])
    return caller


def repaired(agent: Caller, name: str, arguments: dict[str, Any]) -> bool:
    """Whether the call, or else its first suggestion as it stands, does what was meant."""
    answer = agent.answer(name, **arguments)
    if answer.ok:
        return True
    ways = answer.envelope["suggestions"]
    if not ways or "<fill" in str(ways[0]):
        return False
    way = ways[0]
    meant = way["params"].get("name", way["target"]) if way["target"] in ("op_call", "op_read") else way["target"]
    return meant in (name, "start") and agent.answer(way["target"], **way["params"]).ok


def test_there_are_sixty_mistakes() -> None:
    assert len(MISTAKES) >= 60


def test_nine_of_ten_mistakes_are_accepted_or_mended(make_clew: Any, clew: Clew) -> None:
    failed = []
    for number, (name, arguments) in enumerate(MISTAKES):
        caller = connected(clew, "coder", f"c{number}")
        caller.session.workspace_override = f"mistake-{number}"
        caller("remember", text="The file named last wins", kind="decision", why="shells do it so")
        caller("start", title="Parse", steps=["reader", "writer"])
        if not repaired(caller, name, arguments):
            failed.append((name, arguments))
    assert len(failed) <= len(MISTAKES) // 10, failed
