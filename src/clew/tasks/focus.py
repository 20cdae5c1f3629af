"""The focus: the one plan or task that calls mean when they name none."""

from __future__ import annotations

from typing import Any

from clew.errors import invalid
from clew.registry.context import Context
from clew.registry.operation import Input, operation
from clew.tasks import journal  # noqa: F401  (declares the events)
from clew.tasks.plans import known_work, work_by_id
from clew.tasks.targets import OfWork, explicit_target


def set_focus(ctx: Context, id: str | None) -> str | None:
    """Move the focus; returns where it was."""
    previous = ctx.ws.focus
    if previous != id:
        ctx.ws.focus = id
        ctx.emit("system", "focus_changed", id, {"previous": previous})
    return previous


class FocusGet(Input):
    pass


@operation("tasks_focus_get", intent="focus_get")
def tasks_focus_get(ctx: Context, args: FocusGet) -> dict[str, Any]:
    """Show which plan or task is in focus."""
    return {"workspace": ctx.workspace, "focus": ctx.ws.focus}


class FocusSet(OfWork):
    pass


@operation("tasks_focus_set", writes=True, idempotent=True, intent="focus_set", example={"task": "TASK-001"})
def tasks_focus_set(ctx: Context, args: FocusSet) -> dict[str, Any]:
    """Set the plan or task that later calls mean when they name none."""
    named = explicit_target(args)
    if named is None:
        raise invalid("target", "is required", "Name a plan or a task.", known_work(ctx), kind="missing_required")
    work = work_by_id(ctx, named)
    previous = set_focus(ctx, work.id)
    return {"workspace": ctx.workspace, "focus": work.id, "previous": previous}


class FocusClear(Input):
    pass


@operation("tasks_focus_clear", writes=True, idempotent=True, intent="focus_clear")
def tasks_focus_clear(ctx: Context, args: FocusClear) -> dict[str, Any]:
    """Clear the focus."""
    previous = set_focus(ctx, None)
    return {"workspace": ctx.workspace, "previous": previous, "cleared": previous is not None}
