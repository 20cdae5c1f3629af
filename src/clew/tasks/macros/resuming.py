"""The resume that a macro ends with, within its own budget."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.registry.budget import bounded, budget_warnings
from clew.registry.context import Context
from clew.registry.operation import Input, Whole
from clew.tasks.focus import set_focus
from clew.tasks.plans import Work
from clew.tasks.views.degradation import MACRO_BUDGET
from clew.tasks.views.resume_super import Options, ViewArg, resume_of
from clew.tasks.views.snapshot import suggest_next


class Resumes(Input):
    """A macro that shows the task afterwards."""

    view: ViewArg = None
    refs: Annotated[bool, Field(description="Name a few ids to open.")] = False
    resume_max_chars: Annotated[Whole | None, Field(description="Most characters of the resume.")] = None


def resumed(ctx: Context, work: Work, args: Resumes) -> dict[str, Any]:
    """Focus the work and show it; the macro's transaction sees what it has just written."""
    set_focus(ctx, work.id)
    limit = args.resume_max_chars
    built = resume_of(ctx, work, None, Options(args.view or "smart", limit))
    if args.refs:
        built.json["refs"] = True
    suggest_next(ctx, built.capsule.actions, work)
    given = [] if limit is None else [limit]
    shown, fitted = bounded(built.json, MACRO_BUDGET, given, MACRO_BUDGET.default_for(ctx.session.toolset))
    if fitted is not None:
        ctx.remarks.warnings.extend(budget_warnings(fitted))
    return shown
