"""Editing plans and tasks: their fields, a plan's checklist and contract, and patches of single fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import invalid, suggest
from clew.ids import NODE_PATH, PLAN, TASK, normal_tags
from clew.registry.context import Context
from clew.registry.operation import Meta, Name, Names, StrictModel, operation
from clew.tasks.changes import change_step, change_work
from clew.tasks.journal import Change
from clew.tasks.overview import rows_json
from clew.tasks.plans import STATUSES, Work, find_work, work_by_id
from clew.tasks.steps import PROOF_MODES, PROVABLE, Step, select_step, step_ref
from clew.tasks.stepwork import redefine
from clew.tasks.targets import OfPlan, OfStep, OfWork, PlanId, Revised, target_plan, target_work
from clew.tasks.task_nodes import FLAGS, LISTS, TEXTS, TaskNode, change_node, select_node
from clew.tasks.texts import Heading, Lines, Prose, blockers, heading, lines, prose

ReasoningMode = Literal["normal", "deep", "strict"]

PLAN_ONLY = ("contract", "contract_data")
TASK_ONLY = ("domain", "phase", "component", "assignee", "reasoning_mode")


class WorkEdit(OfWork, Revised):
    title: Heading | None = None
    description: Prose | None = None
    context: Prose | None = None
    priority: Annotated[Name | None, Field(description="Such as LOW, MEDIUM or HIGH.")] = None
    tags: Names | None = None
    depends_on: Annotated[Names | None, Field(description="Ids of plans and tasks that come first.")] = None
    new_domain: Annotated[Name | None, Field(description="Tasks only: the area of work.")] = None
    reasoning_mode: Annotated[ReasoningMode | None, Field(description="Tasks only: strict guards closing.")] = None
    contract: Annotated[Prose | None, Field(description="Plans only.")] = None
    contract_data: Meta | None = None


@operation("tasks_edit", writes=True, example={"task": "TASK-001", "title": "Read every file"})
def tasks_edit(ctx: Context, args: WorkEdit) -> Json:
    """Change title, description, context, priority, tags, dependencies or mode of a plan or task."""
    work = target_work(ctx, args)
    own = [name for name in WorkEdit.model_fields if name not in {**OfWork.model_fields, **Revised.model_fields}]
    given = {name: getattr(args, name) for name in own if getattr(args, name) is not None}
    if not given:
        raise invalid("title", "nothing to edit", "Give at least one field to change.")
    fields = {"domain" if name == "new_domain" else name: value for name, value in given.items()}
    new = with_fields(ctx, work, fields)
    change = Change(f"{work.kind}_edited", f"{work.kind}_edit", {"kind": work.kind, "patch": fields})
    work, event = change_work(ctx, work, new, change)
    return {**picked(work, "id", "kind", "revision"), "event": event}


def with_fields(ctx: Context, work: Work, fields: Json) -> Work:
    """The work with other fields, each validated; used by edit and patch."""
    for name in fields:
        if name in (PLAN_ONLY if work.is_task else TASK_ONLY):
            other = "plan" if work.is_task else "task"
            raise invalid(name, f"{work.id} is a {work.kind}; only a {other} has it", f"Leave {name} out.")
    new = replace(work, **{name: _check_field(ctx, work, name, value) for name, value in fields.items()})
    # Versions count changes of the contract, whichever operation made them.
    if (new.contract, new.contract_data) != (work.contract, work.contract_data):
        new = replace(new, contract_versions=work.contract_versions + 1)
    return new


def _check_field(ctx: Context, work: Work, name: str, value: Any) -> Any:
    if name == "title":
        return heading(value)
    if name == "tags":
        return tuple(normal_tags(list(value)))
    if name == "depends_on":
        return check_dependencies(ctx, work, value)
    return prose(value) if isinstance(value, str) else value


def check_dependencies(ctx: Context, work: Work, ids: Iterable[str]) -> tuple[str, ...]:
    """Existing ids, in the order given, without a dependency cycle back to the work itself."""
    wanted = tuple(dict.fromkeys(id.strip() for id in ids if id.strip()))
    for id in wanted:
        if not (PLAN.fullmatch(id) or TASK.fullmatch(id)):
            raise invalid("depends_on", f"{id[:60]!r} is not a plan or task id", "Use ids such as TASK-002.")
        # Refused before it is written: in a cycle each would wait for the others.
        if work.id in _reachable(ctx, work_by_id(ctx, id)):
            recovery = "Leave it out: a circle of dependencies never ends."
            ways = [suggest("tasks_context", "Shows the tasks.")]
            raise invalid("depends_on", f"{id} rests on {work.id} already", recovery, ways)
    return wanted


def _reachable(ctx: Context, start: Work) -> set[str]:
    seen, waiting = {start.id}, list(start.depends_on)
    while waiting:
        id = waiting.pop()
        if id not in seen:
            seen.add(id)
            found = find_work(ctx, id)
            waiting += found.depends_on if found else ()
    return seen


class PlanChecklist(OfPlan, Revised):
    steps: Annotated[Lines | None, Field(description="The checklist; replaces the present one.")] = None
    current: Annotated[int | None, Field(ge=0, le=10_000, description="How many of its lines are done.")] = None
    doc: Annotated[Name | None, Field(description="Where the plan is written down.")] = None
    advance: Annotated[bool, Field(description="Go on to the next line.")] = False


@operation("tasks_plan", writes=True, example={"plan": "PLAN-001", "steps": ["design", "build"]})
def tasks_plan(ctx: Context, args: PlanChecklist) -> Json:
    """Replace a plan's checklist, or move on in it."""
    plan = target_plan(ctx, args)
    if args.current is not None and args.advance:
        raise invalid("advance", "current and advance exclude each other", "Keep one of them.", kind="choose_one")
    new = plan
    if args.steps is not None:
        new = replace(new, checklist=lines(args.steps), checklist_current=0)
    if args.doc is not None:
        new = replace(new, checklist_doc=prose(args.doc))
    if args.current is not None or args.advance:
        # As in BranchMind it may go past the end, which lint then reports.
        new = replace(new, checklist_current=new.checklist_current + 1 if args.current is None else args.current)
    if new == plan:
        raise invalid("steps", "nothing to change", "Give steps, current, doc or advance=true.")
    payload = picked(args, "steps", "current", "doc", "advance")
    plan, event = change_work(ctx, plan, new, Change("plan_updated", "plan_update", payload))
    return {"plan": {**rows_json(ctx, [plan])[0], "steps": list(plan.checklist)}, "event": event}


class PlanContract(OfPlan, Revised):
    current: Annotated[Prose | None, Field(description="The contract's text.")] = None
    contract_data: Annotated[Meta | None, Field(description="The contract in structured form.")] = None
    clear: Annotated[bool, Field(description="Remove text and data.")] = False


@operation("tasks_contract", writes=True, example={"plan": "PLAN-001", "current": "No data is lost."})
def tasks_contract(ctx: Context, args: PlanContract) -> Json:
    """Set or clear what a plan promises."""
    plan = target_plan(ctx, args)
    given = args.current is not None or args.contract_data is not None
    if args.clear == given:
        raise invalid("clear", "give either clear=true or a contract", "Keep one of them.", kind="choose_one")
    text = prose(args.current) if args.current is not None else plan.contract
    data = args.contract_data if args.contract_data is not None else plan.contract_data
    if args.clear:
        text, data = None, None
    new = replace(plan, contract=text, contract_data=data, contract_versions=plan.contract_versions + 1)
    payload = {"task": plan.id, "cleared": args.clear, "version": new.contract_versions}
    plan, event = change_work(ctx, plan, new, Change("contract_updated", "contract_set", payload))
    shown = rows_json(ctx, [plan])[0] | picked(plan, "contract", "contract_data")
    return {"plan": shown, "event": event}


PatchKind = Literal["task_detail", "step", "task"]

# For each kind: the field and its type.
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
_EMPTY: Json = {"flag": False, "text": None, "object": None, "mode": "off", "list": ()}


class PatchOp(StrictModel):
    op: Literal["set", "unset", "append", "remove"]
    field: Annotated[str, Field(max_length=64)]
    value: Any = None


PatchOps = Annotated[list[PatchOp], Field(min_length=1, max_length=100, description="Edits, applied in order.")]


class WorkPatch(OfStep, Revised):
    plan: PlanId = None
    kind: Annotated[
        PatchKind | None, Field(description="task_detail, step or task (a node); default: by what is named.")
    ] = None
    task_node_id: Name | None = None
    ops: PatchOps


@operation(
    "tasks_patch",
    writes=True,
    example={
        "task": "TASK-001",
        "path": "s:0",
        "ops": [{"op": "set", "field": "next_action", "value": "write the parser"}],
    },
)
def tasks_patch(ctx: Context, args: WorkPatch) -> Json:
    """Set, unset, append to or remove from single fields of a plan, task, step or task node."""
    work = target_work(ctx, args)
    place = PatchPlace(**picked(args, "kind", "path", "step_id", "task_node_id"))
    work, subject, event = apply_patch(ctx, work, place, args.ops)
    answer = {"revision": work.revision, "event": event}
    if isinstance(subject, Step):
        return {"task": work.id, **answer, "step": step_ref(subject)}
    if isinstance(subject, TaskNode):
        return {"task": work.id, **answer, "node": {"node_id": subject.id, "path": subject.path}}
    return {**picked(work, "id", "kind"), **answer}


class PatchPlace(StrictModel):
    """What a patch is about."""

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
        if {place.path, place.step_id, place.task_node_id} != {None}:
            raise invalid("kind", "task_detail is about the plan or task itself", "Leave the step out, or kind.")
        return work
    if kind == "task":
        return select_node(ctx, work, place.path, place.task_node_id)
    return select_step(ctx, work, place.path, place.step_id)


def with_ops(ctx: Context, subject: Subject, kind: str, ops: Sequence[PatchOp]) -> Subject:
    """The subject after the edits; nothing is written."""
    values: Json = {}
    for number, op in enumerate(ops):
        holds = _holds(kind, op, number)
        # The edits are applied in sequence: the second append sees what the first one added.
        present = values.get(op.field, getattr(subject, op.field))
        values[op.field] = _apply_op(op, holds, present, f"ops[{number}]")
    if "blockers" in values:
        values["blockers"] = blockers(values["blockers"])
    if isinstance(subject, Work):
        return with_fields(ctx, subject, values)
    return redefine(subject, values) if isinstance(subject, Step) else replace(subject, **values)


def apply_patch(ctx: Context, work: Work, place: PatchPlace, ops: Sequence[PatchOp]) -> tuple[Work, Subject, Json]:
    subject, kind = subject_of(ctx, work, place), patch_kind(place)
    new = with_ops(ctx, subject, kind, ops)
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


def _apply_op(op: PatchOp, holds: str, present: Any, where: str) -> Any:
    if op.op == "unset":
        return _EMPTY[holds]
    if holds == "list":
        return _apply_to_list(op, present, where)
    return _set(op, holds, where)


def _apply_to_list(op: PatchOp, present: tuple[str, ...], where: str) -> tuple[str, ...]:
    given = [op.value] if isinstance(op.value, str) else op.value
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise invalid(f"{where}.value", "expected a string or a list of strings", kind="type", expected="list")
    wanted = lines(given)
    if op.op == "set":
        return wanted
    if op.op == "append":
        # An existing line is not added twice, so that a repeated patch changes nothing.
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
