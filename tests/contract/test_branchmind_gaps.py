"""Where BranchMind's program does less than its contract says, the contract holds here: over the wire.

The gaps are those of the dossier's last section. `contracts/README.md` decides each.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.test_branchmind import STEP, Caller
from tests.contract.wire import Wire, serving

DECISION = {"id": "CARD-D", "type": "decision", "title": "Read twice", "text": "The header comes first."}


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(tmp_path_factory.mktemp("gaps"), "full") as found:
        yield found


@pytest.fixture
def call(wire: Wire) -> Caller:
    caller = Caller(wire, f"w-{uuid.uuid4().hex}")
    caller("init")
    return caller


@pytest.fixture
def task(call: Caller) -> str:
    call("tasks_macro_start", plan_title="Import", task_title="Importer", steps=[STEP, {**STEP, "title": "Write rows"}])
    return "TASK-001"


def refused(call: Caller, name: str, /, **arguments: Any) -> str:
    return str(call.envelope(name, **arguments)["error"]["code"])


def test_a_task_is_closed_in_one_call(call: Caller, task: str) -> None:
    shown = call("tasks_close_task", task=task, apply=False)
    assert not shown["applied"] and not shown["can_close"]
    for path in ("s:0", "s:1"):
        call("tasks_close_step", task=task, path=path, checkpoints="gate")
    assert call("tasks_close_task", task=task, apply=True)["applied"]


def test_a_card_may_be_lines_of_key_and_value(call: Caller) -> None:
    made = call("think_card", branch="main", card="type: hypothesis\ntitle: Quotes are rare\nowner: bob")
    card = call("open", id=made["card_id"])["card"]
    assert (card["type"], card["title"], card["meta"]) == ("hypothesis", "Quotes are rare", {"owner": "bob"})


def test_a_repeated_card_is_a_no_op_also_after_a_pin(call: Caller) -> None:
    call("think_card", branch="main", card=DECISION)
    call("think_pin", ref="main", targets=["CARD-D"])
    call("think_set_status", ref="main", targets=["CARD-D"], status="accepted")
    assert call("think_card", branch="main", card=DECISION)["inserted"] is False
    assert refused(call, "think_card", branch="main", card={**DECISION, "text": "Another."}) == "INVALID_INPUT"


def test_publishing_again_publishes_what_the_card_says_now(call: Caller) -> None:
    call("think_card", branch="main", card=DECISION)
    call("think_publish", ref="main", card_id="CARD-D")
    call("think_set_status", ref="main", targets=["CARD-D"], status="closed")
    assert call("think_publish", ref="main", card_id="CARD-D")["published_card_id"] == "CARD-PUB-CARD-D"
    assert call("open", id="CARD-PUB-CARD-D")["card"]["status"] == "closed"


def test_the_filters_of_a_list_filter(call: Caller, task: str) -> None:
    call("tasks_create", parent="PLAN-001", title="Second")
    call("tasks_complete", task="TASK-002", status="ACTIVE")
    shown = call("tasks_context", tasks_status="ACTIVE")
    assert [item["id"] for item in shown["tasks"]] == ["TASK-002"] and shown["plans"][0]["status"]


def test_neither_forms_nor_nothing_prove_anything(call: Caller, task: str) -> None:
    for checks in (["CMD: <fill: what ran>"], []):
        assert refused(call, "tasks_evidence_capture", task=task, path="s:0", checkpoint="tests", checks=checks)


def test_a_lease_guards_every_change_and_force_refreshes_it(call: Caller, task: str) -> None:
    step = {"task": task, "path": "s:0"}
    first = call("tasks_step_lease_claim", agent_id="bob", **step)["lease"]
    for name, more in (("tasks_done", {}), ("tasks_progress", {"completed": True}), ("tasks_note", {"note": "x"})):
        assert refused(call, name, **step, **more) == "STEP_LEASE_HELD"
    call("tasks_note", agent_id="bob", note="mine", **step)
    again = call("tasks_step_lease_claim", agent_id="bob", force=True, **step)["lease"]
    assert again["expires_seq"] > first["expires_seq"]


def test_a_batch_is_one_transaction_and_an_old_name_of_the_revision_counts(call: Caller, task: str) -> None:
    note = {"tool": "tasks_note", "args": {"task": task, "path": "s:0", "note": "atomic"}}
    wrong = {"tool": "tasks_note", "args": {"task": "TASK-404", "path": "s:0", "note": "x"}}
    assert refused(call, "tasks_batch", atomic=True, operations=[note, wrong]) == "BATCH_FAILED"
    assert call("show", target=task, doc_kind="notes")["entries"] == []
    assert refused(call, "tasks_edit", task=task, title="T", expected_version=99) == "REVISION_MISMATCH"


def test_graphs_show_what_lives_and_a_settled_conflict_stays_settled(call: Caller) -> None:
    def put(branch: str, title: str) -> None:
        call("graph_apply", branch=branch, ops=[{"op": "node_upsert", "id": "n", "type": "area", "title": title}])

    put("main", "base")
    call("branch_create", name="side")
    put("side", "theirs")
    put("main", "ours")
    (conflict,) = call("graph_merge", **{"from": "side"})["conflict_ids"]
    call("graph_conflict_resolve", conflict_id=conflict, resolution="use_into")
    put("main", "ours again")
    again = call("graph_merge", merge_to_base=True, **{"from": "side"})
    assert again["conflicts_created"] == 0 and again["conflicts"] == []
    call("graph_apply", branch="main", ops=[{"op": "node_delete", "id": "n"}])
    assert call("graph_query", branch="main")["nodes"] == []


def test_merging_an_anchor_twice_skips_it(call: Caller) -> None:
    call("anchors_bootstrap", anchors=[{"id": f"a:{name}", "title": name, "kind": "data"} for name in ("one", "two")])
    merge = {"from": ["a:two"], "into": "a:one"}
    assert call("anchors_merge", **merge)["merged"] == ["a:two"]
    assert call("anchors_merge", **merge)["skipped"] == ["a:two"]


def test_secrets_are_hidden_in_every_view_and_targets_must_exist(call: Caller, task: str) -> None:
    call("tasks_edit", task=task, title="token=abcdef1234567890")
    assert "abcdef1234567890" not in str(call("tasks_radar", task=task))
    assert refused(call, "tasks_create", title="x", parent="PLAN-404") == "UNKNOWN_ID"
    assert refused(call, "tasks_focus_set", task="TASK-404") == "UNKNOWN_ID"


def test_a_job_keeps_its_meta_and_wants_proof_until_there_is_some(call: Caller) -> None:
    call("tasks_jobs_create", title="Look", prompt="Look.", meta={"skill_profile": "strict"})
    claim = {"job": "JOB-001", "runner_id": "r1"}
    claim["claim_revision"] = call("tasks_jobs_claim", **claim)["job"]["revision"]
    call("tasks_jobs_report", message="DONE?", kind="proof_gate", meta={"slice": 2}, **claim)
    assert call("tasks_jobs_open", job="JOB-001", include_meta=True)["meta"] == {"skill_profile": "strict", "slice": 2}
    for message, wanted in (("just keep going", True), ("LINK: https://ci.example/7", False)):
        call("tasks_jobs_message", job="JOB-001", message=message)
        (job,) = call("tasks_jobs_radar")["jobs"]
        assert job["attention"]["needs_proof"] is wanted


def test_the_time_of_a_read_is_that_of_the_last_write(call: Caller, task: str) -> None:
    first, second = (call.route.send("tasks_radar", {"workspace": call.workspace, "task": task}) for _ in range(2))
    assert first.text == second.text
    written = call.envelope("notes_commit", content="x", branch="main")
    assert call.envelope("log")["timestamp"] == written["timestamp"]


def test_a_capsule_tells_of_jobs_and_runners_also_when_there_are_none(call: Caller, task: str) -> None:
    where = call("tasks_resume_super", task=task)["capsule"]["where"]
    assert where["inbox"] == {"running": 0, "queued": 0} and where["runner_status"]["status"] == "offline"
    assert "runner" not in call.lines("tasks_snapshot", task=task)[0]


@pytest.mark.parametrize(
    ("name", "other", "own"), [("think_context", "branch", "ref"), ("tasks_jobs_claim", "runner", "runner_id")]
)
def test_the_contracts_name_of_an_argument_is_listed_beside_ours(wire: Wire, name: str, other: str, own: str) -> None:
    """A client that checks its calls against the listed schema may send either."""
    (schema,) = (tool.input_schema for tool in wire.tools().tools if tool.name == name)
    assert {other, own} <= schema["properties"].keys() and own not in schema.get("required", [])


def test_a_branch_beside_a_target_is_refused_by_the_name_it_was_sent_under(call: Caller, task: str) -> None:
    for word in ("branch", "ref"):
        error = call.envelope("think_context", target=task, **{word: "main"})["error"]
        assert error["message"].startswith(f"target and {word} exclude each other")
        assert error["hints"][0]["fields"] == ["target", word]


def test_progress_without_a_word_closes_the_step(call: Caller, task: str) -> None:
    call("tasks_verify", task=task, path="s:0", checkpoints="gate")
    assert call("tasks_progress", task=task, path="s:0")["completed"] is True
