"""Parts that packs and views share: the capsule, the engine block, lane summaries and slices of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.canonical import Json, picked
from clew.reasoning import engine
from clew.reasoning.cards.card_selection import Lens
from clew.reasoning.documents import entries_json, tail, view
from clew.reasoning.engine.slice import is_open, label
from clew.reasoning.graph import Edge, Node
from clew.reasoning.scope import Scope, StepFocus
from clew.reasoning.sequential import following, sequential_graph
from clew.reasoning.visibility import is_draft, is_pinned, lane_of
from clew.registry.budget import Clip, Drop, Step
from clew.registry.context import Context
from clew.registry.envelope import page_json

VERSION = 1
MOST_SIGNALS = 3
MOST_IN_LANE = 3


def default_workspace(ctx: Context) -> str | None:
    """The workspace that a pasted call must name; None if it is the default anyway."""
    default = ctx.connection.workspace_override or ctx.settings.workspace
    return None if ctx.workspace == default else ctx.workspace


def engine_block(
    ctx: Context,
    scope: Scope,
    cards: Sequence[Node],
    edges: Sequence[Edge],
    trace: Sequence[Json],
    limits: tuple[int, int],
    step: StepFocus | None = None,
) -> Json | None:
    """The engine's findings about the cards and entries that this call shows."""
    return engine.run(
        cards,
        edges,
        trace,
        *limits,
        step_tag=step.tag if step else None,
        scope=scope,
        workspace=default_workspace(ctx),
        toolset=ctx.connection.toolset,
    )


def capsule(
    ctx: Context,
    kind: str,
    scope: Scope,
    docs: dict[str, str],
    drafts: bool,
    step: StepFocus | None,
    block: Json | None,
) -> Json:
    found = block or {"signals": [], "actions": []}
    actions = [_brief(action) for action in found["actions"][:2]]
    names = ("code", "severity", "message")
    signals = [{name: signal[name] for name in names} for signal in found["signals"][:MOST_SIGNALS]]
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
        "why": {"signals": signals},
        "next": {"primary": actions[0] if actions else None, "backup": actions[1] if len(actions) > 1 else None},
    }


def _brief(action: Json) -> Json:
    """The action with its last call only, because earlier calls just prepare it."""
    return {**action, "calls": [call for call in action["calls"] if call["action"] == "call_tool"][-1:]}


def card_words(card: Node) -> Json:
    """Title, text and tags of a decision or a piece of evidence, in addition to its label."""
    return picked(card, "title", "text", "tags")


SIGNAL_LISTS = ("signals.blockers", "signals.decisions", "signals.evidence")
SHORTER_SIGNALS: tuple[Step, ...] = tuple(Clip(f"{path}[].text", 400) for path in SIGNAL_LISTS)
"""The label contains it in one line, so a small budget shortens the whole text first."""
WORDLESS_SIGNALS: tuple[Step, ...] = tuple(
    Drop(f"{path}[].{name}") for name in ("text", "title", "tags") for path in SIGNAL_LISTS
)


def lane_summary(cards: Sequence[Node]) -> Json:
    """Counts and the first pinned and open cards for each lane of the shown cards."""
    lanes: dict[str, list[Node]] = {}
    for card in cards:
        lanes.setdefault(lane_of(card.tags), []).append(card)
    return {"lanes": [_lane(name, lanes[name]) for name in sorted(lanes)], "count": len(lanes)}


def _lane(name: str, cards: list[Node]) -> Json:
    pinned = [card for card in cards if is_pinned(card.tags)]
    opened = [card for card in cards if is_open(card)]
    drafts = sum(is_draft(card.tags) for card in cards)
    return {
        "lane": name,
        "counts": {"cards": len(cards), "pinned": len(pinned), "open": len(opened), "drafts": drafts},
        "top_pinned": [_card_ref(card) for card in pinned[:MOST_IN_LANE]],
        "top_open": [_card_ref(card) for card in opened[:MOST_IN_LANE]],
    }


def _card_ref(card: Node) -> dict[str, str]:
    return {"id": card.id, "type": card.type, "label": label(card)}


SPARE = 10
MOST_SCANNED = 2000
"""How many entries a slice searches for visible ones; beyond that it reports that there may be more."""


SEQUENTIAL_FOLLOWS = following("trace.entries", "trace.sequential")


@dataclass(frozen=True, slots=True)
class EntrySlice:
    """Entries as JSON, oldest first."""

    entries: list[Json]
    has_more: bool
    limit: int

    def to_json(self) -> Json:
        cursor = self.entries[0]["seq"] if self.has_more and self.entries else None
        page = {**page_json(None, self.limit, len(self.entries), cursor), "has_more": self.has_more}
        return {"entries": self.entries, "pagination": page}

    def trace_json(self) -> Json:
        """The same with the branches of its numbered thoughts."""
        return {**self.to_json(), "sequential": sequential_graph(self.entries)}


def entry_slice(ctx: Context, scope: Scope, doc: str, limit: int, lens: Lens) -> EntrySlice:
    """The newest `limit` entries of a document that the lens shows."""
    if limit == 0:
        return EntrySlice([], False, 0)
    ranges = view(ctx, scope.branch, lens.as_of)
    found: list[Json] = []  # newest first
    cursor, scanned = None, 0
    while True:
        # A few more than wanted, so that the usual handful of drafts does not cost a second read.
        part = tail(ctx, ranges, doc, cursor, limit + SPARE)
        found += [entry for entry in reversed(entries_json(ctx, part.entries)) if is_entry_shown(entry, lens)]
        scanned += len(part.entries)
        if len(found) > limit or not part.has_more or scanned >= MOST_SCANNED:
            break
        cursor = part.entries[0]["seq"]
    return EntrySlice(found[:limit][::-1], len(found) > limit or part.has_more, limit)


def is_entry_shown(entry: Mapping[str, Any], lens: Lens) -> bool:
    if lens.step is not None and lens.only_step:
        return lens.step.concerns(entry)
    return lens.drafts or not is_draft_entry(entry)


def is_draft_entry(entry: Mapping[str, Any]) -> bool:
    """Whether the meta of an entry marks it as a draft, as the trace entry of a draft card does."""
    meta = entry.get("meta")
    if not isinstance(meta, Mapping):
        return False
    tags, lane = meta.get("tags"), meta.get("lane")
    if isinstance(tags, list):
        named = [tag for tag in tags if isinstance(tag, str)]
        if is_draft(named) and not is_pinned(named):
            return True
    return isinstance(lane, str) and lane.startswith("agent:")
