"""Conflicts of graph merges: recorded until somebody decides them, and not reported again afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

import orjson
from pydantic import Field

from clew.canonical import canonical_or_none, digest
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
from clew.store.database import Row
from clew.store.events import last_authors
from clew.store.rows import TableRow, upsert
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
        # No name may hold this sign, so different parts never give the same text.
        text = "\x1f".join(str(part) for part in parts)
        return f"CONFLICT-{digest(text, 16)}"


@dataclass(frozen=True)
class Merged(TableRow):
    """A version of a key that a destination has dealt with: it was merged, or somebody decided about it."""

    TABLE: ClassVar[str] = "graph_merged"
    KEY: ClassVar[tuple[str, ...]] = ("from_branch", "into_branch", "doc", "kind", "key")

    from_branch: int
    into_branch: int
    doc: str
    kind: str
    key: str
    seq: int


def preview(ctx: Context, clash: KeyClash) -> dict[str, Any]:
    """The conflict as a dry run shows it."""
    row = {**_row(ctx, clash), "status": "preview", "created_at_ms": None}
    return conflict_json(ctx, row)


def record(ctx: Context, clash: KeyClash) -> tuple[dict[str, Any], bool]:
    """Record the conflict; returns it and whether it is new. A known one only gets the destination's present state."""
    found = find(ctx, clash.id(ctx.workspace))
    if found is not None:
        ours = _snapshot(clash.kind, clash.ours)
        if found["ours"] != ours:
            sql = "UPDATE graph_conflict SET ours = ? WHERE workspace = ? AND id = ?"
            ctx.tx.run(sql, ours, ctx.workspace, found["id"])
        return conflict_json(ctx, {**found, "ours": ours}), False
    # A newer incoming version is a new conflict. At most one is open for a key, so the older one ends here.
    settle(ctx, clash.source, clash.into, clash.doc, clash.kind, clash.key, statuses.SUPERSEDED)
    row = {**_row(ctx, clash), "seq": ctx.ws.next_seq()}
    ctx.tx.run(f"INSERT INTO graph_conflict ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", *row.values())
    payload = {"kind": row["kind"], "key": row["key"], "from": clash.source.name, "into": clash.into.name}
    ctx.emit("reasoning", "graph_conflict_created", row["id"], payload)
    return conflict_json(ctx, row), True


def settle(ctx: Context, source: Branch, into: Branch, doc: str, kind: DiffKind, key: str, how: str) -> None:
    """Close open conflicts about a key, because the two sides no longer disagree in this way."""
    sql = (
        "SELECT * FROM graph_conflict WHERE workspace = ? AND from_branch = ? AND into_branch = ? AND doc = ?"
        " AND kind = ? AND key = ? AND status = 'open' ORDER BY seq"
    )
    rows = ctx.tx.all(sql, ctx.workspace, source.id, into.id, doc, kind.name, key)
    for row in rows:
        close(ctx, row, how)


def close(ctx: Context, row: Row, how: str) -> None:
    sql = (
        "UPDATE graph_conflict SET status = 'resolved', resolution = ?, resolved_at_ms = ?"
        " WHERE workspace = ? AND id = ?"
    )
    ctx.tx.run(sql, how, ctx.now_ms, ctx.workspace, row["id"])
    ctx.emit("reasoning", "graph_conflict_resolved", row["id"], {"resolution": how, "key": row["key"]})


def seen(ctx: Context, source: Branch, into: Branch, doc: str, kind: DiffKind, key: str) -> int | None:
    """The version of a key that the destination has dealt with last."""
    found = find_record(ctx.tx, ctx.workspace, Merged, source.id, into.id, doc, kind.name, key)
    return None if found is None else found.seq


def find(ctx: Context, id: str) -> Row | None:
    return ctx.tx.one("SELECT * FROM graph_conflict WHERE workspace = ? AND id = ?", ctx.workspace, id)


def conflict_json(ctx: Context, row: Row) -> dict[str, Any]:
    return {
        "conflict_id": row["id"],
        "kind": row["kind"],
        "key": row["key"],
        "from": branch_by_id(ctx, row["from_branch"]).name,
        "into": branch_by_id(ctx, row["into_branch"]).name,
        "doc": row["doc"],
        "status": row["status"],
        "resolution": row["resolution"],
        **{side: orjson.loads(row[side]) if row[side] else None for side in ("base", "theirs", "ours")},
        **_present(ctx, row),
        "created_at_ms": row["created_at_ms"],
        "resolved_at_ms": row["resolved_at_ms"],
    }


def _present(ctx: Context, row: Row) -> dict[str, Any]:
    """The destination's present state while the conflict is open: use_into would keep this one."""
    if row["status"] != statuses.OPEN:
        return {}
    kind, into = KINDS[row["kind"]], branch_by_id(ctx, row["into_branch"])
    state = kind.at(ctx, chain(ctx, into), row["doc"], row["key"])
    return {"ours": None if state is None else kind.show(state)}


@inbox_items("conflict")
def open_conflicts(ctx: Context, limit: int) -> list[InboxItem]:
    """Conflicts of merges into any branch."""
    sql = "SELECT * FROM graph_conflict WHERE workspace = ? AND status = 'open' ORDER BY seq LIMIT ?"
    idle = "The destination keeps its own state; the other branch's change is not lost and not merged."
    found = []
    rows = ctx.tx.all(sql, ctx.workspace, limit)
    by = last_authors(ctx.tx, ctx.workspace, [row["id"] for row in rows])
    for row in rows:
        shown = conflict_json(ctx, row)
        name = _headline(shown) or row["key"].replace("|", " ")
        title = f"“{name}” was changed on {shown['from']} and on {shown['into']}"
        facts = {"from": shown["from"], "into": shown["into"], "doc": shown["doc"], **_ways(shown)}
        about = (row["key"],) if row["kind"] == "node" else ()
        head = (row["id"], "conflict", title, row["created_at_ms"] or 0, idle)
        found.append(InboxItem(*head, by=by.get(row["id"]), about=about, facts=facts))
    return found


def _ways(shown: dict[str, Any]) -> dict[str, bool]:
    """What a person can do: mix a node that both sides have, field by field; or remove a node with its edges."""
    removed = [bool(shown[side] is None or shown[side].get("deleted")) for side in ("theirs", "ours")]
    is_node = shown["kind"] == "node"
    return {"mixes": is_node and not any(removed), "removes": is_node and removed[0]}


def _headline(shown: dict[str, Any]) -> str | None:
    states = [shown[side] for side in ("ours", "theirs", "base") if shown.get(side)]
    return next((state["title"] for state in states if state.get("title")), None)


def _row(ctx: Context, clash: KeyClash) -> Row:
    return {
        "workspace": ctx.workspace,
        "id": clash.id(ctx.workspace),
        "from_branch": clash.source.id,
        "into_branch": clash.into.id,
        "doc": clash.doc,
        "kind": clash.kind.name,
        "key": clash.key,
        "status": statuses.OPEN,
        "resolution": None,
        "base": _snapshot(clash.kind, clash.base),
        "theirs": _snapshot(clash.kind, clash.theirs),
        "ours": _snapshot(clash.kind, clash.ours),
        "theirs_seq": clash.theirs.last_seq,
        "created_at_ms": ctx.now_ms,
        "resolved_at_ms": None,
    }


def _snapshot(kind: DiffKind, state: State | None) -> str | None:
    return None if state is None else canonical_or_none(kind.show(state))


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
def graph_conflicts(ctx: Context, args: GraphConflicts) -> dict[str, Any]:
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
def graph_conflict_show(ctx: Context, args: GraphConflictShow) -> dict[str, Any]:
    """Show a conflict with the three states: common base, incoming (theirs), destination (ours)."""
    return {"workspace": ctx.workspace, "conflict": conflict_json(ctx, _conflict_row(ctx, args.conflict_id))}


Decision = Literal["use_from", "use_into"]
DECISIONS = get_args(Decision)


class GraphConflictResolve(Input):
    conflict_id: ConflictId
    resolution: Annotated[Decision, Field(description="Take the incoming state, or keep the destination's.")]


@operation("graph_conflict_resolve", writes=True, example={**NO_CONFLICT, "resolution": "use_into"})
def graph_conflict_resolve(ctx: Context, args: GraphConflictResolve) -> dict[str, Any]:
    """Decide a conflict; the same difference is never reported again."""
    row = _conflict_row(ctx, args.conflict_id)
    if row["status"] != statuses.OPEN:
        message = f"{row['id']} is resolved already ({row['resolution']})"
        recovery = "Change the node or edge itself if you decided otherwise since."
        hints = [{"kind": "state", "field": "conflict_id"}]
        ways = [suggest("graph_conflict_show", "Shows how it was resolved.", conflict_id=row["id"])]
        raise ClewError("INVALID_INPUT", message, recovery, hints, ways)
    applied = args.resolution == "use_from" and _take_theirs(ctx, row)
    place = (row["from_branch"], row["into_branch"], row["doc"], row["kind"], row["key"])
    upsert(ctx.tx, ctx.workspace, Merged(*place, row["theirs_seq"]))
    close(ctx, row, args.resolution)
    decided = {"status": statuses.RESOLVED, "resolution": args.resolution, "applied": applied}
    return {"workspace": ctx.workspace, "conflict_id": row["id"], **decided}


class GraphConflictReopen(Input):
    conflict_id: ConflictId


@operation("graph_conflict_reopen", writes=True, example=NO_CONFLICT)
def graph_conflict_reopen(ctx: Context, args: GraphConflictReopen) -> dict[str, Any]:
    """Take back the decision of a conflict, so that it is open again. What the decision wrote stays as it is."""
    row = _conflict_row(ctx, args.conflict_id)
    if row["resolution"] not in DECISIONS:
        raise ClewError(
            "INVALID_INPUT",
            f"{row['id']} was not decided by anybody: it is {row['resolution'] or row['status']}",
            "Only what somebody decided can be taken back.",
            [{"kind": "state", "field": "conflict_id"}],
            [suggest("graph_conflict_show", "Shows how it stands.", conflict_id=row["id"])],
        )
    # At most one conflict may be open for a key, so a newer open one is closed first.
    source, into = (branch_by_id(ctx, row[name]) for name in ("from_branch", "into_branch"))
    settle(ctx, source, into, row["doc"], KINDS[row["kind"]], row["key"], statuses.SUPERSEDED)
    sql = (
        "UPDATE graph_conflict SET status = 'open', resolution = NULL, resolved_at_ms = NULL"
        " WHERE workspace = ? AND id = ?"
    )
    ctx.tx.run(sql, ctx.workspace, row["id"])
    ctx.emit("reasoning", "graph_conflict_reopened", row["id"], {"key": row["key"]})
    return {"workspace": ctx.workspace, "conflict_id": row["id"], "status": statuses.OPEN}


def _take_theirs(ctx: Context, row: Row) -> bool:
    """Write the incoming state at the destination; a deletion also deletes the node's edges."""
    into, kind = branch_by_id(ctx, row["into_branch"]), KINDS[row["kind"]]
    theirs = kind.version(ctx, row["theirs_seq"])
    if isinstance(theirs, Node) and theirs.deleted:
        if node(ctx, into, row["doc"], theirs.id) is None:
            return False
        drop_node(ctx, into, row["doc"], theirs.id)
        return True
    kind.write(ctx, into, row["doc"], theirs)
    return True


def _conflict_row(ctx: Context, conflict_id: str) -> Row:
    wanted = conflict_id.strip()
    if not CONFLICT.fullmatch(wanted):
        message = f"{wanted[:60]!r} is not the id of a conflict"
        recovery = "Copy it from graph_conflicts."
        raise invalid("conflict_id", message, recovery, kind="prefix", allowed=["CONFLICT-"])
    row = find(ctx, wanted)
    if row is None:
        way = suggest("graph_conflicts", "Lists the open conflicts.", into="main")
        raise unknown_id("conflict", wanted, "Copy the id from graph_conflicts.", [way])
    return row
