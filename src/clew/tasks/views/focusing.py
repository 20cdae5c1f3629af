"""Views that bring the focus back: an explicit target becomes the focus unless the caller only reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.registry.context import Context
from clew.tasks.plans import Work
from clew.tasks.targets import set_focus, target_work

Build = Callable[[Context, Work], dict[str, Any]]


def focused_view(ctx: Context, args: Any, build: Build) -> dict[str, Any]:
    """Build a view. Nearly always nothing has to be written, so reading comes first and locks nothing."""
    with ctx.reading() as reading:
        work = target_work(reading, args)
        if args.read_only or reading.ws.focus == work.id:
            return build(reading, work)
    with ctx.writing() as writing:
        work = target_work(writing, args)
        previous = set_focus(writing, work.id)
        return {**build(writing, work), **restored(work, previous)}


def restored(work: Work, previous: str | None) -> dict[str, Any]:
    if previous == work.id:
        return {}
    return {"focus_restored": True, "focus_previous": previous}
