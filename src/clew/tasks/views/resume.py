"""The plain resume: a plan or task with its steps and its last events."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.reasoning.scope import scope_json
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.budget import Step as GivenUp
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.tasks.plans import Work
from clew.tasks.steps import CHECKPOINTS, Step, step_ref
from clew.tasks.targets import OfWork
from clew.tasks.views.focusing import focused_view
from clew.tasks.views.radar import RADAR_STEPS, radar_of, requested
from clew.tasks.views.subject import subject_of, target_json
from clew.tasks.views.timeline import timeline

EventsLimit = Annotated[int, Field(ge=0, le=200, description="Most events; 0 for none.")]


RESUME_STEPS: tuple[GivenUp, ...] = (
    Drop("timeline.events[].payload"),
    Trim("timeline.events", drop="first", floor=3),
    *(Drop(f"steps[].{name}") for name in ("success_criteria", "tests", "blockers")),
    Trim("timeline.events", drop="first"),
    Trim("steps", drop="last", floor=1),
    *RADAR_STEPS,
)


class Resume(OfWork, Bounded):
    events_limit: EventsLimit = 20
    read_only: Annotated[bool, Field(description="Leave the focus where it is.")] = False


@operation(
    "tasks_resume",
    writes=True,
    mode="own",
    idempotent=True,
    intent="resume",
    budget=Budget(RESUME_STEPS, None, keep=("workspace", "focus")),
)
def tasks_resume(ctx: Context, args: Resume) -> dict[str, Any]:
    """Load a plan or task with all its steps and its last events."""
    return focused_view(ctx, args, lambda bound, work: _resume(bound, work, args))


def _resume(ctx: Context, work: Work, args: Resume) -> dict[str, Any]:
    subject = subject_of(ctx, work)
    return {
        "workspace": ctx.workspace,
        "requested": requested(args),
        "focus": ctx.ws.focus,
        "target": target_json(ctx, work),
        "reasoning_ref": scope_json(subject.scope),
        "radar": radar_of(ctx, subject),
        "steps": [_step(step) for step in subject.steps],
        "timeline": timeline(ctx, work.id, args.events_limit),
        "truncated": False,
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        **step_ref(step),
        "title": step.title,
        "completed": step.completed,
        "success_criteria": list(step.success_criteria),
        "tests": list(step.tests),
        "blockers": list(step.blockers),
        **{f"{name}_confirmed": step.confirmed(name) for name in CHECKPOINTS},
        "blocked": step.blocked,
        "block_reason": step.block_reason,
        "created_at_ms": step.created_at_ms,
        "updated_at_ms": step.updated_at_ms,
        "completed_at_ms": step.completed_at_ms,
    }
