"""Messages of a manager to a job: answers, corrections, refs. The runner reads them before its next slice."""

from __future__ import annotations

from typing import Any

from clew.errors import ClewError, shorten, suggest
from clew.registry.context import Context
from clew.registry.lines import one_line
from clew.registry.operation import operation
from clew.tasks.jobs.job import MAX_MESSAGE, Format, Job, OfJob, Refs, Spoken, clean_refs, cut, job_by_id, job_json
from clew.tasks.jobs.salvage import with_salvage
from clew.tasks.jobs.thread import MANAGER, Said, say


class JobsMessage(OfJob):
    message: Spoken
    refs: Refs = []
    fmt: Format = None


def message_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    event = result["event"]
    head = f"job {event['job_id']} message posted | ref={event['ref']} kind={event['kind']}"
    return [place(result, default_workspace) + head, shorten(one_line(event["message"]), 200)]


@operation(
    "tasks_jobs_message",
    writes=True,
    lines=message_lines,
    example={"job": "JOB-001", "message": "Use the smaller data set."},
)
def tasks_jobs_message(ctx: Context, args: JobsMessage) -> dict[str, Any]:
    """Write to a job that waits or runs: an answer, a correction, a ref it should see."""
    job, event = post_message(ctx, job_by_id(ctx, args.job), args.message, args.refs)
    return {"workspace": ctx.workspace, "job": job_json(job), "event": event}


def post_message(ctx: Context, job: Job, message: str, refs: list[str]) -> tuple[Job, dict[str, Any]]:
    if not job.active:
        raise ClewError(
            "CONFLICT",
            f"{job.id} is {job.status}; nobody reads messages to it",
            "Requeue it with the message as the reason.",
            suggestions=[
                suggest("tasks_jobs_open", "Shows how it ended.", "high", job=job.id),
                suggest("tasks_jobs_requeue", "Starts another attempt.", "medium", job=job.id),
            ],
        )
    found = with_salvage(message, clean_refs(refs), job.id)
    said = Said(MANAGER, cut(ctx, message, MAX_MESSAGE, "message"), tuple(found))
    job, event, _ = say(ctx, job, said)
    ctx.emit("jobs", "job_messaged", job.id, {"ref": event["ref"], "refs": found})
    return job, event


def place(result: dict[str, Any], default_workspace: str) -> str:
    """The workspace in front of a line, where it is not the reader's own."""
    workspace = result.get("workspace", default_workspace)
    return "" if workspace == default_workspace else f"{workspace} "
