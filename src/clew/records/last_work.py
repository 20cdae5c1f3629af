"""The last work in the project, in a line of `resume`: files, commit, proof; and the other open tasks."""

from __future__ import annotations

from typing import Any

from clew.errors import shorten
from clew.project_files import last_commit
from clew.records.brief import BriefLine, Section
from clew.records.topic import changed_since_step_began, edits_since
from clew.registry.context import Context
from clew.registry.envelope import one_line
from clew.tasks.leases import lease_holders
from clew.tasks.overview import rows_json
from clew.tasks.plans import Work, open_tasks
from clew.tasks.proof_receipts import ProofReceipt, last_run
from clew.tasks.steps import Step
from clew.tasks.views.status_view import StatusView

MOST_FILES = 6
MOST_TASKS = 30
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


def last_work(ctx: Context, view: StatusView | None) -> Section:
    """The files, the commit and the proof of the last work in this project."""
    parts = [_files(ctx, view), _commit(ctx), _proof(ctx)]
    lines = tuple(BriefLine("last work", "", part, rank=1.0) for part in parts if part)
    return Section("last", lines, heading="last session:", inline=True)


def _files(ctx: Context, view: StatusView | None) -> str:
    """The files edited in the last session, as its client reported them; else what differs from the last proof."""
    edits = edits_since(ctx, 0)
    if edits:
        last = edits[0]
        paths = [edit.path for edit in edits if edit.session == last.session]
        by = f" ({last.client}, {ago(ctx, last.ts_ms)})" if last.client else f" ({ago(ctx, last.ts_ms)})"
        return f"edited {_named(paths)}{by}"
    changed = changed_since_step_began(ctx, view) if view is not None else []
    return f"changed since the last proof: {_named(changed)}" if changed else ""


def _named(paths: list[str]) -> str:
    more = f" and {len(paths) - MOST_FILES} more" if len(paths) > MOST_FILES else ""
    return ", ".join(paths[:MOST_FILES]) + more


def _commit(ctx: Context) -> str:
    found = last_commit(ctx.project) if ctx.project is not None else None
    if found is None:
        return ""
    return f'commit {found.commit[:10]} "{shorten(found.subject, 72)}" ({ago(ctx, found.ts_ms)})'


def _proof(ctx: Context) -> str:
    run = last_run(ctx)
    return f"last proof {_place(run)}: {_outcome(run)} ({ago(ctx, run.ts_ms)})" if run is not None else ""


def _place(run: ProofReceipt) -> str:
    return f"{run.owner} {run.path}" if run.path else run.owner


def _outcome(run: ProofReceipt) -> str:
    ended = "" if run.exit_code is None else f" -> exit {run.exit_code}"
    return f"{shorten(one_line(run.command or run.text), 80)}{ended}, {run.grade}"


def ago(ctx: Context, ts_ms: int) -> str:
    """A relative time in the coarsest unit that is precise enough."""
    passed = max(0, ctx.now_ms - ts_ms)
    for unit, length in (("day", DAY_MS), ("hour", HOUR_MS), ("minute", MINUTE_MS)):
        count = passed // length
        if count:
            return f"{count} {unit}{'s' * (count != 1)} ago"
    return "just now"


def other_tasks(ctx: Context, task: Work) -> Section:
    """All other open tasks, in one line."""
    found = [other for other in open_tasks(ctx, MOST_TASKS + 1) if other.id != task.id][:MOST_TASKS]
    rows = {row["id"]: row for row in rows_json(ctx, found)} if found else {}
    lines = tuple(
        BriefLine("task", other.id, f"{one_line(other.title)} ({steps_done(rows[other.id])})", rank=1.0)
        for other in found
    )
    return Section("tasks", lines, heading="other open tasks:", inline=True)


def steps_done(row: dict[str, Any]) -> str:
    return f"{row['steps_completed']}/{row['steps_count']}"


def later_steps(ctx: Context, steps: list[Step]) -> Section:
    """The open steps after the current one, with who has claimed them."""
    holders = lease_holders(ctx, [step.id for step in steps]) if steps else {}
    lines = tuple(
        BriefLine("open step", step.path, step.title + _claimed(holders.get(step.id)), rank=1.0) for step in steps
    )
    return Section("then", lines, inline=True)


def _claimed(holder: str | None) -> str:
    return f" (claimed by {holder})" if holder else ""
