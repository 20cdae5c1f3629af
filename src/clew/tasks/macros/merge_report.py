"""tasks_macro_merge_report: what came of several jobs, as one card that everyone sees."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.errors import invalid
from clew.reasoning.card_input import Card
from clew.reasoning.cards import card_in, write_card
from clew.reasoning.publish import publish
from clew.reasoning.scope import scope_of
from clew.registry.context import Context
from clew.registry.operation import Name, operation
from clew.tasks.jobs.job import TERMINAL, Job, job_by_id
from clew.tasks.jobs.salvage import proofs
from clew.tasks.targets import OfTask, target_task
from clew.tasks.wording import Heading, heading

MOST = 50


class MacroMergeReport(OfTask):
    jobs: Annotated[list[Name], Field(min_length=1, max_length=MOST, description="Job ids; 1 to 50.")]
    title: Annotated[Heading | None, Field(description="Title of the report.")] = None
    pin: Annotated[bool, Field(description="Pin the published card.")] = True
    agent_id: Name | None = None


@operation("tasks_macro_merge_report", writes=True, example={"task": "TASK-001", "jobs": ["JOB-001", "JOB-002"]})
def tasks_macro_merge_report(ctx: Context, args: MacroMergeReport) -> dict[str, Any]:
    """Gather how jobs ended into one update card of the task, and publish it; jobs without proof are marked."""
    task = target_task(ctx, args)
    found = [_outcome(ctx, job) for job in _jobs(ctx, args.jobs)]
    title = heading(args.title) if args.title else f"Report on {len(found)} jobs of {task.id}"
    scope = scope_of(ctx, task.id)
    anchors = tuple(sorted({row["anchor"] for row in found if row["anchor"]}))
    meta = {"jobs": [row["job_id"] for row in found]}
    card = Card(None, "update", title, "\n".join(_line(row) for row in found), tags=anchors, meta=meta)
    written = write_card(ctx, scope, card)
    published, _ = publish(ctx, scope, card_in(ctx, scope, written.card_id), args.pin)
    shown = [{name: value for name, value in row.items() if name != "summary"} for row in found]
    return {
        "workspace": ctx.workspace,
        "task_id": task.id,
        "card_id": written.card_id,
        "published_card_id": published,
        "count": len(shown),
        "jobs": shown,
    }


def _jobs(ctx: Context, ids: list[str]) -> list[Job]:
    jobs = {job.id: job for job in (job_by_id(ctx, id, "jobs") for id in ids)}
    if not jobs:
        raise invalid("jobs", "names no job", "Give the ids of the jobs.", kind="non_empty")
    return sorted(jobs.values(), key=lambda job: job.number)


def _outcome(ctx: Context, job: Job) -> dict[str, Any]:
    refs = _completion_refs(ctx, job)
    return {
        "job_id": job.id,
        "status": job.status,
        "anchor": job.anchor,
        "last_ref": f"{job.id}@{job.noted_seq}",
        "completion_refs": refs,
        "missing_proof": job.status == "DONE" and not proofs(refs),
        "summary": job.summary,
    }


def _completion_refs(ctx: Context, job: Job) -> list[str]:
    """What the event that ended the job points to, the job itself apart."""
    if job.status not in TERMINAL:
        return []
    row = ctx.tx.one(
        "SELECT refs FROM job_event WHERE workspace = ? AND job = ? AND kind IN ('completed', 'failed', 'canceled')"
        " ORDER BY seq DESC LIMIT 1",
        ctx.workspace,
        job.id,
    )
    return [ref for ref in orjson.loads(row["refs"]) if ref != job.id] if row else []


def _line(row: dict[str, Any]) -> str:
    parts = [f"- {row['job_id']} {row['status']}", *([row["anchor"]] if row["anchor"] else []), row["last_ref"]]
    if row["completion_refs"]:
        parts.append(f"refs: {', '.join(row['completion_refs'])}")
    if row["missing_proof"]:
        parts.append("MISSING_PROOF")
    summary = " ".join((row["summary"] or "").split())
    return " | ".join(parts) + (f"\n  {summary}" if summary else "")
