"""graph_diff: nodes and edges of one branch that differ from another's. `DiffKind` handles both alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import canonical_or_none
from clew.ids import check_name
from clew.reasoning.branches import Branch, BranchPart, branch_named, chain
from clew.reasoning.documents import GRAPH
from clew.reasoning.graph.graph_query import Cursor
from clew.reasoning.graph.reads import edge_in, edges_at, node_at
from clew.reasoning.graph.state import Edge, Node, edge_json, node_json
from clew.reasoning.graph.view import EDGE_KEY, NODE_KEY, shared_until, versions
from clew.reasoning.graph.writes import write_edge, write_node
from clew.registry.budget import Budget, Drop, Trim, shrinking
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import Bounded, Name, operation
from clew.store.rows import find, load

State = Node | Edge


@dataclass(frozen=True, slots=True)
class DiffKind:
    """How nodes or edges are read, written and shown. A key is one text, joined by `|`, which no id contains."""

    name: str
    columns: tuple[str, ...]
    record: type[Node] | type[Edge]
    show: Callable[[Any], dict[str, Any]]
    fields: tuple[str, ...]

    def key(self, state: State) -> str:
        return state.id if isinstance(state, Node) else "|".join(state.key)

    def at(self, ctx: Context, links: list[BranchPart], doc: str, key: str) -> State | None:
        """The state of a key in a view, including deletions."""
        if self.name == "node":
            return node_at(ctx, links, doc, key, include_deleted=True)
        start, rel, end = key.split("|")
        return edge_in(ctx, links, doc, (start, rel, end), include_deleted=True)

    def version(self, ctx: Context, seq: int) -> Any:
        return find(ctx.tx, ctx.workspace, self.record, seq)

    def versions(self, ctx: Context, doc: str, links: list[BranchPart], **bounds: Any) -> list[Any]:
        rows = versions(ctx, self.name, self.columns, doc, links, **bounds)
        return [load(self.record, row) for row in rows]

    def write(self, ctx: Context, branch: Branch, doc: str, state: State) -> State:
        if isinstance(state, Edge):
            return write_edge(ctx, branch, doc, state)
        if state.deleted:  # edges that only this side has would otherwise dangle
            for item in edges_at(ctx, branch, doc, [state.id]):
                write_edge(ctx, branch, doc, replace(item, deleted=True))
        return write_node(ctx, branch, doc, state)

    def differing(self, one: State | None, other: State | None) -> list[str]:
        """The fields in which two states differ; deleted and missing count as the same."""
        one, other = absent(one), absent(other)
        if one is None and other is None:
            return []
        if one is None or other is None:
            return ["deleted"]
        return [field for field in self.fields if _field(one, field) != _field(other, field)]


def absent(state: State | None) -> State | None:
    return None if state is None or state.deleted else state


def _field(state: State, field: str) -> Any:
    return canonical_or_none(state.meta) if field == "meta" else getattr(state, field)


NODE = DiffKind("node", NODE_KEY, Node, node_json, ("type", "title", "text", "status", "tags", "meta"))
EDGE = DiffKind("edge", EDGE_KEY, Edge, edge_json, ("meta",))
KINDS = {"node": NODE, "edge": EDGE}


STEP = 200
"""How many versions are read at a time."""

_CHANGES = Trim("changes", drop="last", page="pagination")
DIFF_BUDGET = Budget(
    shrinking("changes[].to.text", (2000, 200), _CHANGES, Drop("changes[].to.meta")),
    16_000,
    keep=("from", "to", "doc"),
)


class GraphDiff(Bounded):
    from_: Annotated[Name, Field(alias="from", description="Branch to compare with.")]
    to: Annotated[Name, Field(description="Branch whose differing states are shown.")]
    doc: Annotated[Name, Field(description="Graph document to compare.")] = GRAPH
    cursor: Cursor = None
    limit: Annotated[int, Field(ge=0, le=200, description="Most changes to show; 0 counts as 1.")] = 20


@operation("graph_diff", budget=DIFF_BUDGET, example={"from": "main", "to": "main"})
def graph_diff(ctx: Context, args: GraphDiff) -> dict[str, Any]:
    """Show the nodes and edges of one branch that differ from another's, deletions included."""
    base, other = branch_named(ctx, args.from_, "from"), branch_named(ctx, args.to, "to")
    doc, limit = check_name(args.doc, "doc"), max(args.limit, 1)
    found = differences(ctx, doc, chain(ctx, other), chain(ctx, base), args.cursor)
    rows = list(islice(found, limit + 1))
    shown = rows[:limit]
    more = shown[-1][1].last_seq if len(rows) > limit else None
    return {
        "workspace": ctx.workspace,
        "from": base.name,
        "to": other.name,
        "doc": doc,
        "changes": [change_json(kind, state) for kind, state in shown],
        "pagination": page_json(args.cursor, limit, len(shown), more),
    }


def change_json(kind: DiffKind, state: State) -> dict[str, Any]:
    shown = kind.show(state)
    if kind is NODE:
        return {"kind": "node", "id": shown["id"], "seq": state.last_seq, "to": shown}
    key = {name: shown[name] for name in ("from", "rel", "to")}
    return {"kind": "edge", "key": key, "seq": state.last_seq, "to": shown}


def differences(
    ctx: Context, doc: str, shown: list[BranchPart], other: list[BranchPart], before: int | None = None
) -> Iterator[tuple[DiffKind, State]]:
    """States of the first view that differ from the second's, newest first, read lazily.

    Everything written on one side only is newer than what both share. So the changes of the first side come first, and
    then shared states that the other side has changed since.
    """
    shared = shared_until(shown, other)
    for kind, state in _newest_first(ctx, doc, shown, before, shared):
        key = kind.key(state)
        if kind.differing(state, kind.at(ctx, other, doc, key)):
            yield kind, state
    yield from _left_behind(ctx, doc, shown, other, shared, before)


def _left_behind(
    ctx: Context, doc: str, shown: list[BranchPart], other: list[BranchPart], shared: int, before: int | None
) -> Iterator[tuple[DiffKind, State]]:
    found: list[tuple[DiffKind, State]] = []
    for kind in (NODE, EDGE):
        for changed in kind.versions(ctx, doc, other, after=shared, older_in=shown):
            state = kind.at(ctx, shown, doc, kind.key(changed))
            if state is not None and state.last_seq <= shared and kind.differing(state, changed):
                found.append((kind, state))
    found.sort(key=lambda pair: -pair[1].last_seq)
    yield from (pair for pair in found if before is None or pair[1].last_seq < before)


def _newest_first(
    ctx: Context, doc: str, links: list[BranchPart], before: int | None, after: int
) -> Iterator[tuple[DiffKind, State]]:
    """Nodes and edges of a view that were written after a seq, newest first."""
    while True:
        page = [
            (kind, state)
            for kind in (NODE, EDGE)
            for state in kind.versions(ctx, doc, links, limit=STEP, before=before, after=after)
        ]
        page.sort(key=lambda pair: -pair[1].last_seq)
        # Of two sorted reads of STEP each, only the newest STEP are certain to be complete.
        yield from page[:STEP]
        if len(page) < STEP:
            return
        before = page[STEP - 1][1].last_seq
