"""What a resume gives up when it must be small: words first, then lists, then sections, the capsule's handles last."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clew.registry.budget import Budget, Clip, Drop, Step, Trim

SECTIONS = ("notes", "trace", "cards", "signals", "timeline", "graph_diff", "engine", "capsule")

_CARDS = Trim("memory.cards", "last", 0, "memory.cards_pagination", "last_seq", mixed=True)
_NOTES = Trim("memory.notes.entries", "first", 0, "memory.notes.pagination", mixed=True)
_TRACE = Trim("memory.trace.entries", "first", 0, "memory.trace.pagination", mixed=True)
_CHANGES = Trim("graph_diff.changes", "last", 0, "graph_diff.pagination")


def _to(trim: Trim, floor: int) -> Trim:
    return replace(trim, floor=floor)


COMPACT: tuple[Step, ...] = (
    Clip("memory.trace.entries[].content", 400),
    Clip("memory.notes.entries[].content", 1000),
    Clip("memory.cards[].text", 800),
    Drop("timeline.events[].payload"),
    Drop("memory.trace.entries[].meta"),
    Drop("memory.cards[].meta"),
    Drop("graph_diff.changes[].to"),
)
LISTS: tuple[Step, ...] = (
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
    Drop("graph_diff"),
    Drop("capsule.reasoning_ref"),
    Drop("capsule.counts"),
    Drop("capsule.handoff"),
    _TRACE,
    Drop("memory.trace"),
    Trim("timeline.events", drop="first", floor=1),
    Drop("timeline"),
    _NOTES,
    Drop("memory.notes"),
    Drop("requested"),
    Drop("reasoning_ref"),
    Trim("engine.actions", drop="last", floor=1),
    Drop("engine"),
    _to(_CARDS, 1),
    Drop("memory"),
    Drop("signals"),
    Drop("delta"),
    Drop("step_focus"),
    Drop("steps"),
    Drop("radar"),
    Drop("target"),
    Drop("limits"),
    Drop("focus_previous"),
    Drop("focus_restored"),
    Drop("focus"),
    Drop("view"),
)
CAPSULE: tuple[Step, ...] = (
    Drop("capsule.graph_diff"),
    Drop("capsule.last_event"),
    Drop("capsule.radar.verify"),
    Trim("capsule.radar.suspects", drop="last", floor=1),
    Drop("capsule.radar.suspects"),
    Clip("capsule.radar.why", 60),
    Drop("capsule.radar.why"),
    Drop("capsule.radar.horizon"),
    Drop("capsule.prep_escalation"),
    Drop("capsule.prep_action"),
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
    Drop("capsule.map_action"),
    Drop("capsule.map_first"),
    Drop("capsule.radar"),
    Drop("capsule.action"),
    Drop("capsule.escalation"),
    Drop("capsule.where"),
    Drop("capsule.target"),
    Drop("capsule.focus"),
    Drop("capsule.toolset"),
    Drop("workspace"),
    Drop("capsule.workspace"),
    Trim("capsule.refs", drop="last", floor=1),
)
STEPS = (*COMPACT, *LISTS, *OPTIONAL, *CAPSULE)

_HANDLES = ("ref", "refs")
RESUME_BUDGET = Budget(STEPS, 20_000, ("ref",), "degradation", _HANDLES)
SNAPSHOT_BUDGET = Budget(STEPS, {"core": 6_000, "daily": 9_000, "full": 12_000}, ("ref",), "degradation", _HANDLES)
MACRO_BUDGET = Budget(STEPS, {"core": 20_000, "daily": 40_000, "full": 60_000}, ("ref",), "degradation", _HANDLES)


def untouched(memory: dict[str, Any]) -> dict[str, Any]:
    """The report of an answer that has lost nothing yet; `signals` names the sections that go on beyond this page."""
    pages = {
        "notes": memory["notes"]["pagination"],
        "trace": memory["trace"]["pagination"],
        "cards": memory["cards_pagination"],
    }
    more = [f"{name}_have_more" for name, page in pages.items() if page["has_more"]]
    return {"minimal": False, "signals": more, "truncated_fields": []}


def trimmed_sections(truncated_fields: list[str]) -> list[str]:
    """The sections that lost something, in a fixed order; what belongs to none of them is `other`."""
    found = {name for path in truncated_fields for name in _sections(path)}
    return [name for name in (*SECTIONS, "other") if name in found]


def _sections(path: str) -> tuple[str, ...]:
    head, _, rest = path.partition(".")
    if head == "memory":
        return (rest,) if rest in SECTIONS else SECTIONS[:3]
    return (head if head in SECTIONS else "other",)
