"""A bounded summary: the radar and the last events."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.tasks.targets import OfWork, target_work
from clew.tasks.views.radar import RADAR_STEPS, radar_of
from clew.tasks.views.subject import steps_json, subject_of, target_json
from clew.tasks.views.timeline import timeline

CONTEXT_PACK_BUDGET = Budget(
    (
        Drop("delta.events[].payload"),
        Trim("delta.events", drop="first", floor=3),
        *RADAR_STEPS[:5],
        Trim("delta.events", drop="first"),
        Drop("delta"),
        *RADAR_STEPS[5:],
    ),
    16_000,
    keep=("workspace",),
)


class ContextPack(OfWork, Bounded):
    delta_limit: Annotated[int, Field(ge=0, le=200, description="Most events; 0 for none.")] = 50
    read_only: Annotated[bool, Field(description="Accepted for older callers; this view never writes.")] = False


@operation("tasks_context_pack", intent="context_pack", budget=CONTEXT_PACK_BUDGET)
def tasks_context_pack(ctx: Context, args: ContextPack) -> dict[str, Any]:
    """Give the radar of a plan or task and its last events."""
    subject = subject_of(ctx, target_work(ctx, args))
    return {
        "workspace": ctx.workspace,
        "target": target_json(ctx, subject.work),
        "radar": radar_of(ctx, subject),
        "steps": steps_json(subject),
        "delta": timeline(ctx, subject.work.id, args.delta_limit),
        "truncated": False,
    }
