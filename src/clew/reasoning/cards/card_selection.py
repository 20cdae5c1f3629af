"""Which cards a view shows first: pinned ones, then the open frontier, then recent ones to fill up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clew.kinds import statuses
from clew.reasoning.graph import Edge, Node, NodePage, edges_among, nodes
from clew.reasoning.scope import Scope, StepFocus
from clew.reasoning.visibility import CARD_TYPES, PINNED, SHOWN
from clew.registry.context import Context

SUBGOAL = "subgoal"
# Capacity of each layer, from BranchMind's contract, so that many pins cannot displace the open questions.
MOST_PINS, MOST_OPEN, MOST_SUBGOALS, MOST_OF_STEP = 8, 6, 4, 4
EDGES = 600


@dataclass(frozen=True, slots=True)
class Lens:
    """The visibility filter of a reader: with or without drafts, everything or one step."""

    drafts: bool = False
    step: StepFocus | None = None
    only_step: bool = True
    """Whether the view shows only the step's cards. A step that is merely in focus only ranks its cards first."""
    as_of: int | None = None
    """The seq of the requested state; None means the current one."""

    def tags(self) -> list[str]:
        """Index tags that every shown card has. A step's own drafts are always shown."""
        if self.step is not None and self.only_step:
            return [self.step.tag]
        return [] if self.drafts else [SHOWN]


@dataclass(frozen=True, slots=True)
class SelectionLimits:
    hypotheses: int = 5
    questions: int = 5
    subgoals: int = 5
    tests: int = 5

    def at_least(self, other: SelectionLimits) -> SelectionLimits:
        names = ("hypotheses", "questions", "subgoals", "tests")
        return SelectionLimits(*(max(getattr(self, name), getattr(other, name)) for name in names))


@dataclass
class Selection:
    """Cards in order of relevance, each once, up to a limit."""

    limit: int
    cards: dict[str, Node] = field(default_factory=dict)
    has_more: bool = False
    missed: Node | None = None
    """The newest card that did not fit; a view's cursor starts there."""

    @property
    def full(self) -> bool:
        return len(self.cards) >= self.limit

    def take(self, page: NodePage) -> None:
        for card in page.nodes:
            if card.id in self.cards:
                continue
            if self.full:
                self.has_more, self.missed = True, card
                return
            self.cards[card.id] = card
        self.has_more = self.has_more or page.has_more

    def listed(self) -> list[Node]:
        return list(self.cards.values())


def select(
    ctx: Context, scope: Scope, view: str, limit: int, lens: Lens, frontier: dict[str, NodePage] | None = None
) -> Selection:
    """The cards of a view. `frontier` is passed if the caller has read it already."""
    chosen = Selection(limit)
    for page in _layers(ctx, scope, lens, frontier):
        chosen.take(page)
        if chosen.full:
            break
    # The fill below selects from what is left: it reads every card that the layers could not take.
    chosen.has_more, chosen.missed = False, None
    status = None if view == "explore" else statuses.OPEN
    # More by the number already taken, because those may be the newest cards and are skipped.
    chosen.take(_cards(ctx, scope, lens, status=status, limit=limit + len(chosen.cards)))
    return chosen


FRONTIER = SelectionLimits(MOST_OPEN, MOST_OPEN, MOST_SUBGOALS, MOST_OPEN)


def _layers(ctx: Context, scope: Scope, lens: Lens, frontier: dict[str, NodePage] | None) -> Iterator[NodePage]:
    yield _cards(ctx, scope, lens, PINNED, limit=MOST_PINS)
    found = frontier if frontier is not None else frontier_pages(ctx, scope, lens, FRONTIER)
    yield from (page.first(getattr(FRONTIER, name)) for name, page in found.items())
    if lens.step is not None and not lens.only_step:
        yield _cards(ctx, scope, replace(lens, only_step=True), limit=MOST_OF_STEP)


def frontier_pages(ctx: Context, scope: Scope, lens: Lens, limits: SelectionLimits) -> dict[str, NodePage]:
    """The open hypotheses, questions, subgoals and tests, newest first."""
    return {
        "hypotheses": _open(ctx, scope, lens, "hypothesis", limits.hypotheses),
        "questions": _open(ctx, scope, lens, "question", limits.questions, none=[SUBGOAL]),
        "subgoals": _open(ctx, scope, lens, "question", limits.subgoals, SUBGOAL),
        "tests": _open(ctx, scope, lens, "test", limits.tests),
    }


def _open(
    ctx: Context, scope: Scope, lens: Lens, kind: str, limit: int, *tags: str, none: Sequence[str] = ()
) -> NodePage:
    if limit == 0:
        return NodePage([], False)
    return _cards(ctx, scope, lens, *tags, types=[kind], status=statuses.OPEN, none=none, limit=limit)


def _cards(
    ctx: Context,
    scope: Scope,
    lens: Lens,
    *tags: str,
    types: Sequence[str] = CARD_TYPES,
    status: str | None = None,
    none: Sequence[str] = (),
    limit: int,
) -> NodePage:
    wanted = [*lens.tags(), *tags]
    return nodes(
        ctx,
        scope.branch,
        scope.graph,
        types=types,
        status=status,
        tags_all=wanted,
        tags_none=none,
        limit=limit,
        as_of=lens.as_of,
    )


def newest(ctx: Context, scope: Scope, lens: Lens, kind: str, limit: int) -> list[Node]:
    """The newest cards of a type, of any status."""
    return _cards(ctx, scope, lens, types=[kind], limit=limit).nodes if limit else []


def tagged(ctx: Context, scope: Scope, lens: Lens, tag: str, limit: int) -> list[Node]:
    """The newest open cards with a tag."""
    return _cards(ctx, scope, lens, tag, status=statuses.OPEN, limit=limit).nodes if limit else []


def edges_of(ctx: Context, scope: Scope, cards: Sequence[Node], as_of: int | None = None) -> list[Edge]:
    return edges_among(ctx, scope.branch, scope.graph, sorted({card.id for card in cards}), EDGES, as_of=as_of)


def card_stats(cards: Sequence[Node]) -> dict[str, Any]:
    by_type: dict[str, int] = {}
    for card in cards:
        by_type[card.type] = by_type.get(card.type, 0) + 1
    return {"cards": len(cards), "by_type": by_type}
