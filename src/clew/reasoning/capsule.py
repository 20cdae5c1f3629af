"""The capsule of a pack: where we are, why it matters, what to do next. The last thing that a small budget takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.reasoning import engine
from clew.reasoning.engine.slice import is_open, label
from clew.reasoning.graph import Edge, Node
from clew.reasoning.scope import Scope
from clew.reasoning.steps import StepFocus
from clew.reasoning.visibility import is_draft, is_pinned, lane_of
from clew.registry.context import Context

VERSION = 1
MOST_SIGNALS = 3
MOST_IN_LANE = 3


def default_workspace(ctx: Context) -> str | None:
    """The workspace that a pasted call must name: only one that is not the default anyway."""
    default = ctx.session.workspace_override or ctx.settings.workspace
    return None if ctx.workspace == default else ctx.workspace


def engine_block(
    ctx: Context,
    scope: Scope,
    cards: Sequence[Node],
    edges: Sequence[Edge],
    trace: Sequence[dict[str, Any]],
    limits: tuple[int, int],
    step: StepFocus | None = None,
) -> dict[str, Any] | None:
    """What the engine says about a slice that this call shows."""
    return engine.run(
        cards,
        edges,
        trace,
        *limits,
        step_tag=step.tag if step else None,
        scope=scope,
        workspace=default_workspace(ctx),
        toolset=ctx.session.toolset,
    )


def capsule(
    ctx: Context,
    kind: str,
    scope: Scope,
    docs: dict[str, str],
    drafts: bool,
    step: StepFocus | None,
    block: dict[str, Any] | None,
) -> dict[str, Any]:
    found = block or {"signals": [], "actions": []}
    actions = [_brief(action) for action in found["actions"][:2]]
    return {
        "type": kind,
        "version": VERSION,
        "where": {
            "workspace": ctx.workspace,
            "branch": scope.branch.name,
            "docs": docs,
            "target": scope.target,
            "lane": {"kind": "all" if drafts else "shared"},
            "step": step.to_json() if step else None,
        },
        "why": {"signals": [_signal(signal) for signal in found["signals"][:MOST_SIGNALS]]},
        "next": {"primary": actions[0] if actions else None, "backup": actions[1] if len(actions) > 1 else None},
    }


def _signal(signal: dict[str, Any]) -> dict[str, Any]:
    return {name: signal[name] for name in ("code", "severity", "message")}


def _brief(action: dict[str, Any]) -> dict[str, Any]:
    calls = [call for call in action["calls"] if call["action"] == "call_tool"]
    return {
        "kind": action["kind"],
        "priority": action["priority"],
        "title": action["title"],
        "call": {"target": calls[-1]["target"], "params": calls[-1]["params"]} if calls else None,
    }


def lane_summary(cards: Sequence[Node]) -> dict[str, Any]:
    """Counts and the foremost pinned and open cards for each lane of a slice."""
    lanes: dict[str, list[Node]] = {}
    for card in cards:
        lanes.setdefault(lane_of(card.tags), []).append(card)
    return {"lanes": [_lane(name, lanes[name]) for name in sorted(lanes)], "count": len(lanes)}


def _lane(name: str, cards: list[Node]) -> dict[str, Any]:
    pinned = [card for card in cards if is_pinned(card.tags)]
    opened = [card for card in cards if is_open(card)]
    return {
        "lane": name,
        "counts": {
            "cards": len(cards),
            "pinned": len(pinned),
            "open": len(opened),
            "drafts": sum(is_draft(card.tags) for card in cards),
        },
        "top_pinned": [_named(card) for card in pinned[:MOST_IN_LANE]],
        "top_open": [_named(card) for card in opened[:MOST_IN_LANE]],
    }


def _named(card: Node) -> dict[str, str]:
    return {"id": card.id, "type": card.type, "label": label(card)}
