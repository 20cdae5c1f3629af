"""Patches: small edits of single fields, the same for plans, tasks, steps and task nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from clew.errors import invalid
from clew.ids import NODE_PATH
from clew.registry.context import Context
from clew.registry.operation import Name, operation
from clew.tasks.changes import change_step, change_work
from clew.tasks.editing import edited
from clew.tasks.journal import Change
from clew.tasks.nodes import FLAGS, LISTS, TEXTS, TaskNode, change_node, select_node
from clew.tasks.plans import STATUSES, Work, check_revision
from clew.tasks.steps import PROOF_MODES, PROVABLE, Step, select_step, step_ref
from clew.tasks.stepwork import redefined
from clew.tasks.targets import OfStep, PlanId, Revised, target_work
from clew.tasks.wording import heading, lines, prose

PatchKind = Literal["task_detail", "step", "task"]

# For each kind: the field and what it holds.
FIELDS: dict[str, dict[str, str]] = {
    "task_detail": {
        "title": "title",
        "priority": "word",
        **dict.fromkeys(("description", "context", "contract", "domain", "phase", "component", "assignee"), "text"),
        "contract_data": "object",
        **dict.fromkeys(("tags", "depends_on"), "list"),
    },
    "step": {
        "title": "title",
        **dict.fromkeys(("success_criteria", "tests", "blockers"), "list"),
        **dict.fromkeys(("next_action", "stop_criteria"), "text"),
        **dict.fromkeys((f"proof_{name}_mode" for name in PROVABLE), "mode"),
    },
    "task": {
        "title": "title",
        "status": "status",
        **dict.fromkeys(FLAGS, "flag"),
        **dict.fromkeys(TEXTS, "text"),
        **dict.fromkeys(LISTS, "list"),
    },
}
_OPS = {
    "title": ("set",),
    "word": ("set",),
    "status": ("set",),
    "flag": ("set", "unset"),
    "text": ("set", "unset"),
    "object": ("set", "unset"),
    "mode": ("set", "unset"),
    "list": ("set", "unset", "append", "remove"),
}
_EMPTY: dict[str, Any] = {"flag": False, "text": None, "object": None, "mode": "off", "list": ()}


class PatchOp(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    op: Literal["set", "unset", "append", "remove"]
    field: Annotated[str, Field(max_length=64)]
    value: Any = None


PatchOps = Annotated[list[PatchOp], Field(min_length=1, max_length=100, description="Edits, applied in order.")]


class Patch(OfStep, Revised):
    plan: PlanId = None
    kind: Annotated[
        PatchKind | None, Field(description="task_detail, step or task (a node); default: by what is named.")
    ] = None
    task_node_id: Name | None = None
    ops: PatchOps


@operation(
    "tasks_patch",
    writes=True,
    intent="patch",
    example={
        "task": "TASK-001",
        "path": "s:0",
        "ops": [{"op": "set", "field": "next_action", "value": "write the parser"}],
    },
)
def tasks_patch(ctx: Context, args: Patch) -> dict[str, Any]:
    """Set, unset, append to or remove from single fields of a plan, task, step or task node."""
    work = target_work(ctx, args)
    check_revision(work, args.expected_revision)
    place = PatchPlace(kind=args.kind, path=args.path, step_id=args.step_id, task_node_id=args.task_node_id)
    work, subject, event = apply_patch(ctx, work, place, args.ops)
    answer = {"task": work.id, "revision": work.revision, "event": event}
    if isinstance(subject, Step):
        return {**answer, "step": step_ref(subject)}
    if isinstance(subject, TaskNode):
        return {**answer, "node": {"node_id": subject.id, "path": subject.path}}
    return answer


class PatchPlace(BaseModel):
    """What a patch is about."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: PatchKind | None = None
    path: Name | None = None
    step_id: Name | None = None
    task_node_id: Name | None = None


Subject = Work | Step | TaskNode


def patch_kind(place: PatchPlace) -> str:
    if place.kind is not None:
        return place.kind
    if place.task_node_id is not None or (place.path is not None and NODE_PATH.fullmatch(place.path.strip())):
        return "task"
    return "step" if place.path is not None or place.step_id is not None else "task_detail"


def subject_of(ctx: Context, work: Work, place: PatchPlace) -> Subject:
    kind = patch_kind(place)
    if kind == "task_detail":
        if place.path is not None or place.step_id is not None or place.task_node_id is not None:
            raise invalid("kind", "task_detail is about the plan or task itself", "Leave the step out, or kind.")
        return work
    if kind == "task":
        return select_node(ctx, work, place.path, place.task_node_id)
    return select_step(ctx, work, place.path, place.step_id)


def patched(ctx: Context, work: Work, subject: Subject, kind: str, ops: Sequence[PatchOp]) -> Subject:
    """The subject after the edits; nothing is written."""
    values: dict[str, Any] = {}
    for number, op in enumerate(ops):
        holds = _holds(kind, op, number)
        present = values.get(op.field, getattr(subject, op.field))
        values[op.field] = _applied(op, holds, present, f"ops[{number}]")
    if isinstance(subject, Work):
        return edited(ctx, subject, values)
    return redefined(subject, values) if isinstance(subject, Step) else replace(subject, **values)


def apply_patch(
    ctx: Context, work: Work, place: PatchPlace, ops: Sequence[PatchOp]
) -> tuple[Work, Subject, dict[str, Any]]:
    subject, kind = subject_of(ctx, work, place), patch_kind(place)
    new = patched(ctx, work, subject, kind, ops)
    fields = sorted({op.field for op in ops})
    if isinstance(subject, Step) and isinstance(new, Step):
        payload = {"task": work.id, "step_id": subject.id, "path": subject.path, "fields": fields}
        return change_step(ctx, work, subject, new, Change("step_defined", "step_patch", payload))
    if isinstance(subject, TaskNode) and isinstance(new, TaskNode):
        return change_node(ctx, work, subject, new, "task_node_patch", fields)
    assert isinstance(new, Work)
    change = Change("task_patched", "task_detail_patch", {"task": work.id, "fields": fields})
    work, event = change_work(ctx, work, new, change)
    return work, work, event


def _holds(kind: str, op: PatchOp, number: int) -> str:
    known = FIELDS[kind]
    if op.field not in known:
        raise invalid(
            f"ops[{number}].field", f"a {kind} has no field {op.field[:40]!r}", f"Use one of {', '.join(known)}."
        )
    holds = known[op.field]
    if op.op not in _OPS[holds]:
        raise invalid(f"ops[{number}].op", f"{op.op} does not fit {op.field}", f"Use one of {', '.join(_OPS[holds])}.")
    return holds


def _applied(op: PatchOp, holds: str, present: Any, where: str) -> Any:
    if op.op == "unset":
        return _EMPTY[holds]
    if holds == "list":
        return _listed(op, present, where)
    return _set(op, holds, where)


def _listed(op: PatchOp, present: tuple[str, ...], where: str) -> tuple[str, ...]:
    given = [op.value] if isinstance(op.value, str) else op.value
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise invalid(f"{where}.value", "expected a string or a list of strings", kind="type", expected="list")
    wanted = lines(given)
    if op.op == "set":
        return wanted
    if op.op == "append":
        return tuple(dict.fromkeys((*present, *wanted)))
    absent = [item for item in wanted if item not in present]
    if absent:
        raise invalid(f"{where}.value", f"{absent[0][:80]!r} is not in {op.field}", "Remove a line that is there.")
    return tuple(item for item in present if item not in wanted)


def _set(op: PatchOp, holds: str, where: str) -> Any:
    expected: type[Any] = {"flag": bool, "object": dict}.get(holds, str)
    if not isinstance(op.value, expected):
        raise invalid(f"{where}.value", f"expected {expected.__name__}", kind="type", expected=expected.__name__)
    allowed = {"mode": PROOF_MODES, "status": STATUSES}.get(holds, ())
    if allowed and op.value not in allowed:
        raise invalid(f"{where}.value", f"expected one of {', '.join(allowed)}", kind="choice", expected=list(allowed))
    value: Any = op.value
    if holds == "title":
        return heading(value, f"{where}.value")
    return prose(value) if holds in {"text", "word"} else value
