"""Changing sessions: resume, rename, retag, complete, delete."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import invalid
from clew.ledger.inputs import LedgerInput, SessionRef, SessionTitle, Tags
from clew.ledger.places import moved, place_of, seat
from clew.ledger.rows import newest_thoughts, thought_json
from clew.ledger.sessions import (
    ACTIVE,
    change_session,
    complete_session,
    session_json,
    session_named,
    tag_list,
)
from clew.ledger.start import CONTEXT_BUDGET, restored
from clew.reasoning.branches import branch_by_id, delete_branch
from clew.registry.context import Context
from clew.registry.operation import operation

EXAMPLE = {"sessionId": "00000000-0000-4000-8000-000000000000"}


class SessionResume(LedgerInput):
    session_id: SessionRef


@operation(
    "session_resume",
    aliases=("session.resume",),
    writes=True,
    idempotent=True,
    budget=CONTEXT_BUDGET,
    example=EXAMPLE,
)
def session_resume(ctx: Context, args: SessionResume) -> dict[str, Any]:
    """Make another session the current one; the notation has to be shown again before its first thought."""
    session = session_named(ctx, args.session_id)
    before = place_of(ctx, session.id)
    place = moved(before, session)
    if before.session != session.id:
        place = replace(place, cipher=False)
    result = {name: value for name, value in restored(ctx, session, place).items() if name != "text"}
    last = newest_thoughts(ctx, session.id, 1)
    message = f"Resumed {session.title!r}: go on with thought {result['nextThoughtNumber']}."
    return result | {
        "success": True,
        "thoughtCount": session.thought_count,
        "lastThought": thought_json(last[0]) if last else None,
        "message": message,
    }


class SessionUpdate(LedgerInput):
    synonyms: ClassVar[dict[str, str]] = {**LedgerInput.synonyms, "sessionTitle": "title", "sessionTags": "tags"}

    session_id: SessionRef
    title: Annotated[SessionTitle | None, Field(description="New title.")] = None
    description: Annotated[str | None, Field(max_length=10_000, description="New description.")] = None
    tags: Annotated[Tags | None, Field(description="All tags from now on.")] = None
    add_tags: Annotated[Tags, Field(description="Tags to add.")] = []
    remove_tags: Annotated[Tags, Field(description="Tags to take away.")] = []


@operation(
    "session_update",
    aliases=("session.update", "session.rename", "session.retag"),
    writes=True,
    idempotent=True,
    example={**EXAMPLE, "title": "Search latency"},
)
def session_update(ctx: Context, args: SessionUpdate) -> dict[str, Any]:
    """Rename, describe or retag a session."""
    session = session_named(ctx, args.session_id)
    if args.title is not None and not args.title.strip():
        raise invalid("title", "must not be empty", kind="non_empty")
    gone = {tag.strip().casefold() for tag in args.remove_tags}
    wanted = [*(session.tags if args.tags is None else args.tags), *args.add_tags]
    tags = [tag for tag in tag_list(wanted) if tag.casefold() not in gone]
    title = args.title.strip() if args.title else session.title
    description = session.description if args.description is None else args.description or None
    return {"session": session_json(change_session(ctx, session, title, description, tags))}


class SessionComplete(LedgerInput):
    session_id: SessionRef


@operation("session_complete", aliases=("session.complete",), writes=True, idempotent=True, example=EXAMPLE)
def session_complete(ctx: Context, args: SessionComplete) -> dict[str, Any]:
    """Mark a session as completed without another thought; a later thought or resume goes on with it."""
    session = session_named(ctx, args.session_id)
    if session.status == ACTIVE:
        complete_session(ctx, session)
    return {"session": session_json(session_named(ctx, session.id))}


class SessionDelete(LedgerInput):
    session_id: SessionRef


@operation("session_delete", aliases=("session.delete",), writes=True, destructive=True, example=EXAMPLE)
def session_delete(ctx: Context, args: SessionDelete) -> dict[str, Any]:
    """Remove a session from every view and search; its entries stay in the log."""
    session = session_named(ctx, args.session_id)
    ctx.tx.run(
        "UPDATE ledger_session SET deleted_at_ms = ? WHERE workspace = ? AND id = ?",
        ctx.now_ms,
        ctx.workspace,
        session.id,
    )
    delete_branch(ctx, branch_by_id(ctx, session.branch))  # by its number: a branch may have got another name
    ctx.tx.run("DELETE FROM ledger_tag WHERE workspace = ? AND session = ?", ctx.workspace, session.id)
    ctx.emit("ledger", "session_deleted", session.id, {"title": session.title, "thoughts": session.thought_count})
    _leave(ctx, session.id)
    return {"sessionId": session.id, "deleted": True, "thoughtCount": session.thought_count}


def _leave(ctx: Context, session: str) -> None:
    """A connection that stood in the session stands in none."""
    place = place_of(ctx, None)
    if ctx.session.durable and place.session == session:
        places, workspace = seat(ctx).places, ctx.workspace
        ctx.after_commit(lambda: places.__setitem__(workspace, replace(place, session=None)))
