"""Branches: a name, a base branch, and the cutoff up to which entries of the base are visible. And their operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, suggest, unknown_id
from clew.hooks import HookPoint
from clew.ids import check_name
from clew.index.item_reads import refs_on_branch
from clew.index.items import unindex_where
from clew.registry.budget import Budget, Trim
from clew.registry.callers import own_checkout, set_own_checkout
from clew.registry.context import Context
from clew.registry.operation import Bounded, Input, Name, operation
from clew.store.database import Transaction
from clew.store.rows import TableRow, find, first, insert
from clew.store.workspaces import MAIN, MAIN_ID, workspace_made

# Reading walks the whole chain of bases, so its depth is bounded.
MAX_DEPTH = 32
END = 2**62


@dataclass(frozen=True, slots=True)
class Branch(TableRow):
    TABLE: ClassVar[str] = "branch"

    id: int
    name: str
    base_id: int | None
    base_seq: int | None
    created_at_ms: int
    created_seq: int = 0


@dataclass(frozen=True, slots=True)
class BranchPart:
    """One part of a branch's view: the entries of `branch` up to and including seq `cutoff`."""

    branch: int
    cutoff: int


UNBORN_MAIN = Branch(MAIN_ID, MAIN, None, None, 0)
"""The main branch of a workspace without any writes, for which no row exists."""
_NAMED = "name = ? AND deleted_at_ms IS NULL"


@workspace_made(MAIN)
def make_main(tx: Transaction, workspace: str, now_ms: int) -> None:
    insert(tx, workspace, Branch(MAIN_ID, MAIN, None, None, now_ms))


def branch_named(ctx: Context, name: str, field: str = "branch") -> Branch:
    name = check_name(name, field)
    found = find_branch(ctx, name)
    if found is None:
        create = suggest("branch_create", "Creates the branch from the checked-out one.", "low", name=name)
        ways = [suggest("branch_list", "Shows the branches there are."), create]
        raise unknown_id("branch", name, "Name an existing branch, or create it first.", ways)
    return found


def find_branch(ctx: Context, name: str) -> Branch | None:
    branch = first(ctx.tx, ctx.workspace, Branch, _NAMED, name)
    if branch is None:
        return UNBORN_MAIN if ctx.ws.unborn and name == MAIN else None
    ctx.memo["branch", branch.id] = branch
    return branch


def branch_by_id(ctx: Context, number: int) -> Branch:
    """The branch with this number, read once in a transaction. Only a rename changes it, which drops the memo."""
    known: Branch | None = ctx.memo.get(("branch", number))
    if known is not None:
        return known
    branch = find(ctx.tx, ctx.workspace, Branch, number)
    if branch is None and ctx.ws.unborn and number == MAIN_ID:
        return UNBORN_MAIN
    if branch is None:
        raise ClewError("INTERNAL", f"branch number {number} is not stored")
    ctx.memo["branch", number] = branch
    return branch


def checked_out(ctx: Context) -> Branch:
    if ctx.ws.checkout is None:
        message = "no branch is checked out"
        ways = [suggest("checkout", "Checks out the default branch.", "high", ref="main")]
        raise ClewError("NO_CHECKOUT", message, "Check out a branch.", suggestions=ways)
    return branch_by_id(ctx, ctx.ws.checkout)


def chain(ctx: Context, branch: Branch, as_of: int | None = None) -> list[BranchPart]:
    """The parts of a branch's view: the branch itself, then its bases.

    Everything on a branch is newer than what it inherits, so the parts never overlap in seq. Reading them in this order
    means reading from the newest entry to the oldest.
    """
    links: list[BranchPart] | None = ctx.memo.get(("chain", branch.id))
    if links is None:
        links = ctx.memo["chain", branch.id] = _links(ctx, branch)
    return links if as_of is None else [BranchPart(link.branch, min(link.cutoff, as_of)) for link in links]


def _links(ctx: Context, branch: Branch) -> list[BranchPart]:
    links = [BranchPart(branch.id, END)]
    while branch.base_id is not None and branch.base_seq is not None:
        if len(links) > MAX_DEPTH:
            raise ClewError("INVALID_INPUT", f"branch {branch.name} lies deeper than {MAX_DEPTH} bases")
        # Through a base nothing newer than the nearer cutoff is visible, even if that base shows more of its own base.
        links.append(BranchPart(branch.base_id, min(branch.base_seq, links[-1].cutoff)))
        branch = branch_by_id(ctx, branch.base_id)
    return links


def create_branch(ctx: Context, name: str, base: Branch | None) -> Branch:
    """Create a branch that sees what `base` holds now; without a base it starts empty."""
    name = check_name(name, "name")
    if find_branch(ctx, name) is not None:
        recovery = "Choose another name, or check it out."
        ways = [suggest("checkout", "Checks out the branch that exists.", "high", ref=name)]
        raise ClewError("CONFLICT", f"branch {name} exists already", recovery, suggestions=ways)
    if base is not None and len(chain(ctx, base)) >= MAX_DEPTH:
        raise ClewError(
            "INVALID_INPUT",
            f"branch {base.name} already lies {MAX_DEPTH} bases deep",
            "Branch from one of its bases.",
            [{"kind": "range", "field": "from", "le": MAX_DEPTH}],
            [suggest("branch_list", "Shows the branches and their bases.")],
        )
    branch = Branch(ctx.ws.count("branch"), name, None, None, ctx.now_ms, created_seq=ctx.ws.seq)
    if base is not None:
        branch = replace(branch, base_id=base.id, base_seq=ctx.ws.seq)
    insert(ctx.tx, ctx.workspace, branch)
    payload = {"base_branch": base.name if base else None, "base_seq": branch.base_seq}
    ctx.emit("reasoning", "branch_created", name, payload)
    return branch


def check_out(ctx: Context, branch: Branch) -> str | None:
    """Check a branch out; returns the name of the previous one."""
    previous = branch_by_id(ctx, ctx.ws.checkout).name if ctx.ws.checkout is not None else None
    if ctx.ws.checkout != branch.id:
        ctx.ws.checkout = branch.id
        ctx.emit("reasoning", "checkout_changed", branch.name, {"previous": previous})
    set_own_checkout(ctx, branch.id)
    return previous


def own_branch(ctx: Context) -> Branch:
    """The branch for the tools of an agent: the one that this caller checked out, else main.

    The seeds' operations use the checkout of the workspace instead, which any caller may move.
    """
    chosen = own_checkout(ctx)
    # The branch may have been deleted since it was checked out; then main is used.
    found = first(ctx.tx, ctx.workspace, Branch, "id = ? AND deleted_at_ms IS NULL", chosen or MAIN_ID)
    return found or branch_by_id(ctx, MAIN_ID)


def branch_json(ctx: Context, branch: Branch) -> Json:
    base = branch_by_id(ctx, branch.base_id).name if branch.base_id is not None else None
    return {"name": branch.name, "base_branch": base, "base_seq": branch.base_seq}


class BranchCreate(Input):
    name: Annotated[Name, Field(description="Name of the new branch.")]
    from_: Annotated[Name | None, Field(alias="from", description="Branch to start from; default: the checkout.")] = (
        None
    )


@operation("branch_create", writes=True, example={"name": "what-if"})
def branch_create(ctx: Context, args: BranchCreate) -> Json:
    """Start a branch from another one's present state; nothing is copied."""
    base = branch_named(ctx, args.from_, "from") if args.from_ else checked_out(ctx)
    return {"workspace": ctx.workspace, "branch": branch_json(ctx, create_branch(ctx, args.name, base))}


class BranchList(Bounded):
    limit: Annotated[int, Field(ge=1, le=500, description="Most branches to list.")] = 200


@operation(
    "branch_list", budget=Budget((Trim("branches", drop="last", count="count"),), 16_000, keep=("workspace", "count"))
)
def branch_list(ctx: Context, args: BranchList) -> Json:
    """List the branches of the workspace with their bases."""
    sql = (
        "SELECT branch.name, base.name AS base_branch, branch.base_seq, branch.created_at_ms FROM branch"
        " LEFT JOIN branch AS base ON base.workspace = branch.workspace AND base.id = branch.base_id"
        " WHERE branch.workspace = ? AND branch.deleted_at_ms IS NULL ORDER BY branch.name LIMIT ?"
    )
    rows = ctx.tx.all(sql, ctx.workspace, args.limit + 1)
    # Nothing was written yet, so main has no row.
    if ctx.ws.unborn:
        rows = [{"name": MAIN, "base_branch": None, "base_seq": None, "created_at_ms": 0}]
    shown = rows[: args.limit]
    counts = {"count": len(shown), "truncated": len(rows) > len(shown)}
    return {"workspace": ctx.workspace, "branches": shown, **counts}


class Checkout(Input):
    ref: Annotated[Name, Field(description="Branch to check out.")]


@operation("checkout", writes=True, idempotent=True, example={"ref": "main"})
def checkout(ctx: Context, args: Checkout) -> Json:
    """Make a branch the default of reads and writes that name none."""
    branch = branch_named(ctx, args.ref, "ref")
    return {"workspace": ctx.workspace, "previous": check_out(ctx, branch), "current": branch.name}


class BranchRename(Input):
    old: Annotated[Name, Field(description="Present name.")]
    new: Annotated[Name, Field(description="New name.")]


@operation("branch_rename", writes=True, example={"old": "what-if", "new": "what-if-2"})
def branch_rename(ctx: Context, args: BranchRename) -> Json:
    """Rename a branch; everything on it follows."""
    branch = branch_named(ctx, args.old, "old")
    new = check_name(args.new, "new")
    if first(ctx.tx, ctx.workspace, Branch, f"{_NAMED} AND id <> ?", new, branch.id):
        message = f"branch {new} exists already"
        ways = [suggest("branch_list", "Shows the names that are taken.")]
        raise ClewError("CONFLICT", message, "Choose another name.", suggestions=ways)
    if new != branch.name:
        ctx.tx.run("UPDATE branch SET name = ? WHERE workspace = ? AND id = ?", new, ctx.workspace, branch.id)
        # The name is the only part of a branch that can change; the memo of its chain holds numbers and stays valid.
        ctx.memo.pop(("branch", branch.id), None)
        ctx.emit("reasoning", "branch_renamed", new, {"previous": branch.name})
    return {"workspace": ctx.workspace, "previous": branch.name, "current": new}


class BranchDelete(Input):
    name: Annotated[Name, Field(description="Branch to delete.")]


@operation("branch_delete", writes=True, destructive=True, example={"name": "what-if"})
def branch_delete(ctx: Context, args: BranchDelete) -> Json:
    """Remove a branch that nothing rests on; its entries stay stored but are no longer shown."""
    branch = branch_named(ctx, args.name, "name")
    delete_branch(ctx, branch)
    return {"workspace": ctx.workspace, "name": branch.name, "deleted": True}


def delete_branch(ctx: Context, branch: Branch) -> None:
    _refuse_in_use(ctx, branch)
    sql = "UPDATE branch SET deleted_at_ms = ? WHERE workspace = ? AND id = ?"
    ctx.tx.run(sql, ctx.now_ms, ctx.workspace, branch.id)
    _unindex(ctx, branch)
    ctx.emit("reasoning", "branch_deleted", branch.name, {"id": branch.id})


def _unindex(ctx: Context, branch: Branch) -> None:
    """Remove the branch's items from search. A card that exists on another branch is indexed from there."""
    from clew.reasoning.graph.writes import reindex_elsewhere  # the graph depends on branches

    cards = refs_on_branch(ctx.tx, ctx.workspace, branch.id, "card")
    # In this order, because an id has only one item: this branch's version must be removed before it is replaced.
    unindex_where(ctx.tx, ctx.workspace, "branch = ?", branch.id)
    for card in cards:
        reindex_elsewhere(ctx, card)


branch_owner: HookPoint[Callable[[Context, int], str | None]] = HookPoint("branch_owner")
"""Called before a branch is deleted: returns what still needs it, such as "session 12ab"; else None."""


@branch_owner(order=-1)
def target_of_branch(ctx: Context, branch: int) -> str | None:
    """The plan or task whose scope is this branch."""
    sql = "SELECT id FROM reasoning_ref WHERE workspace = ? AND branch = ?"
    found = ctx.tx.value(sql, ctx.workspace, branch)
    return None if found is None else str(found)


def _refuse_in_use(ctx: Context, branch: Branch) -> None:
    sql = "SELECT name FROM branch WHERE workspace = ? AND base_id = ? AND deleted_at_ms IS NULL ORDER BY name LIMIT 3"
    children = ctx.tx.all(sql, ctx.workspace, branch.id)
    owners = (ask(ctx, branch.id) for ask in branch_owner.all())
    owner = next((found for found in owners if found is not None), None)
    reason = "Shows the other branches."
    if branch.id == MAIN_ID:
        problem = "is the root of the workspace"
    elif ctx.ws.checkout == branch.id:
        problem, reason = "is checked out", "Shows branches to check out instead."
    elif children:
        problem = f"is the base of {', '.join(row['name'] for row in children)}"
        reason = "Shows which branches rest on it."
    elif owner:
        problem = f"belongs to {owner}"
    else:
        return
    message = f"branch {branch.name} {problem} and cannot be deleted"
    recovery, hint = "Check out or delete the other one first.", {"kind": "state", "field": "name"}
    raise ClewError("INVALID_INPUT", message, recovery, [hint], [suggest("branch_list", reason)])
