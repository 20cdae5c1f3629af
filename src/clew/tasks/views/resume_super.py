"""The resume that holds everything: work, memory, signals, engine and capsule, in five views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clew.reasoning.pack_parts import engine_block, lane_summary
from clew.reasoning.scope import scope_json
from clew.reasoning.trace import sequential_graph
from clew.registry.context import Context
from clew.registry.operation import ContextBounded, Name, Whole, operation
from clew.tasks.gates import Gate
from clew.tasks.leases import lease_json
from clew.tasks.plans import Work
from clew.tasks.steps import Step, step_ref
from clew.tasks.targets import OfWork
from clew.tasks.views.capsule import Capsule, capsule_of
from clew.tasks.views.degradation import RESUME_BUDGET, untouched
from clew.tasks.views.focusing import focused_view
from clew.tasks.views.graph_changes import graph_changes
from clew.tasks.views.memory import START, Cards, Cursors, Memory, gather, memory_json
from clew.tasks.views.radar import radar_of, requested
from clew.tasks.views.sections import Limits, ViewName, limits_for
from clew.tasks.views.signals import signals_of
from clew.tasks.views.subject import Subject, checkpoints_json, steps_json, subject_of, target_json
from clew.tasks.views.timeline import timeline

ViewArg = Annotated[
    ViewName | None,
    Field(description="smart: relevance first; explore: with history; audit: with drafts; full: newest first."),
]
Count = Annotated[int, Field(ge=0, le=200)]
"""Most items of a section."""
DIFF_LIMIT = 50


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


@dataclass(frozen=True, slots=True)
class Options:
    """How a resume is built, whoever asks for it."""

    view: str = "full"
    budget: int | None = None
    cursors: Cursors = START
    graph_diff: bool = False
    graph_diff_cursor: int | None = None
    graph_diff_limit: int = DIFF_LIMIT


@dataclass(frozen=True, slots=True)
class Resume:
    """The resume before its budget, with the parts that its callers build on."""

    json: dict[str, Any]
    subject: Subject
    capsule: Capsule
    cards: Cards


@operation("tasks_resume_super", writes=True, mode="own", idempotent=True, intent="resume_super", budget=RESUME_BUDGET)
def tasks_resume_super(ctx: Context, args: ResumeSuper) -> dict[str, Any]:
    """Resume a plan or task: work, notes, trace, cards, signals, engine and the capsule, in one of five views."""
    view = args.view or ("smart" if args.context_budget is not None else "full")
    options = options_of(args, view, args.graph_diff)
    return focused_view(ctx, args, lambda bound, work: resume_of(bound, work, args, options).json)


def options_of(args: ResumeLimits, view: str, graph_diff: bool) -> Options:
    return Options(
        view,
        budget_of(args),
        Cursors(args.notes_cursor, args.trace_cursor, args.cards_cursor),
        graph_diff,
        args.graph_diff_cursor,
        args.graph_diff_limit,
    )


def budget_of(args: ContextBounded) -> int | None:
    given = [limit for limit in (args.max_chars, args.context_budget) if limit is not None]
    return min(given) if given else None


def resume_of(ctx: Context, work: Work, args: Any, options: Options) -> Resume:
    """Everything about one plan or task. `args` may set section limits."""
    view, subject = options.view, subject_of(ctx, work)
    limits = limits_for(view, options.budget, args)
    step = subject.step_focus if view != "full" else None
    memory = gather(ctx, subject.scope, view, limits, options.cursors, step)
    block = _engine(ctx, subject, memory, limits, view)
    if view == "focus_only":
        memory = memory.narrowed(_referenced(block))
    radar = radar_of(ctx, subject)
    path = step.path if step is not None and view == "focus_only" else None
    events = timeline(ctx, work.id, limits.events, path)
    signals = signals_of(ctx, subject, limits, view == "audit")
    diff = _diff(ctx, subject, options)
    capsule = capsule_of(ctx, subject, view, memory, radar, events, signals, diff)
    remembered = memory_json(ctx, subject.scope, memory, sequential_graph(memory.trace.entries))
    json = {
        "workspace": ctx.workspace,
        "view": view,
        "ref": capsule.ref,
        "requested": requested(args),
        "focus": ctx.ws.focus,
        "target": target_json(ctx, work),
        "reasoning_ref": scope_json(subject.scope),
        "radar": radar,
        "steps": steps_json(subject),
        **_step_focus(subject, view),
        "timeline": events,
        "signals": signals,
        "memory": remembered,
        **({"engine": block} if block else {}),
        **({"graph_diff": diff} if diff else {}),
        **({"lane_summary": lane_summary(memory.cards.nodes)} if view == "audit" else {}),
        "degradation": untouched(remembered),
        "capsule": capsule.json,
        "truncated": False,
    }
    return Resume(json, subject, capsule, memory.cards)


def _engine(ctx: Context, subject: Subject, memory: Memory, limits: Limits, view: str) -> dict[str, Any] | None:
    step = subject.step_focus if view != "full" else None
    cards, trace = memory.cards.nodes, memory.trace.entries
    return engine_block(ctx, subject.scope, cards, memory.edges, trace, (limits.signals, limits.actions), step)


def _referenced(block: dict[str, Any] | None) -> set[str]:
    return {ref for signal in (block or {}).get("signals", []) for ref in signal["refs"]}


def _diff(ctx: Context, subject: Subject, options: Options) -> dict[str, Any] | None:
    if not options.graph_diff:
        return None
    return graph_changes(ctx, subject.scope, options.graph_diff_cursor, options.graph_diff_limit)


def _step_focus(subject: Subject, view: str) -> dict[str, Any]:
    step = subject.first_open
    if view == "full" or step is None:
        return {}
    return {
        "step_focus": {"step": _step(step), "detail": _detail(step, subject.gates[step.id], lease_json(subject.lease))}
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        **step_ref(step),
        "title": step.title,
        "completed": step.completed,
        "blocked": step.blocked,
        "block_reason": step.block_reason,
    }


def _detail(step: Step, gate: Gate, lease: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "success_criteria": list(step.success_criteria),
        "tests": list(step.tests),
        "blockers": list(step.blockers),
        "next_action": step.next_action,
        "stop_criteria": step.stop_criteria,
        **checkpoints_json(step, gate),
        **({"lease": lease} if lease else {}),
    }
