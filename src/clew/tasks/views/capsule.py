"""The capsule: the small, stable container by which someone else takes the work over. The last that a budget takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clew.reasoning.graph import Node
from clew.reasoning.scope import scope_json
from clew.reasoning.visibility import is_pinned
from clew.registry.context import Context
from clew.tasks.jobs.attention import work_state
from clew.tasks.leases import lease_json
from clew.tasks.plans import qualified_id
from clew.tasks.steps import step_tag
from clew.tasks.views.actions import Actions, actions_for, escalation
from clew.tasks.views.handoff import handoff_of
from clew.tasks.views.memory import Memory
from clew.tasks.views.subject import Subject
from clew.tasks.views.where import map_of

VERSION = 1
MOST_REFS = 4
MOST_LINES = 5


@dataclass(frozen=True, slots=True)
class Capsule:
    """The capsule with what the views around it use as well."""

    json: dict[str, Any]
    actions: Actions
    ref: str


def capsule_of(
    ctx: Context,
    subject: Subject,
    view: str,
    memory: Memory,
    radar: dict[str, Any],
    timeline: dict[str, Any],
    signals: dict[str, Any],
    graph_diff: dict[str, Any] | None,
) -> Capsule:
    cards = memory.cards.nodes
    where = _where(ctx, subject, view, cards, radar)
    actions = actions_for(ctx, subject, where["map"]["where"], cards, view != "full")
    named = {
        "map_action": actions.map,
        "map_escalation": escalation(ctx, actions.map),
        "prep_action": actions.prep,
        "prep_escalation": escalation(ctx, actions.prep),
        "action": actions.progress,
        "escalation": escalation(ctx, actions.progress),
    }
    shown = {
        name: value if isinstance(value, dict) or value is None else value.to_json(ctx) for name, value in named.items()
    }
    refs = refs_of(cards, memory)
    json = {
        "type": "handoff_capsule",
        "version": VERSION,
        "toolset": ctx.session.toolset,
        "workspace": ctx.workspace,
        "focus": ctx.ws.focus,
        "where": where,
        "target": _target(ctx, subject),
        "reasoning_ref": scope_json(subject.scope),
        "radar": radar,
        "handoff": handoff_of(ctx, subject, MOST_LINES),
        "counts": _counts(memory, timeline, signals),
        "last_event": _last(timeline),
        "graph_diff": graph_diff["summary"] if graph_diff else None,
        "map_first": actions.map_first,
        **shown,
        "refs": refs,
    }
    return Capsule(json, actions, primary_ref(subject, cards))


def primary_ref(subject: Subject, cards: Sequence[Node]) -> str:
    """The one thing to open first: a pinned frame, any pinned card, the newest card, else the work itself."""
    numbered = sorted((card for card in cards if card.id.startswith("CARD-")), key=lambda card: -card.last_seq)
    pinned = [card for card in numbered if is_pinned(card.tags)]
    frames = [card for card in pinned if card.type == "frame"]
    found = next(iter([*frames, *pinned, *numbered]), None)
    return found.id if found else subject.work.id


def refs_of(cards: Sequence[Node], memory: Memory) -> list[str]:
    """A few ids that open what was shown: pinned and newest cards, then the last note."""
    ranked = sorted(cards, key=lambda card: (not is_pinned(card.tags), -card.last_seq))
    ids = [card.id for card in ranked if card.id.startswith("CARD-")][: MOST_REFS - 1]
    notes = [f"{entry['doc']}@{entry['seq']}" for entry in memory.notes.entries[-1:]]
    return [*ids, *notes]


def _where(ctx: Context, subject: Subject, view: str, cards: Sequence[Node], radar: dict[str, Any]) -> dict[str, Any]:
    step = subject.first_open
    shown: dict[str, Any] = {"lane": {"kind": "all" if view == "audit" else "shared"}}
    if step is not None:
        lease = lease_json(subject.lease)
        shown["step_focus"] = {"step_id": step.id, "path": step.path, **({"lease": lease} if lease else {})}
    shown["map"] = map_of(cards, step_tag(step) if step else None)
    if "horizon" in radar:
        shown["horizon"] = radar["horizon"]
    work = work_state(ctx, subject.work.id)
    return {**shown, **work.to_json()} if work else shown


def _target(ctx: Context, subject: Subject) -> dict[str, Any]:
    work = subject.work
    return {
        "id": work.id,
        "qualified_id": qualified_id(ctx, work.id),
        "kind": work.kind,
        "parent": work.parent,
        "revision": work.revision,
        "status": work.status,
        "title": work.title,
    }


def _counts(memory: Memory, timeline: dict[str, Any], signals: dict[str, Any]) -> dict[str, Any]:
    pages = {
        "notes": memory.notes.to_json()["pagination"],
        "trace": memory.trace.to_json()["pagination"],
        "cards": memory.cards.page(),
    }
    counted = {name: {"count": page["count"], "has_more": page["has_more"]} for name, page in pages.items()}
    return {**counted, "signals": signals["stats"], "timeline_events": len(timeline["events"])}


def _last(timeline: dict[str, Any]) -> dict[str, Any] | None:
    events = timeline["events"]
    return {name: events[-1][name] for name in ("event_id", "ts", "ts_ms", "type", "path")} if events else None
