"""A workspace in which something of everything has happened, so that examples have what they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clew.app import Clew, open_clew
from clew.registry.catalogue import catalogue
from clew.settings import load_settings
from tests.conftest import Caller

HISTORY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("notes_commit", {"content": "SQLite keeps one writer; batch the inserts.", "title": "Writers"}),
    ("branch_create", {"name": "what-if"}),
    ("notes_commit", {"content": "On the branch: try two files.", "branch": "what-if"}),
    ("commit", {"artifact": "The design as it stands.", "message": "design"}),
    ("tag_create", {"name": "v1"}),
    ("trace_step", {"step": "Looked at the lock."}),
    (
        "anchors_bootstrap",
        {
            "anchors": [
                {"id": "a:storage", "title": "Storage", "kind": "component"},
                {"id": "a:core", "title": "Core", "kind": "component"},
            ]
        },
    ),
    (
        "tasks_bootstrap",
        {
            "plan_title": "Robust store",
            "task_title": "Storage: one writer",
            "steps": [
                {"title": "Measure", "success_criteria": ["numbers are written down"], "tests": ["the benchmark runs"]},
                {"title": "Mend", "success_criteria": ["the wait is short"], "tests": ["the benchmark agrees"]},
            ],
        },
    ),
    ("tasks_focus_set", {"task": "TASK-001"}),
    (
        "think_card",
        {"card": {"id": "CARD-H", "type": "hypothesis", "title": "The lock is held too long", "tags": ["a:storage"]}},
    ),
    ("think_card", {"card": {"id": "CARD-Q", "type": "question", "title": "Who holds the lock?"}}),
    (
        "think_card",
        {"card": {"id": "CARD-T", "type": "test", "title": "Hold it and time others"}, "supports": ["CARD-H"]},
    ),
    (
        "think_card",
        {"card": {"id": "CARD-D", "type": "decision", "title": "Short transactions"}, "supports": ["CARD-H"]},
    ),
    ("think_card", {"card": {"id": "CARD-1", "type": "question", "title": "Where does it start?"}}),
    ("think_card", {"card": {"id": "CARD-2", "type": "note", "title": "A side remark"}}),
    ("tasks_jobs_create", {"title": "Measure the lock", "prompt": "Measure it.", "task": "TASK-001"}),
    ("tasks_focus_clear", {}),
    ("graph_apply", {"ops": [{"op": "node_upsert", "id": "n1", "type": "note"}], "branch": "main", "doc": "graph"}),
    ("tasks_focus_set", {"task": "TASK-001"}),
    ("thought", {"thought": "S1|H|The lock is held too long.", "nextThoughtNeeded": True}),
    ("notebook_create", {"name": "Lock timing"}),
    ("propose_update", {"block_type": "decision", "statement": "Use short transactions.", "rationale": "Fair locks."}),
)


BEFORE: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "close": (("start", {"title": "Read files"}),),
    "comment_answer": (("comment_ask", {"about": "CARD-1", "text": "Does this also hold on Windows?"}),),
    "anchors_merge": (("anchors_bootstrap", {"anchors": [{"id": "a:old", "title": "Old", "kind": "component"}]}),),
    "tag_delete": (("tag_create", {"name": "before-rewrite"}),),
    "tasks_done": (("tasks_verify", {"task": "TASK-001", "path": "s:0", "checkpoints": "gate"}),),
    "tasks_redo": (
        ("tasks_note", {"task": "TASK-001", "path": "s:0", "note": "x"}),
        ("tasks_undo", {"task": "TASK-001"}),
    ),
    "tasks_step_lease_release": (
        ("tasks_step_lease_claim", {"task": "TASK-001", "path": "s:0", "agent_id": "builder"}),
    ),
    "tasks_step_lease_renew": (("tasks_step_lease_claim", {"task": "TASK-001", "path": "s:0", "agent_id": "builder"}),),
    "tasks_task_define": (("tasks_task_add", {"task": "TASK-001", "parent_step": "s:0", "title": "Node"}),),
    "tasks_task_delete": (("tasks_task_add", {"task": "TASK-001", "parent_step": "s:0", "title": "Node"}),),
    "notebook_run_cell": (("notebook_add_cell", {"notebookId": "NB-001", "type": "code", "content": "1"}),),
}
"""What has to happen first, for examples that need a certain state."""

ELSEWHERE = frozenset(
    """
    workspace_use branch_create list_roots think_subgoal_close graph_conflict_show graph_conflict_resolve
    graph_conflict_reopen
    approve_apply defer_proposal reject_proposal rollback_proposal reopen_proposal import_branchmind
    tasks_jobs_report tasks_jobs_complete tasks_jobs_requeue tasks_jobs_claim notebook_install_deps
    read_thoughts get_structure tasks_redo promote_signal review_fact bench_recall find_similar import_thoughtbox
    tasks_macro_merge_report knowledge_delete_pattern knowledge_delete_scratchpad knowledge_get_pattern
    knowledge_read_scratchpad knowledge_update_pattern model_pull model_use think_subgoal_open transcripts_open
    memory_evolution block_history import_memory history_open decide decision_view edit_record
    guard_propose guard_approve guard_revoke guard_override export_bundle import_bundle sync
    sync_push
    """.split()  # noqa: SIM905
)
"""Their examples name something that only an earlier answer can name; tests of their own call them."""

SESSION = "00000000-0000-4000-8000-000000000000"


def build(home: Path) -> None:
    clew = open(home)
    call = Caller(clew)
    for name, arguments in HISTORY:
        assert catalogue().find(name), name
        answer = call.answer(name, **arguments)
        assert answer.ok, (name, answer.envelope["error"])
    clew.close()


LONG = "The lock is held too long by the writer; " * 60
MANY = 5


def fill(call: Caller) -> None:
    """Several of each thing, with texts that are longer than a small budget."""
    steps = [{"title": "Look", "success_criteria": ["seen"], "tests": ["make test"]}]
    for number in range(MANY):
        card = {"id": f"CARD-L{number}", "type": "hypothesis", "title": f"Guess {number}", "text": LONG}
        call("think_card", card={**card, "tags": ["a:storage"]})
        call("notes_commit", content=f"{number} {LONG}", title=f"Note {number}")
        call("branch_create", name=f"long-{number}")
        call("commit", artifact=LONG, message=f"change {number}")
        call("tag_create", name=f"tag-{number}")
        call("trace_step", step=LONG)
        call("thought", thought=f"{number} {LONG}", nextThoughtNeeded=True)
        call("tasks_create", kind="task", parent="PLAN-001", title=f"Task {number}", description=LONG, steps=steps)
        call("tasks_note", task="TASK-001", path="s:0", note=LONG)
        call("tasks_jobs_create", title=f"Job {number}", prompt=LONG, task="TASK-001")
        call("propose_update", block_type="decision", statement=f"Way {number} is chosen.", rationale=LONG[:900])
        call("knowledge_create_pattern", title=f"Pattern {number}", description=LONG[:300], content=LONG)
        call("notebook_create", name=f"Notebook {number}")
        call("notebook_add_cell", notebookId="NB-001", type="markdown", content=LONG)


def prepared(call: Caller, name: str, example: dict[str, Any]) -> dict[str, Any]:
    """The example with the placeholder of a session replaced, in the state it needs."""
    for before, arguments in BEFORE.get(name, ()):
        call(before, **arguments)
    if SESSION not in str(example):
        return example
    session = call("session_list", limit=1)["sessions"][0]["id"]
    return {key: session if value == SESSION else value for key, value in example.items()}


def open(home: Path, **flags: Any) -> Clew:
    return open_clew(load_settings({"home": home, "workspace": "ws", "workspace_lock": False, **flags}, {}, home))
