"""Setting the status of a plan or task, and closing a task with its last edits."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import invalid, suggest
from clew.registry.context import Context
from clew.registry.operation import Whole, operation
from clew.tasks.changes import change_work
from clew.tasks.gates import gates_of
from clew.tasks.journal import Change
from clew.tasks.overview import rows_json
from clew.tasks.patching import PatchOps, PatchPlace, apply_patch, patch_kind, patched, subject_of
from clew.tasks.plans import Work, check_revision
from clew.tasks.steps import steps_of
from clew.tasks.targets import OfTask, OfWork, Revised, target_task, target_work

Status = Literal["TODO", "ACTIVE", "DONE", "PARKED", "CANCELED"]


class Complete(OfWork, Revised):
    status: Annotated[Status, Field(description="The new status.")] = "DONE"
    parked_for_s: Annotated[
        int | None, Field(ge=1, le=10 * 366 * 86_400, description="With PARKED: wake after so many seconds.")
    ] = None
    parked_until_ts_ms: Annotated[Whole | None, Field(description="With PARKED: wake at this Unix time.")] = None


@operation("tasks_complete", writes=True, intent="complete", example={"task": "TASK-001", "status": "ACTIVE"})
def tasks_complete(ctx: Context, args: Complete) -> dict[str, Any]:
    """Set the status of a plan or task. DONE needs every step closed; PARKED may name a time to wake."""
    work = target_work(ctx, args)
    check_revision(work, args.expected_revision)
    work, event = set_status(ctx, work, args.status, _wake(ctx, work, args))
    return {"task": rows_json(ctx, [work])[0], "event": event}


def set_status(
    ctx: Context, work: Work, status: str, parked_until: int | None = None
) -> tuple[Work, dict[str, Any] | None]:
    """The status as wished; when it is so already, nothing is written and the answer says so."""
    if (work.status, work.parked_until_ts_ms) == (status, parked_until):
        ctx.warn("ALREADY_DONE", f"{work.id} is {status} already", "Nothing to do.")
        return work, None
    new = replace(work, status=status, parked_until_ts_ms=parked_until)
    payload = {"task": work.id, "status": status, "previous": work.status, "parked_until_ts_ms": parked_until}
    type = "task_completed" if work.is_task else "plan_updated"
    return change_work(ctx, work, new, Change(type, f"{work.kind}_complete", payload))


def _wake(ctx: Context, work: Work, args: Complete) -> int | None:
    given = [name for name in ("parked_for_s", "parked_until_ts_ms") if getattr(args, name) is not None]
    if given and (args.status != "PARKED" or not work.is_task):
        raise invalid(given[0], "only a task that is PARKED wakes up", "Leave it out, or park a task.")
    if len(given) > 1:
        raise invalid(
            "parked_for_s",
            "parked_for_s and parked_until_ts_ms exclude each other",
            "Keep one of them.",
            kind="choose_one",
            fields=given,
        )
    return ctx.now_ms + args.parked_for_s * 1000 if args.parked_for_s is not None else args.parked_until_ts_ms


class ClosingPatch(PatchPlace):
    """A last edit before the task is closed."""

    ops: PatchOps


class CloseTask(OfTask, Revised):
    apply: Annotated[bool, Field(description="false only shows what would change.")] = False
    patches: Annotated[list[ClosingPatch], Field(max_length=50, description="Edits to make before closing.")] = Field(
        default_factory=list
    )


@operation("tasks_close_task", writes=True, intent="close_task", example={"task": "TASK-001"})
def tasks_close_task(ctx: Context, args: CloseTask) -> dict[str, Any]:
    """Make last edits and complete the task, all or nothing; without apply=true only show what would change."""
    task = target_task(ctx, args)
    check_revision(task, args.expected_revision)
    if not args.apply:
        return _preview(ctx, task, args)
    events = []
    for patch in args.patches:
        task, _, event = apply_patch(ctx, task, patch, patch.ops)
        events.append(event)
    task, done = set_status(ctx, task, "DONE")
    if done is not None:
        events.append(done)
    return {"applied": True, "task": rows_json(ctx, [task])[0], "revision": task.revision, "events": events}


def _preview(ctx: Context, task: Work, args: CloseTask) -> dict[str, Any]:
    diff = [_difference(ctx, task, patch) for patch in args.patches]
    gates = gates_of(ctx, [step for step in steps_of(ctx, task.id) if not step.completed])
    left = {
        id: {"checkpoints": list(gate.missing), "proof": list(gate.missing_proof)} for id, gate in sorted(gates.items())
    }
    if not left:
        call = {"task": task.id, "apply": True, "expected_revision": task.revision}
        if args.patches:
            call["patches"] = [patch.model_dump(exclude_none=True) for patch in args.patches]
        ctx.suggest(suggest("tasks_close_task", "Applies the edits and closes the task.", "high", **call))
    return {
        "applied": False,
        "task": rows_json(ctx, [task])[0],
        "revision": task.revision,
        "diff": diff,
        "status": {"before": task.status, "after": "DONE" if not left else task.status},
        "can_close": not left,
        "open_steps": left,
    }


def _difference(ctx: Context, task: Work, patch: ClosingPatch) -> dict[str, Any]:
    subject, kind = subject_of(ctx, task, patch), patch_kind(patch)
    before, after = subject.content(), patched(ctx, task, subject, kind, patch.ops).content()
    changed = [name for name in sorted(after) if before.get(name) != after[name]]
    return {
        "kind": kind,
        "id": subject.id,
        "before": {name: before.get(name) for name in changed},
        "after": {name: after[name] for name in changed},
    }
