"""Changes to cards that exist: status, pins and edges."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import invalid
from clew.ids import check_kind, check_node_id
from clew.reasoning.card_scope import BoundedPlace, RefPlace, place
from clew.reasoning.cards import card_in, change_card
from clew.reasoning.documents import TRACE, append
from clew.reasoning.graph import Node, edge, node_json, nodes, put_edge
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import CARD_TYPES, PINNED
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.operation import Meta, Name, Names, Text, Whole, operation
from clew.store.workspaces import declare_events

declare_events({"card_linked": "An edge between cards was written."})

CardIds = Annotated[Annotated[str, Field(max_length=1024)] | Names, Field(description="One card id or a list of them.")]
MOST_CARDS = 200


def id_list(given: str | list[str], field: str) -> list[str]:
    """One id or many, checked, each once, in the order given."""
    ids = list(dict.fromkeys(check_node_id(value, field) for value in ([given] if isinstance(given, str) else given)))
    if not ids or len(ids) > MOST_CARDS:
        raise invalid(field, f"expected 1 to {MOST_CARDS} card ids", "Name at least one card.", kind="length")
    return ids


def applied_json(ctx: Context, changed: list[Node], edges: int = 0, last_seq: int | None = None) -> dict[str, Any]:
    seqs = [item.last_seq for item in changed] + ([last_seq] if last_seq is not None else [])
    return {
        "nodes_upserted": len(changed),
        "nodes_deleted": 0,
        "edges_upserted": edges,
        "edges_deleted": 0,
        "last_seq": max(seqs, default=None),
        "last_ts_ms": ctx.now_ms if seqs else None,
    }


def remark(ctx: Context, scope: Scope, format: str, title: str, message: str | None, meta: dict[str, Any]) -> None:
    """A line in the trace for a change that nobody would otherwise see there."""
    append(
        ctx,
        scope.branch.id,
        scope.trace,
        content=message,
        doc_kind=TRACE,
        title=title,
        format=format,
        meta=meta,
        item_source=None,
    )


class ThinkSetStatus(RefPlace):
    targets: CardIds
    status: Annotated[str, Field(max_length=64, description="open, closed, accepted, retracted, ...")]
    message: Annotated[Text | None, Field(description="Why; kept in the trace.")] = None
    meta: Meta | None = None


@operation("think_set_status", writes=True, idempotent=True, example={"targets": "CARD-1", "status": "closed"})
def think_set_status(ctx: Context, args: ThinkSetStatus) -> dict[str, Any]:
    """Set the status of cards."""
    scope, status = place(ctx, args), check_kind(args.status, "status")
    cards = [card_in(ctx, scope, card_id, "targets") for card_id in id_list(args.targets, "targets")]
    changed = []
    for card in cards:
        what = {"status": status, "previous": card.status}
        changed.append(change_card(ctx, scope, card, what, status=status, meta=_merged(card, args.meta)))
    written = [card for card in changed if card is not None]
    if written:
        ids = [card.id for card in written]
        meta = {"card_ids": ids, "status": status}
        remark(ctx, scope, "think_set_status", f"{', '.join(ids[:5])}: {status}", args.message, meta)
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "graph_doc": scope.graph,
        "status": status,
        "applied": applied_json(ctx, written),
    }


def _merged(card: Node, meta: dict[str, Any] | None) -> dict[str, Any] | None:
    return card.meta if not meta else {**(card.meta or {}), **meta}


class ThinkPin(RefPlace):
    targets: CardIds
    pinned: Annotated[bool, Field(description="false takes the pin off.")] = True


@operation("think_pin", writes=True, idempotent=True, example={"targets": "CARD-1"})
def think_pin(ctx: Context, args: ThinkPin) -> dict[str, Any]:
    """Pin cards so that every view shows them first, or take the pin off."""
    scope = place(ctx, args)
    cards = [card_in(ctx, scope, card_id, "targets") for card_id in id_list(args.targets, "targets")]
    changed = [set_pin(ctx, scope, card, args.pinned) for card in cards]
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "graph_doc": scope.graph,
        "pinned": args.pinned,
        "applied": applied_json(ctx, [card for card in changed if card is not None]),
    }


def set_pin(ctx: Context, scope: Scope, card: Node, pinned: bool) -> Node | None:
    tags = {*card.tags, PINNED} if pinned else {*card.tags} - {PINNED}
    return change_card(ctx, scope, card, {"pinned": pinned}, tags=tuple(sorted(tags)))


class ThinkPins(BoundedPlace):
    limit: Annotated[int, Field(ge=1, le=200, description="Most pins to list.")] = 50
    cursor: Annotated[Whole | None, Field(description="List pins older than this seq.")] = None


PINS_BUDGET = Budget(
    (
        Clip("pins[].text", 400),
        Trim("pins", drop="last", floor=1, page="pagination", key="last_seq"),
        Clip("pins[].text", 80),
        Trim("pins", drop="last", page="pagination", key="last_seq"),
    ),
    keep=("branch", "graph_doc"),
)


@operation("think_pins", budget=PINS_BUDGET)
def think_pins(ctx: Context, args: ThinkPins) -> dict[str, Any]:
    """List the pinned cards, newest first."""
    scope = place(ctx, args)
    page = nodes(
        ctx, scope.branch, scope.graph, types=CARD_TYPES, tags_all=[PINNED], cursor=args.cursor, limit=args.limit
    )
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "graph_doc": scope.graph,
        "pins": [node_json(card) for card in page.nodes],
        "pagination": page.page(args.cursor, args.limit),
        "truncated": False,
    }


class ThinkLink(RefPlace):
    from_: Annotated[Name, Field(alias="from", description="Card that the edge starts from.")]
    rel: Annotated[Name, Field(description="supports, blocks, depends_on, ...")]
    to: Annotated[Name, Field(description="Card that the edge points to.")]
    message: Annotated[Text | None, Field(description="Why; kept in the trace.")] = None
    meta: Meta | None = None


@operation("think_link", writes=True, idempotent=True, example={"from": "CARD-2", "rel": "supports", "to": "CARD-1"})
def think_link(ctx: Context, args: ThinkLink) -> dict[str, Any]:
    """Link two cards: supports, blocks, depends_on or any other relation."""
    scope, rel = place(ctx, args), check_kind(args.rel, "rel")
    start, end = card_in(ctx, scope, args.from_, "from").id, card_in(ctx, scope, args.to, "to").id
    if start == end:
        raise invalid("to", f"{start} cannot point to itself", "Name another card.")
    current = edge(ctx, scope.branch, scope.graph, (start, rel, end))
    made = None
    if current is None or (args.meta is not None and current.meta != args.meta):
        made = put_edge(ctx, scope.branch, scope.graph, start, rel, end, args.meta)
        ctx.emit("reasoning", "card_linked", start, {"rel": rel, "to": end, "branch": scope.branch.name})
        meta = {"from": start, "rel": rel, "to": end}
        remark(ctx, scope, "think_link", f"{start} {rel} {end}", args.message, meta)
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "graph_doc": scope.graph,
        "applied": applied_json(ctx, [], 1 if made else 0, made.last_seq if made else None),
    }
