"""The budgets of the views: the order of truncation. Texts first, then lists, then sections, handles last."""

from __future__ import annotations

from dataclasses import replace

from clew.reasoning.pack_parts import SHORTER_SIGNALS, WORDLESS_SIGNALS
from clew.registry.budget import Budget, Clip, Drop, Step, Trim, drops

# Steps are applied in this order. A list is first shortened to a useful minimum and emptied only when little else is
# left to truncate.
RADAR_STEPS: tuple[Step, ...] = (
    Clip("target.description", 400),
    Trim("radar.verify", drop="last", floor=2),
    Trim("radar.blockers", drop="last", floor=3),
    *drops("contract_data", "contract", of="target."),
    *drops("requested", "reasoning_ref", "steps"),
    Drop("target.description"),
    Trim("radar.verify", drop="last"),
    Clip("radar.why", 80),
    Drop("target"),
    Trim("radar.blockers", drop="last", floor=1),
    *drops("horizon", "why", of="radar."),
    Trim("radar.suspects", drop="last", floor=1),
    Drop("radar.suspects"),
    Trim("radar.blockers", drop="last"),
    Trim("radar.next", drop="last", floor=1),
)
RADAR_BUDGET = Budget(RADAR_STEPS, 16_000, keep=("radar", "workspace", "focus"))
HANDOFF_BUDGET = Budget(
    (
        Trim("handoff.done", drop="first", floor=3),
        Trim("handoff.remaining", drop="last", floor=3),
        *RADAR_STEPS,
        Trim("handoff.risks", drop="last", floor=1),
        Trim("handoff.done", drop="first"),
        Trim("handoff.remaining", drop="last", floor=1),
        # The current status is kept: a handoff without it is useless.
        *drops("unproven", "proof", "verify", "blockers", "next", of="radar."),
    ),
    16_000,
    keep=("radar", "handoff", "workspace"),
)
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
    keep=("radar", "workspace"),
)

RESUME_STEPS: tuple[Step, ...] = (
    Drop("timeline.events[].payload"),
    Trim("timeline.events", drop="first", floor=3),
    *drops("success_criteria", "tests", "blockers", of="steps[]."),
    Trim("timeline.events", drop="first"),
    Trim("steps", drop="last", floor=1),
    *RADAR_STEPS,
)
RESUME_BUDGET = Budget(RESUME_STEPS, None, keep=("radar", "workspace", "focus"))

PACK_STEPS: tuple[Step, ...] = (
    *SHORTER_SIGNALS,
    Drop("timeline.events[].payload"),
    Trim("timeline.events", drop="first", floor=3),
    *WORDLESS_SIGNALS,
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
PACK_BUDGET = Budget(PACK_STEPS, 16_000, keep=("radar", "workspace", "focus"))

# The order in which a response names the truncated sections.
SECTIONS = ("notes", "trace", "cards", "signals", "timeline", "graph_diff", "engine", "capsule")

_CARDS = Trim("memory.cards", "last", 0, "memory.cards_pagination", "last_seq", mixed=True)
_NOTES = Trim("memory.notes.entries", "first", 0, "memory.notes.pagination", mixed=True)
_TRACE = Trim("memory.trace.entries", "first", 0, "memory.trace.pagination", mixed=True)
_CHANGES = Trim("graph_diff.changes", "last", 0, "graph_diff.pagination", mixed=True)


def _to(trim: Trim, floor: int) -> Trim:
    return replace(trim, floor=floor)


COMPACT: tuple[Step, ...] = (
    *SHORTER_SIGNALS,
    Clip("memory.trace.entries[].content", 400),
    Clip("memory.notes.entries[].content", 1000),
    Clip("memory.cards[].text", 800),
    Drop("timeline.events[].payload"),
    Drop("memory.trace.entries[].meta"),
    Drop("memory.cards[].meta"),
    Drop("graph_diff.changes[].to"),
)
LISTS: tuple[Step, ...] = (
    *WORDLESS_SIGNALS,
    _to(_CHANGES, 5),
    _to(_TRACE, 5),
    Trim("timeline.events", drop="first", floor=5),
    _to(_NOTES, 3),
    _to(_CARDS, 5),
    Clip("memory.notes.entries[].content", 160),
    Clip("memory.cards[].text", 160),
    Clip("memory.trace.entries[].content", 80),
    Drop("memory.notes.entries[].meta"),
    Trim("engine.actions", drop="last", floor=2),
    Trim("engine.signals", drop="last", floor=3),
    Trim("delta.notes.items", drop="last", floor=2),
    Trim("delta.cards.items", drop="last", floor=2),
)
OPTIONAL: tuple[Step, ...] = (
    Drop("lane_summary"),
    Drop("memory.trace.sequential"),
    _CHANGES,
    *drops("reasoning_ref", "counts", "handoff", of="capsule."),
    _TRACE,
    Drop("memory.trace"),
    Trim("timeline.events", drop="first", floor=1),
    Drop("timeline"),
    _NOTES,
    Drop("memory.notes"),
    *drops("requested", "reasoning_ref"),
    Trim("engine.actions", drop="last", floor=1),
    Drop("engine"),
    _to(_CARDS, 1),
    *drops("memory", "signals", "delta"),
    # Late, because the caller requested it and it is small without its changes.
    *drops("graph_diff", "step_focus", "steps", "radar", "target"),
    *drops("limits", "focus_previous", "focus_restored", "focus", "view"),
)
# The capsule is truncated last, because it alone is enough to take the work over.
CAPSULE: tuple[Step, ...] = (
    *drops("graph_diff", "last_event", of="capsule."),
    Drop("capsule.radar.verify"),
    Trim("capsule.radar.suspects", drop="last", floor=1),
    Drop("capsule.radar.suspects"),
    Clip("capsule.radar.why", 60),
    *drops("why", "horizon", of="capsule.radar."),
    *drops("prep_escalation", "prep_action", of="capsule."),
    Clip("capsule.radar.now", 80),
    Drop("capsule.radar.now"),
    Drop("capsule.target.qualified_id"),
    Drop("capsule.map_escalation"),
    Clip("capsule.target.title", 80),
    Trim("capsule.radar.blockers", drop="last", floor=3),
    Drop("degradation"),
    Drop("capsule.map_action.purpose"),
    Drop("capsule.where.lane"),
    Drop("capsule.radar.next"),
    Trim("capsule.radar.blockers", drop="last", floor=1),
    *drops("map_action", "map_first", "radar", "action", "escalation", of="capsule."),
    *drops("where", "target", "focus", "toolset", "workspace", of="capsule."),
    Trim("capsule.refs", drop="last", floor=1),
)
STEPS = (*COMPACT, *LISTS, *OPTIONAL, *CAPSULE[:-2], Drop("workspace"), *CAPSULE[-2:])

_HANDLES = ("ref", "refs")
# The default sizes are those of BranchMind's contract.
SUPER_BUDGET = Budget(STEPS, 20_000, ("ref",), "degradation", _HANDLES)
SNAPSHOT_BUDGET = Budget(STEPS, {"core": 6_000, "daily": 9_000, "full": 12_000}, ("ref",), "degradation", _HANDLES)
MACRO_BUDGET = Budget(STEPS, {"core": 20_000, "daily": 40_000, "full": 60_000}, ("ref",), "degradation", _HANDLES)


def trimmed_sections(truncated_fields: list[str]) -> list[str]:
    """The sections that lost something, in a fixed order; fields of no section count as `other`."""
    found = {name for path in truncated_fields for name in _sections(path)}
    return [name for name in (*SECTIONS, "other") if name in found]


def _sections(path: str) -> tuple[str, ...]:
    head, _, rest = path.partition(".")
    if head == "memory":
        return (rest,) if rest in SECTIONS else SECTIONS[:3]
    return (head if head in SECTIONS else "other",)
