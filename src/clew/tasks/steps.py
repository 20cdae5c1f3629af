"""Steps: the tree inside a task, each with its checkpoints; how they are read and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from clew.canonical import Json
from clew.errors import ClewError, invalid, suggest, unknown_id
from clew.ids import STEP, STEP_PATH
from clew.reasoning.scope import StepFocus, step_finder
from clew.registry.context import Context
from clew.store.rows import find, find_many, first, select
from clew.tasks.editable import Editable
from clew.tasks.plans import Work

CHECKPOINTS = ("criteria", "tests", "security", "perf", "docs")
PROVABLE = ("tests", "security", "perf", "docs")
PROOF_MODES = ("off", "warn", "require")

CANCELED = "canceled: "
"""Prefix of the reason for which a canceled step is blocked."""


@dataclass(frozen=True, slots=True)
class Step(Editable):
    TABLE: ClassVar[str] = "step"
    LISTS: ClassVar[frozenset[str]] = frozenset({"success_criteria", "tests", "blockers"})
    FLAGS: ClassVar[frozenset[str]] = frozenset(
        {*(f"{name}_confirmed" for name in CHECKPOINTS), "completed", "blocked"}
    )

    id: str
    task: str
    parent: str | None
    ordinal: int
    path: str
    title: str
    created_seq: int
    created_at_ms: int
    updated_at_ms: int
    success_criteria: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    next_action: str | None = None
    stop_criteria: str | None = None
    criteria_confirmed: bool = False
    tests_confirmed: bool = False
    security_confirmed: bool = False
    perf_confirmed: bool = False
    docs_confirmed: bool = False
    proof_tests_mode: str = "off"
    proof_security_mode: str = "off"
    proof_perf_mode: str = "off"
    proof_docs_mode: str = "off"
    completed: bool = False
    completed_at_ms: int | None = None
    blocked: bool = False
    block_reason: str | None = None

    @property
    def state(self) -> str:
        """The state in a word. A done step is no longer blocked, whatever blocked it before."""
        if self.completed:
            return "done"
        return "canceled" if self.canceled else "blocked" if self.blocked else "open"

    @property
    def canceled(self) -> bool:
        """Whether it was canceled. The contract has no such state: there it is blocked, with this reason."""
        return self.blocked and not self.completed and (self.block_reason or "").startswith(CANCELED)

    def confirmed(self, checkpoint: str) -> bool:
        return bool(getattr(self, f"{checkpoint}_confirmed"))

    def proof_mode(self, checkpoint: str) -> str:
        """How much proof a checkpoint requires; criteria are judged, not proven."""
        return str(getattr(self, f"proof_{checkpoint}_mode")) if checkpoint in PROVABLE else "off"

    @property
    def requires_proof(self) -> bool:
        return any(self.proof_mode(name) == "require" for name in PROVABLE)

    def content(self) -> Json:
        own = Editable.content(self)
        return {**own, "step_id": self.id, "path": self.path, "task": self.task}


def step_ref(step: Step) -> dict[str, str]:
    return {"step_id": step.id, "path": step.path}


def step_meta(step: Step) -> dict[str, str]:
    """How notes and cards reference their step."""
    return {"task_id": step.task, "step_id": step.id, "path": step.path}


def step_tag(step: Step) -> str:
    """The tag of cards that are about this step."""
    return f"step:{step.id.lower()}"


def step_node(step_id: str) -> str:
    """The node of a step in its task's graph."""
    return f"step:{step_id}"


def find_step(ctx: Context, step_id: str) -> Step | None:
    return find(ctx.tx, ctx.workspace, Step, step_id)


def steps_of(ctx: Context, task: str) -> list[Step]:
    """All steps of a task in the order of their paths."""
    found = select(ctx.tx, ctx.workspace, Step, "task = ?", task)
    return sorted(found, key=lambda step: path_key(step.path))


def done_steps(ctx: Context, tasks: Sequence[str]) -> list[Step]:
    """The done steps of some tasks, in the order of the tasks and of their paths."""
    found = [step for step in find_many(ctx.tx, ctx.workspace, Step, tasks, "task") if step.completed]
    place = {task: at for at, task in enumerate(tasks)}
    return sorted(found, key=lambda step: (place[step.task], path_key(step.path)))


def path_key(path: str) -> tuple[int, ...]:
    """`s:2.s:10` as numbers, so that ten comes after two."""
    return tuple(int(part.partition(":")[2]) for part in path.split("."))


def first_open(ctx: Context, task: str) -> Step | None:
    """The oldest step that is not done; children added later come after their older siblings, canceled ones last."""
    canceled = f"CASE WHEN blocked = 1 AND block_reason LIKE '{CANCELED}%' THEN 1 ELSE 0 END"
    where = f"task = ? AND completed = 0 ORDER BY {canceled}, created_seq, id"
    return first(ctx.tx, ctx.workspace, Step, where, task)


@step_finder()
def step_in_scope(ctx: Context, task: str, named: str | None) -> StepFocus | None:
    """The step of a task by its id or path, or the one in focus, as cards and packs name it."""
    if named is None:
        found = first_open(ctx, task)
    else:
        column = "id" if STEP.fullmatch(named) else "path"
        found = first(ctx.tx, ctx.workspace, Step, f"task = ? AND {column} = ?", task, named)
    return StepFocus(found.task, found.id, found.path) if found is not None else None


def open_count(ctx: Context, task: str) -> int:
    sql = "SELECT count(*) FROM step WHERE workspace = ? AND task = ? AND completed = 0"
    return int(ctx.tx.value(sql, ctx.workspace, task))


def subtree(ctx: Context, step: Step) -> list[Step]:
    """A step and everything below it."""
    below = f"{step.path}."
    return [item for item in steps_of(ctx, step.task) if item.id == step.id or item.path.startswith(below)]


def select_step(ctx: Context, task: Work, path: str | None, step_id: str | None) -> Step:
    """The step that a path or an id names; if both are given they must agree."""
    if path is None and step_id is None:
        raise _no_selector(ctx, task)
    by_id = _by_id(ctx, task, step_id) if step_id is not None else None
    by_path = _by_path(ctx, task, path) if path is not None else None
    if by_id is not None and by_path is not None and by_id.id != by_path.id:
        message = f"{by_path.path} is {by_path.id}, not {by_id.id}"
        recovery = "Give path or step_id, or both for the same step."
        raise invalid("path", message, recovery, kind="choose_one", fields=["path", "step_id"])
    found = by_id or by_path
    assert found is not None
    return found


def step_selector(ctx: Context, task: Work, value: str, field: str) -> Step:
    """One argument that accepts either form."""
    text = value.strip()
    if STEP.fullmatch(text.upper()):
        return _by_id(ctx, task, text, field)
    return _by_path(ctx, task, text, field)


def _by_id(ctx: Context, task: Work, step_id: str, field: str = "step_id") -> Step:
    wanted = step_id.strip().upper()
    if not STEP.fullmatch(wanted):
        raise invalid(field, f"{step_id[:60]!r} is not a step id", "Use an id such as STEP-00000001.", look(task))
    step = find_step(ctx, wanted)
    if step is None or step.task != task.id:
        raise unknown_id(f"step of {task.id}", wanted, "Copy the id from the task's steps.", look(task))
    return step


def _by_path(ctx: Context, task: Work, path: str, field: str = "path") -> Step:
    wanted = path.strip()
    if not STEP_PATH.fullmatch(wanted):
        raise invalid(field, f"{path[:60]!r} is not a step path", "Use a path such as s:0 or s:0.s:1.", look(task))
    # `s:01` and `s:1` are the same path.
    normal = ".".join(f"s:{number}" for number in path_key(wanted))
    step = first(ctx.tx, ctx.workspace, Step, "task = ? AND path = ?", task.id, normal)
    if step is None:
        raise unknown_id(f"step of {task.id}", wanted, "Copy the path from the task's steps.", look(task))
    return step


def look(task: Work) -> list[Json]:
    return [suggest("tasks_snapshot", "Shows the task and its next step.", "high", task=task.id)]


def _no_selector(ctx: Context, task: Work) -> ClewError:
    first = first_open(ctx, task.id)
    advice = f" The first open one is {first.path} ({first.id})." if first else ""
    message = "path or step_id: one of them is required"
    recovery = f"Say which step of {task.id} you mean.{advice}"
    hints = [{"kind": "missing_required", "field": "step_id"}]
    return ClewError("INVALID_INPUT", message, recovery, hints, look(task))
