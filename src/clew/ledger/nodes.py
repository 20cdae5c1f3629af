"""Thoughts in the graph: each is a card of the session's branch, each typed link an edge."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from clew.errors import shorten
from clew.index.indexing import index_item
from clew.index.items import Item
from clew.ledger.chains import Point
from clew.ledger.sessions import LedgerSession, branch_name
from clew.reasoning.branches import Branch
from clew.reasoning.documents import GRAPH
from clew.reasoning.graph import node, put_edge, put_node
from clew.reasoning.graph.writes import write_node
from clew.registry.context import Context

TITLE = 160

CARD_TYPE = {"H": "hypothesis", "E": "evidence", "C": "decision", "Q": "question", "R": "update", "X": "update"}
"""The card that the reasoning engine takes a thought for; the others are notes."""


class Mark(NamedTuple):
    """An item, and the status that it gets."""

    ref: str
    status: str


def node_id(session: str, point: Point) -> str:
    """The seed's id on the main line; three parts on a branch."""
    return f"{session}:{point.chain}:{point.number}" if point.chain else f"{session}:{point.number}"


def session_branch(session: LedgerSession) -> Branch:
    return Branch(session.branch, branch_name(session.id), None, None, session.created_at_ms)


def put_thought(ctx: Context, session: LedgerSession, point: Point, kind: str | None, content: str, seq: int) -> None:
    """The text stays in the trace; the card carries its beginning and where to read on."""
    put_node(
        ctx,
        session_branch(session),
        GRAPH,
        id=node_id(session.id, point),
        type=CARD_TYPE.get(kind or "", "note"),
        title=shorten(content.replace("\n", " "), TITLE),
        meta={"kind": kind, "entry": f"trace@{seq}", "thoughtNumber": point.number, "branchId": point.chain or None},
        findable=False,
    )


def link_nodes(ctx: Context, session: LedgerSession, point: Point, relation: str, target: Point) -> None:
    put_edge(ctx, session_branch(session), GRAPH, node_id(session.id, point), relation, node_id(session.id, target))


def mark_target(ctx: Context, session: LedgerSession, target: Point, relation: str, kind: str | None) -> Mark | None:
    """A revised thought is superseded and a rejected one disproved: what rests on it can tell, and recall is to."""
    disproved = relation == "contradicts" and kind == "X"
    status = "superseded" if relation == "revises" else "disproved" if disproved else None
    if status is None:
        return None
    branch = session_branch(session)
    current = node(ctx, branch, GRAPH, node_id(session.id, target))
    if current is not None and current.status != status:
        write_node(ctx, branch, GRAPH, replace(current, status=status), findable=False)
        return Mark(current.id, status)
    return None


def mark_item(ctx: Context, mark: Mark) -> None:
    """Give a thought's item its new status."""
    row = ctx.tx.one(
        "SELECT source, seq, ts_ms, title, body, kind, branch, doc, event_ts_ms FROM item"
        " WHERE workspace = ? AND ref = ?",
        ctx.workspace,
        mark.ref,
    )
    if row is not None:
        index_item(ctx.tx, ctx.workspace, Item(ref=mark.ref, status=mark.status, **row))
