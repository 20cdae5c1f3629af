"""Imports BranchMind's work: plans, tasks, steps, their lists, evidence, jobs. Ids and times are kept.

Also its history: events with their ids, the log of operations, notes about steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import orjson

from clew.canonical import Json
from clew.contracts.branchmind.adopted_log import Adoption, adopt_entries, adopt_scope, as_object, like
from clew.reasoning.scope import create_scope
from clew.registry.context import Context
from clew.store.database import Row
from clew.store.events import EventRow
from clew.store.rows import insert, insert_many
from clew.store.workspaces import raise_count
from clew.tasks.changes import project_step, project_work
from clew.tasks.evidence import artifact_drafts, attachment_drafts, check_drafts, store
from clew.tasks.jobs.job import Job, JobBrief, index_job
from clew.tasks.jobs.thread import JobEvent
from clew.tasks.journal import UndoEntry
from clew.tasks.plans import Work
from clew.tasks.steps import PROVABLE, Step
from clew.tasks.task_nodes import TaskNode

MODES = ("off", "warn", "require")
Lists = dict[tuple[str, str], list[str]]
"""By id and field."""


def adopt_work(ctx: Context, work: Adoption) -> None:
    lists = _lists(work)
    plans = [_plan(row, lists) for row in work.rows("plans", "id")]
    tasks = [_work(row, lists, "task", row["parent_plan_id"]) for row in work.rows("tasks", "id")]
    insert_many(ctx.tx, ctx.workspace, [*plans, *tasks])
    # Before anything is projected into the graph: a node belongs to the scope of its plan or task.
    _scopes(ctx, work, [*plans, *tasks])
    steps = _steps(work, lists)
    insert_many(ctx.tx, ctx.workspace, steps)
    nodes = _task_nodes(work, lists, {step.id: step for step in steps})
    insert_many(ctx.tx, ctx.workspace, nodes)
    _evidence(ctx, work, {step.id: step for step in steps})
    for item in (*plans, *tasks):
        project_work(ctx, item)
    for step in steps:
        project_step(ctx, step)
    _jobs(ctx, work)
    # Last: all imported records have their old numbers, and the counters must end above all of them.
    _numbers(ctx, plans, tasks, steps, nodes)
    _counters(ctx, work)
    _focus(ctx, work, {item.id for item in (*plans, *tasks)})
    for name, found in (("plans", plans), ("tasks", tasks), ("steps", steps), ("task_nodes", nodes)):
        work.counted(name, found)


def _lists(work: Adoption) -> Lists:
    found: Lists = defaultdict(list)
    for table, field in (("step_criteria", "success_criteria"), ("step_tests", "tests"), ("step_blockers", "blockers")):
        for row in work.rows(table, "step_id, ordinal"):
            found[row["step_id"], field].append(row["text"])
    for row in work.rows("plan_checklist", "plan_id, ordinal"):
        found[row["plan_id"], "checklist"].append(row["text"])
    for row in work.rows("task_items", "entity_id, field, ordinal"):
        found[row["entity_id"], row["field"]].append(row["text"])
    return found


def _work(row: Row, lists: Lists, kind: str, parent: str | None, **own: Any) -> Work:
    named = {name: tuple(lists[row["id"], name]) for name in ("tags", "depends_on")}
    return like(Work, row, kind=kind, parent=parent, number=_number(row["id"]), created_seq=0, **named, **own)


def _plan(row: Row, lists: Lists) -> Work:
    data = row.get("contract_json")
    return _work(
        row,
        lists,
        "plan",
        None,
        contract_data=orjson.loads(data) if data else None,
        contract_versions=1 if row.get("contract") or data else 0,
        checklist=tuple(lists[row["id"], "checklist"]),
        checklist_current=int(row.get("plan_current") or 0),
        checklist_doc=row.get("plan_doc"),
    )


def _scopes(ctx: Context, work: Adoption, items: list[Work]) -> None:
    known = {row["id"]: row for row in work.rows("reasoning_refs", "id")}
    for item in items:
        if item.id in known:
            adopt_scope(ctx, work, item.id, item.kind, known[item.id])
        else:
            create_scope(ctx, item.id, item.kind)


def _steps(work: Adoption, lists: Lists) -> list[Step]:
    rows = {row["step_id"]: row for row in work.rows("steps", "created_at_ms, step_id")}

    def path(row: Row) -> str:
        # The source stores only the ordinal among siblings; the path is built from the root down.
        above = rows.get(row.get("parent_step_id") or "")
        own = f"s:{row['ordinal']}"
        return f"{path(above)}.{own}" if above is not None else own

    return [_step(row, path(row), lists) for row in rows.values()]


def _step(row: Row, path: str, lists: Lists) -> Step:
    own: Json = {name: tuple(lists[row["step_id"], name]) for name in Step.LISTS}
    own |= {f"proof_{name}_mode": _mode(row.get(f"proof_{name}_mode")) for name in PROVABLE}
    place = {"id": row["step_id"], "task": row["task_id"], "parent": row.get("parent_step_id"), "path": path}
    return like(Step, row, created_seq=0, **place, **own)


def _mode(value: Any) -> str:
    """Map 0, 1 and 2 to off, warn and require."""
    if isinstance(value, str) and value in MODES:
        return value
    return MODES[value] if isinstance(value, int) and 0 <= value < len(MODES) else "off"


def _task_nodes(work: Adoption, lists: Lists, steps: dict[str, Step]) -> list[TaskNode]:
    rows = work.rows("task_nodes", "task_id, ordinal")
    return [_node(row, lists, steps[row["parent_step_id"]]) for row in rows if row["parent_step_id"] in steps]


def _node(row: Row, lists: Lists, step: Step) -> TaskNode:
    own: Json = {name: tuple(lists[row["node_id"], name]) for name in TaskNode.LISTS}
    path = f"{step.path}.t:{row['ordinal']}"
    return like(TaskNode, row, id=row["node_id"], task=row["task_id"], step=step.id, path=path, **own)


def _evidence(ctx: Context, work: Adoption, steps: dict[str, Step]) -> None:
    """Artifacts, checks and attachments, each linked to the checkpoints that its step showed evidence for."""
    shown: dict[str, dict[str, str]] = defaultdict(dict)
    for row in work.rows("checkpoint_evidence", "entity_id, checkpoint, ordinal"):
        shown[row["entity_id"]][row["checkpoint"]] = row["ref"]
    stored = 0
    drafts: dict[str, list[Any]] = defaultdict(list)
    for row in work.rows("evidence_artifacts", "entity_id, ordinal"):
        skipped = ("workspace", "entity_kind", "entity_id", "ordinal")
        kept = {name: value for name, value in row.items() if value is not None and name not in skipped}
        drafts[row["entity_id"]] += artifact_drafts([kept])
    for row in work.rows("evidence_checks", "entity_id, ordinal"):
        drafts[row["entity_id"]] += check_drafts([row["check_text"]])
    for row in work.rows("evidence_attachments", "entity_id, ordinal"):
        drafts[row["entity_id"]] += attachment_drafts([row["attachment"]])
    for entity, found in drafts.items():
        step = steps.get(entity)
        checkpoints = shown.get(entity, {})
        # Evidence that is linked to no checkpoint has no event in the source.
        event = next(iter(checkpoints.values()), "imported")
        store(ctx, step.task if step else entity, entity, step.path if step else None, found, list(checkpoints), event)
        stored += len(found)
    work.counted("evidence", range(stored))


def _jobs(ctx: Context, work: Adoption) -> None:
    events: dict[str, list[JobEvent]] = defaultdict(list)
    for row in work.rows("job_events", "seq"):
        events[row["job_id"]].append(_job_event(row))
    # The next event of a job takes the workspace's next number, which must be above all of theirs.
    ctx.ws.seq = max([ctx.ws.seq, *(of_job[-1].seq for of_job in events.values())])
    for of_job in events.values():
        insert_many(ctx.tx, ctx.workspace, of_job)
    rows = list(work.rows("jobs", "id"))
    for row in rows:
        last = max((event.seq for event in events[row["id"]]), default=0)
        brief = JobBrief(row["id"], row.get("prompt") or "", orjson.loads(row.get("meta_json") or "{}"))
        job = _job(row, last)
        insert(ctx.tx, ctx.workspace, job)
        insert(ctx.tx, ctx.workspace, brief)
        index_job(ctx, job, brief.prompt)
    raise_count(ctx.tx, ctx.workspace, "job", max((_number(row["id"]) for row in rows), default=0))
    work.counted("jobs", rows)


def _job(row: Row, last: int) -> Job:
    own = {"kind": row.get("kind") or "manual", "priority": row.get("priority") or "MEDIUM"}
    links = {name: row.get(f"{name}_id") or row.get(name) for name in ("task", "anchor")}
    marks = {"last_seq": last, "noted_seq": last, "spoken_seq": last}
    return like(Job, row, number=_number(row["id"]), **own, **links, **marks)


def _job_event(row: Row) -> JobEvent:
    refs, meta = row.get("refs_json") or row.get("refs") or "[]", row.get("meta_json")
    listed = orjson.loads(refs) if refs.lstrip().startswith("[") else [part for part in refs.split("\n") if part]
    own = {"job": row["job_id"], "message": row.get("message") or "", "runner": None}
    return like(JobEvent, row, refs=tuple(listed), meta=orjson.loads(meta) if meta else None, **own)


def _number(id: str) -> int:
    return int(id.rpartition("-")[2])


def _numbers(ctx: Context, plans: list[Work], tasks: list[Work], steps: list[Step], nodes: list[TaskNode]) -> None:
    """Continue the numbering after the imported records."""
    for kind, found in (("plan", plans), ("task", tasks)):
        raise_count(ctx.tx, ctx.workspace, kind, max((item.number for item in found), default=0))
    raise_count(ctx.tx, ctx.workspace, "step", max((int(step.id[5:], 16) for step in steps), default=0))
    raise_count(ctx.tx, ctx.workspace, "task_node", max((int(node.id[5:], 16) for node in nodes), default=0))
    for step in steps:
        # One above: counters give the next number, ordinals count from 0.
        raise_count(ctx.tx, ctx.workspace, f"step:{step.parent or step.task}", step.ordinal + 1)
    for node in nodes:
        raise_count(ctx.tx, ctx.workspace, f"task_node:{node.step}", node.ordinal + 1)


COUNTED = ("plan", "task", "step", "task_node", "card", "job")


def _counters(ctx: Context, work: Adoption) -> None:
    """Numbers of deleted records are not reused: notes, branches and old messages still refer to them."""
    last = {row["name"]: row["value"] for row in work.rows("counters", "name")}
    for name in COUNTED:
        raise_count(ctx.tx, ctx.workspace, name, int(last.get(f"{name}_seq") or 0))


def _focus(ctx: Context, work: Adoption, known: set[str]) -> None:
    row = next(work.rows("focus", "focus_id"), None)
    if row is not None and row["focus_id"] in known:
        ctx.ws.focus = row["focus_id"]


HISTORY = ("events", "ops_history", "step_notes")


def adopt_events(ctx: Context, work: Adoption) -> None:
    """Events keep their numbers, so `evt_...` in evidence and traces means the same as before."""
    found = [_event(ctx, row) for row in work.rows("events", "seq")]
    ctx.ws.adopt_events(found)
    work.counted("history", found)


def _event(ctx: Context, row: Row) -> EventRow:
    type = row.get("event_type") or row.get("type") or "event"
    payload = as_object(row.get("payload_json") or row.get("payload")) or {}
    place = (ctx.workspace, int(row["seq"]), int(row["ts_ms"]), "tasks", type, row.get("task_id"))
    return EventRow(*place, row.get("path"), None, 0, payload)


def adopt_history(ctx: Context, work: Adoption) -> None:
    _operations(ctx, work)
    _step_notes(ctx, work)


def _operations(ctx: Context, work: Adoption) -> None:
    """The log of changes, read-only. Its snapshots have another format, so none of it can be undone."""
    found = [_operation(row) for row in work.rows("ops_history", "seq")]
    insert_many(ctx.tx, ctx.workspace, found)
    raise_count(ctx.tx, ctx.workspace, "task_operation", max((entry.seq for entry in found), default=0))
    work.counted("operations", found)


def _operation(row: Row) -> UndoEntry:
    texts = {name: row.get(f"{name}_json") or row.get(name) for name in ("payload", "before", "after")}
    said = {name: as_object(text) for name, text in texts.items()}
    said["payload"] = said["payload"] or {}
    task = row.get("task_id") or ""
    return like(UndoEntry, row, task=task, entity=task, undoable=False, event="imported", agent=None, **said)


def _step_notes(ctx: Context, work: Adoption) -> None:
    """Each was copied to the notes of its task; those that were not are added there."""
    scopes = {row["id"]: row for row in work.rows("reasoning_refs", "id")}
    notes = list(work.rows("step_notes", "seq"))
    lost = [row for row in notes if int(row["seq"]) not in work.mirrored and row["task_id"] in scopes]
    adopt_entries(ctx, work, list(_mirrors(ctx, lost, scopes)))
    raise_count(ctx.tx, ctx.workspace, "step_note", max((int(row["seq"]) for row in notes), default=0))
    work.counted("step_notes", notes)


def _mirrors(ctx: Context, notes: list[Row], scopes: dict[str, Row]) -> Iterator[Row]:
    for row in notes:
        scope, path = scopes[row["task_id"]], row.get("path")
        step = {"task_id": row["task_id"], "step_id": row.get("step_id"), "path": path}
        meta = {"source": "tasks_note", **step, "note_seq": int(row["seq"]), "step": step}
        yield {
            "seq": ctx.ws.next_seq(),
            "branch": scope["branch"],
            "doc": scope["notes_doc"],
            "ts_ms": int(row["ts_ms"]),
            "kind": "note",
            "content": row.get("note") or row.get("content") or "",
            "meta_json": orjson.dumps(meta).decode(),
            "task_id": row["task_id"],
            "path": path,
        }
