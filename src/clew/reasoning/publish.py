"""Publishing: a draft becomes canonical as a copy with an id that can be foretold."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import invalid, suggest
from clew.reasoning.card_changes import remark
from clew.reasoning.card_scope import AgentInput, RefPlace, TraceDoc, place
from clew.reasoning.cards import card_in, place_params
from clew.reasoning.graph import Node, node, put_node
from clew.reasoning.scope import Scope
from clew.reasoning.visibility import CANON, DRAFT, LANE, PINNED, PUBLISHED, SHARED_LANE, lane_of
from clew.registry.context import Context
from clew.registry.operation import Name, operation
from clew.store.workspaces import declare_events

declare_events({"card_published": "A card was copied into canonical visibility."})


def publish(ctx: Context, scope: Scope, source: Node, pin: bool) -> tuple[str, Node | None]:
    """The published copy brought up to date; None when it already says what its source says."""
    published_id = PUBLISHED + source.id
    current = node(ctx, scope.branch, scope.graph, published_id)
    fields: dict[str, Any] = {
        "type": source.type,
        "title": source.title,
        "text": source.text,
        "status": source.status,
        "tags": _tags(source, current, pin),
        "meta": {**(source.meta or {}), "published_from": _origin(source)},
    }
    if current is not None and all(getattr(current, name) == value for name, value in fields.items()):
        return published_id, None
    written = put_node(ctx, scope.branch, scope.graph, id=published_id, **fields)
    ctx.emit("reasoning", "card_published", published_id, {"source": source.id, "branch": scope.branch.name})
    # Named like a card's entry, so that a trace reads the same whichever way a decision came in.
    meta = {"card_id": published_id, "type": source.type, "tags": list(written.tags), "source_card_id": source.id}
    if source.meta and "step" in source.meta:
        meta["step"] = source.meta["step"]
    remark(ctx, scope, "think_publish", source.title or source.id, source.text, meta)
    return published_id, written


def _tags(source: Node, current: Node | None, pin: bool) -> tuple[str, ...]:
    kept = {tag for tag in source.tags if not tag.startswith(LANE) and tag not in {DRAFT, PINNED}}
    pinned = pin or (current is not None and PINNED in current.tags)
    return tuple(sorted(kept | {SHARED_LANE, CANON} | ({PINNED} if pinned else set())))


def _origin(source: Node) -> dict[str, Any]:
    lane = lane_of(source.tags)
    agent = lane.removeprefix("agent:") if lane.startswith("agent:") else None
    return {"card_id": source.id, "lane": lane, **({"agent_id": agent} if agent else {})}


def _unpublished(card: Node, scope: Scope) -> Node:
    if not card.id.startswith(PUBLISHED):
        return card
    both = [card.id, card.id.removeprefix(PUBLISHED)]
    way = suggest("think_query", "Shows both cards.", ids=both, **place_params(scope))
    message = f"{card.id[:120]} is a published copy itself"
    raise invalid("card_id", message, "Publish the card it was made from.", [way])


class ThinkPublish(RefPlace):
    card_id: Annotated[Name, Field(description="Card to publish.")]
    pin: Annotated[bool, Field(description="Pin the published copy.")] = False
    trace_doc: TraceDoc = None
    agent_id: AgentInput = None


@operation("think_publish", writes=True, idempotent=True, example={"card_id": "CARD-1"})
def think_publish(ctx: Context, args: ThinkPublish) -> dict[str, Any]:
    """Publish a draft card as a canonical copy; again, the copy follows its source."""
    scope = place(ctx, args)
    source = _unpublished(card_in(ctx, scope, args.card_id), scope)
    published_id, written = publish(ctx, scope, source, args.pin)
    return {
        "workspace": ctx.workspace,
        "branch": scope.branch.name,
        "trace_doc": scope.trace,
        "graph_doc": scope.graph,
        "source_card_id": source.id,
        "published_card_id": published_id,
        "inserted": written is not None,
        "graph_applied": {"nodes_upserted": 1 if written else 0, "edges_upserted": 0},
        "last_seq": written.last_seq if written else None,
    }
