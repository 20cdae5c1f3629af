"""The middle resume: radar, last events, decisions, evidence and blockers in a bounded answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from clew.reasoning.scope import scope_json
from clew.registry.budget import Budget, Drop, Step, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.tasks.plans import Work
from clew.tasks.targets import OfWork
from clew.tasks.views.focusing import focused_view
from clew.tasks.views.radar import RADAR_STEPS, radar_of, requested
from clew.tasks.views.resume import EventsLimit
from clew.tasks.views.sections import FULL
from clew.tasks.views.signals import signals_of
from clew.tasks.views.subject import steps_json, subject_of, target_json
from clew.tasks.views.timeline import timeline

Few = Annotated[int, Field(ge=0, le=100)]

PACK_STEPS: tuple[Step, ...] = (
    Drop("timeline.events[].payload"),
    Trim("timeline.events", drop="first", floor=3),
    Trim("signals.evidence", drop="last", floor=2),
    Trim("signals.decisions", drop="last", floor=2),
    Trim("timeline.events", drop="first"),
    *RADAR_STEPS[:8],
    Drop("timeline"),
    Trim("signals.evidence", drop="last"),
    Trim("signals.decisions", drop="last"),
    Drop("signals"),
    *RADAR_STEPS[8:],
)


class ResumePack(OfWork, Bounded):
    events_limit: EventsLimit = 20
    decisions_limit: Annotated[Few, Field(description="Most decisions; 0 for none.")] = 5
    evidence_limit: Annotated[Few, Field(description="Most evidence; 0 for none.")] = 5
    read_only: Annotated[bool, Field(description="Leave the focus where it is.")] = False


@operation(
    "tasks_resume_pack",
    writes=True,
    mode="own",
    idempotent=True,
    intent="resume_pack",
    budget=Budget(PACK_STEPS, 16_000, keep=("workspace", "focus")),
)
def tasks_resume_pack(ctx: Context, args: ResumePack) -> dict[str, Any]:
    """Resume a plan or task: radar, last events, decisions, evidence and blockers."""
    return focused_view(ctx, args, lambda bound, work: _pack(bound, work, args))


def _pack(ctx: Context, work: Work, args: ResumePack) -> dict[str, Any]:
    subject = subject_of(ctx, work)
    limits = replace(FULL, decisions=args.decisions_limit, evidence=args.evidence_limit)
    return {
        "workspace": ctx.workspace,
        "requested": requested(args),
        "focus": ctx.ws.focus,
        "target": target_json(ctx, work),
        "reasoning_ref": scope_json(subject.scope),
        "radar": radar_of(ctx, subject),
        "steps": steps_json(subject),
        "timeline": timeline(ctx, work.id, args.events_limit),
        "signals": signals_of(ctx, subject, limits),
        "truncated": False,
    }
