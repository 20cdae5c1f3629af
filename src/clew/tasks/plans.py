"""Plans and tasks: their fields and queries. Both are `Work`; a task belongs to a plan and has steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clew.canonical import Json
from clew.errors import ClewError, suggest, unknown_id
from clew.ids import normal_id
from clew.kinds import statuses
from clew.kinds.catalogue import state_of
from clew.kinds.state import State
from clew.registry.context import Context
from clew.store.rows import find, first, select
from clew.tasks.editable import Editable

STATUSES = (statuses.WORK_TODO, statuses.WORK_ACTIVE, statuses.WORK_DONE, statuses.WORK_PARKED, statuses.WORK_CANCELED)
ACTIVE_LIMIT = 3
STALE_AFTER_MS = 14 * 24 * 3600 * 1000

_NEWEST = "ORDER BY updated_at_ms DESC, number DESC LIMIT ?"

INBOX = "Inbox"
"""The default plan of tasks that are started without one."""


@dataclass(frozen=True, slots=True)
class Work(Editable):
    """A plan or a task."""

    TABLE: ClassVar[str] = "work"
    LISTS: ClassVar[frozenset[str]] = frozenset({"tags", "depends_on", "checklist"})
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"contract_data"})

    id: str
    kind: str
    number: int
    parent: str | None
    title: str
    created_seq: int
    created_at_ms: int
    updated_at_ms: int
    revision: int = 0
    status: str = statuses.WORK_TODO
    description: str | None = None
    context: str | None = None
    priority: str | None = None
    domain: str | None = None
    phase: str | None = None
    component: str | None = None
    assignee: str | None = None
    reasoning_mode: str = "normal"
    tags: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    contract: str | None = None
    contract_data: Json | None = None
    contract_versions: int = 0
    checklist: tuple[str, ...] = ()
    checklist_current: int = 0
    checklist_doc: str | None = None
    parked_until_ts_ms: int | None = None
    stale_after_ms: int | None = None

    @property
    def is_task(self) -> bool:
        return self.kind == "task"

    @property
    def shown_title(self) -> str:
        return "Tasks without a plan" if not self.is_task and self.title == INBOX else self.title

    @property
    def is_open(self) -> bool:
        return state_of(self.kind, self.status) is State.OPEN

    @property
    def plan_progress(self) -> str:
        return f"{self.checklist_current}/{len(self.checklist)}"


def find_work(ctx: Context, id: str) -> Work | None:
    return find(ctx.tx, ctx.workspace, Work, id)


def work_by_id(ctx: Context, id: str) -> Work:
    # The exact id first: most ids are right, and `task-1` is only meant for TASK-001.
    found = find_work(ctx, id) or find_work(ctx, normal_id(id))
    if found is None:
        raise unknown_id("plan" if id.startswith("PLAN-") else "task", id, "Copy an id from the list.", known_work(ctx))
    return found


def known_work(ctx: Context, limit: int = 2, under: str | None = None) -> list[Json]:
    """Suggested calls for existing work, or for starting some; for plans only if one is expected."""
    of_plan, params = ("AND parent = ?", (under,)) if under is not None else ("", ())
    tasks = select(ctx.tx, ctx.workspace, Work, f"kind = 'task' {of_plan} {_NEWEST}", *params, limit)
    if tasks:
        name = "resume" if ctx.connection.toolset == "agent" else "tasks_snapshot"
        return [suggest(name, "Shows a task that exists.", "high", task=task.id) for task in tasks]
    plan = {"plan": under} if under is not None else {}
    return [suggest("tasks_macro_start", "Starts a task.", "high", task_title="New task", **plan)]


def open_tasks(ctx: Context, limit: int) -> list[Work]:
    """Open tasks, the last changed first."""
    where = f"kind = 'task' AND status IN ('TODO', 'ACTIVE', 'PARKED') {_NEWEST}"
    return select(ctx.tx, ctx.workspace, Work, where, limit)


def finished_tasks(ctx: Context, limit: int) -> list[Work]:
    """Done tasks, the last changed first."""
    return select(ctx.tx, ctx.workspace, Work, f"kind = 'task' AND status = 'DONE' {_NEWEST}", limit)


def open_plans(ctx: Context) -> list[Work]:
    """Open plans, oldest first."""
    where = "kind = 'plan' AND status NOT IN ('DONE', 'CANCELED') ORDER BY number"
    return select(ctx.tx, ctx.workspace, Work, where)


def tasks_of(ctx: Context, plan: str, status: str | None = None) -> list[Work]:
    """The tasks under a plan, oldest first."""
    wanted, params = (" AND status = ?", (plan, status)) if status else ("", (plan,))
    return select(ctx.tx, ctx.workspace, Work, f"parent = ?{wanted} ORDER BY number", *params)


def plan_titled(ctx: Context, title: str) -> Work | None:
    """The oldest plan with this title."""
    return first(ctx.tx, ctx.workspace, Work, "kind = 'plan' AND title = ? ORDER BY number", title)


def check_revision(work: Work, expected: int | None) -> None:
    if expected is not None and expected != work.revision:
        raise ClewError(
            "REVISION_MISMATCH",
            f"expected={expected} actual={work.revision}",
            f"Look at {work.id} again, then repeat with expected_revision={work.revision}.",
            suggestions=[suggest("tasks_context", "Shows the present revision.", "high", **{work.kind: work.id})],
        )


def qualified_id(ctx: Context, id: str) -> str:
    return f"{ctx.workspace}:{id}"
