"""Decisions, evidence and blockers: the few things a newcomer has to know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.errors import shorten
from clew.reasoning.cards.selection import Lens, newest
from clew.reasoning.engine.slice import label
from clew.reasoning.graph import Node
from clew.reasoning.premises import suspects
from clew.registry.context import Context
from clew.registry.lines import one_line
from clew.tasks.evidence import Evidence, evidence_of
from clew.tasks.views.radar import blockers_of, plan_blockers
from clew.tasks.views.sections import Limits
from clew.tasks.views.subject import Subject

LABEL = 140


def signals_of(ctx: Context, subject: Subject, limits: Limits, drafts: bool = False) -> dict[str, Any]:
    lens = Lens(drafts)
    decisions = newest(ctx, subject.scope, lens, "decision", limits.decisions)
    cards = newest(ctx, subject.scope, lens, "evidence", limits.evidence)
    captured = evidence_of(ctx, subject.work.id, limits.evidence) if limits.evidence else []
    blockers = blockers_of(subject) if subject.work.is_task else plan_blockers(ctx, subject.work.id)
    doubts = suspects(ctx, subject.scope, [card.id for card in [*decisions, *cards]])
    named = {card.id: _card(card) for card in [*decisions, *cards]}
    for id, doubt in doubts.items():
        named[id]["suspect"] = doubt.to_json()
    shown: dict[str, list[Any]] = {
        "blockers": blockers[: limits.blockers],
        "decisions": [named[card.id] for card in decisions],
        "evidence": _newest([*(named[card.id] for card in cards), *map(_captured, captured)], limits.evidence),
    }
    return {**shown, "stats": {name: len(items) for name, items in shown.items()}}


def _newest(items: Sequence[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    return sorted(items, key=lambda item: (-item["last_seq"], item["id"]))[:limit]


def _card(card: Node) -> dict[str, Any]:
    return {
        "id": card.id,
        "type": card.type,
        "label": label(card),
        "status": card.status,
        "last_seq": card.last_seq,
    }


def _captured(item: Evidence) -> dict[str, Any]:
    """A receipt or artifact that was captured for a step, beside the cards that speak of evidence."""
    return {
        "id": item.id,
        "type": item.kind,
        "label": shorten(one_line(item.text), LABEL),
        "status": "proof" if item.proves else "failed",
        "path": item.path,
        "last_seq": item.seq,
    }
