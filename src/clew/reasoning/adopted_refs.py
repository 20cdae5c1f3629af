"""Importing the version control of a BranchMind store: tags, the reflog, and heads that were reset."""

from __future__ import annotations

from collections.abc import Iterable

from clew.reasoning.adopted_log import Adoption
from clew.reasoning.branches import Branch
from clew.registry.context import Context
from clew.store.database import Row

REFS = ("vcs_tags", "vcs_refs", "vcs_reflog")


def adopt_refs(ctx: Context, work: Adoption) -> None:
    _tags(ctx, work)
    moves = list(work.rows("vcs_reflog", "ts_ms, new_seq"))
    _reflog(ctx, work, moves)
    _heads(ctx, work, moves)


def _tags(ctx: Context, work: Adoption) -> None:
    found = [(row, _branch(work, row)) for row in work.rows("vcs_tags", "name")]
    rows = [
        (ctx.workspace, row["name"], branch.id, row.get("doc") or "notes", row["seq"], row.get("created_at_ms") or 0)
        for row, branch in found
        if branch is not None
    ]
    ctx.tx.many(
        "INSERT INTO note_tag (workspace, name, branch, doc, seq, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)", rows
    )
    work.counted("tags", rows)


def _reflog(ctx: Context, work: Adoption, moves: list[Row]) -> None:
    found = [(row, _branch(work, row)) for row in moves]
    rows = [
        (
            ctx.workspace,
            ctx.ws.next_seq(),
            branch.id,
            row["doc"],
            row.get("old_seq"),
            row["new_seq"],
            row.get("message") or "",
            row["ts_ms"],
        )
        for row, branch in found
        if branch is not None
    ]
    ctx.tx.many(
        "INSERT INTO reflog (workspace, seq, branch, doc, old_seq, new_seq, message, ts_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    work.counted("reflog", rows)


def _heads(ctx: Context, work: Adoption, moves: Iterable[Row]) -> None:
    """Import heads. One that was reset to an earlier note hides later ones; any other is just the newest note."""
    last = {(row["ref"], row["doc"]): row for row in moves}
    kept = 0
    for row in work.rows("vcs_refs", "ref, doc"):
        branch, moved = _branch(work, row), last.get((row["ref"], row["doc"]))
        if branch is None:
            continue
        kept += 1
        old = moved.get("old_seq") if moved is not None else None
        if old is not None and row["seq"] < old:
            values = (ctx.workspace, branch.id, row["doc"], row["seq"], work.last_seq)
            ctx.tx.run("INSERT INTO log_cut (workspace, branch, doc, low, high) VALUES (?, ?, ?, ?, ?)", *values)
    work.counted("heads", range(kept))


def _branch(work: Adoption, row: Row) -> Branch | None:
    """The branch that a row names. A ref has the name of its branch."""
    return work.branches.get(row.get("branch") or row.get("ref") or "")
