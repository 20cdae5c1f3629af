"""Task nodes: the small plan inside a step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clew.canonical import Json
from clew.errors import invalid, unknown_id
from clew.ids import NODE_PATH
from clew.kinds import statuses
from clew.registry.context import Context
from clew.registry.operation import Name, operation
from clew.store.rows import delete, find, first, insert, select, update
from clew.tasks.changes import touch
from clew.tasks.editable import Editable
from clew.tasks.journal import Change, forget_undo, log, record, write_event
from clew.tasks.leases import check_lease
from clew.tasks.plans import Work
from clew.tasks.steps import Step, find_step, look, path_key, step_selector
from clew.tasks.targets import OfTask, Revised, target_task
from clew.tasks.texts import Heading, Lines, Prose, blockers, heading, lines, prose

NodeStatus = Literal["TODO", "ACTIVE", "DONE", "PARKED", "CANCELED"]
LISTS = ("blockers", "dependencies", "next_steps", "problems", "risks", "success_criteria")
TEXTS = ("description", "context", "priority")
FLAGS = ("blocked", "status_manual")


@dataclass(frozen=True, slots=True)
class TaskNode(Editable):
    TABLE: ClassVar[str] = "task_node"
    LISTS: ClassVar[frozenset[str]] = frozenset(LISTS)
    FLAGS: ClassVar[frozenset[str]] = frozenset(FLAGS)

    id: str
    task: str
    step: str
    ordinal: int
    path: str
    title: str
    created_at_ms: int
    updated_at_ms: int
    status: str = statuses.WORK_TODO
    blocked: bool = False
    status_manual: bool = False
    description: str | None = None
    context: str | None = None
    priority: str | None = None
    blockers: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    success_criteria: tuple[str, ...] = ()

    def content(self) -> Json:
        return {**Editable.content(self), "node_id": self.id, "path": self.path}


class NodeFields(OfTask, Revised):
    status: NodeStatus | None = None
    status_manual: Annotated[bool | None, Field(description="The status was set by hand.")] = None
    priority: Name | None = None
    blocked: bool | None = None
    description: Prose | None = None
    context: Prose | None = None
    blockers: Lines | None = None
    dependencies: Lines | None = None
    next_steps: Lines | None = None
    problems: Lines | None = None
    risks: Lines | None = None
    success_criteria: Lines | None = None


class NodeAdd(NodeFields):
    parent_step: Annotated[Name, Field(description="Path or id of the step that gets the node.")]
    title: Heading


@operation("tasks_task_add", writes=True, example={"task": "TASK-001", "parent_step": "s:0", "title": "Handle quotes"})
def tasks_task_add(ctx: Context, args: NodeAdd) -> Json:
    """Add a task node to the plan inside a step."""
    task = target_task(ctx, args)
    step = step_selector(ctx, task, args.parent_step, "parent_step")
    check_lease(ctx, step)
    node = replace(_new(ctx, step, heading(args.title)), **given_fields(args))
    insert(ctx.tx, ctx.workspace, node)
    change = Change("task_node_added", "task_node_add", {}, False)
    task, event = _record_change(ctx, task, node, change, None, node.content())
    return _answer(task, node, event)


class NodeDefine(NodeFields):
    path: Annotated[Name, Field(description="Node path such as s:0.t:1.")]
    title: Heading | None = None


@operation("tasks_task_define", writes=True, example={"task": "TASK-001", "path": "s:0.t:0", "status": "DONE"})
def tasks_task_define(ctx: Context, args: NodeDefine) -> Json:
    """Change a task node."""
    task = target_task(ctx, args)
    node = select_node(ctx, task, args.path, None)
    given = given_fields(args)
    if args.title is not None:
        given["title"] = heading(args.title)
    if not given:
        raise invalid("title", "nothing to define", "Give at least one field to change.")
    task, node, event = change_node(ctx, task, node, replace(node, **given), "task_node_define", sorted(given))
    return _answer(task, node, event)


class NodeDelete(OfTask, Revised):
    path: Annotated[Name, Field(description="Node path such as s:0.t:1.")]


@operation("tasks_task_delete", writes=True, destructive=True, example={"task": "TASK-001", "path": "s:0.t:0"})
def tasks_task_delete(ctx: Context, args: NodeDelete) -> Json:
    """Delete a task node; the history keeps what it said."""
    task = target_task(ctx, args)
    node = select_node(ctx, task, args.path, None)
    check_node_lease(ctx, node)
    delete(ctx.tx, ctx.workspace, node)
    # An undo of an earlier change would no longer find the node.
    forget_undo(ctx, node.id)
    change = Change("task_node_deleted", "task_node_delete", {}, False)
    task, event = _record_change(ctx, task, node, change, node.content(), None)
    return _answer(task, node, event)


def change_node(
    ctx: Context, task: Work, old: TaskNode, new: TaskNode, intent: str, fields: list[str]
) -> tuple[Work, TaskNode, Json]:
    change = Change("task_node_defined", intent, {"fields": fields})
    task, new, event = put_node(ctx, task, new, change)
    record(ctx, task.id, new.id, new.path, change, old.content(), new.content(), event)
    return task, new, event


def put_node(ctx: Context, task: Work, new: TaskNode, change: Change) -> tuple[Work, TaskNode, Json]:
    """The same without an undo log entry."""
    check_node_lease(ctx, new)
    new = replace(new, updated_at_ms=ctx.now_ms)
    update(ctx.tx, ctx.workspace, new)
    task = touch(ctx, task)
    event = write_event(ctx, task.id, change.event, {**_place(task, new), **change.payload}, new.path)
    return task, new, event


def select_node(ctx: Context, task: Work, path: str | None, node_id: str | None) -> TaskNode:
    key, value = ("id", node_id.strip().upper()) if node_id is not None else ("path", _normal(task, path or ""))
    node = first(ctx.tx, ctx.workspace, TaskNode, f"task = ? AND {key} = ?", task.id, value)
    if node is None:
        raise unknown_id(f"task node of {task.id}", value, "Copy the path of a node that exists.", look(task))
    return node


def nodes_of(ctx: Context, task: str) -> list[TaskNode]:
    found = select(ctx.tx, ctx.workspace, TaskNode, "task = ?", task)
    return sorted(found, key=lambda node: path_key(node.path))


def find_node(ctx: Context, node_id: str) -> TaskNode | None:
    return find(ctx.tx, ctx.workspace, TaskNode, node_id)


def check_node_lease(ctx: Context, node: TaskNode) -> None:
    """A node belongs to its step, and so does its lease."""
    step = find_step(ctx, node.step)
    if step is not None:
        check_lease(ctx, step)


def given_fields(args: NodeFields) -> Json:
    """The fields that the caller gave, in their stored form."""
    values: Json = {}
    for name in ("status", *FLAGS, *TEXTS, *LISTS):
        value = getattr(args, name)
        if value is not None:
            kept = blockers if name == "blockers" else lines
            values[name] = kept(value) if name in LISTS else prose(value) if name in TEXTS else value
    return values


def _new(ctx: Context, step: Step, title: str) -> TaskNode:
    # From a counter, so that the path of a deleted node is never reused.
    ordinal = ctx.ws.count(f"task_node:{step.id}") - 1
    id, path = f"NODE-{ctx.ws.count('task_node'):08X}", f"{step.path}.t:{ordinal}"
    place: Json = {"task": step.task, "step": step.id, "ordinal": ordinal, "path": path}
    return TaskNode(id=id, title=title, created_at_ms=ctx.now_ms, updated_at_ms=ctx.now_ms, **place)


def _record_change(
    ctx: Context, task: Work, node: TaskNode, change: Change, before: Json | None, after: Json | None
) -> tuple[Work, Json]:
    task = touch(ctx, task)
    payload = {**_place(task, node), "title": node.title}
    return task, log(ctx, task.id, replace(change, payload=payload), node.id, node.path, before, after)


def _normal(task: Work, path: str) -> str:
    if not NODE_PATH.fullmatch(path.strip()):
        raise invalid("path", f"{path[:60]!r} is not a node path", "Use a path such as s:0.t:1.", look(task))
    head, _, last = path.strip().rpartition(".t:")
    return ".".join(f"s:{number}" for number in path_key(head)) + f".t:{int(last)}"


def _place(task: Work, node: TaskNode) -> Json:
    return {"task": task.id, "node_id": node.id, "path": node.path}


def _answer(task: Work, node: TaskNode, event: Json) -> Json:
    place = {"node_id": node.id, "path": node.path}
    return {"task": task.id, "revision": task.revision, "node": place, "event": event}
