"""The operations that read cards: think_query, think_context, think_frontier, think_next and think_lint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.ids import normal_tags
from clew.reasoning.cards.card_changes import CardIds, id_list
from clew.reasoning.cards.card_selection import Lens, SelectionLimits, card_stats, frontier_pages, select
from clew.reasoning.cards.forms import check_card_type
from clew.reasoning.graph import Node, node, node_json, nodes
from clew.reasoning.graph.graph_query import check_edges
from clew.reasoning.premises import suspects
from clew.reasoning.scope import BoundedPlace, ReadPlace, Scope, StepFocus, ViewPlace, located, place, place_and_step
from clew.reasoning.visibility import CANON, CARD_TYPES, DRAFT, PUBLISHED
from clew.registry.budget import Budget, Clip, Drop, Pick, Step, Trim, drops, shrinking
from clew.registry.context import Context
from clew.registry.operation import Name, Names, Text, Whole, operation

NameOrNames = Annotated[str, Field(max_length=1024)] | Names
FrontierLimit = Annotated[int, Field(ge=0, le=100, description="Most of this kind; 0 for none.")]


def cards_json(ctx: Context, scope: Scope, cards: Sequence[Node], as_of: int | None = None) -> list[dict[str, Any]]:
    """Cards as JSON; a card that depends on a withdrawn premise is marked `suspect`."""
    doubts = suspects(ctx, scope, [card.id for card in cards], as_of)
    return [
        {**node_json(card), "suspect": doubts[card.id].to_json()} if card.id in doubts else node_json(card)
        for card in cards
    ]


def lens_of(args: ReadPlace, step: StepFocus | None) -> Lens:
    """The visibility filter for the arguments of a read."""
    return Lens(args.drafts, step, as_of=args.as_of)


def seen_at(ctx: Context, args: ReadPlace) -> int:
    """The seq with which the same response can be requested again."""
    return ctx.ws.seq if args.as_of is None else min(args.as_of, ctx.ws.seq)


def name_list(given: str | list[str] | None) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else given


class ThinkQuery(ReadPlace):
    ids: CardIds | None = None
    types: Annotated[NameOrNames | None, Field(description="Card types.")] = None
    status: Annotated[Name | None, Field(description="Only cards with this status.")] = None
    tags_any: Annotated[NameOrNames | None, Field(description="Cards with one of these tags.")] = None
    tags_all: Annotated[NameOrNames | None, Field(description="Cards with all of these tags.")] = None
    text: Annotated[Text | None, Field(description="Part of title or text, in any case.")] = None
    cursor: Annotated[Whole | None, Field(description="Cards older than this seq.")] = None
    limit: Annotated[int, Field(ge=1, le=200, description="Most cards.")] = 50


_CARDS = Trim("cards", drop="last", page="pagination", key="last_seq")
QUERY_BUDGET = Budget(shrinking("cards[].text", (1000, 120), _CARDS), 16_000, keep=("branch", "graph_doc"))


@operation("think_query", budget=QUERY_BUDGET)
def think_query(ctx: Context, args: ThinkQuery) -> dict[str, Any]:
    """Find cards by id, type, status, tags or text, newest first."""
    scope, step = place_and_step(ctx, args)
    wanted = normal_tags(name_list(args.tags_all), "tags_all")
    page = nodes(
        ctx,
        scope.branch,
        scope.graph,
        ids=id_list(args.ids, "ids") if args.ids is not None else None,
        types=[check_card_type(kind, "types") for kind in name_list(args.types)] or CARD_TYPES,
        status=args.status.strip() if args.status else None,
        tags_any=normal_tags(name_list(args.tags_any), "tags_any"),
        tags_all=[*lens_of(args, step).tags(), *wanted],
        text=args.text,
        cursor=args.cursor,
        limit=args.limit,
        as_of=args.as_of,
    )
    return {
        **located(ctx, scope, "graph", step=step),
        "cards": cards_json(ctx, scope, page.nodes, args.as_of),
        "pagination": page.page(args.cursor, args.limit),
    }


class ThinkContext(ViewPlace):
    listed: ClassVar[tuple[str, ...]] = ("branch",)

    limit_cards: Annotated[int, Field(ge=1, le=200, description="Most cards.")] = 30


CONTEXT_BUDGET = Budget(
    shrinking("cards[].text", (600, 80), Trim("cards", drop="last", more="has_more"), Drop("stats")),
    16_000,
    keep=("branch", "graph_doc"),
)


@operation("think_context", budget=CONTEXT_BUDGET)
def think_context(ctx: Context, args: ThinkContext) -> dict[str, Any]:
    """Show the cards that matter now: pins, the open frontier, then recent ones."""
    scope, step = place_and_step(ctx, args)
    chosen = select(ctx, scope, args.lens, args.limit_cards, lens_of(args, step))
    cards = chosen.listed()
    return {
        **located(ctx, scope, "graph"),
        "view": args.lens,
        "as_of": seen_at(ctx, args),
        **({"step_focus": step.to_json()} if step else {}),
        "stats": card_stats(cards),
        "cards": cards_json(ctx, scope, cards, args.as_of),
        "has_more": chosen.has_more,
    }


class FrontierPlace(ViewPlace):
    limit_hypotheses: FrontierLimit = 5
    limit_questions: FrontierLimit = 5
    limit_subgoals: FrontierLimit = 5
    limit_tests: FrontierLimit = 5

    @property
    def limits(self) -> SelectionLimits:
        return SelectionLimits(self.limit_hypotheses, self.limit_questions, self.limit_subgoals, self.limit_tests)


FRONTIER_LISTS = ("hypotheses", "tests", "questions", "subgoals")
FRONTIER_STEPS: tuple[Step, ...] = (
    *(Clip(f"frontier.{name}[].text", 400) for name in FRONTIER_LISTS),
    *(Trim(f"frontier.{name}", drop="last", floor=1) for name in FRONTIER_LISTS),
    *(Clip(f"frontier.{name}[].text", 60) for name in FRONTIER_LISTS),
    # Emptied from the end, so that hypotheses and tests are kept longest.
    *(Trim(f"frontier.{name}", drop="last") for name in reversed(FRONTIER_LISTS)),
)


def frontier_json(
    ctx: Context, scope: Scope, lists: dict[str, list[Node]], as_of: int | None
) -> dict[str, list[dict[str, Any]]]:
    shown = cards_json(ctx, scope, [card for cards in lists.values() for card in cards], as_of)
    by_id = {card["id"]: card for card in shown}
    return {name: [by_id[card.id] for card in cards] for name, cards in lists.items()}


@operation("think_frontier", budget=Budget(FRONTIER_STEPS, 16_000, keep=("branch", "graph_doc")))
def think_frontier(ctx: Context, args: FrontierPlace) -> dict[str, Any]:
    """Show what is open: hypotheses, questions, subgoals and tests, newest first."""
    scope, step = place_and_step(ctx, args)
    pages = frontier_pages(ctx, scope, lens_of(args, step), args.limits)
    return {
        **located(ctx, scope, "graph", step=step),
        "frontier": frontier_json(ctx, scope, {name: page.nodes for name, page in pages.items()}, args.as_of),
        "truncated": any(page.has_more for page in pages.values()),
    }


NEXT_BUDGET = Budget(
    (
        Clip("candidate.text", 1000),
        Clip("candidate.text", 100),
        *drops("meta", "text", "tags", "last_ts_ms", "deleted", of="candidate."),
        Clip("candidate.title", 60),
        *drops("step_focus", "workspace"),
        Pick("candidate", ("id", "type", "title", "status")),
        *drops("graph_doc", "branch"),
        Clip("candidate.title", 20),
    ),
    16_000,
    keep=("candidate", "branch", "graph_doc"),
)
"""The candidate is the main result, so it is truncated last."""


@operation("think_next", budget=NEXT_BUDGET)
def think_next(ctx: Context, args: ViewPlace) -> dict[str, Any]:
    """Name the open card that was touched last."""
    scope, step = place_and_step(ctx, args)
    pages = frontier_pages(ctx, scope, lens_of(args, step), SelectionLimits(1, 1, 1, 1))
    cards = [card for page in pages.values() for card in page.nodes]
    candidate = max(cards, key=lambda card: card.last_seq, default=None)
    return {
        **located(ctx, scope, "graph", step=step),
        "candidate": cards_json(ctx, scope, [candidate], args.as_of)[0] if candidate else None,
    }


MOST_ERRORS = 50
MOST_CARDS = 200
"""How many of the newest cards are checked one by one; edges are checked in the whole graph."""


@operation("think_lint", budget=Budget((Trim("errors", drop="last"),), 16_000, keep=("ok", "branch", "graph_doc")))
def think_lint(ctx: Context, args: BoundedPlace) -> dict[str, Any]:
    """Check cards and their edges: ends that are missing, marks that contradict, premises that fell."""
    scope = place(ctx, args)
    edges = check_edges(ctx, scope, MOST_ERRORS)
    errors = [*edges["errors"], *_card_errors(ctx, scope)]
    return {
        **located(ctx, scope, "graph"),
        "ok": not errors,
        "stats": edges["stats"],
        "errors": errors[:MOST_ERRORS],
        "truncated": edges["truncated"] or len(errors) > MOST_ERRORS,
    }


def _card_errors(ctx: Context, scope: Scope) -> Iterator[dict[str, Any]]:
    cards = nodes(ctx, scope.branch, scope.graph, types=CARD_TYPES, limit=MOST_CARDS).nodes
    doubts = suspects(ctx, scope, [card.id for card in cards])
    for card in cards:
        if not card.title and not card.text:
            yield _error("CARD_EMPTY", card, "has neither a title nor a text")
        if CANON in card.tags and DRAFT in card.tags:
            yield _error("VISIBILITY_CONFLICT", card, f"carries both {CANON} and {DRAFT}; it counts as a draft")
        if card.id.startswith(PUBLISHED) and not _has_source(ctx, scope, card):
            yield _error("PUBLISHED_SOURCE_MISSING", card, "was published from a card that is no longer there")
        if card.id in doubts:
            doubt = doubts[card.id]
            error = _error("PREMISE_FELL", card, f"rests on {' > '.join(doubt.path[1:])}: {doubt.because}")
            yield {**error, "path": list(doubt.path)}


def _has_source(ctx: Context, scope: Scope, card: Node) -> bool:
    return node(ctx, scope.branch, scope.graph, card.id.removeprefix(PUBLISHED)) is not None


def _error(code: str, card: Node, problem: str) -> dict[str, Any]:
    return {"code": code, "card_id": card.id, "message": f"{card.id} {problem}"}
