"""Writing a card: one transaction writes its node, its edges and its trace entry. think_card and think_add_*."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field

from clew.canonical import Json, canonical_bytes, picked
from clew.errors import ClewError, Suggestion, invalid, shorten, suggest
from clew.ids import check_node_id
from clew.reasoning.branches import chain
from clew.reasoning.cards.forms import Card, CardInput, is_form, lost_edges, read_card
from clew.reasoning.documents import TRACE, append
from clew.reasoning.graph import Node, edge, node, put_edge, put_node
from clew.reasoning.graph.view import BY_SEQ
from clew.reasoning.scope import (
    AgentInput,
    BranchInput,
    GraphDoc,
    Scope,
    StepFocus,
    StepInput,
    Target,
    TraceDoc,
    located,
    resolve_scope,
    resolve_step,
)
from clew.reasoning.visibility import CARD_TYPES, default_tags, is_derived
from clew.registry.catalogue import catalogue
from clew.registry.context import Context
from clew.registry.operation import Input, Names, Verbosity, operation
from clew.store.database import Row
from clew.store.workspaces import declare_events

FORMAT = "think_card"
SUPPORTS, BLOCKS = "supports", "blocks"
# Each edge costs a version and an entry in the same transaction.
MAX_EDGES = 200

declare_events(
    {
        "card_written": "A thinking card was written into a graph and its trace.",
        "card_changed": "A card got another status, pin or visibility.",
    }
)


@dataclass(frozen=True, slots=True)
class CardWritten:
    """The result of writing a card; `last_seq` is the newest graph version that was written, if any."""

    card_id: str
    inserted: bool
    trace_seq: int
    nodes_upserted: int
    edges_upserted: int
    last_seq: int | None


def write_card(
    ctx: Context,
    scope: Scope,
    card: Card,
    supports: Sequence[str] = (),
    blocks: Sequence[str] = (),
    step: StepFocus | None = None,
) -> CardWritten:
    """Write a card with its trace entry and edges; nothing if the same card exists already."""
    card_id = card.id or next_card_id(ctx)
    edges = {SUPPORTS: _ends(supports, SUPPORTS, card_id), BLOCKS: _ends(blocks, BLOCKS, card_id)}
    # A card without an id is always new; with an id, the same call may have been sent before.
    known = trace_entry(ctx, scope, card_id) if card.id else None
    if known is not None:
        _refuse_other(ctx, scope, card, edges, known)
    current = node(ctx, scope.branch, scope.graph, card_id) if card.id else None
    if known is None and current is not None and _content(card) != _content(Card(card_id, *_node_content(current))):
        # The node was written through another trace or by graph_apply; it must not be overwritten.
        raise _id_taken(scope, card_id, {})
    # If there is an entry but no node, the node was deleted since; it is written again without a second entry.
    if known is not None and current is not None:
        return CardWritten(card_id, False, known["seq"], 0, 0, None)
    placed = _with_default_tags(card, step)
    entry = known or _append(ctx, scope, card_id, placed, edges, step)
    versions = _put(ctx, scope, card_id, placed, current) + _link(ctx, scope, card_id, edges, fresh=card.id is None)
    if known is None:
        ctx.emit("reasoning", "card_written", card_id, {"type": card.type, "branch": scope.branch.name})
    nodes = 1 if versions and versions[0][0] == "node" else 0
    last = versions[-1][1] if versions else None
    return CardWritten(card_id, known is None, entry["seq"], nodes, len(versions) - nodes, last)


def trace_entry(ctx: Context, scope: Scope, card_id: str) -> Row | None:
    """The trace entry of a card, on the branch or on its bases."""
    for link in chain(ctx, scope.branch):
        row = ctx.tx.one(
            "SELECT * FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND source = ? AND seq <= ?",
            ctx.workspace,
            link.branch,
            scope.trace,
            f"card:{card_id}",
            link.cutoff,
        )
        if row is not None:
            return row
    return None


def change_card(ctx: Context, scope: Scope, card: Node, what: Json, **fields: Any) -> Node | None:
    """Write the card's next version with some fields changed; None if nothing would change."""
    state = said_by(card)
    if state | fields == state:
        return None
    written = put_node(ctx, scope.branch, scope.graph, id=card.id, **(state | fields))
    ctx.emit("reasoning", "card_changed", card.id, {**what, "branch": scope.branch.name})
    return written


def said_by(card: Card | Node) -> Json:
    """The content of a card, without its id."""
    return {name: getattr(card, name) for name in ("type", "title", "text", "status", "tags", "meta")}


def card_in(ctx: Context, scope: Scope, card_id: str, field: str = "card_id") -> Node:
    """The live card with this id in the scope; refused if there is none."""
    found = node(ctx, scope.branch, scope.graph, check_node_id(card_id, field))
    if found is None:
        raise ClewError(
            "UNKNOWN_ID",
            f"{field}: no card {card_id[:120]} in {scope.graph} on {scope.branch.name}",
            "Copy the id from a query of the same scope.",
            suggestions=[suggest("think_query", "Lists the cards of this scope.", "high", **place_params(scope))],
        )
    return found


def place_params(scope: Scope) -> Json:
    """The arguments with which another call names this scope's graph."""
    if scope.target is not None:
        return {"target": scope.target}
    return {"ref": scope.branch.name, "graph_doc": scope.graph}


def next_card_id(ctx: Context) -> str:
    """The next free card id; callers may have chosen a number themselves."""
    taken = f"SELECT 1 FROM node WHERE workspace = ? AND id = ? AND {BY_SEQ} LIMIT 1"
    while True:
        card_id = f"CARD-{ctx.ws.count('card')}"
        if ctx.tx.value(taken, ctx.workspace, card_id) is None:
            return card_id


def _ends(given: Sequence[str], field: str, card_id: str) -> list[str]:
    ends = sorted({check_node_id(value, field) for value in given})
    if card_id in ends:
        raise invalid(field, f"{card_id} cannot point to itself", "Name other cards.")
    if len(ends) > MAX_EDGES:
        raise invalid(field, f"holds more than {MAX_EDGES} cards", "Link the rest with think_link.", kind="length")
    return ends


def _with_default_tags(card: Card, step: StepFocus | None) -> Card:
    """The card in its stored form: with its lane, visibility and step."""
    shown = card.with_tags(*default_tags(card.type, card.tags))
    return shown.with_tags(step.tag).with_meta(step=step.to_json()) if step else shown


def _append(
    ctx: Context, scope: Scope, card_id: str, card: Card, edges: dict[str, list[str]], step: StepFocus | None
) -> Row:
    meta = {"card_id": card_id, **picked(card, "type", "status", "tags", "meta"), **edges}
    meta |= {"step": step.to_json()} if step else {}
    said: Json = {"content": card.text, "title": card.title, "format": FORMAT, "meta": meta}
    # The card's node has the search item.
    return append(ctx, scope.branch.id, scope.trace, doc_kind=TRACE, source=f"card:{card_id}", item_source=None, **said)


def _put(ctx: Context, scope: Scope, card_id: str, card: Card, current: Node | None) -> list[tuple[str, int]]:
    if current is not None and said_by(current) == said_by(card):
        return []
    return [("node", put_node(ctx, scope.branch, scope.graph, id=card_id, **said_by(card)).last_seq)]


def _link(ctx: Context, scope: Scope, card_id: str, edges: dict[str, list[str]], fresh: bool) -> list[tuple[str, int]]:
    """Write the edges that do not exist yet."""
    made = []
    for rel, ends in edges.items():
        for end in ends:
            # A fresh id cannot have edges yet, and each lookup costs a query.
            if fresh or not _linked(ctx, scope, card_id, rel, end):
                made.append(("edge", put_edge(ctx, scope.branch, scope.graph, card_id, rel, end).last_seq))
    return made


def _linked(ctx: Context, scope: Scope, start: str, rel: str, end: str) -> bool:
    return edge(ctx, scope.branch, scope.graph, (start, rel, end)) is not None


def _refuse_other(ctx: Context, scope: Scope, card: Card, edges: dict[str, list[str]], known: Row) -> None:
    """Refuse an existing id with other content. The same content is accepted: as first written, or as it is now."""
    card_id = str(card.id)
    meta = orjson.loads(known["meta"])
    first = Card(card_id, meta["type"], known["title"], known["content"], meta["status"], meta["tags"], meta["meta"])
    current = node(ctx, scope.branch, scope.graph, card_id)
    now = None if current is None else Card(card_id, *_node_content(current))
    same = _content(card) in [_content(first), _content(now) if now else None]
    new = {rel: [end for end in ends if end not in meta[rel]] for rel, ends in edges.items()}
    missing = {rel: [end for end in ends if not _linked(ctx, scope, card_id, rel, end)] for rel, ends in new.items()}
    if same and not any(missing.values()):
        return
    raise _id_taken(scope, card_id, missing if same else {})


def _node_content(card: Node) -> tuple[Any, ...]:
    return (card.type, card.title, card.text, card.status or "open", card.tags, card.meta or {})


def _content(card: Card) -> tuple[Any, ...]:
    """The content by which two cards are compared, without tags and meta that the system adds."""
    # Lane, visibility and step may differ when the same card is sent from another place.
    tags = sorted(tag for tag in card.tags if not is_derived(tag))
    meta = {key: value for key, value in card.meta.items() if key != "step"}
    dumped = canonical_bytes(meta)
    return (card.type, card.title, card.text, card.status, tags, dumped)


def _id_taken(scope: Scope, card_id: str, missing: dict[str, list[str]]) -> ClewError:
    lacking = [{"from": card_id, "rel": rel, "to": ends[0]} for rel, ends in missing.items() if ends]
    place, reason = place_params(scope), "Adds the edge to the card that exists."
    ways = [suggest("think_link", reason, "high", **edge, **place) for edge in lacking]
    ways.append(suggest("think_query", "Shows the card that has this id.", ids=[card_id], **place))
    return ClewError(
        "INVALID_INPUT",
        f"card.id: {card_id} was written with other content",
        "Leave the id out for a new card; change the old one with think_set_status, think_pin or think_link.",
        [{"kind": "conflict", "field": "card.id"}],
        ways,
    )


class ThinkCard(Input):
    synonyms: ClassVar[dict[str, str]] = {"ref": "branch"}
    card: CardInput
    supports: Annotated[Names, Field(description="Cards that this one supports.")] = []
    blocks: Annotated[Names, Field(description="Cards that this one speaks against.")] = []
    target: Target = None
    step: StepInput = None
    branch: BranchInput = None
    trace_doc: TraceDoc = None
    graph_doc: GraphDoc = None
    agent_id: AgentInput = None
    verbosity: Annotated[Verbosity, Field(description="compact answers with ids only.")] = None


@operation(
    "think_card",
    writes=True,
    example={
        "card": {"type": "hypothesis", "title": "The cache is stale", "text": "Reads after a write see old rows."}
    },
)
def think_card(ctx: Context, args: ThinkCard) -> Json:
    """Keep a thought: hypothesis, question, test, evidence, decision, note, frame or update.

    One transaction writes the trace entry, the graph node and its edges. A card with an id that is sent again changes
    nothing; without an id every call makes another card.
    """
    scope, step, written = _write(ctx, args, None)
    if step is not None and written.inserted:
        listed = _lists_notes(ctx)
        label = read_card(args.card).label
        ctx.suggest(_note_call(step, written.card_id, label) if listed else _snapshot_call(ctx, step))
    ref = {"trace_ref": f"{scope.trace}@{written.trace_seq}"}
    if ctx.is_compact(args.verbosity):
        return {**picked(written, "card_id", "inserted"), **ref}
    answer = {**written_json(ctx, scope, written), "trace_seq": written.trace_seq, **ref}
    if written.last_seq is not None:
        answer["graph_ref"] = f"{scope.graph}@{written.last_seq}"
    return answer


def written_json(ctx: Context, scope: Scope, written: CardWritten) -> Json:
    return {
        **located(ctx, scope, "trace", "graph"),
        **picked(written, "card_id", "inserted"),
        "graph_applied": picked(written, "nodes_upserted", "edges_upserted"),
        "last_seq": written.last_seq,
    }


def _lists_notes(ctx: Context) -> bool:
    entry = catalogue().find("tasks_note")
    return entry is not None and catalogue().lists(ctx.connection.toolset, entry)


def _snapshot_call(ctx: Context, step: StepFocus) -> Suggestion:
    """For toolsets without a note operation: a note is optional, and not worth a list of all tools."""
    task = step.task_id if ctx.ws.focus != step.task_id else None
    return suggest("tasks_snapshot", "Shows what comes next.", "medium", task=task)


def _note_call(step: StepFocus, card_id: str, label: str) -> Suggestion:
    """Suggest a note at the step that refers to the new card."""
    note = f"{card_id} {shorten(' '.join(label.split()), 100)}".strip()
    reason = "Notes at the step what was thought."
    return suggest("tasks_note", reason, "medium", task=step.task_id, step_id=step.step_id, note=note)


def _write(ctx: Context, args: ThinkCard, forced_type: str | None) -> tuple[Scope, StepFocus | None, CardWritten]:
    card = read_card(args.card, forced_type)
    scope = resolve_scope(ctx, args.target, args.branch, trace=args.trace_doc, graph=args.graph_doc)
    step = resolve_step(ctx, scope, args.step)
    for lost in lost_edges(card):
        message = f"{lost['field']} inside the card is kept as meta and links nothing"
        recovery = f"Give {lost['field']} beside card, or add the edge with think_link."
        ctx.warn("EDGES_IN_CARD", message, recovery)
    if is_form(card.title, card.text):
        ctx.warn(
            "CARD_UNFILLED",
            "the card holds only the words that were proposed, so it proves nothing and passes no gate",
            "Write another in your own words.",
        )
    return scope, step, write_card(ctx, scope, card, args.supports, args.blocks, step)


def _declare_wrapper(kind: str) -> None:
    def think_add(ctx: Context, args: ThinkCard) -> Json:
        scope, _, written = _write(ctx, args, kind)
        return written_json(ctx, scope, written)

    article = "an" if kind[0] in "aeiou" else "a"
    think_add.__doc__ = f"Keep {article} {kind} card: think_card with its type set."
    # Declarations are compared by this name; without it the second one would conflict with the first.
    think_add.__qualname__ = f"think_add_{kind}"
    example = {"card": {"title": f"A first {kind}"}}
    operation(f"think_add_{kind}", writes=True, example=example)(think_add)


# think_add_decision, _evidence, _frame, _hypothesis, _note, _question, _test, _update: BranchMind has one for each.
for _kind in CARD_TYPES:
    _declare_wrapper(_kind)
