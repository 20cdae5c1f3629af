"""Subgoals: a question gets a separate graph and trace to be worked out in; its answer is copied back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid, suggest
from clew.ids import check_name
from clew.kinds import statuses
from clew.reasoning.branches import branch_named, checked_out
from clew.reasoning.cards.card import card_in, change_card, next_card_id, place_params, write_card
from clew.reasoning.cards.card_changes import applied_json, remark
from clew.reasoning.cards.card_selection import SUBGOAL
from clew.reasoning.cards.forms import Card, CardInput, read_card
from clew.reasoning.documents import GRAPH, TRACE
from clew.reasoning.engine.slice import label
from clew.reasoning.graph import Node, edges_at, node, put_edge
from clew.reasoning.scope import GraphDoc, Scope, TraceDoc, located
from clew.registry.context import Context
from clew.registry.operation import Input, Meta, Name, Text, operation

CLOSED = "closed"


class SubgoalPlace(Input):
    ref: Annotated[Name | None, Field(description="Branch; default: the checkout.")] = None
    parent_graph_doc: GraphDoc = None
    parent_trace_doc: TraceDoc = None


def _parent(ctx: Context, args: SubgoalPlace) -> Scope:
    branch = branch_named(ctx, args.ref, "ref") if args.ref else checked_out(ctx)
    graph = check_name(args.parent_graph_doc, "parent_graph_doc") if args.parent_graph_doc else GRAPH
    trace = check_name(args.parent_trace_doc, "parent_trace_doc") if args.parent_trace_doc else TRACE
    return Scope(branch, graph=graph, trace=trace)


class ThinkSubgoalOpen(SubgoalPlace):
    question_id: Annotated[Name, Field(description="The question that needs work of its own.")]
    child_graph_doc: Annotated[Name | None, Field(description="Graph document for the work.")] = None
    child_trace_doc: Annotated[Name | None, Field(description="Trace document for the work.")] = None
    message: Annotated[Text | None, Field(description="What is to be found out.")] = None
    meta: Meta | None = None


@operation("think_subgoal_open", writes=True, example={"question_id": "CARD-1"})
def think_subgoal_open(ctx: Context, args: ThinkSubgoalOpen) -> Json:
    """Open a subgoal under a question, with a graph and a trace of its own."""
    scope = _parent(ctx, args)
    question = _question(ctx, scope, args.question_id)
    known = _open_subgoal(ctx, scope, question, args)
    if known is not None:
        return _answer(ctx, scope, known.id, known.meta or {}, None)
    # The id is allocated first, because the child's documents are named after it.
    subgoal_id = next_card_id(ctx)
    child = {
        "child_graph_doc": check_name(args.child_graph_doc or f"{subgoal_id}-graph", "child_graph_doc"),
        "child_trace_doc": check_name(args.child_trace_doc or f"{subgoal_id}-trace", "child_trace_doc"),
    }
    meta = {**(args.meta or {}), "question_id": question.id, **child}
    card = Card(subgoal_id, "question", f"Subgoal: {label(question)}", args.message, tags=(SUBGOAL,), meta=meta)
    written = write_card(ctx, scope, card)
    edge = put_edge(ctx, scope.branch, scope.graph, question.id, SUBGOAL, subgoal_id)
    return _answer(ctx, scope, subgoal_id, child, edge.last_seq, written.edges_upserted + 1)


def _answer(ctx: Context, scope: Scope, subgoal_id: str, child: Json, last_seq: int | None, edges: int = 0) -> Json:
    inserted = last_seq is not None
    return {
        **located(ctx, scope),
        "parent_graph_doc": scope.graph,
        "parent_trace_doc": scope.trace,
        **{name: child[name] for name in ("child_graph_doc", "child_trace_doc")},
        "subgoal_id": subgoal_id,
        "inserted": inserted,
        "graph_applied": {"nodes_upserted": int(inserted), "edges_upserted": edges},
        "last_seq": last_seq,
    }


def _question(ctx: Context, scope: Scope, question_id: str) -> Node:
    card = card_in(ctx, scope, question_id, "question_id")
    if card.type != "question":
        way = suggest("think_query", "Lists the questions.", types="question", **place_params(scope))
        raise invalid("question_id", f"{card.id[:80]} is a {card.type}, not a question", "Name a question.", [way])
    return card


def _open_subgoal(ctx: Context, scope: Scope, question: Node, args: ThinkSubgoalOpen) -> Node | None:
    """The question's open subgoal with the same documents, if the call names any: a repeated call finds it."""
    wanted = {"child_graph_doc": args.child_graph_doc, "child_trace_doc": args.child_trace_doc}
    named = {key: value.strip() for key, value in wanted.items() if value is not None}
    if not named:
        return None
    for edge in edges_at(ctx, scope.branch, scope.graph, [question.id], "out", [SUBGOAL]):
        card = node(ctx, scope.branch, scope.graph, edge.to_id)
        if card and card.status == statuses.OPEN and named.items() <= (card.meta or {}).items():
            return card
    return None


class ThinkSubgoalClose(SubgoalPlace):
    subgoal_id: Annotated[Name, Field(description="The subgoal to close.")]
    return_card: Annotated[CardInput | None, Field(description="The answer, as a card that supports the question.")] = (
        None
    )


@operation("think_subgoal_close", writes=True, example={"subgoal_id": "CARD-2"})
def think_subgoal_close(ctx: Context, args: ThinkSubgoalClose) -> Json:
    """Close a subgoal and bring its answer back to the question."""
    scope = _parent(ctx, args)
    subgoal = card_in(ctx, scope, args.subgoal_id, "subgoal_id")
    question_id = (subgoal.meta or {}).get("question_id")
    if SUBGOAL not in subgoal.tags or not isinstance(question_id, str):
        raise _no_subgoal(scope, subgoal)
    returned = None
    if args.return_card is not None:
        card = read_card(args.return_card, default_type="update").with_meta(subgoal_id=subgoal.id)
        returned = write_card(ctx, scope, card, supports=[question_id])
    written = change_card(ctx, scope, subgoal, {"status": CLOSED}, status=CLOSED)
    if written:
        meta = {"card_ids": [subgoal.id], "status": CLOSED}
        remark(ctx, scope, "think_subgoal_close", f"{subgoal.id}: {CLOSED}", None, meta)
    return {
        **located(ctx, scope, "graph"),
        "subgoal_id": subgoal.id,
        "return_card_id": returned.card_id if returned else None,
        "applied": applied_json(ctx, [written] if written else [], returned.edges_upserted if returned else 0),
    }


def _no_subgoal(scope: Scope, card: Node) -> ClewError:
    way = suggest("think_query", "Lists the subgoals.", tags_all=SUBGOAL, **place_params(scope))
    return invalid("subgoal_id", f"{card.id[:80]} is not a subgoal", "Name a card that a subgoal was opened as.", [way])
