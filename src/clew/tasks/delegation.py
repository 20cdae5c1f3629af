"""Macros for delegated work: a task for another agent, one order for several areas, one report on several jobs."""

from __future__ import annotations

from typing import Annotated

import orjson
from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import invalid
from clew.ids import check_anchor
from clew.kinds import statuses
from clew.reasoning.anchors.map import Kind, upsert
from clew.reasoning.anchors.registry import Anchor, canonical, find_anchor
from clew.reasoning.cards.card import card_in, write_card
from clew.reasoning.cards.card_changes import publish
from clew.reasoning.cards.forms import Card
from clew.reasoning.notes import note_from_template
from clew.reasoning.scope import scope_of
from clew.reasoning.visibility import CANON, PINNED
from clew.registry.context import Context
from clew.registry.operation import Name, Text, View, operation
from clew.tasks.creation import Bootstrapped, NewTask, TitledTask, bootstrap, implicit_home, step_specs, task_home
from clew.tasks.edits import ReasoningMode
from clew.tasks.jobs.job import DEFAULT_KIND, TERMINAL, TIMES, Job, job_by_id
from clew.tasks.jobs.queue import create_job
from clew.tasks.jobs.thread import proofs
from clew.tasks.macros import PRINCIPAL, inbox, started_json
from clew.tasks.plans import Work, work_by_id
from clew.tasks.targets import OfTask, target_task
from clew.tasks.texts import Heading, Prose, anchor_for, heading
from clew.tasks.views.portals import Resumes, closing_resume
from clew.tasks.views.state_line import macro_lines

# What BranchMind's delegate macro puts on its jobs.
JOB_META = {"skill_profile": "strict", "skill_max_chars": 1200}


class MacroDelegate(TitledTask, Resumes):
    task_title: Annotated[Heading, Field(description="What the task is about; 'Area: what' names the area.")]
    anchor: Annotated[Name | None, Field(description="Area such as a:storage; default: from the title.")] = None
    anchor_kind: Annotated[Kind, Field(description="Kind of the area when it is new.")] = "component"
    cockpit: Annotated[Prose | None, Field(description="Text of the pinned card; default: a form to fill in.")] = None
    job: Annotated[bool, Field(description="Queue a job for a runner.")] = True
    job_kind: Annotated[Name, Field(description="Which executor is to take it.")] = DEFAULT_KIND
    job_priority: Annotated[Name, Field(description="LOW, MEDIUM or HIGH.")] = "MEDIUM"
    reasoning_mode: ReasoningMode | None = None
    agent_id: Name | None = None


@operation(
    "tasks_macro_delegate",
    writes=True,
    example={"task_title": "Storage: measure the writers"},
    view=View(in_lines=True, lines=macro_lines),
)
def tasks_macro_delegate(ctx: Context, args: MacroDelegate) -> Json:
    """Hand work over: a strict task with its cockpit card and anchor, and a job for a runner."""
    done = _start(ctx, args)
    anchor = _anchor(ctx, args)
    card = _cockpit(ctx, done.task, args, anchor)
    job = _job(ctx, done, args, anchor, card) if args.job else None
    return {
        **started_json(ctx, done),
        "cockpit": {"anchor_id": anchor, "card_id": card},
        "job": _job_json(job),
        "resume": closing_resume(ctx, work_by_id(ctx, done.task.id), args),
    }


def _start(ctx: Context, args: MacroDelegate) -> Bootstrapped:
    given = picked(args, *TitledTask.model_fields, "agent_id")
    new = NewTask(**given, template=PRINCIPAL, reasoning_mode=args.reasoning_mode or "strict")
    home = task_home(ctx, new) or implicit_home(ctx) or inbox(ctx)
    return bootstrap(ctx, new, home, step_specs(new))


def _anchor(ctx: Context, args: MacroDelegate) -> str:
    """The area: as given, in words or as an id, else the one that the title suggests; registered if it is new."""
    given = (args.anchor or "").strip()
    named = given.lower() if given.lower().startswith("a:") else anchor_for(given or args.task_title)
    anchor = canonical(ctx, check_anchor(named))
    if find_anchor(ctx, anchor) is None:
        area = " ".join(args.task_title.partition(":")[0].split())
        upsert(ctx, Anchor(anchor, area[:120], args.anchor_kind))
    return anchor


def _cockpit(ctx: Context, task: Work, args: MacroDelegate, anchor: str) -> str:
    """The pinned note that the assignee reads first."""
    goal = f"{task.title}\n\n{task.description}" if task.description else task.title
    text = args.cockpit if args.cockpit and args.cockpit.strip() else note_from_template("initiative", goal)
    card = Card(None, "note", task.title, text.strip(), tags=(anchor, PINNED, CANON), meta={"anchor": anchor})
    return write_card(ctx, scope_of(ctx, task.id), card).card_id


def _job(ctx: Context, done: Bootstrapped, args: MacroDelegate, anchor: str, card: str) -> Job:
    task = done.task
    prompt = "\n".join(
        [
            f"Work on {task.id}: {task.title}",
            *([task.description] if task.description else []),
            "",
            f"Begin with {card}, the cockpit of the task, and keep it true.",
            f"Tie what stays true to {anchor} with think_card; close steps with tasks_macro_close_step and proof.",
            "Stop and ask when the goal or a limit is unclear. Say what you did not do.",
        ]
    )
    order: Json = {"kind": args.job_kind, "priority": args.job_priority, "task": task.id, "anchor": anchor}
    job, _ = create_job(ctx, task.title, prompt, meta=JOB_META, **order)
    return job


def _job_json(job: Job | None) -> Json | None:
    return {"job_id": job.id, **picked(job, "status", *TIMES)} if job is not None else None


# BranchMind's bounds: 10 areas for one fan-out, 50 jobs for one report.
MOST_AREAS = 10


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
def tasks_macro_fanout_jobs(ctx: Context, args: MacroFanoutJobs) -> Json:
    """Queue one job for each area of a task, in one transaction."""
    task = target_task(ctx, args)
    jobs = []
    for anchor in _anchors(ctx, args.anchors):
        title = f"{args.title_prefix.strip()} — {anchor}" if args.title_prefix else f"{anchor} — {task.title}"
        prompt = _prompt(task, anchor, args.prompt)
        order: Json = {"kind": args.job_kind, "priority": args.job_priority, "task": task.id, "anchor": anchor}
        job, event = create_job(ctx, title, prompt, meta=JOB_META, **order)
        jobs.append({"job_id": job.id, "anchor": anchor, "created_ref": event["ref"]})
    return {"workspace": ctx.workspace, "task_id": task.id, "count": len(jobs), "jobs": jobs}


def _anchors(ctx: Context, given: list[str]) -> list[str]:
    # By their current ids: an area that is named under two names gets one job.
    anchors = sorted({canonical(ctx, check_anchor(anchor, "anchors")) for anchor in given})
    if len(anchors) > MOST_AREAS:
        raise invalid("anchors", f"names more than {MOST_AREAS} areas", "Split them over several calls.", kind="length")
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


MOST_JOBS = 50


class MacroMergeReport(OfTask):
    jobs: Annotated[list[Name], Field(min_length=1, max_length=MOST_JOBS, description="Job ids; 1 to 50.")]
    title: Annotated[Heading | None, Field(description="Title of the report.")] = None
    pin: Annotated[bool, Field(description="Pin the published card.")] = True
    agent_id: Name | None = None


@operation("tasks_macro_merge_report", writes=True, example={"task": "TASK-001", "jobs": ["JOB-001", "JOB-002"]})
def tasks_macro_merge_report(ctx: Context, args: MacroMergeReport) -> Json:
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
    cards = {"card_id": written.card_id, "published_card_id": published}
    return {"workspace": ctx.workspace, "task_id": task.id, **cards, "count": len(shown), "jobs": shown}


def _jobs(ctx: Context, ids: list[str]) -> list[Job]:
    jobs = {job.id: job for job in (job_by_id(ctx, id, "jobs") for id in ids)}
    if not jobs:
        raise invalid("jobs", "names no job", "Give the ids of the jobs.", kind="non_empty")
    return sorted(jobs.values(), key=lambda job: job.number)


def _outcome(ctx: Context, job: Job) -> Json:
    refs = _completion_refs(ctx, job)
    return {
        "job_id": job.id,
        "status": job.status,
        "anchor": job.anchor,
        "last_ref": f"{job.id}@{job.noted_seq}",
        "completion_refs": refs,
        "missing_proof": job.status == statuses.WORK_DONE and not proofs(refs),
        "summary": job.summary,
    }


def _completion_refs(ctx: Context, job: Job) -> list[str]:
    """The refs of the event that ended the job, except the job itself."""
    if job.status not in TERMINAL:
        return []
    sql = (
        "SELECT refs FROM job_event WHERE workspace = ? AND job = ? AND kind IN ('completed', 'failed', 'canceled')"
        " ORDER BY seq DESC LIMIT 1"
    )
    row = ctx.tx.one(sql, ctx.workspace, job.id)
    # The job's own id is always among them and proves nothing.
    return [ref for ref in orjson.loads(row["refs"]) if ref != job.id] if row else []


def _line(row: Json) -> str:
    parts = [f"- {row['job_id']} {row['status']}", *([row["anchor"]] if row["anchor"] else []), row["last_ref"]]
    if row["completion_refs"]:
        parts.append(f"refs: {', '.join(row['completion_refs'])}")
    if row["missing_proof"]:
        parts.append("MISSING_PROOF")
    summary = " ".join((row["summary"] or "").split())
    return " | ".join(parts) + (f"\n  {summary}" if summary else "")
