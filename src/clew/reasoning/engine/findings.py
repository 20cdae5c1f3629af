"""The two things the engine says, and their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from clew.errors import Suggestion

SEVERITIES = ("critical", "high", "warning", "info")
PRIORITIES = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Signal:
    code: str
    severity: str
    message: str
    refs: tuple[str, ...]
    ts_ms: int

    def rank(self) -> tuple[int, int, str, str]:
        return (SEVERITIES.index(self.severity), -self.ts_ms, self.code, self.message)

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "severity": self.severity, "message": self.message, "refs": list(self.refs)}


@dataclass(frozen=True, slots=True)
class Action:
    kind: str
    priority: str
    title: str
    why: str
    calls: tuple[Suggestion, ...]
    ts_ms: int

    def rank(self) -> tuple[int, int, str, str]:
        return (PRIORITIES.index(self.priority), -self.ts_ms, self.kind, self.title)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "priority": self.priority,
            "title": self.title,
            "why": self.why,
            "calls": list(self.calls),
        }

    def with_calls(self, calls: tuple[Suggestion, ...]) -> Action:
        return replace(self, calls=calls)


@dataclass(frozen=True, slots=True)
class Findings:
    signals: tuple[Signal, ...] = ()
    actions: tuple[Action, ...] = ()

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.signals + other.signals, self.actions + other.actions)

    def ranked(self) -> Findings:
        return Findings(tuple(sorted(self.signals, key=Signal.rank)), tuple(sorted(self.actions, key=Action.rank)))

    def then(self, others: Findings) -> Findings:
        """These first, then what the others add; the same remark or advice is made once."""
        signals: dict[tuple[str, str], Signal] = {}
        actions: dict[tuple[str, str], Action] = {}
        for signal in self.signals + others.signals:
            signals.setdefault((signal.code, signal.message), signal)
        for action in self.actions + others.actions:
            actions.setdefault((action.kind, action.title), action)
        return Findings(tuple(signals.values()), tuple(actions.values()))
