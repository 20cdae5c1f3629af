"""What was noted, traced and thought about a plan or task, as much of it as a view shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from clew.reasoning.cards.queries import cards_json
from clew.reasoning.cards.selection import Lens, card_stats, edges_of, select
from clew.reasoning.graph import Edge, Node, nodes
from clew.reasoning.scope import Scope, StepFocus
from clew.reasoning.visibility import CARD_TYPES, is_pinned
from clew.registry.context import Context
from clew.registry.paging import page_json
from clew.tasks.views.entries import EntryPage, entry_page, step_page
from clew.tasks.views.sections import Limits

FOCUSED_CARDS = 12


@dataclass(frozen=True, slots=True)
class Cursors:
    notes: int | None = None
    trace: int | None = None
    cards: int | None = None


START = Cursors()


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards in the order of the view. The cursor stands above everything that was not shown."""

    nodes: list[Node]
    cursor: int | None
    next_cursor: int | None
    limit: int

    def page(self) -> dict[str, Any]:
        return page_json(self.cursor, self.limit, len(self.nodes), self.next_cursor)


@dataclass(frozen=True, slots=True)
class Memory:
    notes: EntryPage
    trace: EntryPage
    cards: Cards
    edges: list[Edge]

    def narrowed(self, referenced: set[str]) -> Memory:
        """Only what a step in focus needs: cards that are open, pinned or spoken of, and no entries."""
        kept = [card for card in self.cards.nodes if _matters(card, referenced)][:FOCUSED_CARDS]
        missed = [card.last_seq for card in self.cards.nodes if card not in kept]
        cursor = max([self.cards.next_cursor or 0, *(seq + 1 for seq in missed)]) or None
        none = EntryPage([], None, None, 0)
        return replace(self, notes=none, trace=none, cards=replace(self.cards, nodes=kept, next_cursor=cursor))


def _matters(card: Node, referenced: set[str]) -> bool:
    return card.status == "open" or is_pinned(card.tags) or card.id in referenced


def gather(ctx: Context, scope: Scope, view: str, limits: Limits, cursors: Cursors, step: StepFocus | None) -> Memory:
    """Read the memory of a scope. `step` is the step in focus of a relevance-first view."""
    drafts = view == "audit"
    cards = _cards(ctx, scope, view, limits.cards, cursors.cards, Lens(drafts, step, only_step=False))
    edges = edges_of(ctx, scope, cards.nodes) if cards.nodes else []
    if view == "focus_only":
        none = EntryPage([], None, None, 0)
        return Memory(none, none, cards, edges)
    focused = None if view == "full" else step
    notes = _entries(ctx, scope, scope.notes, cursors.notes, limits.notes, drafts, focused, True)
    trace = _entries(ctx, scope, scope.trace, cursors.trace, limits.trace, drafts, focused, False)
    return Memory(notes, trace, cards, edges)


def _entries(
    ctx: Context,
    scope: Scope,
    doc: str,
    cursor: int | None,
    limit: int,
    drafts: bool,
    step: StepFocus | None,
    fill: bool,
) -> EntryPage:
    if step is None or cursor is not None:
        return entry_page(ctx, scope, doc, cursor, limit, drafts)
    return step_page(ctx, scope, doc, limit, drafts, step, fill)


def _cards(ctx: Context, scope: Scope, view: str, limit: int, cursor: int | None, lens: Lens) -> Cards:
    if limit == 0:
        return Cards([], cursor, None, 0)
    if view == "full" or cursor is not None:
        return _newest(ctx, scope, view, limit, cursor, lens)
    chosen = select(ctx, scope, view, limit, lens)
    missed = chosen.missed
    return Cards(chosen.listed(), None, None if missed is None else missed.last_seq + 1, limit)


def _newest(ctx: Context, scope: Scope, view: str, limit: int, cursor: int | None, lens: Lens) -> Cards:
    page = nodes(
        ctx,
        scope.branch,
        scope.graph,
        types=CARD_TYPES,
        status=_status(view),
        tags_all=_filing(lens),
        cursor=cursor,
        limit=limit,
    )
    return Cards(page.nodes, cursor, page.nodes[-1].last_seq if page.has_more else None, limit)


def _filing(lens: Lens) -> list[str]:
    return Lens(lens.drafts).tags()


def _status(view: str) -> str | None:
    """Relevance-first views page through what is open; the others through everything."""
    return None if view in ("full", "explore") else "open"


def memory_json(ctx: Context, scope: Scope, memory: Memory, sequential: Any) -> dict[str, Any]:
    return {
        "notes": memory.notes.to_json(),
        "trace": {**memory.trace.to_json(), "sequential": sequential},
        "cards": cards_json(ctx, scope, memory.cards.nodes),
        "cards_pagination": memory.cards.page(),
        "stats": card_stats(memory.cards.nodes),
    }
