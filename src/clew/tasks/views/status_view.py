"""The status view: the status of a plan or task, as one object built once per call. Every view renders it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Flag, auto
from typing import Any

from clew.canonical import Json
from clew.reasoning.pack_parts import engine_block
from clew.reasoning.scope import StepFocus
from clew.registry.context import Context
from clew.tasks.jobs.attention import WorkState, work_state
from clew.tasks.plans import Work
from clew.tasks.proofs import Proof, proof_state
from clew.tasks.steps import step_tag
from clew.tasks.targets import explicit_target
from clew.tasks.views.actions import Actions, actions_for
from clew.tasks.views.material import (
    FULL,
    START,
    UNPLACED,
    CardPage,
    Cursors,
    EntryPage,
    Material,
    SectionLimits,
    Spot,
    gather,
    limits_for,
    primary_ref,
    spot_of,
)
from clew.tasks.views.news import (
    GraphChanges,
    Signals,
    Since,
    Timeline,
    graph_changes,
    signals_of,
    timeline_of,
)
from clew.tasks.views.outlook import Handoff, Outlook, Subject, handoff_of, outlook_of, subject_of

DIFF_LIMIT = 50


class Extra(Flag):
    """Optional parts beyond steps and outlook. Each costs queries, so a view requests only those it shows."""

    NONE = 0
    HANDOFF = auto()
    TIMELINE = auto()
    SIGNALS = auto()
    MATERIAL = auto()
    """Notes, trace and cards, the engine's findings about them, and the next action, which depends on the cards."""
    DELEGATED = auto()
    """Jobs and runners of the work."""
    PROOFS = auto()
    """How far the done steps are proven; compares the files that their receipts cover."""


EVERYTHING = Extra.HANDOFF | Extra.TIMELINE | Extra.SIGNALS | Extra.MATERIAL | Extra.DELEGATED
"""All parts that the seeds' views have."""


def requested(args: Any) -> dict[str, str | None]:
    """The plan or task that the caller named, under the name of its kind."""
    named = explicit_target(args)
    return {kind: named if named and named.startswith(kind.upper()) else None for kind in ("plan", "task")}


UNNAMED: dict[str, str | None] = {"plan": None, "task": None}


@dataclass(frozen=True, slots=True)
class Wish:
    """The parts that a caller requests, and their limits."""

    parts: Extra = Extra.NONE
    view: str = "full"
    limits: SectionLimits = FULL
    cursors: Cursors = START
    requested: dict[str, str | None] = field(default_factory=lambda: UNNAMED)
    graph_diff: bool = False
    graph_diff_cursor: int | None = None
    graph_diff_limit: int = DIFF_LIMIT

    @property
    def drafts(self) -> bool:
        return self.view == "audit"

    @property
    def relevant(self) -> bool:
        """Whether the view selects by relevance to the step in focus; only the full view is ordered by time alone."""
        return self.view != "full"


def everything(view: str, budget: int | None = None) -> Wish:
    """A request for a whole view with its default limits."""
    return Wish(EVERYTHING, view, limits_for(view, budget, None))


@dataclass(frozen=True, slots=True)
class Restored:
    """The call moved the focus to the work; `previous` is the focus before."""

    previous: str | None


NO_MATERIAL = Material(EntryPage(), EntryPage(), CardPage(), [])


@dataclass(frozen=True, slots=True)
class StatusView:
    """The status of a plan or task. Parts that were not requested are empty."""

    workspace: str
    toolset: str
    focus: str | None
    wish: Wish
    subject: Subject
    outlook: Outlook
    handoff: Handoff = field(default_factory=lambda: Handoff([], [], []))
    timeline: Timeline = field(default_factory=Timeline)
    signals: Signals = field(default_factory=lambda: Signals([], [], []))
    material: Material = NO_MATERIAL
    engine: Json | None = None
    changes: GraphChanges | None = None
    spot: Spot = UNPLACED
    delegated: WorkState | None = None
    actions: Actions = field(default_factory=Actions)
    proofs: dict[str, Proof] = field(default_factory=dict)
    """The proofs of the done steps, by step id."""
    open_proof: Proof | None = None
    """How far the first open step is already proven."""
    ref: str | None = None
    """The id to open first."""
    pack: str | None = None
    """The version of the mindpack that belongs to this answer."""
    since: Since | None = None
    names_refs: bool = False
    """Whether the response names a few ids to open."""
    restored: Restored | None = None

    @property
    def work(self) -> Work:
        return self.subject.work


def status_view_of(ctx: Context, work: Work, wish: Wish) -> StatusView:
    """Build the requested parts of the status view of one plan or task, in the call's transaction."""
    subject = subject_of(ctx, work)
    outlook = outlook_of(ctx, subject)
    view = StatusView(ctx.workspace, ctx.connection.toolset, ctx.ws.focus, wish, subject, outlook)
    # The parts do not depend on each other, so a view pays only for those it names.
    if Extra.MATERIAL in wish.parts:
        view = _with_material(ctx, view)
    if Extra.HANDOFF in wish.parts:
        view = replace(view, handoff=handoff_of(ctx, subject, outlook))
    if Extra.DELEGATED in wish.parts:
        view = replace(view, delegated=work_state(ctx, work.id))
    if Extra.PROOFS in wish.parts:
        first = subject.first_open
        view = replace(view, proofs=subject.proofs, open_proof=proof_state(ctx, first) if first else None)
    if Extra.TIMELINE in wish.parts:
        view = replace(view, timeline=_timeline(ctx, subject, wish))
    if Extra.SIGNALS in wish.parts:
        signals = signals_of(ctx, subject, outlook.blockers, wish.limits, wish.drafts)
        view = replace(view, signals=signals)
    if wish.graph_diff:
        changes = graph_changes(ctx, subject.scope, wish.graph_diff_cursor, wish.graph_diff_limit)
        view = replace(view, changes=changes)
    return view


def _with_material(ctx: Context, view: StatusView) -> StatusView:
    subject, wish = view.subject, view.wish
    step = subject.step_focus if wish.relevant else None
    material = gather(ctx, subject.scope, wish.view, wish.limits, wish.cursors, step)
    engine = _engine(ctx, subject, material, wish.limits, step)
    if wish.view == "focus_only":
        # The engine gets everything that was gathered; the cards that its findings name are among those shown.
        material = material.narrowed({ref for signal in (engine or {}).get("signals", []) for ref in signal["refs"]})
    cards, first = material.cards.nodes, subject.first_open
    spot = spot_of(cards, step_tag(first) if first else None)
    return replace(
        view,
        material=material.with_rows(ctx, subject.scope),
        engine=engine,
        spot=spot,
        actions=actions_for(ctx, subject, spot.where, cards, wish.relevant),
        ref=primary_ref(subject, cards),
    )


def _engine(
    ctx: Context, subject: Subject, material: Material, limits: SectionLimits, step: StepFocus | None
) -> Json | None:
    cards, trace = material.cards.nodes, material.trace.entries
    return engine_block(ctx, subject.scope, cards, material.edges, trace, (limits.signals, limits.actions), step)


def _timeline(ctx: Context, subject: Subject, wish: Wish) -> Timeline:
    step = subject.step_focus
    path = step.path if step is not None and wish.view == "focus_only" else None
    return timeline_of(ctx, subject.work.id, wish.limits.events, path)
