"""A store as BranchMind writes it, made for tests: its tables and columns are facts, its content is ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

WORKSPACE = "acme-api"
START = 1_767_225_600_000

TABLES = {
    "workspaces": "workspace, created_at_ms, project_guard",
    "branches": "workspace, name, base_branch, base_seq, created_at_ms",
    "branch_checkout": "workspace, branch, updated_at_ms",
    "documents": "workspace, branch, doc, kind, created_at_ms, updated_at_ms",
    "doc_entries": "seq INTEGER PRIMARY KEY, workspace, branch, doc, ts_ms, kind, title, format, meta_json, content,"
    " source_event_id, event_type, task_id, path, payload_json",
    "graph_node_versions": "workspace, branch, doc, seq, ts_ms, node_id, node_type, title, text, tags, status,"
    " meta_json, deleted",
    "graph_edge_versions": "workspace, branch, doc, seq, ts_ms, from_id, rel, to_id, meta_json, deleted",
    "reasoning_refs": "workspace, id, kind, branch, notes_doc, graph_doc, trace_doc, created_at_ms",
    "focus": "workspace, focus_id, updated_at_ms",
    "plans": "workspace, id, revision, title, contract, contract_json, description, context, status, priority,"
    " plan_doc, plan_current, created_at_ms, updated_at_ms",
    "tasks": "workspace, id, revision, parent_plan_id, title, description, status, priority, reasoning_mode,"
    " created_at_ms, updated_at_ms",
    "steps": "workspace, task_id, step_id, parent_step_id, ordinal, title, completed, completed_at_ms,"
    " criteria_confirmed, tests_confirmed, security_confirmed, perf_confirmed, docs_confirmed, blocked, block_reason,"
    " proof_tests_mode, created_at_ms, updated_at_ms",
    "step_criteria": "workspace, step_id, ordinal, text",
    "step_tests": "workspace, step_id, ordinal, text",
    "step_blockers": "workspace, step_id, ordinal, text",
    "task_nodes": "workspace, node_id, task_id, parent_step_id, ordinal, title, status, status_manual, priority,"
    " blocked, description, context, created_at_ms, updated_at_ms",
    "plan_checklist": "workspace, plan_id, ordinal, text",
    "task_items": "workspace, entity_kind, entity_id, field, ordinal, text",
    "evidence_artifacts": "workspace, entity_kind, entity_id, ordinal, kind, command, stdout, exit_code, content",
    "evidence_checks": "workspace, entity_kind, entity_id, ordinal, check_text",
    "evidence_attachments": "workspace, entity_kind, entity_id, ordinal, attachment",
    "checkpoint_evidence": "workspace, entity_kind, entity_id, checkpoint, ordinal, ref",
    "jobs": "workspace, id, revision, status, title, kind, priority, task_id, anchor_id, summary, prompt, meta_json,"
    " created_at_ms, updated_at_ms, completed_at_ms",
    "job_events": "seq INTEGER PRIMARY KEY, workspace, job_id, ts_ms, kind, message, percent, refs, meta_json",
    "anchors": "workspace, id, title, kind, status, description, refs, parent_id, depends_on, created_at_ms,"
    " updated_at_ms",
    "anchor_aliases": "workspace, alias_id, anchor_id",
    "events": "seq INTEGER PRIMARY KEY, workspace, ts_ms, task_id, path, event_type, payload_json",
    "ops_history": "seq INTEGER PRIMARY KEY, workspace, ts_ms, task_id, path, intent, payload_json, before_json,"
    " after_json, undoable, undone",
    "step_notes": "seq INTEGER PRIMARY KEY, workspace, task_id, step_id, ts_ms, note",
    "step_leases": "workspace, step_id, holder_agent_id, acquired_seq, expires_seq",
    "vcs_refs": "workspace, ref, branch, doc, seq, updated_at_ms",
    "vcs_reflog": "workspace, ref, branch, doc, old_seq, new_seq, message, ts_ms",
    "vcs_tags": "workspace, name, branch, doc, seq, created_at_ms",
    "graph_conflicts": "workspace, conflict_id, status",
    "counters": "workspace, name, value",
}


class Writer:
    """Adds rows; entries and versions of the graph share one counter, as in the original."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path))
        for name, columns in TABLES.items():
            self.connection.execute(f"CREATE TABLE {name} ({columns})")
        self.seq = 0
        self.add("workspaces", created_at_ms=START)

    def add(self, table: str, **values: Any) -> None:
        row = {"workspace": WORKSPACE, **values}
        marks = ", ".join("?" * len(row))
        self.connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))

    def entry(self, branch: str, doc: str, **values: Any) -> int:
        self.seq += 1
        row = {"seq": self.seq, "branch": branch, "doc": doc, "ts_ms": START + self.seq, "kind": "note", **values}
        self.add("doc_entries", **row)
        return self.seq

    def card(self, branch: str, doc: str, id: str, **values: Any) -> int:
        """A card as think_card stores it: user meta inside of a wrapper."""
        tags = values.pop("tags", [])
        meta = {"source": "think_card", "card_id": id, "meta": values.pop("meta", {}), "tags": tags}
        seq = self.entry(branch, doc, kind="event", event_type="graph_node_upsert", content=None)
        row = {"node_type": "decision", "title": None, "text": None, "status": "open", "deleted": 0, **values}
        self.add(
            "graph_node_versions",
            branch=branch,
            doc=doc,
            seq=seq,
            ts_ms=START + seq,
            node_id=id,
            tags="\n" + "\n".join(tags) + "\n" if tags else None,
            meta_json=json.dumps(meta),
            **row,
        )
        return seq

    def node(self, branch: str, doc: str, id: str, **values: Any) -> None:
        """A node without the wrapper of a card: a projected task or step, or what graph_apply wrote."""
        seq = self.entry(branch, doc, kind="event", event_type="graph_node_upsert", content=None)
        row = {"title": None, "text": None, "status": "open", "tags": None, "meta_json": None, "deleted": 0, **values}
        place = {"branch": branch, "doc": doc, "seq": seq, "ts_ms": START + seq}
        self.add("graph_node_versions", **place, node_id=id, **row)

    def edge(self, branch: str, doc: str, from_id: str, rel: str, to_id: str, **values: Any) -> None:
        seq = self.entry(branch, doc, kind="event", event_type="graph_edge_upsert", content=None)
        place = {"branch": branch, "doc": doc, "seq": seq, "ts_ms": START + seq}
        row = {"meta_json": None, "deleted": 0, **values}
        self.add("graph_edge_versions", **place, from_id=from_id, rel=rel, to_id=to_id, **row)


def write_store(path: Path, cards: int = 3) -> None:
    """A workspace with a plan, a task of two steps, a branch, notes, cards, an anchor, a job and evidence."""
    writer = Writer(path)
    with writer.connection:
        _reasoning(writer, cards)
        _work(writer)
        _past(writer)
    writer.connection.close()


def _reasoning(writer: Writer, cards: int) -> None:
    for branch, doc, kind in (
        ("main", "notes", "notes"),
        ("main", "graph", "graph"),
        ("task/TASK-001", "notes", "notes"),
    ):
        writer.add("documents", branch=branch, doc=doc, kind=kind, created_at_ms=START, updated_at_ms=START)
    writer.entry("main", "notes", title="First", format="md", content="Zebra stripes are chosen", meta_json='{"a": 1}')
    writer.add("branches", name="trial", base_branch="main", base_seq=writer.seq, created_at_ms=START)
    writer.entry("trial", "notes", content="Only on trial")
    writer.add("branch_checkout", branch="main", updated_at_ms=START)
    for number in range(1, cards + 1):
        text = f"Reason number {number} about giraffes"
        writer.card("main", "graph", f"CARD-{number}", title=f"Card {number}", text=text, tags=["v:canon", "a:core"])
    writer.card("main", "graph", "CARD-1", title="Card 1 again", text="Changed", tags=["v:canon"], meta={"why": "new"})
    writer.edge("main", "graph", "CARD-1", "supports", "CARD-2")
    writer.add(
        "anchors", id="a:core", title="Core", kind="component", status="active", refs="docs/core.md", depends_on=""
    )
    writer.add("anchor_aliases", alias_id="a:kernel", anchor_id="a:core")


def _past(writer: Writer) -> None:
    """Events, the log of operations, notes about steps (one mirrored, one not), tags, and a head that was set back."""
    place = {"task_id": "TASK-001", "path": "s:0"}
    for number, kind in enumerate(("task_created", "step_added", "step_noted", "step_verified", "step_done"), 1):
        writer.add("events", seq=number, ts_ms=START + number, event_type=kind, payload_json='{"x": 1}', **place)
    change = {"intent": "step_patch", "payload_json": "{}", "before_json": '{"title": "Reed rows"}', "undoable": 1}
    writer.add("ops_history", seq=1, ts_ms=START + 2, undone=0, after_json='{"title": "Read rows"}', **change, **place)
    for number, note in enumerate(("Looked at the header", "Rows are read"), 1):
        writer.add(
            "step_notes", seq=number, task_id="TASK-001", step_id="STEP-00000001", ts_ms=START + number, note=note
        )
    meta = {"source": "tasks_note", "task_id": "TASK-001", "step_id": "STEP-00000001", "path": "s:0", "note_seq": 1}
    writer.entry("task/TASK-001", "notes", content="Looked at the header", meta_json=json.dumps(meta))
    first, second = (writer.entry("main", "notes", title=title, content=title) for title in ("one", "two"))
    writer.add("vcs_tags", name="v1", branch="main", doc="notes", seq=first, created_at_ms=START)
    head = {"ref": "main", "branch": "main", "doc": "notes"}
    moves = ((None, first, "one"), (first, second, "two"), (second, first, "reset"))
    for number, (old, new, message) in enumerate(moves):
        writer.add("vcs_reflog", old_seq=old, new_seq=new, message=message, ts_ms=START + number, **head)
    writer.add("vcs_refs", seq=first, updated_at_ms=START, **head)
    writer.add("step_leases", step_id="STEP-00000002", holder_agent_id="bob", acquired_seq=1, expires_seq=9)
    writer.add("graph_conflicts", conflict_id="CONFLICT-1", status="open")


def _work(writer: Writer) -> None:
    times = {"created_at_ms": START, "updated_at_ms": START + 5}
    writer.add("plans", id="PLAN-001", revision=3, title="Rewrite", contract="Be fast", status="ACTIVE", **times)
    writer.add("plan_checklist", plan_id="PLAN-001", ordinal=0, text="measure")
    task = {"parent_plan_id": "PLAN-001", "title": "Importer", "status": "ACTIVE", "priority": "HIGH"}
    writer.add("tasks", id="TASK-001", revision=7, reasoning_mode="strict", **task, **times)
    writer.add("task_items", entity_kind="task", entity_id="TASK-001", field="tags", ordinal=0, text="import")
    for owner, kind in (("PLAN-001", "plan"), ("TASK-001", "task")):
        docs = {"notes_doc": "notes", "graph_doc": f"{owner}-graph", "trace_doc": f"{owner}-trace"}
        writer.add("reasoning_refs", id=owner, kind=kind, branch=f"{kind}/{owner}", created_at_ms=START, **docs)
    writer.entry("task/TASK-001", "notes", content="A note of the task")
    flags = dict.fromkeys((f"{name}_confirmed" for name in ("criteria", "tests", "security", "perf", "docs")), 0)
    step = {"task_id": "TASK-001", "completed": 0, "blocked": 0, "proof_tests_mode": 2, **flags, **times}
    done = {**step, "completed": 1, "completed_at_ms": START + 9, "criteria_confirmed": 1, "tests_confirmed": 1}
    writer.add("steps", step_id="STEP-00000001", ordinal=0, title="Read rows", **done)
    writer.add("steps", step_id="STEP-00000002", parent_step_id="STEP-00000001", ordinal=0, title="Parse", **step)
    writer.add("step_criteria", step_id="STEP-00000001", ordinal=0, text="rows are read")
    writer.add("step_tests", step_id="STEP-00000001", ordinal=0, text="make test")
    place = {"entity_kind": "step", "entity_id": "STEP-00000001"}
    writer.add(
        "evidence_artifacts", **place, ordinal=0, kind="cmd_output", command="make test", stdout="ok", exit_code=0
    )
    writer.add("evidence_checks", **place, ordinal=0, check_text="CMD: make lint")
    writer.add("checkpoint_evidence", **place, checkpoint="tests", ordinal=0, ref="evt_0000000000000004")
    writer.add("focus", focus_id="TASK-001", updated_at_ms=START)
    job = {"status": "DONE", "title": "Look", "kind": "manual", "priority": "HIGH", "task_id": "TASK-001"}
    writer.add(
        "jobs", id="JOB-001", revision=2, summary="Found it", prompt="Please look", meta_json="{}", **job, **times
    )
    writer.add("job_events", seq=1, job_id="JOB-001", ts_ms=START, kind="created", message="Look", refs="[]")


def write_full_store(path: Path, cards: int) -> None:
    """The same workspace with more of everything: traces, a branch that changes the graph, projections, threads."""
    writer = Writer(path)
    with writer.connection:
        _reasoning(writer, cards)
        _branched_graph(writer)
        _work(writer)
        _traces(writer)
        _more_work(writer)
        _past(writer)
    writer.connection.close()


def _branched_graph(writer: Writer) -> None:
    """A branch sees the graph of its base up to its cutoff; its own versions and deletions win."""
    writer.add("documents", branch="side", doc="graph", kind="graph", created_at_ms=START, updated_at_ms=START + 1)
    writer.add("branches", name="side", base_branch="main", base_seq=writer.seq, created_at_ms=START + 7)
    writer.card(
        "side", "graph", "CARD-2", title="Card 2 on the side", text="Another text", meta={"k": [1, {"x": None}]}
    )
    writer.node("side", "graph", "CARD-3", node_type=None, status=None, deleted=1)
    writer.edge("side", "graph", "CARD-1", "supports", "CARD-2", deleted=1)
    writer.edge("side", "graph", "CARD-2", "blocks", "CARD-1", meta_json='{"why": "order"}')
    writer.card("main", "graph", "CARD-2", title="Card 2 later on main", text="Not seen on the side")


def _traces(writer: Writer) -> None:
    for branch, doc in (("main", "trace"), ("task/TASK-001", "TASK-001-trace")):
        writer.add("documents", branch=branch, doc=doc, kind="trace", created_at_ms=START, updated_at_ms=START + 2)
        for number in range(1, 6):
            meta = {"thoughtNumber": number, "totalThoughts": 5, "nextThoughtNeeded": number < 5}
            text = f"Thought {number}: naïve — ok\nsecond line"
            writer.entry(branch, doc, title=f"T{number}", format="trace_step", content=text, meta_json=json.dumps(meta))
        for number in range(1, 4):
            source = f"evt_{number:016d}"
            event = {"source_event_id": source, "event_type": "step_noted", "task_id": "TASK-001", "path": "s:0"}
            writer.entry(branch, doc, kind="event", payload_json=json.dumps({"n": number}), **event)
    for id, title in (("task:TASK-001", "Importer"), ("step:STEP-00000001", "Read rows")):
        kind = id.partition(":")[0]
        status = "ACTIVE" if kind == "task" else "done"
        writer.node("task/TASK-001", "TASK-001-graph", id, node_type=kind, title=title, status=status)
    writer.edge("task/TASK-001", "TASK-001-graph", "task:TASK-001", "contains", "step:STEP-00000001")


def _more_work(writer: Writer) -> None:
    times = {"created_at_ms": START + 20, "updated_at_ms": START + 30}
    writer.add("step_blockers", step_id="STEP-00000002", ordinal=0, text="the licence")
    node = {"node_id": "NODE-00000001", "task_id": "TASK-001", "parent_step_id": "STEP-00000001", "ordinal": 0}
    said = {"title": "Handle quotes", "status": "TODO", "status_manual": 1, "priority": "HIGH", "blocked": 0}
    writer.add("task_nodes", **node, **said, description="A field may hold quotes", context=None, **times)
    writer.add("task_items", entity_kind="task_node", entity_id="NODE-00000001", field="risks", ordinal=0, text="slow")
    place = {"entity_kind": "step", "entity_id": "STEP-00000001"}
    diff = {"kind": "diff", "command": None, "stdout": None, "exit_code": None, "content": "-a\n+b"}
    writer.add("evidence_artifacts", **place, ordinal=1, **diff)
    writer.add("evidence_checks", **place, ordinal=1, check_text="LINK: https://ci.example/7")
    writer.add("evidence_attachments", **place, ordinal=0, attachment="https://ci.example/7/log.txt")
    for number in range(2, 5):
        id = f"JOB-{number:03d}"
        job = {"status": "QUEUED", "title": f"Job {number}", "kind": "manual", "priority": "LOW", "task_id": "TASK-001"}
        brief = {"prompt": f"Do {number}", "meta_json": json.dumps({"skill_profile": "strict", "n": number})}
        writer.add("jobs", id=id, revision=number, **brief, **job, **times)
        for turn in range(5):
            event = {"seq": number * 10 + turn, "job_id": id, "ts_ms": START + turn, "kind": "progress"}
            refs = json.dumps([f"notes@{turn + 1}"])
            writer.add("job_events", message=f"{number}: {turn} of 5", percent=turn * 20, refs=refs, **event)
