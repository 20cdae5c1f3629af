"""graph_merge: a three-way merge of a branch's graph into its base, key by key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import ClewError, shorten, suggest
from clew.ids import check_name
from clew.reasoning.branches import Branch, BranchPart, branch_named, chain
from clew.reasoning.documents import GRAPH
from clew.reasoning.graph.conflicts import SIDES, KeyClash, Merged, find, preview, record, seen, settle
from clew.reasoning.graph.diff import EDGE, NODE, DiffKind, State, absent
from clew.reasoning.graph.reads import edges_at
from clew.reasoning.graph.state import Edge, Node
from clew.reasoning.notes import PAGE, Merge, destination
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import Name, operation
from clew.store.rows import load, upsert
from clew.store.workspaces import declare_events

declare_events({"graph_merged": "Graph changes of a branch were brought into its base."})

Outcome = Literal["merged", "skipped", "conflict"]


class GraphMerge(Merge):
    doc: Annotated[Name, Field(description="Graph document to merge.")] = GRAPH
    limit: Annotated[int, Field(ge=1, le=PAGE, description="Most nodes and edges to look at in this call.")] = PAGE


@dataclass
class MergeTally:
    merged: int = 0
    skipped: int = 0
    conflicts_created: int = 0
    conflicts: list[Json] = field(default_factory=list)
    nodes_changed: int = 0
    edges_changed: int = 0
    node_fields_changed: int = 0
    edge_fields_changed: int = 0

    def changed(self, kind: DiffKind, fields: int) -> None:
        if kind is NODE:
            self.nodes_changed += 1
            self.node_fields_changed += fields
        else:
            self.edges_changed += 1
            self.edge_fields_changed += fields

    def summary(self) -> dict[str, int]:
        return picked(self, "nodes_changed", "edges_changed", "node_fields_changed", "edge_fields_changed")


@dataclass(frozen=True)
class Merger:
    """One merge: the three views, and the decision about each key."""

    ctx: Context
    source: Branch
    into: Branch
    doc: str
    dry_run: bool
    tally: MergeTally
    theirs_view: list[BranchPart]
    ours_view: list[BranchPart]
    base_view: list[BranchPart]

    def take(self, kind: DiffKind, theirs: State) -> None:
        """Decide about one key and apply the decision."""
        ctx, key = self.ctx, kind.key(theirs)
        # This record makes merges idempotent: it holds the version of the branch that was merged or decided last.
        known = seen(ctx, self.source, self.into, self.doc, kind, key)
        if known == theirs.last_seq:
            self.tally.skipped += 1  # already merged or decided; the branch has nothing new
            return
        ours, base = kind.at(ctx, self.ours_view, self.doc, key), self._base(kind, key, known)
        outcome = self._outcome(kind, base, theirs, ours)
        if outcome != "skipped":
            self.tally.changed(kind, len(kind.differing(theirs, ours)))
        if outcome == "conflict":
            self._clash(KeyClash(self.source, self.into, self.doc, kind, base, theirs, ours))
        else:
            self._agree(kind, key, theirs, outcome)

    def _base(self, kind: DiffKind, key: str, known: int | None) -> State | None:
        """The common base: the version last merged or decided; before that, the state when the branch was created."""
        if known is not None:
            found: State | None = kind.version(self.ctx, known)
            return found
        return kind.at(self.ctx, self.base_view, self.doc, key)

    def _outcome(self, kind: DiffKind, base: State | None, theirs: State, ours: State | None) -> Outcome:
        # Both sides agree, or the branch has changed nothing: there is nothing to merge.
        if not kind.differing(theirs, ours) or not kind.differing(theirs, base):
            return "skipped"
        # The branch differs from both. If the destination has changed too, a person must decide.
        if kind.differing(ours, base) or self._breaks(theirs):
            return "conflict"
        return "merged"

    def _breaks(self, theirs: State) -> bool:
        """Whether a change without a conflict of its own would leave a dangling edge."""
        if isinstance(theirs, Node):
            return theirs.deleted and self._edges_only_here(theirs.id)
        return not theirs.deleted and any(self._deleted_here(id) for id in (theirs.from_id, theirs.to_id))

    def _edges_only_here(self, id: str) -> bool:
        held = edges_at(self.ctx, self.into, self.doc, [id])
        return any(not self._dropped_there(edge) for edge in held)

    def _dropped_there(self, edge: Edge) -> bool:
        state = EDGE.at(self.ctx, self.theirs_view, self.doc, EDGE.key(edge))
        return state is not None and state.deleted

    def _deleted_here(self, id: str) -> bool:
        """Whether the destination deleted a node that the branch still has, and this merge does not restore it."""
        ours = NODE.at(self.ctx, self.ours_view, self.doc, id)
        theirs = absent(NODE.at(self.ctx, self.theirs_view, self.doc, id))
        return ours is not None and ours.deleted and theirs is not None and not self._revived(theirs, ours)

    def _revived(self, theirs: State, ours: State) -> bool:
        # The end of an edge may be restored by this same merge as a node; then the edge does not dangle.
        if theirs.last_seq <= (self.source.base_seq or 0):
            return False  # inherited, so this merge does not write it
        key = NODE.key(theirs)
        known = seen(self.ctx, self.source, self.into, self.doc, NODE, key)
        if known == theirs.last_seq:
            return False
        return self._outcome(NODE, self._base(NODE, key, known), theirs, ours) == "merged"

    def _clash(self, clash: KeyClash) -> None:
        if self.dry_run:
            new = find(self.ctx, clash.id(self.ctx.workspace)) is None
            shown = preview(self.ctx, clash)
        else:
            shown, new = record(self.ctx, clash)
        self.tally.conflicts.append(shown)
        self.tally.conflicts_created += new

    def _agree(self, kind: DiffKind, key: str, theirs: State, outcome: Outcome) -> None:
        if outcome == "merged":
            self.tally.merged += 1
        else:
            self.tally.skipped += 1
        if self.dry_run:
            return
        # The version is recorded even if it was skipped: equal changes on both sides count as agreed.
        if outcome == "merged":
            kind.write(self.ctx, self.into, self.doc, theirs)
        settle(self.ctx, self.source, self.into, self.doc, kind, key, "converged")
        merged = Merged(self.source.id, self.into.id, self.doc, kind.name, key, theirs.last_seq)
        upsert(self.ctx.tx, self.ctx.workspace, merged)


MOST_WHOLE, MOST_TEXT = 20, 2000
"""How many conflicts include their states, and how much of each text: 200 whole ones could have 20 MB."""
MERGE_BUDGET = Budget(
    (
        *(Drop(f"conflicts[].{side}.meta") for side in SIDES),
        *(Clip(f"conflicts[].{side}.text", 200) for side in SIDES),
        Trim("conflicts", drop="last"),
    ),
    60_000,
    keep=("from", "into", "doc", "merged", "skipped", "conflicts_created", "conflict_ids"),
    rest=lambda result: suggest(
        "graph_conflicts", "Shows the conflicts.", "medium", into=result["into"], doc=result["doc"]
    ),
)
"""Every conflict id is kept; states that do not fit can be read one by one with graph_conflict_show."""


@operation("graph_merge", writes=True, idempotent=True, budget=MERGE_BUDGET, example={"from": "what-if"})
def graph_merge(ctx: Context, args: GraphMerge) -> Json:
    """Bring the graph changes of a branch into its base; what both changed differently becomes a conflict."""
    source, into = _ends(ctx, args)
    doc = check_name(args.doc, "doc")
    tally = MergeTally()
    # The base is the destination's view as it was when the branch was created.
    ours, base = chain(ctx, into), chain(ctx, into, source.base_seq)
    merger = Merger(ctx, source, into, doc, args.dry_run, tally, chain(ctx, source), ours, base)
    changed, has_more = _changed(ctx, source, doc, args.cursor or 0, args.limit)
    for kind, state in changed:
        merger.take(kind, state)
    if not args.dry_run and (tally.merged or tally.conflicts_created):
        payload = {"from": source.name, "into": into.name, "merged": tally.merged, "conflicts": len(tally.conflicts)}
        ctx.emit("reasoning", "graph_merged", doc, payload)
    for shown in tally.conflicts[:1] if not args.dry_run else []:
        ctx.suggest(suggest("graph_conflict_show", "Shows both sides.", "high", conflict_id=shown["conflict_id"]))
    return {
        "workspace": ctx.workspace,
        "from": source.name,
        "into": into.name,
        "doc": doc,
        **picked(tally, "merged", "skipped", "conflicts_created"),
        "conflict_ids": [shown["conflict_id"] for shown in tally.conflicts],
        "conflicts": [_brief(shown, whole=place < MOST_WHOLE) for place, shown in enumerate(tally.conflicts)],
        "diff_summary": tally.summary(),
        "pagination": page_json(args.cursor, args.limit, len(changed), changed[-1][1].last_seq if has_more else None),
    }


def _brief(conflict: Json, whole: bool) -> Json:
    """A conflict for the response of a merge: with texts truncated, and without states beyond the first ones."""
    if not whole:
        return {name: value for name, value in conflict.items() if name not in SIDES}
    states = {side: _cut(conflict[side]) for side in SIDES}
    return {**conflict, **states}


def _cut(state: Json | None) -> Json | None:
    if state is None or not state.get("text"):
        return state
    return {**state, "text": shorten(state["text"], MOST_TEXT)}


def _ends(ctx: Context, args: GraphMerge) -> tuple[Branch, Branch]:
    source = branch_named(ctx, args.from_, "from")
    if source.base_id is None:
        raise ClewError(
            "MERGE_NOT_SUPPORTED",
            f"branch {source.name} has no base, so there is nothing to merge its graph back into",
            "Merge a branch that was created from another one.",
            suggestions=[suggest("branch_list", "Shows the branches and their bases.")],
        )
    into = destination(ctx, source, args.into, args.merge_to_base)
    if into.id != source.base_id:
        raise ClewError(
            "MERGE_NOT_SUPPORTED",
            f"the graph of {source.name} merges only into its base, not into {into.name}",
            "Leave into out, or name the base.",
            suggestions=[
                suggest("graph_merge", "Merges into the base.", "high", **{"from": source.name, "merge_to_base": True})
            ],
        )
    return source, into


def _changed(
    ctx: Context, source: Branch, doc: str, after: int, limit: int
) -> tuple[list[tuple[DiffKind, State]], bool]:
    """The current version of every key written on the branch itself, in the order of writing."""
    found: list[tuple[DiffKind, State]] = []
    for kind in (NODE, EDGE):
        sql = (
            f"SELECT * FROM {kind.name} WHERE workspace = ? AND branch = ? AND doc = ? AND seq > ? AND until IS NULL"
            " ORDER BY seq LIMIT ?"
        )
        rows = ctx.tx.all(sql, ctx.workspace, source.id, doc, after, limit + 1)
        found += [(kind, load(kind.record, row)) for row in rows]
    # Nodes and edges in one order, because the cursor is a seq for both.
    found.sort(key=lambda pair: pair[1].last_seq)
    return found[:limit], len(found) > limit
