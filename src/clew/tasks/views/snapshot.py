"""The snapshot: the portal that shows a plan or task in two lines, and the whole resume behind them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import suggest
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.tasks.plans import Work
from clew.tasks.targets import set_focus, target_work
from clew.tasks.views import mindpack
from clew.tasks.views.actions import Actions
from clew.tasks.views.degradation import SNAPSHOT_BUDGET
from clew.tasks.views.delta import baseline, delta_of, move_baseline
from clew.tasks.views.focusing import restored
from clew.tasks.views.lines import resume_lines
from clew.tasks.views.resume_super import Resume, ResumeLimits, options_of, resume_of


class Snapshot(ResumeLimits):
    delta: Annotated[bool | None, Field(description="Show what was noted and thought since the last delta.")] = None
    delta_limit: Annotated[int, Field(ge=1, le=50, description="Most items of each kind in the delta.")] = 5
    refs: Annotated[bool, Field(description="Name a few ids to open.")] = False


@operation(
    "tasks_snapshot",
    tier="core",
    writes=True,
    mode="own",
    idempotent=True,
    portal=True,
    lines=resume_lines,
    budget=SNAPSHOT_BUDGET,
    intent="snapshot",
)
def tasks_snapshot(ctx: Context, args: Snapshot) -> dict[str, Any]:
    """Show where a plan or task stands and the next command; the focus when none is named."""
    if args.delta is None:
        args = args.model_copy(update={"delta": ctx.settings.dx})
    with ctx.reading() as reading:
        work = target_work(reading, args)
        built, meta = _built(reading, work, args)
        stored = mindpack.newest(reading)
        settled = reading.ws.focus == work.id and not mindpack.differs(stored, meta) and not args.delta
        if args.read_only or settled:
            return _answer(reading, built, args, stored.ref if stored else None)
    with ctx.writing() as writing:
        work = target_work(writing, args)
        previous = set_focus(writing, work.id)
        built, meta = _built(writing, work, args)
        answer = _answer(writing, built, args, mindpack.renew(writing, meta).ref)
        if args.delta:
            move_baseline(writing, work.id, writing.ws.seq)
        return {**answer, **restored(work, previous)}


def _built(ctx: Context, work: Work, args: Snapshot) -> tuple[Resume, mindpack.Meta]:
    view = args.view or "smart"
    whole = view == "full" and args.context_budget is None
    built = resume_of(ctx, work, args, options_of(args, view, whole))
    usual = view == "smart" and built.cards.limit == mindpack.CARDS and args.cards_cursor is None
    return built, mindpack.present_meta(ctx, built.subject, built.cards.nodes if usual else None)


def _answer(ctx: Context, built: Resume, args: Snapshot, pack: str | None) -> dict[str, Any]:
    json = built.json
    if pack is not None:
        json["capsule"]["where"]["pack"] = pack
    if args.refs:
        json["refs"] = True
    if args.delta:
        since = baseline(ctx, built.subject.work.id)
        json["delta"] = delta_of(ctx, built.subject.scope, since, args.delta_limit)
    suggest_next(ctx, built.capsule.actions, built.subject.work)
    return json


def suggest_next(ctx: Context, actions: Actions, work: Work) -> None:
    """The commands of the lines, for clients that read the structured answer."""
    if actions.primary is not None:
        ctx.suggest(actions.primary.suggestion(ctx))
    elif work.parent is not None:
        ctx.suggest(suggest("tasks_snapshot", "Shows the plan that the task belongs to.", "medium", plan=work.parent))
