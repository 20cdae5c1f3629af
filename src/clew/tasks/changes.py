"""All changes of work go through here. Each checks the invariants, and writes every dependent record."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from clew.canonical import Json
from clew.errors import ClewError, Suggestion, suggest
from clew.index.items import Item, index_item, unindex_item
from clew.kinds import statuses
from clew.reasoning.graph import drop_node, node, put_edge, put_node
from clew.reasoning.scope import create_scope, scope_of
from clew.registry.context import Context
from clew.store.rows import insert, update
from clew.tasks.gates import (
    Gate,
    Override,
    check_finished_proofs,
    check_gate,
    check_proof,
    gate_of,
    warn_of_proof,
)
from clew.tasks.journal import Change, log, record, write_event
from clew.tasks.leases import check_lease
from clew.tasks.plans import Work
from clew.tasks.reasoning_gate import check_reasoning, reopened_steps
from clew.tasks.steps import Step, first_open, open_count, step_meta, step_node, step_ref, steps_of


def project_work(ctx: Context, work: Work) -> None:
    """The node `task:TASK-001` (or `plan:PLAN-001`), written only if it would differ."""
    _put(ctx, work.id, f"{work.kind}:{work.id}", work.kind, work.title, work.status)
    body = "\n".join(text for text in (work.description, work.context, work.contract, *work.checklist) if text)
    item = Item(work.id, "task", ctx.ws.seq, work.updated_at_ms, title=work.title, body=body or None)
    index_item(ctx.tx, ctx.workspace, replace(item, kind=work.kind, tags=work.tags, status=work.status))


def project_step(ctx: Context, step: Step) -> None:
    status = statuses.DONE if step.completed else statuses.OPEN
    meta = {"source": "tasks", **step_meta(step)}
    _put(ctx, step.task, step_node(step.id), "step", step.title, status, meta)
    lines = (*step.success_criteria, *step.tests, *step.blockers, step.next_action, step.stop_criteria)
    body = "\n".join(line for line in lines if line) or None
    item = Item(step.id, "task", ctx.ws.seq, step.updated_at_ms, title=step.title, body=body, kind="step")
    item = replace(item, tags=(step.task.lower(),), status=step_status(step))
    index_item(ctx.tx, ctx.workspace, item)


def step_status(step: Step) -> str:
    """The status of a step in the search index. One that is only blocked is open: it will be resumed."""
    if step.completed:
        return statuses.DONE
    return statuses.CANCELED if step.canceled else statuses.OPEN


def project_parent(ctx: Context, step: Step) -> None:
    """The edge from a new step to its task or parent step."""
    scope = scope_of(ctx, step.task)
    above = step_node(step.parent) if step.parent else f"task:{step.task}"
    put_edge(ctx, scope.branch, scope.graph, above, "contains", step_node(step.id))


def forget_step(ctx: Context, step: Step) -> None:
    _drop(ctx, step.task, step_node(step.id))
    unindex_item(ctx.tx, ctx.workspace, step.id)


def forget_work(ctx: Context, work: Work) -> None:
    _drop(ctx, work.id, f"{work.kind}:{work.id}")
    unindex_item(ctx.tx, ctx.workspace, work.id)


def _put(ctx: Context, owner: str, id: str, type: str, title: str, status: str, meta: Json | None = None) -> None:
    scope = scope_of(ctx, owner)
    # Every version of a node is kept forever, so an identical one would only make the history longer.
    present = node(ctx, scope.branch, scope.graph, id)
    if present is None or (present.title, present.status) != (title, status):
        put_node(ctx, scope.branch, scope.graph, id=id, type=type, title=title, status=status, meta=meta)


def _drop(ctx: Context, owner: str, id: str) -> None:
    scope = scope_of(ctx, owner)
    if node(ctx, scope.branch, scope.graph, id) is not None:
        drop_node(ctx, scope.branch, scope.graph, id)


@dataclass(frozen=True, slots=True)
class StepSpec:
    """A step that is not written yet."""

    title: str
    success_criteria: tuple[str, ...]
    tests: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    proof_tests_mode: str = "off"


def create_work(ctx: Context, kind: str, title: str, parent: str | None = None, **fields: Any) -> tuple[Work, Json]:
    """Create a plan or task with its own branch and documents; returns it with its event."""
    number = ctx.ws.count(kind)
    id = f"{kind.upper()}-{number:03d}"
    work = Work(id=id, kind=kind, number=number, parent=parent, title=title, **_born(ctx), **fields)
    insert(ctx.tx, ctx.workspace, work)
    create_scope(ctx, id, kind)
    payload = {"kind": kind, "title": title, "parent": parent}
    change = Change(f"{kind}_created", f"{kind}_create", payload, False)
    event = log(ctx, id, change, after=work.content())
    project_work(ctx, work)
    return work, event


def change_work(
    ctx: Context, old: Work, new: Work, change: Change, override: Override | None = None
) -> tuple[Work, Json]:
    """Replace the fields of a plan or task; returns it with its event."""
    new, event = put_work(ctx, new, change, override)
    record(ctx, new.id, new.id, None, change, old.content(), new.content(), event)
    return new, event


def put_work(ctx: Context, new: Work, change: Change, override: Override | None = None) -> tuple[Work, Json]:
    """The same without an undo log entry: for undo itself."""
    # Here and not in the operations: undo, patch and macros use this function as well.
    if new.is_task and new.status == statuses.WORK_DONE:
        _check_finished(ctx, new, override)
    new = _next_revision(ctx, new)
    update(ctx.tx, ctx.workspace, new)
    event = write_event(ctx, new.id, change.event, change.payload)
    project_work(ctx, new)
    return new, event


def change_step(
    ctx: Context,
    task: Work,
    old: Step,
    new: Step,
    change: Change,
    asked: Collection[str] = (),
    override: Override | None = None,
) -> tuple[Work, Step, Json]:
    """Replace the fields of a step."""
    task, new, event = put_step(ctx, task, old, new, change, asked, override)
    record(ctx, task.id, new.id, new.path, change, old.content(), new.content(), event)
    return task, new, event


def put_step(
    ctx: Context,
    task: Work,
    old: Step,
    new: Step,
    change: Change,
    asked: Collection[str] = (),
    override: Override | None = None,
) -> tuple[Work, Step, Json]:
    """The same without an undo log entry.

    A step that ends up done has passed its gates, whichever operation changed it.
    """
    # Every change of a step goes through here, so no operation, macro or undo can close one without its gates.
    check_lease(ctx, old)
    if new.completed and not old.completed:
        change = replace(change, payload={**change.payload, **_pass_gates(ctx, task, new, asked, override)})
    # A done step may still be edited, but must still pass afterwards.
    elif new.completed:
        stay_closed(ctx, new)
    elif old.completed:
        _check_not_done(task, "open a step again")
    new = replace(new, updated_at_ms=ctx.now_ms)
    update(ctx.tx, ctx.workspace, new)
    task = touch(ctx, task)
    event = write_event(ctx, task.id, change.event, change.payload, new.path)
    project_step(ctx, new)
    return task, new, event


def _pass_gates(ctx: Context, task: Work, step: Step, asked: Collection[str], override: Override | None) -> Json:
    """Checkpoints, proof, reasoning; returns what the closing event records about them."""
    # Checkpoints first, because they are the quickest to fix.
    found = check_gate(ctx, step, asked)
    remarks = check_reasoning(ctx, task, step, override)
    remarks |= check_proof(ctx, task, step, override)
    warn_of_proof(ctx, step, found)
    return remarks


def add_steps(
    ctx: Context, task: Work, parent: Step | None, specs: Sequence[StepSpec]
) -> tuple[Work, list[Step], Json]:
    """Add steps at the end of the task or below a step."""
    _check_not_done(task, "add steps")
    if parent is not None:
        check_lease(ctx, parent)
    steps = [_add_step(ctx, task, parent, spec) for spec in specs]
    task, path = touch(ctx, task), parent.path if parent else None
    added = [{**step_ref(step), "title": step.title} for step in steps]
    payload = {"task": task.id, "parent_path": path, "steps": added}
    event = write_event(ctx, task.id, "steps_added", payload, path)
    # Undo restores an earlier content, and new steps have none: they are undone by deleting them.
    record(ctx, task.id, task.id, None, Change("", "steps_add", payload, False), None, None, event)
    for step in steps:
        project_step(ctx, step)
        # After the step's own node, because an edge needs both of its ends.
        project_parent(ctx, step)
    return task, steps, event


def touch(ctx: Context, work: Work) -> Work:
    """The next revision of a plan or task whose parts have changed."""
    work = _next_revision(ctx, work)
    sql = "UPDATE work SET revision = ?, updated_at_ms = ? WHERE workspace = ? AND id = ?"
    ctx.tx.run(sql, work.revision, work.updated_at_ms, ctx.workspace, work.id)
    return work


def stay_closed(ctx: Context, step: Step) -> None:
    """A done step remains valid: it must be reopened for a change that leaves it unconfirmed or unproven."""
    found = gate_of(ctx, step)
    if found.closed:
        raise _reopen_first(step, found)


def _add_step(ctx: Context, task: Work, parent: Step | None, spec: StepSpec) -> Step:
    above = parent.id if parent else task.id
    # From a counter, not from the existing steps: a path is never reused.
    ordinal = ctx.ws.count(f"step:{above}") - 1
    path = f"{parent.path}.s:{ordinal}" if parent else f"s:{ordinal}"
    id = f"STEP-{ctx.ws.count('step'):08X}"
    place: Json = {"parent": parent.id if parent else None, "ordinal": ordinal, "path": path}
    step = Step(id=id, task=task.id, **place, **asdict(spec), **_born(ctx))
    insert(ctx.tx, ctx.workspace, step)
    return step


def _born(ctx: Context) -> Json:
    return {"created_seq": ctx.ws.seq, "created_at_ms": ctx.now_ms, "updated_at_ms": ctx.now_ms}


def _next_revision(ctx: Context, work: Work) -> Work:
    return replace(work, revision=work.revision + 1, updated_at_ms=ctx.now_ms)


def _ways_to_finish(ctx: Context, task: Work) -> list[Suggestion]:
    if ctx.connection.toolset == "agent":  # closing by checkpoints implies that criteria are met, which was not said
        return [suggest("open", "Shows what is open.", "high", id=task.id)]
    return [*_closing(ctx, task), suggest("tasks_snapshot", "Shows what is open.", "medium", task=task.id)]


def _check_finished(ctx: Context, task: Work, override: Override | None) -> None:
    left = open_count(ctx, task.id)
    if left:
        raise ClewError(
            "INVALID_INPUT",
            f"{task.id} has {left} open step{'s' if left > 1 else ''} and cannot be DONE",
            "Close the steps first; each through its checkpoints.",
            [{"kind": "state", "field": "status"}],
            _ways_to_finish(ctx, task),
        )
    steps = steps_of(ctx, task.id)
    check_finished_proofs(ctx, steps, override)
    _check_premises(ctx, task, steps)


def _check_premises(ctx: Context, task: Work, steps: list[Step]) -> None:
    """A done step whose premise was withdrawn reopens in a strict task; any other task gets a warning."""
    fallen = reopened_steps(ctx, task.id, steps)
    first = next((step for step in steps if step.id in fallen), None)
    if first is None:
        return
    because = f"{first.path} was closed before {fallen[first.id].because}"
    if task.reasoning_mode != "strict":
        ctx.warn("PREMISE_FALLEN", because, "Look at the step again; tasks_lint shows the way to the card.")
        return
    raise ClewError(
        "REASONING_REQUIRED",
        f"{task.id} is strict, and {because}",
        "Open the step again and close it on what still holds.",
        suggestions=[
            suggest("tasks_progress", "Opens the step again.", task=task.id, step_id=first.id, completed=False),
            suggest("open", "Shows the card that fell.", "medium", id=fallen[first.id].path[-1]),
        ],
        details={"step_id": first.id, "path": first.path, "premises": list(fallen[first.id].path)},
    )


def _closing(ctx: Context, task: Work) -> list[Suggestion]:
    """The call that closes the next step, if confirming is all it takes."""
    step = first_open(ctx, task.id)
    if step is None or task.reasoning_mode == "strict" or gate_of(ctx, step).missing_proof:
        return []
    gate = {"task": task.id, "step_id": step.id, "checkpoints": dict.fromkeys(gate_of(ctx, step).required, True)}
    return [
        suggest("tasks_macro_close_step", "Confirms and closes the first open step, once it is true.", "high", **gate)
    ]


def _check_not_done(task: Work, what: str) -> None:
    if task.status == statuses.WORK_DONE:
        raise ClewError(
            "INVALID_INPUT",
            f"{task.id} is DONE; to {what}, take it up again",
            "Set its status to ACTIVE, then repeat.",
            [{"kind": "state", "field": "task"}],
            [suggest("tasks_complete", "Takes the task up again.", "high", task=task.id, status=statuses.WORK_ACTIVE)],
        )


def _reopen_first(step: Step, found: Gate) -> ClewError:
    lacking = [*found.missing, *(f"proof of {name}" for name in found.missing_proof)]
    message = f"{step.path} ({step.id}) is done; this would leave it done without {', '.join(lacking)}"
    recovery = "Open the step again, change it, and close it through its gate."
    place = {"task": step.task, "step_id": step.id}
    way = suggest("tasks_progress", "Opens the step again.", "high", **place, completed=False)
    return ClewError("INVALID_INPUT", message, recovery, [{"kind": "state", "field": "step_id"}], [way])
