"""think_lint: what is wrong with the cards of a graph, edges that lead nowhere first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clew.reasoning.card_scope import BoundedPlace, place
from clew.reasoning.graph import Node, node, nodes
from clew.reasoning.graph.query import check_edges
from clew.reasoning.premises import suspects
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import CANON, CARD_TYPES, DRAFT, PUBLISHED
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import operation

MOST_ERRORS = 50
MOST_CARDS = 200
"""How many of the newest cards are looked at one by one; edges are checked over the whole graph."""


class ThinkLint(BoundedPlace):
    pass


@operation("think_lint", budget=Budget((Trim("errors", drop="last"),), 16_000, keep=("branch", "graph_doc", "ok")))
def think_lint(ctx: Context, args: ThinkLint) -> dict[str, Any]:
    """Check cards and their edges: ends that are missing, marks that contradict, premises that fell."""
    scope = place(ctx, args)
    edges = check_edges(ctx, scope, MOST_ERRORS)
    errors = [*edges["errors"], *_card_errors(ctx, scope)]
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "graph_doc": scope.graph,
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
