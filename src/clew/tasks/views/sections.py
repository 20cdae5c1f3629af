"""How much of each section a view shows when the caller does not say."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

ViewName = Literal["full", "focus_only", "smart", "explore", "audit"]
DEFAULT_BUDGET = 12_000
"""The tier that a relevance-first view takes when no budget is given."""


@dataclass(frozen=True, slots=True)
class Limits:
    events: int
    decisions: int
    evidence: int
    blockers: int
    notes: int
    trace: int
    cards: int
    signals: int
    actions: int


FULL = Limits(20, 5, 5, 5, 10, 20, 20, 6, 6)
FOCUS_ONLY = Limits(12, 3, 3, 3, 3, 8, 40, 6, 2)
AUDIT = Limits(14, 6, 6, 6, 12, 24, 60, 8, 2)
SMART = {
    2_000: Limits(6, 3, 3, 3, 4, 10, 18, 5, 2),
    6_000: Limits(10, 4, 4, 4, 8, 16, 26, 6, 2),
    12_000: Limits(14, 5, 5, 5, 12, 24, 40, 6, 2),
}
SMART_LARGE = Limits(20, 6, 6, 6, 12, 30, 60, 8, 2)
EXPLORE = {
    2_000: Limits(8, 3, 3, 3, 6, 14, 26, 6, 2),
    6_000: Limits(12, 5, 5, 5, 12, 22, 40, 8, 2),
    12_000: Limits(16, 6, 6, 6, 16, 34, 70, 8, 2),
}
EXPLORE_LARGE = Limits(24, 8, 8, 8, 22, 48, 100, 10, 2)


def default_limits(view: str, budget: int | None) -> Limits:
    if view == "full":
        return FULL
    if view == "focus_only":
        return FOCUS_ONLY
    if view == "audit":
        return AUDIT
    tiers, large = (EXPLORE, EXPLORE_LARGE) if view == "explore" else (SMART, SMART_LARGE)
    room = DEFAULT_BUDGET if budget is None else budget
    return next((limits for most, limits in tiers.items() if room <= most), large)


def limits_for(view: str, budget: int | None, args: Any) -> Limits:
    """The view's defaults with what the caller set instead."""
    defaults = default_limits(view, budget)
    names = {field.name: f"{field.name}_limit" for field in fields(Limits)}
    names |= {"signals": "engine_signals_limit", "actions": "engine_actions_limit"}
    given = {name: getattr(args, argument, None) for name, argument in names.items()}
    return replace(defaults, **{name: value for name, value in given.items() if value is not None})
