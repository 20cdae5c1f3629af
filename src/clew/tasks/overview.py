"""Plans and tasks in lists: the rows of tasks_context and of answers that show one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clew.registry.context import Context
from clew.store.database import placeholders
from clew.tasks.plans import Work, qualified_id
from clew.tasks.steps import CHECKPOINTS


@dataclass(frozen=True, slots=True)
class Tally:
    """The steps of a task, counted."""

    total: int = 0
    completed: int = 0
    confirmed: tuple[int, ...] = (0, 0, 0, 0, 0)
    with_criteria: int = 0
    with_tests: int = 0

    def flags(self) -> dict[str, bool]:
        """A checkpoint holds for the whole when it holds for every step; with nothing to check it holds by itself."""
        held = {
            f"{name}_confirmed": self.total > 0 and count == self.total
            for name, count in zip(CHECKPOINTS, self.confirmed, strict=True)
        }
        return {
            **held,
            "criteria_auto_confirmed": self.with_criteria == 0,
            "tests_auto_confirmed": self.with_tests == 0,
        }


def rows_json(ctx: Context, works: Sequence[Work]) -> list[dict[str, Any]]:
    """Plans and tasks as rows, their steps counted in one query for each kind."""
    tallies = _tallies(ctx, works)
    return [_row(ctx, work, tallies.get(work.id, Tally())) for work in works]


def _row(ctx: Context, work: Work, tally: Tally) -> dict[str, Any]:
    shared = {
        "id": work.id,
        "qualified_id": qualified_id(ctx, work.id),
        "kind": work.kind,
        "title": work.title,
        "status": work.status,
        "revision": work.revision,
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
        "progress": f"{tally.completed}/{tally.total}",
        "steps_count": tally.total,
    }


def _tallies(ctx: Context, works: Sequence[Work]) -> dict[str, Tally]:
    tasks = [work.id for work in works if work.is_task]
    plans = [work.id for work in works if not work.is_task]
    counted = _count(ctx, "step.task", "", tasks)
    join = " JOIN work ON work.workspace = step.workspace AND work.id = step.task"
    return {**counted, **_count(ctx, "work.parent", join, plans)}


def _count(ctx: Context, key: str, join: str, ids: list[str]) -> dict[str, Tally]:
    if not ids:
        return {}
    sums = ", ".join(f"sum(step.{name}_confirmed) AS {name}" for name in CHECKPOINTS)
    rows = ctx.tx.all(
        f"SELECT {key} AS id, count(*) AS total, sum(step.completed) AS completed, {sums},"
        " sum(CASE WHEN step.success_criteria = '[]' THEN 0 ELSE 1 END) AS with_criteria,"
        " sum(CASE WHEN step.tests = '[]' THEN 0 ELSE 1 END) AS with_tests"
        f" FROM step{join} WHERE step.workspace = ? AND {key} IN ({placeholders(len(ids))}) GROUP BY {key}",
        ctx.workspace,
        *ids,
    )
    return {row["id"]: _tally(row) for row in rows}


def _tally(row: dict[str, Any]) -> Tally:
    confirmed = tuple(int(row[name]) for name in CHECKPOINTS)
    return Tally(int(row["total"]), int(row["completed"]), confirmed, int(row["with_criteria"]), int(row["with_tests"]))
