"""What the graph of a plan or task holds beyond the branch it came from."""

from __future__ import annotations

from itertools import islice
from typing import Any

from clew.reasoning.branches import branch_by_id, chain
from clew.reasoning.graph.diff import change_json, differences
from clew.reasoning.scope import Scope
from clew.registry.context import Context
from clew.registry.paging import page_json


def graph_changes(ctx: Context, scope: Scope, cursor: int | None, limit: int) -> dict[str, Any]:
    """Nodes and edges that differ, newest first. A branch that started empty differs by all it holds."""
    base = branch_by_id(ctx, scope.branch.base_id) if scope.branch.base_id is not None else None
    limit = max(limit, 1)
    found = differences(ctx, scope.graph, chain(ctx, scope.branch), chain(ctx, base) if base else [], cursor)
    rows = list(islice(found, limit + 1))
    changes = [change_json(kind, state) for kind, state in rows[:limit]]
    kinds = [change["kind"] for change in changes]
    return {
        "from": base.name if base else None,
        "to": scope.branch.name,
        "doc": scope.graph,
        "summary": {
            "nodes": kinds.count("node"),
            "edges": kinds.count("edge"),
            "has_more": len(rows) > limit,
        },
        "changes": changes,
        "pagination": page_json(cursor, limit, len(changes), changes[-1]["seq"] if len(rows) > limit else None),
    }
