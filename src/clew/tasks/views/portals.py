"""The operations that show the status of a plan or task: snapshot, resumes, radar, handoff, context pack, mirror.

Each builds a status view, names the sections to render, and leaves truncation to its budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import invalid, suggest
from clew.registry.budget import size
from clew.registry.context import Context
from clew.registry.envelope import is_cut
from clew.registry.operation import Bounded, ContextBounded, Input, Name, View, Whole, operation
from clew.registry.suggestions import PartBudget, bounded_part, with_room
from clew.tasks.gates import Gate, gates_of
from clew.tasks.plans import Work, tasks_of
from clew.tasks.steps import CHECKPOINTS, Step, select_step, step_ref, steps_of, subtree
from clew.tasks.targets import OfWork, set_focus, target_work
from clew.tasks.views import mindpack, sections
from clew.tasks.views.cuts import (
    CONTEXT_PACK_BUDGET,
    HANDOFF_BUDGET,
    MACRO_BUDGET,
    PACK_BUDGET,
    RADAR_BUDGET,
    RESUME_BUDGET,
    SNAPSHOT_BUDGET,
    SUPER_BUDGET,
)
from clew.tasks.views.material import FULL, Cursors, ViewName, limits_for
from clew.tasks.views.news import Since, baseline, move_baseline, since_of
from clew.tasks.views.sections import render
from clew.tasks.views.state_line import news_named, resume_lines
from clew.tasks.views.status_view import (
    DIFF_LIMIT,
    EVERYTHING,
    Extra,
    Restored,
    StatusView,
    Wish,
    everything,
    requested,
    status_view_of,
)

MOST = 50
MOST_NEWS = 50
"""Maximum items of each kind in a delta; with this limit its mark moves even if there are more, which are counted."""
Count = Annotated[int, Field(ge=0, le=200)]
"""Maximum items of a section."""
Few = Annotated[int, Field(ge=0, le=100)]
EventsLimit = Annotated[int, Field(ge=0, le=200, description="Most events; 0 for none.")]
NeverWrites = Annotated[bool, Field(description="Accepted for older callers; this view never writes.")]
KeepsFocus = Annotated[bool, Field(description="Leave the focus where it is.")]
ViewArg = Annotated[
    ViewName | None,
    Field(description="smart: relevance first; explore: with history; audit: with drafts; full: newest first."),
]


class Radar(OfWork, Bounded):
    read_only: NeverWrites = False


@operation("tasks_radar", budget=RADAR_BUDGET)
def tasks_radar(ctx: Context, args: Radar) -> Json:
    """Show now, why, verify, next and blockers of a plan or task on one screen."""
    status_view = status_view_of(ctx, target_work(ctx, args), Wish(requested=requested(args)))
    return render(status_view, sections.RADAR)


class TasksHandoff(OfWork, Bounded):
    limit: Annotated[int, Field(ge=1, le=200, description="Most lines of done, remaining and risks each.")] = MOST
    read_only: NeverWrites = False


def handoff_lines(result: Json, default_workspace: str) -> list[str]:
    """Done, remaining and risks, one item per line, and the next action."""
    target, report = result["target"], result["handoff"]
    items = [f"{part}: {item}" for part in ("done", "remaining", "risks") for item in report[part]]
    items += [f"next: {item}" for item in result.get("radar", {}).get("next") or []]
    return [f"{target['id']} {target['title']}: {target['status']}", *items]


@operation("tasks_handoff", budget=HANDOFF_BUDGET, view=View(lines=handoff_lines))
def tasks_handoff(ctx: Context, args: TasksHandoff) -> Json:
    """Report for whoever takes over: done, remaining, risks, and the radar."""
    return handoff_json(ctx, target_work(ctx, args), args.limit)


def handoff_json(ctx: Context, work: Work, limit: int = MOST) -> Json:
    return render(status_view_of(ctx, work, Wish(Extra.HANDOFF)), sections.handoff_sections(limit))


class TasksContextPack(OfWork, Bounded):
    delta_limit: Annotated[int, Field(ge=0, le=200, description="Most events; 0 for none.")] = 50
    read_only: NeverWrites = False


@operation("tasks_context_pack", budget=CONTEXT_PACK_BUDGET)
def tasks_context_pack(ctx: Context, args: TasksContextPack) -> Json:
    """Give the radar of a plan or task and its last events."""
    wish = Wish(Extra.TIMELINE, limits=replace(FULL, events=args.delta_limit))
    return render(status_view_of(ctx, target_work(ctx, args), wish), sections.CONTEXT_PACK)


class TasksResume(OfWork, Bounded):
    events_limit: EventsLimit = 20
    read_only: KeepsFocus = False


@operation("tasks_resume", writes=True, mode="own", idempotent=True, budget=RESUME_BUDGET)
def tasks_resume(ctx: Context, args: TasksResume) -> Json:
    """Load a plan or task with all its steps and its last events."""
    wish = Wish(Extra.TIMELINE, limits=replace(FULL, events=args.events_limit), requested=requested(args))
    return _view_in_focus(ctx, args, wish, sections.RESUME)


class ResumePack(OfWork, Bounded):
    events_limit: EventsLimit = 20
    decisions_limit: Annotated[Few, Field(description="Most decisions; 0 for none.")] = 5
    evidence_limit: Annotated[Few, Field(description="Most evidence; 0 for none.")] = 5
    read_only: KeepsFocus = False


@operation("tasks_resume_pack", writes=True, mode="own", idempotent=True, budget=PACK_BUDGET)
def tasks_resume_pack(ctx: Context, args: ResumePack) -> Json:
    """Resume a plan or task: radar, last events, decisions, evidence and blockers."""
    limits = replace(FULL, events=args.events_limit, decisions=args.decisions_limit, evidence=args.evidence_limit)
    wish = Wish(Extra.TIMELINE | Extra.SIGNALS, limits=limits, requested=requested(args))
    return _view_in_focus(ctx, args, wish, sections.RESUME_PACK)


class ResumeLimits(OfWork, ContextBounded):
    """What every resume of the large family takes. A limit of 0 leaves a section out; a cursor continues it."""

    view: ViewArg = None
    agent_id: Annotated[Name | None, Field(description="Who asks; matters for step leases only.")] = None
    events_limit: Count | None = None
    decisions_limit: Count | None = None
    evidence_limit: Count | None = None
    blockers_limit: Count | None = None
    notes_limit: Count | None = None
    trace_limit: Count | None = None
    cards_limit: Count | None = None
    notes_cursor: Whole | None = None
    trace_cursor: Whole | None = None
    cards_cursor: Whole | None = None
    graph_diff_cursor: Whole | None = None
    graph_diff_limit: Count = DIFF_LIMIT
    engine_signals_limit: Count | None = None
    engine_actions_limit: Count | None = None
    read_only: Annotated[bool, Field(description="Leave the focus where it is, and write nothing.")] = False


class ResumeSuper(ResumeLimits):
    graph_diff: Annotated[bool, Field(description="Show what the graph holds beyond its base.")] = False


@operation("tasks_resume_super", writes=True, mode="own", idempotent=True, budget=SUPER_BUDGET)
def tasks_resume_super(ctx: Context, args: ResumeSuper) -> Json:
    """Resume a plan or task: work, notes, trace, cards, signals, engine and the capsule, in one of five views."""
    view = args.view or ("smart" if args.context_budget is not None else "full")
    return _view_in_focus(ctx, args, _wish(args, view, args.graph_diff), sections.RESUME_SUPER)


def _wish(args: ResumeLimits, view: str, graph_diff: bool) -> Wish:
    given = [limit for limit in (args.max_chars, args.context_budget) if limit is not None]
    return Wish(
        EVERYTHING,
        view,
        limits_for(view, min(given) if given else None, args),
        Cursors(args.notes_cursor, args.trace_cursor, args.cards_cursor),
        requested(args),
        graph_diff,
        args.graph_diff_cursor,
        args.graph_diff_limit,
    )


def _view_in_focus(ctx: Context, args: Any, wish: Wish, shown: dict[str, sections.Section]) -> Json:
    """Render a view and make the work the focus, unless the caller only reads.

    Usually the focus is right already, so a read transaction comes first, which takes no lock.
    """
    with ctx.reading() as reading:
        work = target_work(reading, args)
        if args.read_only or reading.ws.focus == work.id:
            return render(status_view_of(reading, work, wish), shown)
    with ctx.writing() as writing:
        # Read again: another writer may have changed it between the two transactions.
        work = target_work(writing, args)
        restored = _restoration(work, set_focus(writing, work.id))
        return render(replace(status_view_of(writing, work, wish), restored=restored), shown)


def _restoration(work: Work, previous: str | None) -> Restored | None:
    return None if previous == work.id else Restored(previous)


class TasksSnapshot(ResumeLimits):
    delta: Annotated[bool | None, Field(description="Show what was noted and thought since the last delta.")] = None
    delta_limit: Annotated[int, Field(ge=1, le=MOST_NEWS, description="Most items of each kind in the delta.")] = 5
    refs: Annotated[bool, Field(description="Name a few ids to open.")] = False


@operation(
    "tasks_snapshot",
    writes=True,
    mode="own",
    idempotent=True,
    budget=SNAPSHOT_BUDGET,
    view=View(in_lines=True, lines=resume_lines),
)
def tasks_snapshot(ctx: Context, args: TasksSnapshot) -> Json:
    """Show where a plan or task stands and the next command; the focus when none is named."""
    if args.delta is None:
        args = args.model_copy(update={"delta": ctx.settings.dx})
    with ctx.reading() as reading:
        status_view = _snapshot(reading, args)
        stored, meta = mindpack.newest(reading), mindpack.meta_of(reading, status_view)
        # Most snapshots change nothing: then the read transaction is enough and no lock is taken.
        settled = status_view.focus == status_view.work.id and not mindpack.differs(stored, meta) and not args.delta
        if args.read_only or settled:
            status_view = _with_news(reading, replace(status_view, pack=stored.ref if stored else None), args)
            return _answer(reading, status_view)
    with ctx.writing() as writing:
        work = target_work(writing, args)
        restored = _restoration(work, set_focus(writing, work.id))
        status_view = replace(_snapshot(writing, args), restored=restored)
        renewed = mindpack.renew(writing, mindpack.meta_of(writing, status_view))
        status_view = _with_news(writing, replace(status_view, pack=renewed.ref), args)
        answer = _answer(writing, status_view)
    if status_view.since is not None:
        _move_when_told(ctx, work.id, status_view.since, answer)
    return answer


def _snapshot(ctx: Context, args: TasksSnapshot) -> StatusView:
    view = args.view or "smart"
    whole = view == "full" and args.context_budget is None
    status_view = status_view_of(ctx, target_work(ctx, args), _wish(args, view, whole))
    return replace(status_view, names_refs=args.refs)


def _with_news(ctx: Context, status_view: StatusView, args: TasksSnapshot) -> StatusView:
    if not args.delta:
        return status_view
    last = baseline(ctx, status_view.work.id)
    return replace(status_view, since=since_of(ctx, status_view.subject.scope, last, args.delta_limit))


def _answer(ctx: Context, status_view: StatusView) -> Json:
    _suggest_next(ctx, status_view)
    return render(status_view, sections.RESUME_SUPER)


def _move_when_told(ctx: Context, target: str, since: Since, whole: Json) -> None:
    """Move the mark of the delta once the caller has seen all news. Truncated items stay new, with a warning."""

    def shown(result: Json, in_lines: bool) -> None:
        told = result.get("delta") == whole["delta"] and (not in_lines or news_named(result) == since.count)
        if told and (not since.dropped or since.limit == MOST_NEWS):
            with ctx.writing() as writing:
                move_baseline(writing, target, since.until)
        else:
            _offer_news(ctx, since, whole, is_cut(result))

    ctx.when_shown(shown)


def _offer_news(ctx: Context, since: Since, whole: Json, by_budget: bool) -> None:
    """The call that shows all news. Unlike other calls for more it may write, because it has to move the mark."""
    all_of_it = replace(since, limit=MOST_NEWS if since.dropped else since.limit)
    own = {**(ctx.remarks.call[1] if ctx.remarks.call else {}), "delta": True, "delta_limit": all_of_it.limit}
    room = size({**whole, "delta": all_of_it.to_json()})
    reason = "Tells all that is new. Until then it stays new."
    ctx.remarks.suggestions.insert(0, with_room("tasks_snapshot", room, own, reason))
    if not by_budget:  # which has its own warning, with the same call
        message = f"{since.dropped} of {since.dropped + since.count} new items were left out, so all of them stay new"
        ctx.warn("DELTA_LIMITED", message, f"Give a larger delta_limit, at most {MOST_NEWS}.")


def _suggest_next(ctx: Context, status_view: StatusView) -> None:
    """Suggest the command of the lines, for clients that read the structured response."""
    primary, plan = status_view.actions.primary, status_view.work.parent
    if primary is not None:
        ctx.suggest(primary.suggestion())
    elif plan is not None:
        ctx.suggest(suggest("tasks_snapshot", "Shows the plan that the task belongs to.", "medium", plan=plan))


class Resumes(Input):
    """A macro that shows the task afterwards."""

    view: ViewArg = None
    refs: Annotated[bool, Field(description="Name a few ids to open.")] = False
    resume_max_chars: Annotated[Whole | None, Field(description="Most characters of the resume.")] = None


def closing_resume(ctx: Context, work: Work, args: Resumes) -> Json:
    """Focus the work and show it, within its own budget, in the macro's transaction, which sees its writes."""
    set_focus(ctx, work.id)
    limit = args.resume_max_chars
    status_view = status_view_of(ctx, work, everything(args.view or "smart", limit))
    _suggest_next(ctx, status_view)
    answer = render(replace(status_view, names_refs=args.refs), sections.RESUME_SUPER)
    most = PartBudget(MACRO_BUDGET, limit, MACRO_BUDGET.default_for(ctx.connection.toolset))
    look = {"task" if work.is_task else "plan": work.id, "read_only": True}
    return bounded_part(ctx, answer, most, "tasks_snapshot", look)


class Mirror(OfWork):
    path: Annotated[Name | None, Field(description="Only this step and what is below it.")] = None
    limit: Annotated[int, Field(ge=1, le=1000, description="Most steps.")] = 50


@operation("tasks_mirror")
def tasks_mirror(ctx: Context, args: Mirror) -> Json:
    """Export the steps of a task, or the checklist and the tasks of a plan, in a compact form."""
    work = target_work(ctx, args)
    return _mirror_task(ctx, work, args) if work.is_task else _mirror_plan(ctx, work, args)


def _mirror_task(ctx: Context, task: Work, args: Mirror) -> Json:
    steps = steps_of(ctx, task.id) if args.path is None else subtree(ctx, select_step(ctx, task, args.path, None))
    shown = steps[: args.limit]
    gates = gates_of(ctx, shown)
    return {
        "workspace": ctx.workspace,
        "scope": {"id": task.id, "kind": "task", "path": args.path},
        "steps": [_mirror_row(step, gates[step.id]) for step in shown],
        **_how_many(shown, steps),
    }


def _mirror_plan(ctx: Context, plan: Work, args: Mirror) -> Json:
    if args.path is not None:
        recovery = "Leave path out, or name the task that the step belongs to."
        raise invalid("path", f"{plan.id} is a plan and has no steps of its own", recovery)
    tasks = tasks_of(ctx, plan.id)
    shown = tasks[: args.limit]
    return {
        "workspace": ctx.workspace,
        "scope": {"id": plan.id, "kind": "plan"},
        "plan": _mirrored(plan),
        "checklist": {
            "doc": plan.checklist_doc,
            "current": plan.checklist_current,
            "steps": list(plan.checklist),
        },
        "tasks": [_mirrored(task) for task in shown],
        **_how_many(shown, tasks),
    }


def _how_many(shown: Sequence[object], found: Sequence[object]) -> Json:
    return {"count": len(shown), "total": len(found), "has_more": len(shown) < len(found)}


def _mirrored(work: Work) -> Json:
    return picked(work, "id", "title", "status", "revision")


def _mirror_row(step: Step, gate: Gate) -> Json:
    return {
        **step_ref(step),
        **picked(step, "title", "completed", *(f"{name}_confirmed" for name in CHECKPOINTS)),
        **picked(gate, "missing", "missing_proof"),
        **picked(step, "blocked", "block_reason"),
    }
