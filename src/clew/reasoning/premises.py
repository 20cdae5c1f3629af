"""Premises: if a card is withdrawn, cards that depend on it become suspect, with the chain of premises as reason.

The premises of a card are the cards it depends on and those that support it. The walk is one recursive query over the
edges that the branch shows; it is skipped if nothing was withdrawn, which is nearly always the case.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.kinds.catalogue import state_of_item
from clew.kinds.kind import CARD
from clew.kinds.state import OVER
from clew.kinds.statuses import words_for
from clew.reasoning.branches import BranchPart, chain
from clew.reasoning.graph import Node, nodes
from clew.reasoning.graph.view import Condition, lookup
from clew.reasoning.scope import Scope
from clew.registry.context import Context
from clew.store.database import placeholders

_FALLEN = words_for(*OVER)
"""Statuses that may count as withdrawn; for a rejected decision it depends on the kind."""
DEPENDS_ON, DERIVES, SUPPORTS = "depends_on", "derives", "supports"
"""Edges between a card and its premise: the card depends on it or derives from it; the premise supports the card."""
# Bounds of the walk, so that a dense graph cannot make a read slow.
MOST_STEPS = 8
MOST_EDGES = 2000


@dataclass(frozen=True, slots=True)
class Suspect:
    """Why a card is suspect: the withdrawn card and the chain of premises that leads to it."""

    because: str
    path: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"because": self.because, "path": list(self.path)}


def suspects(ctx: Context, scope: Scope, ids: Sequence[str], as_of: int | None = None) -> dict[str, Suspect]:
    """Those of `ids` that depend, directly or indirectly, on a card that is no longer in force."""
    links = chain(ctx, scope.branch, as_of)
    if not ids or not any_fallen(ctx, scope, links):
        return {}
    # Sorted, so that the order of `ids` changes neither the statement nor the chain that is found.
    premises = _premises(ctx, scope, links, sorted(set(ids)))
    reached = sorted({premise for found in premises.values() for premise in found})
    fallen = {
        card.id: str(card.status)
        for card in nodes(ctx, scope.branch, scope.graph, ids=reached, limit=max(len(reached), 1), as_of=as_of).nodes
        if has_fallen(card)
    }
    paths = {card_id: way_down(card_id, premises, fallen) for card_id in ids}
    return {card_id: Suspect(f"{path[-1]} is {fallen[path[-1]]}", path) for card_id, path in paths.items() if path}


def has_fallen(card: Node) -> bool:
    """Whether a card is no longer in force, so that nothing can depend on it."""
    return state_of_item(CARD, card.type, card.status).is_over


def any_fallen(ctx: Context, scope: Scope, links: list[BranchPart]) -> bool:
    """Whether any version that the branch could show was withdrawn; one index lookup."""
    key = ("fallen", scope.graph, *(link.branch for link in links))
    if ctx.tx.writable or key not in ctx.memo:  # a write may withdraw one
        ctx.memo[key] = _any_fallen(ctx, scope, links)
    return bool(ctx.memo[key])


def _any_fallen(ctx: Context, scope: Scope, links: list[BranchPart]) -> bool:
    """One lookup for each status: with all of them in one list PostgreSQL prefers the primary key."""
    place = Condition().add("node.workspace = ? AND node.doc = ?", ctx.workspace, scope.graph)
    place.add(f"node.branch IN ({placeholders(len(links))})", *(link.branch for link in links))
    source, params = lookup(ctx.tx.engine, "node", "status", sorted(_FALLEN), place)
    return ctx.tx.value(f"SELECT 1 {source} LIMIT 1", *params) is not None


def _premises(ctx: Context, scope: Scope, links: list[BranchPart], ids: list[str]) -> dict[str, list[str]]:
    """Each card on the walk, with the cards that it depends on."""
    rows = ctx.tx.all(
        _walk(len(links), len(ids)),
        *(value for depth, link in enumerate(links) for value in (link.branch, link.cutoff, depth)),
        *((ctx.workspace, scope.graph, *ids) * 2),
        *((ctx.workspace, scope.graph) * 2),
    )
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["card"], []).append(row["premise"])
    return found


def _walk(links: int, ids: int) -> str:
    """The query that walks from some cards to their premises, and on to theirs.

    CROSS JOIN fixes the join order: SQLite looks up edges from the current cards. Otherwise it reads all edges in every
    step.
    """
    parts = " UNION ALL ".join(["SELECT CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)"] * links)
    given = f"IN ({placeholders(ids)})"
    return f"""
        WITH RECURSIVE link (branch, cutoff, depth) AS ({parts}),
        walk (card, premise, steps) AS (
            SELECT {_CARD}, {_PREMISE}, 1 FROM link CROSS JOIN edge WHERE {_rests_on(given)} AND {_SHOWN}
            UNION
            SELECT {_CARD}, {_PREMISE}, walk.steps + 1 FROM walk CROSS JOIN link CROSS JOIN edge
            WHERE {_rests_on("= walk.premise")} AND {_SHOWN} AND walk.steps < {MOST_STEPS}
        )
        SELECT DISTINCT card, premise FROM walk ORDER BY card, premise LIMIT {MOST_EDGES}"""


_CARD = f"CASE WHEN edge.rel = '{SUPPORTS}' THEN edge.to_id ELSE edge.from_id END"
_PREMISE = f"CASE WHEN edge.rel = '{SUPPORTS}' THEN edge.from_id ELSE edge.to_id END"
# The edge is live at its part of the view, and no nearer part has a version of it. Adding 0 to a column keeps the
# planner from using an index on it.
_SHOWN = """edge.deleted + 0 = 0 AND edge.seq + 0 <= link.cutoff AND (edge.until IS NULL OR edge.until > link.cutoff)
                AND NOT EXISTS (
                    SELECT 1 FROM link AS nearer CROSS JOIN edge AS newer
                    WHERE newer.workspace = edge.workspace AND newer.branch = nearer.branch AND newer.doc = edge.doc
                        AND newer.from_id = edge.from_id AND newer.rel = edge.rel AND newer.to_id = edge.to_id
                        AND nearer.depth < link.depth AND newer.seq <= nearer.cutoff)"""


def _rests_on(card: str) -> str:
    """The condition for edges from a card to a premise. Each half names all columns of one index."""
    place = "edge.workspace = ? AND edge.branch = link.branch AND edge.doc = ?"
    return (
        f"(({place} AND edge.from_id {card} AND edge.rel IN ('{DEPENDS_ON}', '{DERIVES}'))"
        f" OR ({place} AND edge.to_id {card} AND edge.rel = '{SUPPORTS}'))"
    )


def way_down(id: str, premises: Mapping[str, Sequence[str]], fallen: Container[str]) -> tuple[str, ...]:
    """The shortest chain of premises from a record to a withdrawn one (breadth-first); empty if there is none."""
    seen: set[str] = {id}
    queue: deque[tuple[str, ...]] = deque([(id,)])
    while queue:
        path = queue.popleft()
        for premise in premises.get(path[-1], ()):
            if premise in seen:
                continue
            if premise in fallen:
                return (*path, premise)
            seen.add(premise)
            queue.append((*path, premise))
    return ()
