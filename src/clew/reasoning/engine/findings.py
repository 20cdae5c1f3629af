"""The engine's findings: signals, actions with their order, and the calls that actions propose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.canonical import as_json, picked
from clew.errors import Suggestion, suggest
from clew.reasoning.cards.forms import COUNTER_PROPOSAL, OUTCOME_PROPOSAL, TEST_PROPOSAL
from clew.reasoning.engine.slice import label
from clew.reasoning.graph.state import Node
from clew.reasoning.scope import Scope

SEVERITIES = ("critical", "high", "warning", "info")
PRIORITIES = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class EngineSignal:
    code: str
    severity: str
    message: str
    refs: tuple[str, ...]
    ts_ms: int

    def rank(self) -> tuple[int, int, str, str]:
        return (SEVERITIES.index(self.severity), -self.ts_ms, self.code, self.message)

    def to_json(self) -> dict[str, Any]:
        return as_json(self, "ts_ms")


@dataclass(frozen=True, slots=True)
class EngineAction:
    kind: str
    priority: str
    title: str
    why: str
    calls: tuple[Suggestion, ...]
    ts_ms: int
    refs: tuple[str, ...] = ()
    """The cards it is about."""

    def rank(self) -> tuple[int, int, str, str]:
        return (PRIORITIES.index(self.priority), -self.ts_ms, self.kind, self.title)

    def to_json(self) -> dict[str, Any]:
        return picked(self, "kind", "priority", "title", "why", "refs", "calls")


@dataclass(frozen=True, slots=True)
class Findings:
    signals: tuple[EngineSignal, ...] = ()
    actions: tuple[EngineAction, ...] = ()

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.signals + other.signals, self.actions + other.actions)

    def ranked(self) -> Findings:
        signals = sorted(self.signals, key=EngineSignal.rank)
        return Findings(tuple(signals), tuple(sorted(self.actions, key=EngineAction.rank)))

    def then(self, others: Findings) -> Findings:
        """These findings first, then new ones of the others; equal signals and actions appear once."""
        signals: dict[tuple[str, str], EngineSignal] = {}
        actions: dict[tuple[str, str], EngineAction] = {}
        for signal in self.signals + others.signals:
            signals.setdefault((signal.code, signal.message), signal)
        for action in self.actions + others.actions:
            actions.setdefault((action.kind, action.title), action)
        return Findings(tuple(signals.values()), tuple(actions.values()))


def signal(card: Node, code: str, severity: str, message: str, *others: str) -> Findings:
    """A signal about a card, and about others that it names."""
    return Findings((EngineSignal(code, severity, message, (card.id, *others), card.last_ts_ms),))


def action(card: Node, kind: str, priority: str, title: str, why: str, *calls: Suggestion) -> Findings:
    proposed = EngineAction(kind, priority, title, why, calls, card.last_ts_ms, (card.id,))
    return Findings(actions=(proposed,))


@dataclass(frozen=True, slots=True)
class CallScope:
    """Builds proposed calls for a scope, a workspace and a step."""

    scope: Scope | None = None
    workspace: str | None = None
    step: str | None = None

    def playbook(self, name: str, reason: str, priority: str = "medium") -> Suggestion:
        return suggest("think_playbook", reason, priority, name=name, workspace=self.workspace)

    def publish(self, card: Node) -> Suggestion:
        place = self._place("ref")
        return suggest("think_publish", "Makes the decision canonical.", "medium", card_id=card.id, pin=True, **place)

    def card(
        self, card: dict[str, Any], reason: str, priority: str = "high", *, supports: str = "", blocks: str = ""
    ) -> Suggestion:
        edges = {"supports": [supports] if supports else None, "blocks": [blocks] if blocks else None}
        return suggest("think_card", reason, priority, card=card, **edges, **self._place("branch"), **self._step())

    def test_stub(self, hypothesis: Node) -> Suggestion:
        card = {"type": "test", "title": f"Test: {label(hypothesis)}", "text": TEST_PROPOSAL}
        return self.card(card, "Adds the smallest test for the hypothesis.", supports=hypothesis.id)

    def evidence(self, test: Node, command: str, priority: str) -> Suggestion:
        text = f"CMD: {command}\n{OUTCOME_PROPOSAL}"
        card = {"type": "evidence", "title": f"Result: {label(test)}", "text": text}
        return self.card(card, "Keeps the result once the command has been run.", priority, supports=test.id)

    def disambiguation(self, card: Node) -> Suggestion:
        text = "Which single test gives one outcome if it holds and another if it does not?"
        question = {"type": "question", "title": f"What decides it: {label(card)}", "text": text}
        return self.card(question, "Asks for the test that decides between both sides.")

    def recheck(self, assumption: Node, user: Node) -> Suggestion:
        text = f"{assumption.id} is {assumption.status} and {user.id} still rests on it. Does {user.id} hold?"
        meta = {"recheck": {"assumption": assumption.id, "used_by": user.id}}
        update = {"type": "update", "title": f"Recheck: {label(assumption)}", "text": text, "meta": meta}
        return self.card(update, "Notes that what rests on the assumption must be looked at again.", "medium")

    def counter(self, card: Node) -> Suggestion:
        title = f"Counter: {label(card)}"
        position = {"type": "hypothesis", "title": title, "text": COUNTER_PROPOSAL, "tags": ["counter"]}
        return self.card(position, "States the strongest opposite position.", "medium", blocks=card.id)

    def _place(self, branch_field: str) -> dict[str, Any]:
        if self.scope is None:
            return {"workspace": self.workspace}
        if self.scope.target is not None:
            return {"workspace": self.workspace, "target": self.scope.target}
        docs = {"graph_doc": self.scope.graph, "trace_doc": self.scope.trace}
        return {"workspace": self.workspace, branch_field: self.scope.branch.name, **docs}

    def _step(self) -> dict[str, Any]:
        """The step argument; left out without a target, because a step belongs to a task."""
        known = self.step is not None and self.scope is not None and self.scope.target is not None
        return {"step": self.step} if known else {}
