"""Proof: what counts, what never does, and what it makes of a step's gate."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.tasks.proof_receipts import is_real, receipts, salvaged, weak
from tests.conftest import Caller
from tests.suggestions import run_suggestions


def require(call: Caller, task: str, mode: str = "require") -> None:
    op = {"op": "set", "field": "proof_tests_mode", "value": mode}
    call("tasks_patch", task=task, path="s:0", ops=[op])


def test_a_step_that_requires_proof_closes_only_with_it(call: Caller, task: str) -> None:
    require(call, task)
    error = call.error("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    assert error["code"] == "PROOF_REQUIRED"
    assert error["message"] == "missing proof: tests=true security=false perf=false docs=false"
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=["CMD: make test"])
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")


@pytest.mark.parametrize(
    "payload",
    [
        {"checks": ["CMD: <fill: command>", "LINK:", " ", "- CMD:"]},
        {"attachments": ["<fill: link>", ""]},
        {"items": [{}, {"command": "<fill>"}, {"content": "  "}]},
        {},
    ],
)
def test_placeholders_and_empty_captures_are_never_kept(call: Caller, task: str, payload: dict[str, Any]) -> None:
    require(call, task)
    before = call("tasks_delta")
    error = call.error("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", **payload)
    assert error["code"] == "INVALID_INPUT"
    assert call("tasks_delta") == before
    assert call.error("tasks_close_step", task=task, path="s:0", checkpoints="gate")["code"] == "PROOF_REQUIRED"


def test_a_failed_command_is_evidence_and_no_proof(call: Caller, task: str) -> None:
    require(call, task)
    failed = {"command": "make test", "exit_code": 2}
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", items=[failed])
    assert call.error("tasks_close_step", task=task, path="s:0", checkpoints="gate")["code"] == "PROOF_REQUIRED"
    passed = {**failed, "exit_code": 0, "output_digest": "sha256:1", "files": {"src/a.py": "sha256:2"}}
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", items=[passed])
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")


def test_mode_warn_warns(call: Caller, task: str) -> None:
    require(call, task, "warn")
    answer = call.answer("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    assert [item["code"] for item in answer.envelope["warnings"]] == ["PROOF_MISSING"]


def test_evidence_makes_an_optional_checkpoint_required(call: Caller, task: str) -> None:
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint=["security"], checks=["CMD: audit"])
    error = call.error("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    assert (error["code"], error["details"]["missing"]) == ("CHECKPOINTS_NOT_CONFIRMED", ["security"])
    call("tasks_close_step", task=task, path="s:0", checkpoints={"criteria": True, "tests": True, "security": True})


def test_evidence_for_a_done_step_cannot_leave_it_unconfirmed(call: Caller, task: str) -> None:
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    answer = call.answer("tasks_evidence_capture", task=task, path="s:0", checkpoint="docs", checks=["LINK: /x"])
    assert answer.envelope["error"]["code"] == "INVALID_INPUT"
    run_suggestions(call.clew, answer, call.session)
    call("tasks_evidence_capture", task=task, path="s:0", checkpoint="docs", checks=["LINK: /x"])


def test_proof_required_on_a_done_step_needs_it_open(call: Caller, task: str) -> None:
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    op = {"op": "set", "field": "proof_perf_mode", "value": "require"}
    assert call.error("tasks_patch", task=task, path="s:0", ops=[op])["code"] == "INVALID_INPUT"


def test_evidence_leaves_a_note_an_event_and_something_to_find(call: Caller, task: str) -> None:
    kept = call(
        "tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=["- CMD: make test", "LINK: /log"]
    )
    assert kept["evidence"] == ["EV-001", "EV-002"]
    assert kept["event"]["payload"]["checks"] == 2
    first = call("open", id="EV-001")["evidence"]
    assert (first["text"], first["command"], first["proves"]) == ("CMD: make test", "make test", True)
    note = call("show", target=task, doc_kind="notes")["entries"][-1]
    assert (note["title"], note["content"]) == (
        "Evidence captured",
        "artifacts=0, checks=2, attachments=0 for tests at s:0",
    )


def test_evidence_may_belong_to_a_task_or_a_plan(call: Caller, task: str) -> None:
    assert call("tasks_evidence_capture", plan="PLAN-001", attachments=["https://x.test/a"])["step"] is None
    assert call("tasks_evidence_capture", task=task, checks=["CMD: ls"])["task"] == task


def test_a_receipt_without_its_counterpart_is_called_weak(call: Caller, task: str) -> None:
    answer = call.answer("tasks_evidence_capture", task=task, path="s:0", checks=["CMD: make test"])
    assert [item["code"] for item in answer.envelope["warnings"]] == ["PROOF_WEAK"]
    answer = call.answer(
        "tasks_evidence_capture", task=task, path="s:0", checks=["CMD: make test"], attachments=["https://ci.test/1"]
    )
    assert answer.envelope["warnings"] == []


def test_too_much_evidence_is_refused(call: Caller, task: str) -> None:
    assert call.error("tasks_evidence_capture", task=task, checks=["x"] * 21)["code"] == "INVALID_INPUT"
    assert (
        call.error("tasks_evidence_capture", task=task, items=[{"content": "x" * 256_001}])["code"] == "INVALID_INPUT"
    )
    assert call.error("tasks_evidence_capture", task=task, checks=["x"], checkpoint="speed")["code"] == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("make test", ["CMD: make test"]),
        (
            "- cmd: make test\n2) https://ci.test/1\n> <file:///log>",
            ["CMD: make test", "LINK: https://ci.test/1", "LINK: file:///log"],
        ),
        ("\n * LINK  https://x.test/\n", ["LINK: https://x.test/"]),
        ("• прогон тестов", ["CMD: прогон тестов"]),
    ],
)
def test_pasted_text_becomes_receipts(text: str, expected: list[str]) -> None:
    assert receipts(text) == expected


def test_only_whole_lines_of_a_note_are_salvaged() -> None:
    note = "I ran CMD: ls in passing\nCMD: make test\nsee https://x.test/ for more\n- https://x.test/run\nCMD: <fill>"
    assert salvaged(note) == ["CMD: make test", "LINK: https://x.test/run"]


def test_weakness_speaks_of_tagged_lines_only() -> None:
    assert weak(["looked at it"], []) == []
    assert weak(["CMD: ls"], []) == ["LINK"]
    assert weak(["CMD: <fill>", "LINK: https://x.test/"], []) == ["CMD"]
    assert weak(["CMD: ls"], ["https://x.test/"]) == []


@given(text=st.text(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_becomes_receipts_once_and_for_all(text: str) -> None:
    made = receipts(text)
    assert all(line.startswith(("CMD:", "LINK:")) for line in made)
    assert receipts(made) == made
    assert all(is_real(line) for line in salvaged(text))
    assert set(salvaged(text)) <= set(made)


@given(text=st.text(max_size=60), tag=st.sampled_from(["", "CMD:", "link:", "- CMD: ", "1) LINK: "]))
@settings(max_examples=200, deadline=None)
def test_a_placeholder_is_never_real_whatever_stands_around_it(text: str, tag: str) -> None:
    assert not is_real(f"{tag}{text}<fill: {text}")
