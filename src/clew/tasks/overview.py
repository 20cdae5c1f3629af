"""Plans and tasks at a glance: tasks_context, the storage names, the rows of responses that show one of them, and
diagnostics, a quick check of whether a workspace and a target are in working order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from clew.canonical import Json, canonical, picked
from clew.errors import suggest
from clew.ids import normal_tags
from clew.index.item_reads import index_gaps
from clew.kinds import statuses
from clew.reasoning.documents import GRAPH, NOTES, TRACE
from clew.reasoning.graph.view import Condition
from clew.reasoning.scope import Scope, Target, resolve_scope, target_id
from clew.reasoning.workspace import GOLDEN_PATH, checkout_name, storage
from clew.registry.budget import Budget, Drop, Trim, drops
from clew.registry.catalogue import catalogue
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import Bounded, Input, Name, Names, Whole, operation
from clew.registry.record import Preview, previewer
from clew.store.database import placeholders
from clew.store.rows import find_many, select
from clew.tasks.lint import context_health, findings, summary
from clew.tasks.plans import STATUSES, Work, find_work, qualified_id, work_by_id
from clew.tasks.steps import CHECKPOINTS
from clew.tasks.targets import OfWork, explicit_target


@dataclass(frozen=True, slots=True)
class StepTally:
    """The steps of a task, counted."""

    total: int = 0
    completed: int = 0
    confirmed: tuple[int, ...] = (0, 0, 0, 0, 0)
    with_criteria: int = 0
    with_tests: int = 0

    @property
    def percent(self) -> int:
        """The percentage done; a half rounds up, as in BranchMind."""
        return (200 * self.completed + self.total) // (2 * self.total) if self.total else 0

    def flags(self) -> dict[str, bool]:
        """A checkpoint is met for the whole if it is met for every step; with nothing to check it is met."""
        held = {
            f"{name}_confirmed": self.total > 0 and count == self.total
            for name, count in zip(CHECKPOINTS, self.confirmed, strict=True)
        }
        return {
            **held,
            "criteria_auto_confirmed": self.with_criteria == 0,
            "tests_auto_confirmed": self.with_tests == 0,
        }


def rows_json(ctx: Context, works: Sequence[Work]) -> list[Json]:
    """Plans and tasks as rows, their steps counted in one query per kind."""
    tallies = _tallies(ctx, works)
    return [_row(ctx, work, tallies.get(work.id, StepTally())) for work in works]


@previewer("task")
def task_previews(ctx: Context, ids: list[str]) -> dict[str, Preview]:
    """The progress of each task: its status alone does not show that seven of eight steps are done."""
    rows = rows_json(ctx, find_many(ctx.tx, ctx.workspace, Work, ids))
    return {row["id"]: Preview(state=f"{row['status']} {row['steps_completed']}/{row['steps_count']}") for row in rows}


def _row(ctx: Context, work: Work, tally: StepTally) -> Json:
    shared = {
        "id": work.id,
        "qualified_id": qualified_id(ctx, work.id),
        **picked(work, "kind", "title", "status", "revision"),
        **tally.flags(),
        "created_at_ms": work.created_at_ms,
        "updated_at_ms": work.updated_at_ms,
    }
    if not work.is_task:
        return {**shared, "plan_progress": work.plan_progress, "contract_versions_count": work.contract_versions}
    return {
        **shared,
        "parent": work.parent,
        "status_code": work.status,
        "parked_until_ts_ms": work.parked_until_ts_ms,
        "progress": tally.percent,
        "steps_count": tally.total,
        "steps_completed": tally.completed,
    }


def tasks_of_plans(ctx: Context, plans: list[str]) -> dict[str, dict[str, int]]:
    """The number of tasks of each plan, and how many of them are done."""
    if not plans:
        return {}
    sql = (
        "SELECT parent, count(*) AS tasks, sum(CASE WHEN status = 'DONE' THEN 1 ELSE 0 END) AS done FROM work"
        f" WHERE workspace = ? AND parent IN ({placeholders(len(plans))}) GROUP BY parent"
    )
    rows = ctx.tx.all(sql, ctx.workspace, *plans)
    none = {id: {"tasks_count": 0, "tasks_done": 0} for id in plans}
    return none | {row["parent"]: {"tasks_count": int(row["tasks"]), "tasks_done": int(row["done"])} for row in rows}


def how_far(ctx: Context, works: Sequence[Work]) -> dict[str, str]:
    """The status of each plan and task: the explicit one, else one derived from its tasks or steps."""
    tallies = _tallies(ctx, works)
    plans = tasks_of_plans(ctx, [work.id for work in works if not work.is_task])
    return {
        work.id: _by_parts(tallies.get(work.id, StepTally()), plans.get(work.id))
        if work.status == statuses.WORK_TODO
        else work.status
        for work in works
    }


def _by_parts(steps: StepTally, tasks: dict[str, int] | None) -> str:
    """The status derived from a task's steps, or from a plan's tasks and all their steps."""
    done, total = (steps.completed, steps.total) if tasks is None else (tasks["tasks_done"], tasks["tasks_count"])
    if total and done == total:
        return statuses.WORK_DONE
    return statuses.WORK_ACTIVE if done or steps.completed else statuses.WORK_TODO


def _tallies(ctx: Context, works: Sequence[Work]) -> dict[str, StepTally]:
    tasks = [work.id for work in works if work.is_task]
    plans = [work.id for work in works if not work.is_task]
    counted = _count(ctx, "step.task", "", tasks)
    join = " JOIN work ON work.workspace = step.workspace AND work.id = step.task"
    return {**counted, **_count(ctx, "work.parent", join, plans)}


def _count(ctx: Context, key: str, join: str, ids: list[str]) -> dict[str, StepTally]:
    if not ids:
        return {}
    sums = ", ".join(f"sum(step.{name}_confirmed) AS {name}" for name in CHECKPOINTS)
    sql = (
        f"SELECT {key} AS id, count(*) AS total, sum(step.completed) AS completed, {sums},"
        " sum(CASE WHEN step.success_criteria = '[]' THEN 0 ELSE 1 END) AS with_criteria,"
        " sum(CASE WHEN step.tests = '[]' THEN 0 ELSE 1 END) AS with_tests"
        f" FROM step{join} WHERE step.workspace = ? AND {key} IN ({placeholders(len(ids))}) GROUP BY {key}"
    )
    rows = ctx.tx.all(sql, ctx.workspace, *ids)
    return {row["id"]: _tally(row) for row in rows}


def _tally(row: Json) -> StepTally:
    confirmed = tuple(int(row[name]) for name in CHECKPOINTS)
    return StepTally(
        int(row["total"]), int(row["completed"]), confirmed, int(row["with_criteria"]), int(row["with_tests"])
    )


Status = Literal["TODO", "ACTIVE", "DONE", "PARKED", "CANCELED"]
Limit = Annotated[int, Field(ge=0, le=200)]

_OPTIONAL = (
    "qualified_id",
    *(f"{name}_confirmed" for name in CHECKPOINTS),
    *("criteria_auto_confirmed", "tests_auto_confirmed"),
    *("created_at_ms", "status_code", "tasks_count", "tasks_done"),
)
CONTEXT_BUDGET = Budget(
    (
        *drops(*_OPTIONAL, of="plans[]."),
        *drops(*_OPTIONAL, of="tasks[]."),
        Trim("plans", drop="last", floor=1, page="plans_pagination", key="position"),
        Trim("tasks", drop="last", floor=1, page="tasks_pagination", key="position"),
        Drop("by_status"),
        Trim("plans", drop="last", page="plans_pagination", key="position"),
        Trim("tasks", drop="last", page="tasks_pagination", key="position"),
    ),
    16_000,
    keep=("workspace", "counts"),
)


class ListWork(OfWork, Bounded):
    plans_limit: Annotated[Limit, Field(description="Most plans to list.")] = 50
    plans_cursor: Annotated[Whole, Field(description="Plans to skip.")] = 0
    plans_status: Annotated[Status | None, Field(description="Only plans of this status.")] = None
    tasks_limit: Annotated[Limit, Field(description="Most tasks to list.")] = 50
    tasks_cursor: Annotated[Whole, Field(description="Tasks to skip.")] = 0
    tasks_status: Annotated[Status | None, Field(description="Only tasks of this status.")] = None
    tasks_parent: Annotated[Name | None, Field(description="Only tasks of this plan.")] = None
    domain: Annotated[Name | None, Field(description="Only tasks of this domain.")] = None
    tags: Annotated[Names | None, Field(description="Only work that has all of these tags.")] = None
    include_all: Annotated[bool, Field(description="List what is canceled or parked as well.")] = False


@dataclass
class WorkFilter(Condition):
    """A condition on the work table, and the default filters."""

    hides: str = ""

    def tagged(self, tags: list[str] | None) -> WorkFilter:
        for tag in normal_tags(tags or []):
            # Tags are a JSON list of strings, so a quoted tag in it matches exactly that tag.
            quoted = re.sub("([!%_])", r"!\1", canonical(tag))
            self.add("tags LIKE ? ESCAPE '!'", f"%{quoted}%")
        return self

    def where(self, visible: bool) -> str:
        return f"{self.sql()} AND {self.hides}" if visible and self.hides else self.sql()


@operation("tasks_context", budget=CONTEXT_BUDGET)
def tasks_context(ctx: Context, args: ListWork) -> Json:
    """List plans and tasks, filtered and paged.

    Work that is canceled, or parked and not yet due, is counted in `hidden` and listed only when asked for.
    """
    named = work_by_id(ctx, found) if (found := explicit_target(args)) else None
    plans = _plan_filter(args, named)
    tasks = _task_filter(ctx, args, named)
    shown_plans, plans_page = _page(ctx, plans, args.plans_cursor, args.plans_limit)
    tasks_each = tasks_of_plans(ctx, [plan["id"] for plan in shown_plans])
    shown_tasks, tasks_page = _page(ctx, tasks, args.tasks_cursor, args.tasks_limit)
    return {
        "workspace": ctx.workspace,
        "counts": {"plans": plans_page["total"], "tasks": tasks_page["total"]},
        "by_status": _by_status(ctx, tasks),
        # Counted, so that a list which looks complete never hides work silently.
        "hidden": _count_works(ctx, plans) + _count_works(ctx, tasks) - plans_page["total"] - tasks_page["total"],
        "plans": [{**plan, **tasks_each[plan["id"]]} for plan in shown_plans],
        "plans_pagination": plans_page,
        "tasks": shown_tasks,
        "tasks_pagination": tasks_page,
    }


def _plan_filter(args: ListWork, named: Work | None) -> WorkFilter:
    found = WorkFilter().add("kind = ?", "plan")
    if named is not None:
        found.add("id = ?", named.parent if named.is_task else named.id)
    if args.plans_status:
        found.add("status = ?", args.plans_status)
    if not (args.include_all or args.plans_status or named):
        found.hides = "status <> 'CANCELED'"
    return found.tagged(args.tags)


def _task_filter(ctx: Context, args: ListWork, named: Work | None) -> WorkFilter:
    found = WorkFilter().add("kind = ?", "task")
    if named is not None:
        found.add("id = ?" if named.is_task else "parent = ?", named.id)
    if args.tasks_parent is not None:
        found.add("parent = ?", work_by_id(ctx, target_id(args.tasks_parent, "tasks_parent") or "").id)
    for column, value in (("status", args.tasks_status), ("domain", args.domain)):
        if value is not None:
            found.add(f"{column} = ?", value)
    # An explicit status or task overrides the default filters.
    if not (args.include_all or args.tasks_status or (named is not None and named.is_task)):
        # A parked task whose time has come is backlog again.
        asleep = f"status = 'PARKED' AND (parked_until_ts_ms IS NULL OR parked_until_ts_ms > {ctx.ws.now_ms})"
        found.hides = f"status <> 'CANCELED' AND NOT ({asleep})"
    return found.tagged(args.tags)


def _page(ctx: Context, wanted: WorkFilter, cursor: int, limit: int) -> tuple[list[Json], Json]:
    total = _count_works(ctx, wanted, visible=True)
    where = f"{wanted.where(True)} ORDER BY number LIMIT ? OFFSET ?"
    shown = rows_json(ctx, select(ctx.tx, ctx.workspace, Work, where, *wanted.params, limit, cursor))
    end = cursor + len(shown)
    page = {**page_json(cursor, limit, len(shown), end if end < total else None), "total": total}
    return [{**row, "position": cursor + number} for number, row in enumerate(shown, 1)], page


def _count_works(ctx: Context, wanted: WorkFilter, visible: bool = False) -> int:
    sql = f"SELECT count(*) FROM work WHERE workspace = ? AND {wanted.where(visible)}"
    return int(ctx.tx.value(sql, ctx.workspace, *wanted.params))


def _by_status(ctx: Context, wanted: WorkFilter) -> dict[str, int]:
    sql = f"SELECT status, count(*) AS number FROM work WHERE workspace = ? AND {wanted.where(False)} GROUP BY status"
    rows = ctx.tx.all(sql, ctx.workspace, *wanted.params)
    counted = {row["status"]: int(row["number"]) for row in rows}
    return {status: counted.get(status, 0) for status in STATUSES}


@operation("tasks_storage")
def tasks_storage(ctx: Context, args: Input) -> Json:
    """Show where the store is, and the branch and documents that are used by default."""
    return {
        "workspace": ctx.workspace,
        "storage_dir": storage(ctx),
        "defaults": {"branch": checkout_name(ctx), "docs": {"notes": NOTES, "graph": GRAPH, "trace": TRACE}},
    }


class Diagnostics(Bounded):
    target: Target = None
    task: Annotated[Name | None, Field(description="Same as target, for a task.")] = None
    plan: Annotated[Name | None, Field(description="Same as target, for a plan.")] = None


DIAGNOSTICS_BUDGET = Budget((Drop("golden_path"), Trim("issues", drop="last")), 16_000, keep=("workspace", "summary"))


@operation("diagnostics", budget=DIAGNOSTICS_BUDGET)
def diagnostics(ctx: Context, args: Diagnostics) -> Json:
    """Check the workspace and one target, and say how to mend what is wrong."""
    scope = resolve_scope(ctx, args.target or args.task or args.plan)
    health = context_health(ctx, scope)
    context = [{**issue, "kind": "context"} for issue in health["issues"]]
    issues = [*_store_issues(ctx), *_work_issues(ctx, scope), *context]
    if context:
        ctx.suggest(suggest("notes_commit", "Writes a first note into this scope.", "low", content="First note."))
    return {
        "workspace": ctx.workspace,
        "checkout": checkout_name(ctx),
        "focus": ctx.ws.focus,
        "target": {"id": scope.target, "kind": scope.kind} if scope.target else None,
        "context_health": health,
        "issues": issues,
        "summary": summary(issues),
        "golden_path": [item for item in GOLDEN_PATH if catalogue().find(item["tool"])],
    }


def _work_issues(ctx: Context, scope: Scope) -> list[Json]:
    """The lint findings for the plan or task in scope."""
    work = find_work(ctx, scope.target) if scope.target else None
    if work is None:
        return []
    found = findings(ctx, work)
    if found.patches:
        ctx.suggest(suggest("tasks_lint", "Shows edits that mend the plan or task.", "medium", **{work.kind: work.id}))
    return [issue.to_json() for issue in sorted(found.issues, key=lambda issue: issue.rank())]


def _store_issues(ctx: Context) -> list[Json]:
    lag = index_gaps(ctx.tx, ctx.workspace)
    if not lag:
        return []
    message = f"{lag} items are missing from the search index"
    return [{"code": "INDEX_LAG", "severity": "error", "kind": "index", "message": message, "recovery": "Run reindex."}]
