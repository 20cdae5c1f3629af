"""tasks_macro_delegate: a task for someone else, with its cockpit card, its area and the job to take it up by."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.ids import check_anchor
from clew.reasoning.anchor_registry import Anchor, canonical, find_anchor
from clew.reasoning.anchors import Kind, upsert
from clew.reasoning.card_input import Card
from clew.reasoning.cards import write_card
from clew.reasoning.note_templates import note_from_template
from clew.reasoning.scope import Target, scope_of
from clew.reasoning.visibility import CANON, PINNED
from clew.registry.context import Context
from clew.registry.operation import Name, operation
from clew.tasks.anchoring import anchor_for
from clew.tasks.bootstrap import Bootstrapped, NewTask, bootstrap, implicit_home, step_specs, task_home
from clew.tasks.editing import ReasoningMode
from clew.tasks.jobs.creation import create_job
from clew.tasks.jobs.job import DEFAULT_KIND, Job
from clew.tasks.macros.resuming import Resumes, resumed
from clew.tasks.macros.start import PRINCIPAL, inbox, started_json
from clew.tasks.plans import Work, work_by_id
from clew.tasks.views.lines import macro_lines
from clew.tasks.wording import Heading, Prose

JOB_META = {"skill_profile": "strict", "skill_max_chars": 1200}


class MacroDelegate(Resumes):
    task_title: Annotated[Heading, Field(description="What the task is about; 'Area: what' names the area.")]
    description: Prose | None = None
    plan: Annotated[Name | None, Field(description="Plan id, or the title of a new plan.")] = None
    parent: Annotated[Name | None, Field(description="Same as plan.")] = None
    target: Target = None
    plan_title: Annotated[Heading | None, Field(description="Title of a plan to create.")] = None
    plan_template: Annotated[Name | None, Field(description="Checklist for the new plan.")] = None
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
    tier="daily",
    writes=True,
    portal=True,
    lines=macro_lines,
    example={"task_title": "Storage: measure the writers"},
)
def tasks_macro_delegate(ctx: Context, args: MacroDelegate) -> dict[str, Any]:
    """Hand work over: a strict task with its cockpit card and anchor, and a job for a runner."""
    done = _start(ctx, args)
    anchor = _anchor(ctx, args)
    card = _cockpit(ctx, done.task, args, anchor)
    job = _job(ctx, done, args, anchor, card) if args.job else None
    return {
        **started_json(ctx, done),
        "cockpit": {"anchor_id": anchor, "card_id": card},
        "job": _job_json(job),
        "resume": resumed(ctx, work_by_id(ctx, done.task.id), args),
    }


def _start(ctx: Context, args: MacroDelegate) -> Bootstrapped:
    names = ("task_title", "description", "plan", "parent", "target", "plan_title", "plan_template", "agent_id")
    given: dict[str, Any] = {name: getattr(args, name) for name in names}
    new = NewTask(**given, template=PRINCIPAL, reasoning_mode=args.reasoning_mode or "strict")
    home = task_home(ctx, new) or implicit_home(ctx) or inbox(ctx)
    return bootstrap(ctx, new, home, step_specs(new))


def _anchor(ctx: Context, args: MacroDelegate) -> str:
    """The area: as given, in words or as an id, else the one that the title suggests; registered when it is new."""
    given = (args.anchor or "").strip()
    named = given.lower() if given.lower().startswith("a:") else anchor_for(given or args.task_title)
    anchor = canonical(ctx, check_anchor(named))
    if find_anchor(ctx, anchor) is None:
        area = " ".join(args.task_title.partition(":")[0].split())
        upsert(ctx, Anchor(anchor, area[:120], args.anchor_kind))
    return anchor


def _cockpit(ctx: Context, task: Work, args: MacroDelegate, anchor: str) -> str:
    """The pinned frame that whoever takes over reads first."""
    goal = f"{task.title}\n\n{task.description}" if task.description else task.title
    text = args.cockpit if args.cockpit and args.cockpit.strip() else note_from_template("initiative", goal)
    card = Card(None, "frame", task.title, text.strip(), tags=(anchor, PINNED, CANON), meta={"anchor": anchor})
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
    job, _ = create_job(
        ctx,
        task.title,
        prompt,
        kind=args.job_kind,
        priority=args.job_priority,
        task=task.id,
        anchor=anchor,
        meta=JOB_META,
    )
    return job


def _job_json(job: Job | None) -> dict[str, Any] | None:
    if job is None:
        return None
    return {
        "job_id": job.id,
        "status": job.status,
        "created_at_ms": job.created_at_ms,
        "updated_at_ms": job.updated_at_ms,
    }
