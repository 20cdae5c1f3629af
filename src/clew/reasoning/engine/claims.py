"""Signals about hypotheses and decisions: untested, contradicted, unpublished, uncertain, unopposed."""

from __future__ import annotations

from clew.reasoning.engine.calls import Calls
from clew.reasoning.engine.confidence import confidence
from clew.reasoning.engine.findings import Action, Findings, Signal
from clew.reasoning.engine.receipts import DAY_MS
from clew.reasoning.engine.slice import CardLike, Slice, is_active, is_open, label, pinned
from clew.reasoning.visibility import AGENT_LANE, DRAFT, PUBLISHED, SHARED_LANE

RECENT_MS = 14 * DAY_MS
MOST_UNPUBLISHED, MOST_UNTESTED, MOST_CONTRADICTIONS = 8, 12, 10
LOW_DECISION, LOW_HYPOTHESIS = 0.55, 0.45


def unpublished_decisions(part: Slice, calls: Calls) -> Findings:
    found = Findings()
    for card in [card for card in part.of_type("decision") if _unpublished(part, card)][:MOST_UNPUBLISHED]:
        message = f"Decision is still a draft: {label(card)}"
        signal = Signal("BM_LANE_DECISION_NOT_PUBLISHED", "warning", message, (card.id,), card.last_ts_ms)
        why = "Drafts are hidden from whoever resumes this work."
        call = calls.publish(card)
        action = Action("publish_decision", "medium", f"Publish: {label(card)}", why, (call,), card.last_ts_ms)
        found += Findings((signal,), (action,))
    return found


def _unpublished(part: Slice, card: CardLike) -> bool:
    lane = any(tag.startswith(AGENT_LANE) for tag in card.tags) and SHARED_LANE not in card.tags
    if not (DRAFT in card.tags or lane) or card.id.startswith(PUBLISHED) or PUBLISHED + card.id in part.by_id:
        return False
    return pinned(card) or part.now_ms - card.last_ts_ms <= RECENT_MS


def untested_hypotheses(part: Slice, calls: Calls) -> Findings:
    active = [card for card in part.of_type("hypothesis") if is_active(card)]
    untested = [card for card in active if not part.supporters_of(card, "test")]
    found = Findings()
    for card in untested[:MOST_UNTESTED]:
        message = f"Hypothesis has no test: {label(card)}"
        signal = Signal("BM4_HYPOTHESIS_NO_TEST", "high", message, (card.id,), card.last_ts_ms)
        why = "What cannot fail cannot be learned from."
        call = calls.test_stub(card)
        action = Action("add_test_stub", "high", f"Add a test: {label(card)}", why, (call,), card.last_ts_ms)
        found += Findings((signal,), (action,))
    tested = [card for card in active if part.supporters_of(card, "test")]
    return found + Findings(tuple(_unproven(card) for card in tested if not _has_evidence(part, card)))


def _has_evidence(part: Slice, card: CardLike) -> bool:
    tests = part.supporters_of(card, "test")
    return bool(part.evidence_for(card)) or any(part.evidence_for(test) for test in tests)


def _unproven(card: CardLike) -> Signal:
    message = f"Hypothesis has tests and no evidence: {label(card)}"
    return Signal("BM4_HYPOTHESIS_NO_EVIDENCE", "warning", message, (card.id,), card.last_ts_ms)


def contradictions(part: Slice, calls: Calls) -> Findings:
    claims = [card for card in part.of_type("hypothesis", "test", "decision") if is_open(card)]
    both = [card for card in claims if part.supporters.get(card.id) and part.blockers.get(card.id)]
    found = Findings()
    for card in both[:MOST_CONTRADICTIONS]:
        sides = [*part.supporters[card.id], *part.blockers[card.id]]
        refs = (card.id, *sorted(item.id for item in sides))
        message = f"Supported and blocked at once: {label(card)}"
        signal = Signal("BM1_CONTRADICTION_SUPPORTS_BLOCKS", "high", message, refs, card.last_ts_ms)
        proposed = (
            calls.playbook("contradiction", "Leads through deciding between both sides.", "high"),
            calls.disambiguation(card),
        )
        why = "Both cannot hold; one decisive test tells which."
        title = f"Resolve: {label(card)}"
        found += Findings((signal,), (Action("resolve_contradiction", "high", title, why, proposed, card.last_ts_ms),))
    return found


def low_confidence(part: Slice, calls: Calls) -> Findings:
    decisions = [card for card in part.of_type("decision") if pinned(card)]
    if not decisions:
        return _low_hypothesis(part)
    worth, card = _least_sure(part, decisions)
    if worth > LOW_DECISION:
        return Findings()
    message = f"Pinned decision rests on little ({worth:.2f}): {label(card)}"
    signal = Signal("BM3_DECISION_LOW_CONFIDENCE", "warning", message, (card.id,), card.last_ts_ms)
    call = calls.playbook("experiment", "Leads through one decisive experiment.")
    why = "Others build on a pinned decision."
    return Findings(
        (signal,), (Action("use_playbook", "medium", "Use playbook experiment", why, (call,), card.last_ts_ms),)
    )


def _low_hypothesis(part: Slice) -> Findings:
    hypotheses = [card for card in part.of_type("hypothesis") if is_open(card)]
    if not hypotheses:
        return Findings()
    worth, card = _least_sure(part, hypotheses)
    if worth > LOW_HYPOTHESIS:
        return Findings()
    message = f"Open hypothesis looks unlikely ({worth:.2f}): {label(card)}"
    return Findings((Signal("BM3_HYPOTHESIS_LOW_CONFIDENCE", "info", message, (card.id,), card.last_ts_ms),))


def _least_sure(part: Slice, cards: list[CardLike]) -> tuple[float, CardLike]:
    rated = [(confidence(part, card), card) for card in cards]
    return min(rated, key=lambda pair: (pair[0], -pair[1].last_seq, pair[1].id))


def unopposed(part: Slice, calls: Calls) -> Findings:
    claims = [card for card in part.of_type("hypothesis", "decision") if is_active(card) and "counter" not in card.tags]
    lonely = [card for card in claims if part.supporters.get(card.id) and not part.blockers.get(card.id)]
    if not lonely:
        return Findings()
    card = min(lonely, key=lambda card: (-len(part.supporters[card.id]), -card.last_seq, card.id))
    message = f"Nothing speaks against it yet: {label(card)}"
    signal = Signal("BM10_NO_COUNTER_EDGES", "info", message, (card.id,), card.last_ts_ms)
    proposed = (calls.playbook("skeptic", "Leads through the case against it."), calls.counter(card))
    why = "One serious counter-position guards against seeing only what fits."
    title = f"Add a counter-position: {label(card)}"
    return Findings((signal,), (Action("add_counter_hypothesis", "medium", title, why, proposed, card.last_ts_ms),))
