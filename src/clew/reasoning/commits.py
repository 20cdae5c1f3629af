"""Version control of notes: commit, log, tags, reflog and reset.

Nothing is ever removed. A reset hides the part of the log after the target entry, up to the time of the
reset; notes written later follow. Resetting to a hidden entry shows the log as it was when that entry was the newest.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clew.canonical import Json, as_json, picked
from clew.clock import rfc3339
from clew.errors import ClewError, invalid, suggest, unknown_id
from clew.ids import check_name
from clew.reasoning.branches import branch_named, checked_out
from clew.reasoning.document_log import (
    SHOW_TAGS,
    HeadMove,
    NoteTag,
    commit_json,
    head,
    log_entries,
    move,
    point_seq,
    resolve_ref,
    rewind,
    tag_named,
    visible,
)
from clew.reasoning.documents import NOTES, append, branch_name
from clew.registry.budget import Budget, Trim, shrinking
from clew.registry.context import Context
from clew.registry.envelope import page_json
from clew.registry.operation import MAX_NUMBER, Bounded, Input, Meta, Name, Names, Text, Title, operation
from clew.store.rows import select, upsert
from clew.store.workspaces import declare_events

declare_events(
    {
        "head_moved": "The head of a branch's notes was reset to another entry.",
        "tag_created": "A tag was put on a note.",
        "tag_deleted": "A tag was removed; the note stays.",
    }
)

MOST_DOCS = 20
MOST_TAGS = 1_000


class Commit(Input):
    artifact: Annotated[Text, Field(min_length=1, description="What to keep.")]
    message: Annotated[Title, Field(min_length=1, description="One line that says what and why.")]
    docs: Annotated[Name | Names | None, Field(description="Document or documents; default notes.")] = None
    meta: Meta | None = None
    agent_id: Name | None = None


@operation("commit", writes=True, example={"artifact": "Use WAL mode.", "message": "Decide the journal mode"})
def commit(ctx: Context, args: Commit) -> Json:
    """Append a note with a message to the checked-out branch and move its head there."""
    branch = checked_out(ctx)
    docs = _docs(args.docs)
    if not args.artifact.strip() or not args.message.strip():
        raise invalid("artifact", "artifact and message must not be blank", kind="non_empty")
    rows = []
    for doc in docs:
        # Read before the append, for the reflog.
        old = head(ctx, branch, doc)
        rows.append(append(ctx, branch.id, doc, content=args.artifact, title=args.message, meta=args.meta))
        move(ctx, branch, doc, old, rows[-1]["seq"], f"commit: {args.message}")
        ctx.emit("reasoning", "note_committed", f"{doc}@{rows[-1]['seq']}", {"branch": branch.name})
    return {
        "workspace": ctx.workspace,
        "branch": branch.name,
        "docs": docs,
        "commits": [commit_json(ctx, row) for row in rows],
    }


def _docs(given: str | list[str] | None) -> list[str]:
    names = [given] if isinstance(given, str) else given if given is not None else [NOTES]
    docs = list(dict.fromkeys(check_name(name, "docs") for name in names))
    if not 1 <= len(docs) <= MOST_DOCS:
        raise invalid("docs", f"expected 1 to {MOST_DOCS} documents", kind="range", ge=1, le=MOST_DOCS)
    return docs


class Log(Bounded):
    ref: Annotated[Name | None, Field(description="Branch, tag or seq to start from; default: the checkout.")] = None
    limit: Annotated[int, Field(ge=0, le=200, description="Most notes to show; 0 counts as 1.")] = 20
    cursor: Annotated[int | None, Field(ge=0, le=MAX_NUMBER, description="Show notes before this seq.")] = None


_COMMITS = Trim("commits", drop="last", page="pagination")
LOG_BUDGET = Budget(shrinking("commits[].artifact", (2000, 200), _COMMITS), 16_000, keep=("branch", "doc", "head_seq"))


@operation("log", budget=LOG_BUDGET)
def log(ctx: Context, args: Log) -> Json:
    """Show the notes of a branch as commits, newest first."""
    point, limit = resolve_ref(ctx, args.ref), max(args.limit, 1)
    rows = log_entries(ctx, point.branch, NOTES, limit + 1, point.seq, args.cursor)
    shown = rows[:limit]
    return {
        "workspace": ctx.workspace,
        "ref": args.ref or point.branch.name,
        "branch": point.branch.name,
        "doc": NOTES,
        "head_seq": point.seq if point.seq is not None else head(ctx, point.branch),
        "commits": [commit_json(ctx, row) for row in shown],
        "pagination": page_json(args.cursor, limit, len(shown), shown[-1]["seq"] if len(rows) > limit else None),
    }


class TagCreate(Input):
    name: Annotated[Name, Field(min_length=1, description="Name of the tag.")]
    from_: Annotated[
        Name | None, Field(alias="from", description="Branch, tag or seq to tag; default: the checkout's head.")
    ] = None
    force: Annotated[bool, Field(description="Move the tag when it exists.")] = False


@operation("tag_create", writes=True, example={"name": "before-rewrite"})
def tag_create(ctx: Context, args: TagCreate) -> Json:
    """Give a note a name that log, reset and tag_create take as a reference."""
    name = check_name(args.name, "name")
    if name.isdigit():
        raise invalid("name", "must not be a number, which would name a seq", "Use a word.", kind="value")
    point = resolve_ref(ctx, args.from_, "from")
    seq = point_seq(ctx, point, "from")
    if tag_named(ctx, name) is not None and not args.force:
        again = {"name": name, "force": True, "from": str(seq) if args.from_ is None else args.from_}
        recovery = "Choose another name, or move it with force=true."
        ways = [suggest("tag_create", "Moves the tag.", "medium", **again), SHOW_TAGS]
        raise ClewError("CONFLICT", f"tag {name} exists already", recovery, suggestions=ways)
    tag = NoteTag(name, point.branch.id, NOTES, seq=seq, created_at_ms=ctx.now_ms)
    upsert(ctx.tx, ctx.workspace, tag)
    ctx.emit("reasoning", "tag_created", name, {"ref": f"{NOTES}@{seq}", "branch": point.branch.name})
    return {"workspace": ctx.workspace, "tag": {**as_json(tag), "branch": point.branch.name}}


@operation("tag_list", budget=Budget((Trim("tags", drop="last", count="count"),), 16_000, keep=("workspace", "count")))
def tag_list(ctx: Context, args: Bounded) -> Json:
    """List the tags and the notes they name."""
    sql = (
        "SELECT note_tag.name, branch.name AS branch, note_tag.doc, note_tag.seq, note_tag.created_at_ms"
        " FROM note_tag JOIN branch ON branch.workspace = note_tag.workspace AND branch.id = note_tag.branch"
        " WHERE note_tag.workspace = ? AND branch.deleted_at_ms IS NULL ORDER BY note_tag.name LIMIT ?"
    )
    rows = ctx.tx.all(sql, ctx.workspace, MOST_TAGS + 1)
    shown = rows[:MOST_TAGS]
    return {"workspace": ctx.workspace, "tags": shown, "count": len(shown), "truncated": len(rows) > len(shown)}


class TagDelete(Input):
    name: Annotated[Name, Field(min_length=1, description="Tag to remove.")]


@operation("tag_delete", writes=True, destructive=True, example={"name": "before-rewrite"})
def tag_delete(ctx: Context, args: TagDelete) -> Json:
    """Remove a tag; the note it named stays."""
    name = check_name(args.name, "name")
    deleted = bool(ctx.tx.changed("DELETE FROM note_tag WHERE workspace = ? AND name = ?", ctx.workspace, name))
    if deleted:
        ctx.emit("reasoning", "tag_deleted", name)
    else:
        ctx.warn("TAG_UNKNOWN", f"there is no tag {name}", "tag_list shows the tags.")
        ctx.suggest(SHOW_TAGS)
    return {"workspace": ctx.workspace, "name": name, "deleted": deleted}


class Reflog(Bounded):
    ref: Annotated[Name | None, Field(description="Branch; default: the checkout.")] = None
    limit: Annotated[int, Field(ge=1, le=200, description="Most movements to show.")] = 50


@operation(
    "reflog", budget=Budget((Trim("entries", drop="last", count="count"),), 16_000, keep=("workspace", "ref", "count"))
)
def reflog(ctx: Context, args: Reflog) -> Json:
    """Show where the head of a branch's notes has been, newest first."""
    branch = branch_named(ctx, args.ref, "ref") if args.ref is not None else checked_out(ctx)
    where = "branch = ? AND doc = ? ORDER BY seq DESC LIMIT ?"
    moves = select(ctx.tx, ctx.workspace, HeadMove, where, branch.id, NOTES, args.limit + 1)
    shown = [_movement(ctx, move) for move in moves[: args.limit]]
    return {
        "workspace": ctx.workspace,
        "ref": branch.name,
        "doc": NOTES,
        "entries": shown,
        "count": len(shown),
        "truncated": len(moves) > len(shown),
    }


def _movement(ctx: Context, moved: HeadMove) -> Json:
    name, said = branch_name(ctx, moved.branch), picked(moved, "doc", "message", "old_seq", "new_seq", "ts_ms")
    return {**said, "branch": name, "ref": name, "ts": rfc3339(moved.ts_ms)}


class Reset(Input):
    ref: Annotated[Name, Field(min_length=1, description="Branch, tag or seq of the note to go back to.")]


@operation("reset", writes=True, idempotent=True, example={"ref": "main"})
def reset(ctx: Context, args: Reset) -> Json:
    """Move the head of the checked-out branch's notes; log hides what came after, nothing is deleted."""
    branch = checked_out(ctx)
    seq = point_seq(ctx, resolve_ref(ctx, args.ref), "ref")
    if not visible(ctx, branch, NOTES, seq):
        raise unknown_id(
            f"note on {branch.name}",
            f"{NOTES}@{seq}",
            "Go back to a note that this branch shows.",
            [suggest("log", "Shows them."), suggest("reflog", "Shows where the head has been.", "medium")],
        )
    old = head(ctx, branch)
    if old != seq:
        rewind(ctx, branch, NOTES, seq)
        move(ctx, branch, NOTES, old, seq, f"reset: {args.ref}")
        ctx.emit("reasoning", "head_moved", branch.name, {"old_seq": old, "new_seq": seq})
    return {"workspace": ctx.workspace, "ref": branch.name, "doc": NOTES, "old_seq": old, "new_seq": seq}
