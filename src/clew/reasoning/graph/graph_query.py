"""graph_query, which shows a graph page by page, and graph_validate, which checks that its edges have both ends."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.ids import check_node_id, normal_tags
from clew.reasoning.branches import chain
from clew.reasoning.graph.reads import edges_among, nodes
from clew.reasoning.graph.state import edge_json, node_json
from clew.reasoning.graph.view import (
    EDGE_KEY,
    NODE_KEY,
    keys,
)
from clew.reasoning.scope import Scope, Target, resolve_scope
from clew.registry.budget import Budget, Drop, Follow, Trim, shrinking
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, Names, Title, operation

Cursor = Annotated[int | None, Field(ge=0, le=2**53 - 1, description="Show what is older than this seq.")]


AsOf = Annotated[int | None, Field(ge=0, le=2**53 - 1, description="Show the state after this seq.")]


def edges_of_shown(edges: Any, result: dict[str, Any]) -> Any:
    """The edges whose both ends are still shown after a budget has removed nodes."""
    shown = {node["id"] for node in result["nodes"]}
    return [edge for edge in edges if edge["from"] in shown and edge["to"] in shown]


_NODES = Trim("nodes", drop="last", page="pagination", key="last_seq", follow=Follow("edges", edges_of_shown))
QUERY_BUDGET = Budget(
    shrinking("nodes[].text", (2000, 200), _NODES, Trim("edges", drop="last"), Drop("nodes[].meta")),
    16_000,
    keep=("branch", "doc"),
)


class GraphQuery(Bounded):
    target: Target = None
    branch: Annotated[Name | None, Field(description="Branch to read; not beside target.")] = None
    doc: Annotated[Name | None, Field(description="Graph document; default graph.")] = None
    ids: Annotated[Names | None, Field(description="Only these nodes.")] = None
    types: Annotated[Names | None, Field(description="Only nodes of these types.")] = None
    status: Annotated[Name | None, Field(description="Only nodes with this status.")] = None
    tags_any: Annotated[Names | None, Field(description="Only nodes with one of these tags.")] = None
    tags_all: Annotated[Names | None, Field(description="Only nodes with all of these tags.")] = None
    text: Annotated[Title | None, Field(description="Only nodes whose title or text holds this, in any case.")] = None
    cursor: Cursor = None
    limit: Annotated[int, Field(ge=0, le=200, description="Most nodes to show; 0 counts as 1.")] = 50
    include_edges: Annotated[bool, Field(description="Show the edges among the nodes shown.")] = True
    edges_limit: Annotated[int, Field(ge=0, le=1000, description="Most edges to show.")] = 200
    include_deleted: Annotated[bool, Field(description="Show deleted nodes and edges too.")] = False
    as_of: AsOf = None


@operation("graph_query", budget=QUERY_BUDGET)
def graph_query(ctx: Context, args: GraphQuery) -> dict[str, Any]:
    """Show the newest nodes of a graph that pass the filters, and the edges among them."""
    scope = resolve_scope(ctx, args.target, args.branch, graph=args.doc, doc_field="doc")
    limit = max(args.limit, 1)
    page = nodes(
        ctx,
        scope.branch,
        scope.graph,
        ids=None if args.ids is None else [check_node_id(id, "ids") for id in args.ids],
        types=None if args.types is None else [kind.strip() for kind in args.types],
        status=args.status.strip() if args.status is not None else None,
        tags_any=normal_tags(args.tags_any or [], "tags_any"),
        tags_all=normal_tags(args.tags_all or [], "tags_all"),
        text=args.text,
        cursor=args.cursor,
        limit=limit,
        include_deleted=args.include_deleted,
        as_of=args.as_of,
    )
    shown = [node.id for node in page.nodes]
    edges_limit = args.edges_limit if args.include_edges else 0
    edges = edges_among(ctx, scope.branch, scope.graph, shown, edges_limit, args.include_deleted, args.as_of)
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "doc": scope.graph,
        "nodes": [node_json(node) for node in page.nodes],
        "edges": [edge_json(edge) for edge in edges],
        "pagination": page.page(args.cursor, limit),
    }


class GraphValidate(Bounded):
    target: Target = None
    branch: Annotated[Name | None, Field(description="Branch to read; not beside target.")] = None
    doc: Annotated[Name | None, Field(description="Graph document; default graph.")] = None
    max_errors: Annotated[int, Field(ge=1, le=1000, description="Most errors to show.")] = 50


@operation("graph_validate", budget=Budget((Trim("errors", drop="last"),), 16_000, keep=("ok", "branch", "doc")))
def graph_validate(ctx: Context, args: GraphValidate) -> dict[str, Any]:
    """Check that every edge of a graph connects nodes that exist."""
    scope = resolve_scope(ctx, args.target, args.branch, graph=args.doc, doc_field="doc")
    checked = check_edges(ctx, scope, args.max_errors)
    return {"workspace": ctx.workspace, "branch": scope.branch.name, "doc": scope.graph, **checked}


def check_edges(ctx: Context, scope: Scope, max_errors: int) -> dict[str, Any]:
    """Check that every edge of the scope's graph has both ends, and list those that do not."""
    links = chain(ctx, scope.branch)
    present = {id for (id,) in keys(ctx, "node", NODE_KEY, scope.graph, links)}
    edges = keys(ctx, "edge", EDGE_KEY, scope.graph, links)
    broken = [key for key in edges if key[0] not in present or key[2] not in present]
    shown = [_dangling(key, present) for key in broken[:max_errors]]
    return {
        "ok": not broken,
        "stats": {"nodes": len(present), "edges": len(edges)},
        "errors": shown,
        "truncated": len(broken) > len(shown),
    }


def _dangling(key: tuple[Any, ...], present: set[str]) -> dict[str, Any]:
    start, rel, end = key
    missing = [id for id in dict.fromkeys((start, end)) if id not in present]
    return {
        "code": "EDGE_ENDPOINT_MISSING",
        "message": f"the edge ends at {' and '.join(missing)}, which the graph does not hold",
        "kind": "edge",
        "key": f"{start}|{rel}|{end}",
        "from": start,
        "rel": rel,
        "to": end,
        "missing": missing,
        "recovery": f"Add {' and '.join(missing)} with graph_apply node_upsert, or remove the edge with edge_delete.",
    }
