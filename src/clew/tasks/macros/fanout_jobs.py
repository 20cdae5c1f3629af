"""tasks_macro_fanout_jobs: the same order for several areas, one job each."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import invalid
from clew.ids import check_anchor
from clew.reasoning.anchor_registry import canonical
from clew.registry.context import Context
from clew.registry.operation import Name, Text, operation
from clew.tasks.jobs.creation import create_job
from clew.tasks.jobs.job import DEFAULT_KIND
from clew.tasks.plans import Work
from clew.tasks.targets import OfTask, target_task

MOST = 10


class MacroFanoutJobs(OfTask):
    anchors: Annotated[list[Name], Field(min_length=1, max_length=100, description="Areas; 1 to 10 different ones.")]
    prompt: Annotated[Text, Field(min_length=1, description="The order for every one of them.")]
    title_prefix: Annotated[Name | None, Field(description="Title of each job before its area.")] = None
    job_kind: Annotated[Name, Field(description="Which executor is to take them.")] = DEFAULT_KIND
    job_priority: Annotated[Name, Field(description="LOW, MEDIUM or HIGH.")] = "MEDIUM"
    agent_id: Name | None = None


@operation(
    "tasks_macro_fanout_jobs",
    writes=True,
    example={"task": "TASK-001", "anchors": ["a:storage", "a:search"], "prompt": "List what is slow, with numbers."},
)
def tasks_macro_fanout_jobs(ctx: Context, args: MacroFanoutJobs) -> dict[str, Any]:
    """Queue one job for each area of a task, in one transaction."""
    task = target_task(ctx, args)
    jobs = []
    for anchor in _anchors(ctx, args.anchors):
        title = f"{args.title_prefix.strip()} — {anchor}" if args.title_prefix else f"{anchor} — {task.title}"
        job, event = create_job(
            ctx,
            title,
            _prompt(task, anchor, args.prompt),
            kind=args.job_kind,
            priority=args.job_priority,
            task=task.id,
            anchor=anchor,
        )
        jobs.append({"job_id": job.id, "anchor": anchor, "created_ref": event["ref"]})
    return {"workspace": ctx.workspace, "task_id": task.id, "count": len(jobs), "jobs": jobs}


def _anchors(ctx: Context, given: list[str]) -> list[str]:
    anchors = sorted({canonical(ctx, check_anchor(anchor, "anchors")) for anchor in given})
    if len(anchors) > MOST:
        raise invalid("anchors", f"names more than {MOST} areas", "Split them over several calls.", kind="length")
    return anchors


def _prompt(task: Work, anchor: str, order: str) -> str:
    return "\n".join(
        [
            order.strip(),
            "",
            "CONTEXT",
            f"- task {task.id}: {task.title}",
            f"- your area is {anchor}; others work on the other areas of the same task",
            "",
            "PROTOCOL",
            f"- keep what you find as cards tagged {anchor}, in the task's scope",
            "- report checkpoints, ask questions as soon as they come up, stay in your area",
            "- end with refs that prove what you claim: CARD-..., CMD: ..., LINK: ...",
        ]
    )
