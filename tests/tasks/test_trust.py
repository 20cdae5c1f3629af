"""What was proven and concluded stays true only while what it rests on does."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.suggestions import run_suggestions
from tests.tasks.test_receipts import prove as seen


def issues(call: Caller, task: str, code: str, **more: Any) -> list[dict[str, Any]]:
    return [issue for issue in call("tasks_lint", task=task, **more)["issues"] if issue["code"] == code]


def prove(call: Caller, task: str, digest: str, exit_code: int = 0) -> str:
    item = {
        "command": "make test",
        "exit_code": exit_code,
        "output_digest": "sha256:out",
        "files": [{"path": "src/a.py", "digest": digest}, {"path": "src/b.py", "digest": "sha256:b"}],
    }
    return str(call("tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", items=[item])["evidence"][0])


def test_a_proof_is_stale_when_a_file_under_it_changed(call: Caller, task: str) -> None:
    first = prove(call, task, "sha256:1")
    assert issues(call, task, "STALE_PROOF", files={"src/a.py": "sha256:1", "other": "x"}) == []
    stale = issues(call, task, "STALE_PROOF", files={"src/a.py": "sha256:2"})
    assert [issue["target"]["evidence"] for issue in stale] == [first]
    assert "src/a.py" in stale[0]["message"] and "make test" in stale[0]["recovery"]


def test_running_the_command_again_replaces_its_proof(call: Caller, task: str) -> None:
    prove(call, task, "sha256:1")
    prove(call, task, "sha256:2")
    assert issues(call, task, "STALE_PROOF", files={"src/a.py": "sha256:2"}) == []
    kept = call("open", id="EV-002")["evidence"]
    assert (kept["command"], kept["exit_code"], kept["output_digest"]) == ("make test", 0, "sha256:out")
    assert kept["files"] == {"src/a.py": "sha256:2", "src/b.py": "sha256:b"}


def test_a_step_is_suspect_when_its_decision_rests_on_a_fallen_card(call: Caller, task: str) -> None:
    fact = call("think_card", target=task, card={"type": "evidence", "title": "It is fast"})["card_id"]
    decision = call("think_card", target=task, step="s:0", card={"type": "decision", "title": "Use it"})["card_id"]
    edge = {"op": "edge_upsert", "from": decision, "rel": "depends_on", "to": fact}
    call("graph_apply", target=task, ops=[edge])
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    assert issues(call, task, "SUSPECT_STEP") == []
    call("think_set_status", target=task, targets=[fact], status="retracted")
    found = issues(call, task, "SUSPECT_STEP")
    assert [issue["target"]["path"] for issue in found] == ["s:0"]
    assert fact in found[0]["message"]
    patch = next(p for p in call("tasks_lint", task=task)["patches"] if p["id"].endswith(":reopen"))
    assert call(patch["apply"]["tool"], **patch["apply"]["arguments"])["completed"] is False


def rest_on_a_fact(call: Caller, task: str) -> str:
    """The first step, closed on a decision that depends on the card returned."""
    fact = str(call("think_card", target=task, card={"type": "evidence", "title": "It is fast"})["card_id"])
    decision = call("think_card", target=task, step="s:0", card={"type": "decision", "title": "Use it"})["card_id"]
    edge = {"op": "edge_upsert", "from": decision, "rel": "depends_on", "to": fact}
    call("graph_apply", target=task, ops=[edge])
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    return fact


def close_the_rest(call: Caller, task: str) -> None:
    call("think_card", target=task, step="s:1", card={"type": "decision", "title": "Write it", "text": "As agreed."})
    call("tasks_close_step", task=task, path="s:1", checkpoints="gate")


def test_the_gate_of_a_done_step_opens_again_when_its_premise_falls(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, reasoning_mode="strict")
    seen(call.clew, task, "s:0")
    fact = rest_on_a_fact(call, task)
    close_the_rest(call, task)
    call("think_set_status", target=task, targets=[fact], status="disproved")
    answer = call.answer("tasks_complete", task=task)
    assert answer.envelope["error"]["code"] == "REASONING_REQUIRED"
    assert answer.envelope["error"]["details"]["path"] == "s:0"
    state, command = call.lines("tasks_snapshot", task=task, view="focus_only")[:2]
    assert f"next gate s:0 (open again: {fact} is disproved)" in state
    assert command == f"tasks_progress completed=false step_id=STEP-00000001 task={task}"
    run_suggestions(call.clew, answer, call.session)
    assert call("tasks_radar", task=task)["steps"]["open"] == 1


def test_a_premise_that_stands_again_lets_the_task_finish(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, reasoning_mode="strict")
    seen(call.clew, task, "s:0")
    fact = rest_on_a_fact(call, task)
    close_the_rest(call, task)
    call("think_set_status", target=task, targets=[fact], status="retracted")
    assert call.error("tasks_macro_finish", task=task)["code"] == "REASONING_REQUIRED"
    call("think_set_status", target=task, targets=[fact], status="open")
    assert call("tasks_macro_finish", task=task)["status"] == "DONE"


def test_closing_again_by_override_settles_a_fallen_premise(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, reasoning_mode="strict")
    seen(call.clew, task, "s:0")
    fact = rest_on_a_fact(call, task)
    close_the_rest(call, task)
    call("think_set_status", target=task, targets=[fact], status="superseded")
    call("tasks_progress", task=task, path="s:0", completed=False)
    known = {"reason": "the newer fact agrees", "risk": "none seen"}
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate", override=known)
    assert call("tasks_complete", task=task)["task"]["status"] == "DONE"


def test_a_task_that_is_not_strict_is_told_and_finishes(call: Caller, task: str) -> None:
    fact = rest_on_a_fact(call, task)
    close_the_rest(call, task)
    call("think_set_status", target=task, targets=[fact], status="disproved")
    assert call("tasks_radar", task=task)["radar"]["suspects"] == [f"s:0 Parse: {fact} is disproved"]
    answer = call.answer("tasks_complete", task=task)
    assert [warning["code"] for warning in answer.envelope["warnings"]] == ["PREMISE_FALLEN"]


def test_a_strict_step_does_not_close_on_a_fallen_premise(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, reasoning_mode="strict")
    seen(call.clew, task, "s:0")
    fact = call("think_card", target=task, card={"type": "evidence", "title": "It is fast"})["card_id"]
    decision = call("think_card", target=task, step="s:0", card={"type": "decision", "title": "Use it"})["card_id"]
    edge = {"op": "edge_upsert", "from": decision, "rel": "depends_on", "to": fact}
    call("graph_apply", target=task, ops=[edge])
    call("think_set_status", target=task, targets=[fact], status="disproved")
    answer = call.answer("tasks_close_step", task=task, path="s:0", checkpoints="gate")
    assert answer.envelope["error"]["details"]["missing"] == ["STRICT_PREMISE_FALLEN"]
    run_suggestions(call.clew, answer, call.session)
    call("think_set_status", target=task, targets=[fact], status="open")
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")


def test_a_decision_in_the_place_of_one_that_fell_lets_a_strict_step_close(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, reasoning_mode="strict")
    seen(call.clew, task, "s:0")
    fact = call("think_card", target=task, card={"type": "evidence", "title": "It is fast"})["card_id"]
    decision = {"type": "decision", "title": "Use it", "text": "It is fast."}
    old = call("think_card", target=task, step="s:0", card=decision)["card_id"]
    call("graph_apply", target=task, ops=[{"op": "edge_upsert", "from": old, "rel": "depends_on", "to": fact}])
    call("think_set_status", target=task, targets=[fact], status="disproved")
    told = call.error("tasks_close_step", task=task, path="s:0", checkpoints="gate")["recovery"]
    assert f"without {fact}" in told and "think_set_status superseded" in told
    call("think_card", target=task, step="s:0", card={"type": "decision", "title": "Use csv", "text": "It is simple."})
    call("think_set_status", target=task, targets=[old], status="superseded")
    call("tasks_close_step", task=task, path="s:0", checkpoints="gate")
