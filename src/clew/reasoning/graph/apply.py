"""graph_apply: a batch of changes to one graph document, all or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from clew.errors import ClewError, invalid, suggest
from clew.ids import check_node_id
from clew.reasoning.branches import Branch
from clew.reasoning.graph.changes import drop_edge, drop_node, put_edge, put_node
from clew.reasoning.graph.node_view import node
from clew.reasoning.scope import Target, resolve_scope
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, Names, Text, Title, operation
from clew.store.workspaces import declare_events

declare_events({"graph_applied": "A batch of changes was made to a graph document."})

RESERVED = ("task:", "step:")
"""Prefixes of the nodes that stand for tasks and steps; only the tasks themselves write them."""


class GraphOp(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    op: Literal["node_upsert", "node_delete", "edge_upsert", "edge_delete"]
    id: Annotated[Name | None, Field(description="Node id.")] = None
    type: Annotated[Name | None, Field(description="Node type; required by node_upsert.")] = None
    title: Title | None = None
    text: Text | None = None
    status: Name | None = None
    tags: Names | None = None
    from_: Annotated[Name | None, Field(alias="from", description="Id of the node an edge starts at.")] = None
    rel: Annotated[Name | None, Field(description="Relation of an edge.")] = None
    to: Annotated[Name | None, Field(description="Id of the node an edge ends at.")] = None
    meta: Meta | None = None


class GraphApply(Input):
    ops: Annotated[list[GraphOp], Field(min_length=1, max_length=1000, description="Changes, made in this order.")]
    target: Target = None
    branch: Annotated[Name | None, Field(description="Branch to write to; not beside target.")] = None
    doc: Annotated[Name | None, Field(description="Graph document; default graph.")] = None


EXAMPLE = {"ops": [{"op": "node_upsert", "id": "cache", "type": "component", "title": "Page cache"}]}


@operation("graph_apply", writes=True, example=EXAMPLE)
def graph_apply(ctx: Context, args: GraphApply) -> dict[str, Any]:
    """Change nodes and edges of a graph in one step; if one change is refused, none is made."""
    scope = resolve_scope(ctx, args.target, args.branch, graph=args.doc, doc_field="doc")
    applied = dict.fromkeys(("nodes_upserted", "nodes_deleted", "edges_upserted", "edges_deleted"), 0)
    for position, change in enumerate(args.ops):
        for name, count in _CHANGES[change.op](ctx, scope.branch, scope.graph, change, f"ops[{position}]").items():
            applied[name] += count
    payload = {"branch": scope.branch.name, "last_seq": ctx.ws.seq, **applied}
    ctx.emit("reasoning", "graph_applied", scope.graph, payload)
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "doc": scope.graph,
        "applied": applied,
        "last_seq": ctx.ws.seq,
        "last_ts_ms": ctx.now_ms,
    }


def _node_upsert(ctx: Context, branch: Branch, doc: str, change: GraphOp, where: str) -> dict[str, int]:
    id, kind = _given(change, where, "id", "type")
    _refuse_reserved(id, f"{where}.id")
    put_node(
        ctx,
        branch,
        doc,
        id=id,
        type=kind,
        title=change.title,
        text=change.text,
        status=change.status,
        tags=change.tags or (),
        meta=change.meta,
    )
    return {"nodes_upserted": 1}


def _node_delete(ctx: Context, branch: Branch, doc: str, change: GraphOp, where: str) -> dict[str, int]:
    (id,) = _given(change, where, "id")
    _refuse_reserved(id, f"{where}.id")
    _, edges = drop_node(ctx, branch, doc, id)
    return {"nodes_deleted": 1, "edges_deleted": len(edges)}


def _edge_upsert(ctx: Context, branch: Branch, doc: str, change: GraphOp, where: str) -> dict[str, int]:
    start, rel, end = _given(change, where, "from", "rel", "to")
    for field, id in (("from", start), ("to", end)):
        if node(ctx, branch, doc, check_node_id(id, f"{where}.{field}")) is None:
            raise ClewError(
                "UNKNOWN_ID",
                f"{where}.{field}: no node {id[:120]!r} in {doc} on {branch.name}",
                "Write the node first, in the same call if you like.",
                suggestions=[suggest("graph_query", "Shows the nodes there are.", branch=branch.name, doc=doc)],
            )
    put_edge(ctx, branch, doc, start, rel, end, change.meta)
    return {"edges_upserted": 1}


def _edge_delete(ctx: Context, branch: Branch, doc: str, change: GraphOp, where: str) -> dict[str, int]:
    drop_edge(ctx, branch, doc, *_given(change, where, "from", "rel", "to"))
    return {"edges_deleted": 1}


_CHANGES: dict[str, Callable[[Context, Branch, str, GraphOp, str], dict[str, int]]] = {
    "node_upsert": _node_upsert,
    "node_delete": _node_delete,
    "edge_upsert": _edge_upsert,
    "edge_delete": _edge_delete,
}


def _given(change: GraphOp, where: str, *fields: str) -> list[str]:
    """The fields that this kind of change cannot do without, trimmed."""
    values = []
    for field in fields:
        value = getattr(change, "from_" if field == "from" else field)
        if value is None or not value.strip():
            raise invalid(f"{where}.{field}", f"is required by {change.op}", kind="missing_required")
        values.append(value.strip())
    return values


def _refuse_reserved(id: str, field: str) -> None:
    if id.startswith(RESERVED):
        raise invalid(
            field,
            f"the prefixes {' and '.join(RESERVED)} stand for tasks and steps, which write their own nodes",
            "Choose another id; edges may start or end at these nodes.",
        )
