"""The operations that change existing cards: status, pin, link, publish, retract, and merging equal cards."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clew.canonical import Json
from clew.errors import Suggestion, invalid, suggest, unknown_id
from clew.ids import check_kind, check_node_id
from clew.kinds import statuses
from clew.kinds.builtin import QUESTION
from clew.reasoning.cards.card import card_in, change_card, place_params, said_by
from clew.reasoning.documents import TRACE, append
from clew.reasoning.graph import Edge, Node, edge, node, node_json, nodes, put_edge, put_node
from clew.reasoning.openers import seen_card
from clew.reasoning.scope import AgentInput, BoundedPlace, RefPlace, Scope, TraceDoc, located, place, scope_holding
from clew.reasoning.visibility import CANON, CARD_TYPES, DRAFT, LANE, PINNED, PUBLISHED, SHARED_LANE, is_pinned, lane_of
from clew.registry.budget import Budget, Trim, shrinking
from clew.registry.context import Context
from clew.registry.operation import Meta, Name, Names, Text, Whole, operation
from clew.registry.record import Restoration, Retracted, Retraction, restorer, retracter
from clew.store.workspaces import declare_events

declare_events({"card_linked": "An edge between cards was written."})

CardIds = Annotated[Annotated[str, Field(max_length=1024)] | Names, Field(description="One card id or a list of them.")]
MOST_CARDS = 200


def id_list(given: str | list[str], field: str) -> list[str]:
    """One id or many as a list: checked, each once, in the given order."""
    ids = list(dict.fromkeys(check_node_id(value, field) for value in ([given] if isinstance(given, str) else given)))
    if not ids or len(ids) > MOST_CARDS:
        raise invalid(field, f"expected 1 to {MOST_CARDS} card ids", "Name at least one card.", kind="length")
    return ids


def applied_json(ctx: Context, changed: list[Node], edges: int = 0, last_seq: int | None = None) -> Json:
    seqs = [item.last_seq for item in changed] + ([last_seq] if last_seq is not None else [])
    return {
        "nodes_upserted": len(changed),
        "nodes_deleted": 0,
        "edges_upserted": edges,
        "edges_deleted": 0,
        "last_seq": max(seqs, default=None),
        "last_ts_ms": ctx.now_ms if seqs else None,
    }


def remark(ctx: Context, scope: Scope, format: str, title: str, message: str | None, meta: Json) -> None:
    """Record a change in the trace, which would otherwise not show it."""
    said: Json = {"content": message, "title": title, "format": format, "meta": meta}
    append(ctx, scope.branch.id, scope.trace, doc_kind=TRACE, item_source=None, **said)


class ThinkSetStatus(RefPlace):
    targets: CardIds
    status: Annotated[str, Field(max_length=64, description="open, closed, accepted, retracted, ...")]
    message: Annotated[Text | None, Field(description="Why; kept in the trace.")] = None
    meta: Meta | None = None


@operation("think_set_status", writes=True, idempotent=True, example={"targets": "CARD-1", "status": "closed"})
def think_set_status(ctx: Context, args: ThinkSetStatus) -> Json:
    """Set the status of cards."""
    scope, status = place(ctx, args), check_kind(args.status, "status")
    cards = [card_in(ctx, scope, card_id, "targets") for card_id in id_list(args.targets, "targets")]
    changed = []
    for card in cards:
        what = {"status": status, "previous": card.status}
        changed.append(change_card(ctx, scope, card, what, status=status, meta=_merge_meta(card, args.meta)))
    written = [card for card in changed if card is not None]
    if written:
        ids = [card.id for card in written]
        meta = {"card_ids": ids, "status": status}
        remark(ctx, scope, "think_set_status", f"{', '.join(ids[:5])}: {status}", args.message, meta)
    return {
        **located(ctx, scope, "graph"),
        "status": status,
        "applied": applied_json(ctx, written),
    }


def _merge_meta(card: Node, meta: Json | None) -> Json | None:
    return card.meta if not meta else {**(card.meta or {}), **meta}


@retracter("card")
def retract_card(ctx: Context, id: str, said: Retraction) -> Retracted:
    """Retract a card. Its new status makes the cards that depend on it suspect."""
    scope, card = _known_card(ctx, id)
    # An answered question was not wrong, so it is resolved, not superseded.
    ended = statuses.RESOLVED if card.type == QUESTION.name else statuses.SUPERSEDED
    status = ended if said.replaced_by else statuses.RETRACTED
    _set_status(ctx, scope, card, {"status": status, "why": said.why}, "retract", said.line)
    return Retracted(status)


@restorer("card")
def restore_card(ctx: Context, id: str, why: str, was: str | None) -> Restoration:
    """Restore a card with its previous status."""
    scope, card = _known_card(ctx, id)
    status = was or statuses.OPEN
    _set_status(ctx, scope, card, {"status": status, "why": why}, "restore", why)
    return Restoration(status)


def _known_card(ctx: Context, id: str) -> tuple[Scope, Node]:
    found = seen_card(ctx, id)
    if found is None:
        raise unknown_id("card", id, "Copy the id from a query.", [suggest("think_query", "Lists the cards.")])
    branch, doc, card = found
    return scope_holding(ctx, branch, doc), card


def _set_status(ctx: Context, scope: Scope, card: Node, what: Json, act: str, line: str) -> None:
    """Set the status of a card and of its published copy, for readers who see only published cards."""
    status, copy = what["status"], node(ctx, scope.branch, scope.graph, PUBLISHED + card.id)
    for item in (card, copy) if copy is not None else (card,):
        change_card(ctx, scope, item, {**what, "previous": item.status}, status=status)
    remark(ctx, scope, act, f"{card.id}: {status}", line, {"card_ids": [card.id], "status": status})


class ThinkPin(RefPlace):
    targets: CardIds
    pinned: Annotated[bool, Field(description="false takes the pin off.")] = True


@operation("think_pin", writes=True, idempotent=True, example={"targets": "CARD-1"})
def think_pin(ctx: Context, args: ThinkPin) -> Json:
    """Pin cards so that every view shows them first, or take the pin off."""
    scope = place(ctx, args)
    cards = [card_in(ctx, scope, card_id, "targets") for card_id in id_list(args.targets, "targets")]
    changed = [set_pin(ctx, scope, card, args.pinned) for card in cards]
    return {
        **located(ctx, scope, "graph"),
        "pinned": args.pinned,
        "applied": applied_json(ctx, [card for card in changed if card is not None]),
    }


def set_pin(ctx: Context, scope: Scope, card: Node, pinned: bool) -> Node | None:
    tags = {*card.tags, PINNED} if pinned else {*card.tags} - {PINNED}
    return change_card(ctx, scope, card, {"pinned": pinned}, tags=tuple(sorted(tags)))


class ThinkPins(BoundedPlace):
    limit: Annotated[int, Field(ge=1, le=200, description="Most pins to list.")] = 50
    cursor: Annotated[Whole | None, Field(description="List pins older than this seq.")] = None


_PINS = Trim("pins", drop="last", page="pagination", key="last_seq")
PINS_BUDGET = Budget(shrinking("pins[].text", (400, 80), _PINS), keep=("branch", "graph_doc"))


@operation("think_pins", budget=PINS_BUDGET)
def think_pins(ctx: Context, args: ThinkPins) -> Json:
    """List the pinned cards, newest first."""
    scope = place(ctx, args)
    pins: Json = {"types": CARD_TYPES, "tags_all": [PINNED]}
    page = nodes(ctx, scope.branch, scope.graph, cursor=args.cursor, limit=args.limit, **pins)
    return {
        **located(ctx, scope, "graph"),
        "pins": [node_json(card) for card in page.nodes],
        "pagination": page.page(args.cursor, args.limit),
    }


class ThinkLink(RefPlace):
    from_: Annotated[Name, Field(alias="from", description="Card that the edge starts from.")]
    rel: Annotated[Name, Field(description="supports, blocks, depends_on, ...")]
    to: Annotated[Name, Field(description="Card that the edge points to.")]
    message: Annotated[Text | None, Field(description="Why; kept in the trace.")] = None
    meta: Meta | None = None


@operation("think_link", writes=True, idempotent=True, example={"from": "CARD-2", "rel": "supports", "to": "CARD-1"})
def think_link(ctx: Context, args: ThinkLink) -> Json:
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
        **located(ctx, scope, "graph"),
        "applied": applied_json(ctx, [], 1 if made else 0, made.last_seq if made else None),
    }


declare_events({"card_published": "A card was copied into canonical visibility."})


def publish(ctx: Context, scope: Scope, source: Node, pin: bool) -> tuple[str, Node | None]:
    """Write or update the published copy of a card; None if it is up to date."""
    published_id = PUBLISHED + source.id
    current = node(ctx, scope.branch, scope.graph, published_id)
    meta = {**(source.meta or {}), "published_from": _origin(source)}
    fields = {**said_by(source), "tags": _tags(source, current, pin), "meta": meta}
    if current is not None and said_by(current) == fields:
        return published_id, None
    written = put_node(ctx, scope.branch, scope.graph, id=published_id, **fields)
    ctx.emit("reasoning", "card_published", published_id, {"source": source.id, "branch": scope.branch.name})
    # The keys of a card's own entry, so that readers of the trace need not distinguish the two.
    meta = {"card_id": published_id, "type": source.type, "tags": list(written.tags), "source_card_id": source.id}
    meta |= {"step": source.meta["step"]} if source.meta and "step" in source.meta else {}
    remark(ctx, scope, "think_publish", source.title or source.id, source.text, meta)
    return published_id, written


def _tags(source: Node, current: Node | None, pin: bool) -> tuple[str, ...]:
    # The copy is for all readers: it keeps the subject tags and loses the lane and the draft mark.
    kept = {tag for tag in source.tags if not tag.startswith(LANE) and tag not in {DRAFT, PINNED}}
    pinned = pin or (current is not None and PINNED in current.tags)
    return tuple(sorted(kept | {SHARED_LANE, CANON} | ({PINNED} if pinned else set())))


def _origin(source: Node) -> Json:
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
def think_publish(ctx: Context, args: ThinkPublish) -> Json:
    """Publish a draft card as a canonical copy; again, the copy follows its source."""
    scope = place(ctx, args)
    source = _unpublished(card_in(ctx, scope, args.card_id), scope)
    published_id, written = publish(ctx, scope, source, args.pin)
    return {
        **located(ctx, scope, "trace", "graph"),
        "source_card_id": source.id,
        "published_card_id": published_id,
        "inserted": written is not None,
        "graph_applied": {"nodes_upserted": 1 if written else 0, "edges_upserted": 0},
        "last_seq": written.last_seq if written else None,
    }


MERGED, DEDUP = "merged", "dedup"


def _merged_cards(result: Json) -> Suggestion:
    where = {name: result[name] for name in ("branch", "graph_doc")}
    return suggest("think_query", "Shows the cards that were merged.", "medium", status=MERGED, **where)


class ThinkNominalMerge(BoundedPlace):
    candidate_ids: CardIds | None = None
    limit_candidates: Annotated[int, Field(ge=1, le=500, description="Most cards to look at.")] = 50
    limit_groups: Annotated[int, Field(ge=1, le=100, description="Most groups to merge.")] = 10


@operation(
    "think_nominal_merge",
    writes=True,
    idempotent=True,
    budget=Budget((Trim("merged_groups", drop="last"),), None, keep=("branch", "graph_doc"), rest=_merged_cards),
)
def think_nominal_merge(ctx: Context, args: ThinkNominalMerge) -> Json:
    """Merge cards of equal type, title and text: one stays, the others are marked merged and point to it."""
    scope = place(ctx, args)
    groups = _groups(_candidates(ctx, scope, args))
    merged: list[Node] = []
    edges: list[Edge] = []
    for kept, others in groups[: args.limit_groups]:
        for card in others:
            written = change_card(ctx, scope, card, {"status": MERGED, "into": kept.id}, status=MERGED)
            merged += [written] if written else []
            edges.append(put_edge(ctx, scope.branch, scope.graph, card.id, DEDUP, kept.id))
    return {
        **located(ctx, scope, "graph"),
        "merged_groups": [
            {"canonical_id": kept.id, "merged_ids": [card.id for card in others]}
            for kept, others in groups[: args.limit_groups]
        ],
        "applied": applied_json(ctx, merged, len(edges), max((edge.last_seq for edge in edges), default=None)),
        "truncated": len(groups) > args.limit_groups,
    }


def _candidates(ctx: Context, scope: Scope, args: ThinkNominalMerge) -> list[Node]:
    if args.candidate_ids is not None:
        ids = id_list(args.candidate_ids, "candidate_ids")[: args.limit_candidates]
        found = [card_in(ctx, scope, card_id, "candidate_ids") for card_id in ids]
    else:
        seen = nodes(ctx, scope.branch, scope.graph, types=CARD_TYPES, limit=args.limit_candidates).nodes
        # A published copy equals its source on purpose, so it is a candidate only if the caller names it.
        found = [card for card in seen if not card.id.startswith(PUBLISHED)]
    return [card for card in found if card.status != MERGED and card.type in CARD_TYPES]


def _groups(cards: list[Node]) -> list[tuple[Node, list[Node]]]:
    """Groups of equal cards, each with the one to keep: a pinned one, else the oldest."""
    alike: dict[tuple[str, str | None, str | None], list[Node]] = {}
    for card in cards:
        alike.setdefault((card.type, card.title, card.text), []).append(card)
    groups = []
    for members in alike.values():
        # The oldest card is most likely the one that others link to.
        first, *others = sorted(members, key=lambda card: (not is_pinned(card.tags), card.last_seq, card.id))
        if others:
            groups.append((first, others))
    return sorted(groups, key=lambda group: (group[0].last_seq, group[0].id))
