"""Step scoping: the step of a task that a card, a read or a pack is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, shorten, suggest, unknown_id
from clew.ids import STEP as STEP_ID
from clew.ids import STEP_PATH
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import STEP
from clew.registry.context import Context
from clew.registry.operation import Name
from clew.store.database import Row

StepInput = Annotated[
    Name | None, Field(description="Step of the task: focus (its first open step), STEP-... or a path such as s:0.")
]
FOCUS = "focus"
_SELECT = "SELECT id, task, path FROM step WHERE workspace = ? AND task = ?"


@dataclass(frozen=True, slots=True)
class StepFocus:
    task_id: str
    step_id: str
    path: str

    @property
    def tag(self) -> str:
        return STEP + self.step_id.lower()

    def to_json(self) -> dict[str, str]:
        return {"task_id": self.task_id, "step_id": self.step_id, "path": self.path}

    def concerns(self, entry: Mapping[str, Any]) -> bool:
        """Whether a document's entry belongs to this step: a note by its meta, an event by the task's path."""
        if entry["kind"] == "event":
            path = entry.get("path") or ""
            return entry.get("task_id") == self.task_id and (path == self.path or path.startswith(f"{self.path}."))
        meta = entry.get("meta") or {}
        named = meta.get("step")
        return (named.get("step_id") if isinstance(named, Mapping) else meta.get("step_id")) == self.step_id


def resolve_step(ctx: Context, scope: Scope, step: str | None) -> StepFocus | None:
    """The step that was named; None when none was."""
    if step is None:
        return None
    task = _task(scope)
    wanted = step.strip()
    if wanted.lower() == FOCUS:
        row = ctx.tx.one(f"{_SELECT} AND completed = 0 ORDER BY created_seq, id LIMIT 1", ctx.workspace, task)
        return _found(row) if row else _refuse_done(task)
    if STEP_ID.fullmatch(wanted.upper()):
        row = ctx.tx.one(f"{_SELECT} AND id = ?", ctx.workspace, task, wanted.upper())
    elif STEP_PATH.fullmatch(wanted):
        row = ctx.tx.one(f"{_SELECT} AND path = ?", ctx.workspace, task, wanted)
    else:
        raise _no_step_form(wanted, task)
    if row is None:
        raise unknown_id(f"step of {task}", wanted, "Use focus, or copy the step from a snapshot.", [_look(task)])
    return _found(row)


def _found(row: Row) -> StepFocus:
    return StepFocus(row["task"], row["id"], row["path"])


def _task(scope: Scope) -> str:
    if scope.target is None or scope.kind != "task":
        about = f"{scope.target} is a {scope.kind}" if scope.target else "no task is in scope"
        raise ClewError(
            "INVALID_INPUT",
            f"step: {about}; a step belongs to a task",
            "Give a task as target, or set the focus to one; leave branch and documents out.",
            [{"kind": "missing_required", "field": "target"}],
            [suggest("tasks_macro_start", "Starts a task and focuses it.", "medium", task_title="New task")],
        )
    return scope.target


def _refuse_done(task: str) -> StepFocus:
    raise ClewError(
        "INVALID_INPUT",
        f"step: {task} has no open step to focus on",
        "Name a step by its id or path, or leave step out.",
        [{"kind": "state", "field": "step"}],
        [_look(task)],
    )


def _no_step_form(step: str, task: str) -> ClewError:
    return ClewError(
        "INVALID_INPUT",
        f"step: {shorten(step, 60)!r} is neither focus, a step id nor a path",
        "Use focus, STEP-00000001 or s:0.",
        [{"kind": "value", "field": "step", "expected": "focus, STEP-... or s:0"}],
        [_look(task)],
    )


def _look(task: str) -> dict[str, Any]:
    return suggest("think_context", "Shows what was thought about the task.", "medium", target=task)
