"""The cards that hang on an anchor, over all branches and documents, and the tasks they were written for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.reasoning.anchor_registry import aliases_of
from clew.reasoning.branches import branch_by_id
from clew.reasoning.documents import branch_name
from clew.reasoning.graph import Node, Place, node, node_json
from clew.reasoning.graph.node_view import ON_A_BRANCH
from clew.reasoning.graph.state import node_from
from clew.reasoning.graph.view import aside
from clew.reasoning.visibility import CARD_TYPES, is_canonical, is_pinned
from clew.registry.context import Context
from clew.store.database import placeholders

PRIORITY = ("decision", "evidence", "test", "hypothesis", "question", "update", "note", "frame")
MOST_LINKS = 1000
"""How many of the newest linked cards are looked at; an anchor that has more says so."""


@dataclass(frozen=True, slots=True)
class Linked:
    """The linked cards, newest first, each once; `links` counts them before any filter."""

    places: list[Place]
    has_more: bool

    def stats(self) -> dict[str, Any]:
        return {"links_count": len(self.places), "links_has_more": self.has_more}

    def shown(self, include_drafts: bool) -> list[Place]:
        found = self.places
        return [item for item in found if include_drafts or is_canonical(item.node.type, item.node.tags)]


def linked_cards(ctx: Context, anchor_id: str) -> Linked:
    """Cards tagged with the anchor or with one of its older names."""
    names = [anchor_id, *aliases_of(ctx, [anchor_id]).get(anchor_id, ())]
    rows = ctx.tx.all(
        "SELECT node.* FROM node_tag JOIN node ON node.workspace = node_tag.workspace AND node.seq = node_tag.seq"
        f" WHERE node_tag.workspace = ? AND node_tag.tag IN ({placeholders(len(names))})"
        " AND substr(node_tag.tag, 1, 2) = 'a:' AND node.until IS NULL AND node.deleted = 0"
        f" AND {ON_A_BRANCH} AND {aside('node.type')} IN ({placeholders(len(CARD_TYPES))})"
        " ORDER BY node_tag.seq DESC LIMIT ?",
        ctx.workspace,
        *names,
        *CARD_TYPES,
        MOST_LINKS + 1,
    )
    places: dict[str, Place] = {}
    for row in rows[:MOST_LINKS]:
        places.setdefault(row["id"], Place(node_from(row), row["branch"], row["doc"]))
    return Linked(list(places.values()), len(rows) > MOST_LINKS)


def by_priority(places: list[Place]) -> list[Place]:
    """Pinned first, then by what a type is worth, then the newest."""
    return sorted(places, key=lambda item: (_unpinned(item.node), PRIORITY.index(item.node.type), *_age(item.node)))


def by_type_name(places: list[Place]) -> list[Place]:
    return sorted(places, key=lambda item: (_unpinned(item.node), item.node.type, *_age(item.node)))


def _unpinned(card: Node) -> bool:
    return not is_pinned(card.tags)


def _age(card: Node) -> tuple[int, str]:
    return (-card.last_seq, card.id)


def places_json(ctx: Context, places: list[Place]) -> list[dict[str, Any]]:
    names: dict[int, str] = {}
    return [
        {**node_json(item.node), "branch": branch_name(ctx, item.branch, names), "graph_doc": item.doc}
        for item in places
    ]


def linked_tasks(ctx: Context, places: list[Place], limit: int) -> list[dict[str, Any]]:
    """The tasks on whose branches cards of the anchor stand, the last touched first."""
    newest: dict[int, int] = {}
    for item in places:
        newest[item.branch] = max(newest.get(item.branch, 0), item.node.last_ts_ms)
    if not newest or not limit:
        return []
    rows = ctx.tx.all(
        "SELECT id, branch, graph_doc FROM reasoning_ref WHERE workspace = ? AND kind = 'task'"
        f" AND branch IN ({placeholders(len(newest))})",
        ctx.workspace,
        *newest,
    )
    tasks = [_task(ctx, row, newest[row["branch"]]) for row in rows]
    return sorted(tasks, key=lambda task: (-task["last_ts_ms"], task["task"]))[:limit]


def _task(ctx: Context, row: dict[str, Any], last_ts_ms: int) -> dict[str, Any]:
    """A task as its graph shows it: tasks project themselves as nodes there."""
    shown = node(ctx, branch_by_id(ctx, row["branch"]), row["graph_doc"], f"task:{row['id']}")
    return {
        "task": row["id"],
        "title": shown.title if shown else None,
        "status": shown.status if shown else None,
        "last_ts_ms": last_ts_ms,
    }
