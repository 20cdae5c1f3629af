"""Nodes and edges under one roof, for what treats both alike: diff, merge and conflicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from clew.canonical import canonical_or_none
from clew.reasoning.branches import Branch, Link
from clew.reasoning.graph import changes
from clew.reasoning.graph.edge_view import edge_in, edges_at
from clew.reasoning.graph.node_view import node_at
from clew.reasoning.graph.state import Edge, Node, edge_from, edge_json, node_from, node_json
from clew.reasoning.graph.view import EDGE_KEY, NODE_KEY, versions
from clew.registry.context import Context
from clew.store.database import Row

State = Node | Edge


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of thing is read, written and shown. A key is one text; `|` cannot occur inside an id."""

    name: str
    columns: tuple[str, ...]
    load: Callable[[Row], Any]
    show: Callable[[Any], dict[str, Any]]
    fields: tuple[str, ...]

    def key(self, state: State) -> str:
        return state.id if isinstance(state, Node) else "|".join(state.key)

    def at(self, ctx: Context, links: list[Link], doc: str, key: str) -> State | None:
        """The state in a view, tombstones included."""
        if self.name == "node":
            return node_at(ctx, links, doc, key, include_deleted=True)
        start, rel, end = key.split("|")
        return edge_in(ctx, links, doc, (start, rel, end), include_deleted=True)

    def version(self, ctx: Context, seq: int) -> Any:
        row = ctx.tx.one(f"SELECT * FROM {self.name} WHERE workspace = ? AND seq = ?", ctx.workspace, seq)
        return self.load(row) if row else None

    def versions(self, ctx: Context, doc: str, links: list[Link], **bounds: Any) -> list[Any]:
        rows = versions(ctx, self.name, self.columns, doc, links, **bounds)
        return [self.load(row) for row in rows]

    def write(self, ctx: Context, branch: Branch, doc: str, state: State) -> State:
        if isinstance(state, Edge):
            return changes.write_edge(ctx, branch, doc, state)
        if state.deleted:  # edges that only this side has would be left hanging
            for item in edges_at(ctx, branch, doc, [state.id]):
                changes.write_edge(ctx, branch, doc, replace(item, deleted=True))
        return changes.write_node(ctx, branch, doc, state)

    def differing(self, one: State | None, other: State | None) -> list[str]:
        """The fields in which two states differ; a tombstone and nothing at all are the same."""
        one, other = absent(one), absent(other)
        if one is None and other is None:
            return []
        if one is None or other is None:
            return ["deleted"]
        return [field for field in self.fields if _field(one, field) != _field(other, field)]


def absent(state: State | None) -> State | None:
    return None if state is None or state.deleted else state


def tombstone(state: State) -> State:
    return replace(state, deleted=True)


def _field(state: State, field: str) -> Any:
    return canonical_or_none(state.meta) if field == "meta" else getattr(state, field)


NODE = Kind("node", NODE_KEY, node_from, node_json, ("type", "title", "text", "status", "tags", "meta"))
EDGE = Kind("edge", EDGE_KEY, edge_from, edge_json, ("meta",))
KINDS = {"node": NODE, "edge": EDGE}
