"""tasks_macro_finish: a last note, the final status, and the handoff."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.clock import rfc3339
from clew.reasoning.documents import append
from clew.reasoning.scope import scope_of
from clew.registry.budget import bounded, budget_warnings
from clew.registry.context import Context
from clew.registry.operation import Whole, operation
from clew.tasks.completion import Status, set_status
from clew.tasks.overview import rows_json
from clew.tasks.plans import Work
from clew.tasks.targets import OfTask, target_task
from clew.tasks.views.handoff import HANDOFF_BUDGET, handoff_json
from clew.tasks.wording import Prose, prose


class MacroFinish(OfTask):
    status: Annotated[Status, Field(description="The status that the task ends with.")] = "DONE"
    final_note: Annotated[Prose | None, Field(description="Last words, kept in the task's notes.")] = None
    handoff_max_chars: Annotated[Whole | None, Field(description="Most characters of the handoff.")] = None


@operation("tasks_macro_finish", writes=True, idempotent=True, example={"task": "TASK-001", "status": "CANCELED"})
def tasks_macro_finish(ctx: Context, args: MacroFinish) -> dict[str, Any]:
    """Finish a task: keep a last note, set its status, and give the handoff. A second time changes nothing."""
    task = target_task(ctx, args)
    note = prose(args.final_note)
    finished, event = set_status(ctx, task, args.status)
    if event is None and note is not None and _last_words(ctx, task) == note:
        note = None
    answer: dict[str, Any] = {"task": task.id, "status": finished.status}
    if event is not None:
        answer["complete"] = {"task": rows_json(ctx, [finished])[0], "event": event}
    if note is not None:
        answer["final_note"] = _note(ctx, finished, note)
    return {**answer, "handoff": _handoff(ctx, finished, args.handoff_max_chars)}


def _note(ctx: Context, task: Work, note: str) -> dict[str, Any]:
    scope = scope_of(ctx, task.id)
    meta = {"source": "tasks_macro_finish", "task_id": task.id}
    row = append(ctx, scope.branch.id, scope.notes, content=note, title="Final note", meta=meta, subject=task.id)
    ref = f"{scope.notes}@{row['seq']}"
    ctx.emit("reasoning", "note_committed", ref, {"branch": scope.branch.name, "title": "Final note"})
    return {"ref": ref, "seq": row["seq"], "ts": rfc3339(row["ts_ms"])}


def _last_words(ctx: Context, task: Work) -> str | None:
    """The newest final note, so that the same call again does not write it twice."""
    scope = scope_of(ctx, task.id)
    sql = (
        "SELECT content FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND title = 'Final note'"
        " ORDER BY seq DESC LIMIT 1"
    )
    found = ctx.tx.value(sql, ctx.workspace, scope.branch.id, scope.notes)
    return None if found is None else str(found)


def _handoff(ctx: Context, task: Work, limit: int | None) -> dict[str, Any]:
    given = [] if limit is None else [limit]
    shown, fitted = bounded(handoff_json(ctx, task), HANDOFF_BUDGET, given, HANDOFF_BUDGET.default_for("full"))
    if fitted is not None:
        ctx.remarks.warnings.extend(budget_warnings(fitted))
    return shown
