"""The rules of the engine, each a function from a slice of cards to findings, and `run`, which applies them all.

The codes and limits are BranchMind's; clients of the seed know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from clew.errors import shorten
from clew.reasoning.engine.findings import CallScope, EngineAction, EngineSignal, Findings, action, signal
from clew.reasoning.engine.slice import (
    DAY_MS,
    CardSlice,
    RunnableTest,
    confidence,
    evidence_score,
    is_active,
    is_open,
    label,
    make_slice,
    narrowed,
    pinned,
    runnable_tests,
)
from clew.reasoning.graph.state import Edge, Node
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import AGENT_LANE, DRAFT, PUBLISHED, SHARED_LANE, STEP
from clew.registry.catalogue import catalogue
from clew.registry.suggestions import fitted

# Limits of BranchMind's engine v0.5.
RECENT_MS = 14 * DAY_MS
MOST_UNPUBLISHED, MOST_UNTESTED, MOST_CONTRADICTIONS = 8, 12, 10
LOW_DECISION, LOW_HYPOTHESIS = 0.55, 0.45


def unpublished_decisions(part: CardSlice, calls: CallScope) -> Findings:
    found = Findings()
    why = "Drafts are hidden from whoever resumes this work."
    for card in [card for card in part.of_type("decision") if _unpublished(part, card)][:MOST_UNPUBLISHED]:
        message = f"Decision is still a draft: {label(card)}"
        found += signal(card, "BM_LANE_DECISION_NOT_PUBLISHED", "warning", message)
        found += action(card, "publish_decision", "medium", f"Publish: {label(card)}", why, calls.publish(card))
    return found


def _unpublished(part: CardSlice, card: Node) -> bool:
    lane = any(tag.startswith(AGENT_LANE) for tag in card.tags) and SHARED_LANE not in card.tags
    if not (DRAFT in card.tags or lane) or card.id.startswith(PUBLISHED) or PUBLISHED + card.id in part.by_id:
        return False
    # Old unpinned drafts are ignored: naming them forever would be noise.
    return pinned(card) or part.now_ms - card.last_ts_ms <= RECENT_MS


def untested_hypotheses(part: CardSlice, calls: CallScope) -> Findings:
    active = [card for card in part.of_type("hypothesis") if is_active(card)]
    untested = [card for card in active if not part.supporters_of(card, "test")]
    found = Findings()
    why = "What cannot fail cannot be learned from."
    for card in untested[:MOST_UNTESTED]:
        found += signal(card, "BM4_HYPOTHESIS_NO_TEST", "high", f"Hypothesis has no test: {label(card)}")
        found += action(card, "add_test_stub", "high", f"Add a test: {label(card)}", why, calls.test_stub(card))
    for card in active:
        tests = part.supporters_of(card, "test")
        if tests and not any(part.evidence_for(item) for item in (card, *tests)):
            message = f"Hypothesis has tests and no evidence: {label(card)}"
            found += signal(card, "BM4_HYPOTHESIS_NO_EVIDENCE", "warning", message)
    return found


def contradictions(part: CardSlice, calls: CallScope) -> Findings:
    claims = [card for card in part.of_type("hypothesis", "test", "decision") if is_open(card)]
    both = [card for card in claims if part.supporters.get(card.id) and part.blockers.get(card.id)]
    found = Findings()
    why = "Both cannot hold; one decisive test tells which."
    for card in both[:MOST_CONTRADICTIONS]:
        sides = sorted(item.id for item in (*part.supporters[card.id], *part.blockers[card.id]))
        message = f"Supported and blocked at once: {label(card)}"
        found += signal(card, "BM1_CONTRADICTION_SUPPORTS_BLOCKS", "high", message, *sides)
        guide = calls.playbook("contradiction", "Leads through deciding between both sides.", "high")
        proposed = (guide, calls.disambiguation(card))
        found += action(card, "resolve_contradiction", "high", f"Resolve: {label(card)}", why, *proposed)
    return found


def low_confidence(part: CardSlice, calls: CallScope) -> Findings:
    decisions = [card for card in part.of_type("decision") if pinned(card)]
    if not decisions:
        return _low_hypothesis(part)
    worth, card = _least_sure(part, decisions)
    if worth > LOW_DECISION:
        return Findings()
    message = f"Pinned decision rests on little ({worth:.2f}): {label(card)}"
    call = calls.playbook("experiment", "Leads through one decisive experiment.")
    why = "Others build on a pinned decision."
    advice = action(card, "use_playbook", "medium", "Use playbook experiment", why, call)
    return signal(card, "BM3_DECISION_LOW_CONFIDENCE", "warning", message) + advice


def _low_hypothesis(part: CardSlice) -> Findings:
    hypotheses = [card for card in part.of_type("hypothesis") if is_open(card)]
    if not hypotheses:
        return Findings()
    worth, card = _least_sure(part, hypotheses)
    if worth > LOW_HYPOTHESIS:
        return Findings()
    message = f"Open hypothesis looks unlikely ({worth:.2f}): {label(card)}"
    return signal(card, "BM3_HYPOTHESIS_LOW_CONFIDENCE", "info", message)


def _least_sure(part: CardSlice, cards: list[Node]) -> tuple[float, Node]:
    rated = [(confidence(part, card), card) for card in cards]
    # Ties are broken (newest, then id), because the same state must give the same response.
    return min(rated, key=lambda pair: (pair[0], -pair[1].last_seq, pair[1].id))


def unopposed(part: CardSlice, calls: CallScope) -> Findings:
    claims = [card for card in part.of_type("hypothesis", "decision") if is_active(card) and "counter" not in card.tags]
    lonely = [card for card in claims if part.supporters.get(card.id) and not part.blockers.get(card.id)]
    if not lonely:
        return Findings()
    card = min(lonely, key=lambda card: (-len(part.supporters[card.id]), -card.last_seq, card.id))
    proposed = (calls.playbook("skeptic", "Leads through the case against it."), calls.counter(card))
    why = "One serious counter-position guards against seeing only what fits."
    title = f"Add a counter-position: {label(card)}"
    advice = action(card, "add_counter_hypothesis", "medium", title, why, *proposed)
    return signal(card, "BM10_NO_COUNTER_EDGES", "info", f"Nothing speaks against it yet: {label(card)}") + advice


# Also from engine v0.5, like the words that mark a trade-off.
ENOUGH_SCORE, MOST_WEAK = 60, 2
TRACE_WINDOW, MANY_CARDS = 12, 6
TRADEOFF = (" vs ", " versus ", "tradeoff", "trade-off", "a/b")


def weak_evidence(part: CardSlice, calls: CallScope) -> Findings:
    rated = [(evidence_score(part, card), card) for card in part.of_type("evidence") if _matters(part, card)]
    weak = [(score, card) for score, card in rated if score < ENOUGH_SCORE]
    weak.sort(key=lambda pair: (pair[0], -pair[1].last_seq, pair[1].id))
    found = Findings()
    for score, card in weak[:MOST_WEAK]:
        message = f"Evidence is weak ({score} of 100; add CMD: and LINK: lines): {label(card)}"
        found += signal(card, "BM2_EVIDENCE_WEAK", "warning", message)
    return found


def _matters(part: CardSlice, card: Node) -> bool:
    linked = [*part.supported.get(card.id, []), *part.blocked.get(card.id, [])]
    return pinned(card) or any(item.type == "decision" and pinned(item) for item in linked)


def changed_assumptions(part: CardSlice, calls: CallScope) -> Findings:
    # One is enough. The first card is the newest, and the next call finds the next one.
    for card in part.cards:
        users = _users_of(part, card) if "assumption" in card.tags and not is_open(card) else []
        if users:
            user = users[0]
            message = f"Assumption is {card.status} and still carries {label(user)}: {label(card)}"
            why = "When a premise changes, what was built on it may fall."
            title, call = f"Recheck what rests on: {label(card)}", calls.recheck(card, user)
            advice = action(card, "recheck_assumption", "medium", title, why, call)
            return signal(card, "BM6_ASSUMPTION_NOT_OPEN_BUT_USED", "warning", message, user.id) + advice
    return Findings()


def _users_of(part: CardSlice, card: Node) -> list[Node]:
    used = [item for item in part.supported.get(card.id, []) if item.type in {"decision", "hypothesis"}]
    return sorted((item for item in used if pinned(item) or is_open(item)), key=lambda item: (-item.last_seq, item.id))


def tradeoffs(part: CardSlice, calls: CallScope) -> Findings:
    for card in part.of_type("question", "decision"):
        # Padded with blanks, so that ` vs ` is also found at the beginning and at the end.
        words = f" {card.title or ''} {card.text or ''} ".lower()
        if is_open(card) and any(mark in words for mark in TRADEOFF):
            call = calls.playbook("criteria_matrix", "Weighs the options by criteria.", "low")
            why = f"Two options stand against each other: {label(card)}"
            title = "Use playbook criteria_matrix"
            return action(card, "use_playbook", "low", title, why, call)
    return Findings()


def tests_to_run(part: CardSlice, calls: CallScope) -> Findings:
    tests = runnable_tests(part)
    if not tests:
        return Findings()
    first = tests[0]
    if first.fresh:
        refs = tuple(test.card.id for test in tests)
        message = f"All runnable tests have fresh evidence ({len(tests)})"
        newest = max(test.card.last_ts_ms for test in tests)
        return Findings((EngineSignal("BM5_RUNNABLE_TESTS_FRESH", "info", message, refs, newest),))
    if first.last_evidence_ms is None:
        return _run(first, calls, "high", "It has never been run.")
    message = f"Evidence is older than the test allows: {label(first.card)}"
    advice = _run(first, calls, "medium", "Its last result is out of date.")
    return signal(first.card, "BM8_EVIDENCE_STALE", "warning", message) + advice


def _run(test: RunnableTest, calls: CallScope, priority: str, why: str) -> Findings:
    call = calls.evidence(test.card, test.command, priority)
    return action(test.card, "run_test", priority, f"Run: {shorten(test.command, 64)}", why, call)


def going_in_circles(part: CardSlice, calls: CallScope) -> Findings:
    window = sorted(part.trace, key=lambda entry: entry["seq"])[-TRACE_WINDOW:]
    cards = [entry for entry in window if entry.get("format") == "think_card"]
    progress = any(_is_progress(entry) for entry in window)
    # At least half of the last dozen entries are cards, without evidence or a decision among them.
    if len(cards) < MANY_CARDS or progress:
        return Findings()
    message = f"{len(cards)} of the last {len(window)} trace entries are cards and none is evidence or a decision"
    newest = int(window[-1]["ts_ms"])
    stuck = EngineSignal("BM10_STUCK_NO_EVIDENCE", "warning", message, (), newest)
    proposed = (
        calls.playbook("debug", "Leads back to something that can be measured."),
        calls.playbook("breakthrough", "Looks at the problem from other sides."),
    )
    why = "More thinking without a result rarely helps."
    advice = EngineAction("use_playbook", "medium", "Use playbook debug", why, proposed, newest)
    return Findings((stuck,), (advice,))


def _is_progress(entry: Mapping[str, Any]) -> bool:
    if entry.get("event_type") == "evidence_captured":
        return True
    meta = entry.get("meta")
    return isinstance(meta, Mapping) and meta.get("type") in {"evidence", "decision"}


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
    cards: Iterable[Node],
    edges: Iterable[Edge],
    trace: Iterable[Mapping[str, Any]] = (),
    signals_limit: int = 6,
    actions_limit: int = 2,
    step_tag: str | None = None,
    scope: Scope | None = None,
    workspace: str | None = None,
    toolset: str = "full",
) -> dict[str, Any] | None:
    """The engine block of a view; None if there are no findings.

    `trace` holds entries as `entry_json` gives them. With `step_tag`, findings about that step come first. Calls name
    `workspace` if one is given, and in a reduced toolset they follow the call that lists them.
    """
    if signals_limit == 0 and actions_limit == 0:
        return None
    linked = list(edges)
    whole = make_slice(cards, linked, trace)
    found = findings(whole, CallScope(scope, workspace))
    if step_tag is not None:
        step = step_tag.removeprefix(STEP).upper()
        # The rules run twice, because some stop at their first finding, which may not be one of the step.
        found = findings(narrowed(whole, step_tag, linked), CallScope(scope, workspace, step)).then(found)
    if not found.signals and not found.actions:
        return None
    return _block(found, signals_limit, actions_limit, step_tag, toolset)


def findings(part: CardSlice, calls: CallScope) -> Findings:
    """The findings of all rules about a slice, the most urgent first."""
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
        "signals": [item.to_json() for item in signals],
        "actions": [_fit_toolset(item, toolset).to_json() for item in actions],
        "signals_total": len(found.signals),
        "actions_total": len(found.actions),
        "truncated": len(signals) < len(found.signals) or len(actions) < len(found.actions),
    }


def _fit_toolset(found: EngineAction, toolset: str) -> EngineAction:
    return replace(found, calls=tuple(fitted(list(found.calls), catalogue(), toolset)))
