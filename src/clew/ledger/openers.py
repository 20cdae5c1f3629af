"""Hooks by which `open`, `retract` and the inbox handle sessions, thoughts, notebooks and patterns."""

from __future__ import annotations

from clew.canonical import Json
from clew.errors import shorten
from clew.index.item_reads import items_by_ref
from clew.index.items import mark_item
from clew.kinds import statuses
from clew.ledger.chains import Point, chains_of
from clew.ledger.garden import pattern_named
from clew.ledger.notebooks.books import cells_of, notebook_named
from clew.ledger.session_operations import branches_json
from clew.ledger.sessions import find_session, session_json, session_named
from clew.ledger.thought_links import node_id, session_branch, set_node_status
from clew.ledger.thought_rows import Thought, newest_thoughts, thought_by_seq, thought_json
from clew.reasoning.documents import GRAPH
from clew.reasoning.premises import suspects
from clew.reasoning.scope import Scope
from clew.registry.context import Context
from clew.registry.record import (
    Named,
    RecordLink,
    Restoration,
    Retracted,
    Retraction,
    linker,
    namer,
    opener,
    restorer,
    retracter,
)

SUMMARY = 160
MOST_CELL = 1000
_LINKS = (
    "SELECT relation, thought.session, thought.chain, thought.number FROM thought_link JOIN thought"
    " ON thought.workspace = thought_link.workspace AND thought.seq = thought_link.{other}"
    " WHERE thought_link.workspace = ? AND thought_link.{own} = ? ORDER BY thought_link.{other}, relation LIMIT ?"
)


@namer("session")
def session_names(ctx: Context, ids: list[str]) -> list[Named]:
    found = [find_session(ctx, id) for id in ids]
    return [Named(session.id, "session", session.title, session.status) for session in found if session]


@opener("session")
def open_session(ctx: Context, id: str, limit: int, include_drafts: bool) -> Json:
    session = session_named(ctx, id)
    newest = newest_thoughts(ctx, session.id, limit)
    return {
        "kind": "session",
        "id": session.id,
        "summary": f"{session.title} ({session.thought_count} thoughts, {session.status})",
        "session": session_json(session),
        "branches": branches_json(chains_of(ctx, session.id, limit=limit)),
        "thoughts": [thought_json(thought) for thought in newest],
        "truncated": session.thought_count > len(newest),
    }


@opener("thought")
def open_thought(ctx: Context, id: str, limit: int, include_drafts: bool) -> Json:
    """A thought with its links in both directions; `suspect` if a premise is no longer in force."""
    thought = _indexed(ctx, id)
    session = session_named(ctx, thought.session)
    doubt = suspects(ctx, Scope(session_branch(session)), [id]).get(id)
    return {
        "kind": "thought",
        "id": id,
        "summary": shorten(" ".join(thought.text.split()), SUMMARY),
        "session": {"id": session.id, "title": session.title, "status": session.status},
        "thought": thought_json(thought),
        "prev": node_id(session.id, thought.prev) if thought.prev else None,
        "entry": f"trace@{thought.seq}",
        "graph": {"branch": session_branch(session).name, "doc": GRAPH},
        "links": {
            "to": _links(ctx, thought, "from_seq", "to_seq", limit),
            "from": _links(ctx, thought, "to_seq", "from_seq", limit),
        },
        **({"suspect": doubt.to_json()} if doubt else {}),
    }


def _indexed(ctx: Context, id: str) -> Thought:
    """The thought with an id. The search index maps the id to its seq."""
    (item,) = items_by_ref(ctx.tx, ctx.workspace, [id])
    thought = thought_by_seq(ctx, int(item["seq"]))
    assert thought is not None, f"{id} is indexed and not stored"
    return thought


def _links(ctx: Context, thought: Thought, own: str, other: str, limit: int) -> list[Json]:
    rows = ctx.tx.all(_LINKS.format(own=own, other=other), ctx.workspace, thought.seq, limit)
    return [{"rel": row["relation"], "id": node_id(row["session"], Point(row["chain"], row["number"]))} for row in rows]


@linker("session")
def session_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    return [RecordLink(thought.node_id, "part_of", id) for thought in newest_thoughts(ctx, id, limit)]


@linker("thought")
def thought_links(ctx: Context, id: str, limit: int) -> list[RecordLink]:
    """The links of a thought in both directions, and the session it belongs to."""
    thought = _indexed(ctx, id)
    to = _links(ctx, thought, "from_seq", "to_seq", limit)
    back = _links(ctx, thought, "to_seq", "from_seq", limit)
    return [
        RecordLink(id, "part_of", thought.session),
        *(RecordLink(id, link["rel"], link["id"]) for link in to),
        *(RecordLink(link["id"], link["rel"], id) for link in back),
    ]


@retracter("thought")
def retract_thought(ctx: Context, id: str, said: Retraction) -> Retracted:
    """Retract a thought. Its text never changes; its graph node and its search item get the new status."""
    thought = _indexed(ctx, id)
    session = session_named(ctx, thought.session)
    status = statuses.SUPERSEDED if said.replaced_by else statuses.RETRACTED
    set_node_status(ctx, session, thought.point, status)
    mark_item(ctx.tx, ctx.workspace, id, status)
    return Retracted(status)


@restorer("thought")
def restore_thought(ctx: Context, id: str, why: str, was: str | None) -> Restoration:
    thought = _indexed(ctx, id)
    set_node_status(ctx, session_named(ctx, thought.session), thought.point, was)
    mark_item(ctx.tx, ctx.workspace, id, was)
    return Restoration(was)


@opener("notebook")
def open_notebook(ctx: Context, id: str, limit: int, include_drafts: bool) -> Json:
    """A notebook with its first cells; long cells are truncated."""
    notebook, cells = notebook_named(ctx, id), cells_of(ctx, id)
    return {
        "kind": "notebook",
        "id": id,
        "summary": f"{shorten(notebook.title, SUMMARY)} ({len(cells)} cells)",
        "notebook": notebook.to_json(len(cells)),
        "cells": [_cut_cell(cell.to_json()) for cell in cells[:limit]],
        "truncated": len(cells) > limit,
    }


def _cut_cell(cell: Json) -> Json:
    return {name: shorten(value, MOST_CELL) if isinstance(value, str) else value for name, value in cell.items()}


@opener("pattern")
def open_pattern(ctx: Context, id: str, limit: int, include_drafts: bool) -> Json:
    pattern = pattern_named(ctx, id.removeprefix("pattern:"))
    return {"kind": "pattern", "id": id, "summary": pattern.description, "pattern": pattern.to_dict()}
