"""Every operation that writes: its author undoes it with `undo`, or is told why not. A table without gaps."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.ledger import undoing as thoughts
from clew.memory.governance import undoing as memory
from clew.reasoning.graph import undoing as graph
from clew.records import undo, undo_links
from clew.registry.catalogue import catalogue, import_everything
from clew.store.workspaces import EVENT_TYPES
from clew.tasks import undoing as work
from tests.conftest import DECISIONS, Caller
from tests.contract import lived_in

UNDONE = """
    remember retract restore think thought think_card think_add_decision think_add_evidence think_add_frame
    think_add_hypothesis think_add_note think_add_question think_add_test think_add_update think_link think_pin
    think_pipeline think_publish think_set_status macro_anchor_note graph_apply session_import
    start close tasks_macro_start tasks_macro_close_step tasks_macro_delegate tasks_macro_create_done
    tasks_macro_finish tasks_batch tasks_block tasks_bootstrap tasks_close_step tasks_complete tasks_contract
    tasks_create tasks_decompose tasks_define tasks_done tasks_edit tasks_evidence_capture tasks_patch tasks_plan
    tasks_progress tasks_receipt_record tasks_scaffold tasks_task_define tasks_verify
    propose_edit propose_update share_fact review_fact edit_record inbox_later
    approve_apply reject_proposal defer_proposal reopen_proposal rollback_proposal decide guard_propose
""".split()  # noqa: SIM905
SAYS_WHY = {
    "a log is only appended to": """
        commit macro_branch_note merge notes_commit tasks_note trace_sequential_step trace_step""",
    "what was deleted is gone": "tasks_delete tasks_task_delete",
    "tasks_task_delete removes it": "tasks_task_add",
    "tasks_redo does it again": "tasks_undo",
    "tasks_undo takes it back": "tasks_redo",
    "may have been read": "comment_ask comment_answer",
    "a job goes on by itself": """
        tasks_jobs_claim tasks_jobs_complete tasks_jobs_create tasks_jobs_message tasks_jobs_report
        tasks_jobs_requeue""",
    "have ways of their own": """
        branch_create branch_delete branch_rename tag_create tag_delete session_delete""",
    "earlier form of an area is not kept": "anchors_bootstrap anchors_merge anchors_rename tasks_macro_fanout_jobs",
    "its earlier form is not kept": """
        knowledge_create_pattern knowledge_update_pattern knowledge_delete_pattern knowledge_write_scratchpad
        knowledge_delete_scratchpad notebook_add_cell notebook_create notebook_delete_cell notebook_load
        notebook_run_cell notebook_update_cell session_complete session_update""",
    "a person decides about checks": "guard_approve guard_revoke guard_override",
    "governance sets it back": "governance",
    "gone for good": "erase",
}
KEEPS_NOTHING = """
    tasks_snapshot tasks_mindpack tasks_jobs_radar tasks_resume tasks_resume_pack tasks_resume_super
    workspace_use workspace_reset bind_root init checkout reset cipher load_context navigate start_new session_resume
    tasks_focus_clear tasks_focus_set tasks_step_lease_claim tasks_step_lease_release tasks_step_lease_renew
    tasks_runner_heartbeat backfill history_import capture scan reindex vacuum sync_instructions hook_event
    context_pack_export export_memory export_thoughtbox notebook_export notebook_install_deps
    think_nominal_merge tasks_close_task graph_merge op_call thoughtbox_gateway
    export_bundle import_bundle sync
""".split()  # noqa: SIM905
"""Views, focus, checkouts, leases, derived things, files outside of the store, and routers to other operations. What
another store brought is undone there, and comes from there."""
NOT_TRIED = {
    **dict.fromkeys(("bench_recall", "model_pull", "model_use"), "of the machine, not of a workspace"),
    **dict.fromkeys(("import_branchmind", "import_memory", "import_thoughtbox"), "retract what came with it"),
    **dict.fromkeys(("graph_conflict_resolve", "graph_conflict_reopen"), "have ways of their own"),
    **dict.fromkeys(("think_subgoal_open", "think_subgoal_close"), "cards and links, as think_card and think_link"),
    "tasks_macro_merge_report": "a card, as think_card",
    "promote_signal": "a proposal, as propose_update",
    "undo": "is not undone itself",
    "sync_push": "comes from another store and is undone there, as import_bundle",
}
RULE = {"kind": "rule", "text": "Never push by force"}
CHECK = {"id": "R-1", "commands": ["git push * --force"], "action": "ask"}
RUNNER = {"job": "JOB-001", "runner_id": "host:1"}
CLAIMED = ("tasks_jobs_claim", RUNNER)
NOTED = ("knowledge_write_scratchpad", {"title": "Search latency", "content": "Ask."})
PATTERN = ("knowledge_create_pattern", {"title": "Stale statistics", "description": "Late.", "content": "Run it."})
SCENES: dict[str, tuple[tuple[tuple[str, dict[str, Any]], ...], dict[str, Any]]] = {
    "workspace_use": ((), {"workspace": "ws"}),
    "branch_create": ((), {"name": "another"}),
    "anchors_bootstrap": ((), {"anchors": [{"id": "a:hull", "title": "Hull", "kind": "component"}]}),
    "governance": ((), {"review": "all"}),
    "restore": ((("retract", {"id": "CARD-1", "why": "wrong"}),), {"id": "CARD-1"}),
    "approve_apply": ((), {"proposal_id": "<proposal>", "dry_run": False}),
    "reject_proposal": ((), {"proposal_id": "<proposal>", "reason": "no"}),
    "defer_proposal": ((), {"proposal_id": "<proposal>", "reason": "later"}),
    "decide": ((), {"id": "<proposal>", "verdict": "approve"}),
    "reopen_proposal": (
        (("reject_proposal", {"proposal_id": "<proposal>", "reason": "no"}),),
        {"proposal_id": "<proposal>"},
    ),
    "rollback_proposal": (
        (("approve_apply", {"proposal_id": "<proposal>", "dry_run": False}),),
        {"receipt_ts": "<receipt>"},
    ),
    "edit_record": (
        (("remember", {"kind": "decision", "text": "Prices are floats"}),),
        {"id": "D-1", "statement": "Prices are integers"},
    ),
    "review_fact": ((("share_fact", {"text": "CI needs Node 22."}),), {"fact_id": "<fact>", "verdict": "accepted"}),
    "guard_propose": ((("remember", RULE),), CHECK),
    "guard_approve": ((("remember", RULE), ("guard_propose", CHECK)), {"id": "R-1"}),
    "guard_revoke": ((("remember", RULE), ("guard_propose", CHECK), ("guard_approve", {"id": "R-1"})), {"id": "R-1"}),
    "guard_override": (
        (("remember", RULE), ("guard_propose", CHECK), ("guard_approve", {"id": "R-1"})),
        {"id": "R-1", "why": "a hotfix"},
    ),
    "knowledge_update_pattern": ((PATTERN,), {"id": "stale-statistics", "description": "Wrong."}),
    "knowledge_delete_pattern": ((PATTERN,), {"id": "stale-statistics"}),
    "knowledge_delete_scratchpad": ((NOTED,), {"id": "search-latency"}),
    "tasks_jobs_report": ((CLAIMED,), {**RUNNER, "claim_revision": 1, "message": "Half."}),
    "tasks_jobs_complete": ((CLAIMED,), {**RUNNER, "claim_revision": 1, "status": "FAILED"}),
    "tasks_jobs_requeue": (
        (CLAIMED, ("tasks_jobs_complete", {**RUNNER, "claim_revision": 1, "status": "FAILED"})),
        {"job": "JOB-001"},
    ),
    "tasks_undo": ((("tasks_edit", {"task": "TASK-001", "title": "Another"}),), {"task": "TASK-001"}),
    "tasks_redo": (
        (("tasks_edit", {"task": "TASK-001", "title": "Another"}), ("tasks_undo", {"task": "TASK-001"})),
        {"task": "TASK-001"},
    ),
    "erase": ((), {"id": "CARD-1", "dry_run": False}),
    "export_bundle": ((("remember", RULE),), {"path": "memory.clew"}),
    "import_bundle": ((("remember", RULE), ("export_bundle", {"path": "memory.clew"})), {"path": "memory.clew"}),
    "sync": ((("remember", RULE),), {"remote": "shared"}),
}
PERSONS = frozenset(name for name in SCENES if name.startswith("guard_") and name != "guard_propose")
EXPECTED = {
    **dict.fromkeys(UNDONE, "undone"),
    **{name: why for why, names in SAYS_WHY.items() for name in names.split()},
    **dict.fromkeys(KEEPS_NOTHING, "keeps nothing"),
    **NOT_TRIED,
}
WRITING = [entry for entry in catalogue().operations if not entry.read_only]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("lived-in")
    lived_in.build(home)
    return home


@pytest.fixture
def clew(built: Path, tmp_path: Path) -> Iterator[Clew]:
    shutil.copytree(built, tmp_path / "home")
    clew = lived_in.open(tmp_path / "home")
    yield clew
    clew.close()


def test_the_table_names_every_operation_that_writes() -> None:
    assert set(EXPECTED) == {entry.name for entry in WRITING}


@pytest.mark.parametrize("entry", [entry for entry in WRITING if entry.name not in NOT_TRIED], ids=lambda e: e.name)
def test_a_write_is_undone_or_says_why_not(clew: Clew, entry: Any) -> None:
    call = Caller(clew)
    arguments = prepared(call, entry.name, entry.example)
    author = Caller(clew)
    # What is for a person is done by one, and undone by the same.
    author.session = call.person if entry.name in DECISIONS | PERSONS else call.session
    author.person = author.session
    before, last = state_of(call), newest(author)
    answer = author.answer(entry.name, **arguments)
    assert answer.ok, answer.text
    if EXPECTED[entry.name] == "keeps nothing":
        assert newest(author) == last
        return
    assert newest(author) != last
    undone = author.answer("undo")
    if EXPECTED[entry.name] == "undone":
        assert undone.ok and undone.text.startswith(f"undone {entry.name} "), undone.text
        assert state_of(call) == before
    else:
        error = undone.envelope["error"]
        assert error["message"].startswith(f"{entry.name} cannot be undone: "), error
        assert EXPECTED[entry.name] in error["message"]


def prepared(call: Caller, name: str, example: dict[str, Any]) -> dict[str, Any]:
    if name not in SCENES:
        return lived_in.prepared(call, name, example)
    before, arguments = SCENES[name]
    known: dict[str, str] = {}
    for operation, given in before:
        person = Caller(call.clew)
        person.session = call.person if operation in PERSONS or operation == "remember" else call.session
        result = person(operation, **filled(call, given, known))
        known = {"<receipt>": str(result.get("receipt_ts")), "<fact>": str(result.get("fact_id")), **known}
    return filled(call, arguments, known)


def filled(call: Caller, given: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """With the ids that only the store knows."""
    ids = {**known, "<proposal>": call("list_proposals", status="any")["proposals"][0]["proposal_id"]}
    return {key: ids.get(value, value) if isinstance(value, str) else value for key, value in given.items()}


def newest(call: Caller) -> str | None:
    writes = call("undo", list=True)["writes"]
    return writes[0]["event"] if writes else None


def state_of(call: Caller) -> tuple[dict[str, str], str, list[tuple[str, str, str, int]]]:
    """What readers see: the page's list, all that resume tells, and the work."""
    rows = call("record_list", limit=200, max_chars=200_000)["records"]
    told = call("resume", all=True)["text"].partition("since you were here")[0]
    tasks = call("tasks_context", max_chars=100_000)["tasks"]
    work = [(row["id"], row["title"], row["status"], row["steps_completed"]) for row in tasks]
    return {row["id"]: row["label"] for row in rows}, told, work


def test_every_event_is_put_back_or_has_a_reason() -> None:
    import_everything()
    handled = undo_links.HANDLED | work.CHANGED | thoughts.HANDLED | memory.HANDLED | graph.HANDLED | undo.NOISE
    reasons = tuple(start for starts, _ in undo.REASONS for start in starts)
    assert [event for event in EVENT_TYPES if event not in handled and not event.startswith(reasons)] == []
    assert [start for start in reasons if not any(event.startswith(start) for event in EVENT_TYPES)] == []
