"""What a card offers as proof or as a way to get it: command and link receipts, a runnable command, their age."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clew.reasoning.engine.slice import PLACEHOLDER, CardLike, Slice, is_open, pinned

DAY_MS = 86_400_000
DEFAULT_STALE_DAYS = 30
MOST_STALE_DAYS = 3650


def receipt(text: str | None, tag: str) -> str | None:
    """The first `CMD:` or `LINK:` line that holds more than a placeholder."""
    for line in (text or "").splitlines():
        stripped = line.strip().lstrip("-*+• ").strip()
        if stripped[: len(tag)].upper() == tag:
            value = stripped[len(tag) :].strip()
            if value and PLACEHOLDER not in value.lower():
                return value
    return None


def command_of(card: CardLike) -> str | None:
    """The command that runs a test: `meta.run.cmd`, `meta.cmd`, the same under `meta.meta`, or a `CMD:` line."""
    meta = card.meta or {}
    for level in (meta, _inner(meta, "meta")):
        for value in (_inner(level, "run").get("cmd"), level.get("cmd")):
            if isinstance(value, str) and value.strip() and PLACEHOLDER not in value.lower():
                return value.strip()
    return receipt(card.text, "CMD:")


def evidence_score(part: Slice, card: CardLike) -> int:
    """0 to 90: receipts, where it came from, and what it is linked to."""
    score = 25 * bool(receipt(card.text, "CMD:")) + 25 * bool(receipt(card.text, "LINK:"))
    score += {"ci": 20, "local": 10}.get(_source(card), 0)
    linked = {item.type for item in [*part.supported.get(card.id, []), *part.blocked.get(card.id, [])]}
    if "test" in linked:
        return score + 20
    return score + (10 if linked & {"hypothesis", "decision"} else 0)


@dataclass(frozen=True, slots=True)
class RunnableTest:
    card: CardLike
    command: str
    last_evidence_ms: int | None
    stale: bool

    @property
    def fresh(self) -> bool:
        return self.last_evidence_ms is not None and not self.stale


def runnable_tests(part: Slice) -> list[RunnableTest]:
    """Open tests with a command: never run first, then stale ones, then fresh ones; pinned and newest first."""
    found = []
    for card in part.of_type("test"):
        command = command_of(card)
        if command is not None and is_open(card):
            found.append(_runnable(part, card, command))
    return sorted(found, key=_urgency)


def _runnable(part: Slice, card: CardLike, command: str) -> RunnableTest:
    last = max((item.last_ts_ms for item in part.evidence_for(card)), default=None)
    stale = last is not None and part.now_ms - last > stale_after_ms(card.meta)
    return RunnableTest(card, command, last, stale)


def _urgency(test: RunnableTest) -> tuple[int, int, int, str]:
    rank = 0 if test.last_evidence_ms is None else 1 if test.stale else 2
    return (rank, 0 if pinned(test.card) else 1, -test.card.last_seq, test.card.id)


def stale_after_ms(meta: Mapping[str, Any] | None) -> int:
    found = meta or {}
    exact, days = found.get("stale_after_ms"), found.get("stale_after_days")
    if isinstance(exact, int) and not isinstance(exact, bool) and exact >= 0:
        return exact
    if isinstance(days, int) and not isinstance(days, bool) and 0 <= days <= MOST_STALE_DAYS:
        return days * DAY_MS
    return DEFAULT_STALE_DAYS * DAY_MS


def _source(card: CardLike) -> str:
    meta = card.meta or {}
    named = meta.get("source") or _inner(meta, "run").get("source") or ""
    return named.strip().lower() if isinstance(named, str) else ""


def _inner(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}
