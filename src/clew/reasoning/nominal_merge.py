"""Nominal merge: cards that say the same in the same words become one, the others point to it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.reasoning.card_changes import CardIds, applied_json, id_list
from clew.reasoning.card_scope import BoundedPlace, place
from clew.reasoning.cards import card_in, change_card
from clew.reasoning.graph import Edge, Node, nodes, put_edge
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import CARD_TYPES, PUBLISHED, is_pinned
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import operation

MERGED, DEDUP = "merged", "dedup"


class ThinkNominalMerge(BoundedPlace):
    candidate_ids: CardIds | None = None
    limit_candidates: Annotated[int, Field(ge=1, le=500, description="Most cards to look at.")] = 50
    limit_groups: Annotated[int, Field(ge=1, le=100, description="Most groups to merge.")] = 10


@operation(
    "think_nominal_merge",
    writes=True,
    idempotent=True,
    budget=Budget((Trim("merged_groups", drop="last"),), None, keep=("branch", "graph_doc")),
)
def think_nominal_merge(ctx: Context, args: ThinkNominalMerge) -> dict[str, Any]:
    """Merge cards of equal type, title and text: one stays, the others are marked merged and point to it."""
    scope = place(ctx, args)
    groups = _groups(_candidates(ctx, scope, args))
    merged: list[Node] = []
    edges: list[Edge] = []
    for kept, others in groups[: args.limit_groups]:
        for card in others:
            written = change_card(ctx, scope, card, {"status": MERGED, "into": kept.id}, status=MERGED)
            merged += [written] if written else []
            edges.append(put_edge(ctx, scope.branch, scope.graph, card.id, DEDUP, kept.id))
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "graph_doc": scope.graph,
        "merged_groups": [
            {"canonical_id": kept.id, "merged_ids": [card.id for card in others]}
            for kept, others in groups[: args.limit_groups]
        ],
        "applied": applied_json(ctx, merged, len(edges), max((edge.last_seq for edge in edges), default=None)),
        "truncated": len(groups) > args.limit_groups,
    }


def _candidates(ctx: Context, scope: Scope, args: ThinkNominalMerge) -> list[Node]:
    if args.candidate_ids is not None:
        ids = id_list(args.candidate_ids, "candidate_ids")[: args.limit_candidates]
        found = [card_in(ctx, scope, card_id, "candidate_ids") for card_id in ids]
    else:
        seen = nodes(ctx, scope.branch, scope.graph, types=CARD_TYPES, limit=args.limit_candidates).nodes
        # A published copy says what its source says on purpose; only who names it means it.
        found = [card for card in seen if not card.id.startswith(PUBLISHED)]
    return [card for card in found if card.status != MERGED and card.type in CARD_TYPES]


def _groups(cards: list[Node]) -> list[tuple[Node, list[Node]]]:
    """Equal cards, each group with the one to keep: a pinned one before the oldest."""
    alike: dict[tuple[str, str | None, str | None], list[Node]] = {}
    for card in cards:
        alike.setdefault((card.type, card.title, card.text), []).append(card)
    groups = []
    for members in alike.values():
        first, *others = sorted(members, key=lambda card: (not is_pinned(card.tags), card.last_seq, card.id))
        if others:
            groups.append((first, others))
    return sorted(groups, key=lambda group: (group[0].last_seq, group[0].id))
