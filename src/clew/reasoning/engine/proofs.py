"""Signals about evidence, runnable tests, assumptions, trade-offs and going in circles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.reasoning.engine.calls import Calls
from clew.reasoning.engine.findings import Action, Findings, Signal
from clew.reasoning.engine.receipts import RunnableTest, evidence_score, runnable_tests
from clew.reasoning.engine.slice import CardLike, Slice, is_open, label, pinned

ENOUGH_SCORE, MOST_WEAK = 60, 2
TRACE_WINDOW, MANY_CARDS = 12, 6
TRADEOFF = (" vs ", " versus ", "tradeoff", "trade-off", "a/b")


def weak_evidence(part: Slice, calls: Calls) -> Findings:
    rated = [(evidence_score(part, card), card) for card in part.of_type("evidence") if _matters(part, card)]
    weak = [(score, card) for score, card in rated if score < ENOUGH_SCORE]
    weak.sort(key=lambda pair: (pair[0], -pair[1].last_seq, pair[1].id))
    return Findings(tuple(_weak(score, card) for score, card in weak[:MOST_WEAK]))


def _matters(part: Slice, card: CardLike) -> bool:
    linked = [*part.supported.get(card.id, []), *part.blocked.get(card.id, [])]
    return pinned(card) or any(item.type == "decision" and pinned(item) for item in linked)


def _weak(score: int, card: CardLike) -> Signal:
    message = f"Evidence is weak ({score} of 100; add CMD: and LINK: lines): {label(card)}"
    return Signal("BM2_EVIDENCE_WEAK", "warning", message, (card.id,), card.last_ts_ms)


def changed_assumptions(part: Slice, calls: Calls) -> Findings:
    for card in part.cards:
        users = _users_of(part, card) if "assumption" in card.tags and not is_open(card) else []
        if users:
            user = users[0]
            message = f"Assumption is {card.status} and still carries {label(user)}: {label(card)}"
            signal = Signal("BM6_ASSUMPTION_NOT_OPEN_BUT_USED", "warning", message, (card.id, user.id), card.last_ts_ms)
            call = calls.recheck(card, user)
            title = f"Recheck what rests on: {label(card)}"
            why = "When a premise changes, what was built on it may fall."
            return Findings((signal,), (Action("recheck_assumption", "medium", title, why, (call,), card.last_ts_ms),))
    return Findings()


def _users_of(part: Slice, card: CardLike) -> list[CardLike]:
    used = [item for item in part.supported.get(card.id, []) if item.type in {"decision", "hypothesis"}]
    return sorted((item for item in used if pinned(item) or is_open(item)), key=lambda item: (-item.last_seq, item.id))


def tradeoffs(part: Slice, calls: Calls) -> Findings:
    for card in part.of_type("question", "decision"):
        words = f" {card.title or ''} {card.text or ''} ".lower()
        if is_open(card) and any(mark in words for mark in TRADEOFF):
            call = calls.playbook("criteria_matrix", "Weighs the options by criteria.", "low")
            why = f"Two options stand against each other: {label(card)}"
            title = "Use playbook criteria_matrix"
            return Findings((), (Action("use_playbook", "low", title, why, (call,), card.last_ts_ms),))
    return Findings()


def tests_to_run(part: Slice, calls: Calls) -> Findings:
    tests = runnable_tests(part)
    if not tests:
        return Findings()
    first = tests[0]
    if first.fresh:
        refs = tuple(test.card.id for test in tests)
        message = f"All runnable tests have fresh evidence ({len(tests)})"
        newest = max(test.card.last_ts_ms for test in tests)
        return Findings((Signal("BM5_RUNNABLE_TESTS_FRESH", "info", message, refs, newest),))
    if first.last_evidence_ms is None:
        return Findings((), (_run(first, calls, "high", "It has never been run."),))
    message = f"Evidence is older than the test allows: {label(first.card)}"
    signal = Signal("BM8_EVIDENCE_STALE", "warning", message, (first.card.id,), first.card.last_ts_ms)
    return Findings((signal,), (_run(first, calls, "medium", "Its last result is out of date."),))


def _run(test: RunnableTest, calls: Calls, priority: str, why: str) -> Action:
    call = calls.evidence(test.card, test.command, priority)
    title = f"Run: {test.command if len(test.command) <= 64 else test.command[:63] + '…'}"
    return Action("run_test", priority, title, why, (call,), test.card.last_ts_ms)


def going_in_circles(part: Slice, calls: Calls) -> Findings:
    window = sorted(part.trace, key=lambda entry: entry["seq"])[-TRACE_WINDOW:]
    cards = [entry for entry in window if entry.get("format") == "think_card"]
    progress = any(_is_progress(entry) for entry in window)
    if len(cards) < MANY_CARDS or progress:
        return Findings()
    message = f"{len(cards)} of the last {len(window)} trace entries are cards and none is evidence or a decision"
    newest = int(window[-1]["ts_ms"])
    signal = Signal("BM10_STUCK_NO_EVIDENCE", "warning", message, (), newest)
    proposed = (
        calls.playbook("debug", "Leads back to something that can be measured."),
        calls.playbook("breakthrough", "Looks at the problem from other sides."),
    )
    why = "More thinking without a result rarely helps."
    return Findings((signal,), (Action("use_playbook", "medium", "Use playbook debug", why, proposed, newest),))


def _is_progress(entry: Mapping[str, Any]) -> bool:
    if entry.get("event_type") == "evidence_captured":
        return True
    meta = entry.get("meta")
    return isinstance(meta, Mapping) and meta.get("type") in {"evidence", "decision"}
