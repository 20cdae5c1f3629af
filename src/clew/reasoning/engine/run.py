"""All rules over one slice, ranked and bounded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clew.reasoning.engine.calls import Calls
from clew.reasoning.engine.claims import (
    contradictions,
    low_confidence,
    unopposed,
    unpublished_decisions,
    untested_hypotheses,
)
from clew.reasoning.engine.findings import Action, Findings
from clew.reasoning.engine.proofs import (
    changed_assumptions,
    going_in_circles,
    tests_to_run,
    tradeoffs,
    weak_evidence,
)
from clew.reasoning.engine.slice import CardLike, EdgeLike, Slice, make_slice, narrowed
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import STEP
from clew.registry.catalogue import catalogue
from clew.registry.suggestions import fitted

VERSION = "v0.5"
RULES = (
    unpublished_decisions,
    untested_hypotheses,
    contradictions,
    weak_evidence,
    low_confidence,
    changed_assumptions,
    tradeoffs,
    tests_to_run,
    going_in_circles,
    unopposed,
)


def run(
    cards: Iterable[CardLike],
    edges: Iterable[EdgeLike],
    trace: Iterable[Mapping[str, Any]] = (),
    signals_limit: int = 6,
    actions_limit: int = 2,
    step_tag: str | None = None,
    scope: Scope | None = None,
    workspace: str | None = None,
    toolset: str = "full",
) -> dict[str, Any] | None:
    """The engine block of a view, or None when there is nothing to say.

    `trace` holds entries as `entry_json` gives them. With a step's tag, what concerns that step comes first. Calls
    name `workspace` when one is given, and in a reduced toolset are preceded by the call that lists them.
    """
    if signals_limit == 0 and actions_limit == 0:
        return None
    linked = list(edges)
    whole = make_slice(cards, linked, trace)
    found = findings(whole, Calls(scope, workspace))
    if step_tag is not None:
        step = step_tag.removeprefix(STEP).upper()
        found = findings(narrowed(whole, step_tag, linked), Calls(scope, workspace, step)).then(found)
    if not found.signals and not found.actions:
        return None
    return _block(found, signals_limit, actions_limit, step_tag, toolset)


def findings(part: Slice, calls: Calls) -> Findings:
    """What every rule says about a slice, the most urgent first."""
    found = Findings()
    for rule in RULES:
        found += rule(part, calls)
    return found.ranked()


def _block(
    found: Findings, signals_limit: int, actions_limit: int, step_tag: str | None, toolset: str
) -> dict[str, Any]:
    signals, actions = found.signals[:signals_limit], found.actions[:actions_limit]
    stepwise = {} if step_tag is None else {"mode": "step_aware", "step_tag": step_tag}
    return {
        "version": VERSION,
        **stepwise,
        "signals": [signal.to_json() for signal in signals],
        "actions": [_disclosed(action, toolset).to_json() for action in actions],
        "signals_total": len(found.signals),
        "actions_total": len(found.actions),
        "truncated": len(signals) < len(found.signals) or len(actions) < len(found.actions),
    }


def _disclosed(action: Action, toolset: str) -> Action:
    return action.with_calls(tuple(fitted(list(action.calls), catalogue(), toolset)))
