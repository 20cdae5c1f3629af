"""What was proven and concluded stays true only while what it rests on does."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller
from tests.suggestions import run_suggestions


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


def test_a_strict_step_does_not_close_on_a_fallen_premise(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, reasoning_mode="strict")
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
