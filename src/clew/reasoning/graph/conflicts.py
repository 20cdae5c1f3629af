"""Conflicts of graph merges: recorded until they are resolved, and not reported again afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from clew.canonical import Json, digest, picked
from clew.errors import ClewError, invalid, suggest, unknown_id
from clew.ids import CONFLICT, check_name
from clew.kinds import statuses
from clew.reasoning.branches import Branch, branch_by_id, branch_named, chain
from clew.reasoning.documents import GRAPH
from clew.reasoning.graph.diff import KINDS, DiffKind, State
from clew.reasoning.graph.graph_query import Cursor
from clew.reasoning.graph.reads import node
from clew.reasoning.graph.state import Node
from clew.reasoning.graph.writes import drop_node
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import Bounded, Input, Name, operation
from clew.registry.record import InboxItem, inbox_items
from clew.store.events import last_authors
from clew.store.rows import TableRow, insert, select, update, upsert
from clew.store.rows import find as find_record
from clew.store.workspaces import declare_events

declare_events(
    {
        "graph_conflict_created": "Two branches changed the same node or edge differently.",
        "graph_conflict_resolved": "A conflict was decided, or its cause went away.",
        "graph_conflict_reopened": "The decision of a conflict was taken back; it waits again.",
    }
)


@dataclass(frozen=True, slots=True)
class KeyClash:
    """A node or edge that both sides changed differently."""

    source: Branch
    into: Branch
    doc: str
    kind: DiffKind
    base: State | None
    theirs: State
    ours: State | None

    @property
    def key(self) -> str:
        return self.kind.key(self.theirs)

    def id(self, workspace: str) -> str:
        """The id of the conflict. It depends on the incoming version, but not on later changes at the destination."""
        parts = (workspace, self.source.id, self.into.id, self.doc, self.kind.name, self.key, self.theirs.last_seq)
        # No name may contain this character, so different parts never give the same text.
        text = "\x1f".join(str(part) for part in parts)
        return f"CONFLICT-{digest(text, 16)}"


@dataclass(frozen=True)
class Merged(TableRow):
    """A version of a key that a destination has processed: it was merged, or its conflict was resolved."""

    TABLE: ClassVar[str] = "graph_merged"
    KEY: ClassVar[tuple[str, ...]] = ("from_branch", "into_branch", "doc", "kind", "key")

    from_branch: int
    into_branch: int
    doc: str
    kind: str
    key: str
    seq: int


@dataclass(frozen=True, slots=True)
class GraphConflict(TableRow):
    """A conflict that waits for a decision, or that was resolved."""

    TABLE: ClassVar[str] = "graph_conflict"
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"base", "theirs", "ours"})

    id: str
    from_branch: int
    into_branch: int
    doc: str
    kind: str
    key: str
    base: Json | None
    theirs: Json | None
    ours: Json | None
    theirs_seq: int
    seq: int = 0
    status: str = statuses.OPEN
    resolution: str | None = None
    created_at_ms: int | None = None
    resolved_at_ms: int | None = None


def preview(ctx: Context, clash: KeyClash) -> Json:
    """The conflict as a dry run shows it."""
    return conflict_json(ctx, replace(_conflict(ctx, clash), status="preview"))


def record(ctx: Context, clash: KeyClash) -> tuple[Json, bool]:
    """Record the conflict; returns it and whether it is new. A known one only gets the destination's current state."""
    wanted = _conflict(ctx, clash)
    known = find(ctx, wanted.id)
    if known is not None:
        if known.ours != wanted.ours:
            known = replace(known, ours=wanted.ours)
            update(ctx.tx, ctx.workspace, known)
        return conflict_json(ctx, known), False
    # A newer incoming version is a new conflict. At most one is open for a key, so the older one ends here.
    settle(ctx, clash.source, clash.into, clash.doc, clash.kind, clash.key, statuses.SUPERSEDED)
    new = replace(wanted, seq=ctx.ws.next_seq(), created_at_ms=ctx.now_ms)
    insert(ctx.tx, ctx.workspace, new)
    payload = {"kind": new.kind, "key": new.key, "from": clash.source.name, "into": clash.into.name}
    ctx.emit("reasoning", "graph_conflict_created", new.id, payload)
    return conflict_json(ctx, new), True


def settle(ctx: Context, source: Branch, into: Branch, doc: str, kind: DiffKind, key: str, how: str) -> None:
    """Close open conflicts about a key, because the two sides no longer disagree in this way."""
    where = "from_branch = ? AND into_branch = ? AND doc = ? AND kind = ? AND key = ? AND status = 'open' ORDER BY seq"
    params = (source.id, into.id, doc, kind.name, key)
    for conflict in select(ctx.tx, ctx.workspace, GraphConflict, where, *params):
        close(ctx, conflict, how)


def close(ctx: Context, conflict: GraphConflict, how: str) -> None:
    decided: Json = {"status": statuses.RESOLVED, "resolution": how}
    update(ctx.tx, ctx.workspace, replace(conflict, resolved_at_ms=ctx.now_ms, **decided))
    ctx.emit("reasoning", "graph_conflict_resolved", conflict.id, {"resolution": how, "key": conflict.key})


def seen(ctx: Context, source: Branch, into: Branch, doc: str, kind: DiffKind, key: str) -> int | None:
    """The version of a key that the destination has processed last."""
    found = find_record(ctx.tx, ctx.workspace, Merged, source.id, into.id, doc, kind.name, key)
    return None if found is None else found.seq


def find(ctx: Context, id: str) -> GraphConflict | None:
    return find_record(ctx.tx, ctx.workspace, GraphConflict, id)


def conflict_json(ctx: Context, conflict: GraphConflict) -> Json:
    into = branch_by_id(ctx, conflict.into_branch)
    shown = {
        "conflict_id": conflict.id,
        **picked(conflict, "kind", "key"),
        "from": branch_by_id(ctx, conflict.from_branch).name,
        "into": into.name,
        **picked(conflict, "doc", "status", "resolution", "base", "theirs", "ours"),
        **picked(conflict, "created_at_ms", "resolved_at_ms"),
    }
    if conflict.status == statuses.OPEN:
        # The current state of the destination: use_into would keep this one.
        kind = KINDS[conflict.kind]
        state = kind.at(ctx, chain(ctx, into), conflict.doc, conflict.key)
        shown["ours"] = None if state is None else kind.show(state)
    return shown


@inbox_items("conflict")
def open_conflicts(ctx: Context, limit: int) -> list[InboxItem]:
    """Conflicts of merges into any branch."""
    found = select(ctx.tx, ctx.workspace, GraphConflict, "status = 'open' ORDER BY seq LIMIT ?", limit)
    by = last_authors(ctx.tx, ctx.workspace, [conflict.id for conflict in found])
    return [_inbox_item(ctx, conflict, by.get(conflict.id)) for conflict in found]


def _inbox_item(ctx: Context, conflict: GraphConflict, by: str | None) -> InboxItem:
    shown = conflict_json(ctx, conflict)
    name = _headline(shown) or conflict.key.replace("|", " ")
    title = f"“{name}” was changed on {shown['from']} and on {shown['into']}"
    idle = "The destination keeps its own state; the other branch's change is not lost and not merged."
    facts = {"from": shown["from"], "into": shown["into"], "doc": shown["doc"], **_ways(shown)}
    about = (conflict.key,) if conflict.kind == "node" else ()
    head = (conflict.id, "conflict", title, conflict.created_at_ms or 0, idle)
    return InboxItem(*head, by=by, about=about, facts=facts)


def _ways(shown: Json) -> dict[str, bool]:
    """The possible actions: merge a node that exists on both sides field by field; or remove a node with its edges."""
    removed = [bool(shown[side] is None or shown[side].get("deleted")) for side in ("theirs", "ours")]
    is_node = shown["kind"] == "node"
    return {"mixes": is_node and not any(removed), "removes": is_node and removed[0]}


def _headline(shown: Json) -> str | None:
    states = [shown[side] for side in ("ours", "theirs", "base") if shown.get(side)]
    return next((state["title"] for state in states if state.get("title")), None)


def _conflict(ctx: Context, clash: KeyClash) -> GraphConflict:
    sides = {"base": clash.base, "theirs": clash.theirs, "ours": clash.ours}
    states: Json = {side: None if state is None else clash.kind.show(state) for side, state in sides.items()}
    return GraphConflict(
        clash.id(ctx.workspace),
        from_branch=clash.source.id,
        into_branch=clash.into.id,
        doc=clash.doc,
        kind=clash.kind.name,
        key=clash.key,
        theirs_seq=clash.theirs.last_seq,
        **states,
    )


class GraphConflicts(Bounded):
    into: Annotated[Name, Field(description="Branch that was merged into.")]
    doc: Annotated[Name, Field(description="Graph document.")] = GRAPH
    status: Annotated[Literal["open", "resolved", "all"], Field(description="Which conflicts to list.")] = statuses.OPEN
    cursor: Cursor = None
    limit: Annotated[int, Field(ge=0, le=200, description="Most conflicts to list; 0 counts as 1.")] = 50


@operation(
    "graph_conflicts",
    budget=Budget((Trim("conflicts", drop="last", page="pagination"),), 16_000, keep=("into", "doc")),
    example={"into": "main"},
)
def graph_conflicts(ctx: Context, args: GraphConflicts) -> Json:
    """List the conflicts of merges into a branch, newest first."""
    into, doc, limit = branch_named(ctx, args.into, "into"), check_name(args.doc, "doc"), max(args.limit, 1)
    wanted = (statuses.OPEN, statuses.RESOLVED) if args.status == "all" else (args.status, args.status)
    rows = ctx.tx.all(
        "SELECT id AS conflict_id, kind, key, status, created_at_ms, seq FROM graph_conflict WHERE workspace = ?"
        " AND into_branch = ? AND doc = ? AND status IN (?, ?) AND seq < ? ORDER BY seq DESC LIMIT ?",
        ctx.workspace,
        into.id,
        doc,
        *wanted,
        # Above every seq: the first page is read by the same statement as the others.
        2**62 if args.cursor is None else args.cursor,
        limit + 1,
    )
    shown = rows[:limit]
    return {
        "workspace": ctx.workspace,
        "into": into.name,
        "doc": doc,
        "conflicts": shown,
        "pagination": page_json(args.cursor, limit, len(shown), shown[-1]["seq"] if len(rows) > limit else None),
    }


ConflictId = Annotated[Name, Field(description="CONFLICT-... as graph_conflicts shows it.")]


class GraphConflictShow(Bounded):
    conflict_id: ConflictId


SIDES = ("base", "theirs", "ours")
SHOW_BUDGET = Budget(
    (
        *(Clip(f"conflict.{side}.text", 2000) for side in SIDES),
        *(Drop(f"conflict.{side}.meta") for side in SIDES),
        *(Clip(f"conflict.{side}.text", 200) for side in SIDES),
        *(Drop(f"conflict.{side}") for side in SIDES),
    ),
    16_000,
)
NO_CONFLICT = {"conflict_id": "CONFLICT-" + "0" * 32}


@operation("graph_conflict_show", budget=SHOW_BUDGET, example=NO_CONFLICT)
def graph_conflict_show(ctx: Context, args: GraphConflictShow) -> Json:
    """Show a conflict with the three states: common base, incoming (theirs), destination (ours)."""
    return {"workspace": ctx.workspace, "conflict": conflict_json(ctx, _known(ctx, args.conflict_id))}


Decision = Literal["use_from", "use_into"]
DECISIONS = get_args(Decision)


class OfConflict(Input):
    conflict_id: ConflictId


class GraphConflictResolve(OfConflict):
    resolution: Annotated[Decision, Field(description="Take the incoming state, or keep the destination's.")]


@operation("graph_conflict_resolve", writes=True, example={**NO_CONFLICT, "resolution": "use_into"})
def graph_conflict_resolve(ctx: Context, args: GraphConflictResolve) -> Json:
    """Decide a conflict; the same difference is never reported again."""
    conflict = _known(ctx, args.conflict_id)
    if conflict.status != statuses.OPEN:
        message = f"{conflict.id} is resolved already ({conflict.resolution})"
        recovery = "Change the node or edge itself if you decided otherwise since."
        raise _refused(conflict, message, recovery, "Shows how it was resolved.")
    applied = args.resolution == "use_from" and _take_theirs(ctx, conflict)
    place = {name: getattr(conflict, name) for name in Merged.KEY}
    upsert(ctx.tx, ctx.workspace, Merged(**place, seq=conflict.theirs_seq))
    close(ctx, conflict, args.resolution)
    decided = {"status": statuses.RESOLVED, "resolution": args.resolution, "applied": applied}
    return {"workspace": ctx.workspace, "conflict_id": conflict.id, **decided}


def _refused(conflict: GraphConflict, message: str, recovery: str, reason: str) -> ClewError:
    way = suggest("graph_conflict_show", reason, conflict_id=conflict.id)
    return ClewError("INVALID_INPUT", message, recovery, [{"kind": "state", "field": "conflict_id"}], [way])


@operation("graph_conflict_reopen", writes=True, example=NO_CONFLICT)
def graph_conflict_reopen(ctx: Context, args: OfConflict) -> Json:
    """Take back the decision of a conflict, so that it is open again. What the decision wrote stays as it is."""
    conflict = _known(ctx, args.conflict_id)
    if conflict.resolution not in DECISIONS:
        message = f"{conflict.id} was not decided by anybody: it is {conflict.resolution or conflict.status}"
        raise _refused(conflict, message, "Only what somebody decided can be taken back.", "Shows how it stands.")
    # At most one conflict may be open for a key, so a newer open one is closed first.
    source, into = (branch_by_id(ctx, number) for number in (conflict.from_branch, conflict.into_branch))
    settle(ctx, source, into, conflict.doc, KINDS[conflict.kind], conflict.key, statuses.SUPERSEDED)
    update(ctx.tx, ctx.workspace, replace(conflict, status=statuses.OPEN, resolution=None, resolved_at_ms=None))
    ctx.emit("reasoning", "graph_conflict_reopened", conflict.id, {"key": conflict.key})
    return {"workspace": ctx.workspace, "conflict_id": conflict.id, "status": statuses.OPEN}


def _take_theirs(ctx: Context, conflict: GraphConflict) -> bool:
    """Write the incoming state at the destination; a deletion also deletes the node's edges."""
    into, kind = branch_by_id(ctx, conflict.into_branch), KINDS[conflict.kind]
    theirs = kind.version(ctx, conflict.theirs_seq)
    if not (isinstance(theirs, Node) and theirs.deleted):
        kind.write(ctx, into, conflict.doc, theirs)
    elif node(ctx, into, conflict.doc, theirs.id) is None:
        return False
    else:
        drop_node(ctx, into, conflict.doc, theirs.id)
    return True


def _known(ctx: Context, conflict_id: str) -> GraphConflict:
    wanted = conflict_id.strip()
    if not CONFLICT.fullmatch(wanted):
        message = f"{wanted[:60]!r} is not the id of a conflict"
        recovery = "Copy it from graph_conflicts."
        raise invalid("conflict_id", message, recovery, kind="prefix", allowed=["CONFLICT-"])
    conflict = find(ctx, wanted)
    if conflict is None:
        way = suggest("graph_conflicts", "Lists the open conflicts.", into="main")
        raise unknown_id("conflict", wanted, "Copy the id from graph_conflicts.", [way])
    return conflict
